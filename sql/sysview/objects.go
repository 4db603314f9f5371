package sysview

import (
	"slices"
	"sync"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/pgcatalog"
)

// collation is a row of pg_collation.
type collation struct {
	oid  uint32
	name string
}

// collations are the built-in collations; others cannot be created.
var collations = sync.OnceValue(func() []collation {
	var out []collation
	rel := pgcatalog.RelationByName(pgCatalog, "pg_collation")
	oid, name := place(rel, "oid"), place(rel, "collname")
	for _, row := range staticRows("pg_collation") {
		out = append(out, collation{row[oid].Oid(), row[name].S})
	}
	return out
})

// single parses a name without schema; it returns 42602 for other text.
func single(text string) (string, error) {
	parts, err := SplitName(text)
	if err != nil {
		return "", err
	}
	if len(parts) != 1 {
		return "", pgerr.New(pgerr.InvalidName, "invalid name syntax")
	}
	return parts[0], nil
}

// Find resolves the text form of a reg* type. ok is false if no object has the name or, for
// functions and operators, if several have it.
func (n *Names) Find(kind builtin.ObjectKind, text string) (oid uint32, ok bool, err error) {
	switch kind {
	case builtin.ObjRelation:
		parts, err := n.QualifiedName(text)
		if err != nil {
			return 0, false, err
		}
		oid = n.FindRelation(parts)
		return oid, oid != 0, nil
	case builtin.ObjType:
		return n.FindType(text)
	case builtin.ObjFunction, builtin.ObjProcedure:
		oid, count, err := n.FindProc(text)
		return oid, count == 1, err
	case builtin.ObjOperator:
		oid, count, err := n.FindOperator(text)
		return oid, count == 1, err
	case builtin.ObjCollation:
		parts, err := n.QualifiedName(text)
		if err != nil {
			return 0, false, err
		}
		oid = n.first(parts, n.collationIn)
		return oid, oid != 0, nil
	}
	name, err := single(text)
	if err != nil {
		return 0, false, err
	}
	oid = n.findUnqualified(kind, name)
	return oid, oid != 0, nil
}

// findUnqualified finds an object whose name has no schema.
func (n *Names) findUnqualified(kind builtin.ObjectKind, name string) uint32 {
	switch kind {
	case builtin.ObjSchema:
		oid, _ := n.SchemaOID(name)
		return oid
	case builtin.ObjRole:
		if r := n.View.RoleByName(name); r != nil {
			return r.OID
		}
	case builtin.ObjDatabase:
		if d := n.View.DatabaseByName(name); d != nil {
			return d.OID
		}
	case builtin.ObjTablespace:
		for oid, known := range tablespaces {
			if known == name {
				return oid
			}
		}
	}
	return 0
}

func (n *Names) collationIn(schema, name string) uint32 {
	if schema != pgCatalog {
		return 0
	}
	i := slices.IndexFunc(collations(), func(c collation) bool { return c.name == name })
	if i < 0 {
		return 0
	}
	return collations()[i].oid
}

// Name returns the name of an object and its schema, "" if objects of this kind have no schema.
func (n *Names) Name(kind builtin.ObjectKind, oid uint32) (schema, name string, ok bool) {
	switch kind {
	case builtin.ObjRelation:
		return n.RelationName(oid)
	case builtin.ObjType:
		return n.TypeName(oid)
	case builtin.ObjFunction, builtin.ObjProcedure:
		if p := procOf(n, oid); p != nil {
			return p.Namespace, p.Name, true
		}
	case builtin.ObjOperator:
		if o := pgcatalog.OperatorByOID(oid); o != nil {
			return pgCatalog, o.Name, true
		}
	case builtin.ObjSchema:
		name, ok = n.SchemaName(oid)
		return "", name, ok
	case builtin.ObjRole:
		if r := n.View.Role(oid); r != nil {
			return "", r.Name, true
		}
	case builtin.ObjDatabase:
		if d := n.View.Database(oid); d != nil {
			return "", d.Name, true
		}
	case builtin.ObjCollation:
		for _, c := range collations() {
			if c.oid == oid {
				return pgCatalog, c.name, true
			}
		}
	case builtin.ObjOpClass:
		name, ok = opClassName(operatorClasses(), oid)
		return pgCatalog, name, ok
	case builtin.ObjOpFamily:
		name, ok = opClassName(operatorFamilies(), oid)
		return pgCatalog, name, ok
	case builtin.ObjTablespace:
		name, ok = tablespaces[oid]
		return "", name, ok
	case builtin.ObjConstraint:
		if t, c := n.constraint(oid); t != nil {
			schema, _ := n.SchemaName(t.Schema)
			return schema, c.Name, true
		}
	case builtin.ObjStatistics:
		if t, x := extended(n, oid); t != nil {
			schema, _ := n.SchemaName(x.Schema)
			return schema, x.Name, true
		}
	}
	return "", "", false
}

// Visible reports whether the unqualified name finds this object; ok is false if the object does
// not exist.
func (n *Names) Visible(kind builtin.ObjectKind, oid uint32) (visible, ok bool) {
	_, name, ok := n.Name(kind, oid)
	if !ok {
		return false, false
	}
	switch kind {
	case builtin.ObjRelation:
		return n.first([]string{name}, n.relationIn) == oid, true
	case builtin.ObjType:
		return n.first([]string{name}, n.typeIn) == oid, true
	case builtin.ObjOpClass, builtin.ObjOpFamily:
		return true, true
	case builtin.ObjFunction, builtin.ObjProcedure:
		return n.procVisible(procOf(n, oid)), true
	case builtin.ObjCollation:
		return n.first([]string{name}, n.collationIn) == oid, true
	case builtin.ObjStatistics:
		return n.first([]string{name}, extendedIn(n)) == oid, true
	}
	return true, true
}

// ColumnNumber returns the number of a relation's column, including system columns.
func (n *Names) ColumnNumber(relation uint32, name string) (int16, bool) {
	if r := pgcatalog.RelationByOID(relation); r != nil {
		for i := range r.Columns {
			if r.Columns[i].Name == name {
				return int16(i + 1), true
			}
		}
	} else if x := compositeOf(n, relation); x != nil {
		for _, a := range x.Live() {
			if a.Name == name {
				return a.Number, true
			}
		}
		return 0, false
	} else if t := n.table(relation); t == nil {
		return 0, false
	} else if c := t.Column(name); c != nil {
		return c.AttNum, true
	}
	for _, c := range systemColumns {
		if c.name == name {
			return c.num, true
		}
	}
	return 0, false
}

// RelationColumns returns the columns of a relation in order.
func (n *Names) RelationColumns(oid uint32) ([]builtin.Column, bool) {
	if r := pgcatalog.RelationByOID(oid); r != nil {
		out := make([]builtin.Column, len(r.Columns))
		for i, c := range r.Columns {
			out[i] = builtin.Column{Name: c.Name, Type: c.Type, Typmod: c.Typmod}
		}
		return out, true
	}
	t := n.View.Table(oid)
	if t == nil || t.Database != n.Database.OID {
		return nil, false
	}
	var out []builtin.Column
	for _, c := range t.Columns {
		if !c.Dropped {
			out = append(out, builtin.Column{Name: c.Name, Type: c.Type, Typmod: c.Typmod})
		}
	}
	return out, true
}

// Objects answers with names the questions of functions about the catalog.
type Objects struct{ *Names }

// FindObject implements builtin.CatalogInfo.
func (o Objects) FindObject(kind builtin.ObjectKind, name string) (uint32, bool, error) {
	return o.Find(kind, name)
}

// ObjectName implements builtin.CatalogInfo.
func (o Objects) ObjectName(kind builtin.ObjectKind, oid uint32) (schema, name string, ok bool) {
	return o.Name(kind, oid)
}

// IsVisible implements builtin.CatalogInfo.
func (o Objects) IsVisible(kind builtin.ObjectKind, oid uint32) (visible, ok bool) {
	return o.Visible(kind, oid)
}

// Updatable implements builtin.DefinitionInfo.
func (o Objects) Updatable(relation uint32, column int16) int {
	return Updatable(o.Names, relation, column)
}

// ViewDef implements builtin.DefinitionInfo.
func (o Objects) ViewDef(oid uint32, pretty bool, width int) (string, bool) {
	return ViewDef(o.Names, oid, pretty, width)
}

// StatisticsDef implements builtin.DefinitionInfo.
func (o Objects) StatisticsDef(oid uint32, columnsOnly bool) (string, bool) {
	return StatisticsDef(o.Names, oid, columnsOnly)
}

// StatisticsExpressions implements builtin.DefinitionInfo.
func (o Objects) StatisticsExpressions(oid uint32) ([]string, bool) {
	return StatisticsExpressions(o.Names, oid)
}

// Expression implements builtin.DefinitionInfo.
func (o Objects) Expression(node string, relation uint32, pretty bool) (string, bool) {
	return o.Names.Expression(relation, node, pretty), true
}

// FunctionBody implements builtin.DefinitionInfo.
func (o Objects) FunctionBody(oid uint32) (string, bool) { return FunctionBody(o.Names, oid) }
