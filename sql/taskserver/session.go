package taskserver

import (
	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/exec/wire"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/sysview"
	"github.com/sherddb/sherd/sql/types"
)

// session is a gateway's session as functions in a task see it. The gateway has sent the session's
// own values; names are resolved in the catalog here.
type session struct {
	*wire.Session
	*sysview.Names
	atGateway
}

// atGateway stands for the questions that only the session at the gateway can answer. The planner
// leaves such calls above the Gather. If one arrives here nevertheless, it panics, which ends the
// task.
type atGateway struct{ builtin.SessionInfo }

var _ builtin.SessionInfo = session{}

// newSession makes the session of a task, and makes env look names up in it.
func newSession(asked *wire.Session, v *catalog.View, d *catalog.Database, env *types.Env) session {
	s := session{Session: asked, Names: &sysview.Names{View: v, Database: d, Path: asked.Schemas}}
	env.RegIn, env.RegOut = s.RegIn, s.RegOut
	return s
}

// FindObject implements builtin.CatalogInfo.
func (s session) FindObject(kind builtin.ObjectKind, name string) (uint32, bool, error) {
	return s.Find(kind, name)
}

// ObjectName implements builtin.CatalogInfo.
func (s session) ObjectName(kind builtin.ObjectKind, oid uint32) (schema, name string, ok bool) {
	return s.Name(kind, oid)
}

// IsVisible implements builtin.CatalogInfo.
func (s session) IsVisible(kind builtin.ObjectKind, oid uint32) (visible, ok bool) {
	return s.Visible(kind, oid)
}

// ViewDef implements builtin.DefinitionInfo. Only system views exist, and they have no definition
// in SQL.
func (s session) ViewDef(oid uint32, _ bool) (string, bool) {
	if r := pgcatalog.RelationByOID(oid); r != nil && r.Kind == 'v' {
		return "", true
	}
	return "", false
}

// Expression implements builtin.DefinitionInfo.
func (s session) Expression(node string, relation uint32, pretty bool) (string, bool) {
	return s.Names.Expression(relation, node, pretty), true
}

// SerialSequence implements builtin.DefinitionInfo.
func (s session) SerialSequence(uint32, string) (string, bool, error) {
	return "", false, pgerr.Unsupported("pg_get_serial_sequence where rows of tables are read is not supported yet").
		WithHint("Call it in a SELECT without FROM.")
}
