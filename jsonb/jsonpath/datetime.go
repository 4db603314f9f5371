package jsonpath

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
)

// datetimeKind is one of the date and time types that datetime() returns.
type datetimeKind uint8

const (
	kindDate datetimeKind = iota
	kindTime
	kindTimetz
	kindTimestamp
	kindTimestamptz
)

// String names the type as .type() does.
func (k datetimeKind) String() string {
	return [...]string{"date", "time without time zone", "time with time zone", "timestamp without time zone",
		"timestamp with time zone"}[k]
}

// name is the type in messages about conversions.
func (k datetimeKind) name() string {
	return [...]string{"date", "time", "timetz", "timestamp", "timestamptz"}[k]
}

func (k datetimeKind) hasDate() bool { return k == kindDate || k >= kindTimestamp }
func (k datetimeKind) hasZone() bool { return k == kindTimetz || k == kindTimestamptz }

// datetime is a date or time.
type datetime struct {
	kind   datetimeKind
	days   int64 // of dates and timestamps: since 1970-01-01
	micros int64 // of the day; local
	zone   int   // seconds east of UTC, of the kinds that have a zone
}

const microsPerDay = 24 * 60 * 60 * 1_000_000

// local is the local time in microseconds since 1970.
func (d *datetime) local() int64 { return d.days*microsPerDay + d.micros }

// utc is the time in UTC.
func (d *datetime) utc() int64 { return d.local() - int64(d.zone)*1_000_000 }

// String returns the ISO form that SQL/JSON shows.
func (d *datetime) String() string {
	var b strings.Builder
	suffix := ""
	if d.kind.hasDate() {
		year, month, day := time.Unix(d.days*86400, 0).UTC().Date()
		if year <= 0 {
			year, suffix = 1-year, " BC"
		}
		fmt.Fprintf(&b, "%04d-%02d-%02d", year, month, day)
	}
	if d.kind >= kindTimestamp {
		b.WriteByte('T')
	}
	if d.kind != kindDate {
		seconds := d.micros / 1_000_000
		fmt.Fprintf(&b, "%02d:%02d:%02d", seconds/3600, seconds/60%60, seconds%60)
		if frac := d.micros % 1_000_000; frac != 0 {
			b.WriteString(strings.TrimRight(fmt.Sprintf(".%06d", frac), "0"))
		}
	}
	if d.kind.hasZone() {
		sign, zone := '+', d.zone
		if zone < 0 {
			sign, zone = '-', -zone
		}
		fmt.Fprintf(&b, "%c%02d:%02d", sign, zone/3600, zone/60%60)
	}
	return b.String() + suffix
}

// isoTemplates are tried in turn if .datetime() has no template.
var isoTemplates = parseTemplates(
	"yyyy-mm-dd",
	"HH24:MI:SS.USTZH:TZM", "HH24:MI:SS.USTZH", "HH24:MI:SSTZH:TZM", "HH24:MI:SSTZH", "HH24:MI:SS.US", "HH24:MI:SS",
	"yyyy-mm-dd HH24:MI:SS.USTZH:TZM", "yyyy-mm-dd HH24:MI:SS.USTZH",
	"yyyy-mm-dd HH24:MI:SSTZH:TZM", "yyyy-mm-dd HH24:MI:SSTZH",
	"yyyy-mm-dd HH24:MI:SS.US", "yyyy-mm-dd HH24:MI:SS",
	`yyyy-mm-dd"T"HH24:MI:SS.USTZH:TZM`, `yyyy-mm-dd"T"HH24:MI:SS.USTZH`,
	`yyyy-mm-dd"T"HH24:MI:SSTZH:TZM`, `yyyy-mm-dd"T"HH24:MI:SSTZH`,
	`yyyy-mm-dd"T"HH24:MI:SS.US`, `yyyy-mm-dd"T"HH24:MI:SS`,
)

// parseTemplates is parseTemplate for templates that are known to be valid.
func parseTemplates(templates ...string) [][]field {
	out := make([][]field, len(templates))
	for i, t := range templates {
		out[i], _ = parseTemplate(t)
	}
	return out
}

// parseISO reads text by the first of isoTemplates that fits, nil if none does.
func parseISO(text string) *datetime {
	for _, fields := range isoTemplates {
		if d, err := parseDatetime(text, fields); err == nil {
			return d
		}
	}
	return nil
}

// datetime evaluates .datetime().
func (e *evaluation) datetime(n *node, it item, out *list) result {
	text, ok := it.doc.Str()
	if !ok || it.dt != nil {
		return e.fail(codeDatetimeArgument, "jsonpath item method .%s() can only be applied to a string", symbols[n.op])
	}
	if n.left != nil {
		fields, err := parseTemplate(n.left.text)
		if err != nil {
			return e.abort(err)
		}
		d, err := parseDatetime(text, fields)
		if err != nil {
			if e.throw {
				e.abort(err)
			}
			return failed
		}
		return e.follow(n, item{dt: d}, out)
	}
	if d := parseISO(text); d != nil {
		return e.follow(n, item{dt: d}, out)
	}
	if e.throw {
		e.abort(pgerr.New(codeDatetimeArgument, "datetime format is not recognized: \"%s\"", text).
			WithHint("Use a datetime template argument to specify the input data format."))
	}
	return failed
}

// compareTimes orders two dates or times; ok is false if they cannot be compared. Outside of the
// _tz functions, a conversion that needs the session's zone aborts the evaluation.
func (e *evaluation) compareTimes(a, b *datetime) (c int, ok bool) {
	if a.kind.hasDate() != b.kind.hasDate() {
		return 0, false
	}
	if a.kind.hasZone() != b.kind.hasZone() {
		if a.kind.hasZone() {
			c, ok = e.compareTimes(b, a)
			return -c, ok
		}
		if e.zone == nil {
			e.abort(pgerr.New(pgerr.FeatureNotSupported, "cannot convert value from %s to %s without time zone usage",
				a.kind.name(), b.kind.name()).WithHint("Use *_tz() function for time zone support."))
			return 0, false
		}
		zoned := *a
		local := a.local()
		if !a.kind.hasDate() {
			local += e.today * microsPerDay
		}
		zoned.kind, zoned.zone = b.kind, e.zone(local)
		a = &zoned
	}
	if !a.kind.hasZone() {
		return cmp.Compare(a.local(), b.local()), true
	}
	if c = cmp.Compare(a.utc(), b.utc()); c == 0 && a.kind == kindTimetz {
		c = cmp.Compare(b.zone, a.zone) // as timetz: the zone further west is greater
	}
	return c, true
}
