package fragment

import (
	"sync"

	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/txn"
)

// places records where a transaction writes in one fragment: whether at all, and the first two
// buckets, because callers only need to distinguish one from more than one. Each has the position
// in the write buffer from which on it counts, so that a rollback to a savepoint takes it back.
type places struct {
	mu      sync.Mutex
	written bool      // guarded by mu, as all below
	since   int       // position of written
	buckets [2]uint32 // n of them
	at      [2]int
	n       int
}

// add records a write, and reports whether that makes the transaction wider.
func (p *places) add(key []byte, tx *storage.Tx) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	wider := !p.written
	if wider {
		p.written, p.since = true, tx.Mark().Writes
	}
	if p.n == len(p.buckets) || !keyspace.IsRow(key) {
		return wider
	}
	b := keyspace.BucketOf(key)
	if p.n > 0 && p.buckets[0] == b {
		return wider
	}
	p.buckets[p.n], p.at[p.n] = b, tx.Mark().Writes
	p.n++
	return true
}

// rollbackTo forgets what was recorded since a mark.
func (p *places) rollbackTo(m txn.Mark) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.n > 0 && p.at[p.n-1] >= m.Writes {
		p.n--
	}
	if p.written && p.since >= m.Writes {
		p.written = false
	}
}

// count returns how many buckets are written, at least.
func (p *places) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.written {
		return max(p.n, 1)
	}
	return 0
}
