package session

import (
	"strings"

	"github.com/sherddb/sherd/catalog/acl"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/privilege"
	"github.com/sherddb/sherd/sql/rowsecurity"
	"github.com/sherddb/sherd/sql/sysview"
)

// objects is the catalog as functions of the session see it: its objects, their definitions, and
// the privileges on them.
type objects struct{ *Session }

// FindObject implements builtin.CatalogInfo.
func (o objects) FindObject(kind builtin.ObjectKind, name string) (uint32, bool, error) {
	return o.names().Find(kind, name)
}

// ObjectName implements builtin.CatalogInfo.
func (o objects) ObjectName(kind builtin.ObjectKind, oid uint32) (schema, name string, ok bool) {
	return o.names().Name(kind, oid)
}

// IsVisible implements builtin.CatalogInfo.
func (o objects) IsVisible(kind builtin.ObjectKind, oid uint32) (visible, ok bool) {
	return o.names().Visible(kind, oid)
}

// RelationColumns implements builtin.CatalogInfo.
func (o objects) RelationColumns(oid uint32) ([]builtin.Column, bool) {
	return o.names().RelationColumns(oid)
}

// FormatType implements builtin.CatalogInfo.
func (o objects) FormatType(oid uint32, typmod int32) string {
	return o.names().FormatType(oid, typmod)
}

// Comment implements builtin.CatalogInfo.
func (o objects) Comment(catalog string, oid uint32, sub int32) (string, bool) {
	return o.names().Comment(catalog, oid, sub)
}

// ConstraintDef implements builtin.DefinitionInfo.
func (o objects) ConstraintDef(oid uint32, pretty bool) (string, bool) {
	return o.names().ConstraintDef(oid, pretty)
}

// IndexDef implements builtin.DefinitionInfo.
func (o objects) IndexDef(oid uint32, column int, pretty bool) (string, bool) {
	return o.names().IndexDef(oid, column, pretty)
}

// Updatable implements builtin.DefinitionInfo.
func (o objects) Updatable(relation uint32, column int16) int {
	return sysview.Updatable(o.names(), relation, column)
}

// ViewDef implements builtin.DefinitionInfo.
func (o objects) ViewDef(oid uint32, pretty bool, width int) (string, bool) {
	return sysview.ViewDef(o.names(), oid, pretty, width)
}

// StatisticsDef implements builtin.DefinitionInfo.
func (o objects) StatisticsDef(oid uint32, columnsOnly bool) (string, bool) {
	return sysview.StatisticsDef(o.names(), oid, columnsOnly)
}

// StatisticsExpressions implements builtin.DefinitionInfo.
func (o objects) StatisticsExpressions(oid uint32) ([]string, bool) {
	return sysview.StatisticsExpressions(o.names(), oid)
}

// Expression implements builtin.DefinitionInfo.
func (o objects) Expression(node string, relation uint32, pretty bool) (string, bool) {
	return o.spell(relation, node, pretty), true
}

// SerialSequence implements builtin.DefinitionInfo.
func (o objects) SerialSequence(relation uint32, column string) (string, bool, error) {
	att, ok := o.ColumnNumber(relation, column)
	if !ok {
		_, name, known := o.ObjectName(builtin.ObjRelation, relation)
		if !known {
			return "", false, nil
		}
		return "", false, pgerr.New(pgerr.UndefinedColumn, `column "%s" of relation "%s" does not exist`, column, name)
	}
	view := o.block.View()
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

// ColumnNumber implements builtin.CatalogInfo.
func (o objects) ColumnNumber(relation uint32, name string) (int16, bool) {
	return o.names().ColumnNumber(relation, name)
}

// TriggerDef implements builtin.DefinitionInfo.
func (o objects) TriggerDef(oid uint32, pretty bool) (string, bool) {
	return o.names().TriggerDef(oid, pretty)
}

// FunctionDef implements builtin.DefinitionInfo.
func (o objects) FunctionDef(oid uint32) (string, bool) { return o.names().FunctionDef(oid) }

// FunctionResult implements builtin.DefinitionInfo.
func (o objects) FunctionResult(oid uint32) (string, bool) { return o.names().FunctionResult(oid) }

// FunctionArguments implements builtin.DefinitionInfo.
func (o objects) FunctionArguments(oid uint32) (string, bool) {
	return o.names().FunctionArguments(oid)
}

// FunctionBody implements builtin.DefinitionInfo.
func (o objects) FunctionBody(oid uint32) (string, bool) {
	return sysview.FunctionBody(o.names(), oid)
}

// FunctionIdentityArguments implements builtin.DefinitionInfo.
func (o objects) FunctionIdentityArguments(oid uint32) (string, bool) {
	return o.names().FunctionIdentityArguments(oid)
}

// HasPrivilege implements builtin.PrivilegeInfo.
func (o objects) HasPrivilege(
	role uint32, kind builtin.ObjectKind, oid uint32, column int16, word string,
) (bool, error) {
	names := o.names()
	me := privilege.Of(names.View, names.Database.OID, role)
	if role == acl.Public {
		me = privilege.World(names.View, names.Database.OID)
	}
	word, grantable := strings.CutSuffix(word, " WITH GRANT OPTION")
	mode := acl.ModeOf(word)
	if grantable {
		mode = mode.Options()
	}
	return sysview.HasPrivilege(names, me, sysview.Object{Kind: kind, OID: oid, Column: column}, mode), nil
}

// RowSecurity implements builtin.PrivilegeInfo.
func (o objects) RowSecurity(role, relation uint32) (bool, error) {
	names := o.names()
	t := names.View.Table(relation)
	return t != nil && rowsecurity.Active(t, privilege.Of(names.View, names.Database.OID, role)), nil
}

// HasRole implements builtin.PrivilegeInfo.
func (o objects) HasRole(role, other uint32, word string) (bool, error) {
	names := o.names()
	me := privilege.Of(names.View, names.Database.OID, role)
	switch word {
	case "USAGE":
		return me.Acts(other), nil
	case "MEMBER":
		return me.Member(other), nil
	}
	return me.Administers(other), nil
}
