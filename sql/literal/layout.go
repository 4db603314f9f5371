package literal

import (
	"strings"

	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/parse/shape"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// Fixed says which literals of a shape's texts are not parameters, by position. It is immutable.
type Fixed []bool

// All reports whether there are no parameters.
func (f Fixed) All() bool {
	for _, fixed := range f {
		if !fixed {
			return false
		}
	}
	return true
}

// Key returns what is the same in all texts that share a program: the shape, and the fixed literals.
func (f Fixed) Key(t *shape.Text) string {
	n := len(t.Shape) + 1
	for i, l := range t.Literals {
		if f[i] {
			n += l.End - l.Start + 1
		}
	}
	var b strings.Builder
	b.Grow(n)
	b.WriteString(t.Shape)
	b.WriteByte(0)
	for i, l := range t.Literals {
		if f[i] {
			b.WriteString(t.Source[l.Start:l.End])
			b.WriteByte(0)
		}
	}
	return b.String()
}

// Parameterized is a query with parameters in place of literals.
type Parameterized struct {
	Query     *query.Query
	Params    []types.OID
	Arguments Arguments
	Fixed     Fixed // the literals that are still in the query
}

// Analyzed is a text after analysis, in an environment.
type Analyzed struct {
	Text     *shape.Text
	Query    *query.Query
	Literals analyze.Literals
	Env      *types.Env
}

// Parameterize makes parameters of the literals of a query, but for those in fixed; nil fixes none.
// The query itself stays as it is.
func Parameterize(a *Analyzed, fixed Fixed) (*Parameterized, error) {
	t, q, found := a.Text, a.Query, a.Literals
	p := &places{literals: found, found: map[query.Expr]*query.Const{}, count: map[*query.Const]int{}}
	p.query(q)
	readers := p.readers(a)
	out := &Parameterized{Fixed: make(Fixed, len(t.Literals))}
	for i := range out.Fixed {
		out.Fixed[i] = readers[i] == nil || fixed != nil && fixed[i]
	}
	r := rewriting{places: p, readers: readers, text: t, out: out, numbers: map[query.Expr]int{}}
	out.Query = query.RewriteAll(q, r.rewrite)
	return out, r.failed
}

// rewriting replaces the literals of a query that are parameters.
type rewriting struct {
	*places
	readers []*reader
	text    *shape.Text
	out     *Parameterized
	numbers map[query.Expr]int // of parameters
	failed  error
}

func (r *rewriting) rewrite(e query.Expr, _ int) (query.Expr, bool) {
	c := r.found[e]
	if c == nil {
		return nil, false
	}
	i, _ := literalAt(r.text, r.literals[c])
	if i < 0 || r.out.Fixed[i] {
		return nil, false
	}
	n, ok := r.numbers[e]
	if !ok {
		a, err := argumentOf(i, r.readers[i], e, c)
		if err != nil {
			r.failed = err
		}
		r.out.Arguments = append(r.out.Arguments, a)
		r.out.Params = append(r.out.Params, e.Type())
		n = len(r.out.Params)
		r.numbers[e] = n
	}
	return &query.Param{T: query.T{OID: e.Type(), Mod: e.Typmod()}, N: n}, true
}

// readers returns for each literal how it is read; nil: it is fixed.
func (p *places) readers(a *Analyzed) []*reader {
	t := a.Text
	out, refused := make([]*reader, len(t.Literals)), make([]bool, len(t.Literals))
	total := map[*query.Const]int{}
	query.WalkQuery(a.Query, func(e query.Expr, _ int) {
		if c, ok := e.(*query.Const); ok {
			total[c]++
		}
	})
	for c, loc := range p.literals {
		n := total[c]
		if n == 0 {
			continue // analysis has replaced it
		}
		i, minus := literalAt(t, loc)
		if i < 0 {
			continue
		}
		r := &reader{oid: c.Type(), minus: minus}
		got, ok := r.read(&t.Literals[i], a.Env)
		if n != p.count[c] || out[i] != nil && *out[i] != *r || !ok || got != c.Value {
			refused[i] = true
		}
		out[i] = r
	}
	for i := range out {
		if refused[i] {
			out[i] = nil
		}
	}
	return out
}

// literalAt returns the literal that begins at a place of a text, or behind a minus sign there; -1:
// there is none.
func literalAt(t *shape.Text, loc int32) (i int, minus bool) {
	at := int(loc)
	if at < len(t.Source) && t.Source[at] == '-' {
		minus = true
		for at++; at < len(t.Source) && strings.IndexByte(" \t\n\r\f", t.Source[at]) >= 0; at++ {
		}
	}
	for i, l := range t.Literals {
		if l.Start == at {
			return i, minus && l.Kind != shape.String
		}
	}
	return -1, false
}
