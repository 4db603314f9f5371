package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/txn"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// openTest opens a replica in dir and waits until it serves.
func openTest(t testing.TB, dir string, change ...func(*Config)) *Replica {
	t.Helper()
	cfg := Config{Dir: dir, Fragment: 1, Clock: txn.NewClock(nil, 0), Logger: quiet}
	for _, f := range change {
		f(&cfg)
	}
	r, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := r.Group.WaitReady(testContext(t)); err != nil {
		t.Fatal(err)
	}
	return r
}

// testTimeout bounds what must come to pass on a machine that is busy with other things, and whose
// disk is: it tells a test that hangs from one that is slow.
const testTimeout = 3 * time.Minute

func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	t.Cleanup(cancel)
	return ctx
}

// rowKey is the key of row n of table 20000.
func rowKey(n int) []byte {
	return append(keyspace.RowPrefix(20000, uint32(n)%(1<<20), 1), fmt.Sprintf("row-%06d", n)...)
}

// commitRow writes one row in a transaction of its own.
func commitRow(t testing.TB, r *Replica, key []byte, value string) txn.Timestamp {
	t.Helper()
	ts, err := tryRow(r, key, value)
	if err != nil {
		t.Fatal(err)
	}
	return ts
}

func tryRow(r *Replica, key []byte, value string) (txn.Timestamp, error) {
	ctx := context.Background()
	tx := r.Tx(txn.NewID())
	if err := tx.LockNewest(ctx, key); err != nil {
		tx.Rollback()
		return 0, err
	}
	if err := tx.Put(key, []byte(value)); err != nil {
		tx.Rollback()
		return 0, err
	}
	return tx.Commit(ctx, txn.CommitRequest{})
}

// readRow reads key as of now.
func readRow(t testing.TB, r *Replica, key []byte) string {
	t.Helper()
	v, err := tryRead(r, key)
	if err != nil {
		t.Fatal(err)
	}
	return string(v)
}

func tryRead(r *Replica, key []byte) ([]byte, error) {
	ctx := context.Background()
	T, err := r.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	v, err := r.Tx(txn.ID{}).View(ctx, T)
	if err != nil {
		return nil, err
	}
	defer v.Close()
	return v.Get(ctx, key)
}

func TestCommitReadReopen(t *testing.T) {
	dir := t.TempDir()
	r := openTest(t, dir)
	for i := range 100 {
		commitRow(t, r, rowKey(i), fmt.Sprint("v", i))
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	r = openTest(t, dir)
	for i := range 100 {
		if got := readRow(t, r, rowKey(i)); got != fmt.Sprint("v", i) {
			t.Fatalf("row %d is %q", i, got)
		}
	}
	if got := readRow(t, r, rowKey(100)); got != "" {
		t.Fatalf("a row never written is %q", got)
	}
	commitRow(t, r, rowKey(100), "after")
	if got := readRow(t, r, rowKey(100)); got != "after" {
		t.Fatalf("got %q", got)
	}
}

func TestSnapshotIsStable(t *testing.T) {
	r := openTest(t, t.TempDir())
	ctx := testContext(t)
	commitRow(t, r, rowKey(1), "one")
	T, _ := r.Snapshot(ctx)
	v, err := r.Tx(txn.NewID()).View(ctx, T)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	commitRow(t, r, rowKey(1), "two")
	if b, err := v.Get(ctx, rowKey(1)); string(b) != "one" || err != nil {
		t.Fatalf("snapshot sees %q %v", b, err)
	}
	if got := readRow(t, r, rowKey(1)); got != "two" {
		t.Fatalf("got %q", got)
	}
}

func TestFirstUpdaterWins(t *testing.T) {
	r := openTest(t, t.TempDir())
	ctx := testContext(t)
	commitRow(t, r, rowKey(1), "one")
	for _, change := range []string{"update", "delete"} {
		T, _ := r.Snapshot(ctx)
		other := r.Tx(txn.NewID())
		if _, err := other.Lock(ctx, rowKey(1), txn.LockRequest{Mode: txn.Update, T: T}); err != nil {
			t.Fatal(err)
		}
		if change == "update" {
			other.Put(rowKey(1), []byte("two"))
		} else {
			other.Delete(rowKey(1))
		}
		tx := r.Tx(txn.NewID())
		got := make(chan error)
		go func() {
			_, err := tx.Lock(ctx, rowKey(1), txn.LockRequest{Mode: txn.Update, T: T})
			got <- err
		}()
		if _, err := other.Commit(ctx, txn.CommitRequest{}); err != nil {
			t.Fatal(err)
		}
		if err := <-got; !pgerr.Is(err, pgerr.SerializationFailure) {
			t.Fatalf("%s: got %v", change, err)
		}
		T, _ = r.Snapshot(ctx)
		if _, err := tx.Lock(ctx, rowKey(1), txn.LockRequest{Mode: txn.Update, T: T}); err != nil {
			t.Fatalf("%s: the lock is kept, a newer snapshot must do: %v", change, err)
		}
		tx.Rollback()
	}
}

func TestBufferedWritesAreSeenByTheirTransactionOnly(t *testing.T) {
	r := openTest(t, t.TempDir())
	ctx := testContext(t)
	for i := 0; i < 10; i += 2 {
		commitRow(t, r, rowKey(i), "old")
	}
	T, _ := r.Snapshot(ctx)
	tx := r.Tx(txn.NewID())
	for i := range 4 {
		if _, err := tx.Lock(ctx, rowKey(i), txn.LockRequest{Mode: txn.Update, T: T}); err != nil {
			t.Fatal(err)
		}
	}
	tx.Put(rowKey(1), []byte("new"))
	tx.Put(rowKey(2), []byte("changed"))
	tx.Delete(rowKey(0))
	mark := tx.Mark()
	tx.Put(rowKey(3), []byte("undone"))
	tx.Put(rowKey(2), []byte("undone"))
	tx.RollbackTo(mark)
	want := "1=new 2=changed 4=old 6=old 8=old "
	if got := scanAll(t, tx, T, false); got != want {
		t.Fatalf("got %q want %q", got, want)
	}
	if got := scanAll(t, tx, T, true); got != "8=old 6=old 4=old 2=changed 1=new " {
		t.Fatalf("got %q", got)
	}
	if got := scanAll(t, r.Tx(txn.NewID()), T, false); got != "0=old 2=old 4=old 6=old 8=old " {
		t.Fatalf("another sees %q", got)
	}
	if _, err := tx.Commit(ctx, txn.CommitRequest{}); err != nil {
		t.Fatal(err)
	}
	T2, _ := r.Snapshot(ctx)
	if got := scanAll(t, r.Tx(txn.NewID()), T2, false); got != want {
		t.Fatalf("committed: %q", got)
	}
	if got := scanAll(t, r.Tx(txn.NewID()), T, false); got != "0=old 2=old 4=old 6=old 8=old " {
		t.Fatalf("the old snapshot sees %q", got)
	}
}

func scanAll(t testing.TB, tx *Tx, T txn.Timestamp, reverse bool) (out string) {
	t.Helper()
	ctx := context.Background()
	v, err := tx.View(ctx, T)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	err = v.Scan(ctx, keyspace.TableSpan(20000), reverse, func(k, val []byte) error {
		var n int
		fmt.Sscanf(string(keyspace.PrimaryKeyOf(k)), "row-%d", &n)
		out += fmt.Sprintf("%d=%s ", n, val)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestScanStops(t *testing.T) {
	r := openTest(t, t.TempDir())
	ctx := testContext(t)
	for i := range 5 {
		commitRow(t, r, rowKey(i), "x")
	}
	T, _ := r.Snapshot(ctx)
	v, _ := r.Tx(txn.NewID()).View(ctx, T)
	defer v.Close()
	n := 0
	err := v.Scan(ctx, txn.Span{}, false, func(k, _ []byte) error {
		if n++; n == 3 {
			return ErrStop
		}
		return nil
	})
	if n != 3 || err != nil {
		t.Fatalf("%d rows, %v", n, err)
	}
	boom := errors.New("boom")
	if err := v.Scan(ctx, txn.Span{}, true, func(k, _ []byte) error { return boom }); !errors.Is(err, boom) {
		t.Fatalf("got %v", err)
	}
}

// TestClosedBeneathScan: a replica that is closed during a scan or a stream returns nothing more.
// Its tables are not in memory any more.
func TestClosedBeneathScan(t *testing.T) {
	dir := t.TempDir()
	r := openTest(t, dir, small)
	for i := range 300 {
		commitRow(t, r, rowKey(i), string(make([]byte, 20_000)))
	}
	if err := r.Close(); err != nil { // all of them are in tables then
		t.Fatal(err)
	}
	r = openTest(t, dir, small)
	stream, _, err := r.stream()
	if err == nil {
		_, err = io.ReadFull(stream, make([]byte, 1000))
	}
	if err != nil {
		t.Fatal(err)
	}
	v, err := r.Tx(txn.NewID()).View(t.Context(), current(t, r))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	err = v.Scan(t.Context(), keyspace.TableSpan(keyspace.TableOf(rowKey(1))), false, func(_, _ []byte) error {
		if n++; n == 3 {
			return r.Close()
		}
		return nil
	})
	if n != 3 || !pgerr.Is(err, pgerr.CannotConnectNow) {
		t.Errorf("%d rows, %v", n, err)
	}
	if _, err := io.Copy(io.Discard, stream); !pgerr.Is(err, pgerr.CannotConnectNow) {
		t.Errorf("the stream: %v", err)
	}
}

// TestReadAfterClose: a reader of a replica that is closed learns that the replica does not lead,
// and not that its files are damaged.
func TestReadAfterClose(t *testing.T) {
	r := openTest(t, t.TempDir())
	commitRow(t, r, rowKey(1), "x")
	v, err := r.Tx(txn.NewID()).View(t.Context(), current(t, r))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := v.Get(t.Context(), rowKey(1)); !pgerr.Is(err, pgerr.CannotConnectNow) {
		t.Errorf("a row: %v", err)
	}
	err = v.Scan(t.Context(), txn.Prefix(rowKey(1)), false, func(_, _ []byte) error { return nil })
	if !pgerr.Is(err, pgerr.CannotConnectNow) {
		t.Errorf("rows: %v", err)
	}
}

// oneClient skips a test in the short run, which is the one with the race detector: one client
// writes many megabytes in it, and what runs beside that client runs beside smaller rows too.
func oneClient(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("one client writes many megabytes")
	}
}
