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
	if sel.LimitOption == pg_query.LimitOption_LIMIT_OPTION_WITH_TIES {
		return s.unsupported(location(sel.LimitCount), "FETCH FIRST … WITH TIES is not supported yet").
			WithHint("Compute rank() OVER (ORDER BY …) in a subquery and compare it outside.")
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
	s.q.Limit, err = limit(sel.LimitCount, inLimit, "LIMIT")
	return err
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
