package sql_test

import (
	"bytes"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/clusterversion"
	"github.com/sherddb/sherd/node/store"
	"github.com/sherddb/sherd/rebalance/move"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/txn"
)

// TestMoveOfTruncatedTable: a table is truncated and all its data is deleted, while a move or a
// split copies it. A step that writes after that stops, and leaves nothing behind.
func TestMoveOfTruncatedTable(t *testing.T) {
	for _, x := range []struct{ name, with, begin string }{
		{"move", "", "SELECT sherd.move_buckets('postgres', 0, " + quarter + ", 'postgres$2', wait => true)"},
		{"split", " WITH (shard_by = 'range')", "SELECT sherd.split_segment('r', '100')"},
	} {
		t.Run(x.name, func(t *testing.T) {
			var copying atomic.Pointer[func()]
			w := newWorldAt(t, 3, clusterversion.Newest, func(c *store.Config) {
				c.AtMove = func(arrow string) error {
					if arrow == move.Copying {
						if f := copying.Swap(nil); f != nil {
							(*f)()
						}
					}
					return nil
				}
			})
			c, d := w.connect(t), w.another().connect(t)
			c.want("CREATE TABLE r (id int PRIMARY KEY, n int)"+x.with, "CREATE TABLE")
			c.want("CREATE INDEX r_n ON r (n)", "CREATE INDEX")
			c.want("INSERT INTO r SELECT i, i FROM generate_series(1, 300) i", "INSERT 0 300")
			truncate := func() {
				d.want("TRUNCATE r", "TRUNCATE TABLE")
				w.awaitDeleted(t)
			}
			copying.Store(&truncate)
			if got := c.answer(x.begin); !reshapes(got) {
				t.Error(got)
			}
			if copying.Load() != nil {
				t.Fatal("nothing was copied")
			}
			w.awaitDeleted(t)
			c.want("INSERT INTO r SELECT i, i FROM generate_series(1, 300) i", "INSERT 0 300")
			c.want("SELECT count(*) FROM r WHERE n > 0", "300\nSELECT 1")
			c.want("SELECT * FROM sherd.check() WHERE NOT ok", "SELECT 0")
		})
	}
}

// TestMoveOfDropped: a source that does not know yet that a table or a global index was dropped
// sends its data to a target that knows it. This is not a fault. The data is deleted again: by the
// move or, if the move ends before that, by housekeeping.
func TestMoveOfDropped(t *testing.T) {
	w := newWorld(t)
	c := w.connect(t)
	c.want("CREATE TABLE acc (id text PRIMARY KEY, n int, CONSTRAINT acc_n UNIQUE (n)); "+
		"CREATE TABLE gone (id text PRIMARY KEY)", "CREATE TABLE\nCREATE TABLE")
	c.want("INSERT INTO acc SELECT 'acc/' || i, i FROM generate_series(1, 100) i", "INSERT 0 100")
	c.want("INSERT INTO gone SELECT 'gone/' || i FROM generate_series(1, 100) i", "INSERT 0 100")
	fragments := w.cfg.Catalog.View().Database(catalog.PostgresDB).Fragments
	source, err := w.host.Replicas.Replica(fragments[0].ID)
	must(t, err)
	var spans []txn.Span // of the first quarter of the buckets
	for def := range w.cfg.Catalog.View().Tables(catalog.PostgresDB) {
		index := uint32(0)
		if i := slices.IndexFunc(def.Indexes, func(x catalog.Index) bool { return x.Global }); i >= 0 {
			index = def.Indexes[i].StorageID
		} else if def.Name != "gone" {
			continue
		}
		prefix := keyspace.IndexPrefix(def.StorageID, index)
		spans = append(spans, txn.Span{Start: append(bytes.Clone(prefix), 0, 0, 0), End: append(prefix, 4, 0, 0)})
	}
	if len(spans) != 2 {
		t.Fatal(spans)
	}
	were := stored(t, source, spans)
	c.want("ALTER TABLE acc DROP CONSTRAINT acc_n; DROP TABLE gone", "ALTER TABLE\nDROP TABLE")
	w.awaitDeleted(t)
	again := func() {
		t.Helper()
		tx := source.Tx(txn.NewID())
		for _, kv := range were {
			tx.Global(keyspace.TableOf(kv[0]), keyspace.IndexOf(kv[0]))
			must(t, tx.Put(kv[0], kv[1]))
		}
		_, err := tx.Commit(t.Context(), txn.CommitRequest{})
		must(t, err)
	}
	nothing := func() {
		t.Helper()
		w.awaitDeleted(t)
		for _, f := range fragments {
			r, err := w.host.Replicas.Replica(f.ID)
			must(t, err)
			for _, s := range spans {
				prefix := s.Start[:8]
				if there, err := r.Inspect.Stores(txn.Prefix(prefix)); err != nil || there {
					t.Errorf("fragment %d has something of %x (%v)", f.ID, prefix, err)
				}
			}
		}
		c.want("SELECT * FROM sherd.check() WHERE NOT ok", "SELECT 0")
	}
	again()
	c.answer("SELECT sherd.move_buckets('postgres', 0, " + quarter + ", 'postgres$2', wait => true)")
	nothing()
	c.answer("SELECT sherd.move_buckets('postgres', 0, " + quarter + ", 'postgres$0', wait => true)")
	// The deletions have arrived too, and the move has started jobs for them.
	w.awaitDeleted(t)
	again()
	c.want("SELECT * FROM sherd.check() WHERE NOT ok", "SELECT 0")
	must(t, w.host.Rebalancer.RemoveLeftovers(t.Context()))
	nothing()
}

// stored returns the keys and values that a replica stores in some spans.
func stored(t *testing.T, r *storage.Replica, spans []txn.Span) (out [][2][]byte) {
	t.Helper()
	T, err := r.Snapshot(t.Context())
	must(t, err)
	v, err := r.Tx(txn.NewID()).View(t.Context(), T)
	must(t, err)
	defer v.Close()
	for _, s := range spans {
		n := len(out)
		must(t, v.Scan(t.Context(), s, false, func(key, value []byte) error {
			out = append(out, [2][]byte{bytes.Clone(key), bytes.Clone(value)})
			return nil
		}))
		if len(out) == n {
			t.Fatalf("nothing is stored of %x", s.Start)
		}
	}
	return out
}

// awaitDeleted waits until no job and no fragment is deleting anything.
func (w *world) awaitDeleted(t *testing.T) {
	t.Helper()
	deletes := func(v *catalog.View) bool {
		for j := range v.Jobs() {
			_, storage := j.DroppedStorage()
			_, _, index := j.DroppedIndex()
			if storage || index {
				return true
			}
		}
		return false
	}
	v := w.cfg.Catalog.View()
	for ; deletes(v); v = w.cfg.Catalog.View() {
		<-v.Superseded()
	}
	for _, f := range v.Database(catalog.PostgresDB).Fragments {
		r, err := w.host.Replicas.Replica(f.ID)
		must(t, err)
		for {
			spans, err := r.Inspect.Dropping()
			must(t, err)
			if len(spans) == 0 {
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
}

// TestBucketsOfDroppedTables: the buckets of segments are removed with their table, once its rows
// are deleted. This includes buckets that were split and moved, and a table that is dropped during
// a split. Buckets that a table names stay.
func TestBucketsOfDroppedTables(t *testing.T) {
	var copying atomic.Pointer[func()]
	w := newWorldAt(t, 3, clusterversion.Newest, func(c *store.Config) {
		c.AtMove = func(arrow string) error {
			if arrow == move.Copying {
				if f := copying.Swap(nil); f != nil {
					(*f)()
				}
			}
			return nil
		}
	})
	c, d := w.connect(t), w.another().connect(t)
	assigned := func(want string) {
		t.Helper()
		w.awaitDeleted(t)
		c.want("SELECT coalesce(sum(end_bucket - greatest(first_bucket, 1048576)), 0) FROM sherd.bucket_map "+
			"WHERE end_bucket > 1048576", want+"\nSELECT 1")
		c.want("SELECT * FROM sherd.check() WHERE NOT ok", "SELECT 0")
	}
	fill := func(table string) {
		t.Helper()
		c.want("CREATE TABLE "+table+" (id int PRIMARY KEY, n int) WITH (shard_by = 'range', shard_splits = '100,200')",
			"CREATE TABLE")
		c.want("INSERT INTO "+table+" SELECT i, i FROM generate_series(1, 300) i", "INSERT 0 300")
	}
	fill("r")
	fill("kept")
	c.reshaped("split_segment('r', '150')")
	if got := c.answer("SELECT sherd.pin_anchors('r', ARRAY['150'], 'postgres$2', wait => true)"); !reshapes(got) {
		t.Error(got)
	}
	c.want("SELECT count(*) FROM sherd.pins", "1\nSELECT 1")
	assigned("7")
	c.want("TRUNCATE kept, r", "TRUNCATE TABLE")
	assigned("7")
	c.want("INSERT INTO r SELECT i, i FROM generate_series(1, 300) i", "INSERT 0 300")
	c.want("BEGIN; DROP TABLE r; ROLLBACK", "BEGIN\nDROP TABLE\nROLLBACK")
	assigned("7")
	c.want("DROP TABLE r", "DROP TABLE")
	assigned("3")
	c.want("SELECT count(*) FROM sherd.pins", "0\nSELECT 1")
	c.want("INSERT INTO kept SELECT i, i FROM generate_series(1, 300) i", "INSERT 0 300")
	c.want("ALTER TABLE kept RESET (shard_by)", "ALTER TABLE")
	assigned("0")
	c.want("SELECT count(*), sum(n) FROM kept", "300|45150\nSELECT 1")
	fill("r")
	drop := func() { d.want("DROP TABLE r", "DROP TABLE") }
	copying.Store(&drop)
	t.Log(c.answer("SELECT sherd.split_segment('r', '50')"))
	assigned("0")
	c.want("SELECT count(*) FROM sherd.moves", "0\nSELECT 1")
	fill("r")
	c.want("SELECT count(*), sum(n) FROM r WHERE id > 0", "300|45150\nSELECT 1")
	assigned("3")
}
