package sql

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/admin"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/ddl"
	"github.com/sherddb/sherd/sql/monitor"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/settings"
	"github.com/sherddb/sherd/sql/sysview"
	"github.com/sherddb/sherd/sql/types"
)

// info is the session as functions see it.
type info struct {
	*Session
	ctx context.Context // of the statement; nil outside of any
}

// statement is ctx, or one that never ends.
func (i info) statement() context.Context { return orBackground(i.ctx) }

func orBackground(ctx context.Context) context.Context {
	if ctx == nil {
		return context.Background()
	}
	return ctx
}

var _ builtin.SessionInfo = info{}

// Run implements builtin.Gateway.
func (i info) Run(_ *builtin.Ctx, p *pgcatalog.Proc, args []types.Datum) (types.Datum, error) {
	return admin.Run(i.environment(), p, args)
}

// RunTable implements builtin.Gateway.
func (i info) RunTable(
	_ *builtin.Ctx, p *pgcatalog.Proc, args []types.Datum, emit func(row []types.Datum) error,
) error {
	return admin.RunTable(i.environment(), p, args, emit)
}

// environment returns what functions of the cluster use of the session.
func (i info) environment() *admin.Environment {
	e := &admin.Environment{
		Cluster: &i.db.admin, Context: i.ctx, Database: i.names().Database, Role: i.role, Values: i.Env(),
		Notice: i.notice, NoticeNow: i.sayNow, Unused: i.notInUse,
		Definer: func() *ddl.Env { return i.definer(i.keepNotice) },
	}
	if i.tx != nil {
		e.Tx = i.tx.Tx
	}
	return e
}

// names resolves names as the session sees them.
func (s *Session) names() *sysview.Names {
	view := s.view()
	d := view.Database(s.database)
	if d == nil {
		d = &catalog.Database{OID: s.database, Name: s.start.Database} // dropped under the session
	}
	return &sysview.Names{View: view, Database: d, Path: s.vars.SearchPath(), Spell: s.spell, Portable: s.vars.On("sherd.portable_dump")}
}

func (i info) roleName() string {
	if r := i.view().Role(i.role); r != nil {
		return r.Name
	}
	return i.start.User
}

// CurrentUser implements builtin.IdentityInfo.
func (i info) CurrentUser() string { return i.roleName() }

// SessionUser implements builtin.IdentityInfo.
func (i info) SessionUser() string { return i.roleName() }

// CurrentDatabase implements builtin.IdentityInfo.
func (i info) CurrentDatabase() string { return i.names().Database.Name }

// CurrentSchemas implements builtin.IdentityInfo.
func (i info) CurrentSchemas(implicit bool) []string {
	list := i.names().Schemas()
	if implicit && !slices.Contains(list, "pg_catalog") {
		list = slices.Insert(list, 0, "pg_catalog")
	}
	return list
}

// BackendPID implements builtin.IdentityInfo.
func (i info) BackendPID() int32 { return int32(i.start.PID) }

// ServerVersion implements builtin.IdentityInfo.
func (i info) ServerVersion() string {
	return "PostgreSQL " + settings.ServerVersion + " (Sherd " + settings.Version + ")"
}

// ClientAddress implements builtin.IdentityInfo.
func (i info) ClientAddress() (host string, port int) { return monitor.SplitAddress(i.start.Remote) }

// ServerAddress implements builtin.IdentityInfo.
func (i info) ServerAddress() (host string, port int) { return monitor.SplitAddress(i.db.cfg.Addr) }

// Setting implements builtin.SettingInfo.
func (i info) Setting(name string) (string, bool) {
	value, err := i.vars.Show(name)
	return value, err == nil
}

// SetSetting implements builtin.SettingInfo.
func (i info) SetSetting(name, value string, local bool) (string, error) {
	if err := i.assign(name, &value, local); err != nil {
		return "", err
	}
	return i.vars.Show(name)
}

// FindObject implements builtin.CatalogInfo.
func (i info) FindObject(kind builtin.ObjectKind, name string) (uint32, bool, error) {
	return i.names().Find(kind, name)
}

// ObjectName implements builtin.CatalogInfo.
func (i info) ObjectName(kind builtin.ObjectKind, oid uint32) (schema, name string, ok bool) {
	return i.names().Name(kind, oid)
}

// IsVisible implements builtin.CatalogInfo.
func (i info) IsVisible(kind builtin.ObjectKind, oid uint32) (visible, ok bool) {
	return i.names().Visible(kind, oid)
}

// RelationColumns implements builtin.CatalogInfo.
func (i info) RelationColumns(oid uint32) ([]builtin.Column, bool) {
	return i.names().RelationColumns(oid)
}

// FormatType implements builtin.CatalogInfo.
func (i info) FormatType(oid uint32, typmod int32) string { return i.names().FormatType(oid, typmod) }

// Comment implements builtin.CatalogInfo.
func (i info) Comment(catalog string, oid uint32, sub int32) (string, bool) {
	return i.names().Comment(catalog, oid, sub)
}

// ConstraintDef implements builtin.DefinitionInfo.
func (i info) ConstraintDef(oid uint32, pretty bool) (string, bool) {
	return i.names().ConstraintDef(oid, pretty)
}

// IndexDef implements builtin.DefinitionInfo.
func (i info) IndexDef(oid uint32, column int, pretty bool) (string, bool) {
	return i.names().IndexDef(oid, column, pretty)
}

// ViewDef implements builtin.DefinitionInfo. Only system views exist, and they have no definition in SQL.
func (i info) ViewDef(oid uint32, _ bool) (string, bool) {
	if r := pgcatalog.RelationByOID(oid); r != nil && r.Kind == 'v' {
		return "", true
	}
	return "", false
}

// Expression implements builtin.DefinitionInfo.
func (i info) Expression(node string, relation uint32, pretty bool) (string, bool) {
	return i.spell(relation, node, pretty), true
}

// SerialSequence implements builtin.DefinitionInfo.
func (i info) SerialSequence(relation uint32, column string) (string, bool, error) {
	att, ok := i.ColumnNumber(relation, column)
	if !ok {
		_, name, known := i.ObjectName(builtin.ObjRelation, relation)
		if !known {
			return "", false, nil
		}
		return "", false, pgerr.New(pgerr.UndefinedColumn, `column "%s" of relation "%s" does not exist`, column, name)
	}
	view := i.view()
	t := view.Table(relation)
	if t == nil {
		return "", false, nil
	}
	for _, s := range view.OwnedSequences(t) {
		if s.Sequence.Column == att {
			return builtin.QuoteIdent(view.Schema(s.Schema).Name) + "." + builtin.QuoteIdent(s.Name), true, nil
		}
	}
	return "", false, nil
}

// StartTime implements builtin.ActivityInfo.
func (i info) StartTime() time.Time { return i.db.started }

// StatementTime implements builtin.ActivityInfo.
func (i info) StatementTime() time.Time { return i.queryAt }

// ReloadTime implements builtin.ActivityInfo.
func (i info) ReloadTime() time.Time { return i.db.started }

// Query implements builtin.ActivityInfo.
func (i info) Query() string { return i.query }

// SherdVersion implements builtin.PlacementInfo.
func (i info) SherdVersion() string { return settings.Version }

// ColumnNumber implements builtin.CatalogInfo.
func (i info) ColumnNumber(relation uint32, name string) (int16, bool) {
	return i.names().ColumnNumber(relation, name)
}

// FunctionDef implements builtin.DefinitionInfo.
func (i info) FunctionDef(oid uint32) (string, bool) { return i.names().FunctionDef(oid) }

// FunctionResult implements builtin.DefinitionInfo.
func (i info) FunctionResult(oid uint32) (string, bool) { return i.names().FunctionResult(oid) }

// FunctionArguments implements builtin.DefinitionInfo.
func (i info) FunctionArguments(oid uint32) (string, bool) { return i.names().FunctionArguments(oid) }

// FunctionIdentityArguments implements builtin.DefinitionInfo.
func (i info) FunctionIdentityArguments(oid uint32) (string, bool) {
	return i.names().FunctionIdentityArguments(oid)
}

// Random implements builtin.ActivityInfo.
func (i info) Random() float64 { return i.random.Float64() }

// SetSeed implements builtin.ActivityInfo.
func (i info) SetSeed(seed float64) {
	n := math.Float64bits(seed)
	i.random = rand.New(rand.NewPCG(n, ^n))
}
