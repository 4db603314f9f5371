package route

import (
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/plan/pattern"
	"github.com/sherddb/sherd/sql/query"
)

// beginning evaluates a plan.Route's conditions on the beginning of the text that rows are hashed
// by.
type beginning struct {
	texts          []expr.Eval
	end            string    // of each of the texts
	like, from, to expr.Eval // nil: no condition
	inclusive      bool      // of to
}

func newBeginning(k *expr.Compiler, r *plan.Route) (*beginning, error) {
	if !r.ByPrefix() {
		return nil, nil
	}
	o := &beginning{end: r.UnderEnd, inclusive: r.UnderToInc}
	var err error
	if o.texts, err = k.Exprs(r.Under); err != nil {
		return nil, err
	}
	for _, e := range []struct {
		into *expr.Eval
		from query.Expr
	}{{&o.like, r.UnderLike}, {&o.from, r.UnderFrom}, {&o.to, r.UnderTo}} {
		if *e.into, err = k.Optional(e.from); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// buckets returns the buckets that can have such rows of a table, none if a condition compares with
// a null.
func (o *beginning) buckets(c *expr.Ctx, t *table.Table) (shardmap.BucketSet, error) {
	var out shardmap.BucketSet
	texts, err := o.begins(c)
	for _, text := range texts {
		set, ok := t.Def.Prefixes.Under(text)
		if !ok || text[0] == '-' { // a number may be hashed without its sign
			return t.Buckets(), err
		}
		out = out.Union(set)
	}
	return out, err
}

// begins returns texts. The text that rows are hashed by begins with one of them.
func (o *beginning) begins(c *expr.Ctx) (out []string, err error) {
	for _, f := range o.texts {
		d, err := f(c, nil)
		if err != nil {
			return nil, err
		}
		if !d.IsNull() {
			out = append(out, d.S+o.end)
		}
	}
	switch {
	case o.like != nil:
		d, err := o.like(c, nil)
		if err != nil || d.IsNull() {
			return nil, err
		}
		out = append(out, pattern.LikePrefix(d.S))
	case o.from != nil && o.to != nil:
		lo, err := o.from(c, nil)
		if err != nil || lo.IsNull() {
			return nil, err
		}
		hi, err := o.to(c, nil)
		if err != nil || hi.IsNull() {
			return nil, err
		}
		out = append(out, plan.CommonStart(lo.S, hi.S, o.inclusive))
	}
	return out, nil
}
