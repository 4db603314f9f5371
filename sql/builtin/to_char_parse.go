package builtin

import (
	"strings"
	"unicode/utf8"
)

// dateField is a piece of a date template: a field with its modifiers, or literal text.
type dateField struct {
	key     string // upper case; "" is literal
	written string // the field as written in the template
	literal string
	lower   bool // the field was written in lower case
	mixed   bool // … with a capital: Month, Mon, Day, Dy
	fill    bool // FM: no padding
	ordinal string
	TM      bool
}

// dateKeys are the fields; longer ones precede their prefixes.
var dateKeys = []string{
	"SSSSS", "SSSS", "MONTH", "Y,YYY", "IYYY", "IDDD", "HH24", "HH12", "YYYY", "A.D.", "A.M.", "B.C.", "P.M.", "DAY",
	"DDD", "FF1", "FF2", "FF3", "FF4",
	"FF5", "FF6", "IYY", "MON", "TZH", "TZM", "YYY", "AD", "AM", "BC", "CC", "DD", "DY", "HH", "ID", "IW", "IY", "MI",
	"MM", "MS", "OF", "PM", "RM", "SS",
	"TZ", "US", "WW", "YY", "D", "I", "J", "Q", "W", "Y",
}

// parseDateTemplate splits a template of to_char into fields.
func parseDateTemplate(s string) []dateField {
	var fields []dateField
	for s != "" {
		f := dateField{}
		for {
			if rest, ok := cutEither(s, "FM"); ok {
				f.fill, s = true, rest
			} else if rest, ok := cutEither(s, "TM"); ok {
				f.TM, s = true, rest
			} else if rest, ok := cutEither(s, "FX"); ok {
				s = rest
			} else {
				break
			}
		}
		if rest, ok := matchDateKey(s, &f); ok {
			s = rest
			for _, suffix := range []string{"TH", "th"} {
				if rest, ok := strings.CutPrefix(s, suffix); ok {
					f.ordinal, s = suffix, rest
				}
			}
			if rest, ok := strings.CutPrefix(s, "SP"); ok {
				s = rest
			}
			fields = append(fields, f)
			continue
		}
		if s == "" {
			break
		}
		var text string
		text, s = literalText(s)
		fields = append(fields, dateField{literal: text})
	}
	return fields
}

func cutEither(s, upper string) (string, bool) {
	if rest, ok := strings.CutPrefix(s, upper); ok {
		return rest, true
	}
	return strings.CutPrefix(s, strings.ToLower(upper))
}

// matchDateKey matches a field in upper, lower or mixed case.
func matchDateKey(s string, f *dateField) (rest string, ok bool) {
	for _, key := range dateKeys {
		if len(s) < len(key) {
			continue
		}
		switch head := s[:len(key)]; {
		case head == key:
		case head == strings.ToLower(key):
			f.lower = true
		case len(key) > 1 && strings.Contains("MONTH DAY DY", key) && head == key[:1]+strings.ToLower(key[1:]):
			f.mixed = true
		default:
			continue
		}
		f.key, f.written = key, s[:len(key)]
		return s[len(key):], true
	}
	return s, false
}

// literalText parses quoted text, an escaped character, or one character.
func literalText(s string) (text, rest string) {
	if s[0] == '"' {
		var b strings.Builder
		for i := 1; i < len(s); i++ {
			switch {
			case s[i] == '"':
				return b.String(), s[i+1:]
			case s[i] == '\\' && i+1 < len(s):
				i++
			}
			b.WriteByte(s[i])
		}
		return b.String(), ""
	}
	if s[0] == '\\' && len(s) > 1 && s[1] == '"' {
		return `"`, s[2:]
	}
	_, size := utf8.DecodeRuneInString(s)
	return s[:size], s[size:]
}
