package ddl

import (
	"strconv"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"
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
