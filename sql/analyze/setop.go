package analyze

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

var setOps = map[pg_query.SetOperation]struct {
	kind query.SetOpKind
	name string
}{
	pg_query.SetOperation_SETOP_UNION:     {query.Union, "UNION"},
	pg_query.SetOperation_SETOP_INTERSECT: {query.Intersect, "INTERSECT"},
	pg_query.SetOperation_SETOP_EXCEPT:    {query.Except, "EXCEPT"},
}

// setOperation analyzes UNION, INTERSECT and EXCEPT. Both sides are queries one level further in.
func (s *scope) setOperation(sel *pg_query.SelectStmt) error {
	if err := s.setOperands(sel, nil); err != nil {
		return err
	}
	if len(sel.LockingClause) > 0 {
		return pgerr.Unsupported("%s is not allowed with UNION/INTERSECT/EXCEPT", lockOf(sel.LockingClause[0]).Strength)
	}
	for _, n := range sel.SortClause {
		if err := s.setOrder(n.GetSortBy()); err != nil {
			return err
		}
	}
	return s.limits(sel)
}

// setOperands analyzes both sides and unifies their columns. between, if not nil, runs after the
// left side.
func (s *scope) setOperands(sel *pg_query.SelectStmt, between func(left *query.Query) error) error {
	op := setOps[sel.Op]
	for _, side := range []*pg_query.SelectStmt{sel.Larg, sel.Rarg} {
		if len(side.LockingClause) > 0 {
			return pgerr.Unsupported("%s is not allowed with UNION/INTERSECT/EXCEPT", lockOf(side.LockingClause[0]).
				Strength)
		}
	}
	left := s.child()
	if err := left.selectStmt(sel.Larg, false); err != nil {
		return err
	}
	if between != nil {
		if err := between(left.q); err != nil {
			return err
		}
	}
	right := s.child()
	if into := sel.Rarg.IntoClause; into != nil {
		return s.errorf(into.Rel.GetLocation(), pgerr.SyntaxError,
			"INTO is only allowed on first SELECT of UNION/INTERSECT/EXCEPT")
	}
	if err := right.selectStmt(sel.Rarg, false); err != nil {
		return err
	}
	s.q.SetOp = &query.SetOp{Kind: op.kind, All: sel.All, Left: left.q, Right: right.q}
	return s.unifySides(left, right, sel, op.name)
}

// unifySides coerces the columns of both sides to common types, which are the result's.
func (s *scope) unifySides(left, right *scope, sel *pg_query.SelectStmt, name string) error {
	l, r := visible(left.q), visible(right.q)
	if len(l) != len(r) {
		return s.errorf(firstTarget(sel.Rarg), pgerr.SyntaxError, "each %s query must have the same number of columns",
			name)
	}
	for i := range l {
		li, ri := item{l[i].Expr, targetLocation(sel.Larg, i)}, item{r[i].Expr, targetLocation(sel.Rarg, i)}
		t, err := s.commonType([]item{li, ri}, name)
		if err != nil {
			return err
		}
		if !(name == "UNION" && sel.All) {
			if err := s.sortable(t, li.loc, "equality"); err != nil {
				return err
			}
		}
		mod := int32(-1)
		if li.expr.Type() == t && ri.expr.Type() == t && li.expr.Typmod() == ri.expr.Typmod() {
			mod = li.expr.Typmod()
		}
		if err := left.coerceColumn(i, t, name, li.loc); err != nil {
			return err
		}
		if err := right.coerceColumn(i, t, name, ri.loc); err != nil {
			return err
		}
		s.q.Targets = append(s.q.Targets, query.Target{
			Name: l[i].Name, Expr: &query.Var{T: query.T{OID: t, Mod: mod}, Rel: -1, Col: i, Name: l[i].Name},
		})
	}
	return nil
}

// coerceColumn changes output column i of s's query to type t in the rows that it comes from,
// through VALUES and nested set operations.
func (s *scope) coerceColumn(i int, t types.OID, name string, loc int32) error {
	target := &s.q.Targets[i]
	if target.Expr.Type() == t {
		return nil
	}
	through := func(q *query.Query) error {
		inner := s.child()
		inner.q = q
		return inner.coerceColumn(i, t, name, loc)
	}
	switch {
	case s.q.SetOp != nil:
		if err := through(s.q.SetOp.Left); err != nil {
			return err
		}
		if err := through(s.q.SetOp.Right); err != nil {
			return err
		}
	case s.q.Values != nil:
		for _, row := range s.q.Values {
			e, err := s.coerceCommon(row[i], t, name, loc)
			if err != nil {
				return err
			}
			row[i] = e
		}
	default:
		e, err := s.coerceCommon(target.Expr, t, name, loc)
		if err == nil {
			target.Expr = e
		}
		return err
	}
	v := *target.Expr.(*query.Var)
	v.T = query.Of(t)
	target.Expr = &v
	return nil
}

func firstTarget(sel *pg_query.SelectStmt) int32 { return targetLocation(sel, 0) }

// targetLocation returns the location of output column i.
func targetLocation(sel *pg_query.SelectStmt, i int) int32 {
	for sel.GetLarg() != nil {
		sel = sel.Larg
	}
	if i < len(sel.GetTargetList()) {
		return location(sel.TargetList[i].GetResTarget().GetVal())
	}
	return -1
}

// setOrder is one item of ORDER BY over a set operation: a result column by name or position.
func (s *scope) setOrder(sb *pg_query.SortBy) error {
	at, err := s.namedTarget(sb.Node, "ORDER BY")
	if err != nil {
		return err
	}
	if at < 0 {
		if c := sb.Node.GetColumnRef(); c != nil && len(c.Fields) == 1 && c.Fields[0].GetString_() != nil {
			return s.missingColumn("", c.Fields[0].GetString_().Sval, c.Location)
		}
		return s.unsupported(location(sb.Node), "invalid UNION/INTERSECT/EXCEPT ORDER BY clause").
			WithDetail("Only result column names can be used, not expressions or functions.").
			WithHint("Add the expression/function to every SELECT, or move the UNION into a FROM clause.")
	}
	desc, nullsFirst, err := s.direction(sb)
	if err != nil {
		return err
	}
	if err := s.sortable(s.q.Targets[at].Expr.Type(), location(sb.Node), "ordering"); err != nil {
		return err
	}
	if !sortsBy(s.q.OrderBy, at) {
		s.q.OrderBy = append(s.q.OrderBy, query.SortKey{Target: at, Desc: desc, NullsFirst: nullsFirst})
	}
	return nil
}
