package sql_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sherddb/sherd/internal/clusterversion"
	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/node/store"
	"github.com/sherddb/sherd/sql/session"
	"github.com/sherddb/sherd/storage"
)

// TestSnapshotWhereNothingWas: a snapshot that is older than gc_ttl finds its rows in a fragment
// that owned nothing, or did not exist, when the snapshot was taken.
func TestSnapshotWhereNothingWas(t *testing.T) {
	var kept versions
	w := newWorldAt(t, 3, clusterversion.Newest, kept.config)
	c, old, cursor := w.connect(t), w.connect(t), w.connect(t)
	const last = "SELECT sherd.move_buckets('postgres', first_bucket, end_bucket, '"
	c.want("CREATE DATABASE beside FRAGMENTS 1", "CREATE DATABASE")
	s, err := w.server.NewSession(t.Context(), session.StartupParams{User: "postgres", Database: "beside", PID: 99})
	must(t, err)
	defer s.Close()
	(&client{t: t, s: s}).want("CREATE TABLE things (n int); INSERT INTO things VALUES (1)", "CREATE TABLE\nINSERT 0 1")
	c.want("CREATE TABLE acc (id text PRIMARY KEY, n int)", "CREATE TABLE")
	c.want("INSERT INTO acc SELECT 'acc/' || i, 1 FROM generate_series(1, 1000) i", "INSERT 0 1000")
	c.answer(last + "postgres$0', wait => true) FROM sherd.bucket_map WHERE fragment = 'postgres$2'")
	const all = "SELECT count(*), sum(n) FROM acc"
	old.want("BEGIN ISOLATION LEVEL REPEATABLE READ; "+all, "BEGIN\n1000|1000\nSELECT 1")
	cursor.want("BEGIN; DECLARE rows CURSOR FOR "+all, "BEGIN\nDECLARE CURSOR")
	c.want("UPDATE acc SET n = 2", "UPDATE 1000")
	c.answer("SELECT sherd.add_fragment('postgres')")
	// A fragment that is added keeps them a moment later.
	for _, r := range w.replicasOf("postgres") {
		eventually.Holds(t, fmt.Sprintf("fragment %d keeps two snapshots", r.ID()),
			func() bool { return len(r.PinnedSnapshots()) >= 2 })
	}
	kept.forget(w, "postgres")
	kept.forget(w, "beside")
	c.answer(last +
		"postgres$2', wait => true) FROM sherd.bucket_map WHERE fragment = 'postgres$0' AND first_bucket = 0")
	c.answer(last + "postgres$3', wait => true) FROM sherd.bucket_map WHERE fragment = 'postgres$1'")
	c.want("SELECT string_agg(DISTINCT fragment, ',' ORDER BY fragment) FROM sherd.bucket_map "+
		"WHERE fragment IN ('postgres$2', 'postgres$3')", "postgres$2,postgres$3\nSELECT 1")
	old.want(all+"; COMMIT", "1000|1000\nSELECT 1\nCOMMIT")
	cursor.want("FETCH ALL FROM rows; COMMIT", "1000|1000\nFETCH 1\nCOMMIT")
	c.want(all, "1000|2000\nSELECT 1")
}

// versions sets how long the fragments of a world keep old versions: a day, except at moments that
// the test chooses.
type versions struct{ short atomic.Bool }

func (v *versions) config(c *store.Config) {
	c.Storage.Timing.VersionsKept = func() time.Duration {
		if v.short.Load() {
			return time.Nanosecond
		}
		return 24 * time.Hour
	}
}

// forget makes the fragments of a database keep only the old versions that are pinned.
func (v *versions) forget(w *world, database string) {
	w.t.Helper()
	v.short.Store(true)
	defer v.short.Store(false)
	for _, r := range w.replicasOf(database) {
		at := r.Applied()
		eventually.Holds(w.t, fmt.Sprintf("the watermark of fragment %d passes what is not pinned", r.ID()), func() bool {
			must(w.t, r.Moves.PassBy(w.cfg.Clock.Wall())) // the watermark follows what is applied
			until := at
			if pinned := r.PinnedSnapshots(); len(pinned) > 0 {
				until = min(until, pinned[0])
			}
			return r.Watermark() >= until
		})
	}
}

func (w *world) replicasOf(database string) (all []*storage.Replica) {
	w.t.Helper()
	for _, f := range w.cfg.Catalog.View().DatabaseByName(database).Fragments {
		r, err := w.host.Replicas.Replica(f.ID)
		must(w.t, err)
		all = append(all, r)
	}
	return all
}
