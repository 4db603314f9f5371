package kv

import (
	"context"
	"sync"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/txn"
)

// Transaction is one transaction over any number of fragments. Fragments join when they are first
// used. It runs no statements: package distexec runs tasks of plans in its parts.
type Transaction struct {
	client *Client
	id     txn.ID

	mu      sync.Mutex
	parts   map[txn.FragmentID]Part // guarded by mu
	change  *catalog.Change         // schema change; nil: none; guarded by mu
	pinned  []pinnedSnapshot        // guarded by mu
	unpin   []func()                // each ends a pin; guarded by mu
	over    bool                    // the pins were released; guarded by mu
	scope   txn.Scope               // guarded by mu
	options txn.Options             // guarded by mu
}

// Init opens a transaction in the caller's memory; it costs nothing until it is used.
func (c *Client) Init(t *Transaction) {
	t.client, t.id, t.parts = c, txn.NewID(), map[txn.FragmentID]Part{}
}

// ID names the transaction.
func (t *Transaction) ID() txn.ID { return t.id }

// Options returns the transaction's options as they are now.
func (t *Transaction) Options() txn.Options {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.options
}

// Part returns what the transaction has in a fragment: a part on this node if no other node can lead
// the fragment, otherwise a LeaderPart.
func (t *Transaction) Part(id txn.FragmentID) (Part, error) {
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
	var p Part
	if cfg := &t.client.cfg; cfg.Peers == nil || cfg.Peers.Alone() && cfg.Replica(id) != nil {
		var err error
		if p, err = cfg.Here.Part(id, t.id, t.options); err != nil {
			return nil, err
		}
	} else {
		p = &LeaderPart{of: t, fragment: id, options: t.options}
	}
	if len(t.parts) == 0 {
		t.client.Started(t.id)
	}
	t.parts[id] = p
	return p, nil
}

// Snapshot asks the fragments for the timestamp of a statement that may reach the buckets, and
// returns the largest (T6).
func (t *Transaction) Snapshot(ctx context.Context, shares []shardmap.Share, epoch uint64) (txn.Timestamp, error) {
	return t.client.Snapshot(ctx, shares, epoch)
}

// SnapshotReachable is Snapshot for the fragments that can be reached; missing says why the others
// cannot.
func (t *Transaction) SnapshotReachable(ctx context.Context, shares []shardmap.Share, epoch uint64) (
	T txn.Timestamp, missing map[txn.FragmentID]error, err error) {
	return t.client.SnapshotReachable(ctx, shares, epoch)
}

// Configure sets the transaction's options.
func (t *Transaction) Configure(o txn.Options) {
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
	defer t.end()
	t.mu.Lock()
	parts := make([]txn.Participant, 0, len(t.parts))
	for _, p := range t.parts {
		parts = append(parts, p)
	}
	if t.defines() {
		t.client.Started(t.id)
		parts = append(parts, &SchemaPart{
			Catalog: t.client.cfg.Catalog, Clock: t.client.cfg.Clock, ID: t.id, Change: t.change,
		})
	}
	t.mu.Unlock()
	return t.client.coordinator.Commit(ctx, t.id, floor, parts)
}

// Rollback drops the buffered writes and the locks.
func (t *Transaction) Rollback() {
	defer t.end()
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.parts {
		p.Rollback()
	}
}

// Mark returns the position to which RollbackTo and Restart return.
func (t *Transaction) Mark() txn.Marks {
	t.mu.Lock()
	defer t.mu.Unlock()
	m := txn.Marks{}
	for id, p := range t.parts {
		if at := p.Mark(); at != (txn.Mark{}) {
			m[id] = at
		}
	}
	return m
}

// RollbackTo drops the writes and locks since m.
func (t *Transaction) RollbackTo(m txn.Marks) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, p := range t.parts {
		p.RollbackTo(m[id])
	}
}

// Restart drops the writes since m and keeps the locks. A transaction that has only read has an
// empty mark, so the mark does not say whether its reads may be forgotten.
func (t *Transaction) Restart(m txn.Marks, forgetReads bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, p := range t.parts {
		p.Restart(m[id], forgetReads)
	}
}

// Owned checks that fragments still own what the transaction has buffered, locked and read in
// them; if not, it returns *txn.LostError. It asks only fragments that the transaction has used.
func (t *Transaction) Owned(ctx context.Context, fragments []txn.FragmentID) error {
	for _, id := range fragments {
		t.mu.Lock()
		p := t.parts[id]
		t.mu.Unlock()
		if p == nil || !p.Volatile() {
			continue
		}
		if err := p.Owned(ctx); err != nil {
			return err
		}
	}
	return nil
}

// end releases the pins at the end of the transaction.
func (t *Transaction) end() {
	t.client.Over(t.id)
	t.mu.Lock()
	unpin := t.unpin
	t.unpin, t.pinned, t.over = nil, nil, true
	t.client.pinning.Delete(t)
	t.mu.Unlock()
	for _, release := range unpin {
		release()
	}
}
