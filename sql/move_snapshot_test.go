package sql_test

import (
	"testing"
	"time"

	"github.com/sherddb/sherd/cluster"
	"github.com/sherddb/sherd/internal/clusterversion"
	"github.com/sherddb/sherd/sql"
	"github.com/sherddb/sherd/txn"
)

// TestSnapshotWhereNothingWas: a snapshot that is older than old versions are kept finds its rows in a fragment that owned nothing, or was not there, when it
// was taken.
func TestSnapshotWhereNothingWas(t *testing.T) {
	w := newWorldAt(t, 3, clusterversion.Newest, func(c *cluster.Config) { c.Storage.GCTTL = 2 * time.Second })
	c, old, cursor := w.connect(t), w.connect(t), w.connect(t)
	const last = "SELECT sherd.move_buckets('postgres', first_bucket, end_bucket, '"
	c.want("CREATE DATABASE beside FRAGMENTS 1", "CREATE DATABASE")
	s, err := w.server.NewSession(t.Context(), sql.StartupParams{User: "postgres", Database: "beside", PID: 99})
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
	for range 2 { // the second begins when what is done by the way in each fragment was done in the first
		w.forget(w.cfg.Clock.Now())
	}
	c.answer(last + "postgres$2', wait => true) FROM sherd.bucket_map WHERE fragment = 'postgres$0' AND first_bucket = 0")
	c.answer(last + "postgres$3', wait => true) FROM sherd.bucket_map WHERE fragment = 'postgres$1'")
	c.want("SELECT string_agg(DISTINCT fragment, ',' ORDER BY fragment) FROM sherd.bucket_map WHERE fragment IN ('postgres$2', 'postgres$3')", "postgres$2,postgres$3\nSELECT 1")
	old.want(all+"; COMMIT", "1000|1000\nSELECT 1\nCOMMIT")
	cursor.want("FETCH ALL FROM rows; COMMIT", "1000|1000\nFETCH 1\nCOMMIT")
	c.want(all, "1000|2000\nSELECT 1")
}

// forget waits until old versions of T are let go of where nobody holds them.
func (w *world) forget(T txn.Timestamp) {
	w.t.Helper()
	d := w.cfg.Catalog.View().DatabaseByName("beside")
	r, err := w.host.Replica(txn.FragmentID(d.Fragments[0].ID))
	must(w.t, err)
	for deadline := time.Now().Add(time.Minute); r.Watermark() <= T; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("the watermark stays at %s", r.Watermark())
		}
	}
}
