package storage

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/txn"
)

// behind makes a mover whose fragments do not know their global index before they catch up with the
// catalog, which they are led to forget: as a new leader whose catalog lags, after another one was
// told of the index.
func behind(t *testing.T) (m *mover, forget func()) {
	var knows atomic.Bool
	knows.Store(true)
	m = openMover(t, slowRecovery, func(c *Config) {
		c.Global = func(_, index uint32) bool { return index == globalIndexID && knows.Load() }
		c.CatchUp = func(context.Context) error {
			knows.Store(true)
			return nil
		}
	})
	return m, func() { knows.Store(false) }
}

// TestLeaderBehindTheCatalog: a source that does not know yet that an index is global copies its
// entries, and a step that takes none for what it is.
func TestLeaderBehindTheCatalog(t *testing.T) {
	m, forget := behind(t)
	a, b := m.c.rs[0], m.c.rs[1]
	commitRow(t, a, movedKey(100, "k"), "1")
	commitRow(t, a, movedEntry(100, "k"), "e")
	n, ctx := m.number(), testContext(t)
	if _, err := b.Moves.BeginIngest(ctx, n, movedRange, a.Watermark()); err != nil {
		t.Fatal(err)
	}
	forget()
	first, err := m.copy(a, b, n, ReadRequest{Ranges: movedRange})
	if err != nil {
		t.Fatal(err)
	}
	commitRow(t, a, movedEntry(101, "l"), "f")
	forget()
	res, err := a.Moves.Cut(ctx, ReadRequest{Ranges: movedRange, Since: first.T, Move: n}, testTimeout,
		func(batch []Version) error { return b.Moves.Ingest(ctx, n, batch) })
	if err != nil {
		t.Fatal(err)
	}
	forget()
	m.finish(a, b, n, movedRange, res.T, res.Watermark)
	a.drops.wait()
	if got := rowsAt(t, b, current(t, b), movedRange, false); got != "100:k=1 100:k=e 101:l=f " {
		t.Errorf("the target has %s", got)
	}
	if n := keysOf(t, a, logentry.Index{Table: movedTable, Index: globalIndexID}); n != 0 {
		t.Errorf("%d entries are left at the source", n)
	}
}

// TestPreparedEntryBehindTheCatalog: what is prepared and writes an entry of a global index into
// the ranges is in the way also of a leader that does not know the index yet.
func TestPreparedEntryBehindTheCatalog(t *testing.T) {
	m, forget := behind(t)
	a := m.c.rs[0]
	tx := a.Tx(txn.NewID())
	if err := errors.Join(tx.LockNewest(t.Context(), movedEntry(100, "k")),
		tx.Put(movedEntry(100, "k"), []byte("e"))); err != nil {
		t.Fatal(err)
	}
	req := PreparationRequest{PreparationRequest: txn.PreparationRequest{GID: "a name"}, Home: 1, Writers: []txn.FragmentID{1}}
	if err := tx.PrepareTransaction(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	forget()
	var prepared *PreparedError
	_, err := a.Moves.Cut(t.Context(), ReadRequest{Ranges: movedRange, Move: m.number()}, time.Second,
		func([]Version) error { return nil })
	if !errors.As(err, &prepared) {
		t.Errorf("%v", err)
	}
}

// keysOf counts the keys of an index that are there, of any generation.
func keysOf(t *testing.T, r *Replica, x logentry.Index) (n int) {
	t.Helper()
	at := r.db.At(txn.MaxTimestamp)
	defer at.Close()
	c := at.Scan(txn.Prefix(keyspace.IndexPrefix(x.Table, x.Index)), false)
	defer c.Close()
	for ; c.Valid(); c.Next() {
		n++
	}
	return n
}
