package types

import (
	_ "embed" // the lists of zones
	"slices"
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

// at resolves an abbreviation at a local time or an instant; seconds east.
func (a abbreviation) at(name string, at int64, local bool) int {
	if a.dynamic == "" {
		return a.offset
	}
	loc, _, ok := LoadZone(a.dynamic)
	if !ok {
		return 0
	}
	off, _ := offsetAt(loc, at)
	if local {
		off = localToOffset(loc, at)
		at -= int64(off) * usPerSecond
	}
	if meant, found := abbrevInZone(loc, strings.ToUpper(name), at); found {
		return meant
	}
	return off
}

// abbrevInZone finds the offset an abbreviation had in a zone: its last use up to an instant, else its first after it.
func abbrevInZone(loc *time.Location, name string, at int64) (int, bool) {
	t := time.Unix(floorDiv64(at, usPerSecond)+unixToPostgres, 0).In(loc)
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
		return a.at(text, at, local), nil
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

// OffsetOf resolves the zone that make_timestamptz takes, at a local time: a number is east of UTC, unlike in POSIX.
func OffsetOf(text string, local int64) (int, error) {
	if text != "" && isDigit(text[0]) {
		return 0, pgerr.New(pgerr.InvalidParameterValue, `invalid input syntax for type numeric time zone: "%s"`, text).
			WithHint(`Numeric time zones must have "-" or "+" as first character.`)
	}
	west, e := decodeOffset(text)
	switch e {
	case dtOK:
		return int(-west), nil
	case dtZoneOverflow:
		return 0, pgerr.New(pgerr.InvalidParameterValue, `numeric time zone "%s" out of range`, text)
	}
	return ZoneAt(text, local, true)
}

func zoneError(name string) error {
	return pgerr.New(pgerr.InvalidParameterValue, "time zone \"%s\" not recognized", name)
}

const (
	farthestNamed = 16 * 3600     // more than any named zone is away from UTC, and than the zone that a timestamp's text may have
	farthestPosix = 7 * 24 * 3600 // more than PostgreSQL takes in a specification
)

// FarthestOffset returns a bound, in seconds, of how far the session's zone is from UTC at any time. It is 0 for UTC alone.
func (e *Env) FarthestOffset() int64 {
	loc := e.location()
	if loc == time.UTC {
		return 0
	}
	_, east := time.Unix(0, 0).In(loc).Zone()
	_, named := zoneTables().names[strings.ToLower(loc.String())]
	switch { // a zone of a POSIX specification that has a named zone's name has one offset always
	case !named || max(east, -east) >= farthestNamed:
		return farthestPosix
	case east == 0 && slices.Contains([]string{"UTC", "Etc/UTC", "GMT", "Etc/GMT"}, loc.String()):
		return 0
	}
	return farthestNamed
}
