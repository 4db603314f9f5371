package builtin

import (
	"strings"

	"github.com/sherddb/sherd/sql/types"
)

// quoting has quote_ident, quote_literal and quote_nullable.
var quoting = map[string]Func{
	"quote_ident": quoteIdentifier, "quote_literal": quoteLiteralOf, "quote_literal(2283)": quoteLiteralOf,
	"quote_nullable": quoteNullable, "quote_nullable(2283)": quoteNullable,
}

func quoteIdentifier(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewText(QuoteIdent(a[0].S)), nil
}

// QuoteIdent quotes a name if SQL requires it: it is not plain lower case, or is a keyword other
// than an unreserved one.
func QuoteIdent(name string) string {
	if isPlainName(name) && !reservedNames[name] {
		return name
	}
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

func isPlainName(name string) bool {
	for i := 0; i < len(name); i++ {
		c := name[i]
		if !(c == '_' || c >= 'a' && c <= 'z' || i > 0 && c >= '0' && c <= '9') {
			return false
		}
	}
	return name != ""
}

// QuoteLiteral returns a string constant, with the prefix E if it contains a backslash.
func QuoteLiteral(s string) string {
	q := "'" + strings.ReplaceAll(s, "'", "''") + "'"
	if strings.Contains(s, `\`) {
		return "E" + strings.ReplaceAll(q, `\`, `\\`)
	}
	return q
}

func quoteLiteralOf(c *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewText(QuoteLiteral(c.text(0, a[0]))), nil
}

func quoteNullable(c *Ctx, a []types.Datum) (types.Datum, error) {
	if a[0].IsNull() {
		return types.NewText("NULL"), nil
	}
	return quoteLiteralOf(c, a)
}
