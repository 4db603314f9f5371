package types

import (
	"encoding/binary"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// FixedZone returns a zone with a fixed offset in seconds east, named as SET TIME ZONE INTERVAL
// names it.
func FixedZone(east int) (*time.Location, string) {
	abs, sign, posix := east, "+", "-"
	if east < 0 {
		abs, sign, posix = -east, "-", "+"
	}
	text := strconv.Itoa(abs / 3600)
	if len(text) < 2 {
		text = "0" + text
	}
	if abs%3600 != 0 {
		text += ":" + twoDigits(abs/60%60)
		if abs%60 != 0 {
			text += ":" + twoDigits(abs%60)
		}
	}
	return time.FixedZone(sign+text, east), "<" + sign + text + ">" + posix + text
}

func twoDigits(n int) string { return string([]byte{byte('0' + n/10%10), byte('0' + n%10)}) }

const posixDay = `(J?[0-9]{1,3}|M[0-9]{1,2}\.[1-5]\.[0-6])(/[-+]?[0-9]{1,3}(:[0-9]{1,2}){0,2})?`

// posixRules matches the days on which daylight saving begins and ends.
var posixRules = regexp.MustCompile(`^,` + posixDay + `,` + posixDay + `$`)

// posixZone returns the zone of a specification such as EST5EDT,M3.2.0,M11.1.0 or <+03>-3. The
// first name may be empty, as in PostgreSQL.
func posixZone(spec string) *time.Location {
	name, rest, ok := posixName(spec)
	if !ok || rest == "" || len(spec) > 60 {
		return nil
	}
	west, rest, ok := posixOffset(rest)
	if !ok {
		return nil
	}
	if rest == "" {
		return time.FixedZone(name, -west)
	}
	summer, rest, ok := posixName(rest)
	if !ok || summer == "" {
		return nil
	}
	summerWest := west - 3600
	if rest != "" && rest[0] != ',' {
		if summerWest, rest, ok = posixOffset(rest); !ok {
			return nil
		}
	}
	if rest == "" {
		rest = ",M3.2.0,M11.1.0"
	}
	if !posixRules.MatchString(rest) {
		return nil
	}
	// Package time accepts a name of fewer than three letters only in brackets.
	footer := "<" + name + ">" + posixText(west) + "<" + summer + ">" + posixText(summerWest) + rest
	loc, err := time.LoadLocationFromTZData(spec, tzifOf(footer, -west))
	if err != nil {
		return nil
	}
	return loc
}

// posixName splits the name of a zone off a specification.
func posixName(s string) (name, rest string, ok bool) {
	if strings.HasPrefix(s, "<") {
		name, rest, ok = strings.Cut(s[1:], ">")
		return name, rest, ok
	}
	i := 0
	for i < len(s) && !isDigit(s[i]) && s[i] != ',' && s[i] != '-' && s[i] != '+' {
		i++
	}
	return s[:i], s[i:], !strings.ContainsAny(s[:i], "<>")
}

// posixOffset parses [+-]h[h][:mm[:ss]], and returns seconds west.
func posixOffset(s string) (off int, rest string, ok bool) {
	i, neg := 0, false
	if s[0] == '+' || s[0] == '-' {
		neg = s[0] == '-'
		i = 1
	}
	unit := 3600
	for unit > 0 {
		j := i
		for j < len(s) && isDigit(s[j]) {
			j++
		}
		n, err := strconv.Atoi(s[i:j])
		if err != nil || (unit == 3600 && n >= 24*7) || (unit < 3600 && n > 59) {
			return 0, "", false
		}
		off += n * unit
		unit /= 60
		i = j
		if i >= len(s) || s[i] != ':' || unit == 0 {
			break
		}
		i++
	}
	if neg {
		off = -off
	}
	return off, s[i:], true
}

// posixText is the inverse of posixOffset.
func posixText(west int) string {
	sign := ""
	if west < 0 {
		sign, west = "-", -west
	}
	return sign + strconv.Itoa(west/3600) + ":" + twoDigits(west/60%60) + ":" + twoDigits(west%60)
}

// tzifOf returns the smallest TZif file with a footer.
func tzifOf(footer string, east int) []byte {
	header := func(version byte) []byte {
		b := append([]byte("TZif"), version)
		b = append(b, make([]byte, 15)...)
		for _, n := range [6]uint32{0, 0, 0, 0, 1, 4} {
			b = binary.BigEndian.AppendUint32(b, n)
		}
		b = binary.BigEndian.AppendUint32(b, uint32(int32(east)))
		b = append(b, 0, 0)
		return append(b, "LMT\x00"...)
	}
	b := append(header('2'), header('2')...)
	return append(b, "\n"+footer+"\n"...)
}
