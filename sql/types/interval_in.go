package types

import (
	"math"
	"strconv"
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
)

// Bits of an interval modifier's fields, as in PostgreSQL: modifier = fields<<16 | precision.
const (
	ivMonth  = 1 << 1
	ivYear   = 1 << 2
	ivDay    = 1 << 3
	ivHour   = 1 << 10
	ivMinute = 1 << 11
	ivSecond = 1 << 12

	ivFullRange     = 0x7fff
	ivFullPrecision = 0xffff
)

// IntervalTypmod gives the modifier of INTERVAL fields (precision).
func IntervalTypmod(fields, precision int32) int32 { return fields<<16 | precision&0xffff }

type ivUnit uint8

const (
	unNone ivUnit = iota
	unMicrosecond
	unMillisecond
	unSecond
	unMinute
	unHour
	unDay
	unWeek
	unMonth
	unYear
	unDecade
	unCentury
	unMillennium
	unQuarter
)

// Units as the interval syntax spells them; longer words count by their first ten letters.
var intervalUnits = map[string]ivUnit{
	"c": unCentury, "cent": unCentury, "centuries": unCentury, "century": unCentury, "d": unDay, "day": unDay, "days": unDay,
	"dec": unDecade, "decade": unDecade, "decades": unDecade, "decs": unDecade, "h": unHour, "hour": unHour, "hours": unHour,
	"hr": unHour, "hrs": unHour, "m": unMinute, "microsecon": unMicrosecond, "mil": unMillennium, "millennia": unMillennium,
	"millennium": unMillennium, "millisecon": unMillisecond, "mils": unMillennium, "min": unMinute, "mins": unMinute,
	"minute": unMinute, "minutes": unMinute, "mon": unMonth, "mons": unMonth, "month": unMonth, "months": unMonth,
	"ms": unMillisecond, "msec": unMillisecond, "mseconds": unMillisecond, "msecs": unMillisecond, "qtr": unQuarter,
	"quarter": unQuarter, "s": unSecond, "sec": unSecond, "second": unSecond, "seconds": unSecond, "secs": unSecond,
	"us": unMicrosecond, "usec": unMicrosecond, "useconds": unMicrosecond, "usecs": unMicrosecond, "w": unWeek, "week": unWeek,
	"weeks": unWeek, "y": unYear, "year": unYear, "years": unYear, "yr": unYear, "yrs": unYear,
}

func unitOf(word string) ivUnit {
	if len(word) > 10 {
		word = word[:10]
	}
	return intervalUnits[word]
}

func parseInterval(s string, typmod int32, env *Env) (Datum, error) {
	p := intervalParser{mask: ivFullRange}
	if typmod >= 0 {
		p.mask = typmod >> 16 & 0x7fff
	}
	fields, e := scanDateTime(s)
	if e == dtOK {
		e = p.fields(fields, env.IntervalFormat == IntervalSQL)
	}
	if e == dtBadFormat {
		p = intervalParser{}
		e = p.iso(s)
	}
	if e == dtOverflow {
		e = dtIntervalOverflow
	}
	if e != dtOK {
		return Null, datetimeError(e, "interval", s, "")
	}
	months := p.years*12 + p.months
	if months != int64(int32(months)) || p.days != int64(int32(p.days)) {
		return Null, intervalRange()
	}
	return NewInterval(int32(months), int32(p.days), p.us), nil
}

func intervalRange() error {
	return pgerr.New(pgerr.DatetimeFieldOverflow, "interval out of range")
}

// intervalParser collects the parts of an interval.
type intervalParser struct {
	mask                    int32
	years, months, days, us int64
	seen                    int
	negative                bool // SQL standard: one sign for all
}

// fields reads values and units from the last to the first, because units follow their values.
func (p *intervalParser) fields(fields []field, sqlStyle bool) dtError {
	if sqlStyle && len(fields) > 0 && fields[0].text[0] == '-' {
		p.negative = true
		for _, f := range fields[1:] {
			if f.text[0] == '-' || f.text[0] == '+' {
				p.negative = false
			}
		}
	}
	unit, ago := unNone, false
	for i := len(fields) - 1; i >= 0; i-- {
		f, got, e := fields[i], 0, dtOK
		switch f.typ {
		case fieldTime:
			got, e = p.clock(f.text, false)
			unit = unDay
		case fieldZone, fieldDate, fieldNumber:
			if f.typ == fieldZone && strings.IndexByte(f.text, ':') > 0 {
				if got, e = p.clock(f.text[1:], f.text[0] == '-'); e == dtOK {
					unit = unDay
					break
				}
			}
			if unit == unNone {
				unit = p.rightmost()
			}
			got, unit, e = p.value(f.text, unit)
		default:
			if f.text == "ago" {
				ago = true
				unit = unNone
				continue
			}
			if unit = unitOf(f.text); unit == unNone {
				return dtBadFormat
			}
			continue
		}
		if e != dtOK {
			return e
		}
		if got&p.seen != 0 {
			return dtBadFormat
		}
		p.seen |= got
	}
	if p.seen == 0 {
		return dtBadFormat
	}
	if ago {
		if p.us == math.MinInt64 {
			return dtOverflow
		}
		p.years, p.months, p.days, p.us = -p.years, -p.months, -p.days, -p.us
	}
	return dtOK
}

// rightmost is the unit of a last value without one, which the modifier decides.
func (p *intervalParser) rightmost() ivUnit {
	switch p.mask {
	case ivYear:
		return unYear
	case ivMonth, ivYear | ivMonth:
		return unMonth
	case ivDay:
		return unDay
	case ivHour, ivDay | ivHour:
		return unHour
	case ivMinute, ivHour | ivMinute, ivDay | ivHour | ivMinute:
		return unMinute
	}
	return unSecond
}

const maskIntervalTime = 1<<unMicrosecond | 1<<unMillisecond | 1<<unSecond | 1<<unMinute | 1<<unHour

func (p *intervalParser) clock(s string, neg bool) (int, dtError) {
	h, m, sec, us, e := decodeClock(s, p.mask == ivMinute|ivSecond)
	if e != dtOK {
		return 0, e
	}
	if h > math.MaxInt64/usPerHour-1 {
		return 0, dtOverflow
	}
	total := h*usPerHour + int64(m)*usPerMinute + int64(sec)*usPerSecond + int64(us)
	if neg || p.negative {
		total = -total
	}
	p.us = total
	return maskIntervalTime, dtOK
}

// value reads a number, or years-months, of a unit. It gives the unit for the value before it.
func (p *intervalParser) value(s string, unit ivUnit) (int, ivUnit, dtError) {
	j := 0
	if s[0] == '-' || s[0] == '+' {
		j = 1
	}
	digits := skipDigits(s, j)
	whole, frac := s[:digits], 0.0
	if digits == j && (digits == len(s) || s[digits] != '.') {
		return 0, unit, dtBadFormat
	}
	val, err := strconv.ParseInt(whole, 10, 64)
	if digits == j {
		val, err = 0, nil
	}
	if err != nil {
		return 0, unit, dtOverflow
	}
	neg := s[0] == '-'
	switch rest := s[digits:]; {
	case rest == "":
	case rest[0] == '-':
		months, ok := atoi32(rest[1:])
		if !allDigits(rest[1:]) {
			return 0, unit, dtBadFormat
		}
		if !ok || months >= 12 || val > math.MaxInt32 || val < math.MinInt32 {
			return 0, unit, dtOverflow
		}
		if neg {
			months = -months
		}
		val, unit = val*12+int64(months), unMonth
	case rest[0] == '.':
		if len(rest) > 1 && !allDigits(rest[1:]) {
			return 0, unit, dtBadFormat
		}
		frac, _ = strconv.ParseFloat("0"+rest, 64)
		if neg {
			frac = -frac
		}
	default:
		return 0, unit, dtBadFormat
	}
	if p.negative {
		val, frac = -absInt(val), -math.Abs(frac)
	}
	if !p.add(unit, val, frac) {
		if unit == unQuarter {
			return 0, unit, dtBadFormat
		}
		return 0, unit, dtOverflow
	}
	got := 1 << unit
	if unit == unSecond && frac != 0 {
		got |= 1<<unMicrosecond | 1<<unMillisecond
	}
	if unit == unHour {
		unit = unDay
	}
	return got, unit, dtOK
}

func absInt(n int64) int64 {
	if n < 0 {
		return -n
	}
	return n
}

// add adds val and a fraction of a unit; false is overflow.
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

// iso reads the forms of ISO 8601: P1Y2M3DT4H5M6S, P0001-02-03T04:05:06, P00010203T040506.
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

// isoAlternative reads the alternative forms, whose first number is val; it gives what follows.
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

// isoNumber reads a decimal number and its count of digits before the point.
func isoNumber(s string) (val int64, frac float64, width int, rest string, e dtError) {
	j := 0
	if s != "" && s[0] == '-' {
		j = 1
	}
	k := skipDigits(s, j)
	width = k - j
	end := k
	if end < len(s) && s[end] == '.' {
		end = skipDigits(s, end+1)
	}
	if width == 0 && end <= k+1 {
		return 0, 0, 0, "", dtBadFormat
	}
	if width > 0 {
		var err error
		if val, err = strconv.ParseInt(s[:k], 10, 64); err != nil {
			return 0, 0, 0, "", dtOverflow
		}
	}
	if end > k+1 {
		frac, _ = strconv.ParseFloat("0"+s[k:end], 64)
		if j == 1 {
			frac = -frac
		}
	}
	return val, frac, width, s[end:], dtOK
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
