package sql_test

import (
	"strings"
	"testing"
)

// TestFunctionRoutesInSessionZone reads by an instant through one prepared plan, while the session
// changes its zone. Placement reads a text without zone as UTC, so in other zones the route has the
// neighbouring days; and only a validated policy routes.
func TestFunctionRoutesInSessionZone(t *testing.T) {
	w := newWorld(t)
	a := w.connect(t)
	a.want("CREATE TABLE events (id text PRIMARY KEY, doc jsonb) WITH (shard_by = 'day(at)')", "CREATE TABLE")
	a.want(`INSERT INTO events VALUES ('1$', '{"at": "2026-11-24T10:00:00Z"}') RETURNING id`, "1$@694702\nINSERT 0 1")
	a.want(`INSERT INTO events VALUES ('2$', '{"at": "2026-11-25T00:30:00"}') RETURNING id`, "2$@991512\nINSERT 0 1")
	a.want("PREPARE p (timestamptz) AS SELECT id FROM events WHERE (doc->>'at')::timestamptz = $1", "PREPARE")
	for _, x := range []struct{ zone, at, buckets, id string }{
		{"UTC", "2026-11-25 00:30Z", "buckets: 991512", "2$@991512"},
		{"Europe/Berlin", "2026-11-24 23:30Z", "buckets: 694702, 991512", "2$@991512"},
		{"Europe/Berlin", "2026-11-24 10:00Z", "buckets: 694702, 989608, 991512", "1$@694702"},
		{"Etc/UTC", "2026-11-24 10:00Z", "buckets: 694702", "1$@694702"},
	} {
		a.want("SET timezone = '"+x.zone+"'", "SET")
		a.want("EXECUTE p ('"+x.at+"')", x.id+"\nSELECT 1")
		if got := a.answer("EXPLAIN (COSTS OFF) EXECUTE p ('" + x.at + "')"); !strings.Contains(got, x.buckets+")") {
			t.Errorf("%s in %s: %s", x.at, x.zone, got)
		}
	}
	a.want("ALTER TABLE events SET (shard_by = 'month(at)')",
		"NOTICE: the sharding policy of \"events\" is not validated: queries do not route by its fields "+
			"yet\nALTER TABLE")
	if got := a.answer("EXPLAIN (COSTS OFF) EXECUTE p ('2026-11-24 10:00Z')"); strings.Contains(got, "Routed by") {
		t.Errorf("a policy that is not validated routes: %s", got)
	}
	a.want("EXECUTE p ('2026-11-24 10:00Z')", "1$@694702\nSELECT 1")
}
