package plan

import (
	"github.com/sherddb/sherd/sql/query"
)

// maxImplied bounds the conditions that are derived for one join.
const maxImplied = 32

// implied derives conditions through equalities: from a.id = b.id and a.id = 'x' follows b.id =
// 'x', by which b can be routed too. All of conds hold together of every row that is kept, so what
// follows from them does.
func implied(l *level, conds []query.Expr) []query.Expr {
	var ties []equality
	for _, c := range conds {
		if a, b, nulls, ok := hashable(c); ok && !nulls && !hasSubLink(c) && a.Type() == b.Type() &&
			len(l.relsOf(a)) > 0 && len(l.relsOf(b)) > 0 {
			ties = append(ties, equality{left: a, right: b}, equality{left: b, right: a})
		}
	}
	var out []query.Expr
	if len(ties) == 0 {
		return nil
	}
	for i := 0; i < len(conds)+len(out) && len(out) < maxImplied; i++ {
		c := at(conds, out, i)
		for _, t := range ties {
			if d := l.carry(c, t); d != nil && !among(conds, d) && !among(out, d) {
				out = append(out, d)
			}
		}
	}
	return out
}

func at(a, b []query.Expr, i int) query.Expr {
	if i < len(a) {
		return a[i]
	}
	return b[i-len(a)]
}

func among(es []query.Expr, e query.Expr) bool {
	for _, x := range es {
		if query.Equal(x, e) {
			return true
		}
	}
	return false
}

// carry returns `right = v` for c, which is `left = v`, where v reads no column; likewise for `left
// = ANY (v)`.
func (l *level) carry(c query.Expr, t equality) query.Expr {
	switch n := c.(type) {
	case *query.Call:
		if n.Op != "=" || len(n.Args) != 2 {
			return nil
		}
		for i, side := range n.Args {
			if v := n.Args[1-i]; query.Equal(side, t.left) && l.constant(v) {
				d := *n
				d.Args = []query.Expr{t.right, v}
				if i == 1 {
					d.Args = []query.Expr{v, t.right}
				}
				return &d
			}
		}
	case *query.ArrayOp:
		if n.Op == "=" && !n.All && query.Equal(n.Left, t.left) && l.constant(n.Array) {
			d := *n
			d.Left = t.right
			return &d
		}
	}
	return nil
}

// constant reports whether e has one value during the statement, as far as this query goes.
func (l *level) constant(e query.Expr) bool {
	return len(l.relsOf(e)) == 0 && !hasSubLink(e) && !volatile(e)
}
