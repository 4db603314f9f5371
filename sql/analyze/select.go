package analyze

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// selectNode analyzes a query. If resolve is set, columns of unknown type become text.
func (s *scope) selectNode(n *pg_query.Node, resolve bool) error {
	if sel := n.GetSelectStmt(); sel != nil {
		return s.selectStmt(sel, resolve)
	}
	return s.errorf(-1, pgerr.SyntaxError, "a query was expected")
}

// selectStmt analyzes SELECT, VALUES, TABLE and set operations.
func (s *scope) selectStmt(sel *pg_query.SelectStmt, resolve bool) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	if sel.IntoClause != nil {
		return s.errorf(sel.IntoClause.Rel.GetLocation(), pgerr.SyntaxError, "SELECT ... INTO is not allowed here")
	}
	if err := s.with(sel.WithClause); err != nil {
		return err
	}
	switch {
	case len(sel.ValuesLists) > 0:
		return s.valuesClause(sel)
	case sel.Op == pg_query.SetOperation_SETOP_UNION, sel.Op == pg_query.SetOperation_SETOP_INTERSECT,
		sel.Op == pg_query.SetOperation_SETOP_EXCEPT:
		return s.setOperation(sel)
	}
	return s.plainSelect(sel, resolve)
}

// plainSelect is transformSelectStmt.
func (s *scope) plainSelect(sel *pg_query.SelectStmt, resolve bool) error {
	if err := s.windowsClause(sel.WindowClause); err != nil {
		return err
	}
	if err := s.fromClause(sel.FromClause); err != nil {
		return err
	}
	if err := s.at(inSelect, func() error { return s.targets(sel.TargetList) }); err != nil {
		return err
	}
	if err := s.where(sel.WhereClause); err != nil {
		return err
	}
	if err := s.having(sel.HavingClause); err != nil {
		return err
	}
	shown := len(s.q.Targets)
	if err := s.orderBy(sel.SortClause); err != nil {
		return err
	}
	if err := s.groupBy(sel, shown); err != nil {
		return err
	}
	if err := s.distinctClause(sel, shown); err != nil {
		return err
	}
	if err := s.limits(sel); err != nil {
		return err
	}
	if err := s.finishWindows(); err != nil {
		return err
	}
	if resolve {
		if err := s.resolveUnknowns(); err != nil {
			return err
		}
	}
	if err := s.lockingClause(sel.LockingClause); err != nil {
		return err
	}
	return s.checkGrouping()
}

func (s *scope) where(n *pg_query.Node) error {
	if n == nil {
		return nil
	}
	if c := n.GetCurrentOfExpr(); c != nil {
		return s.whereCurrent(c)
	}
	return s.at(inWhere, func() error {
		e, err := s.expr(n)
		if err != nil {
			return err
		}
		s.q.Where, err = s.coerceBool(e, "WHERE", location(n))
		return err
	})
}

func (s *scope) having(n *pg_query.Node) error {
	if n == nil {
		return nil
	}
	return s.at(inHaving, func() error {
		e, err := s.expr(n)
		if err != nil {
			return err
		}
		s.q.Having, err = s.coerceBool(e, "HAVING", location(n))
		return err
	})
}

// limits analyzes LIMIT and OFFSET.
func (s *scope) limits(sel *pg_query.SelectStmt) error {
	ties := sel.LimitOption == pg_query.LimitOption_LIMIT_OPTION_WITH_TIES
	if ties && isNullNode(sel.LimitCount) {
		return pgerr.New(pgerr.InvalidRowCountInLimit, "row count cannot be null in FETCH FIRST ... WITH TIES clause")
	}
	limit := func(n *pg_query.Node, p place, name string) (query.Expr, error) {
		if n == nil || name == "LIMIT" && isNullNode(n) {
			return nil, nil
		}
		var out query.Expr
		err := s.at(p, func() error {
			e, err := s.expr(n)
			if err != nil {
				return err
			}
			if e, err = s.coerceClause(e, types.Int8, name, location(n)); err != nil {
				return err
			}
			if hasOwnVars(e) {
				return s.errorf(location(n), pgerr.InvalidColumnReference, "argument of %s must not contain variables",
					name)
			}
			out = e
			return nil
		})
		return out, err
	}
	var err error
	if s.q.Offset, err = limit(sel.LimitOffset, inOffset, "OFFSET"); err != nil {
		return err
	}
	count, err := limit(sel.LimitCount, inLimit, "LIMIT")
	if err != nil || !ties {
		s.q.Limit = count
		return err
	}
	if s.q.WithTies = count; s.q.Offset == nil {
		s.q.Offset = int8Const(0)
	}
	return nil
}

// valuesClause is VALUES as a query (transformValuesClause).
func (s *scope) valuesClause(sel *pg_query.SelectStmt) error {
	rows, err := s.valuesRows(sel.ValuesLists, nil)
	if err != nil {
		return err
	}
	mods, columnTypes, err := s.unifyValues(rows)
	if err != nil {
		return err
	}
	it := &nameItem{rel: -1, alias: "*VALUES*", relVisible: true, colsVisible: true}
	for i := range columnTypes {
		name := "column" + itoa(i+1)
		v := &query.Var{T: query.T{OID: columnTypes[i], Mod: mods[i]}, Rel: -1, Col: i, Name: name}
		s.q.Targets = append(s.q.Targets, query.Target{Name: name, Expr: v})
		it.columns = append(it.columns, nameColumn{name: name, expr: v})
	}
	for _, r := range rows {
		s.q.Values = append(s.q.Values, exprsOf(r))
	}
	if len(sel.LockingClause) > 0 {
		return pgerr.Unsupported("%s cannot be applied to VALUES", lockOf(sel.LockingClause[0]).Strength)
	}
	s.names = append(s.names, it)
	if err := s.orderBy(sel.SortClause); err != nil {
		return err
	}
	return s.limits(sel)
}

// valuesRows analyzes the rows of VALUES, which must have the same number of columns. defaults, if
// not nil, returns the expression for DEFAULT.
func (s *scope) valuesRows(lists []*pg_query.Node, defaults func(col int) query.Expr) ([][]item, error) {
	rows := make([][]item, len(lists))
	p := inValues
	if len(lists) == 1 && defaults != nil {
		p = inValuesSingle
	}
	err := s.at(p, func() error {
		for i, l := range lists {
			nodes := l.GetList().GetItems()
			for j, n := range nodes {
				if d := n.GetSetToDefault(); d != nil && defaults != nil {
					rows[i] = append(rows[i], item{defaults(j), d.Location})
					continue
				}
				star, err := s.expandStar(n)
				if err != nil {
					return err
				}
				for _, t := range star {
					rows[i] = append(rows[i], item{t.Expr, location(n)})
				}
				if star != nil {
					continue
				}
				e, err := s.expr(n)
				if err != nil {
					return err
				}
				rows[i] = append(rows[i], item{e, location(n)})
			}
			if len(rows[i]) != len(rows[0]) {
				return s.errorf(locationOf(nodes), pgerr.SyntaxError, "VALUES lists must all be the same length")
			}
		}
		return nil
	})
	return rows, err
}

// unifyValues chooses one type for each column of VALUES.
func (s *scope) unifyValues(rows [][]item) (mods []int32, columnTypes []types.OID, err error) {
	for c := range rows[0] {
		column := make([]item, len(rows))
		for r := range rows {
			column[r] = rows[r][c]
		}
		t, err := s.commonType(column, "VALUES")
		if err != nil {
			return nil, nil, err
		}
		for r := range rows {
			e, err := s.coerceCommon(rows[r][c].expr, t, "VALUES", rows[r][c].loc)
			if err != nil {
				return nil, nil, err
			}
			rows[r][c].expr, column[r].expr = e, e
		}
		columnTypes = append(columnTypes, t)
		mods = append(mods, commonTypmod(exprsOf(column), t))
	}
	return mods, columnTypes, nil
}

// lockingClause is FOR UPDATE, FOR SHARE and similar clauses (transformLockingClause). They lock
// the tables named, or all of FROM including those in subqueries.
func (s *scope) lockingClause(clauses []*pg_query.Node) error {
	for _, n := range clauses {
		lock := lockOf(n)
		names := n.GetLockingClause().LockedRels
		if len(names) == 0 {
			if err := lockAll(s.q, lock); err != nil {
				return err
			}
			continue
		}
		if err := lockable(s.q, lock.Strength); err != nil {
			return err
		}
		for _, rel := range names {
			if err := s.lockNamed(&lock, rel.GetRangeVar()); err != nil {
				return err
			}
		}
		addLock(s.q, lock)
	}
	return nil
}

// lockOf reads a clause without its tables.
func lockOf(n *pg_query.Node) query.RowLock {
	c := n.GetLockingClause()
	l := query.RowLock{Strength: query.LockUpdate}
	switch c.Strength {
	case pg_query.LockClauseStrength_LCS_FORKEYSHARE:
		l.Strength = query.LockKeyShare
	case pg_query.LockClauseStrength_LCS_FORSHARE:
		l.Strength = query.LockShare
	case pg_query.LockClauseStrength_LCS_FORNOKEYUPDATE:
		l.Strength = query.LockNoKeyUpdate
	}
	switch c.WaitPolicy {
	case pg_query.LockWaitPolicy_LockWaitSkip:
		l.Wait = query.LockSkip
	case pg_query.LockWaitPolicy_LockWaitError:
		l.Wait = query.LockError
	}
	return l
}

// lockable refuses to lock the rows of a query that are not rows of its tables
// (CheckSelectLocking).
func lockable(q *query.Query, strength query.LockStrength) error {
	why := ""
	switch {
	case q.SetOp != nil:
		why = "UNION/INTERSECT/EXCEPT"
	case q.Distinct:
		why = "DISTINCT clause"
	case len(q.GroupBy) > 0 || q.GroupingSets != nil:
		why = "GROUP BY clause"
	case q.Having != nil:
		why = "HAVING clause"
	case q.HasAggs:
		why = "aggregate functions"
	case q.HasWindow:
		why = "window functions"
	case q.HasSRFs:
		why = "set-returning functions in the target list"
	default:
		return nil
	}
	return pgerr.Unsupported("%s is not allowed with %s", strength, why)
}

// lockAll locks all tables of q and of the subqueries in its FROM. Functions, WITH queries and
// system views have no rows to lock.
func lockAll(q *query.Query, lock query.RowLock) error {
	if err := lockable(q, lock.Strength); err != nil {
		return err
	}
	lock.Rels = nil
	for i, r := range q.Rels {
		if err := noSequence(r); err != nil {
			return err
		}
		switch r.Kind {
		case query.RelTable:
			lock.Rels = append(lock.Rels, i)
		case query.RelSubquery:
			if r.Subquery == nil { // a view in a query that is analyzed for its form
				lock.Rels = append(lock.Rels, i)
				continue
			}
			r.Named.Locked = true
			if err := lockAll(r.Subquery, lock); err != nil {
				return err
			}
		}
	}
	addLock(q, lock)
	return nil
}

// noSequence refuses to lock the row of a sequence.
func noSequence(r *query.Rel) error {
	if r.Kind == query.RelSystem && r.Table != nil {
		return pgerr.New(pgerr.WrongObjectType, "cannot lock rows in sequence %q", r.Table.Name)
	}
	if r.Kind == query.RelTable && r.Table.IsMaterialized() {
		return pgerr.New(pgerr.WrongObjectType, "cannot lock rows in materialized view %q", r.Table.Name)
	}
	return nil
}

func addLock(q *query.Query, lock query.RowLock) {
	if len(lock.Rels) > 0 {
		q.Locking = append(q.Locking, lock)
	}
}

// lockNamed adds a lock of the entry of FROM that OF names.
func (s *scope) lockNamed(lock *query.RowLock, name *pg_query.RangeVar) error {
	if name.Schemaname != "" || name.Catalogname != "" {
		return s.errorf(name.Location, pgerr.SyntaxError, "%s must specify unqualified relation names", lock.Strength)
	}
	for i, r := range s.q.Rels {
		if r.Alias != name.Relname {
			continue
		}
		if err := noSequence(r); err != nil {
			return err
		}
		switch r.Kind {
		case query.RelTable:
			lock.Rels = append(lock.Rels, i)
			return nil
		case query.RelSubquery:
			if r.Subquery == nil {
				lock.Rels = append(lock.Rels, i)
				return nil
			}
			return lockAll(r.Subquery, *lock)
		case query.RelSystem:
			return nil
		}
		what := map[query.RelKind]string{query.RelFunction: "a function", query.RelCTE: "a WITH query"}[r.Kind]
		return s.errorf(name.Location, pgerr.FeatureNotSupported, "%s cannot be applied to %s", lock.Strength, what)
	}
	for _, it := range s.names {
		if it.alias == name.Relname {
			return s.errorf(name.Location, pgerr.FeatureNotSupported, "%s cannot be applied to a join", lock.Strength)
		}
	}
	return s.errorf(name.Location, pgerr.UndefinedTable, "relation %q in %s clause not found in FROM clause",
		name.Relname, lock.Strength)
}
