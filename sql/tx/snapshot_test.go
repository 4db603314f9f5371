package tx

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/sherddb/sherd/txn"
)

// TestTimestamps: a statement of its own timestamp asks the fragments each time, one snapshot is taken once and pinned.
// None is below the floor of the session.
func TestTimestamps(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	w.env.Floor = w.now + 5
	for level, once := range map[string]bool{"read committed": false, "repeatable read": true, "serializable": true} {
		x := w.begin(level)
		var got []txn.Timestamp
		for range 2 {
			must(t, x.TakeSnapshot(ctx))
			at, err := x.Gateway.Snapshot(ctx, x.Gateway.Map.Split(x.Gateway.Map.All()))
			must(t, err)
			got = append(got, at)
			w.last.now = w.env.Floor + 10
		}
		asked, pinned := 2, []txn.Timestamp(nil)
		want := []txn.Timestamp{w.env.Floor, w.env.Floor + 10}
		if once {
			asked, pinned, want[1] = 1, want[:1], want[0]
		}
		if !slices.Equal(got, want) || w.last.asked != asked || !slices.Equal(w.last.pinned, pinned) || x.Read != want[1] {
			t.Errorf("%s: reads at %d, want %d; asked %d times, pinned %d, the largest is %d",
				level, got, want, w.last.asked, w.last.pinned, x.Read)
		}
		if _, ok := x.Gateway.Leave(); ok == once {
			t.Errorf("%s: a fragment may choose the timestamp: %v", level, ok)
		}
		x.Rollback()
	}
}

// TestMovedWithoutMap: fragments that refuse the transaction's map make it wait for a newer one, as long as its
// statement may.
func TestMovedWithoutMap(t *testing.T) {
	w := newWorld(t)
	x := w.begin("read committed")
	defer x.Rollback()
	w.last.epoch = x.Gateway.Map.Epoch() + 1
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := x.CurrentEverywhere(ctx)
	wantCode(t, "a canceled statement", err, "57014")
	if w.last.asked != 1 {
		t.Errorf("the fragments were asked %d times by the same map", w.last.asked)
	}
}

// TestReplicas says which statements may be served by replicas that do not lead.
func TestReplicas(t *testing.T) {
	w := newWorld(t)
	read := Reading{}
	for _, test := range []struct {
		name     string
		setting  string
		explicit bool
		readOnly bool
		writes   int
		what     Reading
		near     bool
		code     string
	}{
		{name: "not allowed", setting: "0", what: read},
		{name: "a SELECT", setting: "5000", what: read, near: true},
		{name: "a write", setting: "5000", what: Reading{Writes: true}},
		{name: "a lock", setting: "5000", what: Reading{LocksRows: true}, code: "0A000"},
		{name: "in a block", setting: "5000", explicit: true, what: read},
		{name: "a lock in a block", setting: "5000", explicit: true, what: Reading{LocksRows: true}},
		{name: "in a block that reads only", setting: "5000", explicit: true, readOnly: true, what: read, near: true},
		{name: "after a write", setting: "5000", writes: 1, what: read},
	} {
		w.settings[stalenessSetting] = test.setting
		x := w.env.Begin(w.now.Time(), Modes{Level: "read committed", ReadOnly: test.readOnly})
		x.Explicit, w.last.writes = test.explicit, test.writes
		x.Near = true // of the statement before
		wantCode(t, test.name, x.ConsiderReplicas(test.what), test.code)
		if x.Near != test.near {
			t.Errorf("%s: replicas may serve it: %v", test.name, x.Near)
		}
		x.Rollback()
	}
}

// TestExport: another transaction reads what an open one has exported, at the same timestamp; one that has ended has
// nothing to import.
func TestExport(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	x := w.begin("repeatable read")
	id, err := x.Export(ctx)
	must(t, err)
	y := w.begin("repeatable read")
	w.last.now += 100
	must(t, y.ImportSnapshot(ctx, id))
	if y.At != x.At || y.At == 0 || !slices.Equal(w.last.pinned, []txn.Timestamp{x.At}) {
		t.Errorf("the importing transaction reads at %d, pinned %d; the exporting one at %d", y.At, w.last.pinned, x.At)
	}
	y.Rollback()
	z := w.begin("serializable")
	wantCode(t, "an import of a weaker transaction", z.ImportSnapshot(ctx, id), "0A000")
	z.Rollback()
	x.Savepoint("a")
	_, err = x.Export(ctx)
	wantCode(t, "an export in a subtransaction", err, "25001")
	x.Rollback()
	z = w.begin("repeatable read")
	wantCode(t, "an import of a transaction that has ended", z.ImportSnapshot(ctx, id), "22023")
	z.Rollback()
}

// TestExportElsewhere: a snapshot of another node is asked for there.
func TestExportElsewhere(t *testing.T) {
	w := newWorld(t)
	w.services.Self = 1
	silent := errors.New("silent")
	w.services.AskSnapshot = func(_ context.Context, node uint32, id string) (x ExportedSnapshot, ok bool, err error) {
		if node != 2 {
			return x, false, silent
		}
		return ExportedSnapshot{T: w.now - 1, Database: w.env.Database, PartsBy: nil}, true, nil
	}
	x := w.begin("repeatable read")
	defer x.Rollback()
	if err := x.ImportSnapshot(t.Context(), snapshotID(w.now, 3, 1)); !errors.Is(err, silent) {
		t.Errorf("a node that does not answer: %v", err)
	}
	must(t, x.ImportSnapshot(t.Context(), snapshotID(w.now, 2, 1)))
	if x.At != w.now-1 {
		t.Errorf("it reads at %d, want %d", x.At, w.now-1)
	}
}
