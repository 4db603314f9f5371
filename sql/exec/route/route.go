package route

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/plan/walk"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// Router evaluates a plan.Route to the buckets it names.
type Router struct {
	table    *table.Table
	keys     [][]expr.Eval
	keyArray expr.Eval
	content  [][]expr.Eval
	arrays   []expr.Eval
	types    [][]types.OID // of content's values, and after them of the array's elements
	ranges   []fieldRange  // by field, or empty
	lo, hi   expr.Eval
	never    bool
	lateral  bool // reads outer parameters
	vals     types.Row
	span     *Span
	under    *beginning // nil: no condition on the beginning
}

// New compiles a route. The Router belongs to the instance that k compiles.
func New(k *expr.Compiler, r *plan.Route) (*Router, error) {
	o := &Router{never: r.Never}
	var err error
	if r.Table != nil {
		if o.table, err = table.New(r.Table); err != nil {
			return nil, err
		}
	}
	for _, tuple := range r.Keys {
		fs, err := k.Exprs(tuple)
		if err != nil {
			return nil, err
		}
		o.keys = append(o.keys, fs)
		o.vals = make(types.Row, len(fs))
	}
	if err := o.compileContent(k, r); err != nil {
		return nil, err
	}
	if o.keyArray, err = k.Optional(r.KeyArray); err != nil {
		return nil, err
	}
	if o.lo, err = k.Optional(r.Lo); err != nil {
		return nil, err
	}
	if o.hi, err = k.Optional(r.Hi); err != nil {
		return nil, err
	}
	if r.Span != nil && (o.table == nil || !o.table.Ranged()) {
		return nil, pgerr.New(pgerr.InternalError, "a route by ranges of keys, without a range table")
	}
	if o.span, err = NewSpan(k, o.table, r.Span); err != nil {
		return nil, err
	}
	if o.under, err = newBeginning(k, r); err != nil {
		return nil, err
	}
	for _, e := range walk.RouteExprs(r) {
		walk.Visit(e, func(x query.Expr) {
			if _, ok := x.(*query.Outer); ok {
				o.lateral = true
			}
		})
	}
	k.Own(o)
	return o, nil
}

// Table is the table whose rows are routed; nil if no table decides.
func (o *Router) Table() *table.Table { return o.table }

// Lateral reports whether the buckets depend on values that only the running step has.
func (o *Router) Lateral() bool { return o.lateral }

// Buckets evaluates the route; its conditions intersect.
func (o *Router) Buckets(c *expr.Ctx) (shardmap.BucketSet, error) {
	if o.never {
		return shardmap.BucketSet{}, nil
	}
	set, narrowed := o.table.Buckets(), false
	narrow := func(s shardmap.BucketSet) {
		if narrowed {
			s = set.Intersect(s)
		}
		set, narrowed = s, true
	}
	if len(o.keys) > 0 {
		s, err := o.byKeys(c)
		if err != nil {
			return s, err
		}
		narrow(s)
	}
	if o.keyArray != nil {
		s, err := o.byKeyArray(c)
		if err != nil {
			return s, err
		}
		narrow(s)
	}
	if len(o.content) > 0 {
		s, err := o.byContent(c)
		if err != nil {
			return s, err
		}
		narrow(s)
	}
	if o.span != nil {
		s, err := o.span.buckets(c)
		if err != nil {
			return s, err
		}
		narrow(s)
	}
	if o.under != nil {
		s, err := o.under.buckets(c, o.table)
		if err != nil {
			return s, err
		}
		narrow(s)
	}
	if o.lo != nil || o.hi != nil {
		s, err := o.interval(c)
		if err != nil {
			return s, err
		}
		narrow(s)
	}
	return set, nil
}

func (o *Router) byKeys(c *expr.Ctx) (shardmap.BucketSet, error) {
	if len(o.keys) == 1 {
		return o.byKey(c)
	}
	var out []shardmap.Bucket
	for _, tuple := range o.keys {
		if err := expr.EvalInto(c, o.vals, tuple, nil); err != nil {
			return shardmap.BucketSet{}, err
		}
		b, ok, err := o.table.BucketOf(o.vals)
		if err != nil {
			return shardmap.BucketSet{}, err
		}
		if ok {
			out = append(out, b)
		}
	}
	return shardmap.BucketSetOf(out...), nil
}

// byKey is byKeys for a single key, without lists.
func (o *Router) byKey(c *expr.Ctx) (shardmap.BucketSet, error) {
	if err := expr.EvalInto(c, o.vals, o.keys[0], nil); err != nil {
		return shardmap.BucketSet{}, err
	}
	b, ok, err := o.table.BucketOf(o.vals)
	if err != nil || !ok {
		return shardmap.BucketSet{}, err
	}
	return shardmap.NewBucketSet(shardmap.OneBucket(b)), nil
}

func (o *Router) byKeyArray(c *expr.Ctx) (shardmap.BucketSet, error) {
	elems, err := o.keyArray.Elements(c)
	if err != nil {
		return shardmap.BucketSet{}, err
	}
	var out []shardmap.Bucket
	for _, d := range elems {
		b, ok, err := o.table.BucketOf(types.Row{d})
		if err != nil {
			return shardmap.BucketSet{}, err
		}
		if ok {
			out = append(out, b)
		}
	}
	return shardmap.BucketSetOf(out...), nil
}

// interval routes by bounds of sherd.slice(id), which is the bucket of an id to which no rule for
// prefixes applies; the buckets of rules may have rows of any slice.
func (o *Router) interval(c *expr.Ctx) (shardmap.BucketSet, error) {
	lo, hi := int64(0), int64(shardmap.BucketCount)
	for _, b := range []struct {
		f    expr.Eval
		into *int64
	}{{o.lo, &lo}, {o.hi, &hi}} {
		if b.f == nil {
			continue
		}
		d, err := b.f(c, nil)
		if err != nil || d.IsNull() {
			return shardmap.BucketSet{}, err
		}
		*b.into = min(max(d.N, 0), shardmap.BucketCount)
	}
	return o.table.Def.Prefixes.Within(shardmap.Interval{Lo: uint32(lo), Hi: uint32(hi)}), nil
}
