package storage

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/storage/engine"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/txn"
)

// change commits a change of a row under a lock of mode; an empty value deletes it.
func change(t testing.TB, r *Replica, key []byte, mode txn.LockMode, value string) txn.ID {
	t.Helper()
	ctx := testContext(t)
	tx := r.Tx(txn.NewID())
	_, err := tx.Lock(ctx, key, txn.LockRequest{Mode: mode, T: txn.MaxTimestamp})
	if err == nil && value == "" {
		err = tx.Delete(key)
	} else if err == nil {
		err = tx.Put(key, []byte(value))
	}
	if err == nil {
		_, err = tx.Commit(ctx, txn.CommitRequest{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return tx.id
}

// TestLockAtSnapshot is which later versions a lock at a snapshot minds, in each mode.
func TestLockAtSnapshot(t *testing.T) {
	r := openTest(t, t.TempDir(), small)
	ctx := testContext(t)
	large := strings.Repeat("x", engine.ChunkSize+1)
	for i, c := range []struct {
		name    string
		changes []string // "kept" is an update that keeps the keys, "" a deletion
		minds   []txn.LockMode
	}{
		{"nothing", nil, nil},
		{"update", []string{"kept"}, []txn.LockMode{txn.Share, txn.NoKeyUpdate, txn.Update}},
		{"two updates", []string{"kept", "kept"}, []txn.LockMode{txn.Share, txn.NoKeyUpdate, txn.Update}},
		{"large update", []string{"kept" + large}, []txn.LockMode{txn.Share, txn.NoKeyUpdate, txn.Update}},
		{"update of a key", []string{"key", "kept"},
			[]txn.LockMode{txn.KeyShare, txn.Share, txn.NoKeyUpdate, txn.Update}},
		{"deletion", []string{""}, []txn.LockMode{txn.KeyShare, txn.Share, txn.NoKeyUpdate, txn.Update}},
		{"deleted and inserted", []string{"", "key", "kept"},
			[]txn.LockMode{txn.KeyShare, txn.Share, txn.NoKeyUpdate, txn.Update}},
	} {
		key := rowKey(i)
		commitRow(t, r, key, "first")
		T, _ := r.Snapshot(ctx)
		var last txn.ID
		for _, v := range c.changes {
			mode := txn.Update
			if strings.HasPrefix(v, "kept") {
				mode = txn.NoKeyUpdate
			}
			last = change(t, r, key, mode, v)
		}
		deleted := len(c.changes) > 0 && c.changes[len(c.changes)-1] == ""
		for mode := txn.KeyShare; mode <= txn.Update; mode++ {
			want := slices.Contains(c.minds, mode)
			tx := r.Tx(txn.NewID())
			changed, err := tx.Lock(ctx, key, txn.LockRequest{Mode: mode, T: T, Recheck: true})
			if changed != want || err != nil {
				t.Fatalf("%s, %s: %v %v", c.name, mode, changed, err)
			}
			changed, err = tx.Lock(ctx, key, txn.LockRequest{Mode: mode, T: T})
			var conflict *txn.ConflictError
			if errors.As(err, &conflict) != want || changed || !want && err != nil {
				t.Fatalf("%s, %s: %v", c.name, mode, err)
			}
			if want && (conflict.Other != last || conflict.Deleted != deleted || string(conflict.Key) != string(key) ||
				!pgerr.Is(err, pgerr.SerializationFailure)) {
				t.Fatalf("%s, %s: %+v", c.name, mode, conflict)
			}
			tx.Rollback()
		}
	}
}

// TestKeyShareBesideUpdate is what foreign keys live on: a row may be updated while others rely on
// its key.
func TestKeyShareBesideUpdate(t *testing.T) {
	r := openTest(t, t.TempDir())
	ctx := testContext(t)
	commitRow(t, r, rowKey(1), "old")
	T, _ := r.Snapshot(ctx)
	child := r.Tx(txn.NewID())
	if _, err := child.Lock(ctx, rowKey(1), txn.LockRequest{Mode: txn.KeyShare, T: T, Pin: true}); err != nil {
		t.Fatal(err)
	}
	change(t, r, rowKey(1), txn.NoKeyUpdate, "new")
	if b, err := child.Newest(ctx, rowKey(1)); string(b) != "new" || err != nil {
		t.Fatal(string(b), err)
	}
	if _, err := child.Lock(ctx, rowKey(1),
		txn.LockRequest{Mode: txn.NoKeyUpdate, T: T}); !pgerr.Is(err, pgerr.SerializationFailure) {
		t.Fatalf("what was learned under KEY SHARE is not trusted under more: %v", err)
	}
	other := r.Tx(txn.NewID())
	if _, err := other.Lock(ctx, rowKey(1),
		txn.LockRequest{Mode: txn.Update, T: txn.MaxTimestamp, NoWait: true}); !errors.Is(err, txn.ErrLocked) {
		t.Fatal(err)
	}
	child.Rollback()
}

// TestStatisticsWithSeveralHolders: the size of what a write replaces is that of the newest
// version.
func TestStatisticsWithSeveralHolders(t *testing.T) {
	r := openTest(t, t.TempDir())
	ctx := testContext(t)
	commitRow(t, r, rowKey(1), "12345")
	tx := r.Tx(txn.NewID())
	if _, err := tx.Lock(ctx, rowKey(1), txn.LockRequest{Mode: txn.KeyShare, T: txn.MaxTimestamp}); err != nil {
		t.Fatal(err)
	}
	change(t, r, rowKey(1), txn.NoKeyUpdate, strings.Repeat("x", 100))
	if _, err := tx.Lock(ctx, rowKey(1), txn.LockRequest{Mode: txn.Update, T: txn.MaxTimestamp}); err != nil {
		t.Fatal(err)
	}
	tx.Put(rowKey(1), []byte("1234567"))
	if _, err := tx.Commit(ctx, txn.CommitRequest{}); err != nil {
		t.Fatal(err)
	}
	got := r.Inspect.BucketStats(20000)
	if len(got) != 1 || got[0].Documents != 1 || got[0].Bytes != int64(len(rowKey(1))+7) {
		t.Fatalf("%+v", got)
	}
}

func TestSavepointsReleaseLocks(t *testing.T) {
	r := openTest(t, t.TempDir())
	ctx := testContext(t)
	lock := func(tx *Tx, n int, mode txn.LockMode, pin bool) {
		t.Helper()
		if _, err := tx.Lock(ctx, rowKey(n), txn.LockRequest{Mode: mode, T: txn.MaxTimestamp, Pin: pin}); err != nil {
			t.Fatal(err)
		}
	}
	tx, zero := r.Tx(txn.NewID()), txn.Mark{}
	lock(tx, 1, txn.KeyShare, false)
	lock(tx, 2, txn.Share, true)
	mark := tx.Mark()
	lock(tx, 1, txn.Update, true)
	lock(tx, 2, txn.Update, true)
	lock(tx, 3, txn.Update, true)
	tx.Put(rowKey(1), []byte("x"))
	tx.Restart(mark)
	if got := lockList(r); got != "1 UPDATE, 2 UPDATE, 3 UPDATE" || tx.HasWrites() {
		t.Fatal(got)
	}
	inner := tx.Mark()
	lock(tx, 4, txn.Share, false)
	tx.RollbackTo(inner)
	if got := lockList(r); got != "1 UPDATE, 2 UPDATE, 3 UPDATE" {
		t.Fatal(got)
	}
	tx.RollbackTo(mark)
	if got := lockList(r); got != "1 KEY SHARE, 2 SHARE" || !tx.HasPins() {
		t.Fatal(got)
	}
	// The row is as free as the lock says, and can be locked and written again.
	change(t, r, rowKey(1), txn.NoKeyUpdate, "other")
	lock(tx, 1, txn.NoKeyUpdate, false)
	if b, _ := tx.Newest(ctx, rowKey(1)); string(b) != "other" {
		t.Fatal(string(b))
	}
	tx.RollbackTo(zero)
	if got := lockList(r); got != "" || tx.HasPins() {
		t.Fatal(got)
	}
	lock(tx, 1, txn.Update, false)
	tx.Put(rowKey(1), []byte("last"))
	if _, err := tx.Commit(ctx, txn.CommitRequest{}); err != nil {
		t.Fatal(err)
	}
	if got := readRow(t, r, rowKey(1)); got != "last" || lockList(r) != "" {
		t.Fatal(got, lockList(r))
	}
}

// TestLockInfo is what the views show.
func TestLockInfo(t *testing.T) {
	r := openTest(t, t.TempDir())
	ctx, cancel := context.WithCancel(testContext(t))
	var txs [5]*Tx
	for i := range txs {
		txs[i] = r.Tx(txn.NewID())
		txs[i].SetSession(uint32(100 + i))
	}
	answers := make(chan error, len(txs))
	lock := func(i, row int, mode txn.LockMode, waits int) {
		go func() {
			_, err := txs[i].Lock(ctx, rowKey(row), txn.LockRequest{Mode: mode, T: txn.MaxTimestamp})
			answers <- err
		}()
		if waits == 0 {
			if err := <-answers; err != nil {
				t.Fatal(err)
			}
		}
		for totalWaits([]*Replica{r}) < waits {
			runtime.Gosched()
		}
	}
	lock(0, 1, txn.Share, 0)
	lock(1, 1, txn.KeyShare, 0)
	lock(2, 1, txn.Update, 1)
	lock(3, 1, txn.Update, 2)
	lock(4, 2, txn.Update, 0)
	if err := txs[4].Put(rowKey(2), []byte("x")); err != nil {
		t.Fatal(err)
	}
	var got []string
	locks, total := r.Inspect.Locks(10)
	for _, l := range locks {
		var by []uint32
		for _, b := range l.Blockers {
			by = append(by, b.Session)
		}
		got = append(got, fmt.Sprint(l.Holder.Session, " ", l.Mode, " ", l.Granted, " ", !l.Since.IsZero(), " ", by))
	}
	want := []string{
		"100 SHARE true false []", "101 KEY SHARE true false []", "102 UPDATE false true [100 101]",
		"103 UPDATE false true [100 101 102]",
		"104 UPDATE true false []",
	}
	if total != 5 || !slices.Equal(got, want) {
		t.Fatalf("%d: %q", total, got)
	}
	if some, total := r.Inspect.Locks(2); len(some) != 2 || total != 5 {
		t.Fatal(some, total)
	}
	info, total := r.Inspect.Transactions(100)
	if total != 5 || len(info) != 5 || info[4].Owner.Session != 104 || info[4].Writes != 1 || info[4].Locks != 1 ||
		info[4].Phase != "open" || info[4].Bytes == 0 {
		t.Fatalf("%d: %+v", total, info)
	}
	cancel()
	for range 2 {
		if err := <-answers; !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	for _, tx := range txs {
		tx.Rollback()
	}
}

// TestSavepointKeepsReads: what a SERIALIZABLE transaction saw under a lock that it gave up again
// is validated.
func TestSavepointKeepsReads(t *testing.T) {
	for _, weaken := range []bool{false, true} {
		r := openTest(t, t.TempDir())
		ctx := testContext(t)
		commitRow(t, r, rowKey(1), "old")
		tx := r.Tx(txn.NewID())
		tx.TrackReads()
		if weaken {
			if _, err := tx.Lock(ctx, rowKey(1), txn.LockRequest{Mode: txn.KeyShare, T: txn.MaxTimestamp}); err != nil {
				t.Fatal(err)
			}
		}
		mark := tx.Mark()
		if err := tx.LockNewest(ctx, rowKey(1)); err != nil {
			t.Fatal(err)
		}
		if b, err := tx.Newest(ctx, rowKey(1)); string(b) != "old" || err != nil {
			t.Fatal(string(b), err)
		}
		tx.RollbackTo(mark)
		change(t, r, rowKey(1), txn.NoKeyUpdate, "new")
		if err := errors.Join(tx.LockNewest(ctx, rowKey(2)), tx.Put(rowKey(2), []byte("x"))); err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Commit(ctx, txn.CommitRequest{}); !pgerr.Is(err, pgerr.SerializationFailure) {
			t.Fatalf("weaken %v: %v", weaken, err)
		}
	}
}

// lockList shows the granted locks: the row, and the mode.
func lockList(r *Replica) string {
	var out []string
	locks, _ := r.Inspect.Locks(1000)
	for _, l := range locks {
		var n int
		if _, err := fmt.Sscanf(string(keyspace.PrimaryKeyOf(l.Key)), "row-%d", &n); err == nil && l.Granted {
			out = append(out, fmt.Sprint(n, " ", l.Mode))
		}
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// TestPreparedLocksAfterRestart: a new leader has the locks of prepared transactions in their
// modes, shared ones and those in a fragment without writes included.
func TestPreparedLocksAfterRestart(t *testing.T) {
	c := openCluster(t, tempDirs(t, 2)) // the coordinator fragment, 3, is out of reach
	ctx := testContext(t)
	lock := func(tx *Tx, n int, mode txn.LockMode, pin bool) {
		t.Helper()
		if _, err := tx.Lock(ctx, rowKey(n), txn.LockRequest{Mode: mode, T: txn.MaxTimestamp, Pin: pin}); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 9 {
		commitRow(t, c.rs[0], rowKey(n), "old")
	}
	a, b := txn.NewID(), txn.NewID()
	parts := func(id txn.ID) []*Tx { return []*Tx{c.rs[0].Tx(id), c.rs[1].Tx(id)} }
	as, bs := parts(a), parts(b)
	lock(as[0], 1, txn.KeyShare, true)
	lock(as[0], 2, txn.Share, true)
	lock(as[0], 3, txn.NoKeyUpdate, true)
	lock(as[0], 4, txn.Update, true)
	lock(as[0], 5, txn.Update, false) // not needed after the statement
	lock(as[1], 0, txn.Update, false)
	as[1].Put(rowKey(0), []byte("a"))
	lock(bs[0], 2, txn.Share, true)
	lock(bs[0], 1, txn.NoKeyUpdate, false) // beside the KEY SHARE of a
	bs[0].Put(rowKey(1), []byte("b"))
	lock(bs[0], 6, txn.NoKeyUpdate, false)
	bs[0].Put(rowKey(6), []byte("b"))
	lock(bs[0], 6, txn.Update, true) // locked for more after it was written
	lock(bs[0], 7, txn.Update, false)
	bs[0].Delete(rowKey(7))
	lock(bs[1], 1, txn.Update, true)
	for _, ps := range [][]*Tx{as, bs} {
		C := c.co.Clock.Now() + 1<<16
		for _, p := range ps {
			if err := p.Prepare(ctx,
				txn.PrepareRequest{C: C, Coordinator: 3, Attempt: 1, Writers: []txn.FragmentID{1, 2, 3}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	c = c.crash()
	if got := lockList(c.rs[0]); got != "1 KEY SHARE, 1 NO KEY UPDATE, 2 SHARE, 2 SHARE, 3 NO KEY UPDATE, 4 UPDATE, "+
		"6 UPDATE, 7 UPDATE" {
		t.Fatal(got)
	}
	if got := lockList(c.rs[1]); got != "0 UPDATE, 1 UPDATE" {
		t.Fatal(got)
	}
	for _, x := range []struct {
		row  int
		mode txn.LockMode
		free bool
	}{
		{1, txn.KeyShare, true}, {1, txn.Share, false}, {2, txn.Share, true}, {2, txn.NoKeyUpdate, false},
		{3, txn.KeyShare, true},
		{4, txn.KeyShare, false}, {5, txn.Update, true}, {6, txn.KeyShare, false}, {7, txn.KeyShare, false},
	} {
		tx := c.rs[0].Tx(txn.NewID())
		_, err := tx.Lock(ctx, rowKey(x.row), txn.LockRequest{Mode: x.mode, T: txn.MaxTimestamp, NoWait: true})
		if x.free != (err == nil) || err != nil && !errors.Is(err, txn.ErrLocked) {
			t.Fatalf("row %d %s: %v", x.row, x.mode, err)
		}
		tx.Rollback()
	}
	if got := readRow(t, c.rs[0], rowKey(4)); got != "old" {
		t.Fatalf("a reader does not wait for what is only locked: %q", got)
	}
	txs, total := c.rs[0].Inspect.Transactions(1)
	if len(txs) != 1 || total != 2 || txs[0].Phase != "prepared" || !txs[0].Adopted || txs[0].C == 0 ||
		txs[0].Coordinator == 0 {
		t.Fatalf("%+v", txs)
	}
	for _, r := range c.rs {
		for _, u := range r.Outcomes.Undecided(txn.MaxTimestamp) {
			if err := r.Outcomes.Resolve(txn.Decision{ID: u.ID, C: u.C, Outcome: txn.Aborted}); err != nil {
				t.Fatal(err)
			}
		}
		if got := lockList(r); got != "" {
			t.Fatal(got)
		}
	}
}

// TestPinsArePrepared: a fragment with pinned locks is a writer as well as one with writes, and
// only then.
func TestPinsArePrepared(t *testing.T) {
	for _, c := range []struct {
		name       string
		writes     bool
		pin        bool
		prepared   bool // in the fragment with the locks
		wantWrites string
	}{
		{"writes and pinned locks", true, true, true, "new"},
		{"writes and other locks", true, false, false, "new"},
		{"pinned locks alone", false, true, false, ""},
	} {
		var entries atomic.Int32 // of the fragment with the locks
		cl := openCluster(t, tempDirs(t, 2), func(cfg *Config) {
			f := cfg.Fragment
			cfg.Knobs.Fault = func(p string) {
				if f == 2 && p == "propose" {
					entries.Add(1)
				}
			}
		})
		ctx, id := testContext(t), txn.NewID()
		x, y := cl.rs[0].Tx(id), cl.rs[1].Tx(id)
		if _, err := y.Lock(ctx, rowKey(2),
			txn.LockRequest{Mode: txn.Share, T: txn.MaxTimestamp, Pin: c.pin}); err != nil {
			t.Fatal(err)
		}
		if c.writes {
			if err := errors.Join(x.LockNewest(ctx, rowKey(1)), x.Put(rowKey(1), []byte("new"))); err != nil {
				t.Fatal(err)
			}
		}
		entries.Store(0)
		if _, err := cl.co.Commit(ctx, id, 0, []txn.Participant{x, y}); err != nil {
			t.Fatal(err)
		}
		cl.resolveAll()
		if got := entries.Load() > 0; got != c.prepared {
			t.Fatalf("%s: %d entries", c.name, entries.Load())
		}
		if got := readRow(t, cl.rs[0], rowKey(1)); got != c.wantWrites {
			t.Fatalf("%s: %q", c.name, got)
		}
		if got := lockList(cl.rs[1]); got != "" {
			t.Fatalf("%s: %s", c.name, got)
		}
	}
}
