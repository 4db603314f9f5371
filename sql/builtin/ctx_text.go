package builtin

import "github.com/sherddb/sherd/sql/types"

// text gives the text form of argument i.
func (c *Ctx) text(i int, d types.Datum) string { return types.Output(c.argType(i), d, c.Env) }
