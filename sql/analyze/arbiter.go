package analyze

import (
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/query"
)

// arbiters finds the unique constraints and indexes of ON CONFLICT: all of the table's if it names
// none.
func (s *scope) arbiters(oc *query.OnConflict, in *pg_query.InferClause, exprs *tableExprs) error {
	t := s.q.Rels[s.q.Result].Table
	oc.Named = in != nil
	switch {
	case in == nil:
		oc.Primary = true
		for i := range t.Indexes {
			if x := &t.Indexes[i]; x.Unique && x.Secondary() {
				if err := s.immediate(t, x); err != nil {
					return err
				}
				oc.Indexes = append(oc.Indexes, x.OID)
			}
		}
		return nil
	case in.Conname != "":
		return s.namedArbiter(oc, t, in.Conname)
	}
	return s.inferred(oc, t, in, exprs)
}

// immediate returns an error for the index of a constraint that can be deferred.
func (s *scope) immediate(t *catalog.Table, x *catalog.Index) error {
	k := t.ConstraintOf(x.OID)
	if k == nil || !k.Deferrable {
		return nil
	}
	e := pgerr.New(pgerr.ObjectNotInPrerequisiteState,
		"ON CONFLICT does not support deferrable unique constraints/exclusion constraints as arbiters")
	e.Schema, e.Table, e.Constraint = s.q.Rels[s.q.Result].SchemaName, t.Name, k.Name
	return e
}

func (s *scope) namedArbiter(oc *query.OnConflict, t *catalog.Table, name string) error {
	c := t.Constraint(name)
	switch {
	case c == nil:
		return pgerr.New(pgerr.UndefinedObject, "constraint %q for table %q does not exist", name, t.Name)
	case c.Kind == catalog.PrimaryKey:
		oc.Primary = true
		return nil
	case c.Kind != catalog.Unique:
		return pgerr.New(pgerr.WrongObjectType, "constraint in ON CONFLICT clause has no associated index")
	}
	oc.Indexes = []catalog.OID{c.Index}
	return s.immediate(t, t.Index(c.Index))
}

// inferred finds the unique indexes by their columns, expressions and predicate.
func (s *scope) inferred(oc *query.OnConflict, t *catalog.Table, in *pg_query.InferClause, exprs *tableExprs) error {
	columns, keys, err := s.inferredKeys(t, in)
	if err != nil {
		return err
	}
	var where query.Expr
	if in.WhereClause != nil {
		err = s.at(inIndexPredicate, func() error {
			e, err := s.expr(in.WhereClause)
			if err == nil {
				where, err = s.coerceBool(e, "WHERE", location(in.WhereClause))
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	if pk := t.PrimaryKey(); pk != nil && len(keys) == 0 && sameColumns(pk.Columns, columns) {
		oc.Primary = true
	}
	for _, x := range exprs.indexes {
		if !s.infers(x, columns, keys, where) {
			continue
		}
		if err := s.immediate(t, x.Def); err != nil {
			return err
		}
		oc.Indexes = append(oc.Indexes, x.Def.OID)
	}
	if !oc.Primary && len(oc.Indexes) == 0 {
		return pgerr.New(pgerr.InvalidColumnReference,
			"there is no unique or exclusion constraint matching the ON CONFLICT specification")
	}
	return nil
}

func (s *scope) inferredKeys(t *catalog.Table,
	in *pg_query.InferClause) (columns []int16, keys []query.Expr, err error) {
	for _, n := range in.IndexElems {
		el := n.GetIndexElem()
		if el.Name != "" {
			col, err := s.targetColumn(el.Name, in.Location)
			if err != nil {
				return nil, nil, s.errorf(in.Location, pgerr.UndefinedColumn, "column %q does not exist", el.Name)
			}
			columns = append(columns, t.Columns[col].AttNum)
			continue
		}
		err := s.at(inIndexKey, func() error {
			e, err := s.expr(el.Expr)
			if v, ok := e.(*query.Var); ok && v.Col >= 0 {
				columns = append(columns, t.Columns[v.Col].AttNum)
			} else {
				keys = append(keys, e)
			}
			return err
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return columns, keys, nil
}

// infers reports whether a unique index has exactly these columns and expressions, and where
// implies its predicate.
func (s *scope) infers(x query.Index, columns []int16, keys []query.Expr, where query.Expr) bool {
	if !x.Def.Unique || x.Def.State != catalog.IndexPublic {
		return false
	}
	var own []int16
	var exprs []query.Expr
	for i, att := range x.Def.Columns {
		if att > 0 {
			own = append(own, att)
		} else {
			exprs = append(exprs, s.ofTarget(x.Keys[i]))
		}
	}
	within := func(a, b []query.Expr) bool {
		for _, e := range a {
			if !slices.ContainsFunc(b, func(f query.Expr) bool { return query.Equal(e, f) }) {
				return false
			}
		}
		return true
	}
	return sameColumns(own, columns) && within(exprs, keys) && within(keys, exprs) &&
		within(members(s.ofTarget(x.Where)), members(where))
}

// members splits a condition at its ANDs.
func members(e query.Expr) []query.Expr {
	if e == nil {
		return nil
	}
	and, ok := e.(*query.And)
	if !ok {
		return []query.Expr{e}
	}
	var out []query.Expr
	for _, x := range and.Args {
		out = append(out, members(x)...)
	}
	return out
}

// sameColumns reports whether two sets of columns are equal.
func sameColumns(a, b []int16) bool {
	within := func(x, y []int16) bool {
		for _, n := range x {
			found := false
			for _, m := range y {
				found = found || n == m
			}
			if !found {
				return false
			}
		}
		return true
	}
	return within(a, b) && within(b, a)
}
