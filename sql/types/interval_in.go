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

// IntervalTypmod returns the modifier of INTERVAL fields (precision).
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

// Names of units in interval texts; only the first ten letters of a word count.
var intervalUnits = map[string]ivUnit{
	"c":          unCentury,
	"cent":       unCentury,
	"centuries":  unCentury,
	"century":    unCentury,
	"d":          unDay,
	"day":        unDay,
	"days":       unDay,
	"dec":        unDecade,
	"decade":     unDecade,
	"decades":    unDecade,
	"decs":       unDecade,
	"h":          unHour,
	"hour":       unHour,
	"hours":      unHour,
	"hr":         unHour,
	"hrs":        unHour,
	"m":          unMinute,
	"microsecon": unMicrosecond,
	"mil":        unMillennium,
	"millennia":  unMillennium,
	"millennium": unMillennium, "millisecon": unMillisecond, "mils": unMillennium, "min": unMinute, "mins": unMinute,
	"minute": unMinute, "minutes": unMinute, "mon": unMonth, "mons": unMonth, "month": unMonth, "months": unMonth,
	"ms": unMillisecond, "msec": unMillisecond, "mseconds": unMillisecond, "msecs": unMillisecond, "qtr": unQuarter,
	"quarter": unQuarter, "s": unSecond, "sec": unSecond, "second": unSecond, "seconds": unSecond, "secs": unSecond,
	"us":       unMicrosecond,
	"usec":     unMicrosecond,
	"useconds": unMicrosecond,
	"usecs":    unMicrosecond,
	"w":        unWeek,
	"week":     unWeek,
	"weeks":    unWeek, "y": unYear, "year": unYear, "years": unYear, "yr": unYear, "yrs": unYear,
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
	negative                bool // SQL standard: one sign for all parts
}

// fields parses values and units from the last to the first, because units follow their values.
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
		if p.us == math.MinInt64 || min(p.years, p.months, p.days) == math.MinInt32 {
			return dtOverflow
		}
		p.years, p.months, p.days, p.us = -p.years, -p.months, -p.days, -p.us
	}
	return dtOK
}

// rightmost returns the unit of a last value without unit, which the modifier decides.
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
	total, ok := mulInt64(h, usPerHour)
	if !ok {
		return 0, dtOverflow
	}
	if total, ok = AddInt(total, int64(m)*usPerMinute+int64(sec)*usPerSecond+int64(us)); !ok && total < 0 {
		return 0, dtOverflow
	}
	if neg || p.negative {
		total = -total
	}
	p.us = total
	return maskIntervalTime, dtOK
}

// value parses a number of a unit, or years-months. It returns the unit for the value before it.
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
