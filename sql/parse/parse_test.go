package parse

import (
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/sherddb/sherd/internal/pgerr"
)

func TestSplit(t *testing.T) {
	s, err := Parse("SELECT 'é;'; ;\n  UPDATE t SET a = 1 ; -- end")
	if err != nil || len(s) != 2 {
		t.Fatal(s, err)
	}
	if s[0].Text() != "SELECT 'é;'" || s[1].Text() != "UPDATE t SET a = 1" {
		t.Errorf("%q %q", s[0].Text(), s[1].Text())
	}
	if s, err := Parse(" -- nothing\n"); err != nil || len(s) != 0 {
		t.Error(s, err)
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		text, code, message string
		pos                 int
	}{
		{"SELEC 1", "42601", `syntax error at or near "SELEC"`, 1},
		{"SELECT 'é', +", "42601", "syntax error at end of input", 14},
		{"SELECT 'é' FROM FROM", "42601", `syntax error at or near "FROM"`, 17},
		{"SELECT 'abc", "42601", `unterminated quoted string at or near "'abc"`, 8},
		{"SELECT \xff", "22021", `invalid byte sequence for encoding "UTF8": 0xff`, 0},
		{"SELECT 1\x00", "22021", `invalid byte sequence for encoding "UTF8": 0x00`, 0},
		{`SELECT E'\u12'`, "22025", "", 0},
		{`SELECT E'\xff'`, "22021", "", 0},
	} {
		_, err := Parse(c.text)
		e := pgerr.From(err)
		if e == nil || e.Code != c.code || c.message != "" && e.Message != c.message ||
			c.pos != 0 && e.Position != c.pos {
			t.Errorf("%q: %+v", c.text, e)
		}
	}
}

// deep returns texts that nest n levels in every way the grammar allows.
func deep(n int) map[string]string {
	rep := strings.Repeat
	return map[string]string{
		"plus":      "SELECT 1" + rep("+1", n),
		"prefix":    "SELECT " + rep("- ", n) + "1",
		"parens":    "SELECT " + rep("(", n) + "1" + rep(")", n),
		"not":       "SELECT " + rep("NOT ", n) + "true",
		"calls":     "SELECT " + rep("f(", n) + "1" + rep(")", n),
		"casts":     "SELECT 1" + rep("::int", n),
		"collate":   "SELECT ''" + rep(` COLLATE "C"`, n),
		"isnull":    "SELECT 1" + rep(" IS NULL", n),
		"subselect": rep("SELECT (", n) + "SELECT 1" + rep(")", n),
		"from":      rep("SELECT * FROM (", n) + "SELECT 1" + rep(") x", n),
		"union":     "SELECT 1" + rep(" UNION SELECT 1", n),
		"joins":     "SELECT * FROM t" + rep(" CROSS JOIN t", n),
		"case":      "SELECT " + rep("CASE WHEN true THEN ", n) + "1" + rep(" END", n),
		"else":      "SELECT " + rep("CASE WHEN true THEN 1 ELSE ", n) + "1" + rep(" END", n),
		"arrays":    "SELECT " + rep("ARRAY[", n) + "1" + rep("]", n),
		"subscript": "SELECT " + rep("a[", n) + "1" + rep("]", n),
		"chain":     "SELECT a" + rep("[1]", n),
		"in":        "SELECT " + rep("1 IN (", n) + "1" + rep(")", n),
		"exists":    rep("SELECT EXISTS (", n) + "SELECT 1" + rep(")", n),
		"with":      rep("WITH x AS (", n) + "SELECT 1" + rep(") SELECT 1", n),
		"operator":  "SELECT 1" + rep(" OPERATOR(pg_catalog.+) 1", n),
		"like":      "SELECT ''" + rep(" || '' || ('')", n),
		"attime":    "SELECT now()" + rep(" AT TIME ZONE 'UTC'", n),
		"quoted":    "SELECT 'it''s'" + rep("||$a$ ' $a$", n),
		"escape":    `SELECT E'\''` + rep(`||E'a\'''(('`, n),
		"comment":   "SELECT 1 /* ' /* ( */ */" + rep("+/* ) */1", n),
		"values":    "VALUES " + rep("(1),", n) + "(1)",
		"or":        "SELECT true" + rep(" OR a = 1", n),
		"statement": rep("SELECT 1;", n),
		"xml":       "SELECT " + rep("xmlelement(name a, ", n) + "1" + rep(")", n),
		"json":      "SELECT " + rep("json_array(", n) + "1" + rep(")", n),
		"setparens": rep("(SELECT 1 UNION ", n) + "SELECT 1" + rep(")", n),
	}
}

// TestDeep runs the parser on texts of every depth. A tree and an error are both right; a crash
// ends the test.
func TestDeep(t *testing.T) {
	for _, n := range []int{100, 800, 1500, 2400, 2600, 8100, 25_000} {
		for name, text := range deep(n) {
			_, err := Parse(text)
			code := pgerr.Code(err)
			if code != "" && code != pgerr.StatementTooComplex && code != pgerr.SyntaxError {
				t.Errorf("%s %d: %v", name, n, err)
			}
			if n <= 100 && err != nil {
				t.Errorf("%s %d: %v", name, n, err)
			}
			if flat := name == "values" || name == "or" || name == "statement"; flat && err != nil {
				t.Errorf("%s %d: %v", name, n, err)
			}
		}
	}
}

// TestFreeText parses the longest texts that are not measured.
func TestFreeText(t *testing.T) {
	for name, text := range deep(16 << 10) {
		n := (FreeText - 40) / (len(text) / (16 << 10))
		text = deep(n - 20)[name]
		if len(text) > FreeText {
			t.Errorf("%s: %d bytes", name, len(text))
		}
		if _, err := Parse(text); err != nil && pgerr.Code(err) != pgerr.StatementTooComplex &&
			pgerr.Code(err) != pgerr.SyntaxError {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCache(t *testing.T) {
	c := NewCache(2)
	if _, err := c.Parse("SELECT 1"); err != nil || c.Len() != 0 {
		t.Error(c.Len(), err)
	}
	a, _ := c.Parse("SELECT 1")
	b, _ := c.Parse("SELECT 1")
	if a[0].Node != b[0].Node {
		t.Error("not cached")
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 50 {
				if _, err := c.Parse("SELECT " + strings.Repeat("1", 1+(i+j)%5)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if c.Len() != 2 {
		t.Error(c.Len())
	}
}

func TestName(t *testing.T) {
	for text, want := range map[string]string{
		"CREATE FUNCTION f() RETURNS int LANGUAGE sql AS ''": "CREATE FUNCTION", "LISTEN x": "LISTEN",
		"CREATE DOMAIN d AS int": "CREATE DOMAIN",
		"CREATE TABLE t (a int)": "CREATE TABLE", "SELECT 1": "SELECT", "BEGIN": "TRANSACTION",
	} {
		s, err := Parse(text)
		if err != nil || Name(s[0].Node) != want {
			t.Errorf("%s: %v %v", text, Name(s[0].Node), err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"SELECT 1", "$a$ $b$", "'\\'", "E'\\''", "/* /* */", "\"", "((", "a$1$b", "$1", "--"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d := depthScan{text: text}
		d.run()
		if len(text) > 1<<12 {
			return
		}
		if _, err := Parse(text); err != nil && pgerr.Code(err) == pgerr.InternalError {
			t.Errorf("%q: %v", text, err)
		}
	})
}

func TestPositions(t *testing.T) {
	const text = "SELECT 'żółw', x FROM t WHERE 'ąę' = y"
	p := Positions{Text: text}
	offsets := []int{-1, 0, len(text), 3, len(text) + 1, 30, 12, 12, 29, 8, len(text)}
	for _, at := range offsets {
		if at > 0 && at < len(text) && !utf8.RuneStart(text[at]) {
			continue
		}
		if got, want := p.At(at), Position(text, at); got != want {
			t.Errorf("offset %d is at %d, not %d", at, got, want)
		}
	}
}
