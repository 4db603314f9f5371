package stmt

import (
	"slices"
	"strings"

	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/literal"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/parse/shape"
	"github.com/sherddb/sherd/sql/types"
)

// shared is what a program needs to serve all texts of a shape: its parameters are literals of the
// texts.
type shared struct {
	arguments literal.Arguments
	bounded   bool // whatever the arguments are, its plan reads few rows
}

// Shared returns a program for a text whose shape has come before, and its arguments: the program of
// all texts of the shape, or one that is planned for the arguments. The text is not parsed. It is
// nil if the text has to be compiled by itself, which is so for everything that fails.
//
// Plans for all arguments are used only if no argument makes them read many rows. Clients that write
// values into their texts expect a plan for them.
func (c *Compiler) Shared(t *shape.Text) (*Program, []types.Datum) {
	if c.Uncommitted {
		return nil, nil
	}
	k := key{c.Database, t.Shape, "", c.Ambient, c.ByID, c.Off, c.Role}
	fixed, known := c.Cache.shapes.Get(k)
	if known && fixed.All() || !known && !c.Cache.shares(c.Cache.shapes.Came(k)) {
		return nil, nil
	}
	var p *Program
	if known {
		if p, known = c.sharedBy(t, fixed); p == nil && !known {
			return nil, nil
		}
	}
	if p == nil {
		if p = c.share(k, t, fixed); p == nil {
			return nil, nil
		}
	}
	args, ok := p.shared.arguments.Of(t, c.Values())
	if !ok {
		return nil, nil
	}
	if p.shared.bounded {
		return p.of(t), args
	}
	return c.ownPlan(p, t, args), args
}

// ownPlan returns a program that is planned for the literals of a text, nil if that fails. It is
// cached for the text, which may come again.
func (c *Compiler) ownPlan(p *Program, t *shape.Text, args []types.Datum) *Program {
	// No text has a zero byte: programs that were compiled from a tree have another key.
	k := key{c.Database, strings.TrimSpace(t.Statement()) + "\x00", "", c.Ambient, c.ByID, c.Off, c.Role}
	if own, ok := c.Cache.programs.Get(k); ok && c.serves(own) {
		return own
	}
	out, err := c.custom(p, args)
	if err != nil {
		return nil
	}
	out = out.of(t)
	c.Cache.programs.Put(k, len(k.text), out)
	return out
}

// serves reports whether a program from the cache is one for the definitions and the tables of now.
func (c *Compiler) serves(p *Program) bool {
	return p.Version == c.View.DefinitionVersion() && !p.Stale(func() *Compiler { return c })
}

// sharedBy returns the program of the texts that have the same fixed literals, from the cache. came
// reports whether there was such a text before.
func (c *Compiler) sharedBy(t *shape.Text, fixed literal.Fixed) (p *Program, came bool) {
	k := key{c.Database, fixed.Key(t), "", c.Ambient, c.ByID, c.Off, c.Role}
	p, ok := c.Cache.programs.Get(k)
	if ok && c.serves(p) {
		return p, true
	}
	return nil, ok || c.Cache.shares(c.Cache.programs.Came(k))
}

// share compiles the program that serves all texts with the shape of t and with the same fixed
// literals, and caches it. fixed are those that earlier texts have shown; k is the key of the shape.
func (c *Compiler) share(k key, t *shape.Text, fixed literal.Fixed) *Program {
	list, err := c.Cache.Trees.Parse(t.Source)
	if err != nil || len(list) != 1 {
		return nil
	}
	st, none := list[0], make(literal.Fixed, len(t.Literals))
	for i := range none {
		none[i] = true
	}
	if !parse.IsQuery(st.Node) {
		c.Cache.shapes.Put(k, len(k.text), none)
		return nil
	}
	a, err := c.literals(t, st)
	if err != nil || c.checkPrivileges(a.Query) != nil {
		return nil
	}
	x, err := literal.Parameterize(a, fixed)
	if err == nil && c.Cache.Template != nil {
		x = c.like(t, x)
	}
	if err != nil || x.Fixed.All() || len(a.Query.Currents) > 0 {
		c.Cache.shapes.Put(k, len(k.text), none)
		return nil
	}
	p, err := c.Compile(x.Query, x.Params)
	if err != nil || p.Split != nil || p.Defines {
		c.Cache.shapes.Put(k, len(k.text), none)
		return nil
	}
	p.Statement = st
	p.shared = &shared{arguments: x.Arguments, bounded: c.isBounded(p)}
	c.Storages.ObserveUses(c.View, p.Tables)
	c.Cache.shapes.Put(k, len(k.text), x.Fixed)
	k.text = strings.Clone(x.Fixed.Key(t))
	c.Cache.programs.Came(k)
	c.Cache.programs.Put(k, len(k.text), p)
	return p
}

// literals analyzes a text, and finds its literals in the query.
func (c *Compiler) literals(t *shape.Text, st parse.Statement) (*literal.Analyzed, error) {
	x := c.Analysis(st.Source)
	q, found, err := analyze.WithLiterals(x, st.Node)
	q, _, err = c.secured(q, nil, err)
	return &literal.Analyzed{Text: t, Query: q, Literals: found, Env: x.Env}, err
}

// shares reports whether a program is made that others may share, for what has come before or not.
func (c *Cache) shares(came bool) bool { return came || c.Template != nil }

// like returns what Cache.Template makes of the text for which x was made.
func (c *Compiler) like(t *shape.Text, x *literal.Parameterized) *literal.Parameterized {
	c.Cache.Template(t, x.Fixed, func(text string) bool {
		other, ok := shape.Split(text)
		list, err := parse.Parse(text)
		if !ok || err != nil || other.Shape != t.Shape {
			return false
		}
		a, err := c.literals(&other, list[0])
		if err != nil {
			return false
		}
		y, err := literal.Parameterize(a, x.Fixed)
		if err != nil || !slices.Equal(x.Fixed, y.Fixed) {
			return false
		}
		x = y
		return true
	})
	return x
}

// ArgumentsOf returns the arguments of q, which is p or what p was compiled to again. If the
// arguments of p are literals of its text, q has them in its query.
func (p *Program) ArgumentsOf(q *Program, args []types.Datum) []types.Datum {
	if p != q && p.literals {
		return nil
	}
	return args
}

// of returns the program as that of one text. If it has to be compiled again, it is the text's own.
func (p *Program) of(t *shape.Text) *Program {
	out := *p
	out.literals = true
	out.Statement = parse.Statement{Source: t.Source, End: t.End}
	out.Params, out.custom, out.generic, out.shared = nil, nil, nil, nil
	return &out
}
