package route

import (
	"math"
	"strconv"

	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/sql/types"
)

// A field under a function is placed by the number that the function makes of its text, or of the
// text of its column's value. A query compares the column, or a cast of the text. This file says
// which numbers the texts may have whose cast is a given value:
//
//   - integers and numeric are exact: equal values have one number.
//   - float8 and float4 round. Rounding keeps the order and maps integers, below 2^53 and 2^24, to
//     themselves. So between the numbers that round to a fraction there is no integer, and those
//     that round to an integer lie on either side of it: two numbers. The function truncates
//     the one that is nearer to zero to the next integer.
//   - timestamptz rounds to microseconds, and reads a text without zone in the session's zone,
//     which placement reads as UTC.
//   - timestamp rounds too, and ignores the zone of a text; date also ignores the time.

const microsPerDay = 24 * 60 * 60 * 1_000_000

// farthestZone is more than the zone of a text is away from UTC.
const farthestZone = 16 * 3600 * 1_000_000

// functionValues returns, for Policy.Route, the values of field i whose cast to type oid, or whose
// column, equals d. It returns false if they cannot be bounded.
func (o *Router) functionValues(c *expr.Ctx, i int, oid types.OID, d types.Datum) ([]shardmap.Value, bool) {
	field := o.table.Fields[i]
	if o.ownValue(i, oid) {
		return []shardmap.Value{o.table.PolicyValue(table.PolicyField{Column: field.Column}, d)}, true
	}
	switch d.K {
	case types.KindText:
		return []shardmap.Value{shardmap.Text(d.S)}, true
	case types.KindInt, types.KindNumeric:
		return []shardmap.Value{shardmap.Number(types.Output(oid, d, nil))}, true
	case types.KindFloat4:
		return unrounded(d.Float(), 1<<24)
	case types.KindFloat8:
		return unrounded(d.Float(), 1<<53)
	}
	first, last, ok := momentsOf(c.Env, oid, d)
	if !ok {
		return nil, false
	}
	f := o.table.Def.Policy.Fields[i]
	if f.Func == shardmap.TicksFunc {
		last++ // a tick after d may have been rounded down
	}
	return f.Units(first, last)
}

// ownValue reports whether a value of type oid is compared with field i itself: with its column, or
// with the document's value as jsonb.
func (o *Router) ownValue(i int, oid types.OID) bool {
	return types.KindOf(o.table.Def.Columns[o.table.Fields[i].Column].Type) == types.KindOf(oid)
}

// unrounded returns what the numbers truncate to that are rounded to v by a type with integers
// below limit.
func unrounded(v, limit float64) ([]shardmap.Value, bool) {
	if !(math.Abs(v) < limit) {
		return nil, false
	}
	whole := math.Trunc(v)
	out := []shardmap.Value{wholeNumber(whole)}
	if whole == v && v != 0 {
		out = append(out, wholeNumber(v-math.Copysign(1, v)))
	}
	return out, true
}

func wholeNumber(v float64) shardmap.Value { return shardmap.Number(strconv.FormatInt(int64(v), 10)) }

// momentsOf returns between which instants, both included, a text is whose cast to type oid equals
// d, in microseconds since 2000-01-01 UTC; it returns false if d is infinite.
func momentsOf(env *types.Env, oid types.OID, d types.Datum) (first, last int64, ok bool) {
	if !finite(d) {
		return 0, 0, false
	}
	switch {
	case d.K == types.KindDate:
		day := d.N * microsPerDay
		return day - farthestZone, day + microsPerDay + farthestZone, true
	case oid == types.TimestampTZ:
		far := env.FarthestOffset() * 1_000_000
		return d.N - far - 1, d.N + far, true // it may have been rounded up
	case d.K == types.KindTimestamp:
		return d.N - farthestZone, d.N + farthestZone, true
	}
	return 0, 0, false
}

// lastTimestamp is after the last finite timestamp, so that an instant and some days more still
// fit; there are dates after it.
const lastTimestamp = math.MaxInt64 - 100*microsPerDay

func finite(d types.Datum) bool {
	if d.K == types.KindDate {
		return d.N < lastTimestamp/microsPerDay && d.N > -lastTimestamp/microsPerDay
	}
	return d.N < lastTimestamp && d.N > -lastTimestamp
}

// fieldRange is a plan.FieldRange to evaluate.
type fieldRange struct {
	from, to       expr.Eval
	fromOID, toOID types.OID
	toInc          bool
}

// rangeValues returns the values of field i between its bounds, false if there are too many.
func (o *Router) rangeValues(c *expr.Ctx, i int) ([]shardmap.Value, bool, error) {
	r := o.ranges[i]
	lo, err := r.from(c, nil)
	if err != nil {
		return nil, false, err
	}
	hi, err := r.to(c, nil)
	if err != nil || lo.IsNull() || hi.IsNull() {
		return nil, true, err
	}
	first, _, ok := o.boundMoments(c, i, r.fromOID, lo)
	if !ok {
		return nil, false, nil
	}
	if !r.toInc {
		hi.N-- // the last day or microsecond before it
	}
	_, last, ok := o.boundMoments(c, i, r.toOID, hi)
	if !ok {
		return nil, false, nil
	}
	values, ok := o.table.Def.Policy.Fields[i].Units(first, last)
	return values, ok, nil
}

// boundMoments is momentsOf, exact where the field is a column of that type.
func (o *Router) boundMoments(c *expr.Ctx, i int, oid types.OID, d types.Datum) (first, last int64, ok bool) {
	switch {
	case !finite(d):
		return 0, 0, false
	case !o.ownValue(i, oid):
		return momentsOf(c.Env, oid, d)
	case d.K == types.KindDate:
		return d.N * microsPerDay, d.N * microsPerDay, true
	}
	return d.N, d.N, true
}
