package plan

import (
	"slices"

	"github.com/sherddb/sherd/sql/plan/joinorder"
	"github.com/sherddb/sherd/sql/query"
)

// rowScan is a scan of the right side for one row of the left, whose values it has as outer parameters.
type rowScan struct {
	part
	scan *Scan
	in   *layout // of the conditions, with the values that they read
}

// bind returns the right side for one row of the left one: conditions of the join that are no equalities
// of columns, such as ranges and OR, find its rows by keys and indexes too. ok is false if it is no
// scan of a table, or the join is of another kind.
func (j joining) bind(right part) (b rowScan, ok bool, err error) {
	switch j.kind {
	case query.Inner, query.Left, query.Semi, query.Anti:
	default:
		return b, false, nil
	}
	right = j.unions.scan(right)
	s, ok := scanUnder(right.node)
	if !ok || right.local == nil || len(right.local.rels) != 1 || len(j.on) == 0 || len(right.in.lateral) > 0 ||
		j.env.Off.NestLoop || hasSubLinks(j.on) || anyStays(j.on) || slices.ContainsFunc(j.on, volatile) {
		return b, false, nil
	}
	b.in = &layout{slots: right.in.slots, exprs: right.in.exprs, collects: true}
	on, err := j.rewriteAll(j.l, j.on, b.in)
	if err != nil {
		return b, false, err
	}
	scan := *s
	b.scan = &scan
	conds := slices.Concat(Conjuncts(s.Filter), on)
	b.part = part{node: b.scan, in: right.in, local: &locality{rels: right.local.rels, route: j.route(b.scan, conds)}}
	scan.Filter = j.fold(Conjunction(j.sliced(b.scan, conds)))
	indexes := j.l.q.Rels[right.local.rels[0]].Indexes
	j.choose(b.scan, &b.local.route, indexes, conds, anyOrder)
	if of := j.est.columnsOf(&matcher{s: b.scan}, indexes); of != nil {
		j.est.note(b.scan, j.est.tableRows(s.Table)*of.Of(conds))
	}
	b.part = j.unions.of(j.planner, b.part, indexes, conds)
	return b, true, nil
}

// loop runs what is bound for each row of the left side. ok is false if it reads none of its values, or
// the left side has only values of expressions over what it reads.
func (j joining) loop(left, right part, b rowScan) (out part, ok bool, err error) {
	left = j.gather(left, nil)
	n := &NestLoop{Kind: j.kind, Left: left.node, Right: j.gather(b.part, nil).node}
	for _, b := range b.in.lateral {
		if !j.lrels.covers(j.l.relsOf(b.v)) || !left.in.has(b.v) {
			return part{}, false, nil
		}
		e, err := j.rewrite(j.l, b.v, left.in)
		if err != nil {
			return part{}, false, err
		}
		n.Binds = append(n.Binds, Bind{b.param, e})
	}
	out = part{node: n, in: concat(left, right), order: left.order}
	n.Cols = append(append([]Col{}, left.node.Output()...), right.node.Output()...)
	if j.kind == query.Semi || j.kind == query.Anti {
		n.Cols, out.in = left.node.Output(), &layout{slots: left.in.slots, lateral: out.in.lateral}
	}
	return out, len(n.Binds) > 0, nil
}

// has reports whether a layout has a column of a table.
func (in *layout) has(v *query.Var) bool {
	if _, ok := in.slots[varKey{v.Rel, v.Col}]; ok {
		return true
	}
	return slices.ContainsFunc(in.exprs, func(p placed) bool { return query.Equal(p.expr, v) })
}

// boundLoop runs the right side once for each row of a small left side.
func (j joining) boundLoop(left, right part) (part, bool, error) {
	rows := j.leftRows(left)
	if rows > rowLookupLimit {
		return part{}, false, nil
	}
	b, ok, err := j.bind(right)
	if !ok || err != nil {
		return part{}, false, err
	}
	whole := b.node == b.scan && b.scan.Access == ScanBuckets && b.scan.Span == nil && !b.local.route.byValues()
	each := j.est.cost(b.node) + j.est.rows(b.node)*(joinorder.CostSend+joinorder.CostBuild)
	cost := max(rows, 1) * (costAsk + each)
	if whole && !AtMostOne(left.node) || 2*cost >= j.wholeCost(rows, right) {
		return part{}, false, nil
	}
	return j.loop(left, right, b)
}

// routedLoop runs the right side once for each row of the left one if the row has the values by which
// the right one's rows are placed, so that one fragment is asked for them.
func (j joining) routedLoop(left, right part) (part, bool, error) {
	if !j.placed(right) || j.leftRows(left) > rowLookupLimit && !j.readsAhead(right) {
		return part{}, false, nil
	}
	b, ok, err := j.bind(right)
	if !ok || err != nil || b.node != b.scan || !b.local.route.byValues() || len(b.local.route.Keys) > 0 {
		return part{}, false, err
	}
	each := j.est.cost(b.node) + j.est.rows(b.node)*(joinorder.CostSend+joinorder.CostBuild)
	if !j.few(j.leftRows(left), right, costSeekOne+each) {
		return part{}, false, nil
	}
	return j.loop(left, right, b)
}

// placed reports whether equalities of the join have the values by which the rows of the right side are
// placed.
func (j joining) placed(right part) bool {
	right = j.unions.scan(right)
	s, ok := right.node.(*Scan)
	if !ok || right.local == nil || len(right.local.rels) != 1 || right.local.route.byValues() || !trusted(s.Table) {
		return false
	}
	for i := range s.Table.Policy.Fields {
		if !slices.ContainsFunc(j.eqs, func(e equality) bool {
			return !e.nulls && isPolicyField(j.l, e.right, right.local.rels[0], i)
		}) {
			return false
		}
	}
	return true
}

// otherBoundLoop is boundLoop by the rows of the right side, where the sides of the join may change.
func (j joining) otherBoundLoop(left, right part) (part, bool, error) {
	if j.kind != query.Inner || j.fixed {
		return part{}, false, nil
	}
	return j.turned().boundLoop(right, left)
}
