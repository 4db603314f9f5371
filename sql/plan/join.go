package plan

import (
	"slices"

	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// joining is a join to be planned.
type joining struct {
	*planner
	l            *level
	kind         query.JoinKind
	lrels, rrels relSet
	on           []query.Expr
	lateral      bool // the right side reads the left one
	fixed        bool // the left side's slots must come first

	eqs   []equality   // the equalities of on
	rest  []query.Expr // what else on says
	local *locality    // of a join in the fragments; nil: at the gateway
}

// turned is the join with its sides changed.
func (j joining) turned() joining {
	j.lrels, j.rrels = j.rrels, j.lrels
	j.eqs = turned(j.eqs)
	return j
}

// join combines two parts. Rows are left then right, or left alone for semi and anti joins.
func (p *planner) join(l *level, j joining, left, right part) (part, error) {
	if empty := emptyJoin(j.kind, left, right); empty != nil {
		return *empty, nil
	}
	j.on = l.guarded(j.on)
	if j.lateral {
		return p.lateralJoin(l, j, left, right)
	}
	j.planner, j.l = p, l
	j.eqs, j.rest = splitEqualities(l, j.on, j.lrels, j.rrels)
	if j.local = colocated(l, j.kind, left, right, j.eqs); anyStays(j.on) || p.env.Off.LocalJoin {
		j.local = nil
	}
	if d := l.driving; d != nil && (j.lrels[d.rel] || j.rrels[d.rel]) {
		if out, ok, err := d.join(j, left, right); ok || err != nil {
			return out, err
		}
	}
	ways := []func(left, right part) (part, bool, error){j.localLookups}
	if j.local == nil {
		ways = []func(left, right part) (part, bool, error){
			j.lookupJoin, j.otherLookup, j.semiLookup, j.turnedLookup, j.boundLoop, j.otherBoundLoop,
		}
	}
	for _, way := range ways {
		if out, ok, err := way(left, right); ok || err != nil {
			return out, err
		}
	}
	if j.local == nil {
		left, right = p.gather(left, nil), p.gather(right, nil)
	}
	if off := p.env.Off; off.HashJoin && !off.NestLoop && j.kind != query.Full && j.kind != query.Right {
		j.eqs, j.rest = nil, j.on
	}
	return j.hashJoin(left, right)
}

// hashJoin builds the side that is likely the smaller one, or pairs everything where there is no
// equality.
func (j joining) hashJoin(left, right part) (part, error) {
	if !j.fixed && j.est.rows(left.node) < j.est.rows(right.node) {
		if kind, ok := j.turnedKind(); ok {
			left, right, j = right, left, j.turned()
			j.kind = kind
		}
	}
	in := concat(left, right)
	residual, err := j.rewriteAll(j.l, j.rest, in)
	if err != nil {
		return part{}, err
	}
	cols := append(append([]Col{}, left.node.Output()...), right.node.Output()...)
	switch j.kind {
	case query.Semi, query.Anti:
		cols, in = left.node.Output(), &layout{slots: left.in.slots, lateral: in.lateral}
	case query.RightSemi, query.RightAnti:
		cols, in = right.node.Output(), &layout{slots: right.in.slots, lateral: in.lateral}
	}
	out := part{in: in, local: j.local}
	if len(j.eqs) == 0 {
		out.node = &NestLoop{
			Base: Base{cols}, Kind: j.kind, Left: left.node, Right: right.node, On: Conjunction(residual),
		}
		return out, nil
	}
	h := &HashJoin{Base: Base{cols}, Kind: j.kind, Left: left.node, Right: right.node, On: Conjunction(residual)}
	for _, e := range j.eqs {
		lk, err := j.rewrite(j.l, e.left, left.in)
		if err != nil {
			return part{}, err
		}
		rk, err := j.rewrite(j.l, e.right, right.in)
		if err != nil {
			return part{}, err
		}
		h.LeftKeys, h.RightKeys = append(h.LeftKeys, lk), append(h.RightKeys, rk)
		h.KeyTypes, h.NullsEqual = append(h.KeyTypes, e.left.Type()), append(h.NullsEqual, e.nulls)
	}
	out.node = h
	return out, nil
}

// turnedKind returns the kind of the join with its sides changed; false if there is none.
func (j joining) turnedKind() (query.JoinKind, bool) {
	switch {
	case j.kind == query.Inner:
		return query.Inner, true
	case len(j.eqs) == 0:
	case j.kind == query.Left:
		return query.Right, true
	case !j.env.RuntimeFilters:
	case j.kind == query.Semi:
		return query.RightSemi, true
	case j.kind == query.Anti:
		return query.RightAnti, true
	}
	return j.kind, false
}

func anyStays(es []query.Expr) bool {
	for _, e := range es {
		if stays(e) {
			return true
		}
	}
	return false
}

func hasSubLinks(es []query.Expr) bool {
	for _, e := range es {
		if hasSubLink(e) {
			return true
		}
	}
	return false
}

// emptyJoin is the result of a join with a side that has no rows, where that decides.
func emptyJoin(kind query.JoinKind, left, right part) *part {
	none := isEmpty(left.node)
	switch kind {
	case query.Inner, query.Semi:
		none = none || isEmpty(right.node)
	case query.Full, query.Right:
		return nil
	}
	if !none {
		return nil
	}
	in, cols := concat(left, right), append(append([]Col{}, left.node.Output()...), right.node.Output()...)
	if kind == query.Semi || kind == query.Anti {
		in, cols = left.in, left.node.Output()
	}
	in.lateral = nil
	return &part{node: &Values{Base: Base{cols}}, in: in}
}

func isEmpty(n Node) bool {
	v, ok := n.(*Values)
	return ok && len(v.Rows) == 0
}

// lateralJoin runs the right side once for each row of the left one. It stays in the fragments
// where the right side reads no table.
func (p *planner) lateralJoin(l *level, j joining, left, right part) (part, error) {
	if left.local == nil || right.local != nil || gatewayOnly(right.node) || j.kind == query.Full ||
		j.kind == query.Right || anyStays(j.on) {
		left, right = p.gather(left, nil), p.gather(right, nil)
	}
	n := &NestLoop{Kind: j.kind, Left: left.node, Right: right.node}
	var carried []binding
	for _, b := range right.in.lateral {
		if !j.lrels.covers(l.relsOf(b.v)) {
			carried = append(carried, b)
			continue
		}
		e, err := p.column(l, b.v, left.in)
		if err != nil {
			return part{}, err
		}
		n.Binds = append(n.Binds, Bind{b.param, e})
	}
	in := concat(left, right)
	in.lateral = append(append([]binding{}, left.in.lateral...), carried...)
	conds, err := p.rewriteAll(l, j.on, in)
	if err != nil {
		return part{}, err
	}
	n.On = Conjunction(conds)
	n.Cols = append(append([]Col{}, left.node.Output()...), right.node.Output()...)
	if j.kind == query.Semi || j.kind == query.Anti {
		n.Cols, in = left.node.Output(), &layout{slots: left.in.slots, lateral: in.lateral}
	}
	return part{node: n, in: in, local: left.local, order: left.order}, nil
}

// gatewayOnly reports whether a subtree that is no part of a fragment's work holds a step that
// fragments cannot run, or must not each run.
func gatewayOnly(n Node) bool {
	switch n.(type) {
	case *Gather, *SystemScan, *CTEScan, *With, *Modify, *Merge, *Scan, *Source:
		return true
	}
	for _, e := range stepExprs(n) {
		if stays(e) || volatile(e) {
			return true
		}
	}
	for _, c := range n.Children() {
		if gatewayOnly(c) {
			return true
		}
	}
	return false
}

// stepExprs lists the expressions of one step.
func stepExprs(n Node) []query.Expr {
	var out []query.Expr
	switch n := n.(type) {
	case *Scan:
		out = []query.Expr{n.Filter}
	case *SystemScan:
		out = []query.Expr{n.Filter}
	case *FunctionScan:
		for _, f := range n.Functions {
			out = append(out, f.Call)
		}
	case *Values:
		for _, r := range n.Rows {
			out = append(out, r...)
		}
	case *Filter:
		out = []query.Expr{n.Cond}
	case *Project:
		out = n.Exprs
	case *Aggregate:
		out = append(out, n.Keys...)
		for _, a := range n.Aggs {
			out = append(out, a)
		}
	case *Sort:
		out = []query.Expr{n.Limit, n.Offset}
	case *Limit:
		out = []query.Expr{n.Count, n.Offset}
	case *HashJoin:
		out = append(append([]query.Expr{n.On}, n.LeftKeys...), n.RightKeys...)
	case *LookupJoin:
		out = append(stepExprs(n.Join), n.Values.Expr)
	case *NestLoop:
		for _, b := range n.Binds {
			out = append(out, b.Expr)
		}
		out = append(out, n.On)
	case *Window:
		for _, c := range n.Calls {
			out = append(out, c)
		}
	case *Modify:
		for _, a := range n.Assign {
			out = append(out, a.Expr)
		}
		out = append(out, n.Returning...)
	case *Merge:
		out = n.Exprs()
	}
	return out
}

func (p *planner) rewriteAll(l *level, es []query.Expr, in *layout) ([]query.Expr, error) {
	var out []query.Expr
	for _, e := range es {
		r, err := p.rewrite(l, e, in)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

func concat(left, right part) *layout {
	in := newLayout()
	shift := len(left.node.Output())
	for k, v := range left.in.slots {
		in.slots[k] = v
	}
	for k, v := range right.in.slots {
		in.slots[k] = v + shift
	}
	in.exprs = slices.Clone(left.in.exprs)
	for _, e := range right.in.exprs {
		in.exprs = append(in.exprs, placed{e.expr, e.slot + shift, e.col})
	}
	in.lateral = append(append([]binding{}, left.in.lateral...), right.in.lateral...)
	return in
}

// equality is left = right with each side on its own input.
type equality struct {
	left, right query.Expr
	nulls       bool       // IS NOT DISTINCT FROM
	cond        query.Expr // it as it was written
}

func splitEqualities(l *level, on []query.Expr, lrels, rrels relSet) (eqs []equality, rest []query.Expr) {
	for _, c := range on {
		a, b, nulls, ok := hashable(c)
		if !ok {
			rest = append(rest, c)
			continue
		}
		ar, br := l.relsOf(a), l.relsOf(b)
		switch {
		case len(ar) == 0 || len(br) == 0:
			rest = append(rest, c)
		case lrels.covers(ar) && rrels.covers(br):
			eqs = append(eqs, equality{a, b, nulls, c})
		case lrels.covers(br) && rrels.covers(ar):
			eqs = append(eqs, equality{b, a, nulls, c})
		default:
			rest = append(rest, c)
		}
	}
	return eqs, rest
}

// hashable takes apart an equality whose two sides hash alike: both of one type, or both integers.
func hashable(c query.Expr) (a, b query.Expr, nulls, ok bool) {
	switch n := c.(type) {
	case *query.Call:
		if n.Op != "=" || len(n.Args) != 2 {
			return nil, nil, false, false
		}
		a, b = n.Args[0], n.Args[1]
	case *query.Distinct:
		if !n.Not {
			return nil, nil, false, false
		}
		a, b, nulls = n.Left, n.Right, true
	default:
		return nil, nil, false, false
	}
	ta, tb := a.Type(), b.Type()
	if ta != tb && !(integer(ta) && integer(tb)) {
		return nil, nil, false, false
	}
	if volatile(a) || volatile(b) {
		return nil, nil, false, false
	}
	t := pgcatalog.TypeByOID(ta)
	return a, b, nulls, t != nil && ta != types.JSON && t.Kind != 'p' && t.Category != 'G' || ta == types.Record
}

func integer(oid uint32) bool { return oid == types.Int2 || oid == types.Int4 || oid == types.Int8 }
