package storage

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/sherddb/sherd/txn"
)

func putOne(t *testing.T, r *Replica, key, value []byte) {
	t.Helper()
	tx := r.Tx(txn.NewID())
	if err := errors.Join(tx.LockNewest(t.Context(), key), tx.Put(key, value)); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Commit(t.Context(), txn.CommitRequest{}); err != nil {
		t.Fatal(err)
	}
}

// What is sent ahead, several entries on their way at a time, arrives and is counted as what is
// sent one by one; also keys that come again, in the same read or in the next, and rows that are
// large.
func TestIngestQueue(t *testing.T) {
	for _, ahead := range []int{0, 1, 4} {
		t.Run(fmt.Sprint(ahead), func(t *testing.T) {
			m := openMover(t, small, secondAdded)
			a, b := m.c.rs[0], m.c.rs[1]
			large := bytes.Repeat([]byte("x"), 3<<20)
			for i := range 40 {
				bucket := uint32(100 + i)
				value := bytes.Repeat([]byte{byte(i)}, 40<<10)
				if i == 7 {
					value = large
				}
				putOne(t, a, movedKey(bucket, "a"), value)
				putOne(t, a, movedKey(bucket, "b"), []byte("short"))
			}
			ctx, n := testContext(t), m.number()
			if _, err := b.Moves.BeginIngest(ctx, n, movedRange, a.Watermark()); err != nil {
				t.Fatal(err)
			}
			q := b.Moves.NewIngestQueue(n)
			defer q.Close()
			put := func(batch []Version) error { return q.Put(ctx, batch, ahead) }
			first, err := a.Moves.ReadVersions(ctx, ReadRequest{Ranges: movedRange}, put)
			if err != nil {
				t.Fatal(err)
			}
			// All of it again, without waiting for what is on its way, and what has changed.
			putOne(t, a, movedKey(100, "a"), []byte("changed"))
			if _, err := a.Moves.ReadVersions(ctx, ReadRequest{Ranges: movedRange}, put); err != nil {
				t.Fatal(err)
			}
			last, err := a.Moves.Cut(ctx, ReadRequest{Ranges: movedRange, Since: first.T, Move: n}, testTimeout, put)
			if err != nil {
				t.Fatal(err)
			}
			// The versions of a row with others between them.
			row := func(at txn.Timestamp) Version {
				return Version{Key: movedKey(190, "c"), At: at, Value: []byte("x")}
			}
			if err := put([]Version{row(last.T - 2), {Key: movedEntry(190, "c"), At: last.T - 2},
				row(last.T - 1)}); err != nil {
				t.Fatal(err)
			}
			if err := q.Flush(); err != nil {
				t.Fatal(err)
			}
			m.finish(a, b, n, movedRange, last.T, first.Watermark)
			if got := readRow(t, b, movedKey(107, "a")); got != string(large) {
				t.Errorf("a large row has %d bytes", len(got))
			}
			if got := readRow(t, b, movedKey(100, "a")); got != "changed" {
				t.Errorf("a row that was changed is %.20q", got)
			}
			m.count(b)
			if err := q.Put(ctx, []Version{{Key: movedKey(100, "a"), At: 7, Value: []byte("late")}},
				ahead); !errors.Is(err, ErrMoveVoid) {
				t.Errorf("late: %v", err)
			}
		})
	}
}
