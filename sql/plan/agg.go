package plan

import (
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// aggregate plans GROUP BY, the aggregates and HAVING: partial states in the fragments where that
// is possible, final ones at the gateway.
func (p *planner) aggregate(l *level, cur part) (part, error) {
	q := l.q
	aggs := l.aggregates()
	keys := append(append([]query.Expr{}, q.GroupBy...), l.dependentColumns()...)
	cur, err := p.expandKeys(l, cur, keys)
	if err != nil {
		return part{}, err
	}
	sets := withDependent(q.GroupingSets, len(q.GroupBy), len(keys))
	node := &Aggregate{Sets: sets, Mode: AggComplete}
	gateway := false
	for _, k := range keys {
		e, err := p.rewrite(l, k, cur.in)
		if err != nil {
			return part{}, err
		}
		gateway = gateway || stays(e)
		node.Keys = append(node.Keys, e)
	}
	for _, a := range aggs {
		r, err := p.aggCall(l, a, cur.in)
		if err != nil {
			return part{}, err
		}
		gateway = gateway || stays(r.Filter)
		for _, x := range append(append([]query.Expr{}, r.Args...), r.Direct...) {
			gateway = gateway || stays(x)
		}
		node.Aggs = append(node.Aggs, r)
	}
	if gateway {
		cur = p.gather(cur, nil)
	}
	in := newLayout()
	out := aggColumns(keys, aggs, sets)
	for i, k := range keys {
		in.exprs = append(in.exprs, placed{k, i, out[i]})
		if v, ok := k.(*query.Var); ok && v.Up == 0 {
			in.slots[varKey{v.Rel, v.Col}] = i
		}
	}
	for i, a := range aggs {
		in.exprs = append(in.exprs, placed{a, len(keys) + i, out[len(keys)+i]})
	}
	if sets != nil {
		l.placeGrouping(in, out, len(keys)+len(aggs))
	}
	node.Cols = out
	if len(keys) == 0 && sets == nil && len(aggs) > 0 {
		cur = l.extremes(p, cur, node.Aggs)
	}
	if p.env.Off.LocalAggregate {
		cur = p.gather(cur, nil)
	}
	var order groupOrder
	if sets == nil && len(q.GroupBy) > 0 && !p.env.Off.LocalAggregate {
		if cur, order, err = l.orderGroups(p, cur, node); err != nil {
			return part{}, err
		}
	}
	if sets == nil && cur.local != nil && l.groupsStay(cur.local) {
		node.Child = cur.node
		cur = part{node: node, local: &locality{route: cur.local.route}}
	} else {
		cur = p.splitAggregate(cur, node, order)
	}
	cur.in, cur.order = in, order.of(q)
	return p.filter(l, cur, Conjuncts(q.Having))
}

// groupsStay reports whether all rows of a group lie in one bucket: the keys hold the whole primary
// key of a table whose columns are never filled with nulls by a join, or all fields of its trusted
// policy. Then each fragment's groups are complete.
func (l *level) groupsStay(at *locality) bool {
	keyed := func(is func(query.Expr) bool) bool { return slices.ContainsFunc(l.q.GroupBy, is) }
	for _, rel := range at.firm {
		t := l.q.Rels[rel].Table
		whole := len(keyPositions(t)) > 0
		for _, col := range keyPositions(t) {
			whole = whole && keyed(func(e query.Expr) bool { return isColumn(e, varKey{rel, col}) })
		}
		if whole || l.groupsByPolicy(t, rel) {
			return true
		}
	}
	return false
}

func (l *level) groupsByPolicy(t *catalog.Table, rel int) bool {
	if !trustedPlain(t) || t.Policy.Range != 1 {
		return false
	}
	for i := range t.Policy.Fields {
		if !slices.ContainsFunc(l.q.GroupBy, func(e query.Expr) bool { return isPolicyField(l, e, rel, i) }) {
			return false
		}
	}
	return true
}

// withDependent puts columns that depend on a key of every set into every set.
func withDependent(sets [][]int, keys, all int) [][]int {
	if sets == nil || keys == all {
		return sets
	}
	out := make([][]int, len(sets))
	for i, s := range sets {
		out[i] = slices.Clone(s)
		for k := keys; k < all; k++ {
			out[i] = append(out[i], k)
		}
	}
	return out
}

// splitAggregate runs node over cur in two halves where every aggregate can.
func (p *planner) splitAggregate(cur part, node *Aggregate, order groupOrder) part {
	if cur.local == nil || !splittable(node) {
		cur = p.gather(cur, order.rows)
		node.Child = cur.node
		cur.node = node
		return cur
	}
	partial := *node
	partial.Mode, partial.Child = AggPartial, cur.node
	partial.Cols = append([]Col{}, node.Cols...)
	for i := range node.Aggs {
		partial.Cols[len(node.Keys)+i].Type = types.Bytea
	}
	cur.node = &partial
	if order.enough != nil {
		cur.node = &Limit{Base: Base{partial.Cols}, Child: &partial, Count: order.enough}
	}
	cur = p.gather(cur, order.groups)
	final := *node
	final.Mode, final.Child = AggFinal, cur.node
	if node.Sorted {
		p.est.note(&partial, p.est.rows(node))
		p.est.note(&final, p.est.rows(node))
	}
	cur.node = &final
	return cur
}

func splittable(n *Aggregate) bool {
	for _, a := range n.Aggs {
		if a.Distinct || len(a.Order) > 0 || len(a.Direct) > 0 {
			return false
		}
	}
	return true
}

func (p *planner) aggCall(l *level, a *query.Agg, in *layout) (*query.Agg, error) {
	r := *a
	var err error
	if r.Args, err = p.rewriteAll(l, a.Args, in); err != nil {
		return nil, err
	}
	if r.Direct, err = p.rewriteAll(l, a.Direct, in); err != nil {
		return nil, err
	}
	r.Filter, err = p.rewrite(l, a.Filter, in)
	return &r, err
}

func aggColumns(keys []query.Expr, aggs []*query.Agg, sets [][]int) []Col {
	var out []Col
	for _, k := range keys {
		c := Col{"", k.Type(), k.Typmod()}
		if v, ok := k.(*query.Var); ok {
			c.Name = v.Name
		}
		out = append(out, c)
	}
	for _, a := range aggs {
		out = append(out, Col{a.Proc.Name, a.Type(), a.Typmod()})
	}
	if sets != nil {
		out = append(out, Col{"grouping set", types.Int4, -1})
	}
	return out
}

// placeGrouping makes GROUPING(…) a lookup by the set's number.
func (l *level) placeGrouping(in *layout, out []Col, setSlot int) {
	l.eachOutput(func(e query.Expr) {
		query.Walk(e, func(x query.Expr) bool {
			g, ok := x.(*query.Grouping)
			if !ok {
				return true
			}
			in.grouping = append(in.grouping, groupingCase(g, l.q.GroupingSets, slot(setSlot, out[setSlot])))
			return true
		})
	})
}

// grouped pairs a GROUPING call with the expression that computes it.
type grouped struct {
	call *query.Grouping
	expr query.Expr
}

func groupingCase(g *query.Grouping, sets [][]int, set *query.Slot) grouped {
	var masks []query.Expr
	for _, s := range sets {
		mask := 0
		for _, arg := range g.Args {
			mask <<= 1
			if !contains(s, arg) {
				mask |= 1
			}
		}
		masks = append(masks, &query.Const{T: query.Of(types.Int4), Value: types.NewInt(int64(mask))})
	}
	return grouped{g, &query.Pick{T: g.T, N: set, Of: masks}}
}

func contains(s []int, v int) bool {
	for _, x := range s {
		if x == v {
			return true
		}
	}
	return false
}

// eachOutput calls f for the expressions that are evaluated above the aggregation.
func (l *level) eachOutput(f func(query.Expr)) {
	for _, t := range l.q.Targets {
		f(t.Expr)
	}
	if l.q.Having != nil {
		f(l.q.Having)
	}
	for _, w := range l.q.Windows {
		for _, e := range w.Partition {
			f(e)
		}
		for _, o := range w.Order {
			f(o.Expr)
		}
	}
}

// aggregates lists the distinct aggregate calls of l's own level, those that subqueries refer to
// excluded.
func (l *level) aggregates() []*query.Agg {
	var out []*query.Agg
	l.eachOutput(func(e query.Expr) {
		query.Walk(e, func(x query.Expr) bool {
			a, ok := x.(*query.Agg)
			if !ok || a.Up > 0 {
				return true
			}
			for _, have := range out {
				if query.Equal(have, a) && !volatile(a) {
					return false
				}
			}
			out = append(out, a)
			return false
		})
	})
	return out
}

// dependentColumns lists the columns above the aggregation that are no group keys themselves:
// analysis has allowed them because they depend on a grouped primary key. They become keys too,
// which changes no group.
func (l *level) dependentColumns() []query.Expr {
	var out []query.Expr
	grouped := func(x query.Expr) bool {
		for _, k := range append(append([]query.Expr{}, l.q.GroupBy...), out...) {
			if query.Equal(k, x) {
				return true
			}
		}
		return false
	}
	visit := func(e query.Expr) {
		query.Walk(e, func(x query.Expr) bool {
			if grouped(x) {
				return false
			}
			switch n := x.(type) {
			case *query.Agg:
				return n.Up > 0
			case *query.Var:
				l.dependOn(n, 0, &out, grouped)
			case *query.SubLink:
				query.WalkQuery(n.Query, func(y query.Expr, d int) {
					if v, ok := y.(*query.Var); ok {
						l.dependOn(v, d+1, &out, grouped)
					}
				})
			}
			return true
		})
	}
	l.eachOutput(func(e query.Expr) { visit(e) })
	return out
}

func (l *level) dependOn(v *query.Var, depth int, out *[]query.Expr, grouped func(query.Expr) bool) {
	if v.Up != depth || v.Rel < 0 {
		return
	}
	own := *v
	own.Up = 0
	if rel := l.q.Rels[v.Rel]; rel.Kind == query.RelJoin {
		return
	}
	if !grouped(&own) {
		*out = append(*out, &own)
	}
}

// expandKeys adds those keys of GROUP BY to the rows below the aggregation that must be evaluated once
// for each row: set-returning expressions, for whose rows it has a row each then (SELECT unnest(tags),
// count(*) … GROUP BY 1), and volatile ones, because an aggregation that writes rows to a file
// evaluates its keys again.
func (p *planner) expandKeys(l *level, cur part, keys []query.Expr) (part, error) {
	var proj *Project
	in := *cur.in
	gateway := false
	for _, k := range keys {
		if !hasSet(k) && !volatile(k) {
			continue
		}
		if proj == nil {
			proj = passOn(cur.node)
		}
		proj.Sets = proj.Sets || hasSet(k)
		e, err := p.rewrite(l, k, cur.in)
		if err != nil {
			return part{}, err
		}
		gateway = gateway || stays(e) || volatile(e)
		col := Col{"", k.Type(), k.Typmod()}
		in.exprs = append(in.exprs, placed{k, len(proj.Exprs), col})
		proj.Exprs, proj.Cols = append(proj.Exprs, e), append(proj.Cols, col)
	}
	if proj == nil {
		return cur, nil
	}
	if gateway {
		cur = p.gather(cur, nil)
		proj.Child = cur.node
	}
	return part{node: proj, in: &in, local: cur.local}, nil
}

// passOn is a Project that returns the columns of its child, and more are added.
func passOn(child Node) *Project {
	proj := &Project{Child: child}
	for i, c := range child.Output() {
		proj.Exprs, proj.Cols = append(proj.Exprs, slot(i, c)), append(proj.Cols, c)
	}
	return proj
}
