package analyze

import (
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// nameItem is a range table entry as it is visible to names at some place (ParseNamespaceItem).
type nameItem struct {
	alias       string     // "" if it has no name
	schema      string     // of a table without alias, for schema.table.column
	rel         int        // index in Query.Rels, -1 for a join
	entry       *query.Rel // that entry, nil for a join
	columns     []nameColumn
	relVisible  bool // alias can be named
	colsVisible bool // columns can be named without the alias
	lateralOnly bool // visible only to LATERAL
	lateralOK   bool // LATERAL references to it are allowed
	system      bool // has system columns
	stored      bool // the table of a stored expression, which cannot refer to its system columns
	scalar      bool // a function with one scalar column: its alias means the value
}

// nameColumn is a column with the expression that it stands for at its own level. A dropped column
// has an empty name.
type nameColumn struct {
	name string
	expr query.Expr
	// The table column that the column is a copy of.
	table uint32
	att   int16
	// unexpanded: it is no column of item.*, as a column of SEARCH or CYCLE in the recursive term.
	unexpanded bool
}

// itemOf returns the names of Rels[rel].
func (s *scope) itemOf(rel int) *nameItem {
	r := s.q.Rels[rel]
	it := &nameItem{alias: r.Alias, rel: rel, entry: r, relVisible: true, colsVisible: true,
		system: r.Kind == query.RelTable}
	for i, c := range r.Columns {
		nc := nameColumn{name: c.Name, expr: &query.Var{T: query.T{OID: c.Type, Mod: c.Typmod}, Rel: rel, Col: i,
			Name: c.Name}}
		if c.Dropped {
			nc.name = ""
		}
		switch {
		case r.View != nil:
			nc.table, nc.att = r.View.OID, r.View.Columns[i].AttNum
		case r.Table != nil:
			nc.table, nc.att = r.Table.OID, r.Table.Columns[i].AttNum
		}
		it.columns = append(it.columns, nc)
	}
	return it
}

// find returns the column of a name in an item.
func (s *scope) find(it *nameItem, name string, loc int32) (*nameColumn, error) {
	var found *nameColumn
	for i := range it.columns {
		if c := &it.columns[i]; c.name == name && name != "" {
			if found != nil {
				return nil, s.errorf(loc, pgerr.AmbiguousColumn, "column reference %q is ambiguous", name)
			}
			found = c
		}
	}
	if found == nil && it.system {
		return s.systemColumn(it, name, loc)
	}
	if found == nil && it.stored {
		return nil, s.storedSystemColumn(name, loc)
	}
	if found == nil && name == "tableoid" {
		return systemTableOID(it), nil
	}
	return found, nil
}

// systemTableOID is tableoid of a system catalog: its OID, or null if an outer join has filled the
// row with nulls.
func systemTableOID(it *nameItem) *nameColumn {
	if it.entry == nil || it.entry.Kind != query.RelSystem {
		return nil
	}
	r := pgcatalog.RelationByName(it.entry.SchemaName, strings.TrimPrefix(it.entry.System, it.entry.SchemaName+"."))
	if r == nil || r.Kind != 'r' {
		return nil
	}
	for i, c := range r.Columns {
		if !c.NotNull {
			continue
		}
		oid := &query.Const{T: query.Of(types.Oid), Value: types.NewOid(r.OID)}
		present := &query.NullTest{T: query.Of(types.Bool), Arg: it.columns[i].expr, Not: true}
		return &nameColumn{name: "tableoid", expr: &query.Case{
			T: query.Of(types.Oid), Whens: []query.When{{Cond: present, Result: oid}},
			Else: &query.Const{T: query.Of(types.Oid)},
		}}
	}
	return nil
}

// systemColumn returns the system columns that every table has.
func (s *scope) systemColumn(it *nameItem, name string, loc int32) (*nameColumn, error) {
	v := &query.Var{Rel: it.rel, Name: name}
	switch name {
	case "ctid", "xmin", "xmax", "cmin", "cmax":
		if s.place == inMergeWhen {
			return nil, s.errorf(loc, pgerr.InvalidColumnReference,
				"cannot use system column %q in MERGE WHEN condition", name)
		}
	}
	switch name {
	case "tableoid":
		v.T, v.Col = query.Of(types.Oid), query.ColTableOID
	case "ctid":
		v.T, v.Col = query.Of(types.Tid), query.ColCtid
	case "xmin":
		v.T, v.Col = query.Of(types.Xid), query.ColXmin
	case "xmax", "cmin", "cmax":
		return nil, s.unsupported(loc, "system column %q is not supported", name)
	default:
		return nil, nil
	}
	return &nameColumn{name: name, expr: v}, nil
}

// lookupColumn finds an unqualified column at this level or an outer one. It returns nil if there
// is none.
func (s *scope) lookupColumn(name string, loc int32) (*nameColumn, query.Expr, error) {
	up := 0
	for level := s; level != nil; level, up = level.parent, up+1 {
		var found *nameColumn
		for _, it := range level.names {
			if !it.colsVisible || it.lateralOnly && !level.lateral {
				continue
			}
			c, err := s.find(it, name, loc)
			if err != nil {
				return nil, nil, err
			}
			if c == nil {
				continue
			}
			if found != nil {
				return nil, nil, s.errorf(loc, pgerr.AmbiguousColumn, "column reference %q is ambiguous", name)
			}
			if err := s.checkLateral(it, loc); err != nil {
				return nil, nil, err
			}
			found = c
		}
		if found != nil {
			return found, raise(found.expr, up), nil
		}
	}
	return nil, nil, nil
}

// lookupItem finds a range table entry by name, at this level or an outer one.
func (s *scope) lookupItem(schema, name string, loc int32) (it *nameItem, up int, err error) {
	for level := s; level != nil; level, up = level.parent, up+1 {
		for _, n := range level.names {
			if !n.relVisible || n.lateralOnly && !level.lateral || n.alias != name || name == "" || schema != "" &&
				n.schema != schema {
				continue
			}
			if it != nil {
				return nil, 0, s.errorf(loc, pgerr.DuplicateAlias, "table reference %q is ambiguous", name)
			}
			if err := s.checkLateral(n, loc); err != nil {
				return nil, 0, err
			}
			it = n
		}
		if it != nil {
			return it, up, nil
		}
	}
	return nil, 0, nil
}

// checkLateral refuses references into a part of FROM that LATERAL may not refer to.
func (s *scope) checkLateral(it *nameItem, loc int32) error {
	if it.lateralOnly && !it.lateralOK {
		return s.errorf(loc, pgerr.InvalidColumnReference, "invalid reference to FROM-clause entry for table %q",
			it.alias).
			WithDetail("The combining JOIN type must be INNER or LEFT for a LATERAL reference.")
	}
	return nil
}

// raise returns a copy of e in which variables refer to a query level up levels further out.
func raise(e query.Expr, up int) query.Expr {
	if up == 0 {
		return e
	}
	if v, ok := e.(*query.Var); ok {
		c := *v
		c.Up += up
		return &c
	}
	if query.Contains(e, isSubLink) {
		return raiseAll(e, up)
	}
	return query.Rewrite(e, func(x query.Expr) (query.Expr, bool) {
		if v, ok := x.(*query.Var); ok {
			c := *v
			c.Up += up
			return &c, true
		}
		return x, false
	})
}

// wholeRow returns the row of a range table entry as a value.
func (s *scope) wholeRow(it *nameItem, up int) query.Expr {
	if it.scalar {
		return raise(it.columns[0].expr, up)
	}
	if it.rel >= 0 {
		return &query.Var{T: query.Of(rowTypeOf(it.entry)), Rel: it.rel, Col: query.ColWholeRow, Up: up, Name: it.alias}
	}
	row := &query.Row{T: query.Of(types.Record)}
	for _, c := range it.columns {
		if c.name == "" || c.unexpanded {
			continue
		}
		row.Fields = append(row.Fields, raise(c.expr, up))
		row.Names = append(row.Names, c.name)
	}
	return row
}
