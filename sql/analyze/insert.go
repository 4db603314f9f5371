package analyze

import (
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// insert analyzes INSERT.
func (s *scope) insert(in *pg_query.InsertStmt) error {
	s.q.Command = query.Insert
	if err := s.with(in.WithClause); err != nil {
		return err
	}
	s.q.Overriding = overriding(in.Override)
	it, exprs, err := s.targetTable(in.Relation)
	if err != nil {
		return err
	}
	columns, locs, err := s.insertColumns(in.Cols)
	if err != nil {
		return err
	}
	switch sel := in.SelectStmt.GetSelectStmt(); {
	case in.SelectStmt == nil:
		columns = nil
	case isPlainValues(sel):
		columns, err = s.insertValues(sel, columns, locs, len(in.Cols) > 0, exprs)
	default:
		columns, err = s.insertSelect(in.SelectStmt, columns, locs, len(in.Cols) > 0, exprs)
	}
	if err != nil {
		return err
	}
	s.q.Rels[s.q.Result].Named.Given = columns
	if err := s.insertDefaults(columns, exprs); err != nil {
		return err
	}
	s.names = []*nameItem{it}
	if err := s.onConflict(in.OnConflictClause, it, exprs); err != nil {
		return err
	}
	s.names = []*nameItem{it}
	if err := s.returning(in.ReturningList); err != nil {
		return err
	}
	s.checks(exprs)
	s.indexes(exprs)
	return s.through.restrict(s)
}

// isPlainValues reports whether the source is VALUES without clauses, in which DEFAULT is allowed.
func isPlainValues(sel *pg_query.SelectStmt) bool {
	return sel != nil && len(sel.ValuesLists) > 0 && len(sel.SortClause) == 0 && sel.LimitCount == nil &&
		sel.LimitOffset == nil &&
		len(sel.LockingClause) == 0 && sel.WithClause == nil
}

// insertColumns returns the target columns by position; all columns if none are named.
func (s *scope) insertColumns(nodes []*pg_query.Node) (columns []int, locs []int32, err error) {
	t := s.q.Rels[s.q.Result].Table
	s.parts = nil
	if len(nodes) == 0 && s.through != nil {
		columns, locs = s.through.all()
		return columns, locs, nil
	}
	if len(nodes) == 0 {
		for i, c := range t.Columns {
			if !c.Dropped {
				columns, locs = append(columns, i), append(locs, -1)
			}
		}
		return columns, locs, nil
	}
	for _, n := range nodes {
		rt := n.GetResTarget()
		col, err := s.targetColumn(rt.Name, rt.Location)
		if err != nil {
			return nil, nil, err
		}
		at := slices.Index(columns, col)
		if at >= 0 && s.through == nil && (len(rt.Indirection) == 0 || isWhole(s, at)) {
			return nil, nil, s.errorf(rt.Location, pgerr.DuplicateColumn, "column %q specified more than once", rt.Name)
		}
		if len(rt.Indirection) > 0 {
			if s.parts == nil {
				s.parts = map[int]part{}
			}
			s.parts[len(columns)] = part{rt.Name, rt.Indirection, rt.Location}
		}
		columns, locs = append(columns, col), append(locs, rt.Location)
	}
	return columns, locs, nil
}

// fit checks the number of values against the columns.
func (s *scope) fit(columns []int, locs []int32, n int, named bool, valueLoc int32) ([]int, error) {
	if n > len(columns) {
		return nil, s.errorf(valueLoc, pgerr.SyntaxError, "INSERT has more expressions than target columns")
	}
	if n < len(columns) && named {
		return nil, s.errorf(locs[n], pgerr.SyntaxError, "INSERT has more target columns than expressions")
	}
	return columns[:n], s.through.checkInserted(s, columns[:n])
}

// insertValues makes the rows of VALUES the source, each value coerced to its column's type.
func (s *scope) insertValues(sel *pg_query.SelectStmt, columns []int, locs []int32, named bool,
	exprs *tableExprs) ([]int, error) {
	src := s.child()
	var defaultErr error
	rows, err := src.valuesRows(sel.ValuesLists, func(i int) query.Expr {
		if i >= len(columns) {
			return &query.Default{T: query.Of(types.Unknown)}
		}
		e, err := s.defaultOf(columns[i], exprs)
		if p, ok := s.parts[i]; ok && err == nil {
			err = partDefault(s, p.path, p.loc)
		}
		if err != nil && defaultErr == nil {
			defaultErr = err
		}
		return &defaultValue{Expr: e}
	})
	if err == nil {
		err = defaultErr
	}
	if err != nil {
		return nil, err
	}
	extra := int32(-1)
	if len(rows[0]) > len(columns) {
		extra = rows[0][len(columns)].loc
	}
	if columns, err = s.fit(columns, locs, len(rows[0]), named, extra); err != nil {
		return nil, err
	}
	src.q.Values = make([][]query.Expr, len(rows))
	for r, row := range rows {
		out := make([]query.Expr, len(row))
		for i, v := range row {
			if out[i], err = insertedValue(s, i, columns[i], v, exprs); err != nil {
				return nil, err
			}
		}
		src.q.Values[r] = out
	}
	for i, col := range columns {
		c := s.q.Rels[s.q.Result].Table.Columns[col]
		v := &query.Var{T: query.T{OID: c.Type, Mod: c.Typmod}, Rel: -1, Col: i, Name: "column" + itoa(i+1)}
		if _, ok := s.parts[i]; ok {
			v.T = query.T{OID: src.q.Values[0][i].Type(), Mod: src.q.Values[0][i].Typmod()}
		}
		src.q.Targets = append(src.q.Targets, query.Target{Name: v.Name, Expr: v})
	}
	return columns, s.source(src.q, columns, nil)
}

// insertedValue returns the expression of a column of a new row for which the text has a value, or DEFAULT.
func insertedValue(s *scope, target, col int, v item, exprs *tableExprs) (query.Expr, error) {
	if d, ok := v.expr.(*defaultValue); ok {
		return d.Expr, nil
	}
	if err := s.checkOverriding(col); err != nil {
		return nil, err
	}
	e, err := given(s, target, col, v.expr, v.loc)
	if err == nil && s.overridden(col) {
		e, err = s.defaultOf(col, exprs)
	}
	return e, err
}

func overriding(k pg_query.OverridingKind) byte {
	switch k {
	case pg_query.OverridingKind_OVERRIDING_USER_VALUE:
		return 'u'
	case pg_query.OverridingKind_OVERRIDING_SYSTEM_VALUE:
		return 's'
	}
	return 0
}

// defaultValue marks a DEFAULT among values during analysis.
type defaultValue struct{ query.Expr }

// checkOverriding refuses a value for a column that is always generated.
func (s *scope) checkOverriding(col int) error {
	c := s.q.Rels[s.q.Result].Table.Columns[col]
	switch {
	case c.Generated != "":
		return pgerr.New(codeGeneratedAlways, "cannot insert a non-DEFAULT value into column %q", c.Name).
			WithDetail("Column %q is a generated column.", c.Name)
	case c.Identity == 'a' && s.q.Overriding == 0:
		return pgerr.New(codeGeneratedAlways, "cannot insert a non-DEFAULT value into column %q", c.Name).
			WithDetail("Column %q is an identity column defined as GENERATED ALWAYS.", c.Name).
			WithHint("Use OVERRIDING SYSTEM VALUE to override.")
	}
	return nil
}

// overridden reports whether a value for a column is ignored: OVERRIDING USER VALUE.
func (s *scope) overridden(col int) bool {
	return s.q.Overriding == 'u' && s.q.Rels[s.q.Result].Table.Columns[col].Identity != 0
}

// insertSelect makes any other query the source.
func (s *scope) insertSelect(n *pg_query.Node, columns []int, locs []int32, named bool,
	exprs *tableExprs) ([]int, error) {
	src := s.child()
	if err := src.selectNode(n, false); err != nil {
		return nil, err
	}
	targets := visible(src.q)
	sel := n.GetSelectStmt()
	columns, err := s.fit(columns, locs, len(targets), named,
		targetLocation(sel, min(len(columns), max(len(targets)-1, 0))))
	if err != nil {
		return nil, err
	}
	for i, col := range columns {
		if err := s.checkOverriding(col); err != nil {
			return nil, err
		}
		if targets[i].Expr.Type() != types.Unknown {
			continue
		}
		// A literal or parameter is coerced to the column's type inside the subquery.
		e, err := given(s, i, col, targets[i].Expr, targetLocation(sel, i))
		if err != nil {
			return nil, err
		}
		if src.q.Values != nil || src.q.SetOp != nil {
			if err := src.coerceColumn(i, e.Type(), "INSERT", -1); err != nil {
				return nil, err
			}
			continue
		}
		targets[i].Expr = e
	}
	var values []query.Expr
	for i, col := range columns {
		t := targets[i].Expr
		v := &query.Var{T: query.T{OID: t.Type(), Mod: t.Typmod()}, Rel: len(s.q.Rels), Col: i, Name: targets[i].Name}
		e, err := given(s, i, col, v, targetLocation(sel, i))
		if err == nil && s.overridden(col) {
			e, err = s.defaultOf(col, exprs)
		}
		if err != nil {
			return nil, err
		}
		values = append(values, e)
	}
	return columns, s.source(src.q, columns, values)
}

// source adds the source rows as a range table entry and assigns them to columns. If values is nil,
// they are assigned as they are.
func (s *scope) source(q *query.Query, columns []int, values []query.Expr) error {
	s.q.Source = q
	rel := &query.Rel{Kind: query.RelSource, Alias: "*SELECT*", Columns: targetColumns(q)}
	s.q.SourceRel = s.addRel(rel)
	for i, col := range columns {
		c := rel.Columns[i]
		e := query.Expr(&query.Var{T: query.T{OID: c.Type, Mod: c.Typmod}, Rel: s.q.SourceRel, Col: i, Name: c.Name})
		if values != nil {
			e = values[i]
		}
		if p, ok := s.parts[i]; ok {
			if err := storeGiven(s, col, p, e); err != nil {
				return err
			}
			continue
		}
		s.q.Assign = append(s.q.Assign, query.Assignment{Col: col, Expr: e})
	}
	return nil
}

// insertDefaults assigns the defaults of the columns without values.
func (s *scope) insertDefaults(given []int, exprs *tableExprs) error {
	for i, c := range s.q.Rels[s.q.Result].Table.Columns {
		if c.Dropped || c.Generated != "" || containsInt(given, i) {
			continue
		}
		if exprs.defaults[i] == nil {
			continue
		}
		e, err := s.defaultOf(i, exprs)
		if err != nil {
			return err
		}
		s.q.Assign = append(s.q.Assign, query.Assignment{Col: i, Expr: e})
	}
	return nil
}

// onConflict analyzes ON CONFLICT.
func (s *scope) onConflict(c *pg_query.OnConflictClause, target *nameItem, exprs *tableExprs) error {
	if c == nil {
		return nil
	}
	oc := &query.OnConflict{Update: c.Action == pg_query.OnConflictAction_ONCONFLICT_UPDATE}
	if oc.Update && c.Infer == nil {
		return s.errorf(c.Location, pgerr.SyntaxError,
			"ON CONFLICT DO UPDATE requires inference specification or constraint name").
			WithHint("For example, ON CONFLICT (column_name).")
	}
	var err error
	if err = s.arbiters(oc, c.Infer, exprs); err != nil {
		return err
	}
	t := s.q.Rels[s.q.Result]
	excluded := &query.Rel{Kind: query.RelExcluded, Alias: "excluded", Table: t.Table, SchemaName: t.SchemaName,
		Columns: columnsOfTable(t.Table)}
	oc.Excluded = s.addRel(excluded)
	s.q.OnConflict = oc
	if !oc.Update {
		return nil
	}
	s.names = []*nameItem{target, s.through.excluded(s, oc.Excluded)}
	if oc.Assign, err = s.assignments(c.TargetList, exprs); err != nil {
		return err
	}
	if c.WhereClause == nil {
		return nil
	}
	return s.at(inWhere, func() error {
		e, err := s.expr(c.WhereClause)
		if err != nil {
			return err
		}
		oc.Where, err = s.coerceBool(e, "WHERE", location(c.WhereClause))
		return err
	})
}
