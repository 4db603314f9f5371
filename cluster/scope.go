package cluster

import (
	"sync"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec"
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

// note records a write. It reports whether that makes the transaction wider.
func (p *places) note(key []byte, staged func() txn.Mark) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	wider := !p.written
	if wider {
		p.written, p.since = true, staged().Writes
	}
	if p.n == len(p.buckets) || !keyspace.IsRow(key) {
		return wider
	}
	b := keyspace.BucketOf(key)
	if p.n > 0 && p.buckets[0] == b {
		return wider
	}
	p.buckets[p.n], p.at[p.n] = b, staged().Writes
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

// Bound refuses, from now on, writes that make the transaction wider than scope; 25000 if it is
// wider already.
func (t *Transaction) Bound(scope exec.Scope) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.scope = scope
	return t.checkScope()
}

// checkScope is called with mu held.
func (t *Transaction) checkScope() error {
	if t.scope == exec.ScopeCluster {
		return nil
	}
	fragments, buckets := 0, 0
	for _, p := range t.parts {
		if n := p.width(); n > 0 {
			fragments++
			buckets += n
		}
	}
	what := "bucket"
	switch {
	case t.scope == exec.ScopeFragment && fragments <= 1 || t.scope == exec.ScopeBucket && buckets <= 1:
		return nil
	case t.scope == exec.ScopeFragment:
		what = "fragment"
	}
	return pgerr.New(pgerr.InvalidTransactionState, "transaction writes to more than one %s", what).
		WithDetail("sherd.txn_scope is %q.", what).
		WithHint("Keep the documents of a transaction together, as by anchors or a policy, or SET sherd.txn_scope = 'cluster'.")
}
