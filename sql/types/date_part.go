package types

import (
	"strings"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
)

// Units of extract and date_trunc, in addition to those of intervals.
const (
	unDow ivUnit = iota + unQuarter + 1
	unIsodow
	unDoy
	unIsoYear
	unJulian
	unEpoch
	unZone
	unZoneHour
	unZoneMinute
)

func partUnit(word string) ivUnit {
	word = strings.ToLower(word)
	if u := unitOf(word); u != unNone {
		return u
	}
	switch word {
	case "dow":
		return unDow
	case "isodow":
		return unIsodow
	case "doy":
		return unDoy
	case "isoyear":
		return unIsoYear
	case "julian", "jd", "j":
		return unJulian
	case "epoch":
		return unEpoch
	case "timezone":
		return unZone
	case "timezone_hour":
		return unZoneHour
	case "timezone_minute":
		return unZoneMinute
	}
	return unNone
}

func unitError(word string, u ivUnit, oid OID) error {
	word = strings.ToLower(word)
	if u == unNone {
		return pgerr.New(pgerr.InvalidParameterValue, "unit \"%s\" not recognized for type %s", word, TypeName(oid))
	}
	return pgerr.New(pgerr.FeatureNotSupported, "unit \"%s\" not supported for type %s", word, TypeName(oid))
}

// Extract is extract(field from value), numeric, for date, time, timetz, timestamp, timestamptz and
// interval. loc is the session's zone, for timestamptz. The result is null for parts that an
// infinity does not have.
func Extract(name string, oid OID, d Datum, loc *time.Location) (Datum, error) {
	u := partUnit(name)
	switch oid {
	case Date:
		return extractDate(name, u, d)
	case Timestamp, TimestampTZ:
		return extractTimestamp(name, u, oid, d.N, loc)
	case Time, TimeTZ:
		return extractTime(name, u, oid, d)
	case Interval:
		return extractInterval(name, u, d)
	}
	return Null, unitError(name, u, oid)
}

// DatePart is date_part(field, value): Extract as double precision; a date counts as its timestamp.
func DatePart(name string, oid OID, d Datum, loc *time.Location) (Datum, error) {
	if oid == Date {
		us, err := DateToTimestamp(d.N, nil)
		if err != nil {
			return Null, err
		}
		oid, d = Timestamp, NewTimestamp(us)
	}
	if oid != Interval && oid != Time && oid != TimeTZ && partUnit(name) == unJulian && finiteTS(d.N) {
		us := d.N
		if oid == TimestampTZ {
			us = UTCToLocal(us, loc)
		}
		days, rest := splitDay(us)
		return NewFloat8(float64(days+postgresEpochJDate) + float64(rest)/float64(usPerDay)), nil
	}
	n, err := Extract(name, oid, d, loc)
	if err != nil || n.IsNull() {
		return n, err
	}
	f, err := NumericToFloat(n, 64)
	return NewFloat8(f), err
}

// infinitePart returns an infinity for parts that grow with time, and null for cyclic ones.
func infinitePart(name string, u ivUnit, oid OID, negative bool) (Datum, error) {
	switch u {
	case unYear, unDecade, unCentury, unMillennium, unJulian, unIsoYear, unEpoch:
		return NumericInf(negative), nil
	case unNone:
		return Null, unitError(name, u, oid)
	case unZone, unZoneHour, unZoneMinute:
		if oid == Date {
			return Null, unitError(name, u, oid)
		}
	case unMicrosecond, unMillisecond, unSecond, unMinute, unHour:
		if oid == Date {
			return Null, unitError(name, u, oid)
		}
	}
	return Null, nil
}

func extractDate(name string, u ivUnit, d Datum) (Datum, error) {
	if !finiteDate(d.N) {
		return infinitePart(name, u, Date, d.N < 0)
	}
	switch u {
	case unMicrosecond, unMillisecond, unSecond, unMinute, unHour, unZone, unZoneHour, unZoneMinute, unNone:
		return Null, unitError(name, u, Date)
	case unEpoch:
		return NewNumeric((d.N+unixToPostgres/86400)*86400, 0), nil
	case unJulian:
		return NewNumeric(d.N+postgresEpochJDate, 0), nil
	}
	var c civil
	c.setDay(d.N)
	return datePartOf(name, u, Date, &c)
}

func extractTimestamp(name string, u ivUnit, oid OID, us int64, loc *time.Location) (Datum, error) {
	if !finiteTS(us) {
		return infinitePart(name, u, oid, us < 0)
	}
	if u == unEpoch {
		return NumericAdd(NewNumeric(us, 6), NewNumeric(unixToPostgres, 0))
	}
	c := civilOf(us)
	if oid == TimestampTZ {
		if loc == nil {
			loc = time.UTC
		}
		c = civilIn(us, loc)
		if d, ok := zonePart(u, c.west); ok {
			return d, nil
		}
	}
	if d, ok := timePart(u, c.micros()); ok {
		return d, nil
	}
	if u == unJulian {
		frac, err := NumericDiv(NewNumeric(c.micros(), 0), NewNumeric(usPerDay, 0))
		if err != nil {
			return Null, err
		}
		return NumericAdd(NewNumeric(c.days()+postgresEpochJDate, 0), frac)
	}
	return datePartOf(name, u, oid, &c)
}

func zonePart(u ivUnit, west int32) (Datum, bool) {
	east := int64(-west)
	switch u {
	case unZone:
		return NewNumeric(east, 0), true
	case unZoneHour:
		return NewNumeric(east/3600, 0), true
	case unZoneMinute:
		return NewNumeric(east/60%60, 0), true
	}
	return Null, false
}

// timePart returns a part of a time of day, or of an interval's time, which may be negative.
func timePart(u ivUnit, us int64) (Datum, bool) {
	switch u {
	case unMicrosecond:
		return NewNumeric(us%usPerMinute, 0), true
	case unMillisecond:
		return NewNumeric(us%usPerMinute, 3), true
	case unSecond:
		return NewNumeric(us%usPerMinute, 6), true
	case unMinute:
		return NewNumeric(us/usPerMinute%60, 0), true
	case unHour:
		return NewNumeric(us/usPerHour, 0), true
	}
	return Null, false
}

func datePartOf(name string, u ivUnit, oid OID, c *civil) (Datum, error) {
	jd := julianDay(c.year, c.mon, c.day)
	y, n := c.year, 0
	switch u {
	case unDay:
		n = c.day
	case unMonth:
		n = c.mon
	case unQuarter:
		n = (c.mon-1)/3 + 1
	case unWeek:
		_, n = isoWeek(jd, y)
	case unIsoYear:
		n, _ = isoWeek(jd, y)
		if n <= 0 {
			n--
		}
	case unYear:
		n = y
		if y <= 0 {
			n = y - 1
		}
	case unDecade:
		n = decadeOf(y)
	case unCentury:
		n = eraOf(y, 100)
	case unMillennium:
		n = eraOf(y, 1000)
	case unDow:
		n = weekday(jd)
	case unIsodow:
		if n = weekday(jd); n == 0 {
			n = 7
		}
	case unDoy:
		n = jd - julianDay(y, 1, 1) + 1
	default:
		return Null, unitError(name, u, oid)
	}
	return NewNumeric(int64(n), 0), nil
}

func decadeOf(y int) int { return floorDiv(y, 10) }

// eraOf returns the century or millennium of a year, counted from 1 and from -1.
func eraOf(y, size int) int {
	if y > 0 {
		return (y + size - 1) / size
	}
	return -((size - 1 - (y - 1)) / size)
}

// isoWeek returns the ISO year (astronomical) and the week of a Julian day in year y.
func isoWeek(jd, y int) (year, week int) {
	start := isoYearStart(y)
	if jd < start {
		y--
		start = isoYearStart(y)
	} else if next := isoYearStart(y + 1); jd >= next {
		y, start = y+1, next
	}
	return y, (jd-start)/7 + 1
}

// isoYearStart returns the Monday of the week with January 4.
func isoYearStart(y int) int {
	day4 := julianDay(y, 1, 4)
	return day4 - (weekday(day4)+6)%7
}

func extractTime(name string, u ivUnit, oid OID, d Datum) (Datum, error) {
	if oid == TimeTZ {
		if z, ok := zonePart(u, d.A); ok {
			return z, nil
		}
	}
	if t, ok := timePart(u, d.N); ok {
		return t, nil
	}
	if u == unEpoch {
		us := d.N
		if oid == TimeTZ {
			us += int64(d.A) * usPerSecond
		}
		return NewNumeric(us, 6), nil
	}
	return Null, unitError(name, u, oid)
}

func extractInterval(name string, u ivUnit, d Datum) (Datum, error) {
	months, days, us := IntervalParts(d)
	if t, ok := timePart(u, us); ok {
		return t, nil
	}
	year, mon := int64(months/12), int64(months%12)
	n := int64(0)
	switch u {
	case unDay:
		n = int64(days)
	case unMonth:
		n = mon
	case unQuarter:
		n = mon/3 + 1
	case unYear:
		n = year
	case unDecade:
		n = year / 10
	case unCentury:
		n = year / 100
	case unMillennium:
		n = year / 1000
	case unEpoch:
		secs := (1461*year + 120*mon + 4*int64(days)) * (86400 / 4)
		return NumericAdd(NewNumeric(secs, 0), NewNumeric(us, 6))
	default:
		return Null, unitError(name, u, Interval)
	}
	return NewNumeric(n, 0), nil
}
