package storage

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/storage/codec"
	"github.com/sherddb/sherd/storage/engine"
	"github.com/sherddb/sherd/storage/guards"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/storage/proposer"
	"github.com/sherddb/sherd/storage/stopper"
	"github.com/sherddb/sherd/txn"
)

// Outcomes are kept for clients that lost an answer (40003). A commit over several fragments has a
// decision record in its coordinator fragment. One-fragment commits, and what the other writers
// have resolved, are written down many at a time, at an entry that the log alone determines, so
// that they cost next to nothing. The newest of them are in memory and in the checkpoint. Aborts
// leave no trace: a transaction that no fragment knows, and that is young enough to be known, took
// no effect.
const (
	// keepOutcome is how long outcomes are kept, in stamps: entries delete what is older. Badger's
	// own expiry would ask this node's wall clock, which may have jumped ahead, and a merge of
	// tables would discard the record then.
	keepOutcome  = 15 * time.Minute
	expireLists  = 4 // records that one entry deletes at most, so that none takes long
	outcomeBatch = 512

	outcomeFormat = 1
	outcomeLen    = len(txn.ID{}) + 8
)

// Outcomes decides, resolves and reports what became of transactions over several fragments, as the
// coordinator fragment and as a writer.
type Outcomes struct {
	cfg      *Config
	db       *engine.Engine
	proposer *proposer.Proposer
	log      logWriter
	txns     *transactions
	live     *liveTxs
	guards   *guards.Set
	machine  *machine
	rows     *rowReader
	stopper  *stopper.Stopper
	snapshot func(context.Context) (txn.Timestamp, error)

	forgets forgets
	queue   outcomeQueue
}

func newOutcomes(r *Replica) *Outcomes {
	return &Outcomes{
		cfg: &r.cfg, db: r.db, proposer: r.proposer, log: r.log, txns: &r.txns, live: &r.live, guards: &r.guards,
		machine: r.machine, rows: r.rows, stopper: r.stopper, snapshot: r.Snapshot,
	}
}

// remember records a commit, so that its entry applies once and its outcome can be queried.
func (m *machine) remember(id txn.ID, C txn.Timestamp) error {
	if m.s.remember(id, C); m.s.unsaved < outcomeBatch {
		return nil
	}
	ids := m.s.order[len(m.s.order)-m.s.unsaved:]
	m.s.unsaved = 0
	b := make([]byte, 1, 1+len(ids)*outcomeLen)
	b[0] = outcomeFormat
	for _, id := range ids {
		b = codec.AppendTimestamp(append(b, id[:]...), m.s.recent[id])
	}
	if err := m.kvs.Set(keyspace.StampRecord(keyspace.Outcomes, m.s.stamp), b, m.s.stamp); err != nil {
		return err
	}
	return m.expire(keyspace.Outcomes, nil)
}

// expire deletes the oldest records of a kind whose keys are stamps, if they are older than
// keepOutcome at the entry being applied. It calls fn, if not nil, with the value of each.
func (m *machine) expire(kind keyspace.Kind, fn func(value []byte) error) error {
	// when it is replayed, the entry finds what it found before
	t := m.r.db.At(m.s.stamp - 1)
	defer t.Close()
	c := t.Records(kind, keyspace.StampRecord(kind, m.expired[kind]))
	defer c.Close()
	end := keyspace.StampRecord(kind, m.s.stamp.Add(-keepOutcome))
	n := 0
	for ; c.Valid() && n < expireLists; c.Next() {
		item := c.Item()
		key := item.KeyCopy()
		if bytes.Compare(key, end) >= 0 {
			break
		}
		if fn != nil {
			if err := item.Stored(fn); err != nil {
				return err
			}
		}
		if err := m.kvs.Remove(key, m.s.stamp); err != nil {
			return err
		}
		m.expired[kind] = txn.Timestamp(binary.BigEndian.Uint64(keyspace.RestOf(key))) + 1
		n++
	}
	return nil
}

// findOutcome looks for id in an outcome record.
func findOutcome(b []byte, id txn.ID) (txn.Timestamp, bool, error) {
	if len(b) == 0 || b[0] != outcomeFormat || (len(b)-1)%outcomeLen != 0 {
		return 0, false, fmt.Errorf("outcomes of a format this release does not know: %w", codec.ErrMalformed)
	}
	for b = b[1:]; len(b) > 0; b = b[outcomeLen:] {
		if txn.ID(b[:16]) == id {
			return txn.Timestamp(binary.BigEndian.Uint64(b[16:outcomeLen])), true, nil
		}
	}
	return 0, false, nil
}

// KeptSince returns the time since which a fragment knows of every transaction that began then or
// later whether it committed there.
func KeptSince(now time.Time) time.Time { return now.Add(-keepOutcome + outcomeSlack) }

// outcomeSlack allows for clocks that differ, and for a commit that came long after its transaction
// began.
const outcomeSlack = time.Minute

// Query returns what this fragment knows of a transaction: that it committed, and when; that it is
// in progress; or nothing (Unknown). In the last case it has not committed here and will not,
// unless it is still in progress elsewhere, or is older than KeptSince.
func (r *Outcomes) Query(id txn.ID) (txn.Outcome, txn.Timestamp, error) {
	out, C, err := r.query(id)
	if err != nil || out == txn.Committed {
		return out, C, err
	}
	// An entry of the transaction may be on its way, perhaps proposed by an earlier leader. After
	// an entry of this term has been applied, there are none.
	if _, _, err := r.log.run((&logentry.ReadLease{}).Encode(), 0); err != nil {
		return txn.Unknown, 0, err
	}
	return r.query(id)
}

func (r *Outcomes) query(id txn.ID) (txn.Outcome, txn.Timestamp, error) {
	m := r.machine
	m.mu.Lock()
	C, committed := m.s.recent[id]
	o := m.s.open[id]
	m.mu.Unlock()
	if committed {
		return txn.Committed, C, nil
	}
	if C, committed, err := r.savedOutcome(id); err != nil || committed {
		return txn.Committed, C, err
	}
	buffered := r.live.find(id) != nil
	if buffered || o != nil && (o.Prepared || o.preparation != nil) {
		return txn.InProgress, 0, nil
	}
	return txn.Unknown, 0, nil
}

// savedOutcome looks for a commit among the records: decisions of this fragment as the coordinator,
// or one-fragment commits.
func (r *Outcomes) savedOutcome(id txn.ID) (C txn.Timestamp, ok bool, err error) {
	if C, ok, err = r.savedDecision(id); ok || err != nil {
		return C, ok, err
	}
	if !r.stopper.Begin() {
		return 0, false, proposer.ErrNotLeader
	}
	defer r.stopper.End()
	t := r.db.At(txn.MaxTimestamp)
	defer t.Close()
	// a record is stamped after the commits that it contains
	from := txn.FromTime(id.Began().Add(-outcomeSlack))
	c := t.Records(keyspace.Outcomes, keyspace.StampRecord(keyspace.Outcomes, from))
	defer c.Close()
	for ; c.Valid() && !ok; c.Next() {
		err := c.Item().Stored(func(v []byte) (err error) {
			C, ok, err = findOutcome(v, id)
			return err
		})
		if err != nil {
			return 0, false, pgerr.New(pgerr.DataCorrupted, "%v", err)
		}
	}
	return C, ok, nil
}

// savedDecision looks for the record of this fragment's decision to commit, as the coordinator.
func (r *Outcomes) savedDecision(id txn.ID) (C txn.Timestamp, ok bool, err error) {
	if !r.stopper.Begin() {
		return 0, false, proposer.ErrNotLeader
	}
	defer r.stopper.End()
	t := r.db.At(txn.MaxTimestamp)
	defer t.Close()
	v, _, err := t.Get(keyspace.IDRecord(keyspace.Decision, id))
	if v == nil || err != nil {
		return 0, false, err
	}
	d, _, err := decodeDecision(v)
	if err != nil {
		return 0, false, pgerr.New(pgerr.DataCorrupted, "could not read from the database: %v", err)
	}
	return d.C, true, nil
}

// Prepared returns what is known here of a transaction that is prepared here.
func (r *Outcomes) Prepared(id txn.ID) (d txn.Decision, coordinator txn.FragmentID, ok bool) {
	r.txns.mu.RLock()
	defer r.txns.mu.RUnlock()
	p := r.txns.prepared[id]
	if p == nil {
		return d, 0, false
	}
	return txn.Decision{ID: id, C: p.C, Writers: p.writers}, p.coordinator, true
}

// ImplicitCommit is Prepared for a transaction with an implicit commit: it is committed once all
// its writers have prepared as this one has.
func (r *Outcomes) ImplicitCommit(id txn.ID) (d txn.Decision, coordinator txn.FragmentID, ok bool) {
	r.txns.mu.RLock()
	defer r.txns.mu.RUnlock()
	p := r.txns.prepared[id]
	if p == nil || !p.Implicit {
		return d, 0, false
	}
	return txn.Decision{ID: id, C: p.C, Writers: p.writers}, p.coordinator, true
}

// Decide writes an operator's decision into this coordinator fragment's log and returns the
// decision that counts.
func (r *Outcomes) Decide(d txn.Decision) (txn.Outcome, error) {
	if _, _, implicit := r.ImplicitCommit(d.ID); implicit {
		return r.decideImplicit(d)
	}
	return r.decide(d)
}

// lastWriters remembers the transactions of the newest commits, for error texts. It is memory of
// this process: a restart forgets it.
type lastWriters struct {
	ring [1024]writer
	next int
}

type writer struct {
	C  txn.Timestamp
	id txn.ID
}

func (l *lastWriters) add(id txn.ID, C txn.Timestamp) {
	l.ring[l.next] = writer{C, id}
	l.next = (l.next + 1) % len(l.ring)
}

// writerAt returns the transaction that committed at C, the zero ID if that is not known any more.
func (r *Replica) writerAt(C txn.Timestamp) txn.ID {
	r.machine.mu.Lock()
	defer r.machine.mu.Unlock()
	for _, w := range r.machine.writers.ring {
		if w.C == C {
			return w.id
		}
	}
	return txn.ID{}
}

// unanswered adds to the error of a lost answer the transaction that it is about.
func unanswered(err error, id txn.ID) error {
	if !pgerr.Is(err, pgerr.StatementCompletionUnknown) {
		return err
	}
	return txn.Unanswered(id, err)
}
