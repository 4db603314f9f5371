package tx

import (
	"errors"
	"reflect"
	"testing"

	"github.com/sherddb/sherd/txn/locks"
)

// TestSavepointNames: a name that is set again hides the earlier one until it is released.
func TestSavepointNames(t *testing.T) {
	w := newWorld(t)
	x := w.begin("read committed")
	defer x.Rollback()
	find := func(name string, want int) {
		t.Helper()
		if i, err := x.FindSavepoint(name); err != nil || i != want {
			t.Errorf("savepoint %s is %d (%v), want %d", name, i, err, want)
		}
	}
	for _, name := range []string{"a", "b", "a"} {
		x.Savepoint(name)
	}
	find("a", 2)
	find("b", 1)
	x.ReleaseSavepoint(2)
	find("a", 0)
	x.Savepoint("c")
	x.UndoTo(0)
	x.ForgetAfter(0)
	find("a", 0)
	if _, err := x.FindSavepoint("c"); x.Depth() != 1 {
		t.Errorf("%d savepoints are left, c: %v", x.Depth(), err)
	}
	_, err := x.FindSavepoint("b")
	wantCode(t, "a savepoint that was rolled back", err, "3B001")
}

// TestUndo: ROLLBACK TO brings back the writes, the schema, the mode and the locks of the savepoint. RELEASE brings
// back the mode only.
func TestUndo(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	before, since := w.table("before"), w.table("since")
	other := w.environment(2).Begin(w.now.Time(), Modes{Level: "read committed"})
	defer other.Rollback()
	x := w.begin("read committed")
	defer x.Rollback()
	must(t, x.LockTable(ctx, before.OID, locks.AccessExclusive, false))
	w.last.writes = 3
	x.Savepoint("a")
	mark := w.last.writes
	for range 2 { // a savepoint may be rolled back to more than once
		w.last.writes++
		must(t, x.SetReadOnly(true))
		must(t, x.LockTable(ctx, since.OID, locks.AccessExclusive, false))
		made := w.newTable("made")
		must(t, put(ctx, x, made))
		if x.View().Table(made.OID) == nil {
			t.Fatal("the transaction does not see the table that it has made")
		}
		x.UndoTo(0)
		if !reflect.DeepEqual(x.MarkOf(0), markOf(mark)) || w.last.writes != mark {
			t.Errorf("%d writes are left, want %d", w.last.writes, mark)
		}
		if x.Modes.ReadOnly || x.Schema != nil || x.View().Table(made.OID) != nil {
			t.Errorf("what is left is %+v, %+v", x.Modes, x.Schema)
		}
		must(t, other.LockTable(ctx, since.OID, locks.AccessExclusive, true))
		err := other.LockTable(ctx, before.OID, locks.AccessShare, true)
		if !errors.Is(err, locks.ErrNotAvailable) {
			t.Errorf("a lock from before the savepoint: %v", err)
		}
		other.Unlock()
	}
	must(t, x.SetReadOnly(true))
	w.last.writes++
	x.ReleaseSavepoint(0)
	if x.Modes.ReadOnly || w.last.writes != mark+1 || x.Depth() != 0 {
		t.Errorf("after RELEASE: %+v, %d writes, %d savepoints", x.Modes, w.last.writes, x.Depth())
	}
}
