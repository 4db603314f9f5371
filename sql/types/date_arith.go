package types

import (
	"math"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
)

// addMonths moves a date by months, and reduces the day to the last of the new month if needed.
func (c *civil) addMonths(n int) {
	m := c.year*12 + c.mon - 1 + n
	c.year, c.mon = floorDiv(m, 12), m-floorDiv(m, 12)*12+1
	c.day = min(c.day, daysInMonth(c.year, c.mon))
}

// TimestampAdd adds an interval: months, then days, then microseconds. If loc is nil, us is a
// timestamp; otherwise it is an instant, and months and days are counted in that zone.
func TimestampAdd(us int64, iv Datum, loc *time.Location) (int64, error) {
	if !finiteTS(us) {
		return us, nil
	}
	months, days, micros := IntervalParts(iv)
	if months != 0 || days != 0 {
		c := civilOf(us)
		if loc != nil {
			c = civilIn(us, loc)
		}
		if months != 0 {
			c.addMonths(int(months))
		}
		if days != 0 && validJulian(c.year, c.mon) {
			jd := julianDay(c.year, c.mon, c.day) + int(days)
			if jd < 0 || jd > math.MaxInt32 {
				return 0, timestampRange()
			}
			c.year, c.mon, c.day = dateOfJulian(jd)
		}
		var ok bool
		if us, ok = c.timestamp(); !ok {
			return 0, timestampRange()
		}
		if loc != nil {
			if us = LocalToUTC(us, loc); !validTimestamp(us) {
				return 0, timestampRange()
			}
		}
	}
	sum, ok := AddInt(us, micros)
	if micros == 0 {
		sum, ok = us, true
	}
	if !ok || !validTimestamp(sum) || !finiteTS(sum) {
		return 0, timestampRange()
	}
	return sum, nil
}

// TimestampSub subtracts an interval.
func TimestampSub(us int64, iv Datum, loc *time.Location) (int64, error) {
	neg, err := IntervalNeg(iv)
	if err != nil {
		return 0, err
	}
	return TimestampAdd(us, neg, loc)
}

// TimestampDiff returns a - b as days and time.
func TimestampDiff(a, b int64) (Datum, error) {
	if !finiteTS(a) || !finiteTS(b) {
		return Null, pgerr.New(pgerr.DatetimeFieldOverflow, "cannot subtract infinite timestamps")
	}
	d := a - b
	if (d < a) != (b > 0) && b != 0 {
		return Null, intervalRange()
	}
	return NewInterval(0, int32(d/usPerDay), d%usPerDay), nil
}

// DateAdd adds days to a date.
func DateAdd(date, days int64) (int64, error) {
	if !finiteDate(date) {
		return date, nil
	}
	if n := date + days; validDate(n) && finiteDate(n) {
		return n, nil
	}
	return 0, dateRange()
}

// DateDiff returns a - b in days.
func DateDiff(a, b int64) (int64, error) {
	if !finiteDate(a) || !finiteDate(b) {
		return 0, pgerr.New(pgerr.DatetimeFieldOverflow, "cannot subtract infinite dates")
	}
	return a - b, nil
}

// DateToTimestamp returns midnight of a date. With loc, it is the instant of midnight in that zone.
func DateToTimestamp(date int64, loc *time.Location) (int64, error) {
	switch date {
	case dateInfinity:
		return tsInfinity, nil
	case dateNegInfinity:
		return tsNegInfinity, nil
	}
	if date >= endTimestamp/usPerDay {
		return 0, pgerr.New(pgerr.DatetimeFieldOverflow, "date out of range for timestamp")
	}
	us := date * usPerDay
	if loc != nil {
		us = LocalToUTC(us, loc)
		if !validTimestamp(us) {
			return 0, pgerr.New(pgerr.DatetimeFieldOverflow, "date out of range for timestamp")
		}
	}
	return us, nil
}

// TimestampToDate returns the date of a timestamp; with loc, us is an instant.
func TimestampToDate(us int64, loc *time.Location) int64 {
	switch us {
	case tsInfinity:
		return dateInfinity
	case tsNegInfinity:
		return dateNegInfinity
	}
	if loc != nil {
		us = UTCToLocal(us, loc)
	}
	days, _ := splitDay(us)
	return days
}

// TimestampToTime returns the time of day; ok is false for infinities, whose result is null.
func TimestampToTime(us int64, loc *time.Location) (micros int64, ok bool) {
	if !finiteTS(us) {
		return 0, false
	}
	if loc != nil {
		us = UTCToLocal(us, loc)
	}
	_, micros = splitDay(us)
	return micros, true
}

// TimestampToTimeTZ returns the time of day of an instant in a zone.
func TimestampToTimeTZ(us int64, loc *time.Location) (Datum, bool) {
	if !finiteTS(us) {
		return Null, false
	}
	c := civilIn(us, loc)
	return NewTimeTZ(c.micros(), c.west), true
}

// TimeAdd adds an interval's time to a time of day, modulo 24 hours.
func TimeAdd(us int64, iv Datum) int64 {
	_, _, micros := IntervalParts(iv)
	us = (us + micros%usPerDay) % usPerDay
	if us < 0 {
		us += usPerDay
	}
	return us
}

// LocalIn returns the instant of a local time in a zone, as in make_timestamptz.
func LocalIn(zone string, local int64) (int64, error) {
	east, err := OffsetOf(zone, local)
	if err != nil {
		return 0, err
	}
	at := local - int64(east)*usPerSecond
	if !validTimestamp(at) {
		return 0, timestampRange()
	}
	return at, nil
}

// AtTimeZone converts between timestamp and timestamptz. If local is set, us is a timestamp in the
// zone; otherwise it is an instant and the result is a timestamp.
func AtTimeZone(zone string, us int64, local bool) (int64, error) {
	if !finiteTS(us) {
		return us, nil
	}
	off, err := ZoneAt(zone, us, local)
	if err != nil {
		return 0, err
	}
	if local {
		off = -off
	}
	r := us + int64(off)*usPerSecond
	if !validTimestamp(r) {
		return 0, timestampRange()
	}
	return r, nil
}

// TimeTZAtZone converts a time with time zone to another zone.
func TimeTZAtZone(d Datum, zone string, now int64) (Datum, error) {
	off, err := ZoneAt(zone, now, false)
	if err != nil {
		return Null, err
	}
	return TimeTZAtOffset(d, int32(-off)), nil
}

// TimeTZAtOffset converts a time with time zone to an offset in seconds west.
func TimeTZAtOffset(d Datum, west int32) Datum {
	us := (d.N + int64(d.A-west)*usPerSecond) % usPerDay
	if us < 0 {
		us += usPerDay
	}
	return NewTimeTZ(us, west)
}

// Age returns the symbolic difference of two local times in years, months, days and time.
func Age(a, b int64) (Datum, error) {
	if !finiteTS(a) || !finiteTS(b) {
		return Null, timestampRange()
	}
	x, y, sign := civilOf(a), civilOf(b), int64(1)
	if a < b {
		x, y, sign = y, x, -1
	}
	us := x.micros() - y.micros()
	days := x.day - y.day
	months := (x.year-y.year)*12 + x.mon - y.mon
	if us < 0 {
		us += usPerDay
		days--
	}
	for days < 0 {
		days += daysInMonth(y.year, y.mon)
		months--
	}
	return NewInterval(int32(sign)*int32(months), int32(sign)*int32(days), sign*us), nil
}

// Overlaps is OVERLAPS of two periods whose ends cmp can compare; nulls count as in the standard.
// The result may be null.
func Overlaps(s1, e1, s2, e2 Datum, cmp func(a, b Datum) int) Datum {
	order := func(s, e Datum) (Datum, Datum, bool) {
		switch {
		case s.IsNull() && e.IsNull():
			return s, e, false
		case s.IsNull():
			return e, s, true
		case !e.IsNull() && cmp(s, e) > 0:
			return e, s, true
		}
		return s, e, true
	}
	var ok1, ok2 bool
	if s1, e1, ok1 = order(s1, e1); !ok1 {
		return Null
	}
	if s2, e2, ok2 = order(s2, e2); !ok2 {
		return Null
	}
	c := cmp(s1, s2)
	if c == 0 {
		if e1.IsNull() || e2.IsNull() {
			return Null
		}
		return NewBool(true)
	}
	if c < 0 {
		s1, e1, e2 = s2, e2, e1
	}
	// s1 starts later: they overlap if it starts before the other ends.
	if e2.IsNull() {
		return Null
	}
	if cmp(s1, e2) < 0 {
		return NewBool(true)
	}
	if e1.IsNull() {
		return Null
	}
	return NewBool(false)
}
