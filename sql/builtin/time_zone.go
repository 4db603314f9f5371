package builtin

import (
	"math"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// Units and epoch of dates and timestamps: microseconds and days since 2000-01-01.
const (
	usSecond = int64(1_000_000)
	usMinute = 60 * usSecond
	usHour   = 60 * usMinute
	usDay    = 24 * usHour

	epochUnix = int64(946684800) // 2000-01-01 in Unix seconds

	minTimestamp = -211813488000000000 // 4714-11-24 BC
	endTimestamp = 9223371331200000000 // 294277-01-01, not included
	minDate      = -2451545
	endDate      = 2145031949 // 5874898-01-01, not included

	infinity    = math.MaxInt64
	negInfinity = math.MinInt64
	infDate     = math.MaxInt32
	negInfDate  = math.MinInt32
)

func newTimestamp(us int64) types.Datum { return types.Datum{K: types.KindTimestamp, N: us} }
func newDate(days int64) types.Datum    { return types.Datum{K: types.KindDate, N: days} }
func newTime(us int64) types.Datum      { return types.Datum{K: types.KindTime, N: us} }

func timestampRange() error {
	return pgerr.New(pgerr.DatetimeFieldOverflow, "timestamp out of range")
}

func isInfinite(us int64) bool { return us == infinity || us == negInfinity }

// zone gives the session's time zone.
func (c *Ctx) zone() *time.Location {
	if c.Env == nil || c.Env.Zone == nil {
		return time.UTC
	}
	return c.Env.Zone
}

// floorDiv divides rounding down; the remainder is not negative.
func floorDiv(x, y int64) (quotient, rest int64) {
	quotient, rest = x/y, x%y
	if rest < 0 {
		return quotient - 1, rest + y
	}
	return quotient, rest
}

// offsetAt gives the zone's offset in seconds east of UTC at an instant.
func offsetAt(us int64, loc *time.Location) int64 {
	if loc == time.UTC {
		return 0
	}
	seconds, _ := floorDiv(us, usSecond)
	_, offset := time.Unix(seconds+epochUnix, 0).In(loc).Zone()
	return int64(offset)
}

// toLocal turns an instant into the zone's wall clock.
func toLocal(us int64, loc *time.Location) int64 {
	if isInfinite(us) {
		return us
	}
	return us + offsetAt(us, loc)*usSecond
}

// toUTC turns a wall clock time into an instant. Where the clock was set back and the time exists twice it is the second one (standard
// time); where the clock was set forward and the time does not exist, the offset from before counts. That is what PostgreSQL does.
func toUTC(local int64, loc *time.Location) int64 {
	if isInfinite(local) || loc == time.UTC {
		return local
	}
	before := offsetAt(local-usDay, loc)
	after := offsetAt(local+usDay, loc)
	if before == after {
		return local - before*usSecond
	}
	late := local - after*usSecond
	if offsetAt(late, loc) == after {
		return late
	}
	return local - before*usSecond
}

// dateToTimestamp gives the timestamp of a date's midnight.
func dateToTimestamp(d types.Datum) (int64, error) {
	switch {
	case d.N == infDate:
		return infinity, nil
	case d.N == negInfDate:
		return negInfinity, nil
	case d.N >= endTimestamp/usDay:
		return 0, pgerr.New(pgerr.DatetimeFieldOverflow, "date out of range for timestamp")
	}
	return d.N * usDay, nil
}

// compareDateTimestamp compares a date with a timestamp; a date beyond the timestamps is greater than all but infinity.
func compareDateTimestamp(_ *Ctx, date, timestamp types.Datum) (int, error) {
	us, err := dateToTimestamp(date)
	if err != nil {
		if timestamp.N == infinity {
			return -1, nil
		}
		return 1, nil
	}
	return int(order(us, timestamp.N)), nil
}

func compareDateTimestampTZ(c *Ctx, date, instant types.Datum) (int, error) {
	us, err := dateToTimestamp(date)
	if err != nil {
		if instant.N == infinity {
			return -1, nil
		}
		return 1, nil
	}
	return int(order(toUTC(us, c.zone()), instant.N)), nil
}

func compareTimestampTZ(c *Ctx, local, instant types.Datum) (int, error) {
	return int(order(toUTC(local.N, c.zone()), instant.N)), nil
}
