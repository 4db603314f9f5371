package plan

import (
	"slices"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/plan/joinorder"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/statistics"
)

// from plans FROM and WHERE.
func (p *planner) from(l *level) (part, error) {
	conds := factored(Conjuncts(l.q.Where))
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
	j.conds = append(j.conds, restrictions(l, j.conds)...)
	j.conds = append(j.conds, implied(l, j.conds)...)
	j.class = map[query.Expr]int{}
	j.conds = append(j.conds, j.equalities()...)
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
	parts []part             // the items, planned by themselves
	conds []query.Expr       // not applied yet
	class map[query.Expr]int // of equalities that tie more than two items together
}

func (j *joiner) flatten(it query.From) {
	if fj, ok := it.(*query.FromJoin); ok && fj.Kind == query.Inner {
		j.flatten(fj.Left)
		j.flatten(fj.Right)
		j.conds = append(j.conds, factored(Conjuncts(fj.On))...)
		return
	}
	j.items = append(j.items, it)
}

// plan plans the items by themselves, and joins them in the order that costs least.
func (j *joiner) plan() (part, error) {
	for _, it := range j.items {
		one, err := j.p.fromItem(j.l, it, j.take(fromRels(it)))
		if err != nil {
			return part{}, err
		}
		if d := j.l.driving; d.is(it) {
			if one, err = d.start(j.p, j.l, one); err != nil {
				return part{}, err
			}
		}
		j.parts = append(j.parts, one)
	}
	out, _, err := j.tree(j.order())
	return out, err
}

// tree joins the items of a tree.
func (j *joiner) tree(t *joinorder.Tree) (part, relSet, error) {
	if t.Left == nil {
		return j.parts[t.Relation], fromRels(j.items[t.Relation]), nil
	}
	left, lrels, err := j.tree(t.Left)
	if err != nil {
		return part{}, nil, err
	}
	right, rrels, err := j.tree(t.Right)
	if err != nil {
		return part{}, nil, err
	}
	both := lrels.union(rrels)
	n := joining{kind: query.Inner, lrels: lrels, rrels: rrels, on: j.once(j.take(both))}
	if t.Right.Left == nil {
		n.lateral = len(lrels.intersect(j.l.lateralRels(j.items[t.Right.Relation]))) > 0
	}
	out, err := j.p.join(j.l, n, left, right)
	if err == nil {
		j.p.est.note(out.node, t.Rows)
	}
	return out, both, err
}

// order chooses the order of joins: from the driving table on, if there is one. Items beyond
// joinorder.MaxRelations come last.
func (j *joiner) order() *joinorder.Tree {
	n := min(len(j.items), joinorder.MaxRelations)
	relations := make([]joinorder.Relation, n)
	item := map[int]int{} // the item of a range table entry
	for i := range relations {
		for r := range fromRels(j.items[i]) {
			item[r] = i
		}
	}
	for i := range relations {
		node := j.parts[i].node
		relations[i] = joinorder.Relation{
			Rows: j.p.est.rows(node), Cost: j.p.est.cost(node), Local: j.parts[i].local != nil,
		}
		for r := range j.l.lateralRels(j.items[i]) {
			if of, ok := item[r]; ok {
				relations[i].After |= joinorder.SetOf(of)
			}
		}
	}
	ties := j.ties(item)
	if d := j.l.driving; d != nil && n == len(j.items) {
		if first, ok := item[d.rel]; ok {
			if out := joinorder.From(first, relations, ties); out != nil {
				return out
			}
			d.failed = true
		}
	}
	out := joinorder.Best(relations, ties)
	for i := n; i < len(j.items); i++ {
		rows := out.Rows * j.p.est.rows(j.parts[i].node)
		out = &joinorder.Tree{Left: out, Right: &joinorder.Tree{Relation: i}, Rows: rows}
	}
	return out
}

// ties are the conditions that tie items: of each pair all in one, and each that ties more.
func (j *joiner) ties(item map[int]int) (out []joinorder.Condition) {
	pairs := map[joinorder.Set][]query.Expr{}
	var order []joinorder.Set
	for _, c := range j.conds {
		of := joinorder.Set(0)
		for r := range j.l.relsOf(c) {
			if i, ok := item[r]; ok {
				of |= joinorder.SetOf(i)
			}
		}
		if pairs[of] == nil {
			order = append(order, of)
		}
		pairs[of] = append(pairs[of], c)
	}
	for _, of := range order {
		switch members := of.Members(); len(members) {
		case 0, 1:
		case 2:
			out = append(out, j.tie(members[0], members[1], pairs[of]))
		default:
			out = append(out, joinorder.Condition{Of: of, Selectivity: guessCondition})
		}
	}
	return out
}

// guessCondition is the share of rows that meet a condition of several tables that is no equality.
const guessCondition = 1.0 / 3

// tie describes all conditions of two items.
func (j *joiner) tie(a, b int, conds []query.Expr) joinorder.Condition {
	x := joining{planner: j.p, l: j.l, lrels: fromRels(j.items[a]), rrels: fromRels(j.items[b])}
	x.eqs, x.rest = splitEqualities(j.l, conds, x.lrels, x.rrels)
	c := joinorder.Condition{Of: joinorder.SetOf(a, b), Selectivity: 1, Lookup: map[int]float64{}}
	all := 1.0 // of the classes
	for _, e := range x.eqs {
		share := statistics.Join(j.variable(e.left), j.variable(e.right))
		if class, ok := j.class[e.cond]; ok {
			c.Classes = append(c.Classes, joinorder.Class{ID: class, Selectivity: share})
			all *= share
		} else {
			c.Selectivity *= share
		}
	}
	for range x.rest {
		c.Selectivity *= guessCondition
	}
	if !j.p.env.Off.LocalJoin {
		x.local = colocated(j.l, query.Inner, j.parts[a], j.parts[b], x.eqs)
		c.Local = x.local != nil
	}
	for of, side := range map[int]joining{a: x.turned(), b: x} {
		if key, ok := side.lookupKeyOf(j.parts[of]); ok {
			if off := j.p.env.Off; !off.LookupJoin || !off.NestLoop {
				c.Lookup[of] = side.lookupCost(key)
			}
			// Each row of the other side meets at most one. The product of several equalities is too low
			// if they depend on each other; that of one column is estimated well.
			if key.unique() && len(x.eqs) > 1 {
				c.Selectivity = max(c.Selectivity, min(1, 1/max(j.p.est.tableRows(key.scan.Table), 1)/all))
			}
		}
	}
	return c
}

// variable is what is known of one side of an equality.
func (j *joiner) variable(e query.Expr) statistics.Variable {
	v, ok := bare(e).(*query.Var)
	if !ok || v.Up != 0 || v.Col < 0 || v.Rel >= len(j.l.q.Rels) || j.l.q.Rels[v.Rel].Table == nil {
		return statistics.Variable{}
	}
	r := j.l.q.Rels[v.Rel]
	out := statistics.Variable{Rows: j.p.est.tableRows(r.Table)}
	if known := j.p.est.table(r.Table); known != nil {
		out = known.Variable(statistics.Key{Position: int16(r.Table.Columns[v.Col].AttNum)})
	}
	out.Unique = out.Unique || uniqueColumn(r.Table, r.Indexes, v.Col)
	return out
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
		return p.joined(l, []query.From{leftItem, rightItem}, append(factored(Conjuncts(fj.On)), conds...))
	case query.Right:
		kind, leftItem, rightItem = query.Left, fj.Right, fj.Left
	}
	lrels, rrels := fromRels(leftItem), fromRels(rightItem)
	keepsLeft := kind != query.Full
	below, above := l.split(conds, lrels, keepsLeft)
	if kind == query.Semi || kind == query.Anti { // it removes rows, and adds none
		var late []query.Expr
		below, late = split(below, func(c query.Expr) bool { return !runsForEach(c) })
		above = append(above, late...)
	}
	ons := factored(Conjuncts(fj.On))
	if keepsLeft {
		ons = append(ons, l.only(implied(l, append(slices.Clone(ons), below...)), rrels)...)
	}
	onRight, on := l.split(ons, rrels, keepsLeft)
	if kind == query.Semi { // without it no row of the left side is in the result
		var onLeft []query.Expr
		onLeft, on = l.split(on, lrels, !slices.ContainsFunc(on, volatile))
		below = append(below, onLeft...)
	}
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

// runsForEach reports whether a condition has a subquery that runs for each row.
func runsForEach(c query.Expr) bool {
	return query.Contains(c, func(x query.Expr) bool {
		s, ok := x.(*query.SubLink)
		return ok && correlated(s.Query)
	})
}

// split returns the conditions for which may is true, and the others.
func split(conds []query.Expr, may func(query.Expr) bool) (yes, no []query.Expr) {
	for _, c := range conds {
		if may(c) {
			yes = append(yes, c)
		} else {
			no = append(no, c)
		}
	}
	return yes, no
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
	switch e := p.fold(Conjunction(plain)); {
	case e == nil || isTrue(e):
	case isNever(e):
		return part{node: &Values{Base: Base{cur.node.Output()}}, in: cur.in}, nil
	default:
		cur.node = &Filter{Base: Base{cur.node.Output()}, Child: cur.node, Cond: e}
	}
	if len(subs) > 0 {
		cur = p.gather(cur, nil)
		cur.node = &Filter{Base: Base{cur.node.Output()}, Child: cur.node, Cond: Conjunction(subs)}
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
