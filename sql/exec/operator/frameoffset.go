package operator

import (
	"math"
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/types"
)

// This file adds and subtracts the offsets of RANGE, as PostgreSQL's functions in_range.

// negative reports whether an offset is less than zero, or no number. Only the hours, minutes and
// seconds of an interval count for times of a day.
func negative(d types.Datum, order types.OID) bool {
	switch d.K {
	case types.KindInt:
		return d.N < 0
	case types.KindFloat4, types.KindFloat8:
		return d.Float() < 0 || d.IsNaN()
	case types.KindNumeric:
		return types.NumericSign(d) < 0 || d.IsNaN()
	case types.KindInterval:
		if order == types.Time || order == types.TimeTZ {
			return d.N < 0
		}
		return types.CompareInterval(d, types.NewInterval(0, 0, 0)) < 0
	}
	return false
}

// infinite returns an infinity of the kind of d.
func infinite(d types.Datum, negative bool) types.Datum {
	if d.K == types.KindNumeric {
		return types.NumericInf(negative)
	}
	sign := 1
	if negative {
		sign = -1
	}
	return types.Datum{K: d.K, N: types.NewFloat8(math.Inf(sign)).N}
}

// micros returns a date or timestamp in microseconds.
func micros(d types.Datum) int64 {
	if d.K != types.KindDate {
		return d.N
	}
	if n, err := types.DateToTimestamp(d.N, nil); err == nil {
		return n
	}
	return math.MaxInt64 - 1 // later than any timestamp
}

// shifted returns value minus (down) or plus offset. If that overflows, it returns the end of the
// type's range.
func (r *frameRun) shifted(value, offset types.Datum, typ types.OID, down bool) (types.Datum, error) {
	by := offset.N
	if down {
		by = -by
	}
	switch value.K {
	case types.KindInt:
		if v, ok := types.AddInt(value.N, by); ok {
			return types.NewInt(v), nil
		}
		if down {
			return types.NewInt(math.MinInt64), nil
		}
		return types.NewInt(math.MaxInt64), nil
	case types.KindFloat4, types.KindFloat8:
		by := offset.Float()
		if down {
			by = -by
		}
		return types.Datum{K: value.K, N: types.NewFloat8(value.Float() + by).N}, nil
	case types.KindNumeric:
		if down {
			return types.NumericSub(value, offset)
		}
		return types.NumericAdd(value, offset)
	case types.KindTime, types.KindTimeTZ: // past midnight, times go on
		sum, ok := types.AddInt(value.N, by)
		if !ok {
			sum = math.MaxInt64 / 2
		}
		value.N = sum
		return value, nil
	}
	return r.shiftedDate(value, offset, typ, down)
}

func (r *frameRun) shiftedDate(value, offset types.Datum, typ types.OID, down bool) (types.Datum, error) {
	name := map[types.OID]string{
		types.Date: "date_pl_interval", types.Timestamp: "timestamp_pl_interval",
		types.TimestampTZ: "timestamptz_pl_interval", types.Interval: "interval_pl",
	}[r.order]
	if down {
		name = strings.Replace(name, "_pl", "_mi", 1)
	}
	impl, ok := builtin.Lookup(name)
	if !ok {
		return types.Null, pgerr.Unsupported(
			"RANGE with offset PRECEDING/FOLLOWING is not supported for column type %s and offset type %s",
			types.TypeName(r.order), types.TypeName(typ))
	}
	site := &builtin.Ctx{ArgTypes: []uint32{r.order, typ}, RetType: r.order}
	r.c.Enter(site)
	return impl.Func(site, []types.Datum{value, offset})
}
