package sql

import (
	"strconv"
	"sync"

	"github.com/sherddb/sherd/txn"
)

// toldIDs are the transactions whose ids of 64 bits clients were told here, the newest: by such an id alone they could not be found.
type toldIDs struct {
	mu   sync.Mutex
	full map[uint64]txn.ID // guarded by mu
	idle map[txn.ID]bool   // of these: committed without having written anything, so that no log knows them; guarded by mu
	ring []uint64          // in the order in which they were told; guarded by mu
	next int               // the oldest in a full ring; guarded by mu
}

const maxTold = 1 << 16

func (t *toldIDs) note(id uint64, full txn.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.full[id]; ok {
		return
	}
	if t.full == nil {
		t.full = map[uint64]txn.ID{}
	}
	t.full[id] = full
	if len(t.ring) < maxTold {
		t.ring = append(t.ring, id)
		return
	}
	delete(t.idle, t.full[t.ring[t.next]])
	delete(t.full, t.ring[t.next])
	t.ring[t.next] = id
	t.next = (t.next + 1) % maxTold
}

// committedIdle notes that a transaction whose id was told has committed and written nothing.
func (t *toldIDs) committedIdle(id txn.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.idle == nil {
		t.idle = map[txn.ID]bool{}
	}
	if len(t.idle) < maxTold {
		t.idle[id] = true
	}
}

func (t *toldIDs) isIdle(id txn.ID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.idle[id]
}

// isTold tells whether a number may be an id of a transaction as TransactionID makes them.
func isTold(n uint64) bool { return n>>61 == 1 }

// parse reads the name of a transaction, or its id of 64 bits; known is false where that was not told here, or too long ago. What is neither is 22023.
func (t *toldIDs) parse(name string) (id txn.ID, known bool, err error) {
	if n, err := strconv.ParseUint(name, 10, 64); err == nil && len(name) < 2*len(id) && isTold(n) {
		t.mu.Lock()
		defer t.mu.Unlock()
		id, known = t.full[n]
		return id, known, nil
	}
	id, err = txn.ParseID(name)
	return id, err == nil, err
}
