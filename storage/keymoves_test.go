package storage

import (
	"fmt"
	"hash/maphash"
	"testing"
	"time"

	"github.com/sherddb/sherd/txn"
)

func hashesOf(from, n int) map[uint64]struct{} {
	out := map[uint64]struct{}{}
	for i := range n {
		out[maphash.Bytes(keyMoveSeed, fmt.Append(nil, "row ", from+i))] = struct{}{}
	}
	return out
}

// TestKeyMoves: what was left is told, what was not is not, and nothing is denied that is not known
// any more.
func TestKeyMoves(t *testing.T) {
	var k keyMoves
	want := func(row int, version txn.Timestamp, want bool) {
		t.Helper()
		if got := k.perhaps(fmt.Append(nil, "row ", row), version); got != want {
			t.Errorf("row %d, deleted at %d: %v, want %v", row, version, got, want)
		}
	}
	want(1, 5, false)
	k.unknown(10)
	want(1, 10, true) // of another term
	want(1, 11, false)
	k.add(hashesOf(1, 1), 20)
	want(1, 20, true)
	want(2, 20, false)
	k.add(hashesOf(100, maxKeyMoves-1), 30)
	want(1, 20, true)
	k.add(hashesOf(1_000_000, 2), 40) // begins a new half
	want(1, 20, true)
	want(2, 20, true) // older than the half that is left, so it is not known
	want(2, 50, false)
	k.add(hashesOf(2_000_000, maxKeyMoves-1), 60)
	want(1, 20, true)
	want(2, 41, false)
	k.add(hashesOf(3_000_000, maxKeyMoves+1), 70) // too many at once
	want(2, 70, true)
	want(2, 71, false)
}

// TestLeft: deletions of this term are told apart; those of an earlier one, and of transactions
// that it left prepared, are not.
func TestLeft(t *testing.T) {
	// what is prepared stays so, since its anchor is not there
	patient := func(c *Config) { c.Timing.RecoverAfter, c.Timing.RecoverLive = time.Hour, time.Hour }
	c := openCluster(t, tempDirs(t, 1), patient)
	ctx := testContext(t)
	left := func(key []byte) bool {
		t.Helper()
		got, err := c.rs[0].Tx(txn.NewID()).Left(key)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	leave := func(key []byte) *Tx {
		t.Helper()
		tx := c.rs[0].Tx(txn.NewID())
		_, err := tx.Lock(ctx, key, txn.LockRequest{Mode: txn.Update, T: txn.MaxTimestamp})
		if err == nil {
			err = tx.Delete(key)
		}
		if err != nil {
			t.Fatal(err)
		}
		tx.Leaves(key)
		return tx
	}
	for i := range 4 {
		commitRow(t, c.rs[0], rowKey(i), "first")
	}
	change(t, c.rs[0], rowKey(0), txn.Update, "")
	if _, err := leave(rowKey(1)).Commit(ctx, txn.CommitRequest{}); err != nil {
		t.Fatal(err)
	}
	if left(rowKey(0)) || !left(rowKey(1)) {
		t.Error("what was deleted and what got another key are not told apart")
	}
	p, C := leave(rowKey(2)), c.co.Clock.Now()+1<<16
	if err := p.Prepare(ctx,
		txn.PrepareRequest{C: C, Anchor: 2, Attempt: 1, Writers: []txn.FragmentID{1, 2}}); err != nil {
		t.Fatal(err)
	}
	c = c.crash(patient)
	change(t, c.rs[0], rowKey(3), txn.Update, "")
	if !left(rowKey(0)) || !left(rowKey(1)) || left(rowKey(3)) {
		t.Error("of an earlier term something is known, or of this one not")
	}
	p = c.rs[0].Tx(p.id)
	d := txn.Decision{ID: p.id, C: C, Outcome: txn.Committed, Writers: []txn.FragmentID{1, 2}}
	if err := p.Resolve(ctx, d); err != nil {
		t.Fatal(err)
	}
	if !left(rowKey(2)) {
		t.Error("of a transaction that was prepared in an earlier term the deletion counts for one")
	}
}
