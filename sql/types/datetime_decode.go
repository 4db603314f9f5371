package types

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Fields that a text has set so far.
const (
	maskYear = 1 << iota
	maskMonth
	maskDay
	maskDOY
	maskTime
	maskZone
	maskDST
	maskAMPM
	maskEra
	maskWeekday
	maskHour // separate, because the units h, m and s name them
	maskMinute
	maskSecond
	maskDate  = maskYear | maskMonth | maskDay
	maskClock = maskHour | maskMinute | maskSecond
)

// dateDecoder assigns a meaning to the fields of a date/time text, by the rules of PostgreSQL's
// documentation, appendix B.1. Where the documentation says nothing, it follows the server.
type dateDecoder struct {
	env       *Env
	timeOnly  bool
	fields    []field
	tm        civil
	mask      int
	special   int // resEpoch, resInfinity, resNegInfinity
	zone      *time.Location
	abbrev    string
	abbrevOf  abbreviation
	prefix    int // the unit that the next field belongs to
	textMonth bool
	isJulian  bool
	twoDigits bool
	bc        bool
	meridiem  int
	badZone   string
}

func (p *dateDecoder) run() dtError {
	for i := range p.fields {
		got, e := p.field(i)
		if e != dtOK {
			return e
		}
		if got&p.mask != 0 || got&maskTime != 0 && p.mask&maskClock != 0 || got&maskClock != 0 && p.mask&maskTime != 0 {
			return dtBadFormat
		}
		p.mask |= got
	}
	if p.special != 0 {
		return dtOK
	}
	if e := p.validateDate(); e != dtOK {
		return e
	}
	if p.meridiem != meridiemNone && p.tm.hour > 12 {
		return dtOverflow
	}
	if p.meridiem == meridiemAM && p.tm.hour == 12 {
		p.tm.hour = 0
	} else if p.meridiem == meridiemPM && p.tm.hour != 12 {
		p.tm.hour += 12
	}
	if p.timeOnly {
		return p.finishTime()
	}
	return p.finishDate()
}

func (p *dateDecoder) finishDate() dtError {
	if p.mask&maskDate != maskDate {
		if p.mask&maskTime != 0 {
			return dtTimeOnly
		}
		return dtBadFormat
	}
	return p.resolveZone(p.tm)
}

func (p *dateDecoder) finishTime() dtError {
	if timeOverflows(&p.tm) {
		return dtOverflow
	}
	if p.mask&maskTime == 0 {
		return dtBadFormat
	}
	at := p.tm
	if p.mask&maskDate != maskDate {
		if p.mask&maskDate != 0 {
			return dtBadFormat
		}
		if p.zone != nil {
			off, fixed := fixedOffset(p.zone)
			if !fixed {
				return dtBadFormat
			}
			p.tm.west = int32(-off)
			return dtOK
		}
		now := p.now()
		at.year, at.mon, at.day = now.year, now.mon, now.day
	}
	return p.resolveZone(at)
}

// fixedOffset reports whether a zone has always had one offset.
func fixedOffset(loc *time.Location) (int, bool) {
	t := time.Unix(0, 0).In(loc)
	start, end := t.ZoneBounds()
	_, off := t.Zone()
	return off, start.IsZero() && end.IsZero()
}

// resolveZone sets the zone's offset for the local time at.
func (p *dateDecoder) resolveZone(at civil) dtError {
	dst := p.mask&maskDST != 0
	local := at.days()*usPerDay + at.micros()
	switch {
	case (p.zone != nil || p.abbrev != "") && dst:
		return dtBadFormat
	case p.zone != nil:
		p.tm.west = int32(-localToOffset(p.zone, local))
	case p.abbrev != "":
		p.tm.west = int32(-p.abbrevOf.at(p.abbrev, local, true))
	case p.mask&maskZone == 0:
		if dst {
			return dtBadFormat
		}
		p.tm.west = int32(-localToOffset(p.env.location(), local))
	}
	return dtOK
}

func (p *dateDecoder) now() civil { return civilIn(p.env.Now, p.env.location()) }

func (p *dateDecoder) field(i int) (int, dtError) {
	f := p.fields[i]
	switch f.typ {
	case fieldDate:
		return p.dateField(i, f.text)
	case fieldTime:
		if p.prefix != 0 && p.prefix != unitTime {
			return 0, dtBadFormat
		}
		p.prefix = 0
		if e := p.clock(f.text); e != dtOK {
			return 0, e
		}
		if !p.timeOnly && timeOverflows(&p.tm) {
			return 0, dtOverflow
		}
		return maskTime, dtOK
	case fieldZone:
		west, e := decodeOffset(f.text)
		p.tm.west = west
		return maskZone, e
	case fieldNumber:
		return p.numberField(i, f.text)
	}
	return p.word(i, f.text)
}

func (p *dateDecoder) dateField(i int, s string) (int, dtError) {
	switch {
	case p.prefix == unitJulian:
		return p.julianWithZone(s)
	case p.timeOnly:
		last := len(p.fields) - 1
		if i == 0 && last >= 1 && (p.fields[last].typ == fieldDate || p.fields[1].typ == fieldTime) {
			return p.date(s)
		}
	case p.prefix == 0 && p.mask&(maskMonth|maskDay) != maskMonth|maskDay:
		return p.date(s)
	}
	if !isDigit(s[0]) && p.prefix == 0 {
		return maskZone, p.namedZone(s, true)
	}
	if p.prefix != 0 && p.prefix != unitTime {
		return 0, dtBadFormat
	}
	p.prefix = 0
	cut := strings.IndexByte(s, '-')
	if p.mask&maskTime != 0 || cut < 0 {
		return 0, dtBadFormat
	}
	west, e := decodeOffset(s[cut:])
	if e != dtOK {
		return 0, e
	}
	p.tm.west = west
	mask := p.mask
	if p.timeOnly {
		mask |= maskDate
	}
	got, e := p.runTogether(s[:cut], mask)
	return got | maskZone, e
}

func (p *dateDecoder) julianWithZone(s string) (int, dtError) {
	j := skipDigits(s, 0)
	n, ok := atoi32(s[:j])
	if !ok {
		return 0, dtOverflow
	}
	p.tm.year, p.tm.mon, p.tm.day = dateOfJulian(n)
	p.isJulian, p.prefix = true, 0
	west, e := decodeOffset(s[j:])
	p.tm.west = west
	return maskDate | maskTime | maskZone, e
}

func (p *dateDecoder) namedZone(s string, punctuated bool) dtError {
	loc, _, ok := LoadZone(s)
	if !ok {
		if punctuated {
			p.badZone = s
			return dtZoneName
		}
		return dtBadFormat
	}
	p.zone = loc
	return dtOK
}

func (p *dateDecoder) numberField(i int, s string) (int, dtError) {
	mask := p.mask
	if p.timeOnly {
		mask |= maskDate
	}
	switch p.prefix {
	case unitJulian:
		p.prefix = 0
		return p.julian(s)
	case unitTime:
		p.prefix = 0
		got, e := p.runTogether(s, mask|maskDate)
		if e == dtOK && got != maskTime {
			e = dtBadFormat
		}
		return got, e
	case 0:
	default:
		if p.timeOnly {
			return 0, dtBadFormat
		}
		return p.unitField(s)
	}
	dot := strings.IndexByte(s, '.')
	last := len(p.fields) - 1
	if p.timeOnly {
		switch {
		case dot >= 0 && i == 0 && last >= 1 && p.fields[last].typ == fieldDate:
			return p.date(s)
		case dot > 2, dot < 0 && len(s) > 4:
			return p.runTogether(s, mask)
		case dot >= 0:
			return 0, dtBadFormat
		}
		return p.number(s, false, mask)
	}
	switch {
	case dot >= 0 && p.mask&maskDate == 0:
		return p.date(s)
	case dot > 2:
		return p.runTogether(s, mask)
	case len(s) >= 6 && (p.mask&maskDate == 0 || p.mask&maskTime == 0):
		return p.runTogether(s, mask)
	}
	return p.number(s, p.textMonth, mask)
}

// unitField parses a number after the name of its unit, as in Y2001M12D27. A month after a month
// and an hour is a minute.
func (p *dateDecoder) unitField(s string) (int, dtError) {
	unit := p.prefix
	p.prefix = 0
	j := skipDigits(s, 0)
	n, ok := atoi32(s[:j])
	switch {
	case !ok:
		return 0, dtOverflow
	case j < len(s) && (unit != unitSecond || s[j] != '.'):
		return 0, dtBadFormat
	}
	switch unit {
	case unitYear:
		p.tm.year = n
		return maskYear, dtOK
	case unitMonth:
		if p.mask&maskMonth == 0 || p.mask&maskHour == 0 {
			p.tm.mon = n
			return maskMonth, dtOK
		}
		fallthrough
	case unitMinute:
		p.tm.min = n
		return maskMinute, dtOK
	case unitDay:
		p.tm.day = n
		return maskDay, dtOK
	case unitHour:
		p.tm.hour = n
		return maskHour, dtOK
	case unitSecond:
		p.tm.sec = n
		if j < len(s) {
			if p.tm.usec, ok = fractionMicros(s[j:]); !ok {
				return 0, dtBadFormat
			}
		}
		return maskSecond, dtOK
	}
	return 0, dtBadFormat
}

// julian parses a Julian day; its fraction is a time of day.
func (p *dateDecoder) julian(s string) (int, dtError) {
	j := skipDigits(s, 0)
	n, ok := atoi32(s[:j])
	if !ok {
		return 0, dtOverflow
	}
	p.tm.year, p.tm.mon, p.tm.day = dateOfJulian(n)
	p.isJulian = true
	if j == len(s) {
		return maskDate, dtOK
	}
	frac, err := strconv.ParseFloat("0"+s[j:], 64)
	if err != nil {
		return 0, dtBadFormat
	}
	p.tm.setMicros(int64(frac * float64(usPerDay)))
	return maskDate | maskTime, dtOK
}

// date parses a date with delimiters. Its parts are numbers and at most one name of a month.
func (p *dateDecoder) date(s string) (int, dtError) {
	var parts []string
	for i := 0; i < len(s); {
		for i < len(s) && !isDigit(s[i]) && !isAlpha(s[i]) {
			i++
		}
		if i == len(s) {
			return 0, dtBadFormat
		}
		j := i
		if isDigit(s[i]) {
			j = skipDigits(s, i)
		} else {
			for j < len(s) && isAlpha(s[j]) {
				j++
			}
		}
		parts = append(parts, s[i:j])
		i = j
		if i < len(s) {
			i++
		}
	}
	mask, got, textMonth := p.mask, 0, false
	for i, part := range parts {
		if isDigit(part[0]) {
			continue
		}
		w := dateWords[part]
		if w.typ == wordIgnore {
			parts[i] = ""
			continue
		}
		if w.typ != wordMonth || mask&maskMonth != 0 {
			return 0, dtBadFormat
		}
		p.tm.mon, textMonth = w.val, true
		mask, got = mask|maskMonth, got|maskMonth
		parts[i] = ""
	}
	for _, part := range parts {
		if part == "" {
			continue
		}
		g, e := p.number(part, textMonth, mask)
		if e != dtOK {
			return 0, e
		}
		if mask&g != 0 {
			return 0, dtBadFormat
		}
		mask, got = mask|g, got|g
	}
	if mask&^(maskDOY|maskZone) != maskDate {
		return 0, dtBadFormat
	}
	return got, dtOK
}

// number parses one number as the next part of a date in the order of DateStyle, or as a time if
// the date is complete.
func (p *dateDecoder) number(s string, textMonth bool, mask int) (int, dtError) {
	j := skipDigits(s, 0)
	if j == 0 {
		return 0, dtBadFormat
	}
	val, ok := atoi32(s[:j])
	if !ok {
		return 0, dtOverflow
	}
	if j < len(s) {
		if s[j] != '.' {
			return 0, dtBadFormat
		}
		if j > 2 {
			return p.runTogether(s, mask|maskDate)
		}
		if p.tm.usec, ok = fractionMicros(s[j:]); !ok {
			return 0, dtBadFormat
		}
	}
	if len(s) == 3 && mask&maskDate == maskYear && 1 <= val && val <= 366 {
		p.tm.yday = val
		return maskDOY | maskMonth | maskDay, dtOK
	}
	long := len(s) >= 3 || p.env.DateOrder == OrderYMD
	got := 0
	switch mask & maskDate {
	case 0:
		switch {
		case long:
			got = maskYear
		case p.env.DateOrder == OrderDMY:
			got = maskDay
		default:
			got = maskMonth
		}
	case maskYear, maskDay:
		got = maskMonth
	case maskMonth:
		got = maskDay
		if textMonth && long {
			got = maskYear
		}
	case maskYear | maskMonth:
		got = maskDay
		if textMonth && len(s) >= 3 && p.twoDigits {
			p.tm.day, p.tm.year, p.twoDigits = p.tm.year, val, false
			return maskDay, dtOK
		}
	case maskMonth | maskDay:
		got = maskYear
	case maskDate:
		return p.runTogether(s, mask)
	default:
		return 0, dtBadFormat
	}
	switch got {
	case maskYear:
		p.tm.year, p.twoDigits = val, len(s) <= 2
	case maskMonth:
		p.tm.mon = val
	case maskDay:
		p.tm.day = val
	}
	return got, dtOK
}

// runTogether parses yyyymmdd, hhmmss[.fff] or hhmm.
func (p *dateDecoder) runTogether(s string, mask int) (int, dtError) {
	if dot := strings.IndexByte(s, '.'); dot >= 0 {
		p.tm.usec = 0
		if dot+1 < len(s) {
			f, _ := strconv.ParseFloat("0"+s[dot:], 64)
			p.tm.usec = int(math.RoundToEven(f * 1e6))
		}
		s = s[:dot]
	} else if mask&maskDate != maskDate && len(s) >= 6 {
		n := len(s)
		p.tm.day, _ = atoi32(s[n-2:])
		p.tm.mon, _ = atoi32(s[n-4 : n-2])
		var ok bool
		if p.tm.year, ok = atoi32(s[:n-4]); !ok {
			return 0, dtOverflow
		}
		if n-4 == 2 {
			p.twoDigits = true
		}
		return maskDate, dtOK
	}
	if mask&maskTime != 0 || !allDigits(s) {
		return 0, dtBadFormat
	}
	switch len(s) {
	case 6:
		p.tm.hour, _ = atoi32(s[:2])
		p.tm.min, _ = atoi32(s[2:4])
		p.tm.sec, _ = atoi32(s[4:])
		return maskTime, dtOK
	case 4:
		p.tm.hour, _ = atoi32(s[:2])
		p.tm.min, _ = atoi32(s[2:])
		p.tm.sec = 0
		return maskTime, dtOK
	}
	return 0, dtBadFormat
}
