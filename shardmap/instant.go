package shardmap

import (
	"strconv"
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
)

const (
	secondsPerHour = 3600
	secondsPerDay  = 86400
	ticksPerSecond = 10_000_000
)

// instant is a point in time: seconds since 0001-01-01 00:00 UTC (proleptic Gregorian) and ticks of
// 100 ns within the second; month is the number of months since January of year 1.
type instant struct {
	seconds int64
	ticks   int64
	month   int64
}

// parseInstant reads an ISO 8601 date or timestamp: YYYY-MM-DD[(T| )HH:MM[:SS[.f…]][
// ]][Z|±HH[[:]MM[[:]SS]]] [BC]. Without a zone the time is UTC. That covers what JSON writers emit
// and what PostgreSQL prints under DateStyle ISO; other spellings would depend on settings, and a
// bucket may not.
func parseInstant(text string) (instant, error) {
	s := strings.Trim(text, " \t\n\r\f\v")
	s, bc := strings.CutSuffix(s, " BC")
	date, clock := s, ""
	if i := strings.IndexAny(s, "Tt "); i >= 0 {
		date, clock = s[:i], s[i+1:]
		if clock == "" {
			return instant{}, notTimestamp(text)
		}
	}
	y, m, d, ok := parseDate(date)
	if !ok {
		return instant{}, notTimestamp(text)
	}
	if bc {
		y = 1 - y
	}
	if m < 1 || m > 12 || d < 1 || d > daysIn(y, m) {
		return instant{}, outOfRange(text)
	}
	secs, ticks, ok := parseClock(clock)
	if !ok {
		return instant{}, notTimestamp(text)
	}
	t := instant{seconds: daysSinceYearOne(y, m, d)*secondsPerDay + secs, ticks: ticks}
	t.month = t.monthNumber()
	return t, nil
}

// monthNumber returns the number of months since January of year 1.
func (t instant) monthNumber() int64 {
	y, m := monthOfDay(floorDiv(t.seconds, secondsPerDay))
	return (y-1)*12 + m - 1
}

// parseDate reads YYYY-MM-DD; the year has 4 to 6 digits and is not zero.
func parseDate(s string) (y, m, d int64, ok bool) {
	parts := strings.Split(s, "-")
	if len(parts) != 3 || len(parts[0]) < 4 || len(parts[0]) > 6 {
		return 0, 0, 0, false
	}
	var v [3]int64
	for i, p := range parts {
		if !allDigits(p) || (i > 0 && len(p) != 2) {
			return 0, 0, 0, false
		}
		v[i], _ = strconv.ParseInt(p, 10, 64) // at most six digits
	}
	return v[0], v[1], v[2], v[0] != 0
}

// parseClock reads HH:MM[:SS[.f…]] with a zone and returns the seconds to add to midnight UTC; the
// empty text is midnight.
func parseClock(s string) (secs, ticks int64, ok bool) {
	if s == "" {
		return 0, 0, true
	}
	zone := int64(0)
	if i := strings.IndexAny(s, "Zz+-"); i >= 0 {
		if zone, ok = parseZone(s[i:]); !ok {
			return 0, 0, false
		}
		s = strings.TrimRight(s[:i], " ")
	}
	s, frac, hasFrac := strings.Cut(s, ".")
	parts := strings.Split(s, ":")
	if len(parts) < 2 || len(parts) > 3 || (hasFrac && (len(parts) != 3 || !allDigits(frac))) {
		return 0, 0, false
	}
	secs, ok = parseHMS(parts, 24)
	if !ok || secs > secondsPerDay {
		return 0, 0, false
	}
	if hasFrac {
		ticks, _ = strconv.ParseInt((frac + "0000000")[:7], 10, 64) // seven digits
	}
	return secs - zone, ticks, true
}

// parseZone reads Z or ±HH[[:]MM[[:]SS]] and returns the seconds east of Greenwich.
func parseZone(s string) (int64, bool) {
	if s == "Z" || s == "z" {
		return 0, true
	}
	digits := strings.ReplaceAll(s[1:], ":", "")
	if !allDigits(digits) || len(digits)%2 != 0 || len(digits) > 6 {
		return 0, false
	}
	var parts []string
	for i := 0; i < len(digits); i += 2 {
		parts = append(parts, digits[i:i+2])
	}
	secs, ok := parseHMS(parts, 15)
	if s[0] == '-' {
		secs = -secs
	}
	return secs, ok
}

// parseHMS reads two-digit hours, minutes and seconds; the later ones may be missing.
func parseHMS(parts []string, maxHours int64) (int64, bool) {
	secs, unit := int64(0), int64(secondsPerHour)
	for i, p := range parts {
		if len(p) != 2 || !allDigits(p) {
			return 0, false
		}
		n, _ := strconv.ParseInt(p, 10, 64) // two digits
		limit := int64(60)                  // a leap second rolls over, as in PostgreSQL
		switch i {
		case 0:
			limit = maxHours
		case 1:
			limit = 59
		}
		if n > limit {
			return 0, false
		}
		secs += n * unit
		unit /= 60
	}
	return secs, true
}

func isLeap(y int64) bool { return y%4 == 0 && (y%100 != 0 || y%400 == 0) }

func daysIn(y, m int64) int64 {
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

// daysSinceYearOne counts days from 0001-01-01, in the proleptic Gregorian calendar with a year 0.
func daysSinceYearOne(y, m, d int64) int64 {
	p := y - 1
	days := p*365 + floorDiv(p, 4) - floorDiv(p, 100) + floorDiv(p, 400)
	for k := int64(1); k < m; k++ {
		days += daysIn(y, k)
	}
	return days + d - 1
}

// monthOfDay returns year and month of a day counted from 0001-01-01.
func monthOfDay(day int64) (y, m int64) {
	y = floorDiv(day*400, 146097) + 1 // within one of the year
	for daysSinceYearOne(y, 1, 1) > day {
		y--
	}
	for daysSinceYearOne(y+1, 1, 1) <= day {
		y++
	}
	m = 1
	for m < 12 && daysSinceYearOne(y, m+1, 1) <= day {
		m++
	}
	return y, m
}

func notTimestamp(text string) error {
	return pgerr.New(pgerr.InvalidDatetimeFormat, "invalid input syntax for type timestamp: %s", quoteID(text)).
		WithHint("A field under ticks, day, hour or month holds ISO 8601 text, such as 2026-11-21T06:00:00Z.")
}

func outOfRange(text string) error {
	return pgerr.New(pgerr.DatetimeFieldOverflow, "date/time field value out of range: %s", quoteID(text))
}
