package sql_test

import (
	"sync"
	"testing"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
)

// TestPipeline: an error in a pipeline undoes the statements before it, and named portals do not
// outlive Sync.
func TestPipeline(t *testing.T) {
	w := newWorld(t)
	a, b := w.connect(t), w.connect(t)
	a.want("CREATE TABLE p (id int PRIMARY KEY, v int CHECK (v > 0))", "CREATE TABLE")
	a.want("INSERT INTO p SELECT g, g FROM generate_series(1, 9) g", "INSERT 0 9")
	ctx := t.Context()
	must(t, a.s.Parse(ctx, "ins", "INSERT INTO p VALUES (80, 1)", nil))
	must(t, a.s.Parse(ctx, "bad", "SELECT 1 / 0", nil))
	r := &recorder{env: a.s.Env}
	execute := func(statement string) error {
		if err := a.s.Bind(ctx, "p"+statement, statement, nil); err != nil {
			return err
		}
		_, err := a.s.Execute(ctx, "p"+statement, 0, r)
		return err
	}
	must(t, execute("ins"))
	if err := execute("bad"); !pgerr.Is(err, pgerr.DivisionByZero) {
		t.Errorf("pipeline: %v", err)
	}
	must(t, a.s.Sync(ctx))
	b.want("SELECT count(*) FROM p", "9\nSELECT 1")
	must(t, execute("ins"))
	must(t, a.s.Sync(ctx))
	b.want("SELECT count(*) FROM p", "10\nSELECT 1")
	if _, err := a.s.Execute(ctx, "pins", 0, r); !pgerr.Is(err, pgerr.InvalidCursorName) {
		t.Errorf("a portal after Sync: %v", err)
	}
}

// Autocommit increments are run again after a conflict; none is lost.
func TestCounter(t *testing.T) {
	const sessions, each = 4, 25
	w := newWorld(t)
	a := w.connect(t)
	a.want("CREATE TABLE n (id text PRIMARY KEY, v int)", "CREATE TABLE")
	a.want("INSERT INTO n VALUES ('x', 0)", "INSERT 0 1")
	start := time.Now()
	var wg sync.WaitGroup
	for range sessions {
		c := w.connect(t)
		wg.Go(func() {
			for range each {
				c.want("UPDATE n SET v = v + 1 WHERE id = 'x'", "UPDATE 1")
			}
		})
	}
	wg.Wait()
	t.Logf("%d increments in %v", sessions*each, time.Since(start))
	a.want("SELECT v FROM n", "100\nSELECT 1")
}
