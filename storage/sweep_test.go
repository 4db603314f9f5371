package storage

import (
	"testing"

	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/txn"
)

// TestSweep: entries of local indexes that buckets have left are removed once no reader can see
// them here, on each replica in the same way; entries that come back are seen.
func TestSweep(t *testing.T) {
	m, ctx := openMover(t), testContext(t)
	a, b := m.c.rs[0], m.c.rs[1]
	prefix := keyspace.IndexPrefix(movedTable, 1)
	key := func(name string) []byte { return append(keyspace.IndexPrefix(movedTable, 1), name...) }
	of := func(bucket uint32) string { return string([]byte{byte(bucket >> 16), byte(bucket >> 8), byte(bucket)}) }
	bucketOf := func(v []byte) (uint32, bool) {
		return uint32(v[0])<<16 | uint32(v[1])<<8 | uint32(v[2]), true
	}
	commitRow(t, a, movedKey(150, "row"), "x")
	commitRow(t, a, key("goes"), of(150))
	commitRow(t, a, key("stays"), of(300))
	at := func(T txn.Timestamp) (out string) {
		t.Helper()
		v, err := a.Tx(txn.ID{}).View(ctx, T)
		if err != nil {
			t.Fatal(err)
		}
		defer v.Close()
		if err := v.Scan(ctx, txn.Prefix(prefix), false, func(k, _ []byte) error {
			out += string(k[len(prefix):]) + " "
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return out
	}
	sweep := func(want string) {
		t.Helper()
		if err := a.Moves.Sweep(ctx, txn.Prefix(prefix), bucketOf); err != nil {
			t.Fatal(err)
		}
		if got := at(current(t, a)); got != want {
			t.Errorf("there is %q, want %q", got, want)
		}
	}
	raise := func() {
		t.Helper()
		for range 2 {
			// what was there before is older than W - 1, however close together the stamps are
			commitRow(t, a, movedKey(300, "row"), "x")
		}
		if _, _, err := a.log.run((&logentry.Watermark{At: current(t, a)}).Encode(), 0); err != nil {
			t.Fatal(err)
		}
	}
	raise()
	sweep("goes stays ")
	m.move(a, b, movedRange)
	if n := a.Moves.LongGone(); n != 0 {
		t.Errorf("move %d is said to be long ago", n)
	}
	sweep("goes stays ") // a snapshot that is older than the move may look for it
	commitRow(t, a, key("late"), of(150))
	raise()
	commitRow(t, a, key("later"), of(150))
	if n := a.Moves.LongGone(); n != m.next {
		t.Errorf("move %d is said to be long ago, want %d", n, m.next)
	}
	before := current(t, a)
	sweep("later stays ")
	if skip, err := a.Inspect.Reach(ctx, before); err != nil || !leavesOut(skip, []txn.Span{txn.Prefix(prefix)}) {
		t.Errorf("a comparison as of before would have the index: %v, %v", skip, err)
	}
	now := current(t, a)
	if skip, err := a.Inspect.Reach(ctx, now); err != nil || len(skip) > 0 {
		t.Errorf("left out for ever: %v, %v", skip, err)
	}
	digest, err := a.Inspect.Digest(ctx, now, nil)
	if err != nil {
		t.Fatal(err)
	}

	// What was looked at before a move brought something is let alone.
	move, _ := a.Owned.LastImport()
	number := m.number()
	if _, err := a.Moves.BeginIngest(ctx, number, movedRange, 0); err != nil {
		t.Fatal(err)
	}
	floor := a.Watermark()
	if err := a.Moves.Ingest(ctx, number,
		[]Version{{Key: key("goes"), At: floor, Value: []byte(of(150))}}); err != nil {
		t.Fatal(err)
	}
	res, _, err := a.log.run((&logentry.Sweep{At: floor - 1, Move: move, Keys: [][]byte{key("stays")}}).Encode(), 0)
	if err != nil || res != resVoid {
		t.Errorf("a sweep of before the move: %v, %v", res, err)
	}
	sweep("goes later stays ")
	if got := at(floor); got != "goes stays " {
		t.Errorf("at the watermark there is %q", got)
	}
	if err := a.Moves.Abandon(ctx, number, movedRange); err != nil {
		t.Fatal(err)
	}

	m.c = m.c.crash(withGlobals)
	a = m.c.rs[0]
	if again, err := a.Inspect.Digest(ctx, now, nil); err != nil && err != errArriving ||
		err == nil && again.Keys != digest.Keys+1 {
		t.Errorf("after a crash: %+v, %v; before %+v", again, err, digest)
	}
	if got := at(current(t, a)); got != "goes later stays " {
		t.Errorf("after a crash there is %q", got)
	}
}
