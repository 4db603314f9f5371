package ddl

import (
	"strconv"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/parse"
)

// hints suggest an alternative, by the name of the statement.
var hints = map[string]string{
	"CREATE RULE":       "Rewrite the statement in the client.",
	"CREATE TYPE":       "Enums and composite types are supported: CREATE TYPE … AS ENUM (…), AS (…).",
	"CREATE EXTENSION":  "Extensions cannot be loaded; built-in features need none.",
	"CREATE TABLESPACE": "Each node keeps its data in one directory.",
	"LOAD":              "Extensions cannot be loaded; built-in features need none.",
	"ALTER EXTENSION":   "Extensions cannot be loaded; built-in features need none.",
}

// unsupported returns the error for statements that are not supported yet.
func unsupported(n *pg_query.Node) error {
	name := parse.Name(n)
	hint := hints[name]
	switch x := n.Node.(type) {
	case *pg_query.Node_DefineStmt:
		name, hint = "CREATE "+kindWord(x.DefineStmt.Kind), hints["CREATE "+kindWord(x.DefineStmt.Kind)]
	case *pg_query.Node_CreateFunctionStmt:
		if x.CreateFunctionStmt.IsProcedure {
			name = "CREATE PROCEDURE"
		}
	}
	if hint == "" {
		hint = "Databases, schemas, tables, roles and comments can be defined so far."
	}
	return pgerr.Unsupported("%s is not supported yet", name).WithHint("%s", hint)
}

func grantWord(grant bool) string {
	if grant {
		return "GRANT"
	}
	return "REVOKE"
}

// unsupportedConstraint returns the error for constraints that are not supported yet.
func unsupportedConstraint(k *pg_query.Constraint) *pgerr.Error {
	switch k.Contype {
	case pg_query.ConstrType_CONSTR_EXCLUSION:
		return pgerr.Unsupported("EXCLUDE constraints are not supported yet").
			WithHint("Use a primary key or a CHECK constraint.")
	}
	return pgerr.Unsupported("this kind of constraint is not supported yet").
		WithHint("NOT NULL, CHECK, DEFAULT, UNIQUE, PRIMARY KEY and REFERENCES are.")
}

// kindWords are the names of kinds of objects.
var kindWords = map[pg_query.ObjectType]string{
	pg_query.ObjectType_OBJECT_TABLE:   "TABLE",
	pg_query.ObjectType_OBJECT_INDEX:   "INDEX",
	pg_query.ObjectType_OBJECT_VIEW:    "VIEW",
	pg_query.ObjectType_OBJECT_MATVIEW: "MATERIALIZED VIEW", pg_query.ObjectType_OBJECT_SEQUENCE: "SEQUENCE",
	pg_query.ObjectType_OBJECT_FUNCTION: "FUNCTION", pg_query.ObjectType_OBJECT_PROCEDURE: "PROCEDURE",
	pg_query.ObjectType_OBJECT_ROUTINE: "ROUTINE", pg_query.ObjectType_OBJECT_AGGREGATE: "AGGREGATE",
	pg_query.ObjectType_OBJECT_OPERATOR:  "OPERATOR",
	pg_query.ObjectType_OBJECT_TYPE:      "TYPE",
	pg_query.ObjectType_OBJECT_DOMAIN:    "DOMAIN",
	pg_query.ObjectType_OBJECT_TRIGGER:   "TRIGGER",
	pg_query.ObjectType_OBJECT_RULE:      "RULE",
	pg_query.ObjectType_OBJECT_POLICY:    "POLICY",
	pg_query.ObjectType_OBJECT_EXTENSION: "EXTENSION", pg_query.ObjectType_OBJECT_COLLATION: "COLLATION",
	pg_query.ObjectType_OBJECT_SCHEMA:        "SCHEMA",
	pg_query.ObjectType_OBJECT_LANGUAGE:      "LANGUAGE",
	pg_query.ObjectType_OBJECT_CAST:          "CAST",
	pg_query.ObjectType_OBJECT_FOREIGN_TABLE: "FOREIGN TABLE", pg_query.ObjectType_OBJECT_STATISTIC_EXT: "STATISTICS",
	pg_query.ObjectType_OBJECT_CONVERSION:      "CONVERSION",
	pg_query.ObjectType_OBJECT_TSCONFIGURATION: "TEXT SEARCH CONFIGURATION",
	pg_query.ObjectType_OBJECT_TSDICTIONARY:    "TEXT SEARCH DICTIONARY",
	pg_query.ObjectType_OBJECT_TSPARSER:        "TEXT SEARCH PARSER",
	pg_query.ObjectType_OBJECT_TSTEMPLATE:      "TEXT SEARCH TEMPLATE",
	pg_query.ObjectType_OBJECT_PUBLICATION:     "PUBLICATION",
	pg_query.ObjectType_OBJECT_SUBSCRIPTION:    "SUBSCRIPTION",
	pg_query.ObjectType_OBJECT_EVENT_TRIGGER:   "EVENT TRIGGER",
	pg_query.ObjectType_OBJECT_FDW:             "FOREIGN DATA WRAPPER",
	pg_query.ObjectType_OBJECT_FOREIGN_SERVER:  "SERVER",
	pg_query.ObjectType_OBJECT_ACCESS_METHOD:   "ACCESS METHOD", pg_query.ObjectType_OBJECT_TABLESPACE: "TABLESPACE",
	pg_query.ObjectType_OBJECT_DATABASE:      "DATABASE",
	pg_query.ObjectType_OBJECT_ROLE:          "ROLE",
	pg_query.ObjectType_OBJECT_COLUMN:        "COLUMN",
	pg_query.ObjectType_OBJECT_TABCONSTRAINT: "CONSTRAINT", pg_query.ObjectType_OBJECT_LARGEOBJECT: "LARGE OBJECT",
	pg_query.ObjectType_OBJECT_OPCLASS: "OPERATOR CLASS", pg_query.ObjectType_OBJECT_OPFAMILY: "OPERATOR FAMILY",
	pg_query.ObjectType_OBJECT_TRANSFORM: "TRANSFORM", pg_query.ObjectType_OBJECT_ATTRIBUTE: "ATTRIBUTE",
	pg_query.ObjectType_OBJECT_DOMCONSTRAINT: "CONSTRAINT ON DOMAIN",
}

func kindWord(k pg_query.ObjectType) string {
	if w, ok := kindWords[k]; ok {
		return w
	}
	return "OBJECT"
}

// Built-in extensions: CREATE EXTENSION, which dumps contain, has no effect, and neither has DROP
// EXTENSION.
var builtinExtensions = map[string]bool{"sherd": true, "sherd_former_ids": true}

func (r *runner) createExtension(n *pg_query.CreateExtensionStmt) error {
	if !builtinExtensions[n.Extname] {
		return unsupported(&pg_query.Node{Node: &pg_query.Node_CreateExtensionStmt{CreateExtensionStmt: n}})
	}
	return nil
}

// dropExtension reports whether the statement names only built-in extensions.
func (r *runner) dropExtension(n *pg_query.DropStmt) (done bool, err error) {
	for _, o := range n.Objects {
		if !builtinExtensions[o.GetString_().GetSval()] {
			return false, nil
		}
	}
	notice := pgerr.New(pgerr.SuccessfulCompletion, "the extension is built in, and stays")
	notice.Severity = "NOTICE"
	return true, r.Notice(notice)
}

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
