package builtin

import (
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/types"
)

// text gives the text form of argument i.
func (c *Ctx) text(i int, d types.Datum) string { return types.Output(c.argType(i), d, c.Env) }

// formatType gives a type's SQL name: of the session's catalog where there is one, for it knows the types that users made.
func (c *Ctx) formatType(oid uint32, typmod int32) string {
	if c.Session != nil {
		return c.Session.FormatType(oid, typmod)
	}
	return pgcatalog.FormatType(oid, typmod)
}
