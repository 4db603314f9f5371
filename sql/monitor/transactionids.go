package monitor

import (
	"encoding/binary"
	"strconv"
	"sync"

	"github.com/sherddb/sherd/txn"
)

// TransactionIDs are the newest transactions whose ids of 64 bits were sent to clients of this node: such
// an id alone does not find a transaction. The zero value knows none. Its methods may be called
// concurrently.
type TransactionIDs struct {
	mu   sync.Mutex
	full map[uint64]txn.ID // guarded by mu
	idle map[txn.ID]bool   // of these: committed without a write, so that no log knows them; guarded by mu
	ring []uint64          // in the order in which they were sent; guarded by mu
	next int               // the oldest in a full ring; guarded by mu
}

const maxTransactionIDs = 1 << 16

// Add notes the id of 64 bits that was sent for a transaction.
func (t *TransactionIDs) Add(id uint64, full txn.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.full[id]; ok {
		return
	}
	if t.full == nil {
		t.full = map[uint64]txn.ID{}
	}
	t.full[id] = full
	if len(t.ring) < maxTransactionIDs {
		t.ring = append(t.ring, id)
		return
	}
	delete(t.idle, t.full[t.ring[t.next]])
	delete(t.full, t.ring[t.next])
	t.ring[t.next] = id
	t.next = (t.next + 1) % maxTransactionIDs
}

// CommitWithoutWrite notes that a transaction whose id was sent has committed without a write.
func (t *TransactionIDs) CommitWithoutWrite(id txn.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.idle == nil {
		t.idle = map[txn.ID]bool{}
	}
	if len(t.idle) < maxTransactionIDs {
		t.idle[id] = true
	}
}

// CommittedWithoutWrite reports whether CommitWithoutWrite was called for a transaction.
func (t *TransactionIDs) CommittedWithoutWrite(id txn.ID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.idle[id]
}

// ShortID returns the id of 64 bits of a transaction.
func ShortID(id txn.ID) uint64 { return binary.BigEndian.Uint64(id[len(id)-8:])>>2 | shortMark }

const shortMark = 1 << 61

// Parse reads the name of a transaction, or its id of 64 bits; known is false if that id was not sent by
// this node, or too long ago. Other text is 22023.
func (t *TransactionIDs) Parse(name string) (id txn.ID, known bool, err error) {
	if n, err := strconv.ParseUint(name, 10, 64); err == nil && len(name) < 2*len(id) && n&^(shortMark-1) == shortMark {
		t.mu.Lock()
		defer t.mu.Unlock()
		id, known = t.full[n]
		return id, known, nil
	}
	id, err = txn.ParseID(name)
	return id, err == nil, err
}
