package builtin

import (
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// fromChar has to_date and to_timestamp with a template.
var fromChar = map[string]Func{"to_date": toDate, "to_timestamp": toTimestamp}

// dateReader parses a text by a template, field by field.
type dateReader struct {
	rest    string
	skipped int // blanks skipped beyond those of the template

	year, month, day       int
	hour, minute, sec      int
	yearDay, week          int
	isoYear, isoWeek, iso  int
	julian, century        int
	monthWeek, daySeconds  int
	yearDigits             int
	hasYear, bc, pm        bool
	clock12, hasZone       bool
	zoneSign, zoneH, zoneM int

	values    map[string]int // values that fields have set so far, by name (set)
	calendars uint8          // of the fields so far
}

func badField(value, key string) *pgerr.Error {
	return pgerr.New(pgerr.InvalidDatetimeFormat, "invalid value \"%s\" for \"%s\"", value, key)
}

func outOfField(text string) error {
	return pgerr.New(pgerr.DatetimeFieldOverflow, "date/time field value out of range: \"%s\"", text)
}

func toDate(_ *Ctx, a []types.Datum) (types.Datum, error) {
	r, err := readDate(a[0].S, a[1].S)
	if err != nil {
		return types.Null, err
	}
	days, err := r.date(a[0].S)
	return types.NewDate(days), err
}

func toTimestamp(c *Ctx, a []types.Datum) (types.Datum, error) {
	r, err := readDate(a[0].S, a[1].S)
	if err != nil {
		return types.Null, err
	}
	days, err := r.date(a[0].S)
	if err != nil {
		return types.Null, err
	}
	midnight, err := types.DateToTimestamp(days, nil)
	if err != nil {
		return types.Null, err
	}
	us, err := r.time(a[0].S)
	if err != nil {
		return types.Null, err
	}
	local, err := types.TimestampAdd(midnight, types.NewInterval(0, 0, us), nil)
	if err != nil {
		return types.Null, err
	}
	if r.hasZone {
		east := int64(r.zoneSign * (r.zoneH*3600 + r.zoneM*60))
		return types.NewTimestamp(local - east*usSecond), nil
	}
	return usOrError(types.InstantOf(local, c.zone()))
}

func readDate(text, template string) (*dateReader, error) {
	r := &dateReader{rest: text, zoneSign: 1}
	if strings.Contains(strings.ToUpper(template), "FX") {
		return nil, pgerr.Unsupported("template modifier \"FX\" is not supported yet").
			WithHint("Leave it out: blanks are then matched loosely.")
	}
	fields := parseDateTemplate(template)
	for i, f := range fields {
		if f.key == "" {
			r.literal(f.literal)
			continue
		}
		r.skipBlanks()
		exact := i+1 < len(fields) && f.ordinal == "" && !f.fill && isDigitField(fields[i+1])
		if err := r.field(&f, exact); err != nil {
			return nil, err
		}
		if f.ordinal != "" && len(r.rest) >= 2 {
			r.rest = r.rest[2:]
		}
		if r.rest == "" && i+1 < len(fields) {
			break
		}
	}
	return r, nil
}

// isDigitField reports whether the field can begin with a digit, so that the field before it must
// have a fixed length.
func isDigitField(f dateField) bool {
	if f.key == "" {
		return f.literal[0] >= '0' && f.literal[0] <= '9'
	}
	return !strings.Contains("MONTH MON DAY DY AM PM A.M. P.M. AD BC A.D. B.C. RM TZ OF TZH", f.key)
}

func (r *dateReader) skipBlanks() {
	for r.rest != "" && (isBlank(r.rest[0]) || r.rest[0] == '\v' || r.rest[0] == '\f') {
		r.rest = r.rest[1:]
		r.skipped++
	}
}

// isSeparator reports whether a character separates fields: it is neither letter nor digit.
func isSeparator(r rune) bool {
	return r > 0x20 && r < 0x7f && !unicode.IsLetter(r) && !unicode.IsDigit(r)
}

// literal skips literal text of the template. A blank or separator matches any blank or separator,
// or nothing; other text skips the same number of characters, whatever they are.
func (r *dateReader) literal(text string) {
	for _, want := range text {
		if want == ' ' || isSeparator(want) {
			next, size := utf8.DecodeRuneInString(r.rest)
			switch {
			case r.rest != "" && (unicode.IsSpace(next) || isSeparator(next)):
				r.rest = r.rest[size:]
			case r.skipped > 0:
				r.skipped--
			}
			continue
		}
		if r.skipped > 0 {
			r.skipped--
			continue
		}
		_, size := utf8.DecodeRuneInString(r.rest)
		r.rest = r.rest[size:]
	}
}

// number parses an integer. If exact is set, it has exactly width digits, else all digits that
// follow.
func (r *dateReader) number(key string, width int, exact bool) (n, used int, err error) {
	r.skipBlanks()
	s := r.rest
	end := 0
	if !exact && end < len(s) && (s[end] == '-' || s[end] == '+') {
		end++
	}
	first := end
	for end < len(s) && s[end] >= '0' && s[end] <= '9' && (!exact || end < width) {
		end++
	}
	if end == first {
		return 0, 0, badField(s[:min(width, len(s))], key).WithDetail("Value must be an integer.")
	}
	if exact && end < width {
		e := badField(s[:min(width, len(s))], key)
		if len(s) < width {
			return 0, 0, pgerr.New(pgerr.InvalidDatetimeFormat, "source string too short for \"%s\" formatting field",
				key).
				WithDetail("Field requires %d characters, but only %d remain.", width, len(s)).
				WithHint("If your source string is not fixed-width, try using the \"FM\" modifier.")
		}
		return 0, 0, e.WithDetail("Field requires %d characters, but only %d could be parsed.", width, end).
			WithHint("If your source string is not fixed-width, try using the \"FM\" modifier.")
	}
	n, err = strconv.Atoi(s[:end])
	if err != nil || n > 1<<31-1 || n < -1<<31 {
		return 0, 0, pgerr.New(pgerr.DatetimeFieldOverflow, "value for \"%s\" in source string is out of range", key).
			WithDetail("Value must be in the range %d to %d.", -1<<31, 1<<31-1)
	}
	r.rest = s[end:]
	return n, end - first, nil
}

// name parses one of the names in any case: the whole name or, if short is set, its first three
// letters.
func (r *dateReader) name(key string, count int, nameOf func(int) string, short bool) (int, error) {
	for i := range count {
		name := nameOf(i)
		if short {
			name = name[:3]
		}
		if len(r.rest) >= len(name) && strings.EqualFold(r.rest[:len(name)], name) {
			r.rest = r.rest[len(name):]
			return i, nil
		}
	}
	end := 0
	for end < len(r.rest) && !isBlank(r.rest[end]) {
		end++
	}
	return 0, badField(r.rest[:end], key).WithDetail(
		"The given value did not match any of the allowed values for this field.")
}

func (r *dateReader) date(text string) (int64, error) {
	if r.century != 0 && r.yearDigits <= 2 {
		// A century, with or without two digits of the year.
		switch {
		case r.hasYear:
			r.year = (r.century-1)*100 + r.year%100
			if r.year%100 == 0 {
				r.year += 100
			}
		default:
			r.year = (r.century-1)*100 + 1
		}
		r.hasYear = true
	}
	year := r.year
	if r.bc {
		year = 1 - year
	}
	if !r.hasYear {
		year = 0
		if r.isoYear == 0 && r.julian == 0 {
			return r.civil(text, 0)
		}
	}
	switch {
	case r.julian != 0:
		const julianOf2000 = 2451545
		return int64(r.julian - julianOf2000), nil
	case r.isoYear != 0 || r.isoWeek != 0:
		return r.isoDate(text)
	}
	return r.civil(text, year)
}

// civil returns the date of year, month and day, or of year and day of the year.
func (r *dateReader) civil(text string, year int) (int64, error) {
	shown := int64(year)
	if year <= 0 {
		shown--
	}
	if r.week != 0 && r.yearDay == 0 {
		r.yearDay = (r.week-1)*7 + 1
	}
	if r.yearDay != 0 && r.month == 0 && r.day == 0 {
		first, err := types.MakeDate(shown, 1, 1)
		if err != nil || r.yearDay < 1 || r.yearDay > 366 {
			return 0, outOfField(text)
		}
		return first + int64(r.yearDay) - 1, nil
	}
	if r.monthWeek != 0 && r.day == 0 {
		r.day = (r.monthWeek-1)*7 + 1
	}
	if r.month < 0 || r.month > 12 || r.day < 0 {
		return 0, outOfField(text)
	}
	days, err := types.MakeDate(shown, int64(max(r.month, 1)), int64(max(r.day, 1)))
	if err != nil {
		return 0, outOfField(text)
	}
	return days, nil
}

// isoDate returns the date of an ISO year, week and day.
func (r *dateReader) isoDate(text string) (int64, error) {
	shown := int64(r.isoYear)
	if shown <= 0 {
		shown--
	}
	fourth, err := types.MakeDate(shown, 1, 4)
	if err != nil || r.isoWeek > 53 {
		return 0, outOfField(text)
	}
	const saturday = 6 // 2000-01-01
	weekDay := ((fourth+saturday)%7 + 7) % 7
	monday := fourth - (weekDay+6)%7
	return monday + int64(max(r.isoWeek, 1)-1)*7 + int64(max(r.iso, 1)-1), nil
}

func (r *dateReader) time(text string) (int64, error) {
	if r.daySeconds != 0 {
		r.hour, r.minute, r.sec = r.daySeconds/3600, r.daySeconds%3600/60, r.daySeconds%60
	}
	if r.clock12 {
		if r.hour < 1 || r.hour > 12 {
			return 0, pgerr.New(pgerr.InvalidDatetimeFormat, "hour \"%d\" is invalid for the 12-hour clock", r.hour).
				WithHint("Use the 24-hour clock, or give an hour between 1 and 12.")
		}
		switch {
		case r.pm && r.hour < 12:
			r.hour += 12
		case !r.pm && r.hour == 12:
			r.hour = 0
		}
	}
	micro := r.values["MS"]*1000 + r.values["us"]
	if r.hour < 0 || r.hour > 24 || r.minute < 0 || r.minute > 59 || r.sec < 0 || r.sec > 60 ||
		r.hour == 24 && r.minute+r.sec+micro > 0 {
		return 0, outOfField(text)
	}
	return (time.Duration(r.hour)*time.Hour + time.Duration(r.minute)*time.Minute + time.Duration(r.sec)*time.Second).
		Microseconds() + int64(micro), nil
}
