package types

import (
	_ "embed" // the lists of zones
	"encoding/binary"
	"strconv"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // zones must not hang on the machine

	"github.com/sherddb/sherd/internal/pgerr"
)

// PostgreSQL's default set of abbreviations: a fixed offset in seconds (D for daylight saving) or a zone whose history decides.
//
//go:embed tzinfo/abbreviations.txt
var abbreviationList string

// Names of the IANA zones in their usual spelling, because PostgreSQL takes them in any case.
//
//go:embed tzinfo/names.txt
var zoneNameList string

type abbreviation struct {
	offset  int // seconds east
	dst     bool
	dynamic string // zone
}

var zoneTables = sync.OnceValue(func() (t struct {
	abbrevs map[string]abbreviation
	names   map[string]string
}) {
	t.abbrevs = map[string]abbreviation{}
	for _, line := range strings.Split(strings.TrimSpace(abbreviationList), "\n") {
		f := strings.Fields(line)
		a := abbreviation{dst: len(f) > 2}
		var err error
		if a.offset, err = strconv.Atoi(f[1]); err != nil {
			a.dynamic = f[1]
		}
		t.abbrevs[strings.ToLower(f[0])] = a
	}
	t.names = map[string]string{}
	for _, n := range strings.Fields(zoneNameList) {
		t.names[strings.ToLower(n)] = n
	}
	return t
})

var zoneCache sync.Map // lower-case name → loadedZone; zones never change

type loadedZone struct {
	loc  *time.Location
	name string
}

// LoadZone finds a time zone by IANA name in any case or by POSIX specification; name is its usual spelling.
func LoadZone(text string) (loc *time.Location, name string, ok bool) {
	low := strings.ToLower(text)
	if z, hit := zoneCache.Load(low); hit {
		z := z.(loadedZone)
		return z.loc, z.name, true
	}
	var z loadedZone
	if n, known := zoneTables().names[low]; known {
		l, err := time.LoadLocation(n)
		if err != nil {
			return nil, "", false
		}
		z = loadedZone{l, n}
		if n == "UTC" {
			z.loc = time.UTC
		}
	} else if z.loc = posixZone(strings.ToUpper(text)); z.loc != nil {
		z.name = strings.ToUpper(text)
	} else {
		return nil, "", false
	}
	if len(text) < 64 {
		zoneCache.Store(low, z)
	}
	return z.loc, z.name, true
}

// FixedZone makes a zone of a fixed offset in seconds east, named as SET TIME ZONE INTERVAL names it.
func FixedZone(east int) (*time.Location, string) {
	abs, sign, posix := east, "+", "-"
	if east < 0 {
		abs, sign, posix = -east, "-", "+"
	}
	text := twoDigits(abs / 3600)
	if abs%3600 != 0 {
		text += ":" + twoDigits(abs/60%60)
		if abs%60 != 0 {
			text += ":" + twoDigits(abs%60)
		}
	}
	return time.FixedZone(sign+text, east), "<" + sign + text + ">" + posix + text
}

func twoDigits(n int) string { return string([]byte{byte('0' + n/10%10), byte('0' + n%10)}) }

// posixZone makes a zone of a specification such as EST5EDT,M3.2.0,M11.1.0 or <+03>-3.
func posixZone(spec string) *time.Location {
	rest, ok := posixName(spec)
	if !ok || rest == "" || len(spec) > 60 {
		return nil
	}
	off, rest, ok := posixOffset(rest)
	if !ok {
		return nil
	}
	if rest == "" {
		name := strings.Trim(spec[:strings.IndexAny(spec[1:], "+-0123456789>")+1], "<>")
		return time.FixedZone(name, -off)
	}
	if !strings.ContainsRune(rest, ',') {
		spec += ",M3.2.0,M11.1.0"
	}
	loc, err := time.LoadLocationFromTZData(spec, tzifOf(spec, -off))
	if err != nil {
		return nil
	}
	return loc
}

func posixName(s string) (rest string, ok bool) {
	if strings.HasPrefix(s, "<") {
		i := strings.IndexByte(s, '>')
		return s[i+1:], i > 1
	}
	i := 0
	for i < len(s) && isAlpha(s[i]) {
		i++
	}
	return s[i:], i >= 1
}

// posixOffset reads [+-]h[h][:mm[:ss]], seconds west.
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
		if err != nil || (unit == 3600 && n > 24*7) || (unit < 3600 && n > 59) {
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

// tzifOf makes the smallest TZif file whose footer is spec.
func tzifOf(spec string, east int) []byte {
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
	return append(b, "\n"+spec+"\n"...)
}

// abbreviationOffset resolves an abbreviation at a local time; seconds east.
func (a abbreviation) at(name string, local int64) int {
	if a.dynamic == "" {
		return a.offset
	}
	loc, _, ok := LoadZone(a.dynamic)
	if !ok {
		return 0
	}
	if off, found := abbrevInZone(loc, strings.ToUpper(name), local); found {
		return off
	}
	return localToOffset(loc, local)
}

// abbrevInZone finds the offset an abbreviation had in a zone: its last use before the time, else its first after it.
func abbrevInZone(loc *time.Location, name string, local int64) (int, bool) {
	t := time.Unix(floorDiv64(local, usPerSecond)+unixToPostgres, 0).In(loc)
	for u, i := t, 0; i < 400; i++ {
		if n, off := u.Zone(); n == name {
			return off, true
		}
		start, _ := u.ZoneBounds()
		if start.IsZero() {
			break
		}
		u = start.Add(-time.Second)
	}
	for u, i := t, 0; i < 20; i++ {
		if n, off := u.Zone(); n == name {
			return off, true
		}
		_, end := u.ZoneBounds()
		if end.IsZero() {
			break
		}
		u = end
	}
	return 0, false
}

// ZoneAt resolves what AT TIME ZONE takes: a name, an abbreviation or a POSIX form, at a local time or an instant. It gives seconds east.
func ZoneAt(text string, at int64, local bool) (int, error) {
	if a, ok := zoneTables().abbrevs[strings.ToLower(text)]; ok {
		return a.at(text, at), nil
	}
	if off, ok := numericZone(text); ok {
		return off, nil
	}
	loc, _, ok := LoadZone(text)
	if !ok {
		return 0, zoneError(text)
	}
	if local {
		return localToOffset(loc, at), nil
	}
	off, _ := offsetAt(loc, at)
	return off, nil
}

// numericZone takes a POSIX number without a name: +3 is west here, as PostgreSQL reads it.
func numericZone(text string) (int, bool) {
	if text == "" || (text[0] != '+' && text[0] != '-' && !isDigit(text[0])) {
		return 0, false
	}
	off, rest, ok := posixOffset(text)
	return -off, ok && rest == ""
}

func zoneError(name string) error {
	return pgerr.New(pgerr.InvalidParameterValue, "time zone \"%s\" not recognized", name)
}
