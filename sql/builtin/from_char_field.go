package builtin

import (
	"strings"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
)

// fieldValues has the names of values that several fields set.
var fieldValues = map[string]string{
	"HH": "hour", "HH12": "hour", "HH24": "hour", "SSSS": "SSSSS",
	"US": "us", "FF1": "us", "FF2": "us", "FF3": "us", "FF4": "us", "FF5": "us", "FF6": "us",
	"AM": "half", "PM": "half", "A.M.": "half", "P.M.": "half",
	"AD": "era", "BC": "era", "A.D.": "era", "B.C.": "era",
	"MONTH": "month", "MON": "month", "MM": "month", "RM": "month",
	"DAY": "weekday", "DY": "weekday", "D": "weekday", "ID": "weekday", "DDD": "yearday", "IDDD": "yearday",
	"WW": "week", "IW": "week",
	"Y,YYY": "year", "YYYY": "year", "YYY": "year", "YY": "year", "Y": "year",
	"IYYY": "year", "IYY": "year", "IY": "year", "I": "year",
}

// set records the value of a field; kept is what later values are compared with. As in PostgreSQL,
// a field must not contradict an earlier one that sets the same value, and 0 counts as not set.
func (r *dateReader) set(f *dateField, value, kept int) error {
	name := fieldValues[f.key]
	if name == "" {
		name = f.key
	}
	if old := r.values[name]; old != 0 && old != value {
		const text = "conflicting values for \"%s\" field in formatting string"
		return pgerr.New(pgerr.InvalidDatetimeFormat, text, f.written).
			WithDetail("This value contradicts a previous setting for the same field type.")
	}
	if r.values == nil {
		r.values = map[string]int{}
	}
	r.values[name] = kept
	return nil
}

// The calendars of the fields of a template.
const (
	gregorian = 1 << iota
	byISOWeek
)

// calendar refuses a template with fields of both the Gregorian calendar and ISO weeks.
func (r *dateReader) calendar(key string) error {
	switch key {
	case "IYYY", "IYY", "IY", "I", "IDDD", "IW", "ID":
		r.calendars |= byISOWeek
	case "Y,YYY", "YYYY", "YYY", "YY", "Y", "MONTH", "MON", "MM", "RM", "DDD", "DD", "D", "WW", "W":
		r.calendars |= gregorian
	}
	if r.calendars == gregorian|byISOWeek {
		return pgerr.New(pgerr.InvalidDatetimeFormat, "invalid combination of date conventions").
			WithHint("Do not mix Gregorian and ISO week date conventions in a formatting template.")
	}
	return nil
}

// field parses one field of a template.
func (r *dateReader) field(f *dateField, exact bool) error {
	if err := r.calendar(f.key); err != nil {
		return err
	}
	switch f.key {
	case "MONTH", "MON":
		m, err := r.name(f.written, 12, func(i int) string { return time.Month(i + 1).String() }, f.key == "MON")
		if err != nil {
			return err
		}
		r.month = m + 1
		return r.set(f, r.month, r.month)
	case "DAY", "DY":
		d, err := r.name(f.written, 7, func(i int) string { return time.Weekday(i).String() }, f.key == "DY")
		if err != nil {
			return err
		}
		return r.set(f, d, d+1)
	case "RM":
		m, err := r.name(f.written, 12, func(i int) string { return romanMonths[11-i] }, false)
		if err != nil {
			return err
		}
		r.month = 12 - m
		return r.set(f, r.month, r.month)
	case "AM", "PM", "A.M.", "P.M.", "AD", "BC", "A.D.", "B.C.":
		return r.half(f)
	case "TZ", "OF":
		return pgerr.Unsupported("formatting field \"%s\" is only supported in to_char", f.key)
	case "Y,YYY":
		return r.yearWithComma(f)
	case "YYYY", "YYY", "YY", "Y", "IYYY", "IYY", "IY", "I":
		return r.yearField(f, exact)
	case "MS", "US", "FF1", "FF2", "FF3", "FF4", "FF5", "FF6":
		return r.fraction(f, exact)
	case "TZH":
		return r.zoneHours(f, exact)
	}
	return r.plain(f, exact)
}

// fieldWidths are the lengths of numeric fields.
var fieldWidths = map[string]int{
	"HH":    2,
	"HH12":  2,
	"HH24":  2,
	"MI":    2,
	"SS":    2,
	"SSSS":  5,
	"SSSSS": 5,
	"MM":    2,
	"DDD":   3,
	"IDDD":  3,
	"DD":    2,
	"D":     1,
	"ID":    1,
	"WW":    2, "IW": 2, "Q": 1, "CC": 2, "W": 1, "J": 7, "TZM": 2,
}

func (r *dateReader) plain(f *dateField, exact bool) error {
	n, _, err := r.number(f.written, fieldWidths[f.key], exact)
	if err != nil {
		return err
	}
	kept := n
	if f.key == "ID" {
		kept = n%7 + 1 // the number of that day in D
	}
	if f.key != "Q" { // a quarter is ignored
		if err := r.set(f, n, kept); err != nil {
			return err
		}
	}
	switch f.key {
	case "HH", "HH12":
		r.hour, r.clock12 = n, true
	case "HH24":
		r.hour = n
	case "MI":
		r.minute = n
	case "SS":
		r.sec = n
	case "SSSS", "SSSSS":
		r.daySeconds = n
	case "MM":
		if n < 1 || n > 12 {
			r.month = -1
			return nil
		}
		r.month = n
	case "DD":
		r.day = n
		if n == 0 {
			r.day = -1
		}
	case "DDD":
		r.yearDay = n
	case "IDDD":
		r.isoWeek, r.iso = (n-1)/7+1, (n-1)%7+1
	case "ID":
		r.iso = n
	case "WW":
		r.week = n
	case "IW":
		r.isoWeek = n
	case "W":
		r.monthWeek = n
	case "J":
		r.julian = n
	case "CC":
		r.century = n
	case "TZM":
		r.zoneM, r.hasZone = n, true
	}
	return nil
}

func (r *dateReader) half(f *dateField) error {
	key := f.key
	options := []string{"A" + key[1:], "P" + key[1:]}
	if key[len(key)-1] != 'M' && key[len(key)-2] != 'M' {
		options = []string{"AD", "BC"}
		if strings.Contains(key, ".") {
			options = []string{"A.D.", "B.C."}
		}
	}
	i, err := r.name(f.written, 2, func(i int) string { return options[i] }, false)
	if err != nil {
		return err
	}
	switch options[i][0] {
	case 'P':
		r.pm, r.clock12 = true, true
	case 'B':
		r.bc = !r.bc
	case 'A':
		r.clock12 = r.clock12 || strings.Contains(options[i], "M")
	}
	return r.set(f, i, i)
}

func (r *dateReader) yearWithComma(f *dateField) error {
	thousands, _, err := r.number("Y,YYY", 4, false)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(r.rest, ",") {
		return pgerr.New(pgerr.InvalidDatetimeFormat, "invalid input string for \"Y,YYY\"")
	}
	r.rest = r.rest[1:]
	ones, _, err := r.number("Y,YYY", 3, true)
	if err != nil {
		return err
	}
	r.year, r.hasYear, r.yearDigits = thousands*1000+ones, true, 4
	return r.set(f, r.year, r.year)
}

// yearField completes a year of fewer than four digits to the year nearest to 2020, except for
// YYYY.
func (r *dateReader) yearField(f *dateField, exact bool) error {
	key := f.key
	n, used, err := r.number(f.written, len(key), exact)
	if err != nil {
		return err
	}
	read := n
	if len(key) < 4 && used < 4 && n >= 0 {
		switch {
		case n < 70:
			n += 2000
		case n < 100:
			n += 1900
		case n < 520:
			n += 2000
		case n < 1000:
			n += 1000
		}
	}
	if err := r.set(f, read, n); err != nil {
		return err
	}
	if key[0] == 'I' {
		r.isoYear = n
		return nil
	}
	r.year, r.hasYear, r.yearDigits = n, true, len(key)
	if n < 0 {
		r.year, r.bc = -n, !r.bc // with BC it is a year of our era
	}
	return nil
}

// fraction parses digits of a second: 5 means .5 whatever the field's length.
func (r *dateReader) fraction(f *dateField, exact bool) error {
	key, width := f.key, 6
	switch {
	case key == "MS":
		width = 3
	case key[0] == 'F':
		width = int(key[2] - '0')
	}
	n, used, err := r.number(f.written, width, exact)
	if err != nil {
		return err
	}
	if used > 6 {
		return pgerr.New(pgerr.DatetimeFieldOverflow, "value for \"%s\" in source string is out of range", key)
	}
	read := n
	for digits := used; digits < 6; digits++ {
		n *= 10
	}
	kept := n
	switch {
	case key == "MS":
		kept = n / 1000
	case key[0] == 'F': // the result has so many digits (AdjustTimestampForTypmod)
		unit := 1
		for range 6 - width {
			unit *= 10
		}
		kept = (n + unit/2) / unit * unit
	}
	return r.set(f, read, kept)
}

func (r *dateReader) zoneHours(f *dateField, exact bool) error {
	if r.rest != "" && strings.IndexByte("+- ", r.rest[0]) >= 0 {
		if r.rest[0] == '-' {
			r.zoneSign = -1
		}
		r.rest = r.rest[1:]
	}
	n, _, err := r.number("TZH", 2, exact)
	if err != nil {
		return err
	}
	r.zoneH, r.hasZone = n, true
	return r.set(f, n, n)
}
