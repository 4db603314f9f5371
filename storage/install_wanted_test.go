package storage

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/txn"
)

// heldInstall is a replica with a large commit that the installer cannot install: rows 0 to
// largeRows-1 of table 20000 and an index entry of each, in pieces. The installer has written the
// first pieces.
func heldInstall(t *testing.T, behind int) (r *Replica, at txn.Timestamp, open func()) {
	g := &installGate{}
	r = openTest(t, t.TempDir(), g.config)
	commitRow(t, r, rowKey(3), "old")
	commitRow(t, r, rowKey(1000), "beside")
	open = g.close(t, behind)
	tx := bufferLarge(t, r, 0)
	for n := range largeRows {
		if err := tx.Put(entryKey(n), nil); err != nil {
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

// entryKey is the entry of row n in an index of table 20000 in which they have another order.
func entryKey(n int) []byte {
	return append(keyspace.IndexPrefix(keyspace.TableOf(rowKey(0)), 7), []byte(fmt.Sprintf("%03d", (n*7)%largeRows))...)
}

// TestInstallWanted: while the installer is held up, a reader or locker of a row of a large commit
// gets that row, and waits for no other.
func TestInstallWanted(t *testing.T) {
	for behind := range 3 {
		t.Run(fmt.Sprint("get behind ", behind), func(t *testing.T) {
			r, at, _ := heldInstall(t, behind)
			for _, n := range []int{largeRows - 1, 3, 17, 0} {
				if got := readRow(t, r, rowKey(n)); got != largeValue(n) {
					t.Errorf("row %d is %.20q", n, got)
				}
			}
			v := viewAt(t, r, at-1)
			if b, err := v.Get(t.Context(), rowKey(3)); string(b) != "old" || err != nil {
				t.Errorf("below the commit: %q, %v", b, err)
			}
			if got := readRow(t, r, rowKey(1000)); got != "beside" {
				t.Error(got)
			}
			if r.txns.undecided.Load() == 0 {
				t.Error("the installer has not been held up")
			}
		})
		t.Run(fmt.Sprint("update behind ", behind), func(t *testing.T) {
			r, _, open := heldInstall(t, behind)
			updateWanted(t, r)
			open()
			r.installs.Wait()
			for n := range largeRows {
				want := largeValue(n)
				if n == 5 || n == largeRows-1 {
					want = "newer"
				}
				if got := readRow(t, r, rowKey(n)); n != 6 && got != want || n == 6 && got != "" {
					t.Errorf("row %d is %.20q", n, got)
				}
			}
		})
		t.Run(fmt.Sprint("scan behind ", behind), func(t *testing.T) {
			r, _, _ := heldInstall(t, behind)
			scanWanted(t, r)
		})
	}
}

// updateWanted changes rows 5 and the last, and deletes row 6, as statements do: lock, read the
// newest, write.
func updateWanted(t *testing.T, r *Replica) {
	t.Helper()
	for _, n := range []int{largeRows - 1, 5, 6} {
		tx := r.Tx(txn.NewID())
		if _, err := tx.lock(t.Context(), rowKey(n), txn.LockRequest{Mode: txn.Update, NoWait: true}); err != nil {
			t.Fatal(err)
		}
		if b, err := tx.Newest(t.Context(), rowKey(n)); string(b) != largeValue(n) || err != nil {
			t.Fatalf("row %d under its lock is %.20q, %v", n, b, err)
		}
		var err error
		if n == 6 {
			err = tx.Delete(rowKey(n))
		} else {
			err = tx.Put(rowKey(n), []byte("newer"))
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Commit(t.Context(), txn.CommitRequest{}); err != nil {
			t.Fatal(err)
		}
	}
}

// scanWanted reads spans in both directions: a part, the beginning of all, all entries of the index
// with their rows.
func scanWanted(t *testing.T, r *Replica) {
	t.Helper()
	tx := r.Tx(txn.NewID())
	defer tx.Rollback()
	if err := tx.LockNewest(t.Context(), rowKey(20)); err != nil {
		t.Fatal(err)
	}
	// The scan must show this write, wherever it was cut.
	if err := tx.Put(rowKey(20), []byte("own")); err != nil {
		t.Fatal(err)
	}
	v, err := tx.View(t.Context(), r.Applied())
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	rows := txn.Span{Start: rowKey(0), End: rowKey(largeRows)}
	for _, reverse := range []bool{false, true} {
		for _, limit := range []int{2, largeRows} {
			var got []string
			err := v.Scan(t.Context(), rows, reverse, func(_, b []byte) error {
				if got = append(got, string(b)); len(got) == limit {
					return ErrStop
				}
				return nil
			})
			if err != nil || len(got) != limit {
				t.Fatalf("%d rows, %v", len(got), err)
			}
			for i, b := range got {
				n := i
				if reverse {
					n = largeRows - 1 - i
				}
				want := largeValue(n)
				if n == 20 {
					want = "own"
				}
				if b != want {
					t.Errorf("row %d of the scan (reverse: %v) is %.20q", i, reverse, b)
				}
			}
		}
		n := 0
		err := v.Scan(t.Context(), txn.Prefix(keyspace.IndexPrefix(keyspace.TableOf(rowKey(0)), 7)), reverse,
			func(_, _ []byte) error { n++; return nil })
		if err != nil || n != largeRows {
			t.Errorf("%d entries of the index, %v", n, err)
		}
	}
	if r.txns.undecided.Load() == 0 {
		t.Error("the installer has not been held up")
	}
}

// TestInstallWantedLimit: a scan that ends early has few pieces installed.
func TestInstallWantedLimit(t *testing.T) {
	g := &installGate{}
	r := openTest(t, t.TempDir(), g.config)
	g.close(t, 0)
	at := commitLarge(t, r, 0)
	g.awaitHeld()
	for _, reverse := range []bool{false, true} {
		v := viewAt(t, r, at)
		if err := v.Scan(t.Context(), keyspace.TableSpan(20000), reverse,
			func(_, _ []byte) error { return ErrStop }); err != nil {
			t.Fatal(err)
		}
	}
	x := r.machine.s.installing[0]
	if n, left := x.Pieces(); n < 4 || n-left != 2 {
		t.Errorf("%d of %d pieces have been installed, want the first and the last", n-left, n)
	}
}

// TestInstallWantedLargeRow: chunks of a row may lie in pieces before that of its head.
func TestInstallWantedLargeRow(t *testing.T) {
	g := &installGate{}
	r := openTest(t, t.TempDir(), g.config)
	g.close(t, 0)
	tx := r.Tx(txn.NewID())
	rows := map[int][]byte{}
	for n := range 6 {
		rows[n] = bytes.Repeat([]byte{byte('a' + n)}, (n%3)*500_000+10)
		if err := tx.LockNewest(t.Context(), rowKey(n)); err != nil {
			t.Fatal(err)
		}
		if err := tx.Put(rowKey(n), rows[n]); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := tx.Commit(t.Context(), txn.CommitRequest{}); err != nil {
		t.Fatal(err)
	}
	g.awaitHeld()
	for _, n := range []int{5, 4, 0, 1, 2, 3} {
		if got := readRow(t, r, rowKey(n)); got != string(rows[n]) {
			t.Errorf("row %d has %d bytes, want %d", n, len(got), len(rows[n]))
		}
	}
	if r.txns.undecided.Load() == 0 {
		t.Error("the installer has not been held up")
	}
}

// TestInstallWantedValidated: a check of reads waits for what the large commit wrote there alone,
// and finds it.
func TestInstallWantedValidated(t *testing.T) {
	r, at, _ := heldInstall(t, 0)
	check := func(T txn.Timestamp, n int) error {
		tx := r.Tx(txn.NewID())
		defer tx.Rollback()
		tx.TrackReads()
		v, err := tx.View(t.Context(), T)
		if err != nil {
			t.Fatal(err)
		}
		defer v.Close()
		if _, err := v.Get(t.Context(), rowKey(n)); err != nil {
			t.Fatal(err)
		}
		return tx.Check(t.Context(), r.Applied())
	}
	commitRow(t, r, rowKey(2000), "later")
	if err := check(at-1, 30); err == nil {
		t.Error("what was read below the commit has changed, and the check passes")
	}
	if err := check(at, 31); err != nil {
		t.Errorf("what was read at the commit has not changed: %v", err)
	}
	if err := check(at-1, 1000); err != nil {
		t.Errorf("what was read is no row of the commit: %v", err)
	}
}

// TestInstallWantedThenClose: a replica that is closed while pieces are waited for ends the waits,
// and the next start has all rows.
func TestInstallWantedThenClose(t *testing.T) {
	g, dir := &installGate{all: true}, t.TempDir()
	r := openTest(t, dir, g.config)
	open := g.close(t, 1)
	commitLarge(t, r, 0)
	v := viewAt(t, r, r.Applied())
	read := make(chan error)
	go func() {
		read <- v.Scan(context.Background(), keyspace.TableSpan(20000), false, func(_, _ []byte) error { return nil })
	}()
	eventually.Holds(t, "a piece is wanted", func() bool { return r.installs.Workers() > 0 })
	closed := make(chan error)
	go func() { closed <- r.Close() }()
	<-r.stopper.Stopped()
	if err := <-read; err == nil {
		t.Error("a read of a replica that is closed has ended")
	}
	open()
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	checkLarge(t, openTest(t, dir), 0)
}
