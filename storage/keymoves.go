package storage

import (
	"context"
	"hash/maphash"
	"sync"

	"github.com/sherddb/sherd/txn"
)

// A row whose primary key changes is deleted under its old key and written under another, perhaps in another fragment. Who has waited for it, or reads at an
// older snapshot, finds it deleted, and has to know whether it is somewhere else now. keyMoves remembers which keys were left so. It is memory of this
// process: of deletions at or below since it knows nothing, and then the answer is "perhaps", which costs a statement that is run again, never a row.
type keyMoves struct {
	mu     sync.Mutex
	young  map[uint64]struct{} // hashes of stored keys; guarded by mu
	old    map[uint64]struct{} // those before; guarded by mu
	turned txn.Timestamp       // when young was begun: what it has is of later commits; guarded by mu
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

// add takes over what a transaction has noted that ends. No other may have looked at its rows yet, and nothing was committed above now.
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

// perhaps tells whether the row that was deleted under a stored key at version may have another key since.
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

// certain tells whether the key is known to have been left.
func (k *keyMoves) certain(key []byte) bool { return k.perhaps(key, txn.MaxTimestamp) }

// Leaves notes that the row at key, which the transaction deletes, gets another key in the same transaction.
func (t *Tx) Leaves(key []byte) {
	key = t.storedNow(key)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.left == nil {
		t.left = map[uint64]struct{}{}
	}
	if len(t.left) <= maxKeyMoves { // one more says that they are too many
		t.left[maphash.Bytes(keyMoveSeed, key)] = struct{}{}
	}
}

// Left tells whether the row that was at key, whose lock is held and which is there no more, may have another key now. It says so too where that
// is not known any more.
func (t *Tx) Left(key []byte) (bool, error) {
	key = t.storedNow(key)
	version, err := t.r.rows.lastDelete(t.untilTerm(context.Background()), key)
	return err == nil && t.r.left.perhaps(key, version), err
}

// tellLeft takes over what a transaction has noted that ends, before its locks are given up.
func (r *Replica) tellLeft(keys map[uint64]struct{}, strange bool) {
	switch {
	case strange:
		r.left.unknown(r.proposer.NewestStamp())
	case len(keys) > 0:
		r.left.add(keys, r.proposer.NewestStamp())
	}
}
