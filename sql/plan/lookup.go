package plan

import (
	"slices"

	"github.com/sherddb/sherd/sql/plan/joinorder"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// Up to how many rows of the left side a join reads the right one by key instead of whole, if
// nothing is known of it: in batches, and row by row.
const (
	lookupLimit    = 1000
	rowLookupLimit = 200
)

// What it costs to look for the entries of one value in a local index: in all fragments, which are
// taken as three, of an array, or of a row; and of a row in its fragment.
const (
	costSeek    = 60.0
	costSeekRow = 3 * costSeekOne
	costSeekOne = 30.0
)

// lookupCost is the cost of looking up the rows for one row of the left side. A look-up in the
// fragments asks one of them.
func (j joining) lookupCost(k lookupKey) float64 {
	seek := costSeek
	switch {
	case k.index == nil && j.local != nil:
		return costEntry
	case k.index == nil:
		return joinorder.CostLookup
	case k.index.Index.Def.Global:
		seek = costFind
	case j.local != nil, k.routed:
		seek = costSeekOne
	case !k.batched():
		seek = costSeekRow
	}
	return seek + j.found(k)*costEntry
}

// found estimates how many rows are found for one row of the left side.
func (j joining) found(k lookupKey) float64 {
	m := matcher{s: k.scan}
	of := j.est.columnsOf(&m, []query.Index{k.index.Index})
	if of == nil || k.index.Single() {
		return 1
	}
	rows, known := j.est.tableRows(k.scan.Table), true
	for i := range k.columns {
		v, _ := of(k.index.Index.Keys[i])
		rows /= v.Distinct()
		known = known && v.Known()
	}
	if !known {
		rows = min(rows, guessEqual)
	}
	return rows
}

// few reports whether rows are so few that looking up the right side's rows costs less than reading
// it whole.
func (j joining) few(rows float64, right part, cost float64) bool {
	if j.env.Off.HashJoin {
		return true
	}
	if len(right.node.Children()) > 0 {
		return rows <= lookupLimit
	}
	s, ok := right.node.(*Scan)
	if !ok || j.est.table(s.Table) == nil {
		return rows <= lookupLimit
	}
	return rows*cost <= max(j.est.cost(s), leastRows)
}

// lookup is a scan of the right side of a join by primary key or index, by values of rows of the left
// side.
type lookup struct {
	scan   Scan
	route  Route
	binds  []Bind
	chosen []int // of the join's equalities: those by which it looks up
}

// lookupKey is the primary key, or an index, by which rows of a side may be looked up.
type lookupKey struct {
	scan    *Scan
	index   *IndexScan
	columns []lookupColumn
	routed  bool // a row of the other side says which fragment has what it looks up
}

// chosen lists the equalities of the join by which rows are looked up.
func (k *lookupKey) chosen() (out []int) {
	for _, c := range k.columns {
		if c.eq >= 0 {
			out = append(out, c.eq)
		}
	}
	return out
}

// lookupKeyOf finds the key or index by which rows of the right side may be looked up.
func (j joining) lookupKeyOf(right part) (k lookupKey, ok bool) {
	right = j.unions.scan(right)
	s, ok := right.node.(*Scan)
	if !ok || right.local == nil || len(right.local.rels) != 1 || s.Access == ScanKeys || len(right.in.lateral) > 0 {
		return k, false
	}
	if right.local.route.byValues() {
		return k, false // it reads few buckets, and a lookup would ask all fragments
	}
	k = lookupKey{scan: s, columns: keyEqualities(s, right, j.eqs)}
	if k.columns == nil {
		k.index, k.columns = j.indexEqualities(j.l, s, right, j.eqs)
	}
	k.routed = k.index != nil && !j.env.Off.Batch && j.placed(right)
	if own := s.Index; own != nil && len(k.columns)-len(k.chosen()) < len(own.Equal) {
		return k, false // it reads few rows by values that the lookup would not use
	}
	return k, k.columns != nil
}

// unique reports whether at most one row is found.
func (k *lookupKey) unique() bool { return k.index == nil || k.index.Single() }

// batched reports whether rows are found by an array of the values of many rows: those of one column.
func (k *lookupKey) batched() bool {
	if k.index == nil {
		return len(k.columns) == 1
	}
	return len(k.chosen()) == 1 && !k.index.Index.Def.Primary
}

// byRow returns the lookup by the values that one row of the left side has.
func (j joining) byRow(key lookupKey, left, right part) (*lookup, error) {
	right = j.unions.scan(right)
	k := &lookup{scan: *key.scan, route: Route{Table: key.scan.Table}, chosen: key.chosen()}
	tuple := make([]query.Expr, len(key.columns))
	for i, c := range key.columns {
		if c.eq < 0 {
			tuple[i] = c.value
			continue
		}
		v, err := j.rewrite(j.l, j.eqs[c.eq].left, left.in)
		if err != nil {
			return nil, err
		}
		outer := j.bindTo(&k.binds, v, v.Type())
		tuple[i] = lookupValue(key.scan, key.index, i, outer)
		if tuple[i] == outer {
			continue
		}
		cond, err := j.boundEquality(j.eqs[c.eq], outer, right)
		if err != nil {
			return nil, err
		}
		k.scan.Filter = Conjunction(append(Conjuncts(k.scan.Filter), cond))
	}
	k.unbounded()
	if key.index != nil {
		key.index.join(tuple)
		pathBy(key.index).use(j.planner, &k.scan, &k.route)
	} else {
		k.scan.Access, k.scan.Keys = ScanKeys, [][]query.Expr{tuple}
		k.route.Keys = k.scan.Keys
	}
	return k, nil
}

// byBatch returns the lookup by the values that many rows of the left side have in one column of the
// key; nil where they have values of more columns, which belong together.
func (j joining) byBatch(key lookupKey, left part) (*lookup, error) {
	if !key.batched() {
		return nil, nil
	}
	chosen := key.chosen()
	v, err := j.rewrite(j.l, j.eqs[chosen[0]].left, left.in)
	if err != nil {
		return nil, err
	}
	of := types.ArrayTypeOf(v.Type())
	if of == 0 {
		return nil, nil
	}
	k := &lookup{scan: *key.scan, route: Route{Table: key.scan.Table}, chosen: chosen}
	m, at := matcher{s: key.scan}, slices.IndexFunc(key.columns, func(c lookupColumn) bool { return c.eq >= 0 })
	array := query.Expr(j.bindTo(&k.binds, v, of))
	if key.index != nil {
		array = m.indexArray(key.index.Index.Keys[at], array)
	} else {
		array = m.keyElements(keyPositions(key.scan.Table)[0], array)
	}
	if array == nil {
		return nil, nil
	}
	k.unbounded()
	if x := key.index; x != nil {
		for i, c := range key.columns {
			if c.eq < 0 {
				x.Equal[i] = []query.Expr{c.value}
			}
		}
		x.Arrays[at] = array
		x.use(j.planner, &k.scan, &k.route)
	} else {
		k.scan.Access, k.scan.KeyArray, k.route.KeyArray = ScanKeys, array, array
	}
	return k, nil
}

// bindTo adds an outer parameter for v to binds.
func (j joining) bindTo(binds *[]Bind, v query.Expr, t types.OID) *query.Outer {
	o := &query.Outer{T: query.T{OID: t, Mod: -1}, N: j.outers, Of: v}
	if t == v.Type() {
		o.Mod = v.Typmod()
	}
	*binds = append(*binds, Bind{j.outers, v})
	j.outers++
	return o
}

// unbounded takes away how the scan found its rows before.
func (k *lookup) unbounded() {
	s := &k.scan
	s.Lo, s.Hi, s.Index, s.KeyArray, s.Span, s.Desc, s.AnyOrder = nil, nil, nil, nil, nil, false, false
	s.EntryAlone, s.EntryFilter = false, nil
}

// gathered is the lookup as the gateway runs it: in the fragments of what it looks up.
func (k *lookup) gathered() Node { return &Gather{Base: k.scan.Base, Child: &k.scan, Route: k.route} }

// joinLookup joins left, row by row, with what is looked up.
func (j joining) joinLookup(left, right part, k *lookup) (part, error) {
	n := &NestLoop{Kind: j.kind, Left: left.node, Right: &k.scan, Binds: k.binds}
	if j.local == nil {
		n.Right = k.gathered()
	}
	on := append([]query.Expr{}, j.rest...)
	for i, e := range j.eqs {
		if !contains(k.chosen, i) {
			on = append(on, e.cond)
		}
	}
	in := concat(left, right)
	conds, err := j.rewriteAll(j.l, on, in)
	if err != nil {
		return part{}, err
	}
	n.On = Conjunction(conds)
	n.Cols = append(append([]Col{}, left.node.Output()...), k.scan.Cols...)
	if j.kind == query.Semi || j.kind == query.Anti {
		n.Cols, in = left.node.Output(), &layout{slots: left.in.slots, lateral: in.lateral}
	}
	return part{node: n, in: in, local: j.local, order: left.order}, nil
}

// leftRows is how many rows of the left side are wanted.
func (j joining) leftRows(left part) float64 {
	rows := j.est.rows(left.node)
	if d := j.l.driving; d != nil && j.lrels[d.rel] {
		rows *= d.share
	}
	return rows
}

// lookupJoin reads the rows of the right side by primary key or index, for the rows of a left side
// that is small: in batches, or row by row if there is one row or the key has several columns. Each
// lookup is routed to the fragments of its keys.
func (j joining) lookupJoin(left, right part) (part, bool, error) {
	rows, off := j.leftRows(left), j.env.Off
	if j.kind == query.Full || j.kind == query.Right || hasSubLinks(j.on) {
		return part{}, false, nil
	}
	if out, ok, err := j.routedLoop(left, right); ok || err != nil {
		return out, ok, err
	}
	key, ok := j.lookupKeyOf(right)
	if !ok || !j.few(rows, right, j.lookupCost(key)) {
		return part{}, false, nil
	}
	single := AtMostOne(left.node) && !off.NestLoop
	left = j.gather(left, nil)
	if !single && !off.LookupJoin {
		k, err := j.byBatch(key, left)
		if err != nil {
			return part{}, false, err
		}
		if k != nil {
			right.node, right.local = k.gathered(), nil
			j.fixed = true
			out, err := j.hashJoin(left, right)
			if err != nil {
				return part{}, false, err
			}
			out.node, out.order = &LookupJoin{Join: out.node.(*HashJoin), Values: k.binds[0]}, left.order
			j.est.lookups[out.node] = j.lookupCost(key)
			return out, true, nil
		}
	}
	if off.NestLoop || rows > rowLookupLimit && !off.HashJoin && !j.readsAhead(right) {
		return part{}, false, nil
	}
	k, err := j.byRow(key, left, right)
	if err != nil {
		return part{}, false, err
	}
	out, err := j.joinLookup(left, right, k)
	return out, true, err
}

// readsAhead reports whether look-ups by row are sent for many rows together, and what they cost is
// known.
func (j joining) readsAhead(right part) bool {
	s, ok := j.unions.scan(right).node.(*Scan)
	return ok && !j.env.Off.Batch && j.est.table(s.Table) != nil
}

// AtMostOne reports whether a step cannot return more than one row. A step that is estimated at one
// row may return many, which are not looked up row by row.
func AtMostOne(n Node) bool {
	switch n := n.(type) {
	case *Scan:
		return n.Access == ScanKeys && n.KeyArray == nil && len(n.Keys) == 1 ||
			n.Index != nil && n.Index.Single() && n.Index.combinations() == 1
	case *Values:
		return len(n.Rows) <= 1
	case *Limit:
		return limitOf(n.Count) <= 1
	case *Aggregate:
		return len(n.Keys) == 0 && n.Sets == nil
	case *Project:
		return !n.Sets && AtMostOne(n.Child)
	case *Gather:
		return AtMostOne(n.Child)
	case *Filter:
		return AtMostOne(n.Child)
	case *NestLoop:
		return AtMostOne(n.Left) && (n.Kind == query.Semi || n.Kind == query.Anti || AtMostOne(n.Right))
	}
	return false
}

// otherLookup is lookupJoin by the rows of the right side, where the sides of the join may change.
func (j joining) otherLookup(left, right part) (part, bool, error) {
	if j.kind != query.Inner || j.fixed {
		return part{}, false, nil
	}
	return j.turned().lookupJoin(right, left)
}

// localLookup is lookupJoin in the fragments, for sides whose rows share the bucket. A lookup there
// costs no message.
func (j joining) localLookup(left, right part) (part, bool, error) {
	switch j.kind {
	case query.Inner, query.Left, query.Semi, query.Anti:
	default:
		return part{}, false, nil
	}
	key, ok := j.lookupKeyOf(right)
	if !ok || key.index != nil && key.index.Index.Def.Global {
		return part{}, false, nil // entries of a global index may be in other fragments
	}
	dear := j.leftRows(left)*j.lookupCost(key) > j.est.cost(right.node)
	if off := j.env.Off; off.NestLoop || dear && !off.HashJoin {
		return part{}, false, nil
	}
	k, err := j.byRow(key, left, right)
	if err != nil {
		return part{}, false, err
	}
	out, err := j.joinLookup(left, right, k)
	return out, true, err
}

// localLookups is localLookup by the rows of either side.
func (j joining) localLookups(left, right part) (part, bool, error) {
	out, ok, err := j.localLookup(left, right)
	if ok || err != nil {
		return out, ok, err
	}
	switch {
	case j.kind == query.Inner:
		out, ok, err = j.turned().localLookup(right, left)
		if ok && j.fixed {
			out = leftFirst(out, left, len(right.node.Output()))
		}
	case j.kind == query.Semi && len(j.rest) == 0 && len(j.eqs) > 0 && len(right.in.lateral) == 0:
		var values part
		if values, err = j.distinctValues(right); err != nil {
			return part{}, false, err
		}
		turned := j.turned()
		turned.kind = query.Inner
		if out, ok, err = turned.localLookup(values, left); ok && j.fixed {
			out = leftFirst(out, left, 0)
		}
	}
	out.local = j.local
	return out, ok, err
}

// boundEquality is the equality of a lookup as the scan tests it, whose value had to be converted:
// what is found by that may differ.
func (j joining) boundEquality(e equality, value query.Expr, right part) (query.Expr, error) {
	own, err := j.rewrite(j.l, e.right, right.in)
	if err != nil {
		return nil, err
	}
	c := *e.cond.(*query.Call)
	if c.Args[0] == e.left {
		c.Args = []query.Expr{value, own}
	} else {
		c.Args = []query.Expr{own, value}
	}
	return &c, nil
}

// lookupValue returns the value of column i of the key, or of the index, for a lookup by v.
func lookupValue(s *Scan, byIndex *IndexScan, i int, v query.Expr) query.Expr {
	m := matcher{s: s}
	if byIndex != nil {
		return m.indexValue(byIndex.Index.Keys[i], v, toEqual)
	}
	return m.keyValue(keyPositions(s.Table)[i], v, toEqual)
}

// semiLookup reads the rows of the left side by primary key, one for each of the right side's
// different values, where those are few.
func (j joining) semiLookup(left, right part) (part, bool, error) {
	if j.kind != query.Semi || len(j.rest) > 0 || len(j.eqs) == 0 || len(right.in.lateral) > 0 {
		return part{}, false, nil
	}
	values, err := j.distinctValues(j.gather(right, nil))
	if err != nil {
		return part{}, false, err
	}
	turned := j.turned()
	turned.kind = query.Inner
	out, ok, err := turned.lookupJoin(values, left)
	if ok && j.fixed {
		out = leftFirst(out, left, 0)
	}
	return out, ok, err
}

// distinctValues returns the different values that a side of a join has for the equalities.
func (j joining) distinctValues(side part) (part, error) {
	proj := &Project{Child: side.node}
	keys := newLayout()
	for i, e := range j.eqs {
		v, err := j.rewrite(j.l, e.right, side.in)
		if err != nil {
			return part{}, err
		}
		col := Col{nameOf(v), v.Type(), v.Typmod()}
		keys.exprs = append(keys.exprs, placed{e.right, i, col})
		proj.Exprs, proj.Cols = append(proj.Exprs, v), append(proj.Cols, col)
	}
	return part{node: &Distinct{Base: proj.Base, Child: proj}, in: keys, local: side.local}, nil
}

// turned returns the equalities with their sides changed.
func turned(eqs []equality) []equality {
	out := make([]equality, len(eqs))
	for i, e := range eqs {
		out[i] = equality{e.right, e.left, e.nulls, e.cond}
	}
	return out
}

// turnedLookup is lookupJoin by the right side's rows where the left side's slots must come first:
// the target of an UPDATE or DELETE is found by what FROM or USING returns.
func (j joining) turnedLookup(left, right part) (part, bool, error) {
	if j.kind != query.Inner || !j.fixed || len(j.eqs) == 0 || len(right.in.lateral) > 0 {
		return part{}, false, nil
	}
	n := len(right.node.Output())
	out, ok, err := j.turned().lookupJoin(right, left)
	if ok {
		out = leftFirst(out, left, n)
	}
	return out, ok, err
}

// leftFirst puts the slots of left, which a lookup has put behind others, before these; the first
// more of these stay.
func leftFirst(found, left part, more int) part {
	cols, n := found.node.Output(), len(left.node.Output())
	before := len(cols) - n
	proj := &Project{Child: found.node}
	in := newLayout()
	in.lateral = found.in.lateral
	take := func(from, count int) {
		for i := from; i < from+count; i++ {
			proj.Exprs = append(proj.Exprs, slot(i, cols[i]))
		}
		proj.Cols = append(proj.Cols, cols[from:from+count]...)
	}
	take(before, n)
	take(0, more)
	for k, at := range found.in.slots {
		switch {
		case at >= before:
			in.slots[k] = at - before
		case at < more:
			in.slots[k] = at + n
		}
	}
	return part{node: proj, in: in}
}

func nameOf(e query.Expr) string {
	if s, ok := bare(e).(*query.Slot); ok {
		return s.Name
	}
	return "?column?"
}
