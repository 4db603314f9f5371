package types

import "time"

// civil is a broken-down local time. The year is astronomical: 0 is 1 BC.
type civil struct {
	year, mon, day int
	hour, min, sec int
	usec           int
	yday           int // of ParseDateTime's day-of-year form
	west           int32
	zone           string
}

// julianDay returns the Julian day number of a Gregorian date.
func julianDay(y, m, d int) int {
	if m > 2 {
		m++
		y += 4800
	} else {
		m += 13
		y += 4799
	}
	century := y / 100
	julian := y*365 - 32167
	julian += y/4 - century + century/4
	return julian + 7834*m/256 + d
}

// dateOfJulian is the inverse of julianDay, for days from 0.
func dateOfJulian(jd int) (y, m, d int) {
	julian := uint64(jd) + 32044
	quad := julian / 146097
	extra := (julian-quad*146097)*4 + 3
	julian += 60 + quad*3 + extra/146097
	quad = julian / 1461
	julian -= quad * 1461
	yy := julian * 4 / 1461
	if yy != 0 {
		julian = (julian + 305) % 365
	} else {
		julian = (julian + 306) % 366
	}
	julian += 123
	yy += quad * 4
	y = int(yy) - 4800
	quad = julian * 2141 / 65536
	return y, int((quad+10)%12 + 1), int(julian - 7834*quad/256)
}

func isLeap(y int) bool { return y%4 == 0 && (y%100 != 0 || y%400 == 0) }

func daysInMonth(y, m int) int {
	switch m {
	case 2:
		if isLeap(y) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

// validJulian reports whether julianDay accepts a month of a year.
func validJulian(y, m int) bool {
	return (y > -4713 || (y == -4713 && m >= 11)) && (y < 5874898 || (y == 5874898 && m < 6))
}

// weekday returns the weekday of a Julian day; Sunday is 0.
func weekday(jd int) int {
	w := (jd + 1) % 7
	if w < 0 {
		w += 7
	}
	return w
}

// splitDay splits microseconds since 2000 into days and microseconds of the day.
func splitDay(us int64) (days, micros int64) {
	days = us / usPerDay
	micros = us % usPerDay
	if micros < 0 {
		days--
		micros += usPerDay
	}
	return days, micros
}

func (c *civil) setDay(days int64) {
	c.year, c.mon, c.day = dateOfJulian(int(days) + postgresEpochJDate)
}

func (c *civil) setMicros(us int64) {
	c.hour = int(us / usPerHour)
	us %= usPerHour
	c.min = int(us / usPerMinute)
	us %= usPerMinute
	c.sec = int(us / usPerSecond)
	c.usec = int(us % usPerSecond)
}

// micros returns the time of day.
func (c *civil) micros() int64 {
	return ((int64(c.hour)*60+int64(c.min))*60+int64(c.sec))*usPerSecond + int64(c.usec)
}

// days returns the days since 2000-01-01.
func (c *civil) days() int64 { return int64(julianDay(c.year, c.mon, c.day) - postgresEpochJDate) }

func civilOf(us int64) civil {
	var c civil
	days, rest := splitDay(us)
	c.setDay(days)
	c.setMicros(rest)
	return c
}

// timestamp returns the microseconds since 2000 of the local time; ok is false if it is out of
// range.
func (c *civil) timestamp() (int64, bool) { return c.instant(0) }

// instant returns the timestamp of the local time in a zone. Only the instant must be in range; the
// local time may be outside.
func (c *civil) instant(west int32) (int64, bool) {
	const beyond = 2 // days
	if !validJulian(c.year, c.mon) {
		return 0, false
	}
	d := c.days()
	if d < minDate-beyond || d > endTimestamp/usPerDay+beyond {
		return 0, false
	}
	us := d*usPerDay + c.micros() + int64(west)*usPerSecond
	return us, validTimestamp(us) && finiteTS(us)
}

// offsetAt returns the seconds east of UTC at an instant, and the zone's abbreviation.
func offsetAt(loc *time.Location, us int64) (int, string) {
	if loc == time.UTC {
		return 0, "UTC"
	}
	name, off := time.Unix(floorDiv64(us, usPerSecond)+unixToPostgres, 0).In(loc).Zone()
	return off, name
}

func floorDiv64(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// localToOffset returns the offset (seconds east) of a local time. Like PostgreSQL, it uses the
// offset before a change for a time that the change skips, and the offset after it for a time that
// occurs twice.
func localToOffset(loc *time.Location, local int64) int {
	if loc == time.UTC {
		return 0
	}
	before, _ := offsetAt(loc, local-usPerDay)
	after, _ := offsetAt(loc, local+usPerDay)
	if before == after {
		if now, _ := offsetAt(loc, local-int64(before)*usPerSecond); now == before {
			return before
		}
	}
	atAfter, _ := offsetAt(loc, local-int64(after)*usPerSecond)
	if atAfter == after {
		return after
	}
	return before
}

// civilIn returns the local time of an instant in a zone.
func civilIn(us int64, loc *time.Location) civil {
	off, name := offsetAt(loc, us)
	c := civilOf(us + int64(off)*usPerSecond)
	c.west, c.zone = int32(-off), name
	return c
}

// LocalToUTC returns the instant of a local time in a zone.
func LocalToUTC(local int64, loc *time.Location) int64 {
	if !finiteTS(local) {
		return local
	}
	return local - int64(localToOffset(loc, local))*usPerSecond
}

// InstantOf is like LocalToUTC, and returns an error if the result is no valid timestamp.
func InstantOf(local int64, loc *time.Location) (int64, error) {
	us := LocalToUTC(local, loc)
	if !validTimestamp(us) {
		return 0, timestampRange()
	}
	return us, nil
}

// UTCToLocal returns the local time of an instant in a zone.
func UTCToLocal(us int64, loc *time.Location) int64 {
	if !finiteTS(us) {
		return us
	}
	off, _ := offsetAt(loc, us)
	return us + int64(off)*usPerSecond
}
