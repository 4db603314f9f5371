package plan

import (
	"slices"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/query"
)

// from plans FROM and WHERE.
func (p *planner) from(l *level) (part, error) {
	conds := factored(conjuncts(l.q.Where))
	if len(l.q.From) == 0 {
		one := part{node: &Values{Rows: [][]query.Expr{{}}}, in: newLayout()}
		return p.filter(l, one, conds)
	}
	out, err := p.joined(l, l.q.From, conds)
	if err == nil && len(out.in.lateral) > 0 {
		err = pgerr.New(pgerr.InternalError, "column %q is read before its FROM item", out.in.lateral[0].v.Name)
	}
	return out, err
}

// joined plans items that are inner-joined under conditions.
func (p *planner) joined(l *level, items []query.From, conds []query.Expr) (part, error) {
	j := &joiner{p: p, l: l, conds: conds}
	for _, it := range items {
		j.flatten(it)
	}
	j.conds = append(j.conds, implied(l, j.conds)...)
	out, err := j.plan()
	if err != nil {
		return part{}, err
	}
	return p.filter(l, out, j.conds)
}

// joiner joins the items of a FROM list whose order is free: inner joins flattened, outer joins as
// one item each.
type joiner struct {
	p     *planner
	l     *level
	items []query.From
	conds []query.Expr // not applied yet
}

func (j *joiner) flatten(it query.From) {
	if fj, ok := it.(*query.FromJoin); ok && fj.Kind == query.Inner {
		j.flatten(fj.Left)
		j.flatten(fj.Right)
		j.conds = append(j.conds, factored(conjuncts(fj.On))...)
		return
	}
	j.items = append(j.items, it)
}

// plan joins left to right, taking next an item that a condition connects to what is joined
// already, so that a cross product comes last.
func (j *joiner) plan() (part, error) {
	all := relSet{}
	for _, it := range j.items {
		all = all.union(fromRels(it))
	}
	cur, have, err := j.item(0, relSet{})
	if err != nil {
		return part{}, err
	}
	done := map[int]bool{0: true}
	for len(done) < len(j.items) {
		next := j.next(done, have, all)
		rels := fromRels(j.items[next])
		cur, err = j.join(cur, have, next)
		if err != nil {
			return part{}, err
		}
		have = have.union(rels)
		done[next] = true
	}
	return cur, nil
}

// next chooses an item whose lateral references among all are joined already; others are bound
// further up.
func (j *joiner) next(done map[int]bool, have, all relSet) int {
	first := -1
	for i, it := range j.items {
		if done[i] || !have.covers(all.intersect(j.l.lateralRels(it))) {
			continue
		}
		if first < 0 {
			first = i
		}
		rels := fromRels(it)
		for _, c := range j.conds {
			r := j.l.relsOf(c)
			if have.union(rels).covers(r) && !have.covers(r) && !rels.covers(r) {
				return i
			}
		}
	}
	return first
}

// take removes the conditions that have all their columns. A volatile one without columns is left
// for the end: it is asked for each row of the result.
func (j *joiner) take(have relSet) []query.Expr {
	var now, later []query.Expr
	for _, c := range j.conds {
		rels := j.l.relsOf(c)
		if have.covers(rels) && (len(rels) > 0 || !volatile(c)) {
			now = append(now, c)
		} else {
			later = append(later, c)
		}
	}
	j.conds = later
	return now
}

// item plans an item with the conditions on it alone.
func (j *joiner) item(i int, have relSet) (part, relSet, error) {
	rels := fromRels(j.items[i])
	own := j.take(rels)
	out, err := j.p.fromItem(j.l, j.items[i], own)
	return out, have.union(rels), err
}

func (j *joiner) join(left part, have relSet, next int) (part, error) {
	it := j.items[next]
	right, both, err := j.item(next, have)
	if err != nil {
		return part{}, err
	}
	n := joining{
		kind: query.Inner, lrels: have, rrels: fromRels(it), on: j.take(both),
		lateral: len(have.intersect(j.l.lateralRels(it))) > 0,
	}
	return j.p.join(j.l, n, left, right)
}

// fromRels lists the base entries of an item.
func fromRels(it query.From) relSet {
	switch n := it.(type) {
	case *query.FromRel:
		return relSet{n.Rel: true}
	case *query.FromJoin:
		return fromRels(n.Left).union(fromRels(n.Right))
	}
	return relSet{}
}

// lateralRels lists the siblings that an item reads.
func (l *level) lateralRels(it query.From) relSet {
	switch n := it.(type) {
	case *query.FromRel:
		return l.lateralOf(n.Rel)
	case *query.FromJoin:
		own := fromRels(it)
		out := relSet{}
		for r := range l.lateralRels(n.Left).union(l.lateralRels(n.Right)) {
			if !own[r] {
				out[r] = true
			}
		}
		return out
	}
	return relSet{}
}

func (l *level) lateralOf(n int) relSet {
	rel := l.q.Rels[n]
	out := relSet{}
	for _, f := range rel.Functions {
		out = out.union(l.relsOf(f.Call))
	}
	if rel.Subquery != nil {
		query.WalkQuery(rel.Subquery, func(e query.Expr, depth int) {
			if v, ok := e.(*query.Var); ok && v.Up == depth+1 {
				c := *v
				c.Up = 0
				out = out.union(l.relsOf(&c))
			}
		})
	}
	return out
}

func (p *planner) fromItem(l *level, it query.From, conds []query.Expr) (part, error) {
	switch n := it.(type) {
	case *query.FromRel:
		out, err := p.rel(l, n.Rel, conds)
		if err != nil {
			return part{}, err
		}
		return p.withRow(l, n.Rel, out)
	case *query.FromJoin:
		return p.outerJoin(l, n, conds)
	}
	return part{}, pgerr.New(pgerr.InternalError, "unknown FROM item %T", it)
}

// outerJoin plans LEFT, RIGHT and FULL joins (RIGHT as LEFT with sides swapped), semi and anti
// joins. Conditions of WHERE may go below only on the side whose rows are all kept; those of ON
// only on the other. A condition that a row filled with nulls cannot meet makes the join an inner
// one.
func (p *planner) outerJoin(l *level, fj *query.FromJoin, conds []query.Expr) (part, error) {
	fj = reduced(l, fj, conds)
	if err := keepsLocked(l.q, fj); err != nil {
		return part{}, err
	}
	kind, leftItem, rightItem := fj.Kind, fj.Left, fj.Right
	switch kind {
	case query.Inner:
		return p.joined(l, []query.From{leftItem, rightItem}, append(factored(conjuncts(fj.On)), conds...))
	case query.Right:
		kind, leftItem, rightItem = query.Left, fj.Right, fj.Left
	}
	lrels, rrels := fromRels(leftItem), fromRels(rightItem)
	keepsLeft := kind != query.Full
	below, above := l.split(conds, lrels, keepsLeft)
	ons := factored(conjuncts(fj.On))
	if keepsLeft {
		ons = append(ons, l.only(implied(l, append(slices.Clone(ons), below...)), rrels)...)
	}
	onRight, on := l.split(ons, rrels, keepsLeft)
	left, err := p.joined(l, []query.From{leftItem}, below)
	if err != nil {
		return part{}, err
	}
	right, err := p.joined(l, []query.From{rightItem}, onRight)
	if err != nil {
		return part{}, err
	}
	n := joining{
		kind: kind, lrels: lrels, rrels: rrels, on: on, lateral: len(lrels.intersect(l.lateralRels(rightItem))) > 0,
	}
	out, err := p.join(l, n, left, right)
	if err != nil {
		return part{}, err
	}
	return p.filter(l, out, above)
}

// split returns the conditions that may go below a join to the side of rels, and the others.
func (l *level) split(conds []query.Expr, rels relSet, may bool) (below, rest []query.Expr) {
	for _, c := range conds {
		own := l.relsOf(c)
		if may && rels.covers(own) && (len(own) > 0 || !volatile(c)) {
			below = append(below, c)
		} else {
			rest = append(rest, c)
		}
	}
	return below, rest
}

// only keeps the conditions on rels alone.
func (l *level) only(conds []query.Expr, rels relSet) []query.Expr {
	out, _ := l.split(conds, rels, true)
	return out
}

// filter applies conditions; those that the gateway must ask come there, after the others.
func (p *planner) filter(l *level, cur part, conds []query.Expr) (part, error) {
	var plain, subs []query.Expr
	for _, c := range conds {
		e, err := p.rewrite(l, c, cur.in)
		if err != nil {
			return part{}, err
		}
		if cur.local != nil && len(l.q.From) > 0 && stays(e) {
			e = p.hoist(l, e)
		}
		if hasSubPlan(e) || cur.local != nil && stays(e) {
			subs = append(subs, e)
		} else {
			plain = append(plain, e)
		}
	}
	switch e := p.fold(conjunction(plain)); {
	case e == nil || isTrue(e):
	case isNever(e):
		return part{node: &Values{Base: Base{cur.node.Output()}}, in: cur.in}, nil
	default:
		cur.node = &Filter{Base: Base{cur.node.Output()}, Child: cur.node, Cond: e}
	}
	if len(subs) > 0 {
		cur = p.gather(cur, nil)
		cur.node = &Filter{Base: Base{cur.node.Output()}, Child: cur.node, Cond: conjunction(subs)}
	}
	return cur, nil
}

// isNever reports whether e is false or null whatever the row.
func isNever(e query.Expr) bool {
	c, ok := e.(*query.Const)
	return ok && (c.Value.IsNull() || !c.Value.Bool())
}

func isTrue(e query.Expr) bool {
	c, ok := e.(*query.Const)
	return ok && !c.Value.IsNull() && c.Value.Bool()
}
