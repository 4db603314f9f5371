package taskserver

import (
	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/exec/wire"
	"github.com/sherddb/sherd/sql/sysview"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/sql/usertype"
)

// session is a gateway's session as functions in a task see it. The gateway has sent the session's
// own values; names are resolved in the catalog here. The planner leaves calls that only the session
// can answer above the Gather.
type session struct {
	*wire.Session
	sysview.Objects
	builtin.Sessionless
}

var _ builtin.SessionInfo = session{}

// newSession makes the session of a task, and makes env look names up in it.
func newSession(asked *wire.Session, v *catalog.View, d *catalog.Database, env *types.Env) session {
	s := session{
		Objects: sysview.Objects{Names: &sysview.Names{View: v, Database: d, Path: asked.Schemas}}, Session: asked,
	}
	env.RegIn, env.RegOut = s.RegIn, s.RegOut
	return s
}

// attachTypes has env read and print values of the database's types, those of the gateway's transaction
// included.
func attachTypes(c *catalog.Catalog, v *catalog.View, d *catalog.Database, asked *wire.Session, env *types.Env) {
	source := &usertype.Source{
		View: v, Database: d.OID, Newest: usertype.NewestOf(c), Uncommitted: env.Uncommitted,
		UncommittedRows: env.UncommittedRows,
	}
	if asked != nil {
		source.Path = asked.Schemas
	}
	source.Attach(env)
}

// SerialSequence implements builtin.DefinitionInfo.
func (s session) SerialSequence(uint32, string) (string, bool, error) {
	return "", false, pgerr.Unsupported("pg_get_serial_sequence where rows of tables are read is not supported yet").
		WithHint("Call it in a SELECT without FROM.")
}
