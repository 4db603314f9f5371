package storage

import (
	"bytes"
	"context"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/sherddb/sherd/storage/install"
	"github.com/sherddb/sherd/storage/keysummary"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/storage/proposer"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/protocol"
	"github.com/sherddb/sherd/txn/rule"
)

// preparedTxn is what readers know of a prepared transaction: which keys it will write, at which C.
type preparedTxn struct {
	protocol.Writer[txn.Timestamp]

	id          txn.ID
	coordinator txn.FragmentID
	writers     []txn.FragmentID
	// ascending; sorted at the first call, because most commits resolve before one
	keys    func() [][]byte
	summary *keysummary.Summary // in place of keys, of a large transaction
	// each calls a function with all keys and their locks, some more than once; guarded by
	// transactions.mu
	each     func(fn func(key []byte, mode txn.LockMode) error) error
	resolved chan struct{}
	since    time.Time

	installing bool          // it is committed, and its rows are on their way (install.go)
	install    *install.Rows // which of its rows are there; nil: not known
}

func newPrepared(m *machine, o *openTxn) *preparedTxn {
	p := &preparedTxn{
		Writer: o.Writer, id: o.id, coordinator: o.coordinator, writers: o.writers,
		resolved: make(chan struct{}), since: o.since,
	}
	if o.keys != nil {
		o.keys.Seal()
		p.summary = o.keys
	}
	writes := o.writes // of a prepared transaction they stay as they are
	p.keys = sync.OnceValue(func() [][]byte { return sortedKeys(writes) })
	p.each = m.pieces.eachKey(o)
	return p
}

func sortedKeys(writes []byte) (keys [][]byte) {
	// The entry was checked when it was applied first.
	_ = logentry.EachOp(writes, func(op logentry.Op, key, _ []byte) error {
		if op.Writes() { // a reader does not wait for what is only locked
			keys = append(keys, key)
		}
		return nil
	})
	slices.SortFunc(keys, bytes.Compare)
	return keys
}

func (p *preparedTxn) touches(s txn.Span) bool {
	if p.summary != nil {
		return p.summary.Touches(s)
	}
	keys := p.keys()
	i := sort.Search(len(keys), func(i int) bool { return bytes.Compare(keys[i], s.Start) >= 0 })
	return i < len(keys) && (len(s.End) == 0 || bytes.Compare(keys[i], s.End) < 0)
}

func (p *preparedTxn) writes(key []byte) bool {
	if p.summary != nil {
		return p.summary.Writes(key)
	}
	_, ok := slices.BinarySearchFunc(p.keys(), key, bytes.Compare)
	return ok
}

// afterTerm is how long a wait goes on after the term has ended, because the next leader will most
// likely resolve the transaction soon.
const afterTerm = 3 * time.Second

// waitResolved waits until every transaction prepared at or below T that hits is decided and
// resolved here, and the rows of those committed are there (T3). own is the caller's transaction,
// which does not count. over is closed when the caller's term ends, because a replica that is cut
// off learns of no decision; if it is nil, the wait goes on.
func (r *rowReader) waitResolved(
	ctx context.Context, over <-chan struct{}, T txn.Timestamp, own txn.ID, hits func(*preparedTxn) bool,
) error {
	return r.waitFor(waitContext{ctx, over}, func() <-chan struct{} {
		if p := r.txns.find(T, own, hits); p != nil {
			return p.resolved
		}
		return nil
	})
}

// waitContext ends a wait.
type waitContext struct {
	ctx  context.Context
	over <-chan struct{} // closed when the caller's term has ended; nil: that does not matter
}

// waitFor waits as long as next returns a channel, for each of them to be closed.
func (r *rowReader) waitFor(c waitContext, next func() <-chan struct{}) error {
	ctx, over := c.ctx, c.over
	var late <-chan time.Time
	for r.txns.undecided.Load() != 0 {
		resolved := next()
		if resolved == nil {
			return nil
		}
		select {
		case <-resolved:
		case <-over:
			over, late = nil, time.After(afterTerm)
		case <-late:
			return proposer.ErrNotLeader
		case <-ctx.Done():
			return ctx.Err()
		case <-r.stopper.Stopped():
			return proposer.ErrNotLeader
		}
	}
	return nil
}

// WaitResolved waits until no transaction is prepared here that writes to the span.
func (r *Replica) WaitResolved(ctx context.Context, span txn.Span) error {
	return r.rows.waitResolved(ctx, r.proposer.Over(), txn.MaxTimestamp, txn.ID{},
		func(p *preparedTxn) bool { return p.touches(span) })
}

// publish shows readers what a batch has changed; its keys are in Badger. Prepared transactions are
// published before applied, so that every reader at their C finds them; resolved ones are removed
// after their rows are there.
func (r *Replica) publish(s *state, ef *effects) {
	// before owners, because it may forget what older reads would ask for
	r.pins.SetWatermark(s.watermark)
	if !ef.empty() {
		r.publishOpen(s, ef)
	}
	if !rule.T6Prepared {
		r.machine.visible.Store(uint64(s.visible))
	}
	if ef.owners {
		// before applied: a replica that does not lead has no fence but this one (ClosedView)
		publishOwners(r.machine, ef.changes)
	}
	r.proposer.Publish(s.stamp, s.lease)
	for _, id := range ef.ended {
		r.releaseResolved(id)
	}
	r.installs.Start(rowsOf(ef.installing))
	for _, d := range ef.drops {
		r.drops.start(d)
	}
	if len(ef.gone) > 0 {
		r.releaseGone(ef.gone)
	}
}

func (r *Replica) publishOpen(s *state, ef *effects) {
	r.txns.mu.Lock()
	defer r.txns.mu.Unlock()
	for _, o := range ef.prepared {
		if s.open[o.id] != o || !o.Prepared {
			continue // resolved, or prepared by name again, in the same batch
		}
		p := newPrepared(r.machine, o)
		if old := r.txns.prepared[o.id]; old != nil {
			defer close(old.resolved) // a later attempt: its waiters look again
		}
		r.txns.prepared[o.id] = p
	}
	for _, id := range ef.unprepared {
		if o := s.open[id]; o != nil && !o.Prepared {
			r.txns.resolved(id)
		}
	}
	for _, x := range ef.installing {
		r.txns.installing[x.o.id] = newInstalling(x)
	}
	for _, id := range ef.ended {
		r.txns.resolved(id)
		delete(r.txns.preparations, id)
		r.guards.Drop(id)
	}
	for _, o := range ef.preparations {
		if s.open[o.id] == o {
			r.txns.preparations[o.id] = r.newPreparation(o)
		}
	}
	r.txns.count()
	for _, d := range ef.decided {
		r.txns.decided[d.id] = d
	}
	for _, id := range ef.forgotten {
		delete(r.txns.decided, id)
	}
	for _, id := range ef.parts {
		if o := s.open[id]; o != nil && !o.Prepared && o.preparation == nil {
			r.txns.parts[id] = true
		} else {
			delete(r.txns.parts, id)
		}
	}
}

// publishAll shows the state of a checkpoint.
func (r *Replica) publishAll(s *state) {
	ef := effects{owners: true}
	for _, o := range s.open {
		if o.preparation != nil {
			ef.preparations = append(ef.preparations, o)
		}
		if o.Prepared {
			o.since = time.Time{} // from before the restart: its outcome is asked for at once
			ef.prepared = append(ef.prepared, o)
		} else if o.preparation == nil {
			ef.parts = append(ef.parts, o.id)
		}
	}
	for _, d := range s.decided {
		ef.decided = append(ef.decided, d)
	}
	r.publish(s, &ef)
}
