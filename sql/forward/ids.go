package forward

import (
	"slices"
	"strings"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/query"
)

// tables are collections with forwarding.
type tables []*catalog.Table

func (a tables) without(b tables) tables {
	var out tables
	for _, t := range a {
		if !b.has(t) {
			out = append(out, t)
		}
	}
	return out
}

func (a tables) has(t *catalog.Table) bool {
	return slices.ContainsFunc(a, func(o *catalog.Table) bool { return o.OID == t.OID })
}

func (a tables) and(b tables) tables { return append(a[:len(a):len(a)], b.without(a)...) }

func quoted(a tables) string {
	var names []string
	for _, t := range a {
		names = append(names, `"`+t.Name+`"`)
	}
	return strings.Join(names, ", ")
}

// maxDepth bounds how deep an id is looked for, because recursive queries have no bottom.
const maxDepth = 64

// content describes the values that an expression may have.
type content struct {
	ids    tables // an id of these
	others bool   // another value that is not the same for all rows
}

func (a content) or(b content) content { return content{a.ids.and(b.ids), a.others || b.others} }

var anything = content{others: true}

// needs reports whether a side has to be looked up among the former ids of t. It does not if all
// its values are ids of t.
func (a content) needs(t *catalog.Table) bool { return a.others || !a.ids.has(t) }

// ids returns the values that an expression may have (FW1).
func (p *pass) ids(e query.Expr) content { return p.idsAt(e, p.stack, 0) }

func (p *pass) idsAt(e query.Expr, stack []*frame, depth int) (out content) {
	if depth > maxDepth {
		return content{}
	}
	each := func(es ...query.Expr) content {
		for _, x := range es {
			if x != nil {
				out = out.or(p.idsAt(x, stack, depth+1))
			}
		}
		return out
	}
	switch n := e.(type) {
	case *query.Const:
		return content{}
	case *query.Var:
		at := len(stack) - 1 - n.Up
		if at >= 0 && n.Rel < len(stack[at].q.Rels) && n.Col >= 0 {
			return p.relIDs(stack[at].q.Rels[n.Rel], n.Col, stack[:at+1], depth)
		}
	case *query.Relabel:
		return p.idsAt(n.Arg, stack, depth+1)
	case *query.Coalesce:
		return each(n.Args...)
	case *query.MinMax:
		return each(n.Args...)
	case *query.NullIf:
		return each(n.Left)
	case *query.Case:
		for _, w := range n.Whens {
			each(w.Result)
		}
		return each(n.Else)
	case *query.Agg:
		if (n.Proc.Name == "min" || n.Proc.Name == "max") && len(n.Args) == 1 {
			return each(n.Args...)
		}
	case *query.SubLink:
		if n.Kind == query.SubScalar {
			return p.outputsAt(n.Query, 0, stack, depth)
		}
	case *query.SubColumn:
		if len(p.subs) > 0 {
			return p.outputsAt(p.subs[len(p.subs)-1].Query, n.N, stack, depth)
		}
	case *query.Element:
		if len(p.cases) > 0 {
			return p.idsAt(p.cases[len(p.cases)-1], stack, depth+1)
		}
	}
	return anything
}

func (p *pass) relIDs(r *query.Rel, col int, stack []*frame, depth int) content {
	switch r.Kind {
	case query.RelTable:
		if r.Table != nil && r.Table.Forwarding != 0 && col == Key(r.Table) {
			return content{ids: tables{r.Table}}
		}
	case query.RelSubquery:
		return p.outputsAt(r.Subquery, col, stack, depth)
	case query.RelCTE:
		if r.CTELevels < len(stack) {
			return p.outputsAt(r.CTE.Query, col, stack[:len(stack)-r.CTELevels], depth)
		}
	case query.RelJoin:
		if col < len(r.JoinVars) {
			return p.idsAt(r.JoinVars[col], stack, depth+1)
		}
	}
	return anything
}

// outputIDs is ids for a column of a query whose parent is the last of stack.
func (p *pass) outputIDs(q *query.Query, col int, stack []*frame) content {
	return p.outputsAt(q, col, stack, 0)
}

func (p *pass) outputsAt(q *query.Query, col int, stack []*frame, depth int) content {
	if depth > maxDepth || q == nil {
		return content{}
	}
	inside := append(stack[:len(stack):len(stack)], &frame{q: q})
	switch {
	case q.SetOp != nil:
		return p.outputsAt(q.SetOp.Left, col, inside, depth+1).or(p.outputsAt(q.SetOp.Right, col, inside, depth+1))
	case q.Values != nil:
		var out content
		for _, row := range q.Values {
			if col < len(row) {
				out = out.or(p.idsAt(row[col], inside, depth+1))
			}
		}
		return out
	case col < len(q.Targets):
		return p.idsAt(q.Targets[col].Expr, inside, depth+1)
	}
	return anything
}

// elementIDs returns the values that the elements of an array may have.
func (p *pass) elementIDs(e query.Expr) (out content) {
	switch n := e.(type) {
	case *query.Array:
		for _, x := range n.Elems {
			out = out.or(p.ids(x))
		}
		return out
	case *query.Relabel:
		return p.elementIDs(n.Arg)
	case *query.SubLink:
		if n.Kind == query.SubArray {
			return p.outputIDs(n.Query, 0, p.stack)
		}
	case *query.Agg:
		if n.Proc.Name == "array_agg" && len(n.Args) == 1 {
			return p.ids(n.Args[0])
		}
	}
	return anything
}

// bare returns an expression without a change of type that leaves its value the same.
func bare(e query.Expr) query.Expr {
	for {
		r, ok := e.(*query.Relabel)
		if !ok {
			return e
		}
		e = r.Arg
	}
}
