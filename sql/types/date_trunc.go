package types

import (
	"math"
	"strings"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
)

// truncUnit returns the unit of a name, from the units of intervals and timezone only.
func truncUnit(name string) ivUnit {
	if u := partUnit(name); u <= unQuarter || u >= unZone {
		return u
	}
	return unNone
}

// TruncTimestamp is date_trunc of a timestamp, or of an instant in the zone loc.
func TruncTimestamp(name string, us int64, loc *time.Location) (int64, error) {
	oid := Timestamp
	if loc != nil {
		oid = TimestampTZ
	}
	u := truncUnit(name)
	if !finiteTS(us) {
		return us, nil
	}
	c := civilOf(us)
	if loc != nil {
		c = civilIn(us, loc)
	}
	west := c.west
	if !c.trunc(u) {
		return 0, unitError(name, u, oid)
	}
	r, ok := c.timestamp()
	if !ok {
		return 0, timestampRange()
	}
	if loc == nil {
		return r, nil
	}
	if u <= unHour {
		return r + int64(west)*usPerSecond, nil
	}
	return InstantOf(r, loc)
}

func (c *civil) trunc(u ivUnit) bool {
	switch u {
	case unMicrosecond, unMillisecond, unSecond, unMinute, unHour:
		unit := [...]int64{unMicrosecond: 1, unMillisecond: 1000, unSecond: usPerSecond, unMinute: usPerMinute,
			unHour: usPerHour}[u]
		c.setMicros(c.micros() / unit * unit)
		return true
	case unDay:
	case unWeek:
		jd := julianDay(c.year, c.mon, c.day)
		c.year, c.mon, c.day = dateOfJulian(jd - (weekday(jd)+6)%7)
	case unMonth:
		c.day = 1
	case unQuarter:
		c.mon, c.day = 3*((c.mon-1)/3)+1, 1
	case unYear:
		c.mon, c.day = 1, 1
	case unDecade:
		c.year, c.mon, c.day = decadeOf(c.year)*10, 1, 1
	case unCentury:
		c.truncEra(100)
	case unMillennium:
		c.truncEra(1000)
	default:
		return false
	}
	c.setMicros(0)
	return true
}

func (c *civil) truncEra(size int) {
	if c.year > 0 {
		c.year = (c.year+size-1)/size*size - size + 1
	} else {
		c.year = -((size-1-(c.year-1))/size)*size + 1
	}
	c.mon, c.day = 1, 1
}

// TruncInterval is date_trunc of an interval.
func TruncInterval(name string, iv Datum) (Datum, error) {
	months, days, us := IntervalParts(iv)
	u := truncUnit(name)
	switch u {
	case unMicrosecond, unMillisecond, unSecond, unMinute, unHour:
		unit := [...]int64{unMicrosecond: 1, unMillisecond: 1000, unSecond: usPerSecond, unMinute: usPerMinute,
			unHour: usPerHour}[u]
		return NewInterval(months, days, us/unit*unit), nil
	case unDay:
		return NewInterval(months, days, 0), nil
	case unMonth:
		return NewInterval(months, 0, 0), nil
	case unQuarter:
		return NewInterval(months/3*3, 0, 0), nil
	case unYear:
		return NewInterval(months/12*12, 0, 0), nil
	case unDecade:
		return NewInterval(months/120*120, 0, 0), nil
	case unCentury:
		return NewInterval(months/1200*1200, 0, 0), nil
	case unMillennium:
		return NewInterval(months/12000*12000, 0, 0), nil
	case unWeek:
		return Null, pgerr.New(pgerr.FeatureNotSupported, "unit \"%s\" not supported for type interval",
			strings.ToLower(name)).
			WithDetail("Months usually have fractional weeks.")
	}
	return Null, unitError(name, u, Interval)
}

// DateBin returns the start of a timestamp's bin; bins have the length stride and are aligned to
// origin.
func DateBin(stride Datum, us, origin int64) (int64, error) {
	if !finiteTS(us) {
		return us, nil
	}
	if !finiteTS(origin) {
		return 0, pgerr.New(pgerr.DatetimeFieldOverflow, "origin out of range")
	}
	months, days, micros := IntervalParts(stride)
	if months != 0 {
		return 0, pgerr.New(pgerr.FeatureNotSupported,
			"timestamps cannot be binned into intervals containing months or years")
	}
	size, ok := AddInt(int64(days)*usPerDay, micros)
	if micros == 0 {
		size, ok = int64(days)*usPerDay, days < math.MaxInt32/20
	}
	if !ok {
		return 0, intervalRange()
	}
	if size <= 0 {
		return 0, pgerr.New(pgerr.DatetimeFieldOverflow, "stride must be greater than zero")
	}
	diff := us - origin
	if (diff < us) != (origin > 0) && origin != 0 {
		return 0, intervalRange()
	}
	r := origin + floorDiv64(diff, size)*size
	if !validTimestamp(r) {
		return 0, timestampRange()
	}
	return r, nil
}
