package storage

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/sherddb/sherd/storage/engine"
	"github.com/sherddb/sherd/storage/install"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/txn"
)

// pendingInstall is a replica with a large commit that has no piece installed, by the installer or
// for a reader: it changes rows 0 to 9 without their keys, deletes rows 10 to 19, and makes rows 20
// to largeRows-1. The first 20 were there before, with the value "old".
func pendingInstall(t *testing.T, dir string, opts ...func(*Config)) (r *Replica, at txn.Timestamp, open func()) {
	t.Helper()
	g := &installGate{all: true}
	r = openTest(t, dir, append(opts, g.config)...)
	for n := range 20 {
		commitRow(t, r, rowKey(n), "old")
	}
	open = g.close(t, 0)
	tx := r.Tx(txn.NewID())
	for n := range largeRows {
		mode := txn.Update
		if n < 10 {
			mode = txn.NoKeyUpdate
		}
		if _, err := tx.lock(t.Context(), rowKey(n), txn.LockRequest{Mode: mode}); err != nil {
			t.Fatal(err)
		}
		var err error
		switch {
		case n < 10:
			err = tx.put(logentry.OpPutKept, rowKey(n), []byte(largeValue(n)))
		case n < 20:
			err = tx.Delete(rowKey(n))
		default:
			err = tx.Put(rowKey(n), []byte(largeValue(n)))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	at, err := tx.Commit(t.Context(), txn.CommitRequest{})
	if err != nil {
		t.Fatal(err)
	}
	g.awaitHeld()
	return r, at, open
}

// pendingValue is what row n of pendingInstall has.
func pendingValue(n int) string {
	if 10 <= n && n < 20 {
		return ""
	}
	return largeValue(n)
}

// noneInstalled fails if a piece has come to the database.
func noneInstalled(t *testing.T, r *Replica) {
	t.Helper()
	for _, p := range r.txns.installing {
		if all, left := p.install.Pieces(); left != all || all < 2 {
			t.Errorf("%d of %d pieces have been installed", all-left, all)
		}
	}
	if len(r.txns.installing) != 1 {
		t.Errorf("%d large commits are installed", len(r.txns.installing))
	}
}

// TestPendingRows reads, locks and changes rows of a large commit without a write to the database,
// and finds the same when they have come to it.
func TestPendingRows(t *testing.T) {
	r, at, open := pendingInstall(t, t.TempDir())
	before := map[int]string{}
	check := func(want func(n int) string) {
		t.Helper()
		for n := range largeRows {
			if got := readRow(t, r, rowKey(n)); got != want(n) {
				t.Errorf("row %d is %.20q, want %.20q", n, got, want(n))
			}
			for T, want := range map[txn.Timestamp]string{at: pendingValue(n), at - 1: before[n]} {
				if b, err := viewAt(t, r, T).Get(t.Context(), rowKey(n)); string(b) != want || err != nil {
					t.Errorf("row %d at %d is %.20q, %v", n, T, b, err)
				}
			}
		}
	}
	for n := range 20 {
		before[n] = "old"
	}
	check(pendingValue)
	changed := map[int]string{3: "newer", 4: "", 12: "again", 33: "newer", 34: ""}
	for n, value := range changed {
		changePending(t, r, n, value)
	}
	after := func(n int) string {
		if v, ok := changed[n]; ok {
			return v
		}
		return pendingValue(n)
	}
	check(after)
	noneInstalled(t, r)
	open()
	r.installs.Wait()
	check(after)
	if n := r.cfg.Pace.Cached(); n > 0 {
		t.Errorf("%d bytes of pieces of a commit that is installed are kept", n)
	}
}

// changePending sets row n of pendingInstall to a value, or deletes it.
func changePending(t *testing.T, r *Replica, n int, value string) {
	t.Helper()
	tx := r.Tx(txn.NewID())
	if _, err := tx.lock(t.Context(), rowKey(n), txn.LockRequest{Mode: txn.Update, NoWait: true}); err != nil {
		t.Fatal(err)
	}
	if b, err := tx.Newest(t.Context(), rowKey(n)); string(b) != pendingValue(n) || err != nil {
		t.Fatalf("row %d under its lock is %.20q, %v", n, b, err)
	}
	var err error
	if value == "" {
		err = tx.Delete(rowKey(n))
	} else {
		err = tx.Put(rowKey(n), []byte(value))
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Commit(t.Context(), txn.CommitRequest{}); err != nil {
		t.Fatal(err)
	}
}

// TestPendingConflicts: a lock notices what a large commit has changed above its snapshot, and what
// of that leaves the keys as they were.
func TestPendingConflicts(t *testing.T) {
	r, at, _ := pendingInstall(t, t.TempDir())
	for n, mode := range map[int]txn.LockMode{0: txn.Update, 1: txn.KeyShare, 10: txn.Update, 11: txn.KeyShare,
		30: txn.Update, 31: txn.KeyShare} {
		tx := r.Tx(txn.NewID())
		_, err := tx.Lock(t.Context(), rowKey(n), txn.LockRequest{Mode: mode, T: at - 1})
		var c *txn.ConflictError
		if conflict := errors.As(err, &c); conflict != (n != 1) ||
			conflict && (c.Version != at || c.Deleted != (n/10 == 1)) {
			t.Errorf("a lock %v of row %d below the commit: %+v, %v", mode, n, c, err)
		}
		if err := tx.ChangedSince(t.Context(), rowKey(n), at-1); !errors.As(err, &c) || c.Version != at {
			t.Errorf("row %d has not changed since: %v", n, err)
		}
		tx.Rollback()
		tx = r.Tx(txn.NewID())
		if _, err := tx.Lock(t.Context(), rowKey(n), txn.LockRequest{Mode: mode, T: at}); err != nil {
			t.Errorf("a lock %v of row %d at the commit: %v", mode, n, err)
		}
		tx.Rollback()
	}
	noneInstalled(t, r)
}

// TestPendingRowArrives: a reader that has found a row in its piece looks again if the piece has
// come to the database meanwhile. What it has read there may be less than there was: from then on a
// deletion may be discarded together with the row.
func TestPendingRowArrives(t *testing.T) {
	r, at, open := pendingInstall(t, t.TempDir())
	var seen []string
	err := r.rows.overlaid(waitContext{ctx: t.Context()}, at, rowKey(30), func(pending []install.Row) error {
		seen = append(seen, fmt.Sprint(len(pending)))
		open()
		r.installs.Wait()
		return nil
	})
	if got := fmt.Sprint(seen); got != "[1 0]" || err != nil {
		t.Errorf("pending rows were %s, %v", got, err)
	}
}

// TestPendingRowsThenCrash: what was written on top of a row that was not in the database is the
// newest after a restart, which installs the row later.
func TestPendingRowsThenCrash(t *testing.T) {
	for _, checkpoint := range []bool{false, true} {
		t.Run(fmt.Sprint("checkpoint ", checkpoint), func(t *testing.T) {
			dir, crashed := t.TempDir(), t.TempDir()
			r, _, _ := pendingInstall(t, dir, small)
			changed := map[int]string{3: "newer", 12: "again", 34: ""}
			for n, value := range changed {
				changePending(t, r, n, value)
			}
			if checkpoint {
				r.machine.mu.Lock()
				err := r.machine.checkpoint()
				r.machine.mu.Unlock()
				if err != nil {
					t.Fatal(err)
				}
			}
			copyTree(t, dir, crashed)
			noneInstalled(t, r)
			r = openTest(t, crashed, small, slowRecovery)
			for n := range largeRows {
				want, ok := changed[n]
				if !ok {
					want = pendingValue(n)
				}
				if got := readRow(t, r, rowKey(n)); got != want {
					t.Errorf("row %d is %.20q, want %.20q", n, got, want)
				}
			}
		})
	}
}

// TestPendingChunks reads rows of a large commit that have chunks, or had some before, when only
// the last pieces are in the database.
func TestPendingChunks(t *testing.T) {
	for installed := range 9 {
		t.Run(fmt.Sprint(installed, " pieces"), func(t *testing.T) {
			g := &installGate{}
			r := openTest(t, t.TempDir(), g.config)
			// a row of engine.ChunkSize fills a piece, so the deletions of the chunks before it are
			// in the next one
			size := func(n, round int) int { return []int{10, engine.ChunkSize, 1_000_010}[(n+2*round)%3] }
			var at txn.Timestamp
			for round := range 2 {
				if round == 1 {
					g.close(t, 0)
				}
				tx := r.Tx(txn.NewID())
				for n := range 6 {
					if err := tx.LockNewest(t.Context(), rowKey(n)); err != nil {
						t.Fatal(err)
					}
					if err := tx.Put(rowKey(n), bytes.Repeat([]byte{byte('a' + n)}, size(n, round))); err != nil {
						t.Fatal(err)
					}
				}
				var err error
				if at, err = tx.Commit(t.Context(), txn.CommitRequest{}); err != nil {
					t.Fatal(err)
				}
				if round == 0 {
					r.installs.Wait()
				}
			}
			g.awaitHeld()
			x := r.machine.s.installing[0]
			all, _ := x.Pieces()
			for n := all - installed; n < all; n++ {
				if ch := r.installs.Want(x.Rows, []int{n}, nil); ch != nil {
					<-ch
				}
			}
			for _, n := range []int{5, 4, 0, 1, 2, 3} {
				if got := readRow(t, r, rowKey(n)); len(got) != size(n, 1) || got[0] != byte('a'+n) {
					t.Errorf("row %d has %d bytes, want %d", n, len(got), size(n, 1))
				}
				if b, err := viewAt(t, r, at-1).Get(t.Context(), rowKey(n)); len(b) != size(n, 0) || err != nil {
					t.Errorf("below the commit row %d has %d bytes, want %d; %v", n, len(b), size(n, 0), err)
				}
			}
		})
	}
}
