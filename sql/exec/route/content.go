package route

import (
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/types"
)

// compileContent compiles the route's conditions on the policy's fields.
func (o *Router) compileContent(k *expr.Compiler, r *plan.Route) error {
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

// maxContentCombinations is the largest number of combinations of IN lists over several policy
// fields that is used for routing.
const maxContentCombinations = 4096

// byContent routes by the values of the policy's fields, every combination of them.
func (o *Router) byContent(c *expr.Ctx) (shardmap.BucketSet, error) {
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
func (o *Router) contentValues(c *expr.Ctx, i int) ([]shardmap.Value, bool, error) {
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
		d, err := f(c, nil)
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
	elems, err := o.arrays[i].Elements(c)
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

func (o *Router) valuesOf(c *expr.Ctx, i int, oid types.OID, d types.Datum) ([]shardmap.Value, bool) {
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
