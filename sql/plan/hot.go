package plan

import (
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/query"
)

// hotSums is what the parts of a table's split documents add up to, read once for the statement.
type hotSums struct {
	table *catalog.Table
	value *query.Outer
	plan  *SubPlan
}

// sums returns what a scan has to add to the counters of split documents; nil where it reads no
// counter, or no caller asks for them.
func (p *planner) sums(s *Scan) (query.Expr, error) {
	if p.env.Sums == nil || !ReadsCounters(s) {
		return nil, nil
	}
	for _, h := range p.hot {
		if h.table.OID == s.Table.OID {
			return h.value, nil
		}
	}
	q, err := p.env.Sums(s.Table)
	if q == nil || err != nil {
		return nil, err
	}
	sub, err := p.query(&level{q: q})
	if err != nil {
		return nil, err
	}
	t := query.T{OID: q.Targets[0].Expr.Type(), Mod: -1}
	p.subs++
	h := hotSums{s.Table, &query.Outer{T: t, N: p.outers}, &SubPlan{
		T: t, Kind: query.SubScalar, Plan: p.gather(sub, nil).node, Name: subPlanName(p.subs),
	}}
	p.outers++
	p.hot = append(p.hot, h)
	return h.value, nil
}

// ReadsCounters reports whether a scan reads a column with a counter that split documents of its
// table have.
func ReadsCounters(s *Scan) bool {
	h := s.Table.Hot
	return h != nil && slices.ContainsFunc(h.Counters, func(c catalog.Counter) bool {
		return slices.Contains(s.Slots, int(c.Column)-1)
	})
}

// withSums reads the sums before the statement.
func (p *planner) withSums(n Node) Node {
	if len(p.hot) == 0 {
		return n
	}
	var binds []Bind
	for _, h := range p.hot {
		binds = append(binds, Bind{h.value.N, h.plan})
	}
	nothing := &Values{Rows: [][]query.Expr{{}}}
	return &NestLoop{Base: Base{n.Output()}, Kind: query.Inner, Left: nothing, Right: n, Binds: binds}
}
