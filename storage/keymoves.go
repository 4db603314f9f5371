package storage

import (
	"context"
	"hash/maphash"
	"sync"

	"github.com/sherddb/sherd/txn"
)

// A row whose primary key changes is deleted under its old key and written under another, perhaps
// in another fragment. A transaction that has waited for the row, or reads at an older snapshot,
// finds it deleted, and has to know whether it is now elsewhere. keyMoves remembers the keys that
// rows have left. It is in this process's memory only: about deletions at or below since it knows
// nothing, and answers "perhaps". That may run a statement again, but never loses a row.
type keyMoves struct {
	mu     sync.Mutex
	young  map[uint64]struct{} // hashes of stored keys; guarded by mu
	old    map[uint64]struct{} // those before; guarded by mu
	turned txn.Timestamp       // start of young: its keys are from later commits; guarded by mu
	since  txn.Timestamp       // guarded by mu
}

// maxKeyMoves bounds either map, and what one transaction notes.
const maxKeyMoves = 1 << 15

var keyMoveSeed = maphash.MakeSeed()

// unknown says that nothing is known of deletions at or below t.
func (k *keyMoves) unknown(t txn.Timestamp) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.since = max(k.since, t)
}

// add takes over what an ending transaction has noted. No other transaction may have looked at its
// rows yet, and nothing was committed above now.
func (k *keyMoves) add(keys map[uint64]struct{}, now txn.Timestamp) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(keys) > maxKeyMoves {
		k.since = max(k.since, now)
		return
	}
	if k.young == nil || len(k.young)+len(keys) > maxKeyMoves {
		k.since = max(k.since, k.turned)
		k.old, k.young, k.turned = k.young, map[uint64]struct{}{}, now
	}
	for hash := range keys {
		k.young[hash] = struct{}{}
	}
}

// perhaps reports whether the row that was deleted under a stored key at version may have got
// another key.
func (k *keyMoves) perhaps(key []byte, version txn.Timestamp) bool {
	hash := maphash.Bytes(keyMoveSeed, key)
	k.mu.Lock()
	defer k.mu.Unlock()
	if version <= k.since {
		return true
	}
	_, young := k.young[hash]
	_, old := k.old[hash]
	return young || old
}

// certain reports whether a row is known to have left the key.
func (k *keyMoves) certain(key []byte) bool { return k.perhaps(key, txn.MaxTimestamp) }

// Leaves notes that the row at key, which the transaction deletes, gets another key in the same
// transaction.
func (t *Tx) Leaves(key []byte) {
	key = t.storedNow(key)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.left == nil {
		t.left = map[uint64]struct{}{}
	}
	if len(t.left) <= maxKeyMoves { // one more marks that there are too many
		t.left[maphash.Bytes(keyMoveSeed, key)] = struct{}{}
	}
}

// Left reports whether the row that was at key, whose lock is held and which no longer exists, may
// have another key now. It also returns true if that is no longer known.
func (t *Tx) Left(key []byte) (bool, error) {
	key = t.storedNow(key)
	version, err := t.r.rows.lastDelete(t.untilTerm(context.Background()), key)
	return err == nil && t.r.left.perhaps(key, version), err
}

// tellLeft takes over what an ending transaction has noted, before its locks are released.
func (r *Replica) tellLeft(keys map[uint64]struct{}, strange bool) {
	switch {
	case strange:
		r.left.unknown(r.proposer.NewestStamp())
	case len(keys) > 0:
		r.left.add(keys, r.proposer.NewestStamp())
	}
}
