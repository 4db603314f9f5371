package exec

import (
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/plan/walk"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// router evaluates a plan.Route to the buckets it names.
type router struct {
	table    *table.Table
	keys     [][]expr.Eval
	keyArray expr.Eval
	content  [][]expr.Eval
	arrays   []expr.Eval
	types    [][]types.OID // of content's values, and after them of the array's elements
	ranges   []fieldRange  // by field, or empty
	lo, hi   expr.Eval
	never    bool
	lateral  bool // reads outer parameters: known only when the step runs
	vals     types.Row
	span     *keySpan
	under    *beginning // nil: no condition on the beginning
	index    *finder    // of a global index; the rows that it finds determine the buckets
}

func (k *compiler) router(r *plan.Route) (*router, error) {
	o := &router{never: r.Never}
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
	if err := k.content(o, r); err != nil {
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
	if o.span, err = k.keySpan(o.table, r.Span); err != nil {
		return nil, err
	}
	if o.under, err = k.beginning(r); err != nil {
		return nil, err
	}
	o.index, err = k.finder(r.Index)
	for _, e := range walk.RouteExprs(r) {
		walk.Visit(e, func(x query.Expr) {
			if _, ok := x.(*query.Outer); ok {
				o.lateral = true
			}
		})
	}
	k.Own(o)
	return o, err
}

// content compiles the route's conditions on the policy's fields.
func (k *compiler) content(o *router, r *plan.Route) error {
	for i := range r.Content {
		fs, err := k.Exprs(r.Content[i])
		if err != nil {
			return err
		}
		var oids []types.OID
		for _, e := range r.Content[i] {
			oids = append(oids, e.Type())
		}
		arr := expr.Eval(nil)
		if i < len(r.ContentArray) && r.ContentArray[i] != nil {
			if arr, err = k.Optional(r.ContentArray[i]); err != nil {
				return err
			}
			oids = append(oids, types.ElemOf(r.ContentArray[i].Type()))
		}
		o.content, o.arrays, o.types = append(o.content, fs), append(o.arrays, arr), append(o.types, oids)
	}
	for _, b := range r.ContentRange {
		if b.From == nil {
			o.ranges = append(o.ranges, fieldRange{})
			continue
		}
		from, err := k.Expr(b.From)
		if err != nil {
			return err
		}
		to, err := k.Expr(b.To)
		if err != nil {
			return err
		}
		o.ranges = append(o.ranges, fieldRange{from, to, b.From.Type(), b.To.Type(), b.ToInc})
	}
	return nil
}

// RouteBuckets evaluates a route for EXPLAIN; known is false if it depends on values that only the
// running plan has.
func RouteBuckets(c *Ctx, r *plan.Route) (set shardmap.BucketSet, known bool, err error) {
	c.link()
	o, err := newCompiler().router(r)
	if err != nil {
		return o.table.Buckets(), false, err
	}
	if set = o.table.Buckets(); !o.lateral {
		if set, err = o.buckets(c); err != nil {
			return set, false, err
		}
	}
	if c.Part != nil && (r.Table == nil || !kept(r.Table)) {
		set, err = c.Part.within(o.table, c.Gateway.Map, set)
	}
	return set, err == nil && !o.lateral && o.index == nil, err
}

// buckets evaluates the route; its conditions intersect.
func (o *router) buckets(c *Ctx) (shardmap.BucketSet, error) {
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

func (o *router) byKeys(c *Ctx) (shardmap.BucketSet, error) {
	if len(o.keys) == 1 {
		return o.byKey(c)
	}
	var out []shardmap.Bucket
	for _, tuple := range o.keys {
		if err := expr.EvalInto(&c.Ctx, o.vals, tuple, nil); err != nil {
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
func (o *router) byKey(c *Ctx) (shardmap.BucketSet, error) {
	if err := expr.EvalInto(&c.Ctx, o.vals, o.keys[0], nil); err != nil {
		return shardmap.BucketSet{}, err
	}
	b, ok, err := o.table.BucketOf(o.vals)
	if err != nil || !ok {
		return shardmap.BucketSet{}, err
	}
	return shardmap.NewBucketSet(shardmap.OneBucket(b)), nil
}

func (o *router) byKeyArray(c *Ctx) (shardmap.BucketSet, error) {
	elems, err := arrayElems(c, o.keyArray)
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

func arrayElems(c *Ctx, e expr.Eval) ([]types.Datum, error) {
	d, err := e(&c.Ctx, nil)
	if err != nil || d.IsNull() {
		return nil, err
	}
	a, err := types.ArrayOf(d)
	if err != nil {
		return nil, err
	}
	return a.Elems(), nil
}

// maxContentCombinations is the largest number of combinations of IN lists over several policy
// fields that is used for routing.
const maxContentCombinations = 4096

// byContent routes by the values of the policy's fields, every combination of them.
func (o *router) byContent(c *Ctx) (shardmap.BucketSet, error) {
	policy, lists, total := o.table.Def.Policy, make([][]shardmap.Value, len(o.content)), 1
	for i := range o.content {
		vals, ok, err := o.contentValues(c, i)
		if err != nil {
			return shardmap.BucketSet{}, err
		}
		if !ok {
			return o.table.Buckets(), nil
		}
		lists[i] = vals
		if total *= len(vals); total > maxContentCombinations {
			return o.table.Buckets(), nil
		}
	}
	var ivs []shardmap.Interval
	values := make([]shardmap.Value, len(lists))
	for n := range total {
		rest := n
		for i, l := range lists {
			values[i] = l[rest%len(l)]
			rest /= len(l)
		}
		iv, ok := policy.Route(o.table.Def.Prefixes, values)
		if !ok {
			return o.table.Buckets(), nil
		}
		ivs = append(ivs, iv)
	}
	return shardmap.NewBucketSet(ivs...), nil
}

// contentValues returns the values that field i may have, false if they cannot be bounded; nulls
// match nothing.
func (o *router) contentValues(c *Ctx, i int) ([]shardmap.Value, bool, error) {
	if len(o.ranges) > 0 && o.ranges[i].from != nil {
		return o.rangeValues(c, i)
	}
	var out []shardmap.Value
	add := func(oid types.OID, d types.Datum) bool {
		values, ok := o.valuesOf(c, i, oid, d)
		out = append(out, values...)
		return ok
	}
	oids := o.types[i]
	for n, f := range o.content[i] {
		d, err := f(&c.Ctx, nil)
		if err != nil {
			return nil, false, err
		}
		if !add(oids[n], d) {
			return nil, false, nil
		}
	}
	if o.arrays[i] == nil {
		return out, true, nil
	}
	elems, err := arrayElems(c, o.arrays[i])
	if err != nil {
		return nil, false, err
	}
	for _, d := range elems {
		if !add(oids[len(oids)-1], d) {
			return nil, false, nil
		}
	}
	return out, true, nil
}

func (o *router) valuesOf(c *Ctx, i int, oid types.OID, d types.Datum) ([]shardmap.Value, bool) {
	switch {
	case d.IsNull():
		return nil, true
	case o.table.Def.Policy.Fields[i].Func != shardmap.PlainField:
		return o.functionValues(c, i, oid, d)
	case d.K == types.KindText:
		return []shardmap.Value{shardmap.Text(d.S)}, true
	}
	return []shardmap.Value{o.table.PolicyValue(table.PolicyField{Column: o.table.Fields[i].Column}, d)}, true
}

// interval routes by bounds of sherd.slice(id), which is the bucket of an id to which no rule for
// prefixes applies; the buckets of rules may have rows of any slice.
func (o *router) interval(c *Ctx) (shardmap.BucketSet, error) {
	lo, hi := int64(0), int64(shardmap.BucketCount)
	for _, b := range []struct {
		f    expr.Eval
		into *int64
	}{{o.lo, &lo}, {o.hi, &hi}} {
		if b.f == nil {
			continue
		}
		d, err := b.f(&c.Ctx, nil)
		if err != nil || d.IsNull() {
			return shardmap.BucketSet{}, err
		}
		*b.into = min(max(d.N, 0), shardmap.BucketCount)
	}
	return o.table.Def.Prefixes.Within(shardmap.Interval{Lo: uint32(lo), Hi: uint32(hi)}), nil
}
