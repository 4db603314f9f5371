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

// maxDepth bounds how deep an id is looked for: recursive queries have no bottom.
const maxDepth = 64

// ids gives the collections of which an expression may be an id (F1).
func (p *pass) ids(e query.Expr) tables { return p.idsAt(e, p.stack, 0) }

func (p *pass) idsAt(e query.Expr, stack []*frame, depth int) (out tables) {
	if depth > maxDepth {
		return nil
	}
	each := func(es ...query.Expr) {
		for _, x := range es {
			out = out.and(p.idsAt(x, stack, depth+1))
		}
	}
	switch n := e.(type) {
	case *query.Var:
		at := len(stack) - 1 - n.Up
		if at < 0 || n.Rel >= len(stack[at].q.Rels) || n.Col < 0 {
			return nil
		}
		return p.relIDs(stack[at].q.Rels[n.Rel], n.Col, stack[:at+1], depth)
	case *query.Relabel:
		return p.idsAt(n.Arg, stack, depth+1)
	case *query.Coalesce:
		each(n.Args...)
	case *query.MinMax:
		each(n.Args...)
	case *query.NullIf:
		each(n.Left)
	case *query.Case:
		for _, w := range n.Whens {
			each(w.Result)
		}
		each(n.Else)
	case *query.Agg:
		if (n.Proc.Name == "min" || n.Proc.Name == "max") && len(n.Args) == 1 {
			each(n.Args...)
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
	return out
}

func (p *pass) relIDs(r *query.Rel, col int, stack []*frame, depth int) tables {
	switch r.Kind {
	case query.RelTable:
		if r.Table != nil && r.Table.Forwarding != 0 && col == Key(r.Table) {
			return tables{r.Table}
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
	return nil
}

// outputIDs is ids of a column of a query whose parent is the last of stack.
func (p *pass) outputIDs(q *query.Query, col int, stack []*frame) tables {
	return p.outputsAt(q, col, stack, 0)
}

func (p *pass) outputsAt(q *query.Query, col int, stack []*frame, depth int) tables {
	if depth > maxDepth || q == nil {
		return nil
	}
	inside := append(stack[:len(stack):len(stack)], &frame{q: q})
	switch {
	case q.SetOp != nil:
		return p.outputsAt(q.SetOp.Left, col, inside, depth+1).and(p.outputsAt(q.SetOp.Right, col, inside, depth+1))
	case q.Values != nil:
		var out tables
		for _, row := range q.Values {
			if col < len(row) {
				out = out.and(p.idsAt(row[col], inside, depth+1))
			}
		}
		return out
	case col < len(q.Targets):
		return p.idsAt(q.Targets[col].Expr, inside, depth+1)
	}
	return nil
}

// elementIDs gives the collections of which an array may have ids.
func (p *pass) elementIDs(e query.Expr) (out tables) {
	switch n := e.(type) {
	case *query.Array:
		for _, x := range n.Elems {
			out = out.and(p.ids(x))
		}
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
	return out
}

// bare gives what an expression is but for a change of type that leaves the value.
func bare(e query.Expr) query.Expr {
	for {
		r, ok := e.(*query.Relabel)
		if !ok {
			return e
		}
		e = r.Arg
	}
}
