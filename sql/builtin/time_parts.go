package builtin

import (
	"math"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// timeParts has extract, date_trunc, date_bin, AT TIME ZONE, OVERLAPS, and the functions that build
// dates and times.
var timeParts = map[string]Func{
	"extract_date":           extractOf(types.Date),
	"extract_time":           extractOf(types.Time),
	"extract_timetz":         extractOf(types.TimeTZ),
	"extract_timestamp":      extractOf(types.Timestamp),
	"extract_timestamptz":    extractOf(types.TimestampTZ),
	"extract_interval":       extractOf(types.Interval),
	"date_part(25,1082)":     datePartOf(types.Date),
	"time_part":              datePartOf(types.Time),
	"timetz_part":            datePartOf(types.TimeTZ),
	"timestamp_part":         datePartOf(types.Timestamp),
	"timestamptz_part":       datePartOf(types.TimestampTZ),
	"interval_part":          datePartOf(types.Interval),
	"timestamp_trunc":        truncTimestamp,
	"timestamptz_trunc":      truncInstant,
	"timestamptz_trunc_zone": truncInstantZone,
	"interval_trunc":         truncInterval,
	"timestamp_bin":          dateBin, "timestamptz_bin": dateBin,
	"timestamp_zone": atZone(true), "timestamptz_zone": atZone(false), "timetz_zone": timetzZone,
	"timestamp_izone": atOffset(true), "timestamptz_izone": atOffset(false), "timetz_izone": timetzOffset,
	"date_finite": dateFinite, "timestamp_finite": timestampFinite, "interval_finite": alwaysFinite,
	"make_date": makeDate, "make_time": makeTime, "make_interval": makeInterval,
	"make_timestamp":                makeTimestamp,
	"make_timestamptz":              makeTimestampTZ,
	"make_timestamptz_at_timezone":  makeTimestampTZ,
	"float8_timestamptz":            timestampFromEpoch,
	"overlaps(1083,1083,1083,1186)": overlapsBy(false, true), "overlaps(1083,1186,1083,1083)": overlapsBy(true, false),
	"overlaps(1083,1186,1083,1186)": overlapsBy(true, true), "overlaps(1114,1114,1114,1186)": overlapsBy(false, true),
	"overlaps(1114,1186,1114,1114)": overlapsBy(true, false), "overlaps(1114,1186,1114,1186)": overlapsBy(true, true),
	"overlaps(1184,1184,1184,1186)": overlapsBy(false, true), "overlaps(1184,1186,1184,1184)": overlapsBy(true, false),
	"overlaps(1184,1186,1184,1186)": overlapsBy(true, true),
	"overlaps_timestamp":            overlaps, "overlaps_time": overlaps, "overlaps_timetz": overlaps,
}

func extractOf(oid uint32) Func {
	return func(c *Ctx, a []types.Datum) (types.Datum, error) { return types.Extract(a[0].S, oid, a[1], c.zone()) }
}

func datePartOf(oid uint32) Func {
	return func(c *Ctx, a []types.Datum) (types.Datum, error) { return types.DatePart(a[0].S, oid, a[1], c.zone()) }
}

func truncTimestamp(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return usOrError(types.TruncTimestamp(a[0].S, a[1].N, nil))
}

func truncInstant(c *Ctx, a []types.Datum) (types.Datum, error) {
	return usOrError(types.TruncTimestamp(a[0].S, a[1].N, c.zone()))
}

func truncInstantZone(_ *Ctx, a []types.Datum) (types.Datum, error) {
	loc, err := namedZone(a[2].S, a[1].N)
	if err != nil {
		return types.Null, err
	}
	return usOrError(types.TruncTimestamp(a[0].S, a[1].N, loc))
}

// namedZone returns a zone by name, or the fixed offset of an abbreviation at an instant.
func namedZone(name string, at int64) (*time.Location, error) {
	if loc, _, ok := types.LoadZone(name); ok {
		return loc, nil
	}
	east, err := types.ZoneAt(name, at, false)
	if err != nil {
		return nil, err
	}
	loc, _ := types.FixedZone(east)
	return loc, nil
}

func truncInterval(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.TruncInterval(a[0].S, a[1])
}

func dateBin(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return usOrError(types.DateBin(a[0], a[1].N, a[2].N))
}

func atZone(local bool) Func {
	return func(_ *Ctx, a []types.Datum) (types.Datum, error) {
		return usOrError(types.AtTimeZone(a[0].S, a[1].N, local))
	}
}

func timetzZone(c *Ctx, a []types.Datum) (types.Datum, error) {
	return types.TimeTZAtZone(a[1], a[0].S, c.now())
}

// zoneInterval reads an interval as an offset from UTC in microseconds east.
func zoneInterval(c *Ctx, d types.Datum) (int64, error) {
	months, days, us := types.IntervalParts(d)
	if months != 0 || days != 0 {
		return 0, pgerr.New(pgerr.InvalidParameterValue, "interval time zone \"%s\" must not include months or days",
			types.Output(types.Interval, d, c.Env))
	}
	return us / usSecond * usSecond, nil
}

func atOffset(local bool) Func {
	return func(c *Ctx, a []types.Datum) (types.Datum, error) {
		east, err := zoneInterval(c, a[0])
		if err != nil {
			return types.Null, err
		}
		if isInfinite(a[1].N) {
			return a[1], nil
		}
		if local {
			east = -east
		}
		return usOrError(types.TimestampAdd(a[1].N, types.NewInterval(0, 0, east), nil))
	}
}

func timetzOffset(c *Ctx, a []types.Datum) (types.Datum, error) {
	east, err := zoneInterval(c, a[0])
	if err != nil {
		return types.Null, err
	}
	return types.TimeTZAtOffset(a[1], int32(-east/usSecond)), nil
}

func dateFinite(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewBool(a[0].N != math.MaxInt32 && a[0].N != math.MinInt32), nil
}

func timestampFinite(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewBool(!isInfinite(a[0].N)), nil
}

func alwaysFinite(*Ctx, []types.Datum) (types.Datum, error) { return types.NewBool(true), nil }

func makeDate(_ *Ctx, a []types.Datum) (types.Datum, error) {
	n, err := types.MakeDate(a[0].N, a[1].N, a[2].N)
	return types.NewDate(n), err
}

func makeTime(_ *Ctx, a []types.Datum) (types.Datum, error) {
	n, err := types.MakeTime(a[0].N, a[1].N, a[2].Float())
	return types.NewTime(n), err
}

func makeInterval(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.MakeInterval(a[0].N, a[1].N, a[2].N, a[3].N, a[4].N, a[5].N, a[6].Float())
}

func makeTimestamp(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return usOrError(types.MakeTimestamp(a[0].N, a[1].N, a[2].N, a[3].N, a[4].N, a[5].Float()))
}

func makeTimestampTZ(c *Ctx, a []types.Datum) (types.Datum, error) {
	us, err := types.MakeTimestamp(a[0].N, a[1].N, a[2].N, a[3].N, a[4].N, a[5].Float())
	if err != nil {
		return types.Null, err
	}
	if len(a) > 6 {
		return usOrError(types.LocalIn(a[6].S, us))
	}
	return usOrError(types.InstantOf(us, c.zone()))
}

func timestampFromEpoch(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return usOrError(types.TimestampFromEpoch(a[0].Float()))
}

// overlaps is not strict.
func overlaps(c *Ctx, a []types.Datum) (types.Datum, error) {
	return types.Overlaps(a[0], a[1], a[2], a[3], types.Comparer(c.argType(0))), nil
}

// overlapsBy returns OVERLAPS for periods with a length instead of an end: the first, the second,
// or both.
func overlapsBy(first, second bool) Func {
	return func(c *Ctx, a []types.Datum) (types.Datum, error) {
		ends := [4]types.Datum(a)
		for i, byLength := range []bool{first, second} {
			start, length := a[2*i], a[2*i+1]
			if !byLength || length.IsNull() {
				continue
			}
			end := &ends[2*i+1]
			switch {
			case start.IsNull():
				*end = types.Null
			case start.K == types.KindTime:
				*end = types.NewTime(types.TimeAdd(start.N, length))
			default:
				us, err := types.TimestampAdd(start.N, length, c.zoneOf(0))
				if err != nil {
					return types.Null, err
				}
				*end = types.NewTimestamp(us)
			}
		}
		return overlaps(c, ends[:])
	}
}
