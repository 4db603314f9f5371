package storage

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/storage/locktable"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/storage/proposer"
	"github.com/sherddb/sherd/storage/readset"
	"github.com/sherddb/sherd/storage/writebuf"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/rule"
)

// What a held SERIALIZABLE transaction has read must be true at its C (T8), which is not known yet
// and must not fail. So its reads are validated when it is held, up to the stamp of that entry, and
// from before then until its end no other transaction writes where it has read:
//
//	guard      all writers know the spans. A transaction that stages a key in one waits, at
//	           the end of its statement's part here, for the end of the held transaction. A held
//	           transaction waits for no other, so these waits are in no cycle
//	look       at the transactions that have staged a key there already. A SERIALIZABLE one
//	           gets 40001 when it wants to commit. Others cannot be expected to retry, so PREPARE
//	           TRANSACTION gets 40001 if they do not end in a moment, or if another is held
//	validate   as at any commit; the spans are in the entry
//
// Guard comes before look, and a writer buffers its write before it looks for guards, so at least
// one of the two sees the other. A new leader has the guards of held transactions before it serves.
type heldReads struct {
	id    txn.ID
	gid   string
	spans []txn.Span    // in order and apart
	ended chan struct{} // closed when the transaction has ended, or the term
}

func (g *heldReads) isOver() bool {
	select {
	case <-g.ended:
		return true
	default:
		return false
	}
}

// guards are the reads of all held transactions.
type guards struct {
	// nil if there are none, which is nearly always; each change makes a new list
	list atomic.Pointer[[]*heldReads]
	mu   sync.Mutex // held while list is changed
	// the transactions that wait for a held one; guarded by mu
	waiting map[*Tx]LockInfo
}

func (s *guards) all() []*heldReads {
	if p := s.list.Load(); p != nil {
		return *p
	}
	return nil
}

func (s *guards) add(g *heldReads) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set(append(slices.Clone(s.all()), g))
}

// drop takes the guards of a transaction away.
func (s *guards) drop(id txn.ID) {
	if s.list.Load() == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set(slices.DeleteFunc(slices.Clone(s.all()), func(g *heldReads) bool {
		if g.id == id {
			close(g.ended)
		}
		return g.id == id
	}))
}

// reset ends all guards, and makes new ones for the held transactions.
func (s *guards) reset(held map[txn.ID]*heldTxn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range s.all() {
		close(g.ended)
	}
	var list []*heldReads
	for _, h := range held {
		if len(h.hold.Reads) > 0 && rule.T8Held {
			list = append(list, &heldReads{id: h.id, gid: h.hold.Request.GID, spans: h.hold.Reads,
				ended: make(chan struct{})})
		}
	}
	s.set(list)
}

// set is called with mu held.
func (s *guards) set(list []*heldReads) {
	if len(list) == 0 {
		s.list.Store(nil)
		return
	}
	s.list.Store(&list)
}

// waits returns the waits for held transactions, for sherd.locks.
func (s *guards) waits() (out []LockInfo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.waiting {
		out = append(out, x)
	}
	return out
}

// metReads is a held transaction that has read a key which this transaction has staged.
type metReads struct {
	by  *heldReads
	key []byte
}

// meetReads notes held transactions that have read key, which was staged just now. Called with mu
// held.
func (t *Tx) meetReads(key []byte) {
	for _, g := range t.r.guards.all() {
		if g.id != t.id && readset.Contains(g.spans, key) &&
			!slices.ContainsFunc(t.met, func(m metReads) bool { return m.by == g }) {
			t.met = append(t.met, metReads{g, bytes.Clone(key)})
		}
	}
}

// AwaitReaders waits until no held SERIALIZABLE transaction is left that has read what this one has
// staged since, for at most the time of a lock wait.
func (t *Tx) AwaitReaders(ctx context.Context) error {
	for {
		m := t.nextReader()
		if m.by == nil {
			return nil
		}
		if err := t.awaitReader(ctx, m); err != nil {
			return err
		}
	}
}

// nextReader returns a held transaction to wait for.
func (t *Tx) nextReader() metReads {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.met = slices.DeleteFunc(t.met, func(m metReads) bool { return m.by.isOver() })
	for _, m := range t.met {
		if touched, err := t.stagedWithin(m.by.spans); touched || err != nil {
			return m
		} // otherwise the write was undone
	}
	t.met = nil
	return metReads{}
}

func (t *Tx) awaitReader(ctx context.Context, m metReads) error {
	var timeout <-chan time.Time
	if d := t.locks.Timeout(); d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		timeout = timer.C
	}
	s := &t.r.guards
	s.mu.Lock()
	s.waiting[t] = LockInfo{
		Fragment: t.r.cfg.Fragment, Holder: t.locks.Party(), Key: m.key, Mode: txn.Update, Since: time.Now(),
		Blockers: []txn.Party{{ID: m.by.id}},
	}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.waiting, t)
		s.mu.Unlock()
	}()
	select {
	case <-m.by.ended:
		return nil
	case <-timeout:
		return locktable.ErrTimeout
	case <-ctx.Done():
		return ctx.Err()
	case <-t.r.stopper.Stopped():
		return proposer.ErrNotLeader
	}
}

// stagedWithin reports whether a staged key is in the spans, which are in order and apart. Called
// with mu held.
func (t *Tx) stagedWithin(spans []txn.Span) (found bool, err error) {
	err = t.stage.Last(func(op *writebuf.Op) error {
		found = found || readset.Contains(spans, op.Key)
		return nil
	})
	return found, err
}

// mayWrite returns 40001 if a held transaction has read what this one is about to write. Called
// with mu held.
func (t *Tx) mayWrite() error {
	for _, list := range [][]metReads{t.met, t.overtaken} {
		for _, m := range list {
			if m.by.isOver() {
				continue
			}
			touched, err := t.stagedWithin(m.by.spans)
			if err != nil {
				return err
			}
			if touched {
				return pgerr.New(pgerr.SerializationFailure, readConflict).
					WithDetail(`The prepared transaction "%s" has read what this transaction writes, or looked for it.`,
						m.by.gid).
					WithHint("The transaction might succeed if retried after that has ended.")
			}
		}
	}
	return nil
}

// guardReads keeps other transactions from writing where v has read, from before its validation
// until this transaction has ended.
func (c *Committer) guardReads(ctx context.Context, v *validation, h *logentry.Preparation) error {
	if c.t.reads == nil || !rule.T8Held {
		return nil
	}
	spans, err := c.readsToGuard(v)
	if len(spans) == 0 || err != nil {
		return err
	}
	h.Reads = spans
	g := &heldReads{id: c.t.id, gid: h.Request.GID, spans: spans, ended: make(chan struct{})}
	c.t.r.guards.add(g)
	if err = c.t.r.awaitWriters(ctx, g); err != nil {
		c.t.r.guards.drop(c.t.id)
	}
	return err
}

// readsToGuard returns the reads to be validated, and the rows that this transaction knows by locks
// which do not stay with the held transaction, because they are neither written nor pinned. The
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
		if _, written, err = c.t.stage.Get([]byte(l.Key()), c.t.stage.Mark()); err == nil && !written {
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

// awaitWriters waits a moment for the transactions that have staged a key which g has read, and
// must not fail with 40001 for it.
func (r *Replica) awaitWriters(ctx context.Context, g *heldReads) error {
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

// writerInto returns 40001 if another transaction has staged or holds a write to a key that g has
// read, and reports whether that may end soon. SERIALIZABLE transactions that do not commit yet are
// marked instead, and fail with 40001 later.
func (r *Replica) writerInto(g *heldReads) (soon bool, err error) {
	r.live.mu.Lock()
	txs := make([]*Tx, 0, len(r.live.txs))
	for id, t := range r.live.txs {
		if id != g.id {
			txs = append(txs, t)
		}
	}
	r.live.mu.Unlock()
	for _, t := range txs {
		if soon, err := t.overlaps(g); err != nil {
			return soon, err
		}
	}
	v := validation{spans: g.spans}
	r.txns.mu.RLock()
	defer r.txns.mu.RUnlock()
	for _, h := range r.txns.held {
		if h.id != g.id && v.touchedBy(h.locked) {
			return false, writtenBy(`the prepared transaction "%s"`, h.hold.Request.GID)
		}
	}
	return false, nil
}

// overlaps is writerInto for one transaction. A prepared one is left to the validation, which waits
// for it.
func (t *Tx) overlaps(g *heldReads) (soon bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.phase == phaseDone || t.phase == phasePrepared && !t.heldAs {
		return false, nil
	}
	touched, err := t.stagedWithin(g.spans)
	if !touched || err != nil {
		return false, err
	}
	if t.phase == phaseOpen && t.reads != nil {
		if !slices.ContainsFunc(t.overtaken, func(m metReads) bool { return m.by == g }) {
			t.overtaken = append(t.overtaken, metReads{by: g})
		}
		return false, nil
	}
	return !t.heldAs, writtenBy("transaction %d", t.id.XID())
}

func writtenBy(format string, args ...any) error {
	return pgerr.New(pgerr.SerializationFailure, readConflict).
		WithDetail("What this transaction has read, or looked for, is written by "+format+", which has not ended.",
			args...).
		WithHint("The transaction might succeed if retried.")
}
