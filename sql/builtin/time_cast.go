package builtin

import (
	"github.com/sherddb/sherd/sql/types"
)

// timeCasts are the casts among dates and times, and those that apply a precision.
var timeCasts = map[string]Func{
	"date_timestamp": dateToTimestamp(false), "date_timestamptz": dateToTimestamp(true),
	"timestamp_date": timestampToDate(false), "timestamptz_date": timestampToDate(true),
	"timestamp_time":        timestampToTime(false),
	"timestamptz_time":      timestampToTime(true),
	"timestamptz_timetz":    timestamptzToTimetz,
	"timestamp_timestamptz": timestampToInstant, "timestamptz_timestamp": instantToTimestamp,
	"time_timetz":       timeToTimetz,
	"timetz_time":       timetzToTime,
	"time_interval":     timeToInterval,
	"interval_time":     intervalToTime,
	"timestamp_scale":   scaleOf(types.Timestamp),
	"timestamptz_scale": scaleOf(types.TimestampTZ),
	"time_scale":        scaleOf(types.Time),
	"timetz_scale":      scaleOf(types.TimeTZ), "interval_scale": scaleOf(types.Interval),
}

func dateToTimestamp(instant bool) Func {
	return func(c *Ctx, a []types.Datum) (types.Datum, error) {
		return usOrError(types.DateToTimestamp(a[0].N, c.zoneIf(instant)))
	}
}

func timestampToDate(instant bool) Func {
	return func(c *Ctx, a []types.Datum) (types.Datum, error) {
		return types.NewDate(types.TimestampToDate(a[0].N, c.zoneIf(instant))), nil
	}
}

func timestampToTime(instant bool) Func {
	return func(c *Ctx, a []types.Datum) (types.Datum, error) {
		us, ok := types.TimestampToTime(a[0].N, c.zoneIf(instant))
		if !ok {
			return types.Null, nil
		}
		return types.NewTime(us), nil
	}
}

func timestamptzToTimetz(c *Ctx, a []types.Datum) (types.Datum, error) {
	d, ok := types.TimestampToTimeTZ(a[0].N, c.zone())
	if !ok {
		return types.Null, nil
	}
	return d, nil
}

func timestampToInstant(c *Ctx, a []types.Datum) (types.Datum, error) {
	return usOrError(types.InstantOf(a[0].N, c.zone()))
}

func instantToTimestamp(c *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewTimestamp(types.UTCToLocal(a[0].N, c.zone())), nil
}

// timeToTimetz uses the current offset of the session's zone.
func timeToTimetz(c *Ctx, a []types.Datum) (types.Datum, error) {
	east := (types.UTCToLocal(c.now(), c.zone()) - c.now()) / usSecond
	return types.NewTimeTZ(a[0].N, int32(-east)), nil
}

func timetzToTime(_ *Ctx, a []types.Datum) (types.Datum, error) { return types.NewTime(a[0].N), nil }

func timeToInterval(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewInterval(0, 0, a[0].N), nil
}

func intervalToTime(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewTime(types.TimeAdd(0, a[0])), nil
}

// scaleOf returns the function that applies the type modifier in argument 1.
func scaleOf(oid uint32) Func {
	return func(_ *Ctx, a []types.Datum) (types.Datum, error) {
		return types.ApplyTypmod(oid, int32(a[1].N), a[0], true)
	}
}
