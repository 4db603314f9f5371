package builtin

import (
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// timeArithmetic has + - * / for dates, times and intervals.
var timeArithmetic = map[string]Func{
	"timestamp_pl_interval": timestampPlus(0, 1, false), "timestamp_mi_interval": timestampMinus(false),
	"timestamptz_pl_interval": timestampPlus(0, 1, true), "timestamptz_mi_interval": timestampMinus(true),
	"interval_pl_timestamp(1186,1114)":   timestampPlus(1, 0, false),
	"interval_pl_timestamptz(1186,1184)": timestampPlus(1, 0, true),
	"timestamp_mi":                       timestampDiff,
	"date_mi":                            dateDiff,
	"date_pli":                           datePlus(0, 1, 1),
	"date_mii":                           datePlus(0, 1, -1),
	"integer_pl_date(23,1082)":           datePlus(1, 0, 1),
	"date_pl_interval":                   datePlusInterval(0, 1, false),
	"date_mi_interval":                   datePlusInterval(0, 1, true),
	"interval_pl_date(1186,1082)":        datePlusInterval(1, 0, false),
	"datetime_timestamp":                 dateAndTime(0, 1), "timedate_pl(1083,1082)": dateAndTime(1, 0),
	"datetimetz_timestamptz": dateAndTimeTZ(0, 1), "timetzdate_pl(1266,1082)": dateAndTimeTZ(1, 0),
	"timestamptz(1082,1083)":        dateAndLocalTime,
	"time_mi_time":                  timeDiff,
	"time_pl_interval":              timePlus(0, 1, false),
	"time_mi_interval":              timePlus(0, 1, true),
	"interval_pl_time(1186,1083)":   timePlus(1, 0, false),
	"timetz_pl_interval":            timePlus(0, 1, false),
	"timetz_mi_interval":            timePlus(0, 1, true),
	"interval_pl_timetz(1186,1266)": timePlus(1, 0, false),
	"interval_pl":                   interval2(types.IntervalAdd),
	"interval_mi":                   interval2(types.IntervalSub),
	"interval_um":                   interval1(types.IntervalNeg),
	"interval_mul":                  intervalTimes(0, 1),
	"mul_d_interval":                intervalTimes(1, 0),
	"interval_div":                  intervalDiv,
	"interval_justify_hours":        interval1(types.JustifyHours),
	"interval_justify_days":         interval1(types.JustifyDays),
	"interval_justify_interval":     interval1(types.JustifyInterval),
	"timestamp_age":                 age, "timestamptz_age": age, "age(1114)": ageToday, "age(1184)": ageToday,
}

// usOrError returns the timestamp that arithmetic has computed.
func usOrError(us int64, err error) (types.Datum, error) {
	if err != nil {
		return types.Null, err
	}
	return types.NewTimestamp(us), nil
}

// zoneIf returns the session's zone for instants, nil for timestamps.
func (c *Ctx) zoneIf(instant bool) *time.Location {
	if instant {
		return c.zone()
	}
	return nil
}

func timestampPlus(t, iv int, instant bool) Func {
	return func(c *Ctx, a []types.Datum) (types.Datum, error) {
		return usOrError(types.TimestampAdd(a[t].N, a[iv], c.zoneIf(instant)))
	}
}

func timestampMinus(instant bool) Func {
	return func(c *Ctx, a []types.Datum) (types.Datum, error) {
		return usOrError(types.TimestampSub(a[0].N, a[1], c.zoneIf(instant)))
	}
}

func timestampDiff(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.TimestampDiff(a[0].N, a[1].N)
}

func dateDiff(_ *Ctx, a []types.Datum) (types.Datum, error) {
	n, err := types.DateDiff(a[0].N, a[1].N)
	return types.NewInt(n), err
}

func datePlus(date, days int, sign int64) Func {
	return func(_ *Ctx, a []types.Datum) (types.Datum, error) {
		n, err := types.DateAdd(a[date].N, sign*a[days].N)
		return types.NewDate(n), err
	}
}

func datePlusInterval(date, iv int, minus bool) Func {
	return func(_ *Ctx, a []types.Datum) (types.Datum, error) {
		us, err := types.DateToTimestamp(a[date].N, nil)
		if err != nil {
			return types.Null, err
		}
		if minus {
			return usOrError(types.TimestampSub(us, a[iv], nil))
		}
		return usOrError(types.TimestampAdd(us, a[iv], nil))
	}
}

// dateAndTime returns a function that adds a time of day to a date.
func dateAndTime(date, clock int) Func {
	return func(_ *Ctx, a []types.Datum) (types.Datum, error) {
		us, err := types.DateToTimestamp(a[date].N, nil)
		if err != nil || isInfinite(us) {
			return usOrError(us, err)
		}
		return usOrError(types.TimestampAdd(us, types.NewInterval(0, 0, a[clock].N), nil))
	}
}

func dateAndTimeTZ(date, clock int) Func {
	return func(_ *Ctx, a []types.Datum) (types.Datum, error) {
		us, err := types.DateToTimestamp(a[date].N, nil)
		if err != nil || isInfinite(us) {
			return usOrError(us, err)
		}
		west := int64(a[clock].A) * usSecond
		return usOrError(types.TimestampAdd(us, types.NewInterval(0, 0, a[clock].N+west), nil))
	}
}

func dateAndLocalTime(c *Ctx, a []types.Datum) (types.Datum, error) {
	d, err := dateAndTime(0, 1)(c, a)
	if err != nil {
		return types.Null, err
	}
	return usOrError(types.InstantOf(d.N, c.zone()))
}

func timeDiff(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewInterval(0, 0, a[0].N-a[1].N), nil
}

// timePlus returns a function that adds to a time of day, with or without zone, modulo 24 hours.
func timePlus(clock, iv int, minus bool) Func {
	return func(_ *Ctx, a []types.Datum) (types.Datum, error) {
		d, by := a[clock], a[iv]
		if minus {
			by.N = -by.N
		}
		d.N = types.TimeAdd(d.N, by)
		return d, nil
	}
}

func interval1(f func(types.Datum) (types.Datum, error)) Func {
	return func(_ *Ctx, a []types.Datum) (types.Datum, error) { return f(a[0]) }
}

func interval2(f func(a, b types.Datum) (types.Datum, error)) Func {
	return func(_ *Ctx, a []types.Datum) (types.Datum, error) { return f(a[0], a[1]) }
}

func intervalTimes(iv, factor int) Func {
	return func(_ *Ctx, a []types.Datum) (types.Datum, error) { return types.IntervalMul(a[iv], a[factor].Float()) }
}

func intervalDiv(_ *Ctx, a []types.Datum) (types.Datum, error) {
	if a[1].Float() == 0 {
		return types.Null, divisionByZero()
	}
	return types.IntervalDiv(a[0], a[1].Float())
}

// age of instants is counted in the session's zone.
func age(c *Ctx, a []types.Datum) (types.Datum, error) {
	x, y := a[0].N, a[1].N
	if loc := c.zoneOf(0); loc != nil {
		x, y = types.UTCToLocal(x, loc), types.UTCToLocal(y, loc)
	}
	return types.Age(x, y)
}

// ageToday returns the age at the last midnight.
func ageToday(c *Ctx, a []types.Datum) (types.Datum, error) {
	today, err := types.DateToTimestamp(types.TimestampToDate(c.now(), c.zone()), nil)
	if err != nil {
		return types.Null, err
	}
	then := a[0].N
	if loc := c.zoneOf(0); loc != nil {
		then = types.UTCToLocal(then, loc)
	}
	if isInfinite(then) {
		return types.Null, pgerr.New(pgerr.DatetimeFieldOverflow, "timestamp out of range")
	}
	return types.Age(today, then)
}
