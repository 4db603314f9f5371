package locktable

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/maphash"
	"testing"

	"github.com/sherddb/sherd/txn"
)

// TestCompactSet uses a transaction with many locks, only a few of them in the table.
func TestCompactSet(t *testing.T) {
	lt := New(Config{Fragment: 1, Detector: txn.NewDetector(), Whole: 64})
	ctx := testContext(t)
	const rows = 5000
	a, b := newOwner(lt, txn.NewID()), newOwner(lt, txn.NewID())
	lock := func(o *Owner, row int, mode txn.LockMode) error {
		_, err := o.Lock(ctx, rowKey(row), &txn.LockRequest{Mode: mode, NoWait: true}, NotWritten)
		if o.Full() {
			o.Compact(tempFile(t))
		}
		return err
	}
	mark := 0
	for i := range rows {
		if i == rows/2 {
			mark = a.Count()
		}
		mode := txn.NoKeyUpdate
		if i%2 == 1 {
			mode = txn.Update
		}
		if err := lock(a, i, mode); err != nil {
			t.Fatal(err)
		}
		if l := a.Find(rowKey(i)); l == nil || l.Mode() != mode {
			t.Fatalf("lock %d is not found", i)
		}
	}
	if n := len(a.held); n > 300 {
		t.Errorf("%d locks are held whole", n)
	}
	if _, total := lt.List(10); total != rows {
		t.Errorf("%d locks in all", total)
	}
	for i := range rows { // a second statement over the same rows
		if err := lock(a, i, txn.NoKeyUpdate); err != nil {
			t.Fatal(err)
		}
	}
	if n := a.whole(); n > 300 {
		t.Errorf("%d locks are held whole after they were requested again", n)
	}
	check := func(row int, mode txn.LockMode, free bool) {
		t.Helper()
		err := lock(b, row, mode)
		if free != (err == nil) || err != nil && !errors.Is(err, txn.ErrLocked) {
			t.Errorf("row %d in %s: %v", row, mode, err)
		}
	}
	check(2, txn.KeyShare, true)
	check(3, txn.KeyShare, false)
	check(4, txn.NoKeyUpdate, false)
	check(rows+1, txn.Update, true)
	undone := a.Undo(mark)
	if undone.Span == nil {
		t.Error("no span has the locks that were undone")
	}
	undone.Release()
	check(rows-1, txn.Update, true)
	check(rows/2, txn.Update, true)
	check(rows/2-1, txn.Update, false)
	if err := lock(a, rows/2-1, txn.Update); err != nil { // its own
		t.Error(err)
	}
	waited := make(chan error, 1)
	go func() {
		_, err := b.Lock(context.WithoutCancel(ctx), rowKey(1), &txn.LockRequest{Mode: txn.Update}, NotWritten)
		waited <- err
	}()
	for totalWaits(lt) == 0 {
		if ctx.Err() != nil {
			t.Fatal(ctx.Err())
		}
	}
	a.End()
	if err := <-waited; err != nil {
		t.Error(err)
	}
	check(3, txn.Update, true)
	b.End()
	if _, total := lt.List(10); total != 0 || lt.sets.Load() != nil {
		t.Errorf("%d locks are left", total)
	}
}

// TestEndedOwner: a lock that is granted after its owner's end is released.
func TestEndedOwner(t *testing.T) {
	lt := New(Config{Fragment: 1, Detector: txn.NewDetector(), Whole: 64})
	ctx, req := testContext(t), &txn.LockRequest{Mode: txn.Update}
	a, b := newOwner(lt, txn.NewID()), newOwner(lt, txn.NewID())
	if _, err := a.Lock(ctx, rowKey(1), req, NotWritten); err != nil {
		t.Fatal(err)
	}
	waited := make(chan error, 1)
	go func() {
		_, err := b.Lock(ctx, rowKey(1), req, NotWritten)
		waited <- err
	}()
	for totalWaits(lt) == 0 {
		if ctx.Err() != nil {
			t.Fatal(ctx.Err())
		}
	}
	b.End()
	a.End()
	if err := <-waited; !errors.Is(err, ErrEnded) {
		t.Error(err)
	}
	if _, total := lt.List(10); total != 0 {
		t.Errorf("%d locks are left", total)
	}
}

// TestPins: a pin counts once, a write that implies the lock makes it superfluous, and a savepoint
// takes it back.
func TestPins(t *testing.T) {
	for _, whole := range []int{8192, 4} {
		lt := New(Config{Fragment: 1, Detector: txn.NewDetector(), Whole: whole})
		ctx, o := testContext(t), newOwner(lt, txn.NewID())
		lock := func(row int, mode txn.LockMode, pin bool, w Written) {
			t.Helper()
			if _, err := o.Lock(ctx, rowKey(row), &txn.LockRequest{Mode: mode, Pin: pin}, w); err != nil {
				t.Fatal(err)
			}
			if o.Full() {
				o.Compact(tempFile(t))
			}
		}
		pinned := func() map[string]txn.LockMode {
			t.Helper()
			all := map[string]txn.LockMode{}
			err := o.Pinned(func(key []byte, mode txn.LockMode) error { all[string(key)] = mode; return nil })
			if err != nil {
				t.Fatal(err)
			}
			if o.HasPins() != (len(all) > 0) {
				t.Errorf("HasPins is %v with %d pinned locks", o.HasPins(), len(all))
			}
			return all
		}
		lock(1, txn.Update, false, NotWritten)
		lock(1, txn.Update, true, Rewritten)
		lock(2, txn.NoKeyUpdate, false, NotWritten)
		lock(2, txn.NoKeyUpdate, true, KeysKept)
		if got := pinned(); len(got) != 0 {
			t.Errorf("%v is pinned", got)
		}
		mark := o.Count()
		for row := 10; row < 40; row++ {
			lock(row, txn.Share, true, NotWritten)
		}
		lock(2, txn.Update, true, KeysKept) // the write implies a weaker lock
		lock(10, txn.Update, true, NotWritten)
		got := pinned()
		if len(got) != 31 || got[string(rowKey(2))] != txn.Update || got[string(rowKey(10))] != txn.Update ||
			got[string(rowKey(11))] != txn.Share {
			t.Errorf("%v is pinned", got)
		}
		if disk := o.PinsOnDisk(); disk != (whole == 4) {
			t.Errorf("keys are on disk: %v", disk)
		}
		undone := o.Undo(mark)
		undone.Release()
		if got := pinned(); len(got) != 0 {
			t.Errorf("%v is pinned after the return to the savepoint", got)
		}
		o.End()
		if _, total := lt.List(10); total != 0 {
			t.Errorf("%d locks are left", total)
		}
	}
}

// TestUndoKnown: a return to a savepoint reports the rows that the transaction does not know any
// more, and a row that is locked with KEY SHARE again is not known (LK5).
func TestUndoKnown(t *testing.T) {
	lt := New(Config{Fragment: 1, Detector: txn.NewDetector(), Whole: 64})
	ctx, o := testContext(t), newOwner(lt, txn.NewID())
	lock := func(row int, mode txn.LockMode) *Lock {
		l, err := o.Lock(ctx, rowKey(row), &txn.LockRequest{Mode: mode}, NotWritten)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	weak, strong := lock(1, txn.KeyShare), lock(2, txn.Share)
	strong.Row.Known = true
	mark := o.Count()
	for _, l := range []*Lock{lock(1, txn.Update), lock(2, txn.Update), lock(3, txn.Update)} {
		l.Row.Known = true
	}
	undone := o.Undo(mark)
	if len(undone.Known) != 2 || undone.Known[0] != string(rowKey(3)) || undone.Known[1] != string(rowKey(1)) {
		t.Errorf("%q is not known any more", undone.Known)
	}
	undone.Release()
	if weak.Row.Known || !strong.Row.Known || weak.Mode() != txn.KeyShare || strong.Mode() != txn.Share {
		t.Errorf("%+v, %+v", weak, strong)
	}
}

// TestMemoryOfCompactLocks bounds what a large transaction holds for each lock.
func TestMemoryOfCompactLocks(t *testing.T) {
	const keys, most = 200_000, 12
	var set compactSet
	seed := maphash.MakeSeed()
	for i := range keys {
		key := binary.BigEndian.AppendUint64(rowKey(i), uint64(i))
		set.add(maphash.Bytes(seed, key), string(key), 1, int32(i), false)
	}
	bytes := 0
	for _, p := range set.parts {
		bytes += 8 * cap(p.slots)
	}
	if bytes > most*keys {
		t.Errorf("the set of locks takes %.1f bytes of a key, more than %d", float64(bytes)/keys, most)
	}
}
