package storage

import (
	"context"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/storage/guards"
	"github.com/sherddb/sherd/storage/locktable"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/storage/proposer"
	"github.com/sherddb/sherd/storage/readset"
	"github.com/sherddb/sherd/storage/writebuf"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/rule"
)

// What prepared SERIALIZABLE transactions have read, and others would write (package guards). A
// transaction that buffers a write there waits, at the end of its statement's part here, for the
// end of the prepared one. One that has buffered it before is asked to end: a SERIALIZABLE one gets
// 40001 when it wants to commit. Others cannot be expected to retry, so PREPARE TRANSACTION gets
// 40001 if they do not end in a moment, or if another is prepared. A new leader has the guards of
// prepared transactions before it serves.

// guardAgain makes the guards of a term that begins.
func (r *Replica) guardAgain() {
	var list []*guards.Guard
	for _, h := range r.txns.preparations {
		if len(h.preparation.Reads) > 0 && rule.T8PreparedReads {
			list = append(list, guards.New(h.id, h.preparation.Request.GID, h.preparation.Reads))
		}
	}
	r.guards.Replace(list)
}

// AwaitReaders waits until no prepared SERIALIZABLE transaction is left that has read what this one
// has buffered since, for at most the time of a lock wait.
func (t *Tx) AwaitReaders(ctx context.Context) error {
	for {
		t.mu.Lock()
		g, key := t.met.Next(t.bufferedWithin)
		t.mu.Unlock()
		if g == nil {
			return nil
		}
		if err := t.awaitReader(ctx, g, key); err != nil {
			return err
		}
	}
}

func (t *Tx) awaitReader(ctx context.Context, g *guards.Guard, key []byte) error {
	var timeout <-chan time.Time
	if d := t.locks.Timeout(); d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		timeout = timer.C
	}
	defer t.r.guards.Wait(LockInfo{
		Fragment: t.r.cfg.Fragment, Holder: t.locks.LockOwner(), Key: key, Mode: txn.Update, Since: time.Now(),
		Blockers: []txn.LockOwner{{ID: g.ID}},
	})()
	select {
	case <-g.Ended():
		return nil
	case <-timeout:
		return locktable.ErrTimeout
	case <-ctx.Done():
		return ctx.Err()
	case <-t.r.stopper.Stopped():
		return proposer.ErrNotLeader
	}
}

// bufferedWithin reports whether a buffered key is in the spans, which are in order and apart.
// Called with mu held.
func (t *Tx) bufferedWithin(spans []txn.Span) (found bool, err error) {
	err = t.buffer.Last(func(op *writebuf.Op) error {
		found = found || readset.Contains(spans, op.Key)
		return nil
	})
	return found, err
}

// mayWrite returns 40001 if a prepared transaction has read what this one is about to write. Called
// with mu held.
func (t *Tx) mayWrite() error {
	g, err := t.met.InTheWay(t.bufferedWithin)
	if g == nil || err != nil {
		return err
	}
	return pgerr.New(pgerr.SerializationFailure, readConflict).
		WithDetail(`The prepared transaction "%s" has read what this transaction writes, or looked for it.`, g.GID).
		WithHint("The transaction might succeed if retried after that has ended.")
}

// guardReads keeps other transactions from writing where v has read, from before its validation
// until this transaction has ended.
func (c *Committer) guardReads(ctx context.Context, v *validation, h *logentry.Preparation) error {
	if c.t.reads == nil || !rule.T8PreparedReads {
		return nil
	}
	spans, err := c.readsToGuard(v)
	if len(spans) == 0 || err != nil {
		return err
	}
	h.Reads = spans
	g := guards.New(c.t.id, h.Request.GID, spans)
	c.t.r.guards.Add(g)
	if err = c.t.r.awaitWriters(ctx, g); err != nil {
		c.t.r.guards.Drop(c.t.id)
	}
	return err
}

// readsToGuard returns the reads to be validated, and the rows that this transaction knows by locks
// which do not stay with the prepared transaction, because they are neither written nor pinned. The
// keys of such locks are not known if they are in the compact set of a large transaction.
func (c *Committer) readsToGuard(v *validation) ([]txn.Span, error) {
	s := &readset.Set{}
	if v != nil {
		s = readset.Of(v.spans)
	}
	c.t.mu.Lock()
	defer c.t.mu.Unlock()
	var err error
	c.t.locks.Each(func(l *locktable.Lock, pinned bool) bool {
		if !l.Row.Known || pinned {
			return true
		}
		var written bool
		if _, written, err = c.t.buffer.Get([]byte(l.Key()), c.t.buffer.Mark()); err == nil && !written {
			s.Point([]byte(l.Key()), 0)
		}
		return err == nil
	})
	if err != nil {
		return nil, err
	}
	if span := c.t.locks.Span(); span != nil {
		s.Add(*span, 0)
	}
	spans, _ := s.All()
	return readset.Bounded(spans), nil
}

// awaitWriters waits a moment for the transactions that have buffered a key which g has read, and
// must not fail with 40001 for it.
func (r *Replica) awaitWriters(ctx context.Context, g *guards.Guard) error {
	deadline := time.Now().Add(r.cfg.Timing.EndingWait)
	t := time.NewTicker(yieldLook)
	defer t.Stop()
	for {
		soon, err := r.writerInto(g)
		if err == nil || !soon || time.Now().After(deadline) {
			return err
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return ctx.Err()
		case <-r.stopper.Stopped():
			return proposer.ErrNotLeader
		}
	}
}

// writerInto returns 40001 if another transaction has buffered or prepared a write to a key that g
// has read, and reports whether that may end soon. SERIALIZABLE transactions that do not commit yet
// are marked instead, and fail with 40001 later.
func (r *Replica) writerInto(g *guards.Guard) (soon bool, err error) {
	r.live.mu.Lock()
	txs := make([]*Tx, 0, len(r.live.txs))
	for id, t := range r.live.txs {
		if id != g.ID {
			txs = append(txs, t)
		}
	}
	r.live.mu.Unlock()
	for _, t := range txs {
		if soon, err := t.overlaps(g); err != nil {
			return soon, err
		}
	}
	v := validation{spans: g.Spans}
	r.txns.mu.RLock()
	defer r.txns.mu.RUnlock()
	for _, h := range r.txns.preparations {
		if h.id != g.ID && v.touchedBy(h.locked) {
			return false, writtenBy(`the prepared transaction "%s"`, h.preparation.Request.GID)
		}
	}
	return false, nil
}

// overlaps is writerInto for one transaction. A prepared one is left to the validation, which waits
// for it.
func (t *Tx) overlaps(g *guards.Guard) (soon bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.phase == phaseDone || t.phase == phasePrepared && !t.byName {
		return false, nil
	}
	touched, err := t.bufferedWithin(g.Spans)
	if !touched || err != nil {
		return false, err
	}
	if t.phase == phaseOpen && t.reads != nil {
		t.met.FoundBy(g)
		return false, nil
	}
	return !t.byName, writtenBy("transaction %d", t.id.XID())
}

func writtenBy(format string, args ...any) error {
	return pgerr.New(pgerr.SerializationFailure, readConflict).
		WithDetail("What this transaction has read, or looked for, is written by "+format+", which has not ended.",
			args...).
		WithHint("The transaction might succeed if retried.")
}
