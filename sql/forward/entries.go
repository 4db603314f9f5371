package forward

import (
	"fmt"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// EntriesOf returns the quoted name of the table of a collection's forwarding entries.
func EntriesOf(view *catalog.View, t *catalog.Table) string {
	name := fmt.Sprintf("%d", t.Forwarding)
	if e := view.Table(t.Forwarding); e != nil {
		name = e.Name
	}
	return SchemaName + "." + builtin.QuoteIdent(name)
}

// forwarded returns the expression that replaces e in a comparison with ids of t.
func (p *pass) forwarded(t *catalog.Table, e query.Expr) query.Expr {
	if c, ok := bare(e).(*query.Const); ok && c.Value.IsNull() || p.err != nil {
		return e
	}
	if e.Type() != types.Text && e.Type() != types.VarChar && e.Type() != types.Unknown {
		p.fail(unsupported("ids of \"%s\" cannot be compared as another type than text", t.Name))
		return e
	}
	switch n := bare(e).(type) {
	case *query.SubColumn:
		p.wrapColumn(p.subs[len(p.subs)-1].Query, n.N, t)
		return e
	case *query.Element:
		p.fail(unsupported("CASE that looks for ids of \"%s\" among its branches", t.Name))
		return e
	}
	if out := p.joined(t, e); out != nil {
		return out
	}
	return p.sublink(t, e)
}

// template analyses a SELECT about the entries of t.
func (p *pass) template(t *catalog.Table, format string, params ...types.OID) *query.Query {
	if p.err != nil {
		return nil
	}
	q, err := p.analyze(fmt.Sprintf(format, t.OID, EntriesOf(p.view, t)), params...)
	if err != nil {
		p.fail(err)
		return nil
	}
	return q
}

// sublink looks an expression up by a subquery. It runs once for the query if the expression is the
// same for all rows, and otherwise for each row.
func (p *pass) sublink(t *catalog.Table, e query.Expr) query.Expr {
	q := p.template(t,
		"SELECT coalesce(sherd.forwarded(%d, s.c, f.new), s.c) FROM (SELECT $1 AS c) s LEFT JOIN %s f ON f.old = s.c",
		types.Text)
	if q == nil {
		return e
	}
	for _, r := range q.Rels {
		if r.Subquery != nil {
			r.Subquery.Targets[0].Expr = query.Raise(e, 2)
		}
	}
	p.seen[q] = true
	return &query.SubLink{T: query.Of(types.Text), Kind: query.SubScalar, Query: q}
}

// forwardedArray returns the expression that replaces an array in a comparison of ids of t with its
// elements. The old ids in it belong to no document, so they may stay.
func (p *pass) forwardedArray(t *catalog.Table, e query.Expr) query.Expr {
	if s, ok := bare(e).(*query.SubLink); ok && s.Kind == query.SubArray {
		p.wrapColumn(s.Query, 0, t)
		return e
	}
	if elem := types.ElemOf(e.Type()); elem != types.Text && elem != types.VarChar {
		p.fail(unsupported("ids of \"%s\" cannot be compared as another type than text", t.Name))
		return e
	}
	if query.Contains(e, func(x query.Expr) bool {
		_, sub := x.(*query.SubLink)
		call, ok := x.(*query.Call)
		return sub || ok && call.Proc.Volatility == 'v'
	}) {
		p.fail(unsupported("ids of \"%s\" among an array that a subquery or a volatile function makes", t.Name).
			WithHint("Write IN (SELECT …) or = ANY (ARRAY(SELECT …))."))
		return e
	}
	q := p.template(t, "SELECT ARRAY(SELECT sherd.forwarded(%d, f.old, f.new) FROM %s f WHERE f.old = ANY ($1)) || $1",
		types.ArrayTypeOf(types.Text))
	if q == nil {
		return e
	}
	return query.Rewrite(q.Targets[0].Expr, func(x query.Expr) (query.Expr, bool) {
		switch n := x.(type) {
		case *query.Param:
			return e, true
		case *query.SubLink:
			p.seen[n.Query] = true
			n.Query.Where = query.Rewrite(n.Query.Where, func(x query.Expr) (query.Expr, bool) {
				if _, ok := x.(*query.Param); ok {
					return query.Raise(e, 1), true
				}
				return nil, false
			})
		}
		return nil, false
	})
}

// joined joins the item of FROM that e reads with the entries. It returns nil if that is not
// possible.
func (p *pass) joined(t *catalog.Table, e query.Expr) query.Expr {
	rel, up, ok := pathOf(e)
	if !ok || up >= len(p.stack) {
		return nil
	}
	f := p.stack[len(p.stack)-1-up]
	if !f.opens || !f.reads(rel) {
		return nil
	}
	of := query.Raise(e, -up)
	for _, j := range f.joins {
		if j.table == t.OID && query.Equal(j.of, of) {
			return query.Raise(j.result, up)
		}
	}
	q := p.template(t, "SELECT f.old = $1, coalesce(sherd.forwarded(%d, $1, f.new), $1) FROM %s f", types.Text)
	if q == nil {
		return e
	}
	at := len(f.q.Rels)
	j := &join{
		table: t.OID, rel: rel, of: of, entry: at, on: filled(q.Targets[0].Expr, of, at),
		result: filled(q.Targets[1].Expr, of, at),
	}
	f.q.Rels = append(f.q.Rels, q.Rels[0])
	f.joins = append(f.joins, j)
	return query.Raise(j.result, up)
}

// filled returns a template's expression with param for its parameter, and with the entries at
// position at of Rels.
func filled(e, param query.Expr, at int) query.Expr {
	return query.Rewrite(e, func(x query.Expr) (query.Expr, bool) {
		switch n := x.(type) {
		case *query.Param:
			return param, true
		case *query.Var:
			c := *n
			c.Rel = at
			return &c, true
		}
		return nil, false
	})
}

// pathOf reports whether e reads one item, is null if that item is null, and has one value for each
// of its rows: a column, or a path into a document.
func pathOf(e query.Expr) (rel, up int, ok bool) {
	var first *query.Var
	simple := !query.Contains(e, func(x query.Expr) bool {
		switch n := x.(type) {
		case *query.Var:
			if first == nil {
				first = n
			}
			return n.Rel != first.Rel || n.Up != first.Up
		case *query.Const, *query.Relabel:
			return false
		case *query.Call:
			return !n.Proc.Strict || n.Proc.Volatility == 'v' || n.Proc.RetSet
		}
		return true
	})
	if !simple || first == nil {
		return 0, 0, false
	}
	return first.Rel, first.Up, true
}

// reads reports whether an item is a leaf of the query's FROM.
func (f *frame) reads(rel int) bool {
	found := false
	var look func(query.From)
	look = func(it query.From) {
		switch n := it.(type) {
		case *query.FromRel:
			found = found || n.Rel == rel
		case *query.FromJoin:
			look(n.Left)
			look(n.Right)
		}
	}
	for _, it := range f.q.From {
		look(it)
	}
	return found
}

// wrap puts the requested joins around their items.
func (f *frame) wrap() {
	var put func(query.From) query.From
	put = func(it query.From) query.From {
		switch n := it.(type) {
		case *query.FromRel:
			out := it
			for _, j := range f.joins {
				if j.rel == n.Rel {
					out = &query.FromJoin{
						Kind: query.Left, Left: out, Right: &query.FromRel{Rel: j.entry}, On: j.on, Rel: -1,
					}
				}
			}
			return out
		case *query.FromJoin:
			n.Left, n.Right = put(n.Left), put(n.Right)
		}
		return it
	}
	if len(f.joins) == 0 {
		return
	}
	for i, it := range f.q.From {
		f.q.From[i] = put(it)
	}
}

// wrapColumn replaces a column of a query, in place, by the id to which its value leads.
func (p *pass) wrapColumn(q *query.Query, col int, t *catalog.Table) {
	tq := p.template(t, "SELECT f.old = $1, coalesce(sherd.forwarded(%d, $1, f.new), $1) FROM %s f", types.Text)
	if tq == nil {
		return
	}
	inner := *q
	query.RaiseQuery(&inner, 1)
	p.seen[&inner] = true
	s := &query.Rel{Kind: query.RelSubquery, Alias: "s", Subquery: &inner}
	out := query.Query{Rels: []*query.Rel{s, tq.Rels[0]}}
	for i, target := range inner.Targets {
		if target.Hidden {
			continue
		}
		c := query.Column{Name: target.Name, Type: target.Expr.Type(), Typmod: target.Expr.Typmod()}
		s.Columns = append(s.Columns, c)
		v := &query.Var{T: query.T{OID: c.Type, Mod: c.Typmod}, Rel: 0, Col: i, Name: c.Name}
		next := target
		next.Expr = v
		if i == col {
			out.From = []query.From{&query.FromJoin{
				Kind: query.Left, Left: &query.FromRel{Rel: 0}, Right: &query.FromRel{Rel: 1},
				On: filled(tq.Targets[0].Expr, v, 1), Rel: -1,
			}}
			next.Expr = filled(tq.Targets[1].Expr, v, 1)
		}
		out.Targets = append(out.Targets, next)
	}
	*q = out
}
