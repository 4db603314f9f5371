package catalog

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/internal/sparse"
)

// tableChange plans a change that makes a table.
func tableChange(t *testing.T, c *Catalog, name string) *Change {
	t.Helper()
	ch := c.View().Plan()
	if err := ch.PutTable(newTable(t, c, name)); err != nil {
		t.Fatal(err)
	}
	return ch
}

func TestPreparedChange(t *testing.T) {
	for _, commit := range []bool{true, false} {
		c := openBootstrapped(t)
		id := TransactionID{1}
		if err := c.Prepare(t.Context(), id, tableChange(t, c, "orders"), []uint32{1, 2}); err != nil {
			t.Fatal(err)
		}
		if c.View().FindTable(PostgresDB, "public", "orders") != nil {
			t.Fatal("a prepared table is seen")
		}
		// What collides with it waits; what does not goes on.
		if _, err := c.Apply(t.Context(), tableChange(t, c, "other")); err != nil {
			t.Fatal(err)
		}
		short, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, pgerr.New(pgerr.QueryCanceled, "enough"))
		if _, err := c.Apply(Answered(short), tableChange(t, c, "orders")); !pgerr.Is(err, pgerr.QueryCanceled) {
			t.Fatal(err)
		}
		cancel()
		second := make(chan error, 1)
		ch := tableChange(t, c, "orders")
		go func() {
			_, err := c.Apply(context.Background(), ch)
			second <- err
		}()
		out, err := c.Decide(t.Context(), id, 7, commit)
		if err != nil || (out == Committed) != commit {
			t.Fatal(out, err)
		}
		if err := <-second; pgerr.Is(err, pgerr.DuplicateTable) != commit {
			t.Fatalf("commit %v: second: %v", commit, err)
		}
		// The first decision counts.
		if again, err := c.Outcome(t.Context(), id); again != out || err != nil {
			t.Fatal(again, err)
		}
		if n := len(c.View().Unforgotten()); (n == 1) != commit {
			t.Fatalf("%d decisions are kept", n)
		}
		if err := c.Forget(t.Context(), id); err != nil || len(c.View().Unforgotten()) != 0 {
			t.Fatal(err)
		}
	}
}

// TestDropOfWhatAPreparedChangeNeeds waits for the decision: a schema or an owner must not go while a table that needs it is on its way.
func TestDropOfWhatAPreparedChangeNeeds(t *testing.T) {
	c := openBootstrapped(t)
	schema := must[OID](t)(c.NewOID(t.Context()))
	ch := c.View().Plan()
	if err := ch.PutSchema(&Schema{OID: schema, Database: PostgresDB, Name: "s", Owner: BootstrapRole}); err != nil {
		t.Fatal(err)
	}
	must[uint64](t)(c.Apply(t.Context(), ch))
	tab := newTable(t, c, "t")
	tab.Schema = schema
	ch = c.View().Plan()
	if err := ch.PutTable(tab); err != nil {
		t.Fatal(err)
	}
	id := TransactionID{2}
	if err := c.Prepare(t.Context(), id, ch, nil); err != nil {
		t.Fatal(err)
	}
	drop := c.View().Plan()
	drop.DropSchema(schema)
	_, err := c.View().apply(drop.ops, c.machine.counters)
	var busy *busyError
	if !errors.As(err, &busy) || busy.id != id {
		t.Fatal(err)
	}
}

// TestCrashWhilePrepared opens what a dead process left at each step.
func TestCrashWhilePrepared(t *testing.T) {
	for _, step := range []string{"prepared", "decided", "forgotten"} {
		dir := t.TempDir()
		c := openCatalog(t, dir)
		must[bool](t)(c.Bootstrap(t.Context(), bootstrapOptions()))
		id := TransactionID{3}
		if err := c.Prepare(t.Context(), id, tableChange(t, c, "orders"), []uint32{1}); err != nil {
			t.Fatal(err)
		}
		if step != "prepared" {
			must[Outcome](t)(c.Decide(t.Context(), id, 9, true))
		}
		if step == "forgotten" {
			if err := c.Forget(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
		for _, snapshot := range []bool{false, true} {
			if snapshot {
				if err := c.Snapshot(); err != nil {
					t.Fatal(err)
				}
			}
			crashed := t.TempDir()
			if err := sparse.Dir(crashed, dir); err != nil {
				t.Fatal(err)
			}
			v := openCatalog(t, crashed).View()
			there := v.FindTable(PostgresDB, "public", "orders") != nil
			if there != (step != "prepared") || len(v.prepared) != 0 || (len(v.Unforgotten()) == 1) != (step == "decided") {
				t.Fatalf("%s, snapshot %v: table %v, %d prepared, %d kept", step, snapshot, there, len(v.prepared), len(v.Unforgotten()))
			}
		}
	}
}

// TestThen: a transaction's change grows by the steps of its statements, each planned against what the ones before led to.
func TestThen(t *testing.T) {
	c := openBootstrapped(t)
	old := newTable(t, c, "old")
	putTable(t, c, old)
	ch := c.View().Plan()
	step := func(f func(v *View, next *Change)) {
		t.Helper()
		v := must[*View](t)(ch.Preview())
		next := v.Plan()
		f(v, next)
		ch = ch.Then(next)
	}
	made, gone := newTable(t, c, "made"), newTable(t, c, "gone")
	put := func(next *Change, tab *Table) {
		t.Helper()
		if err := next.PutTable(tab); err != nil {
			t.Fatal(err)
		}
	}
	step(func(_ *View, next *Change) { put(next, made) })
	step(func(_ *View, next *Change) { put(next, gone) })
	step(func(v *View, next *Change) {
		u := v.Table(old.OID).Clone()
		u.Comment = "changed"
		put(next, u)
	})
	before := ch
	step(func(v *View, next *Change) {
		next.DropTable(gone.OID)
		u := v.Table(old.OID).Clone()
		u.Name = "new"
		put(next, u)
	})
	if !ch.Makes(made.OID) || ch.Makes(old.OID) || ch.Makes(gone.OID) || !before.Makes(gone.OID) {
		t.Fatal("what the change makes")
	}
	ch.StartIDs(made.OID, 42)
	must[uint64](t)(c.Apply(t.Context(), tableChange(t, c, "between")))
	ch, err := ch.On(c.View())
	if err != nil {
		t.Fatal(err)
	}
	must[uint64](t)(c.Apply(t.Context(), ch))
	v := c.View()
	if u := v.Table(old.OID); u.Name != "new" || u.Comment != "changed" || v.Table(gone.OID) != nil || v.Table(made.OID) == nil {
		t.Fatalf("%+v", u)
	}
	if n := must[uint64](t)(c.NextIDs(t.Context(), made.OID, 1)); n != 42 {
		t.Fatalf("next id %d", n)
	}
	if _, err := before.On(v); !IsConflict(err) {
		t.Fatal(err)
	}
}
