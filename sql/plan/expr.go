package plan

import (
	"fmt"
	"strings"

	"github.com/sherddb/sherd/sql/deparse"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

func subPlanName(n int) string { return fmt.Sprintf("SubPlan %d", n) }

func boolConst(b bool) query.Expr {
	return &query.Const{T: query.Of(types.Bool), Value: types.NewBool(b)}
}

// Conjuncts splits a condition at its ANDs.
func Conjuncts(e query.Expr) []query.Expr {
	if e == nil {
		return nil
	}
	if a, ok := e.(*query.And); ok {
		var out []query.Expr
		for _, x := range a.Args {
			out = append(out, Conjuncts(x)...)
		}
		return out
	}
	return []query.Expr{e}
}

// Conjunction joins conditions by AND; nil for none.
func Conjunction(es []query.Expr) query.Expr {
	switch len(es) {
	case 0:
		return nil
	case 1:
		return es[0]
	}
	return &query.And{Args: es}
}

// hasSubPlan reports whether e runs a subquery, which only the gateway can.
func hasSubPlan(e query.Expr) bool {
	return query.Contains(e, func(x query.Expr) bool { _, ok := x.(*SubPlan); return ok })
}

// relSet is a set of range table positions.
type relSet map[int]bool

func (s relSet) covers(t relSet) bool {
	for r := range t {
		if !s[r] {
			return false
		}
	}
	return true
}

func (s relSet) intersect(t relSet) relSet {
	out := relSet{}
	for r := range s {
		if t[r] {
			out[r] = true
		}
	}
	return out
}

func (s relSet) union(t relSet) relSet {
	out := relSet{}
	for r := range s {
		out[r] = true
	}
	for r := range t {
		out[r] = true
	}
	return out
}

// relsOf lists the range table entries of l's own query that e reads, through join aliases and from
// inside subqueries too.
func (l *level) relsOf(e query.Expr) relSet {
	out := relSet{}
	var visit func(x query.Expr, depth int)
	visit = func(x query.Expr, depth int) {
		v, ok := x.(*query.Var)
		if !ok || v.Up != depth || v.Rel < 0 || v.Rel >= len(l.q.Rels) {
			return
		}
		if rel := l.q.Rels[v.Rel]; rel.Kind == query.RelJoin {
			for i, jv := range rel.JoinVars {
				if v.Col == i || v.Col == query.ColWholeRow {
					query.Walk(jv, func(y query.Expr) bool { visit(y, 0); return true })
				}
			}
			return
		}
		out[v.Rel] = true
	}
	query.Walk(e, func(x query.Expr) bool {
		visit(x, 0)
		if s, ok := x.(*query.SubLink); ok {
			query.WalkQuery(s.Query, func(y query.Expr, depth int) { visit(y, depth+1) })
		}
		return true
	})
	return out
}

// volatile reports whether e calls a volatile function, in its subqueries too.
func volatile(e query.Expr) bool {
	return query.Contains(e, func(x query.Expr) bool {
		if s, ok := x.(*query.SubLink); ok {
			return volatileQuery(s.Query)
		}
		if s, ok := x.(*SubPlan); ok {
			return s.Volatile
		}
		return volatileStep(x)
	})
}

func volatileQuery(q *query.Query) bool {
	found := false
	query.WalkQuery(q, func(e query.Expr, _ int) { found = found || volatileStep(e) })
	return found
}

func volatileStep(e query.Expr) bool {
	c, ok := e.(*query.Call)
	return ok && c.Proc.Volatility == 'v'
}

// hasSubLink reports whether an expression of the query holds a subquery.
func hasSubLink(e query.Expr) bool {
	return query.Contains(e, func(x query.Expr) bool { _, ok := x.(*query.SubLink); return ok })
}

// ExprText prints an expression of a plan as SQL, columns with their table where the query has
// several. env prints constants; nil prints those of reg* types as numbers.
func ExprText(e query.Expr, env *types.Env) string {
	if e == nil {
		return ""
	}
	var marks []string
	// Names that are no plain identifiers are marked and put back after deparsing, which would
	// quote them.
	mark := func(t query.T, text string) query.Expr {
		m := fmt.Sprintf("\x01%d\x02", len(marks)/2)
		marks = append(marks, deparse.Expr(&query.Var{T: t, Name: m}), text)
		return &query.Var{T: t, Name: m}
	}
	var name func(x query.Expr) (query.Expr, bool)
	name = func(x query.Expr) (query.Expr, bool) {
		switch n := x.(type) {
		case *query.Slot:
			if n.Of != nil {
				return query.Rewrite(n.Of, name), true
			}
			if n.Rel != "" {
				return mark(n.T, identifier(n.Rel)+"."+identifier(n.Name)), true
			}
			return &query.Var{T: n.T, Name: n.Name}, true
		case *query.Outer:
			if n.Of != nil {
				return query.Rewrite(n.Of, name), true
			}
			if n.Name == "" {
				return mark(n.T, fmt.Sprintf("$%d", n.N)), true
			}
			if n.Rel != "" {
				return mark(n.T, identifier(n.Rel)+"."+identifier(n.Name)), true
			}
			return &query.Var{T: n.T, Name: n.Name}, true
		case *SubPlan:
			if len(n.HashLeft) > 0 {
				return mark(n.T, "(hashed "+n.Name+")"), true
			}
			return mark(n.T, "("+n.Name+")"), true
		case *query.Pick:
			return mark(n.T, "GROUPING()"), true
		}
		return nil, false
	}
	text := deparse.Line(query.Rewrite(e, name), env)
	return strings.NewReplacer(marks...).Replace(text)
}

func identifier(name string) string { return deparse.Expr(&query.Var{Name: name}) }
