package plan

import (
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// join combines two parts. Rows are left then right.
func (p *planner) join(l *level, kind query.JoinKind, left, right part, lrels, rrels relSet, on []query.Expr, lateral bool) (part, error) {
	if lateral {
		return p.lateralJoin(l, kind, left, right, on)
	}
	eqs, rest := splitEqualities(l, on, lrels, rrels)
	local := colocated(l, left, right, eqs)
	if local == nil {
		left, right = p.gather(left, nil), p.gather(right, nil)
	}
	in := concat(left, right)
	out := part{in: in, local: local}
	residual, err := p.rewriteAll(l, rest, in)
	if err != nil {
		return part{}, err
	}
	if local != nil && hasSubPlan(conjunction(residual)) {
		return p.join(l, kind, p.gather(left, nil), p.gather(right, nil), lrels, rrels, on, false)
	}
	cols := append(append([]Col{}, left.node.Output()...), right.node.Output()...)
	if len(eqs) == 0 {
		out.node = &NestLoop{Base: Base{cols}, Kind: kind, Left: left.node, Right: right.node, On: conjunction(residual)}
		return out, nil
	}
	h := &HashJoin{Base: Base{cols}, Kind: kind, Left: left.node, Right: right.node, On: conjunction(residual)}
	for _, e := range eqs {
		lk, err := p.rewrite(l, e.left, left.in)
		if err != nil {
			return part{}, err
		}
		rk, err := p.rewrite(l, e.right, right.in)
		if err != nil {
			return part{}, err
		}
		h.LeftKeys, h.RightKeys = append(h.LeftKeys, lk), append(h.RightKeys, rk)
		h.KeyTypes, h.NullsEqual = append(h.KeyTypes, e.left.Type()), append(h.NullsEqual, e.nulls)
	}
	out.node = h
	return out, nil
}

func (p *planner) lateralJoin(l *level, kind query.JoinKind, left, right part, on []query.Expr) (part, error) {
	lat := right.in.lateral
	if left.local == nil || right.local != nil || gatewayOnly(right.node) {
		left, right = p.gather(left, nil), p.gather(right, nil)
	}
	n := &NestLoop{Kind: kind, Left: left.node, Right: right.node}
	var carried []binding
	for _, b := range lat {
		if _, ok := left.in.slots[varKey{b.v.Rel, b.v.Col}]; !ok {
			carried = append(carried, b)
			continue
		}
		e, err := p.column(l, b.v, left.in)
		if err != nil {
			return part{}, err
		}
		if hasSubPlan(e) && left.local != nil {
			return p.lateralJoin(l, kind, p.gather(left, nil), right, on)
		}
		n.Binds = append(n.Binds, Bind{b.param, e})
	}
	in := concat(left, right)
	in.lateral = append(append([]binding{}, left.in.lateral...), carried...)
	conds, err := p.rewriteAll(l, on, in)
	if err != nil {
		return part{}, err
	}
	n.On = conjunction(conds)
	if left.local != nil && hasSubPlan(n.On) {
		return p.lateralJoin(l, kind, p.gather(left, nil), right, on)
	}
	n.Cols = append(append([]Col{}, left.node.Output()...), right.node.Output()...)
	return part{node: n, in: in, local: left.local}, nil
}

// gatewayOnly tells whether a subtree holds a step that fragments cannot run.
func gatewayOnly(n Node) bool {
	switch x := n.(type) {
	case *Gather, *SystemScan, *CTEScan, *With, *Modify, *Scan:
		return true
	case *Project:
		for _, e := range x.Exprs {
			if hasSubPlan(e) {
				return true
			}
		}
	case *Filter:
		if hasSubPlan(x.Cond) {
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
	in.lateral = append(append([]binding{}, left.in.lateral...), right.in.lateral...)
	return in
}

// equality is left = right with each side on its own input.
type equality struct {
	left, right query.Expr
	nulls       bool // IS NOT DISTINCT FROM
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
			eqs = append(eqs, equality{a, b, nulls})
		case lrels.covers(br) && rrels.covers(ar):
			eqs = append(eqs, equality{b, a, nulls})
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
	return a, b, nulls, t != nil && ta != types.JSON && t.Kind != 'p' || ta == types.Record
}

func integer(oid uint32) bool { return oid == types.Int2 || oid == types.Int4 || oid == types.Int8 }
