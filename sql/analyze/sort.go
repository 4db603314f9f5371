package analyze

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// direction reads ASC, DESC, USING and NULLS.
func (s *scope) direction(sb *pg_query.SortBy) (desc, nullsFirst bool, err error) {
	switch sb.SortbyDir {
	case pg_query.SortByDir_SORTBY_DESC:
		desc = true
	case pg_query.SortByDir_SORTBY_USING:
		op := nodeStrings(sb.UseOp)
		switch op[len(op)-1] {
		case "<":
		case ">":
			desc = true
		default:
			return false, false, s.errorf(location(sb.Node), pgerr.WrongObjectType,
				"operator %s is not a valid ordering operator", op[len(op)-1]).
				WithHint(`Ordering operators must be "<" or ">" members of btree operator families.`)
		}
	}
	switch sb.SortbyNulls {
	case pg_query.SortByNulls_SORTBY_NULLS_FIRST:
		nullsFirst = true
	case pg_query.SortByNulls_SORTBY_NULLS_LAST:
	default:
		nullsFirst = desc
	}
	return desc, nullsFirst, nil
}

// orderBy analyzes ORDER BY; expressions that are not output columns become hidden ones.
func (s *scope) orderBy(nodes []*pg_query.Node) error {
	return s.at(inOrderBy, func() error {
		for _, n := range nodes {
			sb := n.GetSortBy()
			at, err := s.findTarget(sb.Node, "ORDER BY")
			if err != nil {
				return err
			}
			if err := s.resolveTarget(at, sb.Node); err != nil {
				return err
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
		}
		return nil
	})
}

// sortsBy reports whether a target is a sort key already, so that a second one has no effect.
func sortsBy(keys []query.SortKey, target int) bool {
	for _, k := range keys {
		if k.Target == target {
			return true
		}
	}
	return false
}

// resolveTarget makes a target of unknown type text.
func (s *scope) resolveTarget(at int, n *pg_query.Node) error {
	t := &s.q.Targets[at]
	if t.Expr.Type() != types.Unknown {
		return nil
	}
	e, err := s.coerce(t.Expr, types.Text, -1, implicit, location(n))
	if err == nil {
		t.Expr = e
	}
	return err
}

// findTarget is findTargetlistEntrySQL92: it returns an output column by name or position, else an
// expression, which is added if it is new.
func (s *scope) findTarget(n *pg_query.Node, clause string) (int, error) {
	at, err := s.namedTarget(n, clause)
	if at >= 0 || err != nil {
		return at, err
	}
	e, err := s.expr(n)
	if err != nil {
		return 0, err
	}
	for i, t := range s.q.Targets {
		if query.Equal(t.Expr, e) {
			return i, nil
		}
	}
	s.q.Targets = append(s.q.Targets, query.Target{Expr: e, Name: columnName(n), Hidden: true})
	return len(s.q.Targets) - 1, nil
}

// namedTarget returns the output column of a bare name or a number, -1 if n is neither.
func (s *scope) namedTarget(n *pg_query.Node, clause string) (int, error) {
	if c := n.GetColumnRef(); c != nil && len(c.Fields) == 1 && c.Fields[0].GetString_() != nil {
		return s.targetByName(c, clause)
	}
	c := n.GetAConst()
	if c == nil {
		return -1, nil
	}
	v, ok := c.Val.(*pg_query.A_Const_Ival)
	if !ok || c.Isnull {
		return -1, s.errorf(c.Location, pgerr.SyntaxError, "non-integer constant in %s", clause)
	}
	at := int(v.Ival.GetIval()) - 1
	if at < 0 || at >= len(visible(s.q)) {
		return -1, s.errorf(c.Location, pgerr.InvalidColumnReference, "%s position %d is not in select list", clause,
			at+1)
	}
	return at, nil
}

func (s *scope) targetByName(c *pg_query.ColumnRef, clause string) (int, error) {
	name := c.Fields[0].GetString_().Sval
	if clause == "GROUP BY" {
		// GROUP BY prefers a column of FROM.
		found, _, err := s.ownColumn(name, c.Location)
		if err != nil || found {
			return -1, err
		}
	}
	at := -1
	for i, t := range s.q.Targets {
		if t.Hidden || t.Name != name {
			continue
		}
		if at >= 0 && !query.Equal(s.q.Targets[at].Expr, t.Expr) {
			return -1, s.errorf(c.Location, pgerr.AmbiguousColumn, "%s %q is ambiguous", clause, name)
		}
		if at < 0 {
			at = i
		}
	}
	return at, nil
}

// ownColumn reports whether a name is a visible column; if not, it returns no error.
func (s *scope) ownColumn(name string, loc int32) (bool, query.Expr, error) {
	c, e, err := s.lookupColumn(name, loc)
	return c != nil, e, err
}

// distinctClause analyzes DISTINCT and DISTINCT ON. shown is the number of visible targets.
func (s *scope) distinctClause(sel *pg_query.SelectStmt, shown int) error {
	if len(sel.DistinctClause) == 0 {
		return nil
	}
	s.q.Distinct = true
	if sel.DistinctClause[0].GetNode() != nil {
		return s.distinctOn(sel.DistinctClause)
	}
	for _, k := range s.q.OrderBy {
		if k.Target >= shown {
			return s.errorf(location(sel.SortClause[0]), pgerr.InvalidColumnReference,
				"for SELECT DISTINCT, ORDER BY expressions must appear in select list")
		}
	}
	for i := range shown {
		n := sel.TargetList[min(i, len(sel.TargetList)-1)]
		if err := s.resolveTarget(i, n); err != nil {
			return err
		}
		if err := s.sortable(s.q.Targets[i].Expr.Type(), location(n), "equality"); err != nil {
			return err
		}
	}
	return nil
}

func (s *scope) distinctOn(nodes []*pg_query.Node) error {
	var on []int
	err := s.at(inDistinctOn, func() error {
		for _, n := range nodes {
			at, err := s.findTarget(n, "SELECT DISTINCT ON")
			if err != nil {
				return err
			}
			if err := s.resolveTarget(at, n); err != nil {
				return err
			}
			if err := s.sortable(s.q.Targets[at].Expr.Type(), location(n), "equality"); err != nil {
				return err
			}
			if !containsInt(on, at) {
				on = append(on, at)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	var ordered []int
	skipped := false
	for _, k := range s.q.OrderBy {
		switch {
		case !containsInt(on, k.Target):
			skipped = true
		case skipped:
			return s.errorf(location(nodes[0]), pgerr.InvalidColumnReference,
				"SELECT DISTINCT ON expressions must match initial ORDER BY expressions")
		default:
			ordered = append(ordered, k.Target)
		}
	}
	for _, t := range on {
		if containsInt(ordered, t) {
			continue
		}
		if skipped {
			return s.errorf(location(nodes[0]), pgerr.InvalidColumnReference,
				"SELECT DISTINCT ON expressions must match initial ORDER BY expressions")
		}
		// Equal rows must be adjacent, so the query is sorted without being asked to.
		s.q.OrderBy = append(s.q.OrderBy, query.SortKey{Target: t})
	}
	s.q.DistinctOn = on
	return nil
}

func containsInt(list []int, n int) bool {
	for _, x := range list {
		if x == n {
			return true
		}
	}
	return false
}
