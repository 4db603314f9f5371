package analyze

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/query"
)

// codeGeneratedAlways is generated_always of errcodes.txt.
const codeGeneratedAlways = "428C9"

// targetTable makes the target of a write Rels[0], and returns the analyzed expressions of its
// definition.
func (s *scope) targetTable(rv *pg_query.RangeVar) (*nameItem, *tableExprs, error) {
	rel, schema, err := s.relation(rv)
	if err != nil {
		return nil, nil, err
	}
	if rel.Kind == query.RelSystem && rel.Table != nil {
		return nil, nil, pgerr.New(pgerr.WrongObjectType, "cannot change sequence %q", rv.Relname)
	}
	if s.ctx.Transitions[rv.Relname] != nil && rv.Schemaname == "" {
		return nil, nil, pgerr.New(pgerr.FeatureNotSupported,
			"relation %q cannot be the target of a modifying statement", rv.Relname)
	}
	if rel.View != nil && !firesInstead(rel.View, s.q.Command) {
		return targetView(s, rel, rv)
	}
	if rel.View != nil { // its triggers write
		rel.Table = rel.View
	} else if rel.Table != nil && rel.Table.IsMaterialized() {
		return nil, nil, pgerr.New(pgerr.WrongObjectType, "cannot change materialized view %q", rv.Relname)
	} else if rel.Kind != query.RelTable {
		return nil, nil, pgerr.New(pgerr.InsufficientPrivilege, "permission denied: %q is a system catalog", rv.Relname)
	}
	aliased, err := s.applyAlias(rel, rv.Alias, rv.Relname)
	if err != nil {
		return nil, nil, err
	}
	exprs, err := s.tableExprs(rel.Table)
	if err != nil {
		return nil, nil, err
	}
	s.q.Result = s.addRel(rel)
	it := s.itemOf(s.q.Result)
	if !aliased {
		it.schema = schema
	}
	return it, exprs, nil
}

// targetColumn finds a column of the target table by name.
func (s *scope) targetColumn(name string, loc int32) (int, error) {
	if s.through != nil {
		return s.through.column(s, name, loc)
	}
	t := s.q.Rels[s.q.Result].Table
	for i, c := range t.Columns {
		if c.Name == name && !c.Dropped {
			return i, nil
		}
	}
	switch name {
	case "ctid", "xmin", "xmax", "cmin", "cmax", "tableoid":
		return 0, s.unsupported(loc, "cannot assign to system column %q", name)
	}
	return 0, s.errorf(loc, pgerr.UndefinedColumn, "column %q of relation %q does not exist", name, t.Name)
}

// assign coerces a value to the type of the target's column (transformAssignedExpr).
func (s *scope) assign(col int, e query.Expr, loc int32) (query.Expr, error) {
	c := s.q.Rels[s.q.Result].Table.Columns[col]
	r, err := s.coerceTo(e, c.Type, c.Typmod, assignment, loc)
	if err != nil {
		return nil, err
	}
	if r == nil {
		return nil, s.errorf(loc, pgerr.DatatypeMismatch, "column %q is of type %s but expression is of type %s",
			s.through.nameOf(col, c.Name), s.ctx.name(c.Type), s.ctx.name(e.Type())).
			WithHint("You will need to rewrite or cast the expression.")
	}
	return r, nil
}

// defaultOf returns the expression that DEFAULT stands for in a column.
func (s *scope) defaultOf(col int, exprs *tableExprs) (query.Expr, error) {
	c := s.q.Rels[s.q.Result].Table.Columns[col]
	if e := exprs.defaults[col]; e != nil {
		return e, nil
	}
	return &query.Const{T: query.T{OID: c.Type, Mod: c.Typmod}}, nil
}

// returning analyzes RETURNING.
func (s *scope) returning(nodes []*pg_query.Node) error {
	if len(nodes) == 0 {
		return nil
	}
	s.q.Returning = true
	err := s.at(inReturning, func() error { return s.targets(nodes) })
	if err != nil {
		return err
	}
	return s.resolveUnknowns()
}

// checks copies the constraints of the target table. Their columns are those of Rels[0] there and
// of Rels[Result] here.
func (s *scope) checks(exprs *tableExprs) {
	s.q.Checks = exprs.checks
	if s.q.Result == 0 || len(exprs.checks) == 0 {
		return
	}
	s.q.Checks = append([]query.Check(nil), exprs.checks...)
	for i := range s.q.Checks {
		s.q.Checks[i].Expr = s.ofTarget(s.q.Checks[i].Expr)
	}
}

// indexes copies the indexes of the target table likewise.
func (s *scope) indexes(exprs *tableExprs) {
	s.q.Indexes = exprs.indexes
	if s.q.Result == 0 || len(exprs.indexes) == 0 {
		return
	}
	s.q.Indexes = append([]query.Index(nil), exprs.indexes...)
	for i := range s.q.Indexes {
		x := &s.q.Indexes[i]
		keys := make([]query.Expr, len(x.Keys))
		for k, e := range x.Keys {
			keys[k] = s.ofTarget(e)
		}
		x.Keys, x.Where = keys, s.ofTarget(x.Where)
	}
}

// ofTarget replaces the columns of Rels[0] by those of Rels[Result].
func (s *scope) ofTarget(e query.Expr) query.Expr {
	if e == nil {
		return nil
	}
	return query.Rewrite(e, func(e query.Expr) (query.Expr, bool) {
		v, ok := e.(*query.Var)
		if !ok {
			return e, false
		}
		c := *v
		c.Rel = s.q.Result
		return &c, true
	})
}

// update analyzes UPDATE.
func (s *scope) update(u *pg_query.UpdateStmt) error {
	s.q.Command = query.Update
	if err := s.with(u.WithClause); err != nil {
		return err
	}
	it, exprs, err := s.targetTable(u.Relation)
	if err != nil {
		return err
	}
	if err := s.otherTables(it, u.FromClause); err != nil {
		return err
	}
	if err := s.setList(u.TargetList, exprs); err != nil {
		return err
	}
	if err := s.where(u.WhereClause); err != nil {
		return err
	}
	if err := s.returning(u.ReturningList); err != nil {
		return err
	}
	s.checks(exprs)
	s.indexes(exprs)
	if err := s.through.restrict(s); err != nil {
		return err
	}
	return s.noAggregates()
}

// delete analyzes DELETE.
func (s *scope) delete(d *pg_query.DeleteStmt) error {
	s.q.Command = query.Delete
	if err := s.with(d.WithClause); err != nil {
		return err
	}
	it, exprs, err := s.targetTable(d.Relation)
	if err != nil {
		return err
	}
	s.indexes(exprs)
	if err := s.otherTables(it, d.UsingClause); err != nil {
		return err
	}
	if err := s.where(d.WhereClause); err != nil {
		return err
	}
	if err := s.returning(d.ReturningList); err != nil {
		return err
	}
	if err := s.through.restrict(s); err != nil {
		return err
	}
	return s.noAggregates()
}

func (s *scope) noAggregates() error {
	if s.q.HasAggs {
		return pgerr.New(pgerr.GroupingError, "aggregate functions are not allowed here")
	}
	return nil
}

// otherTables analyzes FROM or USING of a write. The target is not visible inside it.
func (s *scope) otherTables(target *nameItem, from []*pg_query.Node) error {
	target.lateralOnly, target.lateralOK = true, false
	s.names = []*nameItem{target}
	for _, n := range from {
		item, items, err := s.fromItem(n)
		if err != nil {
			return err
		}
		if err := s.checkNames(s.names, items); err != nil {
			return err
		}
		setLateral(items, true, true)
		s.names = append(s.names, items...)
		s.q.From = append(s.q.From, item)
	}
	setLateral(s.names, false, true)
	return nil
}

// setList analyzes SET of UPDATE and of ON CONFLICT DO UPDATE.
func (s *scope) setList(nodes []*pg_query.Node, exprs *tableExprs) error {
	assigns, err := s.assignments(nodes, exprs)
	s.q.Assign = assigns
	return err
}

func (s *scope) assignments(nodes []*pg_query.Node, exprs *tableExprs) ([]query.Assignment, error) {
	var out []query.Assignment
	whole := map[int]bool{}
	err := s.at(inUpdateSource, func() error {
		for _, n := range nodes {
			rt := n.GetResTarget()
			col, err := s.targetColumn(rt.Name, rt.Location)
			if err != nil {
				return err
			}
			at := -1
			for i := range out {
				if out[i].Col == col {
					at = i
				}
			}
			c := s.q.Rels[s.q.Result].Table.Columns[col]
			if at >= 0 && (len(rt.Indirection) == 0 || whole[col]) {
				return pgerr.New(pgerr.SyntaxError, "multiple assignments to same column %q", c.Name)
			}
			base := query.Expr(&query.Var{T: query.T{OID: c.Type, Mod: c.Typmod}, Rel: s.q.Result, Col: col,
				Name: c.Name})
			if at >= 0 {
				base = out[at].Expr
			}
			e, err := s.assignment(rt, col, base, exprs)
			if err != nil {
				return err
			}
			if at >= 0 {
				out[at].Expr = e
				continue
			}
			whole[col] = len(rt.Indirection) == 0
			out = append(out, query.Assignment{Col: col, Expr: e})
		}
		return nil
	})
	return out, err
}

// assignment is one column = value of SET; base is the column's value so far.
func (s *scope) assignment(rt *pg_query.ResTarget, col int, base query.Expr, exprs *tableExprs) (query.Expr, error) {
	c := s.q.Rels[s.q.Result].Table.Columns[col]
	val := rt.Val
	var value query.Expr
	if m := val.GetMultiAssignRef(); m != nil {
		var err error
		if val, value, err = s.multiAssign(m); err != nil {
			return nil, err
		}
	}
	if value == nil && val.GetSetToDefault() != nil {
		if len(rt.Indirection) > 0 {
			return nil, partDefault(s, rt.Indirection, rt.Location)
		}
		return s.defaultOf(col, exprs)
	}
	if c.Generated != "" || c.Identity == 'a' {
		e := pgerr.New(codeGeneratedAlways, "column %q can only be updated to DEFAULT", c.Name).
			WithDetail("Column %q is a generated column.", c.Name)
		if c.Identity == 'a' {
			e = e.WithDetail("Column %q is an identity column defined as GENERATED ALWAYS.", c.Name)
		}
		return nil, e
	}
	loc := location(val)
	if value == nil {
		var err error
		if value, err = s.expr(val); err != nil {
			return nil, err
		}
	}
	if len(rt.Indirection) > 0 {
		return assignPart(s, part{rt.Name, rt.Indirection, rt.Location}, base, value)
	}
	return s.assign(col, value, loc)
}

// multiAssign returns column Colno of (a, b) = …: a node of a row, or a value of a subquery.
func (s *scope) multiAssign(m *pg_query.MultiAssignRef) (*pg_query.Node, query.Expr, error) {
	at := int(m.Colno) - 1
	if row := m.Source.GetRowExpr(); row != nil {
		if len(row.Args) != int(m.Ncolumns) {
			return nil, nil, s.errorf(row.Location, pgerr.SyntaxError,
				"number of columns does not match number of values")
		}
		return row.Args[at], nil, nil
	}
	sub := m.Source.GetSubLink()
	if sub == nil {
		return nil, nil, s.unsupported(location(m.Source),
			"source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression")
	}
	// The subquery is analyzed once for each column: a query around it selects that column.
	outer := s.child()
	inner := outer.child()
	if err := inner.selectNode(sub.Subselect, true); err != nil {
		return nil, nil, err
	}
	columns := targetColumns(inner.q)
	if len(columns) != int(m.Ncolumns) {
		return nil, nil, s.errorf(sub.Location, pgerr.SyntaxError, "number of columns does not match number of values")
	}
	rel := outer.addRel(&query.Rel{Kind: query.RelSubquery, Alias: "*SELECT*", Subquery: inner.q, Columns: columns})
	outer.q.From = []query.From{&query.FromRel{Rel: rel}}
	t := query.T{OID: columns[at].Type, Mod: columns[at].Typmod}
	outer.q.Targets = []query.Target{{Name: columns[at].Name,
		Expr: &query.Var{T: t, Rel: rel, Col: at, Name: columns[at].Name}}}
	return m.Source, &query.SubLink{T: t, Kind: query.SubScalar, Query: outer.q}, nil
}
