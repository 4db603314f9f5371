package cluster

import (
	"context"
	"sync"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/kv"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/txn"
)

// Transaction is one transaction over any number of fragments. Fragments join when they are first
// used.
type Transaction struct {
	host *Host
	id   txn.ID

	mu        sync.Mutex
	parts     map[txn.FragmentID]part // guarded by mu
	change    *catalog.Change         // schema change; nil: none; guarded by mu
	snapshots []heldSnapshot          // guarded by mu
	holds     []func()                // they release the pins; guarded by mu
	over      bool                    // the pins were released; guarded by mu
	scope     exec.Scope              // guarded by mu
	options   exec.TransactionOptions // guarded by mu
}

// Begin opens a transaction; it costs nothing until it is used.
func (h *Host) Begin() exec.Transaction {
	return &Transaction{host: h, id: txn.NewID(), parts: map[txn.FragmentID]part{}}
}

// ID names the transaction.
func (t *Transaction) ID() txn.ID { return t.id }

func (t *Transaction) part(id txn.FragmentID) (part, error) {
	if id == shardmap.NoFragment { // a newer map assigns it
		return nil, &txn.MovedError{}
	}
	if id == shardmap.Taken {
		return nil, &txn.SplitError{}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.parts[id]; p != nil {
		return p, nil
	}
	var p part
	switch r := t.host.replica(id); {
	case r != nil && (t.host.links == nil || t.host.links.presence.Alone()): // no other node can lead it
		p = newLocalPart(r, t, t.options)
	case t.host.links == nil:
		_, err := t.host.Replica(id)
		return nil, err
	default:
		p = &handle{of: t, fragment: id, options: t.options}
	}
	if len(t.parts) == 0 {
		t.host.Started(t.id)
	}
	t.parts[id] = p
	return p, nil
}

// Snapshot asks the fragments for the timestamp of a statement that may reach the buckets, and
// returns the largest (T6).
func (t *Transaction) Snapshot(ctx context.Context, shares []shardmap.Share, epoch uint64) (txn.Timestamp, error) {
	return t.host.Snapshot(ctx, shares, epoch)
}

// SnapshotReachable is Snapshot for the fragments that can be reached; missing says why the others
// cannot.
func (t *Transaction) SnapshotReachable(ctx context.Context, shares []shardmap.Share, epoch uint64) (
	T txn.Timestamp, missing map[txn.FragmentID]error, err error) {
	return t.host.SnapshotReachable(ctx, shares, epoch)
}

// Configure sets the transaction's options.
func (t *Transaction) Configure(o exec.TransactionOptions) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.options = o
}

// SetLockTimeout bounds the waits for row locks from now on; 0 means no limit.
func (t *Transaction) SetLockTimeout(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.options.LockTimeout = d
	for _, p := range t.parts {
		p.SetLockTimeout(d)
	}
}

// HasWrites reports whether the transaction has buffered writes.
func (t *Transaction) HasWrites() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.hasWrites()
}

// hasWrites is called with mu held.
func (t *Transaction) hasWrites() bool {
	for _, p := range t.parts {
		if p.HasWrites() {
			return true
		}
	}
	return false
}

// Define sets the schema change that commits with the buffered writes.
func (t *Transaction) Define(ch *catalog.Change) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.change = ch
}

// Commit commits the buffered writes, above floor, and returns the commit timestamp; it returns
// floor if nothing was written. Errors are definite except for 40003.
func (t *Transaction) Commit(ctx context.Context, floor txn.Timestamp) (txn.Timestamp, error) {
	defer t.letGo()
	t.mu.Lock()
	parts := make([]txn.Participant, 0, len(t.parts))
	for _, p := range t.parts {
		parts = append(parts, p)
	}
	if t.change != nil && !t.change.Empty() {
		t.host.Started(t.id)
		parts = append(parts, &kv.SchemaPart{Catalog: t.host.cfg.Catalog, Clock: t.host.cfg.Clock, ID: t.id, Change: t.change})
	}
	t.mu.Unlock()
	return t.host.Coordinator().Commit(ctx, t.id, floor, parts)
}

// Rollback drops the buffered writes and the locks.
func (t *Transaction) Rollback() {
	defer t.letGo()
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.parts {
		p.Rollback()
	}
}

// Mark returns the position to which RollbackTo and Restart return.
func (t *Transaction) Mark() exec.Mark {
	t.mu.Lock()
	defer t.mu.Unlock()
	m := exec.Mark{}
	for id, p := range t.parts {
		if at := p.Mark(); at != (txn.Mark{}) {
			m[id] = at
		}
	}
	return m
}

// RollbackTo drops the writes and locks since m.
func (t *Transaction) RollbackTo(m exec.Mark) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, p := range t.parts {
		p.RollbackTo(m[id])
	}
}

// Restart drops the writes since m and keeps the locks. A transaction that has only read has an
// empty mark, so the mark does not say whether its reads may be forgotten.
func (t *Transaction) Restart(m exec.Mark, forgetReads bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, p := range t.parts {
		p.Restart(m[id], forgetReads)
	}
}

// Fragment returns a fragment as the transaction sees it.
func (t *Transaction) Fragment(id txn.FragmentID) (exec.Fragment, error) {
	return t.part(id)
}
