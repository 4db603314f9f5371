package sql_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/cluster"
	"github.com/sherddb/sherd/cluster/move"
	"github.com/sherddb/sherd/internal/clusterversion"
)

// TestMoveOfTruncatedTable: a table is truncated, and all that it had is deleted, while a move or a split carries it. What the step writes after that, and gives up, leaves
// nothing.
func TestMoveOfTruncatedTable(t *testing.T) {
	for _, x := range []struct{ name, with, begin string }{
		{"move", "", "SELECT sherd.move_buckets('postgres', 0, " + quarter + ", 'postgres$2', wait => true)"},
		{"split", " WITH (shard_by = 'range')", "SELECT sherd.split_segment('r', '100')"},
	} {
		t.Run(x.name, func(t *testing.T) {
			var carrying atomic.Pointer[func()]
			w := newWorldAt(t, 3, clusterversion.Newest, func(c *cluster.Config) {
				c.AtMove = func(arrow string) error {
					if arrow == move.Carrying {
						if f := carrying.Swap(nil); f != nil {
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
			carrying.Store(&truncate)
			if got := c.answer(x.begin); !reshapes(got) {
				t.Error(got)
			}
			if carrying.Load() != nil {
				t.Fatal("nothing was carried")
			}
			w.awaitDeleted(t)
			c.want("INSERT INTO r SELECT i, i FROM generate_series(1, 300) i", "INSERT 0 300")
			c.want("SELECT count(*) FROM r WHERE n > 0", "300\nSELECT 1")
			c.want("SELECT * FROM sherd.check() WHERE NOT ok", "SELECT 0")
		})
	}
}

// awaitDeleted waits until no job deletes anything, and no fragment.
func (w *world) awaitDeleted(t *testing.T) {
	t.Helper()
	deletes := func(v *catalog.View) bool {
		for j := range v.Jobs() {
			if _, ok := j.DroppedStorage(); ok {
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
		r, err := w.host.Replica(f.ID)
		must(t, err)
		for {
			spans, err := r.Dropping()
			must(t, err)
			if len(spans) == 0 {
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
}

// TestBucketsOfDroppedTables: the buckets of segments go with their table, once its rows are deleted; also those that were split and moved, and where the table goes while
// one is being split. Those that a table names stay.
func TestBucketsOfDroppedTables(t *testing.T) {
	var carrying atomic.Pointer[func()]
	w := newWorldAt(t, 3, clusterversion.Newest, func(c *cluster.Config) {
		c.AtMove = func(arrow string) error {
			if arrow == move.Carrying {
				if f := carrying.Swap(nil); f != nil {
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
		c.want("SELECT coalesce(sum(end_bucket - greatest(first_bucket, 1048576)), 0) FROM sherd.bucket_map WHERE end_bucket > 1048576", want+"\nSELECT 1")
		c.want("SELECT * FROM sherd.check() WHERE NOT ok", "SELECT 0")
	}
	fill := func(table string) {
		t.Helper()
		c.want("CREATE TABLE "+table+" (id int PRIMARY KEY, n int) WITH (shard_by = 'range', shard_splits = '100,200')", "CREATE TABLE")
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
	carrying.Store(&drop)
	t.Log(c.answer("SELECT sherd.split_segment('r', '50')"))
	assigned("0")
	c.want("SELECT count(*) FROM sherd.moves", "0\nSELECT 1")
	fill("r")
	c.want("SELECT count(*), sum(n) FROM r WHERE id > 0", "300|45150\nSELECT 1")
	assigned("3")
}
