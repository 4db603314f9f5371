package query

import (
	"reflect"
	"slices"
)

// Rewrite returns e with every node replaced by f's result for it. f sees a node before its inputs;
// when it returns true its result stands as it is and its inputs are not visited. Nodes are copied
// if an input changes: e itself never does. Subqueries inside a SubLink are left alone; its Test
// and Left are visited.
func Rewrite(e Expr, f func(Expr) (Expr, bool)) Expr {
	if e == nil {
		return nil
	}
	if r, done := f(e); done {
		return r
	}
	return MapInputs(e, func(x Expr) Expr { return Rewrite(x, f) })
}

// MapInputs returns a copy of e with each direct input replaced by f's result for it; nil inputs
// stay nil. Leaves are returned as they are.
func MapInputs(e Expr, f func(Expr) Expr) Expr {
	one := func(x Expr) Expr {
		if x == nil {
			return nil
		}
		return f(x)
	}
	list := func(xs []Expr) []Expr {
		if xs == nil {
			return nil
		}
		out := make([]Expr, len(xs))
		for i, x := range xs {
			out[i] = one(x)
		}
		return out
	}
	return mapInputs(e, one, list)
}

func mapInputs(e Expr, one func(Expr) Expr, list func([]Expr) []Expr) Expr {
	switch n := e.(type) {
	case *Call:
		c := *n
		c.Args = list(n.Args)
		return &c
	case *Relabel:
		c := *n
		c.Arg = one(n.Arg)
		return &c
	case *CoerceIO:
		c := *n
		c.Arg = one(n.Arg)
		return &c
	case *ArrayCoerce:
		c := *n
		c.Arg, c.Elem = one(n.Arg), one(n.Elem)
		return &c
	case *RowCoerce:
		c := *n
		c.Arg, c.Row = one(n.Arg), one(n.Row)
		return &c
	case *CoerceToDomain:
		c := *n
		c.Arg = one(n.Arg)
		c.Checks = make([]DomainCheck, len(n.Checks))
		for i, k := range n.Checks {
			c.Checks[i] = DomainCheck{k.Name, one(k.Expr)}
		}
		return &c
	case *And:
		return &And{Args: list(n.Args)}
	case *Or:
		return &Or{Args: list(n.Args)}
	case *Not:
		return &Not{Arg: one(n.Arg)}
	case *NullTest:
		c := *n
		c.Arg = one(n.Arg)
		return &c
	case *BoolTest:
		c := *n
		c.Arg = one(n.Arg)
		return &c
	case *Distinct:
		c := *n
		c.Left, c.Right = one(n.Left), one(n.Right)
		return &c
	case *NullIf:
		c := *n
		c.Left, c.Right = one(n.Left), one(n.Right)
		return &c
	case *ArrayOp:
		c := *n
		c.Left, c.Array = one(n.Left), one(n.Array)
		return &c
	default:
		return mapOthers(e, one, list)
	}
}

func mapOthers(e Expr, one func(Expr) Expr, list func([]Expr) []Expr) Expr {
	switch n := e.(type) {
	case *Case:
		c := *n
		c.Arg, c.Else = one(n.Arg), one(n.Else)
		c.Whens = make([]When, len(n.Whens))
		for i, w := range n.Whens {
			c.Whens[i] = When{one(w.Cond), one(w.Result)}
		}
		return &c
	case *Coalesce:
		c := *n
		c.Args = list(n.Args)
		return &c
	case *MinMax:
		c := *n
		c.Args = list(n.Args)
		return &c
	case *Array:
		c := *n
		c.Elems = list(n.Elems)
		return &c
	case *Row:
		c := *n
		c.Fields = list(n.Fields)
		return &c
	case *RowCompare:
		c := *n
		c.Left, c.Right = list(n.Left), list(n.Right)
		return &c
	case *Subscript:
		c := *n
		c.Base, c.Assign = one(n.Base), one(n.Assign)
		c.Upper, c.Lower = list(n.Upper), list(n.Lower)
		return &c
	case *Field:
		c := *n
		c.Arg = one(n.Arg)
		return &c
	case *SubLink:
		c := *n
		c.Test, c.Left = one(n.Test), list(n.Left)
		return &c
	case *Agg:
		c := *n
		c.Args, c.Direct, c.Filter = list(n.Args), list(n.Direct), one(n.Filter)
		return &c
	case *WindowCall:
		c := *n
		c.Args, c.Filter = list(n.Args), one(n.Filter)
		return &c
	case *Written:
		c := *n
		c.Arg = one(n.Arg)
		return &c
	}
	return e
}

// Walk calls f for e and everything in it, before its inputs, until f returns false for a node
// (whose inputs are then skipped).
func Walk(e Expr, f func(Expr) bool) {
	Rewrite(e, func(x Expr) (Expr, bool) { return x, !f(x) })
}

// Contains reports whether f is true of e or of anything in it.
func Contains(e Expr, f func(Expr) bool) bool {
	found := false
	Walk(e, func(x Expr) bool {
		found = found || f(x)
		return !found
	})
	return found
}

// Equal reports whether two expressions are the same except their positions in the text.
func Equal(a, b Expr) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return reflect.DeepEqual(withoutPos(a), withoutPos(b))
}

func withoutPos(e Expr) Expr {
	return Rewrite(e, func(x Expr) (Expr, bool) {
		switch n := x.(type) {
		case *Const:
			c := *n
			c.Pos = 0
			return &c, true
		case *Call:
			if n.Pos == 0 && n.Cast == 0 {
				return nil, false
			}
			c := *n
			c.Pos, c.Cast = 0, 0
			return withoutPos(&c), true
		case *Relabel:
			if n.Cast == 0 {
				return nil, false
			}
			c := *n
			c.Cast = 0
			return withoutPos(&c), true
		case *CoerceIO:
			if !n.Explicit {
				return nil, false
			}
			c := *n
			c.Explicit = false
			return withoutPos(&c), true
		case *ArrayOp:
			if n.Pos == 0 {
				return nil, false
			}
			c := *n
			c.Pos = 0
			return withoutPos(&c), true
		case *Agg:
			if n.Pos == 0 {
				return nil, false
			}
			c := *n
			c.Pos = 0
			return withoutPos(&c), true
		case *Var:
			c := *n
			c.Name = ""
			return &c, true
		}
		return nil, false
	})
}

// WalkQuery calls f for every expression of q and, one level deeper each, of its subqueries; depth
// is 0 in q itself. A Var with Up equal to depth is one of q's columns.
func WalkQuery(q *Query, f func(e Expr, depth int)) { walkQuery(q, 0, f) }

// ColumnsRead returns the columns of Rels[rel] that the text of q reads, by position, each once; system
// columns and the whole row are negative. Constraints, indexes, defaults and row
// security are not part of the text.
func ColumnsRead(q *Query, rel int) []int {
	own, out := *q, []int(nil)
	own.Checks, own.Indexes, own.Rels = nil, nil, withoutSecurity(q.Rels)
	var note func(v *Var)
	note = func(v *Var) {
		switch r := own.Rels[v.Rel]; {
		case v.Rel == rel:
			if !slices.Contains(out, v.Col) {
				out = append(out, v.Col)
			}
		case r.Kind == RelJoin:
			for i, e := range r.JoinVars {
				if i != v.Col && v.Col != ColWholeRow {
					continue
				}
				Walk(e, func(x Expr) bool {
					if of, ok := x.(*Var); ok && of.Up == 0 && of.Rel >= 0 {
						note(of)
					}
					return true
				})
			}
		}
	}
	WalkQuery(&own, func(e Expr, depth int) {
		if v, ok := e.(*Var); ok && v.Up == depth && v.Rel >= 0 && v.Rel < len(own.Rels) {
			note(v)
		}
	})
	return out
}

// withoutSecurity returns entries without conditions of row security.
func withoutSecurity(rels []*Rel) []*Rel {
	for i, r := range rels {
		if len(r.Security) > 0 {
			own := *r
			own.Security = nil
			rels = slices.Clone(rels)
			rels[i] = &own
		}
	}
	return rels
}

func walkQuery(q *Query, depth int, f func(Expr, int)) {
	if q == nil {
		return
	}
	expr := func(e Expr) {
		Walk(e, func(x Expr) bool {
			f(x, depth)
			if s, ok := x.(*SubLink); ok {
				walkQuery(s.Query, depth+1, f)
			}
			return true
		})
	}
	for _, c := range q.CTEs {
		walkQuery(c.Query, depth+1, f)
	}
	for _, r := range q.Rels {
		walkQuery(r.Subquery, depth+1, f)
		for _, fn := range r.Functions {
			expr(fn.Call)
		}
		for _, e := range r.Security {
			expr(e)
		}
	}
	for _, it := range q.From {
		walkFrom(it, expr)
	}
	walkClauses(q, expr)
	if q.SetOp != nil {
		walkQuery(q.SetOp.Left, depth+1, f)
		walkQuery(q.SetOp.Right, depth+1, f)
	}
	walkQuery(q.Source, depth+1, f)
}

func walkClauses(q *Query, expr func(Expr)) {
	for _, t := range q.Targets {
		expr(t.Expr)
	}
	for _, e := range append([]Expr{q.Where, q.Having, q.Limit, q.Offset, q.WithTies}, q.GroupBy...) {
		expr(e)
	}
	for _, w := range q.Windows {
		for _, e := range append([]Expr{w.Frame.Start, w.Frame.End}, w.Partition...) {
			expr(e)
		}
		for _, o := range w.Order {
			expr(o.Expr)
		}
	}
	for _, row := range q.Values {
		for _, e := range row {
			expr(e)
		}
	}
	for _, a := range q.Assign {
		expr(a.Expr)
	}
	for _, c := range q.Checks {
		expr(c.Expr)
	}
	for _, x := range q.Indexes {
		for _, e := range x.Keys {
			expr(e)
		}
		expr(x.Where)
	}
	if oc := q.OnConflict; oc != nil {
		for _, a := range oc.Assign {
			expr(a.Expr)
		}
		expr(oc.Where)
	}
	for _, m := range q.Merge {
		expr(m.Cond)
		for _, a := range m.Assign {
			expr(a.Expr)
		}
	}
}

func walkFrom(it From, expr func(Expr)) {
	if j, ok := it.(*FromJoin); ok {
		walkFrom(j.Left, expr)
		walkFrom(j.Right, expr)
		expr(j.On)
	}
}
