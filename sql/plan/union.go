package plan

import (
	"slices"

	"github.com/sherddb/sherd/sql/query"
)

// unions are the scans that unions of others have replaced.
type unions map[Node]part

// scan returns the part that a union has replaced; another part is returned as it is. Its scan is a
// copy, which may be changed.
func (u unions) scan(cur part) part {
	whole, ok := u[cur.node]
	if !ok {
		return cur
	}
	s, local := *whole.node.(*Scan), *whole.local
	whole.node, whole.local = &s, &local
	return whole
}

// again returns a scan by which a changed row of a union is read again; nil if the part is no union.
func (u unions) again(cur part) *Scan {
	whole, ok := u[cur.node]
	if !ok {
		return nil
	}
	s := whole.node.(*Scan)
	return &Scan{
		Base: s.Base, Table: s.Table, Alias: s.Alias, Schema: s.Schema, Slots: s.Slots, Filter: s.Filter, Sums: s.Sums,
	}
}

// maxArms is the number of arms of an OR up to which each has a scan of its own.
const maxArms = 16

// of replaces a scan by one for each arm of an OR, if each arm reaches its rows by a key or an index
// and together they cost less. An arm leaves out the rows of those before it.
func (u unions) of(p *planner, cur part, indexes []query.Index, conds []query.Expr) part {
	best, cost := cur, p.est.cost(cur.node)
	if s, ok := cur.node.(*Scan); ok && p.env.Off.reading(s.Access, s.Index) {
		cost += costOff
	} else if ok && s.readsArms() {
		return cur
	}
	for i, c := range conds {
		or, ok := c.(*query.Or)
		if !ok || len(or.Args) > maxArms || volatile(c) || anyStays(or.Args) {
			continue
		}
		others := slices.Concat(conds[:i], conds[i+1:])
		out := u.byArms(p, cur, indexes, or, others)
		if out.node != nil && p.est.cost(out.node) < cost {
			best, cost = out, p.est.cost(out.node)
		}
	}
	if best.node != cur.node {
		p.est.note(best.node, p.est.rows(cur.node))
		u[best.node] = cur
	}
	return best
}

// readsArms reports whether the scan reads what the arms of an OR name.
func (s *Scan) readsArms() bool {
	return s.Index != nil && len(s.Index.Arms) > 0 || s.Span != nil && len(s.Span.Arms) > 0
}

// byArms returns the union of scans for the arms of an OR. It is in the fragments, unless an arm finds
// its rows by a global index or is routed by a policy: then each arm is gathered by itself.
func (u unions) byArms(p *planner, cur part, indexes []query.Index, or *query.Or, others []query.Expr) part {
	whole := cur.node.(*Scan)
	out := &Append{Base: whole.Base}
	gathered, routed := &Append{Base: whole.Base}, false
	for i, arm := range or.Args {
		s := *whole
		conds := slices.Concat(others, Conjuncts(arm))
		route := p.route(&s, conds)
		if route.Never {
			continue
		}
		p.choose(&s, &route, indexes, conds, anyOrder)
		if s.Access == ScanBuckets && s.Span == nil && !route.byValues() {
			return part{}
		}
		if of := p.est.columnsOf(&matcher{s: &s}, indexes); of != nil {
			p.est.note(&s, p.est.tableRows(s.Table)*of.Of(conds))
		}
		if i > 0 {
			conds = append(conds, notTrue(or.Args[:i]))
		}
		s.Filter = p.fold(Conjunction(p.sliced(&s, conds)))
		out.Inputs = append(out.Inputs, &s)
		routed = routed || s.Access == ScanFound || s.Access == ScanBuckets
		gathered.Inputs = append(gathered.Inputs, &Gather{Base: s.Base, Child: &s, Route: route})
	}
	switch {
	case len(out.Inputs) == 0:
		return part{}
	case routed:
		return part{node: gathered, in: cur.in}
	}
	local := *cur.local
	local.route.Index = nil
	return part{node: out, in: cur.in, local: &local}
}

// notTrue returns the condition that none of some is true.
func notTrue(conds []query.Expr) query.Expr {
	any := conds[0]
	if len(conds) > 1 {
		any = &query.Or{Args: conds}
	}
	return &query.BoolTest{T: query.Of(any.Type()), Arg: any, Value: 't', Not: true}
}
