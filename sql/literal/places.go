package literal

import (
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/query"
)

// places are the expressions of a query that can be parameters: literals with the casts around
// them.
type places struct {
	literals analyze.Literals
	found    map[query.Expr]*query.Const // the literal of each
	count    map[*query.Const]int        // how often a literal was found
}

func (p *places) add(e query.Expr, c *query.Const) {
	p.found[e] = c
	p.count[c]++
}

// query finds the places of a query and of its subqueries. It does not enter what groups, sorts,
// limits or returns rows: there analysis compares expressions, and constants decide more than rows.
func (p *places) query(q *query.Query) {
	if q == nil {
		return
	}
	for _, c := range q.CTEs {
		p.query(c.Query)
	}
	for _, r := range q.Rels {
		p.query(r.Subquery)
	}
	for _, it := range q.From {
		p.from(it)
	}
	p.condition(q.Where)
	p.assignments(q.Assign)
	if c := q.OnConflict; c != nil {
		p.assignments(c.Assign)
		p.condition(c.Where)
	}
	for _, m := range q.Merge {
		p.condition(m.Cond)
		p.assignments(m.Assign)
	}
	if q.SetOp != nil {
		p.query(q.SetOp.Left)
		p.query(q.SetOp.Right)
	}
	if q.Source != nil {
		for _, row := range q.Source.Values {
			for _, e := range row {
				p.value(e)
			}
		}
	}
	p.query(q.Source)
}

func (p *places) from(it query.From) {
	if j, ok := it.(*query.FromJoin); ok {
		p.from(j.Left)
		p.from(j.Right)
		p.condition(j.On)
	}
}

func (p *places) assignments(list []query.Assignment) {
	for _, a := range list {
		p.value(a.Expr)
	}
}

// condition finds the operands of operators.
func (p *places) condition(e query.Expr) {
	switch n := e.(type) {
	case *query.And:
		p.conditions(n.Args)
	case *query.Or:
		p.conditions(n.Args)
	case *query.Not:
		p.condition(n.Arg)
	case *query.Call:
		if isOperator(n) {
			p.pair(n.Args[0], n.Args[1])
			return
		}
		p.others(e)
	case *query.Distinct:
		p.pair(n.Left, n.Right)
	case *query.RowCompare:
		for i := range n.Left {
			p.pair(n.Left[i], n.Right[i])
		}
	case *query.ArrayOp:
		if list, ok := n.Array.(*query.Array); ok && !list.Multi && varies(n.Left) {
			for _, x := range list.Elems {
				p.operand(x)
			}
			p.others(n.Left)
			return
		}
		p.others(e)
	default:
		p.others(e)
	}
}

func (p *places) conditions(list []query.Expr) {
	for _, e := range list {
		p.condition(e)
	}
}

// pair finds a literal beside an operand that is not constant.
func (p *places) pair(left, right query.Expr) {
	switch {
	case varies(left):
		p.others(left)
		p.operand(right)
	case varies(right):
		p.operand(left)
		p.others(right)
	}
}

// operand is a literal, or something else.
func (p *places) operand(e query.Expr) {
	if c := p.literal(e); c != nil {
		p.add(e, c)
		return
	}
	p.others(e)
}

// value finds the literals of a value that is written: the value itself, and operands of what is
// computed from a row. A computation with constants only is done when the statement is planned.
func (p *places) value(e query.Expr) {
	if c := p.literal(e); c != nil {
		p.add(e, c)
		return
	}
	switch n := e.(type) {
	case *query.Call:
		if varies(n) && n.Proc.Namespace == "pg_catalog" && !n.Proc.RetSet && n.Proc.Volatility == 'i' {
			for _, a := range n.Args {
				p.value(a)
			}
			return
		}
	case *query.Relabel:
		p.value(n.Arg)
		return
	case *query.CoerceIO:
		if varies(n) {
			p.value(n.Arg)
			return
		}
	}
	p.others(e)
}

// others finds the places in the subqueries of an expression.
func (p *places) others(e query.Expr) {
	query.Walk(e, func(x query.Expr) bool {
		if s, ok := x.(*query.SubLink); ok {
			p.query(s.Query)
		}
		return true
	})
}

// literal returns the literal that an expression is, apart from casts that always have the same
// result; nil: it is something else.
func (p *places) literal(e query.Expr) *query.Const {
	switch n := e.(type) {
	case *query.Const:
		if _, ok := p.literals[n]; ok {
			return n
		}
	case *query.Relabel:
		return p.literal(n.Arg)
	case *query.Call:
		if n.Cast == 0 || n.Proc.Volatility != 'i' {
			return nil
		}
		for _, a := range n.Args[1:] {
			c, ok := a.(*query.Const)
			if _, literal := p.literals[c]; !ok || literal {
				return nil
			}
		}
		return p.literal(n.Args[0])
	}
	return nil
}

// varies reports whether an expression may have several values in a statement.
func varies(e query.Expr) bool {
	return query.Contains(e, func(x query.Expr) bool {
		switch x.(type) {
		case *query.Var, *query.SubLink:
			return true
		}
		return false
	})
}

// isOperator reports whether a call is one of PostgreSQL's operators with two operands.
func isOperator(c *query.Call) bool {
	return c.Op != "" && len(c.Args) == 2 && c.Proc.Namespace == "pg_catalog" && c.Proc.Volatility == 'i'
}
