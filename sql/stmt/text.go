package stmt

import (
	"strings"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/builtin"
)

// TableName returns the name of a table with its schema, for the text of a statement.
func TableName(view *catalog.View, t *catalog.Table) string {
	return builtin.QuoteIdent(view.Schema(t.Schema).Name) + "." + builtin.QuoteIdent(t.Name)
}

// Literals returns texts as SQL literals, separated by commas.
func Literals(list []string) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = builtin.QuoteLiteral(s)
	}
	return strings.Join(out, ", ")
}
