package types

import (
	_ "embed" // the lists of zones
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // zones must not depend on the machine

	"github.com/sherddb/sherd/internal/pgerr"
)

// PostgreSQL's default set of abbreviations: each has a fixed offset in seconds (D for daylight
// saving) or a zone whose history has the offset.
//
//go:embed tzinfo/abbreviations.txt
var abbreviationList string

// Names of the IANA zones in their usual spelling, because PostgreSQL accepts them in any case.
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

// LoadZone finds a time zone by IANA name in any case, or by POSIX specification; name is its usual
// spelling.
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

// at returns an abbreviation's offset at a local time or an instant, in seconds east.
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

// abbrevInZone returns the offset of an abbreviation in a zone: that of its last use before an
// instant, else of its first use after it.
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

// ZoneAt resolves the argument of AT TIME ZONE: a name, an abbreviation or a POSIX form, at a local
// time or an instant. It returns seconds east.
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

// OffsetOf resolves the zone argument of make_timestamptz at a local time. A number is an offset
// east of UTC, unlike in POSIX.
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
	// more than the offset of any named zone, and of any zone in a timestamp's text
	farthestNamed = 16 * 3600
	farthestPosix = 7 * 24 * 3600 // more than PostgreSQL accepts in a specification
)

// FarthestOffset returns an upper bound, in seconds, of the difference between the session's zone
// and UTC at any time. It is 0 only for UTC.
func (e *Env) FarthestOffset() int64 {
	loc := e.location()
	if loc == time.UTC {
		return 0
	}
	_, east := time.Unix(0, 0).In(loc).Zone()
	_, named := zoneTables().names[strings.ToLower(loc.String())]
	switch { // a POSIX specification with the name of a named zone has a fixed offset
	case !named || max(east, -east) >= farthestNamed:
		return farthestPosix
	case east == 0 && slices.Contains([]string{"UTC", "Etc/UTC", "GMT", "Etc/GMT"}, loc.String()):
		return 0
	}
	return farthestNamed
}
