package types

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

// add adds val and a fraction of a unit; it returns false on overflow.
func (p *intervalParser) add(unit ivUnit, val int64, frac float64) bool {
	switch unit {
	case unMicrosecond:
		return p.addMicros(val, frac, 1)
	case unMillisecond:
		return p.addMicros(val, frac, 1000)
	case unSecond:
		return p.addMicros(val, frac, usPerSecond)
	case unMinute:
		return p.addMicros(val, frac, usPerMinute)
	case unHour:
		return p.addMicros(val, frac, usPerHour)
	case unDay:
		return p.addDays(val, 1) && p.addFraction(frac, usPerDay)
	case unWeek:
		return p.addDays(val, 7) && p.addFractDays(frac, 7)
	case unMonth:
		p.months += val
		return fits32(val) && fits32(p.months) && p.addFractDays(frac, 30)
	case unYear:
		return p.addYears(val, frac, 1)
	case unDecade:
		return p.addYears(val, frac, 10)
	case unCentury:
		return p.addYears(val, frac, 100)
	case unMillennium:
		return p.addYears(val, frac, 1000)
	}
	return false
}

func fits32(n int64) bool { return n == int64(int32(n)) }

func (p *intervalParser) addMicros(val int64, frac float64, scale int64) bool {
	v, ok := mulInt64(val, scale)
	if !ok {
		return false
	}
	sum := p.us + v
	if (sum > p.us) != (v > 0) && v != 0 {
		return false
	}
	p.us = sum
	return p.addFraction(frac, scale)
}

// addFraction adds a fraction of a unit of scale microseconds, rounded.
func (p *intervalParser) addFraction(frac float64, scale int64) bool {
	if frac == 0 {
		return true
	}
	frac *= float64(scale)
	us := int64(frac)
	frac -= float64(us)
	if frac > 0.5 {
		us++
	} else if frac < -0.5 {
		us--
	}
	sum := p.us + us
	if us != 0 && (sum > p.us) != (us > 0) {
		return false
	}
	p.us = sum
	return true
}

func (p *intervalParser) addDays(val, scale int64) bool {
	if !fits32(val) || !fits32(val*scale) {
		return false
	}
	p.days += val * scale
	return fits32(p.days)
}

func (p *intervalParser) addFractDays(frac, scale float64) bool {
	frac *= scale
	days := int64(frac)
	p.days += days
	return fits32(p.days) && p.addFraction(frac-float64(days), usPerDay)
}

func (p *intervalParser) addYears(val int64, frac float64, scale int64) bool {
	if !fits32(val) || !fits32(val*scale) {
		return false
	}
	p.years += val * scale
	p.months += int64(math.RoundToEven(frac * float64(scale) * 12))
	return fits32(p.years) && fits32(p.months)
}

// iso parses the forms of ISO 8601: P1Y2M3DT4H5M6S, P0001-02-03T04:05:06, P00010203T040506.
func (p *intervalParser) iso(s string) dtError {
	if len(s) < 2 || s[0] != 'P' {
		return dtBadFormat
	}
	s = s[1:]
	datePart, have := true, false
	for s != "" {
		if s[0] == 'T' {
			datePart, have = false, false
			s = s[1:]
			continue
		}
		val, frac, width, rest, e := isoNumber(s)
		if e != dtOK {
			return e
		}
		s = rest
		if s == "" || (datePart && (s[0] == 'T' || s[0] == '-')) || (!datePart && s[0] == ':') {
			if have {
				return dtBadFormat
			}
			if s, e = p.isoAlternative(s, val, frac, width, datePart); e != dtOK {
				return e
			}
			continue
		}
		unit := isoUnit(s[0], datePart)
		if unit == unNone {
			return dtBadFormat
		}
		if !p.add(unit, val, frac) {
			return dtOverflow
		}
		s, have = s[1:], true
	}
	return dtOK
}

func isoUnit(c byte, datePart bool) ivUnit {
	switch {
	case datePart && c == 'Y':
		return unYear
	case datePart && c == 'M':
		return unMonth
	case datePart && c == 'W':
		return unWeek
	case datePart && c == 'D':
		return unDay
	case !datePart && c == 'H':
		return unHour
	case !datePart && c == 'M':
		return unMinute
	case !datePart && c == 'S':
		return unSecond
	}
	return unNone
}

// isoAlternative parses the alternative forms, whose first number is val, and returns the rest.
func (p *intervalParser) isoAlternative(s string, val int64, frac float64, width int, datePart bool) (string, dtError) {
	units, sep, basic := [3]ivUnit{unYear, unMonth, unDay}, byte('-'), int64(10000)
	if !datePart {
		units, sep = [3]ivUnit{unHour, unMinute, unSecond}, ':'
	}
	if (datePart && width == 8 || !datePart && width == 6) && (s == "" || s[0] != sep) {
		ok := p.add(units[0], val/basic, 0) && p.add(units[1], val/100%100, 0) && p.add(units[2], val%100, frac)
		if !ok {
			return "", dtOverflow
		}
		return s, dtOK
	}
	for i := 0; ; i++ {
		if !p.add(units[i], val, frac) {
			return "", dtOverflow
		}
		if s == "" || (datePart && s[0] == 'T') {
			return s, dtOK
		}
		if i == 2 || s[0] != sep {
			return "", dtBadFormat
		}
		var e dtError
		if val, frac, _, s, e = isoNumber(s[1:]); e != dtOK {
			return "", e
		}
	}
}

// isoFloat matches a decimal number with an optional exponent, as C's strtod does.
var isoFloat = regexp.MustCompile(`^-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?`)

// isoNumber parses a number, and counts its digits before the point. Like PostgreSQL, it splits a
// float8 into whole part and fraction, so large numbers are rounded.
func isoNumber(s string) (val int64, frac float64, width int, rest string, e dtError) {
	const most = 1e15
	text := isoFloat.FindString(s)
	if text == "" {
		return 0, 0, 0, "", dtBadFormat
	}
	f, err := strconv.ParseFloat(text, 64)
	if math.Abs(f) > most {
		return 0, 0, 0, "", dtOverflow
	}
	if err != nil {
		return 0, 0, 0, "", dtBadFormat
	}
	digits := strings.TrimPrefix(text, "-")
	whole := math.Trunc(f)
	return int64(whole), f - whole, skipDigits(digits, 0), s[len(text):], dtOK
}

func applyIntervalTypmod(typmod int32, d Datum) (Datum, error) {
	months, days, us := IntervalParts(d)
	switch typmod >> 16 & 0x7fff {
	case ivYear:
		months, days, us = months/12*12, 0, 0
	case ivMonth, ivYear | ivMonth:
		days, us = 0, 0
	case ivDay:
		us = 0
	case ivHour, ivDay | ivHour:
		us = us / usPerHour * usPerHour
	case ivMinute, ivHour | ivMinute, ivDay | ivHour | ivMinute:
		us = us / usPerMinute * usPerMinute
	}
	if precision := typmod & 0xffff; precision != ivFullPrecision {
		us = roundMicros(us, precision)
	}
	return NewInterval(months, days, us), nil
}
