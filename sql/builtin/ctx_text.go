package builtin

import (
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/types"
)

// text returns the text form of argument i.
func (c *Ctx) text(i int, d types.Datum) string { return types.Output(c.argType(i), d, c.Env) }

// formatType returns a type's SQL name. If there is a session, its catalog has the name, because it
// knows the types of users.
func (c *Ctx) formatType(oid uint32, typmod int32) string {
	if c.Session != nil {
		return c.Session.FormatType(oid, typmod)
	}
	return pgcatalog.FormatType(oid, typmod)
}
