// Package keymoves remembers which keys rows have left. A row whose primary key changes is deleted
// under its old key and written under another, perhaps in another fragment. A transaction that has
// waited for the row, or reads at an older snapshot, finds it deleted, and has to know whether it is
// now elsewhere.
//
// The memory is that of one process, and bounded. About deletions that it does not know it answers
// "perhaps". That may run a statement again, but never loses a row.
package keymoves

import (
	"hash/maphash"
	"sync"

	"github.com/sherddb/sherd/txn"
)

// Recent has the keys that rows have left lately. Of deletions at or below since it knows nothing.
// The zero value knows of no key. All methods may be called concurrently.
type Recent struct {
	mu     sync.Mutex
	young  map[uint64]struct{} // hashes of stored keys; guarded by mu
	old    map[uint64]struct{} // those before; guarded by mu
	turned txn.Timestamp       // start of young: its keys are from later commits; guarded by mu
	since  txn.Timestamp       // guarded by mu
}

// maxKeys bounds either map, and what one transaction notes.
const maxKeys = 1 << 15

// Notes are the keys that one transaction has left. The zero value has none.
type Notes struct {
	hashes map[uint64]struct{} // of stored keys
}

// Empty reports whether nothing was noted.
func (n *Notes) Empty() bool { return len(n.hashes) == 0 }

// Add notes that the row at a stored key, which the transaction deletes, gets another key in the
// same transaction.
func (n *Notes) Add(key []byte) {
	if n.hashes == nil {
		n.hashes = map[uint64]struct{}{}
	}
	if len(n.hashes) <= maxKeys { // one more marks that there are too many
		n.hashes[maphash.Bytes(seed, key)] = struct{}{}
	}
}

var seed = maphash.MakeSeed()

// Unknown says that nothing is known of deletions at or below t.
func (k *Recent) Unknown(t txn.Timestamp) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.since = max(k.since, t)
}

// Add takes over what an ending transaction has noted. No other transaction may have looked at its
// rows yet, and nothing was committed above now.
func (k *Recent) Add(notes Notes, now txn.Timestamp) {
	keys := notes.hashes
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(keys) > maxKeys {
		k.since = max(k.since, now)
		return
	}
	if k.young == nil || len(k.young)+len(keys) > maxKeys {
		k.since = max(k.since, k.turned)
		k.old, k.young, k.turned = k.young, map[uint64]struct{}{}, now
	}
	for hash := range keys {
		k.young[hash] = struct{}{}
	}
}

// Perhaps reports whether the row that was deleted under a stored key at version may have got
// another key.
func (k *Recent) Perhaps(key []byte, version txn.Timestamp) bool {
	hash := maphash.Bytes(seed, key)
	k.mu.Lock()
	defer k.mu.Unlock()
	if version <= k.since {
		return true
	}
	_, young := k.young[hash]
	_, old := k.old[hash]
	return young || old
}

// Certain reports whether a row is known to have left the key.
func (k *Recent) Certain(key []byte) bool { return k.Perhaps(key, txn.MaxTimestamp) }
