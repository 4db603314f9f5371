package builtin

import (
	"strings"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
)

// field reads one field of a template.
func (r *dateReader) field(f *dateField, exact bool) (err error) {
	switch f.key {
	case "MONTH", "MON":
		m, err := r.name(f.written, 12, func(i int) string { return time.Month(i + 1).String() }, f.key == "MON")
		r.month = m + 1
		return err
	case "DAY", "DY":
		_, err := r.name(f.written, 7, func(i int) string { return time.Weekday(i).String() }, f.key == "DY")
		return err
	case "RM":
		m, err := r.name(f.written, 12, func(i int) string { return romanMonths[11-i] }, false)
		r.month = 12 - m
		return err
	case "AM", "PM", "A.M.", "P.M.", "AD", "BC", "A.D.", "B.C.":
		return r.half(f)
	case "TZ", "OF":
		return pgerr.Unsupported("formatting field \"%s\" is only supported in to_char", f.key)
	case "Y,YYY":
		return r.yearWithComma()
	case "YYYY", "YYY", "YY", "Y", "IYYY", "IYY", "IY", "I":
		return r.yearField(f, exact)
	case "MS", "US", "FF1", "FF2", "FF3", "FF4", "FF5", "FF6":
		return r.fraction(f, exact)
	case "TZH":
		return r.zoneHours(exact)
	}
	return r.plain(f, exact)
}

// widths are the lengths of the fields that are numbers.
var fieldWidths = map[string]int{
	"HH": 2, "HH12": 2, "HH24": 2, "MI": 2, "SS": 2, "SSSS": 5, "SSSSS": 5, "MM": 2, "DDD": 3, "IDDD": 3, "DD": 2, "D": 1, "ID": 1,
	"WW": 2, "IW": 2, "Q": 1, "CC": 2, "W": 1, "J": 7, "TZM": 2,
}

func (r *dateReader) plain(f *dateField, exact bool) error {
	n, _, err := r.number(f.written, fieldWidths[f.key], exact)
	if err != nil {
		return err
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
	case "D":
		r.weekDay = n
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
		r.bc = true
	case 'A':
		r.clock12 = r.clock12 || strings.Contains(options[i], "M")
	}
	return nil
}

func (r *dateReader) yearWithComma() error {
	thousands, _, err := r.number("Y,YYY", 4, false)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(r.rest, ",") {
		return pgerr.New(pgerr.InvalidDatetimeFormat, "invalid input string for \"Y,YYY\"")
	}
	r.rest = r.rest[1:]
	ones, _, err := r.number("Y,YYY", 3, true)
	r.year, r.hasYear, r.yearDigits = thousands*1000+ones, true, 4
	return err
}

// yearField completes a year of fewer than four digits to the one nearest 2020, but for YYYY.
func (r *dateReader) yearField(f *dateField, exact bool) error {
	key := f.key
	n, used, err := r.number(f.written, len(key), exact)
	if err != nil {
		return err
	}
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
	if key[0] == 'I' {
		r.isoYear = n
		return nil
	}
	r.year, r.hasYear, r.yearDigits = n, true, len(key)
	if n < 0 {
		r.year, r.bc = -n, true
	}
	return nil
}

// fraction reads digits of a second: 5 means .5 whatever the field's length.
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
	for ; used < 6; used++ {
		n *= 10
	}
	r.micro = n
	return nil
}

func (r *dateReader) zoneHours(exact bool) error {
	if r.rest != "" && strings.IndexByte("+- ", r.rest[0]) >= 0 {
		if r.rest[0] == '-' {
			r.zoneSign = -1
		}
		r.rest = r.rest[1:]
	}
	n, _, err := r.number("TZH", 2, exact)
	r.zoneH, r.hasZone = n, true
	return err
}
