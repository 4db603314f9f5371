package jsonpath

import (
	"strings"
	"time"
	"unicode"

	"github.com/sherddb/sherd/internal/pgerr"
)

// field is one part of a datetime template: a field by name, or a literal character.
type field struct {
	name    string // upper case; "" is a literal
	written string // the name as the template has it
	digits  int    // its usual width, 0 for words
	literal byte
	quoted  bool // a literal in quotes, which matches any character
}

// fields in the order of the search: if two fit, the longer one comes first.
var fields = []field{
	{name: "SSSSS", digits: 5}, {name: "SSSS", digits: 5}, {name: "Y,YYY"}, {name: "YYYY", digits: 4},
	{name: "RRRR", digits: 4},
	{name: "YYY", digits: 3}, {name: "YY", digits: 2}, {name: "RR", digits: 2}, {name: "Y", digits: 1},
	{name: "MONTH"}, {name: "MON"}, {name: "MM", digits: 2}, {name: "MI", digits: 2}, {name: "MS", digits: 3},
	{name: "DDD", digits: 3}, {name: "DD", digits: 2},
	{name: "HH24", digits: 2}, {name: "HH12", digits: 2}, {name: "HH", digits: 2}, {name: "SS", digits: 2},
	{name: "US", digits: 6}, {name: "FF1", digits: 1}, {name: "FF2", digits: 2}, {name: "FF3", digits: 3},
	{name: "FF4", digits: 4}, {name: "FF5", digits: 5}, {name: "FF6", digits: 6},
	{name: "A.M."}, {name: "P.M."}, {name: "AM"}, {name: "PM"}, {name: "TZH", digits: 2}, {name: "TZM", digits: 2},
}

// unsupportedFields are fields of PostgreSQL that are not implemented here.
var unsupportedFields = []string{"A.D.", "B.C.", "AD", "BC",
	"CC", "DAY", "DY", "D", "FM", "FX", "IDDD", "ID", "IW", "IYYY", "IYY",
	"IY", "I", "J", "OF", "Q", "RM", "TM", "TZ", "TH", "WW", "W"}

func templateError(format string, args ...any) *pgerr.Error {
	return pgerr.New(pgerr.InvalidDatetimeFormat, format, args...)
}

// parseTemplate cuts a template into fields.
func parseTemplate(s string) ([]field, error) {
	var out []field
next:
	for len(s) > 0 {
		upper := strings.ToUpper(s[:min(len(s), 5)])
		for _, f := range fields {
			if strings.HasPrefix(upper, f.name) {
				f.written = s[:len(f.name)]
				out, s = append(out, f), s[len(f.name):]
				continue next
			}
		}
		for _, name := range unsupportedFields {
			if strings.HasPrefix(upper, name) {
				return nil, pgerr.Unsupported("datetime template field \"%s\" is not supported in jsonpath", name)
			}
		}
		if s[0] == '"' {
			i := 1
			for ; i < len(s) && s[i] != '"'; i++ {
				if s[i] == '\\' && i+1 < len(s) {
					i++
				}
				out = append(out, field{literal: s[i], quoted: true})
			}
			s = s[min(i+1, len(s)):]
			continue
		}
		if strings.IndexByte("-./,':; ", s[0]) < 0 {
			return nil, templateError("invalid datetime format separator: \"%c\"", []rune(s)[0])
		}
		out, s = append(out, field{literal: s[0]}), s[1:]
	}
	return out, nil
}

// reader reads the fields of a template from a text.
type reader struct {
	text   string
	whole  string
	values map[string]int
	fields []field
	at     int // of the current field
}

// parseDatetime reads text by the fields of a template, as strictly as SQL/JSON requires. The
// fields decide the type.
func parseDatetime(text string, fields []field) (*datetime, error) {
	r := reader{text: text, whole: text, values: map[string]int{}, fields: fields}
	for r.at = range fields {
		if r.text == "" {
			return nil, templateError("input string is too short for datetime format")
		}
		if err := r.read(fields[r.at]); err != nil {
			return nil, err
		}
	}
	if strings.TrimLeft(r.text, spaces) != "" {
		return nil, templateError("trailing characters remain in input string after datetime format")
	}
	return r.result()
}

const spaces = " \t\n\v\f\r"

func (r *reader) read(f field) error {
	switch {
	case f.quoted:
		r.text = r.text[1:]
		if r.whole[len(r.whole)-len(r.text)-1] != f.literal {
			return templateError("unmatched format character \"%c\"", f.literal)
		}
		return nil
	case f.name == "":
		if r.text[0] != f.literal {
			return templateError("unmatched format separator \"%c\"", f.literal)
		}
		r.text = r.text[1:]
		return nil
	case f.name == "MONTH", f.name == "MON":
		return r.month(f)
	case strings.ContainsAny(f.name, "AP") && f.digits == 0:
		return r.half(f)
	case f.name == "TZH":
		sign := 1
		switch r.text[0] {
		case '-':
			sign = -1
			fallthrough
		case '+', ' ':
			r.text = r.text[1:]
		}
		r.values["sign"] = sign
	case f.name == "Y,YYY":
		return r.commaYear(f)
	}
	v, n, err := r.integer(f)
	if err != nil {
		return err
	}
	return r.number(f, v, n)
}

// set stores the value of a part, such as the month, and refuses a second value that differs.
func (r *reader) set(key string, v int, f field) error {
	if old, ok := r.values[key]; ok && old != v {
		return templateError("conflicting values for \"%s\" field in formatting string", f.written).
			WithDetail("This value contradicts a previous setting for the same field type.")
	}
	r.values[key] = v
	return nil
}

// integer reads the digits of a field: a signed number of any length if no digits follow in the
// template, otherwise as many digits as the field's width.
func (r *reader) integer(f field) (v, n int, err error) {
	r.text = strings.TrimLeft(r.text, spaces)
	s := r.text
	free := r.at+1 >= len(r.fields) || r.fields[r.at+1].digits == 0 || r.fields[r.at+1].name == "TZH"
	limit, sign := f.digits, 1
	if free {
		limit = len(s)
		if s != "" && (s[0] == '-' || s[0] == '+') {
			if s[0] == '-' {
				sign = -1
			}
			s = s[1:]
		}
	} else if len(s) < f.digits {
		return 0, 0, templateError("source string too short for \"%s\" formatting field", f.written).
			WithDetail("Field requires %d characters, but only %d remain.", f.digits, len(s)).
			WithHint(`If your source string is not fixed-width, try using the "FM" modifier.`)
	}
	for n < len(s) && n < limit && isDigit(s[n]) {
		v = min(v*10+int(s[n]-'0'), 1<<31)
		n++
	}
	switch {
	case n == 0:
		return 0, 0, templateError(
			"invalid value \"%s\" for \"%s\"", r.text[:min(len(r.text), max(f.digits, 1))], f.written,
		).
			WithDetail("Value must be an integer.")
	case v >= 1<<31:
		return 0, 0, pgerr.New(
			pgerr.DatetimeFieldOverflow, "value for \"%s\" in source string is out of range", f.written,
		).
			WithDetail("Value must be in the range -2147483648 to 2147483647.")
	case !free && n < f.digits:
		return 0, 0, templateError("invalid value \"%s\" for \"%s\"", r.text[:f.digits], f.written).
			WithDetail("Field requires %d characters, but only %d could be parsed.", f.digits, n).
			WithHint(`If your source string is not fixed-width, try using the "FM" modifier.`)
	}
	r.text = s[n:]
	return sign * v, n, nil
}

// number keeps the value v, written with n digits, of a field.
func (r *reader) number(f field, v, n int) error {
	switch f.name {
	case "YYYY", "RRRR", "YYY", "YY", "RR", "Y":
		if n < 4 && f.name != "YYYY" {
			v = nearYear(v)
		}
		return r.set("year", v, f)
	case "HH", "HH12":
		if v < 1 || v > 12 {
			return templateError("hour \"%d\" is invalid for the 12-hour clock", v).
				WithHint("Use the 24-hour clock, or give an hour between 1 and 12.")
		}
		r.values["twelve"] = 1
		return r.set("hour", v, f)
	case "HH24":
		return r.set("hour", v, f)
	case "US", "MS", "FF1", "FF2", "FF3", "FF4", "FF5", "FF6":
		for ; n < 6; n++ {
			v *= 10
		}
		if n > 6 {
			return r.outOfRange()
		}
		return r.set("micros", v, f)
	case "SSSSS", "SSSS":
		return r.set("secondOfDay", v, f)
	}
	return r.set(f.name, v, f)
}

// nearYear completes a year of fewer than four digits to the one nearest to 2020.
func nearYear(v int) int {
	switch {
	case v < 0:
		return v
	case v < 70:
		return v + 2000
	case v < 100:
		return v + 1900
	case v < 520:
		return v + 2000
	case v < 1000:
		return v + 1000
	}
	return v
}

func (r *reader) commaYear(f field) error {
	head, rest, ok := strings.Cut(r.text, ",")
	v := 0
	if !ok || len(rest) < 3 || strings.Trim(head, "0123456789") != "" || strings.Trim(rest[:3], "0123456789") != "" ||
		len(head) > 6 {
		return templateError("invalid input string for \"Y,YYY\"")
	}
	for _, c := range head + rest[:3] {
		v = v*10 + int(c-'0')
	}
	r.text = rest[3:]
	return r.set("year", v, f)
}

func (r *reader) month(f field) error {
	for m := time.January; m <= time.December; m++ {
		name := m.String()
		if f.name == "MON" {
			name = name[:3]
		}
		if len(r.text) >= len(name) && strings.EqualFold(r.text[:len(name)], name) {
			r.text = r.text[len(name):]
			return r.set("MM", int(m), f)
		}
	}
	word := strings.FieldsFunc(r.text, func(c rune) bool { return !unicode.IsLetter(c) })
	return templateError("invalid value \"%s\" for \"%s\"", strings.Join(word[:min(1, len(word))], ""), f.written).
		WithDetail("The given value did not match any of the allowed values for this field.")
}

// half reads AM or PM.
func (r *reader) half(f field) error {
	for _, word := range []string{"A.M.", "P.M.", "AM", "PM"} {
		if strings.Contains(word, ".") == strings.Contains(f.name, ".") && len(r.text) >= len(word) &&
			strings.EqualFold(r.text[:len(word)], word) {
			r.text = r.text[len(word):]
			r.values["twelve"] = 1
			if word[0] == 'P' {
				return r.set("pm", 1, f)
			}
			return r.set("pm", 0, f)
		}
	}
	return templateError("invalid value \"%s\" for \"%s\"", r.text[:min(len(r.text), len(f.name))], f.written).
		WithDetail("The given value did not match any of the allowed values for this field.")
}

func (r *reader) outOfRange() error {
	return pgerr.New(pgerr.DatetimeFieldOverflow, "date/time field value out of range: \"%s\"", r.whole)
}

// result puts the values together.
func (r *reader) result() (*datetime, error) {
	dated, timed, zoned := false, false, false
	for _, f := range r.fields {
		switch {
		case f.name == "":
		case strings.HasPrefix(f.name, "TZ"):
			zoned = true
		case f.name[0] == 'Y' || f.name[0] == 'D' || strings.HasPrefix(f.name, "RR") || f.name == "MM" ||
			strings.HasPrefix(f.name, "MON"):
			dated = true
		default:
			timed = true
		}
	}
	d := &datetime{}
	switch {
	case dated && timed && zoned:
		d.kind = kindTimestamptz
	case dated && timed:
		d.kind = kindTimestamp
	case dated && zoned:
		return nil, templateError("datetime format is zoned but not timed")
	case dated:
		d.kind = kindDate
	case timed && zoned:
		d.kind = kindTimetz
	case timed:
		d.kind = kindTime
	default:
		return nil, templateError("datetime format is not dated and not timed")
	}
	if !r.date(d) || !r.clock(d) || !r.offset(d) {
		return nil, r.outOfRange()
	}
	return d, nil
}

// maxYear bounds dates as PostgreSQL's timestamps do.
const maxYear = 294276

func (r *reader) date(d *datetime) bool {
	year, month, day := r.values["year"], 1, 1
	if v, ok := r.values["MM"]; ok {
		month = v
	}
	if v, ok := r.values["DD"]; ok {
		day = v
	}
	if v, ok := r.values["DDD"]; ok {
		month, day = 1, v
		if leap := time.Date(year, 12, 31, 0, 0, 0, 0, time.UTC).YearDay(); v > leap {
			return false
		}
	}
	if year < 0 {
		year++ // year -1 is 1 BC
	}
	t := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	_, byDay := r.values["DDD"]
	if year > maxYear || year < -4712 || !byDay && (int(t.Month()) != month || t.Day() != day) || day < 1 {
		return false
	}
	d.days = t.Unix() / 86400
	if t.Unix()%86400 < 0 {
		d.days--
	}
	return true
}

func (r *reader) clock(d *datetime) bool {
	hour, minute, second, micros := r.values["hour"], r.values["MI"], r.values["SS"], r.values["micros"]
	if r.values["twelve"] == 1 {
		if hour < 1 || hour > 12 {
			return false
		}
		hour = hour%12 + 12*r.values["pm"]
	}
	if v, ok := r.values["secondOfDay"]; ok {
		hour, minute, second = v/3600, v/60%60, v%60
	}
	if hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59 || micros < 0 ||
		micros > 999_999 {
		return false
	}
	d.micros = int64((hour*60+minute)*60+second)*1_000_000 + int64(micros)
	return true
}

func (r *reader) offset(d *datetime) bool {
	h, m := r.values["TZH"], r.values["TZM"]
	if h < 0 || h > 15 || m < 0 || m > 59 {
		return false
	}
	d.zone = r.values["sign"] * (h*60 + m) * 60
	return true
}
