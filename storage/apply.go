package storage

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
	"github.com/sherddb/sherd/raftgroup"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/rule"
)

// result is what applying an entry gives its proposer.
type result byte

const (
	resDone      result = iota
	resRejected         // T1: its stamp is not above all before it; nothing happened
	resVoid             // what it speaks of is not there; nothing happened
	resCommitted        // decide
	resAborted          // decide, unhold
	resTaken            // hold: another transaction has the name
)

// A checkpoint is written after that much was applied: it bounds what a restart applies again beyond the memtables.
const (
	checkpointBytes   = 1 << 20
	checkpointEntries = 2048
)

// machine applies the log to Badger. It is the group's raft.BatchingFSM: its methods run on one goroutine.
type machine struct {
	r       *Replica
	mu      sync.Mutex  // held while a batch is applied; a stream takes the state between two
	fresh   atomic.Bool // nothing was applied since a stream was restored
	s       *state
	log     raft.LogStore // from which pieces are read again
	kvs     kvBatch
	effects effects
	writers lastWriters
	many    []result // of an entry with several answers
	bytes   int      // applied since the last checkpoint
	entries int
}

// effects are what a batch changes for readers and waiters; they take effect after its keys are in Badger.
type effects struct {
	prepared   []*openTxn
	settled    []txn.ID // resolved or decided: visible now, but for what is installing; locks released
	installing []*install
	held       []*openTxn
	unprepared []txn.ID // held again
	parts      []txn.ID // parts came, or are no longer alone
	decided    []*decision
	forgotten  []txn.ID
	drops      []dropJob
	owners     bool          // ownership has changed
	changes    []changeOf    // of moves that were applied, or were void
	gone       []BucketRange // to another fragment
}

// empty tells whether the batch changed nothing but rows.
func (e *effects) empty() bool {
	return len(e.prepared)+len(e.settled)+len(e.parts)+len(e.decided)+len(e.forgotten)+len(e.held)+len(e.unprepared)+len(e.installing) == 0
}

// Apply implements raft.FSM.
func (m *machine) Apply(l *raft.Log) any {
	return m.ApplyBatch([]*raft.Log{l})[0]
}

// ApplyBatch implements raft.BatchingFSM. An entry that cannot be applied (damage, or a newer release wrote it) stops the
// process: to go on would let the replica differ from its log.
func (m *machine) ApplyBatch(logs []*raft.Log) []any {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fresh.Store(false)
	out := make([]any, len(logs))
	m.r.fault("apply.begin")
	for i, l := range logs {
		m.r.logged.Add(int64(len(l.Data)))
		if l.Type != raft.LogCommand || l.Index <= m.s.index {
			continue // the latter: applied already by recovery, before Raft started
		}
		res, err := m.applyIn(l)
		if err != nil {
			panic(fmt.Sprintf("fragment %d: cannot apply log entry %d: %v", m.r.cfg.Fragment, l.Index, err))
		}
		if out[i] = res; m.many != nil {
			out[i], m.many = m.many, nil
		}
	}
	if err := m.finish(); err != nil {
		panic(fmt.Sprintf("fragment %d: cannot write to the database: %v", m.r.cfg.Fragment, err))
	}
	return out
}

// applyIn refuses an entry that was given in an earlier term than the log has it in: its stage is lost, whoever leads (DESIGN 5, Stages).
func (m *machine) applyIn(l *raft.Log) (result, error) {
	term, err := raftgroup.TermOf(l)
	if err != nil {
		return 0, err
	}
	if term != 0 && term != l.Term && rule.StageTerm {
		m.s.index = l.Index
		m.entries++
		return resRejected, nil
	}
	return m.applyEntry(l.Index, l.Data)
}

// finish makes a batch durable in Badger's sense and visible, and writes a checkpoint now and then.
func (m *machine) finish() error {
	m.r.fault("apply.write")
	if err := m.kvs.flush(); err != nil {
		return err
	}
	m.r.fault("apply.written")
	m.r.publish(m.s, &m.effects)
	m.effects = effects{}
	if m.bytes >= checkpointBytes || m.entries >= checkpointEntries {
		return m.checkpoint()
	}
	return nil
}

// checkpoint writes the state at the stamp of the last entry, and after it, in a write of its own, the key "applied" (S2):
// memtables are flushed in order, so once that key is in a table, so is everything before it.
func (m *machine) checkpoint() error {
	if m.entries == 0 {
		return nil
	}
	at := uint64(m.s.stamp)
	for _, o := range m.s.open {
		if len(o.indexes) > 0 && (o.hold != nil || time.Since(o.since) > keepInLog) {
			if err := m.takeOver(o, m.s.stamp); err != nil {
				return err
			}
		}
	}
	err := m.r.stats.checkpoint(func(k, v []byte) error { return m.kvs.add(opPut, k, v, at) })
	if err != nil {
		return err
	}
	if err := m.kvs.flush(); err != nil {
		return err
	}
	m.r.fault("checkpoint.before")
	if err := m.kvs.add(opPut, ownKey(ownApplied), m.s.encode(), at); err != nil {
		return err
	}
	if err := m.kvs.flush(); err != nil {
		return err
	}
	m.r.fault("checkpoint.after")
	m.bytes, m.entries = 0, 0
	m.r.durable.note(m.s)
	return nil
}

func (m *machine) applyEntry(index uint64, data []byte) (result, error) {
	e, err := decodeEntry(data)
	if err != nil {
		return 0, err
	}
	s := m.s
	s.index = index
	m.bytes += len(data)
	m.entries++
	if e.stamp <= s.stamp && rule.T1Order {
		return resRejected, nil // T1
	}
	s.stamp = e.stamp
	if len(s.installing) > 0 {
		if err := m.collectInstalled(e.stamp); err != nil {
			return 0, err
		}
	}
	if e.kind != kindPrepare && e.kind != kindPrepareAll {
		s.visible = e.stamp
	}
	switch e.kind {
	case kindCeiling:
		s.ceiling = max(s.ceiling, e.ts)
	case kindCommit:
		return m.commit(e, index)
	case kindPart:
		m.r.cfg.Pace.worked()
		return m.part(e, index)
	case kindPrepare, kindPrepareAll:
		return m.prepare(e, index)
	case kindBar:
		return m.bar(e), nil
	case kindSettle:
		return m.settleAll(e)
	case kindDecide:
		return m.decide(e)
	case kindResolve:
		return m.resolve(e)
	case kindForget:
		return resDone, m.forget(e)
	case kindGC:
		if e.tidy {
			// By the watermark before: whoever was let in below it sees that it is too old, while this one is not shown yet.
			s.own.list = tidied(s.own.list, s.watermark)
			m.effects.owners = true
		}
		s.watermark = max(s.watermark, e.ts)
	case kindDropSpan:
		return resDone, m.dropSpan(e)
	case kindHold:
		return m.hold(e, index)
	case kindHoldComplete:
		return m.holdComplete(e)
	case kindCommitHeld:
		return m.commitHeld(e)
	case kindUnhold:
		return m.unhold(e)
	default:
		return m.move(e)
	}
	return resDone, nil
}

func (m *machine) commit(e *entry, index uint64) (result, error) {
	if _, ok := m.s.recent[e.id]; ok && rule.CommitOnce {
		return resDone, nil // a repeated commit applies once
	}
	o := m.s.open[e.id]
	if got := o.count(); got != e.parts {
		return resVoid, nil
	}
	if o != nil {
		delete(m.s.open, e.id)
		m.effects.parts = append(m.effects.parts, e.id)
		o.indexes = append(o.indexes, index)
		if err := o.keys.add(e.writes); err != nil {
			return 0, err
		}
		if err := m.installPieces(o, e.stamp, e.stamp); err != nil {
			return 0, err
		}
		e.writes = nil
	}
	m.writers.add(e.id, e.stamp)
	if err := m.remember(e.id, e.stamp); err != nil {
		return 0, err
	}
	if err := m.r.stats.apply(e.stats); err != nil {
		return 0, err
	}
	return resDone, m.install(e.writes, e.stamp)
}

func (o *openTxn) count() int {
	if o == nil {
		return 0
	}
	return o.parts
}

// installPieces writes an open transaction's rows, at the stamp of the entry that commits it, and forgets its pieces; of a large one, soon.
func (m *machine) installPieces(o *openTxn, at, version txn.Timestamp) error {
	if o.later() {
		m.installLater(o, at, version)
		return m.dropHold(o, at)
	}
	err := m.eachPiece(o, at, func(writes []byte) error {
		m.r.fault("install.piece")
		m.bytes += len(writes)
		return m.install(writes, version)
	})
	if err != nil {
		return err
	}
	return m.dropPieces(o, at)
}

func (m *machine) install(ops []byte, version txn.Timestamp) error {
	return eachOp(ops, func(op opKind, key, value []byte) error {
		if !op.writes() {
			return nil
		}
		return m.kvs.add(op, key, value, uint64(version))
	})
}

func (m *machine) part(e *entry, index uint64) (result, error) {
	o := m.s.open[e.id]
	if o.count() != e.parts || o != nil && (o.prepared || o.hold != nil) {
		return resVoid, nil
	}
	if o == nil {
		o = &openTxn{id: e.id, since: time.Now(), keys: &keySummary{}}
		m.s.open[e.id] = o
	}
	o.indexes = append(o.indexes, index)
	o.parts++
	if o.parts == 1 {
		m.effects.parts = append(m.effects.parts, e.id)
	}
	m.r.fault("part.applied")
	return resDone, o.keys.add(e.writes)
}

// prepare needs no look for an earlier abort: that was stamped above its C, so T1 has rejected the entry.
func (m *machine) prepare(e *entry, index uint64) (result, error) {
	o := m.s.open[e.id]
	if e.again {
		if o == nil || !o.prepared && o.hold == nil || o.prepared && o.attempt >= e.attempt && o.hold == nil {
			return resVoid, nil
		}
		o.prepared, o.since = true, time.Now() // a held one may be from long ago, and its coordinator is at work now
	} else {
		if o.count() != e.parts || o != nil && (o.prepared || o.hold != nil) {
			return resVoid, nil
		}
		if o == nil {
			o = &openTxn{id: e.id, since: time.Now(), writes: e.writes}
			m.s.open[e.id] = o
		} else if err := o.keys.add(e.writes); err != nil {
			return 0, err
		}
		o.indexes = append(o.indexes, index)
		o.stats = e.stats
		o.prepared = true
		m.effects.parts = append(m.effects.parts, e.id)
	}
	o.C, o.anchor, o.attempt, o.writers, o.implied = e.ts, e.anchor, e.attempt, e.writers, e.kind == kindPrepareAll
	m.effects.prepared = append(m.effects.prepared, o)
	return resDone, nil
}

// decide: the first decision in the anchor's log counts (T7). One that finds neither a decision nor the prepared record is
// answered as void, from which nothing may be concluded; an abort then is a fact all the same, because its stamp is above C.
//
// An abort by who has asked nobody else does not count where commit may be implied: implied.go has those that do.
func (m *machine) decide(e *entry) (result, error) {
	if d := m.s.decided[e.id]; d != nil {
		return resCommitted, nil
	}
	o := m.s.open[e.id]
	if e.outcome != txn.Committed {
		if o != nil && o.prepared && o.implied && rule.T7Implied {
			return resVoid, nil
		}
		return resAborted, m.abortOpen(o, e)
	}
	return m.decideCommit(e)
}

// abortOpen ends what is open of a transaction, nil if nothing is. A held one is held as before.
func (m *machine) abortOpen(o *openTxn, e *entry) error {
	switch {
	case o == nil:
		return nil
	case o.hold != nil:
		m.backToHold(o, e.ts)
		return nil
	}
	m.settle(o)
	return m.dropPieces(o, e.stamp)
}

func (m *machine) decideCommit(e *entry) (result, error) {
	o := m.s.open[e.id]
	if o == nil && !rule.T7Decide {
		o = &openTxn{id: e.id, prepared: true, C: e.ts, writers: e.writers}
	}
	if o == nil || !o.prepared || o.C != e.ts {
		return resVoid, nil
	}
	d := &decision{id: e.id, C: o.C, writers: o.writers, since: time.Now()}
	m.s.decided[e.id] = d
	m.effects.decided = append(m.effects.decided, d)
	if err := m.kvs.add(opPut, ownKey(ownDecision, e.id[:]...), encodeDecision(d, false), uint64(e.stamp)); err != nil {
		return 0, err
	}
	return resCommitted, m.installOpen(o, e.stamp)
}

func (m *machine) resolve(e *entry) (result, error) {
	o := m.s.open[e.id]
	if o == nil {
		return resDone, nil
	}
	if e.outcome != txn.Committed {
		if o.prepared && o.C > e.ts && rule.T7Attempt {
			return resVoid, nil // a later attempt: its outcome is another question
		}
		return resDone, m.abortOpen(o, e)
	}
	if !o.prepared || o.C != e.ts {
		return resVoid, nil
	}
	return resDone, m.installOpen(o, e.stamp)
}

// installOpen writes a prepared transaction's rows at its C, by an entry stamped at.
func (m *machine) installOpen(o *openTxn, at txn.Timestamp) error {
	if err := m.installPieces(o, at, o.C); err != nil {
		return err
	}
	if o.prepared && o.anchor != m.r.cfg.Fragment { // the anchor has its decision's record; the others remember too, for when it is out of reach
		if err := m.remember(o.id, o.C); err != nil {
			return err
		}
	}
	m.settle(o)
	m.writers.add(o.id, o.C)
	return m.r.stats.apply(o.stats)
}

func (m *machine) settle(o *openTxn) {
	delete(m.s.open, o.id)
	m.effects.settled = append(m.effects.settled, o.id)
	if !o.prepared {
		m.effects.parts = append(m.effects.parts, o.id)
	}
}

// forget drops a decision from memory, and lets its record expire.
func (m *machine) forget(e *entry) error {
	for _, id := range e.ids {
		d := m.s.decided[id]
		if d == nil {
			continue
		}
		delete(m.s.decided, id)
		m.effects.forgotten = append(m.effects.forgotten, id)
		x := kv{key: ownKey(ownDecision, id[:]...), value: encodeDecision(d, true), version: uint64(e.stamp), op: opPut}
		x.expires = uint64(e.stamp.Add(keepOutcome).Time().Unix())
		if err := m.kvs.put(x); err != nil {
			return err
		}
	}
	return nil
}
