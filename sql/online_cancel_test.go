package sql_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
)

// TestIndexCancelled cancels CREATE INDEX at different moments. Either the index is complete, or
// nothing is left: no index that stays unfinished until the next start, and no index that is read
// while its entries are deleted.
func TestIndexCancelled(t *testing.T) {
	w := newWorld(t)
	c, d := w.connect(t), w.connect(t)
	c.want("CREATE TABLE o (id int PRIMARY KEY, v int)", "CREATE TABLE")
	c.want("INSERT INTO o SELECT g, g % 7 FROM generate_series(1, 70) g", "INSERT 0 70")
	rounds, made := 100, 0
	if testing.Short() {
		rounds = 40
	}
	for i := range rounds {
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Duration(i)*40*time.Millisecond/time.Duration(rounds),
			pgerr.New(pgerr.QueryCanceled, "enough"))
		c.ctx = ctx
		got := c.answer("CREATE INDEX o_v ON o (v)")
		cancel()
		there := "0"
		switch {
		case got == "CREATE INDEX":
			there = "1"
			made++
		case !strings.Contains(got, "57014"):
			t.Errorf("round %d: %s", i, got)
		}
		c.ctx = nil
		c.want("SELECT count(*) FROM pg_class WHERE relname = 'o_v'", there+"\nSELECT 1")
		c.want("UPDATE o SET v = 6 - v", "UPDATE 70")
		w.awaitBuilt(t)
		c.want("SELECT count(*) FROM o WHERE v = 3", "10\nSELECT 1")
		c.want("SELECT * FROM sherd.check() WHERE NOT ok", "SELECT 0")
		d.answer("DROP INDEX IF EXISTS o_v")
	}
	t.Logf("%d of %d were made", made, rounds)
}

// awaitBuilt waits until no job is building an index, or deleting what one has left behind.
func (w *world) awaitBuilt(t *testing.T) {
	t.Helper()
	builds := func(v *catalog.View) bool {
		for j := range v.Jobs() {
			_, _, _, building := j.BuiltIndex()
			if _, _, dropped := j.DroppedIndex(); building || dropped {
				return true
			}
		}
		return false
	}
	late := time.After(testTimeout)
	for v := w.cfg.Catalog.View(); builds(v); v = w.cfg.Catalog.View() {
		select {
		case <-v.Superseded():
		case <-late:
			t.Fatal("an index is being built, or taken away, still")
		}
	}
}
