package ddl

import (
	"strconv"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/builtin"
)

// plural prints a count with its noun.
func plural(n int, noun string) string {
	s := strconv.Itoa(n) + " " + noun
	if n != 1 {
		s += "s"
	}
	return s
}

// objectText names an object of DROP as PostgreSQL's notices do.
func objectText(kind pg_query.ObjectType, o *pg_query.Node) string {
	word := strings.ToLower(kindWord(kind))
	switch x := o.Node.(type) {
	case *pg_query.Node_String_:
		return word + ` "` + x.String_.Sval + `"`
	case *pg_query.Node_TypeName:
		return word + ` "` + strings.Join(texts(x.TypeName.Names), ".") + `"`
	case *pg_query.Node_ObjectWithArgs:
		return word + " " + strings.Join(texts(x.ObjectWithArgs.Objname), ".") + "(" + argTypes(x.ObjectWithArgs) + ")"
	case *pg_query.Node_List:
		names := texts(x.List.Items)
		switch kind {
		case pg_query.ObjectType_OBJECT_TRIGGER, pg_query.ObjectType_OBJECT_RULE, pg_query.ObjectType_OBJECT_POLICY:
			if n := len(names); n > 1 {
				return word + ` "` + names[n-1] + `" for relation "` + strings.Join(names[:n-1], ".") + `"`
			}
		}
		return word + ` "` + strings.Join(names, ".") + `"`
	}
	return word
}

func argTypes(o *pg_query.ObjectWithArgs) string {
	var out []string
	for _, a := range o.Objargs {
		out = append(out, strings.Join(texts(a.GetTypeName().GetNames()), "."))
	}
	return strings.Join(out, ",")
}

// longNames returns the notices for names that the parser has truncated.
func longNames(text string) []*pgerr.Error {
	if len(text) <= maxName {
		return nil
	}
	tokens, err := pg_query.Scan(text)
	if err != nil {
		return nil
	}
	var out []*pgerr.Error
	for _, t := range tokens.Tokens {
		if t.Token != pg_query.Token_IDENT || t.End-t.Start <= maxName || int(t.End) > len(text) {
			continue
		}
		name := text[t.Start:t.End]
		if strings.HasPrefix(name, `"`) {
			name = strings.ReplaceAll(strings.Trim(name, `"`), `""`, `"`)
		} else {
			name = lowerASCII(name)
		}
		if len(name) > maxName {
			n := pgerr.New(pgerr.NameTooLong, `identifier "%s" will be truncated to "%s"`, name, clip(name, maxName))
			n.Severity = "NOTICE"
			out = append(out, n)
		}
	}
	return out
}

// lowerASCII folds a name as the parser does.
func lowerASCII(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// SelectColumns returns the text of a query for columns of a table, by position.
func SelectColumns(view *catalog.View, t *catalog.Table, columns []int) string {
	var names []string
	for _, at := range columns {
		names = append(names, builtin.QuoteIdent(t.Columns[at].Name))
	}
	table := builtin.QuoteIdent(view.Schema(t.Schema).Name) + "." + builtin.QuoteIdent(t.Name)
	return "SELECT " + strings.Join(names, ", ") + " FROM " + table
}
