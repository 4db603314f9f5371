package plan

import (
	"github.com/sherddb/sherd/sql/query"
)

// Source returns the rows that the session feeds in: COPY FROM.
type Source struct{ Base }

// Children of a Source are none.
func (*Source) Children() []Node { return nil }

// BuildCopy plans an INSERT … VALUES ($1, $2, …) whose rows are fed in instead: the slots of a
// Source stand for the parameters.
func BuildCopy(q *query.Query, columns []Col, env Env) (*Plan, error) {
	p := &planner{env: env}
	l := &level{q: q, ctes: map[*query.CTE]int{}, need: neededColumns(q)}
	src := part{node: &Source{Base{columns}}, in: newLayout()}
	for i := range columns {
		src.in.slots[varKey{q.SourceRel, i}] = i
	}
	out, err := p.insertFrom(l, src)
	if err != nil {
		return nil, err
	}
	return &Plan{Root: out.node, Outers: p.outers}, nil
}
