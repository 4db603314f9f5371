package nodetest

import (
	"strings"
	"testing"
	"time"

	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/node"
)

// TestSegmentsByThemselves: in mode auto, segments of a range table are split as they grow, spread
// over the fragments, and merged when their rows are deleted; a split by a user stays. Before that,
// in mode advise, a plan proposes the same and a user applies it. Query results are correct all the
// time.
func TestSegmentsByThemselves(t *testing.T) {
	t.Parallel()
	c := Start(t, 2, func(_ uint32, cfg *node.Config) { cfg.Fragments, cfg.Knobs.RebalanceLook = 3, 50*time.Millisecond })
	exec(t, c, 1, "ALTER SYSTEM SET sherd.segment_size = '1MB'")
	// Otherwise the balancer watches for ten minutes whether writes have ceased.
	exec(t, c, 1, "ALTER SYSTEM SET sherd.segment_writes = 0")
	exec(t, c, 1, "CREATE TABLE r (id int PRIMARY KEY, v text) WITH (shard_by = 'range', shard_splits = '100000')")
	exec(t, c, 1, "CREATE INDEX ON r (v)")
	replicated(c, 2)
	db := c.Node(2).Connect(t)
	want := func(text, want string) {
		t.Helper()
		got, err := rows(c.context(), db, text)
		if err != nil || strings.Join(got, "; ") != want {
			t.Errorf("%s: %s, %v; want %s", text, strings.Join(got, "; "), err, want)
		}
	}
	t.Cleanup(func() {
		if t.Failed() {
			for _, v := range []string{"segments", "plans", "plan_steps", "moves", "move_history", "changelog"} {
				got, err := rows(c.context(), c.Node(1).Connect(t), "SELECT x::text FROM sherd."+v+" x")
				t.Log(v, err, "\n"+strings.Join(got, "\n"))
			}
		}
	})
	comes := func(text, want string) {
		t.Helper()
		eventually.Holds(t, text, func() bool {
			got, err := rows(c.context(), db, text)
			return err == nil && strings.Join(got, "; ") == want
		})
	}
	insert := func(from, to string) {
		t.Helper()
		exec(t, c, 2, "INSERT INTO r SELECT i, repeat(chr(97 + i % 26), 1000) FROM generate_series("+from+", "+to+") i")
	}
	insert("1", "1600")
	comes("SELECT concat_ws(',', state, split_part(ranges, ' at ', 1), regexp_replace(reason, '[0-9.]+ MiB;', 'n MiB;')) FROM sherd.plan_steps",
		"waiting,r: split,a segment of r has n MiB; sherd.segment_size is 1 MiB")
	want("SELECT count(*) FROM sherd.segments", "2")
	if _, err := db.Exec(c.context(), "SELECT sherd.apply_plan(plan) FROM sherd.plans"); err != nil {
		t.Fatal(err)
	}
	comes("SELECT concat_ws(',', count(*) > 2, count(*) FILTER (WHERE NOT automatic), max(bytes) <= 1 << 20) FROM sherd.segments", "t,2,t")
	comes("SELECT concat_ws(',', who, split_part(why, ' has ', 1)) FROM sherd.move_history LIMIT 1", "postgres,a segment of r")

	exec(t, c, 1, "ALTER SYSTEM SET sherd.balancer = 'auto'")
	for _, part := range [][2]string{{"1601", "2400"}, {"2401", "3200"}, {"3201", "4000"}} {
		insert(part[0], part[1])
		want("SELECT concat_ws(',', count(*), sum(id), count(DISTINCT v)) FROM r WHERE id <= 1600", "1600,1280800,26")
	}
	comes("SELECT concat_ws(',', count(*) > 4, count(*) FILTER (WHERE NOT automatic), max(bytes) <= 1 << 20, count(DISTINCT fragment)) FROM sherd.segments", "t,2,t,3")
	want("SELECT concat_ws(',', count(*), min(id), max(id), count(DISTINCT id)) FROM r WHERE id > 1000", "3000,1001,4000,3000")
	want("SELECT count(*) FROM r WHERE v = repeat('c', 1000)", "154")
	comes("SELECT concat_ws(',', count(*) > 0) FROM sherd.changelog WHERE who = 'sherd' AND kind = 'move' AND why LIKE 'a segment of r has %'", "t")
	want(`SELECT "check" || subject || detail FROM sherd.check() WHERE NOT ok`, "")

	exec(t, c, 2, "DELETE FROM r WHERE id > 10")
	comes("SELECT concat_ws(',', lower, documents, automatic) FROM sherd.segments ORDER BY lower", "100000,0,f; 10,f")
	want("SELECT concat_ws(',', count(*), sum(id)) FROM r", "10,55")
	comes("SELECT concat_ws(',', count(*) > 0) FROM sherd.move_history WHERE who = 'sherd' AND why LIKE '%neighbouring segments of r have %'", "t")
	want(`SELECT "check" || subject || detail FROM sherd.check() WHERE NOT ok`, "")
}
