package analyze

import (
	"reflect"
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

const (
	maxGroupingSets = 4096
	maxCube         = 12
)

// groupBy analyzes GROUP BY. shown is the number of visible targets.
func (s *scope) groupBy(sel *pg_query.SelectStmt, shown int) error {
	if len(sel.GroupClause) == 0 {
		return nil
	}
	return s.at(inGroupBy, func() error {
		sets := [][]int{{}}
		grouping := false
		var form []query.GroupingForm
		for _, n := range sel.GroupClause {
			if n.GetGroupingSet() != nil {
				grouping = true
			}
			more, written, err := s.groupItem(n)
			if err != nil {
				return err
			}
			form = append(form, written)
			if sets = product(sets, more); len(sets) > maxGroupingSets {
				return s.errorf(location(n), pgerr.StatementTooComplex, "too many grouping sets present (maximum %d)",
					maxGroupingSets)
			}
		}
		if sel.GroupDistinct {
			sets = distinctSets(sets)
		}
		if grouping {
			s.q.GroupingSets = sets
		}
		if grouping && s.ctx.Form {
			s.q.Form = &query.Form{Grouping: form, GroupDistinct: sel.GroupDistinct}
		}
		return nil
	})
}

// product returns the cross product of two lists of grouping sets.
func product(a, b [][]int) [][]int {
	var out [][]int
	for _, x := range a {
		for _, y := range b {
			out = append(out, union(x, y))
		}
		if len(out) > maxGroupingSets {
			return out
		}
	}
	return out
}

func union(a, b []int) []int {
	out := append([]int{}, a...)
	for _, n := range b {
		if !containsInt(out, n) {
			out = append(out, n)
		}
	}
	return out
}

func distinctSets(sets [][]int) [][]int {
	var out [][]int
	for _, set := range sets {
		dup := false
		for _, o := range out {
			dup = dup || len(o) == len(set) && len(union(o, set)) == len(o)
		}
		if !dup {
			out = append(out, set)
		}
	}
	return out
}

// groupItem returns the grouping sets of one item of GROUP BY, and how it is written.
func (s *scope) groupItem(n *pg_query.Node) ([][]int, query.GroupingForm, error) {
	g := n.GetGroupingSet()
	if g == nil {
		set, err := s.groupSet(n)
		return [][]int{set}, query.GroupingForm{Keys: set}, err
	}
	switch g.Kind {
	case pg_query.GroupingSetKind_GROUPING_SET_EMPTY:
		return [][]int{{}}, query.GroupingForm{Kind: query.GroupEmpty}, nil
	case pg_query.GroupingSetKind_GROUPING_SET_SETS:
		form := query.GroupingForm{Kind: query.GroupSets}
		var out [][]int
		for _, c := range g.Content {
			sets, written, err := s.groupItem(c)
			if err != nil {
				return nil, form, err
			}
			out, form.Items = append(out, sets...), append(form.Items, written)
		}
		return out, form, nil
	}
	form := query.GroupingForm{Kind: query.GroupRollup}
	parts := make([][]int, len(g.Content))
	for i, c := range g.Content {
		set, err := s.groupSet(c)
		if err != nil {
			return nil, form, err
		}
		parts[i], form.Items = set, append(form.Items, query.GroupingForm{Keys: set})
	}
	if g.Kind == pg_query.GroupingSetKind_GROUPING_SET_ROLLUP {
		return rollup(parts), form, nil
	}
	form.Kind = query.GroupCube
	if len(parts) > maxCube {
		return nil, form, s.errorf(g.Location, pgerr.TooManyColumns, "CUBE is limited to %d elements", maxCube)
	}
	return cube(parts), form, nil
}

func rollup(parts [][]int) [][]int {
	out := make([][]int, 0, len(parts)+1)
	for n := len(parts); n >= 0; n-- {
		set := []int{}
		for _, p := range parts[:n] {
			set = union(set, p)
		}
		out = append(out, set)
	}
	return out
}

func cube(parts [][]int) [][]int {
	out := make([][]int, 0, 1<<len(parts))
	for mask := 1<<len(parts) - 1; mask >= 0; mask-- {
		set := []int{}
		for i, p := range parts {
			if mask&(1<<(len(parts)-1-i)) != 0 {
				set = union(set, p)
			}
		}
		out = append(out, set)
	}
	return out
}

// groupSet returns the positions in GroupBy of an expression, or of several in parentheses.
func (s *scope) groupSet(n *pg_query.Node) ([]int, error) {
	nodes := []*pg_query.Node{n}
	if r := n.GetRowExpr(); r != nil && r.RowFormat == pg_query.CoercionForm_COERCE_IMPLICIT_CAST {
		nodes = r.Args
	} else if l := n.GetList(); l != nil {
		nodes = l.Items
	}
	set := []int{}
	for _, x := range nodes {
		at, err := s.groupExpr(x)
		if err != nil {
			return nil, err
		}
		set = union(set, []int{at})
	}
	return set, nil
}

func (s *scope) groupExpr(n *pg_query.Node) (int, error) {
	at, err := s.namedTarget(n, "GROUP BY")
	if err != nil {
		return 0, err
	}
	var e query.Expr
	if at >= 0 {
		if err := s.resolveTarget(at, n); err != nil {
			return 0, err
		}
		e = s.q.Targets[at].Expr
		if hasOwnAggregate(e) {
			return 0, s.errorf(location(n), pgerr.GroupingError, "aggregate functions are not allowed in GROUP BY")
		}
		if query.Contains(e, isWindowCall) {
			return 0, s.errorf(location(n), pgerr.WindowingError, "window functions are not allowed in GROUP BY")
		}
	} else {
		if e, err = s.expr(n); err != nil {
			return 0, err
		}
		if e.Type() == types.Unknown {
			if e, err = s.coerce(e, types.Text, -1, implicit, location(n)); err != nil {
				return 0, err
			}
		}
	}
	if err := s.sortable(e.Type(), location(n), "equality"); err != nil {
		return 0, err
	}
	for i, g := range s.q.GroupBy {
		if query.Equal(g, e) {
			return i, nil
		}
	}
	s.q.GroupBy = append(s.q.GroupBy, e)
	return len(s.q.GroupBy) - 1, nil
}

func hasOwnAggregate(e query.Expr) bool {
	return query.Contains(e, func(x query.Expr) bool {
		a, ok := x.(*query.Agg)
		return ok && a.Up == 0
	})
}

// pendingGrouping is a GROUPING(…) whose arguments are resolved when GROUP BY is known.
type pendingGrouping struct {
	node *query.Grouping
	args []item
}

func (s *scope) groupingFunc(g *pg_query.GroupingFunc) (query.Expr, error) {
	if len(g.Args) > 31 {
		return nil, s.errorf(g.Location, pgerr.TooManyArguments, "GROUPING must have fewer than 32 arguments")
	}
	if message := noAggregates(s.place); message != "" {
		return nil, s.errorf(g.Location, pgerr.GroupingError, "grouping operations%s",
			message[len("aggregate functions"):])
	}
	items, err := s.items(g.Args)
	if err != nil {
		return nil, err
	}
	out := &query.Grouping{T: query.Of(types.Int4)}
	s.groupings = append(s.groupings, pendingGrouping{out, items})
	return out, nil
}

func (s *scope) finishGroupings() error {
	for _, p := range s.groupings {
		for _, a := range p.args {
			at := -1
			for i, g := range s.q.GroupBy {
				if query.Equal(g, a.expr) {
					at = i
				}
			}
			if at < 0 {
				return s.errorf(a.loc, pgerr.GroupingError,
					"arguments to GROUPING must be grouping expressions of the associated query level")
			}
			p.node.Args = append(p.node.Args, at)
		}
	}
	return nil
}

// checkGrouping refuses columns that are neither grouped nor inside an aggregate
// (parseCheckAggregates).
func (s *scope) checkGrouping() error {
	q := s.q
	if err := s.finishGroupings(); err != nil {
		return err
	}
	if !q.HasAggs && len(q.GroupBy) == 0 && q.Having == nil && q.GroupingSets == nil {
		return nil
	}
	c := groupCheck{s: s, keys: q.GroupBy}
	for _, t := range q.Targets {
		c.visit(t.Expr, 0)
	}
	for _, w := range q.Windows {
		for _, e := range w.Partition {
			c.visit(e, 0)
		}
		for _, o := range w.Order {
			c.visit(o.Expr, 0)
		}
	}
	if q.Having != nil {
		c.visit(q.Having, 0)
	}
	return c.err
}

// groupCheck checks expressions above a grouping.
type groupCheck struct {
	s    *scope
	keys []query.Expr
	err  error
}

func (c *groupCheck) visit(e query.Expr, depth int) {
	if e == nil || c.err != nil {
		return
	}
	query.Walk(e, func(x query.Expr) bool {
		if c.err != nil {
			return false
		}
		switch v := x.(type) {
		case *query.Const, *query.Param, *query.Grouping:
			return false
		case *query.Agg:
			if v.Up == depth {
				for _, d := range v.Direct {
					c.visit(d, depth)
				}
			}
			return v.Up < depth
		case *query.Var:
			c.variable(v, depth)
			return false
		case *query.SubLink:
			if depth == 0 && c.isKey(v) {
				return false
			}
			query.WalkQuery(v.Query, func(x query.Expr, d int) {
				if w, ok := x.(*query.Var); ok && w.Up == depth+1+d && !insideOuterAgg(v.Query, w) {
					c.variable(w, depth+1+d)
				}
			})
		}
		return depth > 0 || !c.isKey(x)
	})
}

func (c *groupCheck) isKey(e query.Expr) bool {
	for _, k := range c.keys {
		if k.Type() == e.Type() && reflect.TypeOf(k) == reflect.TypeOf(e) && query.Equal(k, e) {
			return true
		}
	}
	return false
}

// insideOuterAgg reports whether w is inside an aggregate of an outer level.
func insideOuterAgg(q *query.Query, w *query.Var) bool {
	found := false
	query.WalkQuery(q, func(x query.Expr, d int) {
		a, ok := x.(*query.Agg)
		if !ok || a.Up <= d || found {
			return
		}
		for _, arg := range append(append([]query.Expr{}, a.Args...), a.Filter) {
			if arg == nil {
				continue
			}
			found = found || query.Contains(arg, func(y query.Expr) bool { return y == query.Expr(w) })
		}
	})
	return found
}

// variable checks a variable of the grouped level that occurs depth subqueries further in.
func (c *groupCheck) variable(v *query.Var, depth int) {
	if v.Up != depth || c.err != nil {
		return
	}
	own := *v
	own.Up = 0
	if c.isKey(&own) || c.dependent(&own) {
		return
	}
	name := v.Name
	if v.Rel >= 0 && v.Col != query.ColWholeRow {
		name = c.s.q.Rels[v.Rel].Alias + "." + name
	} else if v.Col == query.ColWholeRow {
		name = c.s.q.Rels[v.Rel].Alias + ".*"
	}
	loc := c.s.locs.of(v)
	if depth > 0 {
		c.err = c.s.errorf(loc, pgerr.GroupingError, "subquery uses ungrouped column %q from outer query", name)
		return
	}
	c.err = c.s.errorf(loc, pgerr.GroupingError,
		"column %q must appear in the GROUP BY clause or be used in an aggregate function", name)
}

// dependent reports whether the whole primary key of the variable's table is grouped.
func (c *groupCheck) dependent(v *query.Var) bool {
	if v.Rel < 0 || len(c.s.q.GroupingSets) > 0 {
		return false
	}
	rel := c.s.q.Rels[v.Rel]
	if rel.Kind != query.RelTable {
		return false
	}
	key := rel.Table.PrimaryKey()
	if key == nil {
		return false
	}
	for _, att := range key.Columns {
		grouped := false
		for _, k := range c.keys {
			kv, ok := query.Unwritten(k).(*query.Var)
			grouped = grouped || ok && kv.Up == 0 && kv.Rel == v.Rel && kv.Col >= 0 &&
				rel.Table.Columns[kv.Col].AttNum == att
		}
		if !grouped {
			return false
		}
	}
	if !slices.Contains(c.s.keys, key.OID) {
		c.s.keys = append(c.s.keys, key.OID)
	}
	return true
}
