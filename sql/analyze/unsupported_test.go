package analyze

import (
	"regexp"
	"strings"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/pgcatalog"
)

// internalWords are names that no client knows: numbers of types, and words of parse nodes.
var internalWords = regexp.MustCompile(`(?i)type [0-9]+|pg_query|\bnode\b|\bexpr\b|JSON FUNC|JSON IS PREDICATE|CONSTRUCTOR|RANGE TABLE|XML SERIALIZE`)

func refusal(t *testing.T, ctx *Context, text string) *pgerr.Error {
	t.Helper()
	list, err := parse.Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if _, _, err = Statement(ctx, list[0].Node, nil); err == nil {
		return nil
	}
	return pgerr.From(err)
}

// TestUnsupportedTypes casts a literal to each type of pg_type: an error names the type as SQL does.
func TestUnsupportedTypes(t *testing.T) {
	ctx := testContext(t)
	var names []string
	err := pgcatalog.Scan("pg_type", func(columns []string, row []pgcatalog.Cell) error {
		for i, c := range columns {
			if c == "typname" {
				names = append(names, row[i].Text)
			}
		}
		return nil
	})
	if err != nil || len(names) < 100 {
		t.Fatal(len(names), err)
	}
	refused := 0
	for _, name := range names {
		e := refusal(t, ctx, `SELECT 'x'::"`+name+`"`)
		if e == nil || e.Code != pgerr.FeatureNotSupported {
			continue
		}
		refused++
		if internalWords.MatchString(e.Message) || strings.HasPrefix(e.Message, "type ") && e.Hint == "" {
			t.Errorf("%s: %s (hint %q)", name, e.Message, e.Hint)
		}
	}
	if refused == 0 {
		t.Error("no type is refused")
	}
}

// TestUnsupportedNodes writes each construct that the parser knows and analysis does not.
func TestUnsupportedNodes(t *testing.T) {
	ctx := testContext(t)
	for _, text := range []string{
		`SELECT JSON_EXISTS(jsonb '1', '$')`, `SELECT JSON_VALUE(jsonb '1', '$')`, `SELECT JSON_QUERY(jsonb '1', '$')`, `SELECT '1' IS JSON`,
		`SELECT JSON_OBJECT('a': 1)`, `SELECT JSON_ARRAY(1, 2)`, `SELECT JSON_ARRAY(SELECT 1)`, `SELECT JSON_OBJECTAGG('a': 1)`, `SELECT JSON_ARRAYAGG(1)`,
		`SELECT JSON('1')`, `SELECT JSON_SCALAR(1)`, `SELECT JSON_SERIALIZE('1')`, `SELECT XMLSERIALIZE(CONTENT 'x' AS text)`, `SELECT XMLELEMENT(NAME a)`,
		`SELECT * FROM JSON_TABLE(jsonb '1', '$' COLUMNS (a int PATH '$')) x`,
		`SELECT * FROM XMLTABLE('/a' PASSING 'x' COLUMNS a int) x`, `SELECT merge_action()`,
	} {
		e := refusal(t, ctx, text)
		switch {
		case e == nil:
			t.Errorf("%s is supported: take it off this test", text)
		case e.Code != pgerr.FeatureNotSupported && e.Code != pgerr.UndefinedFunction && e.Code != pgerr.SyntaxError:
			t.Errorf("%s: %s %s", text, e.Code, e.Message)
		case internalWords.MatchString(e.Message):
			t.Errorf("%s: %s", text, e.Message)
		}
	}
}
