package plan

import (
	"github.com/sherddb/sherd/sql/query"
)

// lookupLimit is up to how many rows of the left side a join reads the right one by key instead of
// whole.
const lookupLimit = 200

// lookupJoin reads the rows of the right side by primary key, one for each row of a left side that
// is small by construction. Each lookup is routed to the fragment of its key.
func (p *planner) lookupJoin(
	l *level, j joining, left, right part, eqs []equality, rest []query.Expr,
) (part, bool, error) {
	s, ok := right.node.(*Scan)
	if !ok || right.local == nil || len(right.local.rels) != 1 || s.Access == ScanKeys || s.Index != nil ||
		len(right.in.lateral) > 0 || j.kind == query.Full || estimate(left.node) > lookupLimit ||
		hasSubLinks(j.on) {
		return part{}, false, nil
	}
	chosen := keyEqualities(l, s, right, eqs)
	var byIndex *IndexScan
	if chosen == nil {
		if byIndex, chosen = p.indexEqualities(l, s, right, eqs); chosen == nil {
			return part{}, false, nil
		}
	}
	left = p.gather(left, nil)
	n := &NestLoop{Kind: j.kind, Left: left.node}
	tuple := make([]query.Expr, len(chosen))
	found, route := *s, Route{Table: s.Table}
	for i, e := range chosen {
		v, err := p.rewrite(l, eqs[e].left, left.in)
		if err != nil {
			return part{}, false, err
		}
		n.Binds = append(n.Binds, Bind{p.outers, v})
		outer := &query.Outer{T: query.T{OID: v.Type(), Mod: v.Typmod()}, N: p.outers, Of: v}
		tuple[i] = lookupValue(s, byIndex, i, outer)
		p.outers++
		if tuple[i] == outer {
			continue
		}
		cond, err := p.boundEquality(l, eqs[e], outer, right)
		if err != nil {
			return part{}, false, err
		}
		found.Filter = conjunction(append(conjuncts(found.Filter), cond))
	}
	found.Lo, found.Hi, found.Index, found.KeyArray, found.Span = nil, nil, nil, nil, nil
	if byIndex != nil {
		byIndex.join(tuple)
		p.useIndex(&found, &route, byIndex)
	} else {
		found.Access, found.Keys = ScanKeys, [][]query.Expr{tuple}
		route.Keys = found.Keys
	}
	n.Right = &Gather{Base: found.Base, Child: &found, Route: route}
	on := append([]query.Expr{}, rest...)
	for i, e := range eqs {
		if !contains(chosen, i) {
			on = append(on, e.cond)
		}
	}
	in := concat(left, right)
	conds, err := p.rewriteAll(l, on, in)
	if err != nil {
		return part{}, false, err
	}
	n.On = conjunction(conds)
	n.Cols = append(append([]Col{}, left.node.Output()...), found.Cols...)
	if j.kind == query.Semi || j.kind == query.Anti {
		n.Cols, in = left.node.Output(), &layout{slots: left.in.slots, lateral: in.lateral}
	}
	return part{node: n, in: in}, true, nil
}

// boundEquality is the equality of a lookup as the scan tests it, whose value had to be converted:
// what is found by that may differ.
func (p *planner) boundEquality(l *level, e equality, value query.Expr, right part) (query.Expr, error) {
	own, err := p.rewrite(l, e.right, right.in)
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
func (p *planner) semiLookup(
	l *level, j joining, left, right part, eqs []equality, rest []query.Expr,
) (part, bool, error) {
	if j.kind != query.Semi || len(rest) > 0 || len(eqs) == 0 || len(right.in.lateral) > 0 {
		return part{}, false, nil
	}
	right = p.gather(right, nil)
	proj := &Project{Child: right.node}
	keys := newLayout()
	turned := make([]equality, len(eqs))
	for i, e := range eqs {
		v, err := p.rewrite(l, e.right, right.in)
		if err != nil {
			return part{}, false, err
		}
		col := Col{nameOf(v), v.Type(), v.Typmod()}
		keys.exprs = append(keys.exprs, placed{e.right, i, col})
		proj.Exprs, proj.Cols = append(proj.Exprs, v), append(proj.Cols, col)
		turned[i] = equality{e.right, e.left, e.nulls, e.cond}
	}
	values := part{node: &Distinct{Base: proj.Base, Child: proj}, in: keys}
	fixed := j.fixed
	j.kind, j.lrels, j.rrels = query.Inner, j.rrels, j.lrels
	out, ok, err := p.lookupJoin(l, j, values, left, turned, nil)
	if ok && fixed {
		out = leftFirst(out, left, 0)
	}
	return out, ok, err
}

// turnedLookup is lookupJoin by the right side's rows where the left side's slots must come first:
// the target of an UPDATE or DELETE is found by what FROM or USING returns.
func (p *planner) turnedLookup(
	l *level, j joining, left, right part, eqs []equality, rest []query.Expr,
) (part, bool, error) {
	if j.kind != query.Inner || !j.fixed || len(eqs) == 0 || len(right.in.lateral) > 0 {
		return part{}, false, nil
	}
	turned := make([]equality, len(eqs))
	for i, e := range eqs {
		turned[i] = equality{e.right, e.left, e.nulls, e.cond}
	}
	n := len(right.node.Output())
	j.lrels, j.rrels = j.rrels, j.lrels
	out, ok, err := p.lookupJoin(l, j, right, left, turned, rest)
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

// keyEqualities finds, for each primary key column of the scan, the equality that has its value;
// nil where one is missing.
func keyEqualities(l *level, s *Scan, right part, eqs []equality) []int {
	key := keyPositions(s.Table)
	rel := right.local.rels[0]
	m := matcher{s: s}
	var out []int
	for _, col := range key {
		found := -1
		for i, e := range eqs {
			if !e.nulls && isColumn(e.right, varKey{rel, col}) && m.keyValue(col, e.left, toEqual) != nil {
				found = i
			}
		}
		if found < 0 {
			return nil
		}
		out = append(out, found)
	}
	return out
}

func nameOf(e query.Expr) string {
	if s, ok := bare(e).(*query.Slot); ok {
		return s.Name
	}
	return "?column?"
}

// Guesses of how many rows a step returns, where nothing is known. Only their order matters.
const (
	guessTable   = 1e6
	guessFilter  = 0.1 // of what comes in
	guessContent = 1e3
	guessSystem  = 1e3
	guessSet     = 1e3
	guessGroups  = 0.1
)

// estimate guesses how many rows a step returns. What is small by construction is exact: keys,
// VALUES, LIMIT.
func estimate(n Node) float64 {
	switch n := n.(type) {
	case *Scan:
		return estimateScan(n)
	case *SystemScan, *FunctionScan, *CTEScan:
		return guessSystem
	case *Values:
		return float64(len(n.Rows))
	case *Gather:
		rows := estimate(n.Child)
		if n.Route.byValues() {
			rows = min(rows, guessContent)
		}
		return rows
	case *Filter:
		return max(1, estimate(n.Child)*guessFilter)
	case *Limit:
		return min(estimate(n.Child), limitOf(n.Count))
	case *Sort:
		return estimate(n.Child)
	case *Aggregate:
		if len(n.Keys) == 0 && n.Sets == nil {
			return 1
		}
		return max(1, estimate(n.Child)*guessGroups)
	case *Project:
		if n.Sets {
			return estimate(n.Child) * guessSet
		}
		return estimate(n.Child)
	}
	return estimateJoin(n)
}

func estimateJoin(n Node) float64 {
	switch n := n.(type) {
	case *HashJoin:
		switch n.Kind {
		case query.Semi, query.Anti, query.Left:
			return estimate(n.Left)
		}
		return max(estimate(n.Left), estimate(n.Right))
	case *NestLoop:
		if n.Kind == query.Semi || n.Kind == query.Anti {
			return estimate(n.Left)
		}
		return max(1, estimate(n.Left)) * max(1, estimate(n.Right))
	}
	rows := 0.0
	for _, c := range n.Children() {
		rows += estimate(c)
	}
	return max(1, rows)
}

func estimateScan(s *Scan) float64 {
	rows := guessTable
	switch {
	case s.Index != nil:
		return s.Index.estimate()
	case s.Access == ScanKeys && s.KeyArray != nil:
		rows = 100
		if c, ok := s.KeyArray.(*query.Array); ok {
			rows = float64(len(c.Elems))
		}
	case s.Access == ScanKeys:
		return float64(len(s.Keys))
	case s.Access == ScanOrdered && s.Lo != nil && s.Hi != nil:
		rows *= guessFilter * guessFilter
	case s.Filter != nil:
		rows *= guessFilter
	}
	return rows
}

// limitOf is a LIMIT's count; an unknown one is taken for small.
func limitOf(e query.Expr) float64 {
	if e == nil {
		return guessTable * guessTable
	}
	if c, ok := e.(*query.Const); ok {
		if c.Value.IsNull() {
			return guessTable * guessTable
		}
		return float64(max(0, c.Value.N))
	}
	return 100
}
