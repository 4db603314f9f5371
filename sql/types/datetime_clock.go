package types

import (
	"math"
	"strconv"
	"strings"
)

// clock parses hh:mm[:ss[.fff]] or mm:ss.fff.
func (p *dateDecoder) clock(s string) dtError {
	h, m, sec, us, e := decodeClock(s, false)
	if e != dtOK {
		return e
	}
	if h > math.MaxInt32 {
		return dtOverflow
	}
	p.tm.hour, p.tm.min, p.tm.sec, p.tm.usec = int(h), m, sec, us
	return dtOK
}

func decodeClock(s string, minuteToSecond bool) (hour int64, min, sec, usec int, e dtError) {
	j := skipDigits(s, 0)
	hour, err := strconv.ParseInt("0"+s[:j], 10, 64)
	if err != nil {
		return 0, 0, 0, 0, dtOverflow
	}
	if j >= len(s) || s[j] != ':' {
		return 0, 0, 0, 0, dtBadFormat
	}
	s = s[j+1:]
	j = skipDigits(s, 0)
	min, ok := atoi32(s[:j])
	if !ok {
		return 0, 0, 0, 0, dtOverflow
	}
	s = s[j:]
	shift := false
	switch {
	case s == "":
		shift = minuteToSecond
	case s[0] == '.':
		shift = true
		usec, ok = fractionMicros(s)
	case s[0] == ':':
		j = skipDigits(s, 1)
		if sec, ok = atoi32(s[1:j]); !ok {
			return 0, 0, 0, 0, dtOverflow
		}
		if j < len(s) {
			usec, ok = fractionMicros(s[j:])
		}
	default:
		ok = false
	}
	if !ok {
		return 0, 0, 0, 0, dtBadFormat
	}
	if shift {
		if hour > math.MaxInt32 {
			return 0, 0, 0, 0, dtOverflow
		}
		hour, min, sec = 0, int(hour), min
	}
	if min > 59 || sec > 60 || usec > int(usPerSecond) {
		return 0, 0, 0, 0, dtOverflow
	}
	return hour, min, sec, usec, dtOK
}

// fractionMicros parses .fff, rounded to microseconds.
func fractionMicros(s string) (int, bool) {
	if s == "" || s[0] != '.' || !(len(s) == 1 || allDigits(s[1:])) {
		return 0, false
	}
	f, err := strconv.ParseFloat("0"+s, 64)
	return int(math.RoundToEven(f * 1e6)), err == nil
}

// atoi32 parses digits like C's strtol, bounded to an int; without digits the result is 0.
func atoi32(s string) (int, bool) {
	if s == "" {
		return 0, true
	}
	n, err := strconv.ParseInt(s, 10, 32)
	return int(n), err == nil
}

// decodeOffset parses ±hh[:mm[:ss]] or ±hhmm, and returns seconds west.
func decodeOffset(s string) (int32, dtError) {
	if s == "" || (s[0] != '+' && s[0] != '-') {
		return 0, dtBadFormat
	}
	if len(s) > 2 && s[1] == '-' && isDigit(s[2]) {
		return 0, dtZoneOverflow // a negative number of hours
	}
	j := skipDigits(s, 1)
	hr, ok := atoi32(s[1:j])
	min, sec, rest := 0, 0, s[j:]
	var ok2, ok3 = true, true
	if strings.HasPrefix(rest, ":") {
		k := skipDigits(rest, 1)
		min, ok2 = atoi32(rest[1:k])
		rest = rest[k:]
		if strings.HasPrefix(rest, ":") {
			k = skipDigits(rest, 1)
			sec, ok3 = atoi32(rest[1:k])
			rest = rest[k:]
		}
	} else if rest == "" && len(s) > 3 {
		hr, min = hr/100, hr%100
	}
	if !ok || !ok2 || !ok3 || hr > 15 || min >= 60 || sec >= 60 {
		return 0, dtZoneOverflow
	}
	if rest != "" {
		return 0, dtBadFormat
	}
	west := int32(-((hr*60+min)*60 + sec))
	if s[0] == '-' {
		west = -west
	}
	return west, dtOK
}

func timeOverflows(c *civil) bool {
	return c.hour < 0 || c.hour > 24 || c.min < 0 || c.min > 59 || c.sec < 0 || c.sec > 60 || c.micros() > usPerDay
}

// validateDate completes the year and checks the date.
func (p *dateDecoder) validateDate() dtError {
	t := &p.tm
	if p.mask&maskYear != 0 && !p.isJulian {
		switch {
		case p.bc:
			if t.year <= 0 {
				return dtOverflow
			}
			t.year = 1 - t.year
		case p.twoDigits:
			if t.year < 70 {
				t.year += 2000
			} else if t.year < 100 {
				t.year += 1900
			}
		case t.year <= 0:
			return dtOverflow
		}
	}
	if p.mask&maskDOY != 0 {
		t.year, t.mon, t.day = dateOfJulian(julianDay(t.year, 1, 1) + t.yday - 1)
	}
	if p.mask&maskMonth != 0 && (t.mon < 1 || t.mon > 12) {
		return dtMonthDayOverflow
	}
	if p.mask&maskDay != 0 && (t.day < 1 || t.day > 31) {
		return dtMonthDayOverflow
	}
	if p.mask&maskDate == maskDate && t.day > daysInMonth(t.year, t.mon) {
		return dtOverflow
	}
	return dtOK
}
