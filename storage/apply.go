package storage

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/sherddb/sherd/raftgroup"
	"github.com/sherddb/sherd/storage/engine"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/storage/owned"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/rule"
)

// result is what applying an entry returns to its proposer.
type result byte

const (
	resDone      result = iota
	resRejected         // T1: its stamp is not above all before it; nothing happened
	resVoid             // what it names does not exist here; nothing happened
	resCommitted        // decide
	resAborted          // decide, dropPrepared
	resTaken            // prepareTransaction: another transaction has the name
	resUnknown          // the replica closes, and the entry is applied at the next start
)

// A checkpoint is written after so many bytes or entries were applied. This bounds what a restart
// applies again in addition to the memtables.
const (
	checkpointBytes   = 1 << 20
	checkpointEntries = 2048
)

// machine applies the log to Badger. It is the group's raft.BatchingFSM: its methods run on one
// goroutine.
type machine struct {
	r       *Replica
	mu      sync.Mutex    // held while a batch is applied; a stream takes the state between two
	fresh   atomic.Bool   // nothing was applied since a stream was restored
	visible atomic.Uint64 // applied without prepares, for a build without rule.T6Prepared
	s       *state
	pieces  pieceReader // reads what the log has of transactions again
	kvs     engine.Batch
	effects effects
	writers lastWriters
	many    []result                        // of an entry with several answers
	expired map[keyspace.Kind]txn.Timestamp // by kind of record: those before are deleted (expire)
	// set if a batch was not written: nothing more is applied, and the replica closes
	halted  error
	bytes   int // applied since the last checkpoint
	entries int
}

// effects are what a batch changes for readers and waiters. They take effect after its keys are in
// Badger.
type effects struct {
	prepared []*openTxn
	// resolved or decided: visible now unless the rows are being installed; locks released
	ended        []txn.ID
	installing   []*lateRows
	preparations []*openTxn
	unprepared   []txn.ID // prepared by name again
	parts        []txn.ID // parts came, or are no longer alone
	decided      []*decision
	forgotten    []txn.ID
	drops        []dropJob
	owners       bool           // ownership has changed
	changes      []owned.Change // of moves that were applied, or were void
	gone         []BucketRange  // to another fragment
}

// empty reports whether the batch changed nothing but rows.
func (e *effects) empty() bool {
	return len(e.prepared)+len(e.ended)+len(e.parts)+len(e.decided)+
		len(e.forgotten)+len(e.preparations)+len(e.unprepared)+len(e.installing) == 0
}

// Apply implements raft.FSM.
func (m *machine) Apply(l *raft.Log) any {
	return m.ApplyBatch([]*raft.Log{l})[0]
}

// ApplyBatch implements raft.BatchingFSM. An entry that cannot be applied, because it is damaged or
// a newer release wrote it, stops the process: otherwise the replica would differ from its log. If
// the replica closes while its disk has no room, the batch and all later ones are left to the next
// start.
func (m *machine) ApplyBatch(logs []*raft.Log) []any {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fresh.Store(false)
	out := make([]any, len(logs))
	m.r.fault("apply.begin")
	for i, l := range logs {
		m.r.kept.Logged(len(l.Data))
		if m.halted != nil || l.Type != raft.LogCommand || l.Index <= m.s.index {
			continue // the latter: applied already by recovery, before Raft started
		}
		res, err := m.applyIn(l)
		if !halts(m, err) && err != nil {
			panic(fmt.Sprintf("fragment %d: cannot apply log entry %d: %v", m.r.cfg.Fragment, l.Index, err))
		}
		if out[i] = res; m.many != nil {
			out[i], m.many = m.many, nil
		}
	}
	if m.halted == nil {
		if err := m.finish(); !halts(m, err) && err != nil {
			panic(fmt.Sprintf("fragment %d: cannot write to the database: %v", m.r.cfg.Fragment, err))
		}
	}
	if m.halted != nil {
		for i := range out {
			out[i] = resUnknown
		}
	}
	return out
}

// halts reports whether err says that nothing is applied any more, and remembers it.
func halts(m *machine, err error) bool {
	if errors.Is(err, engine.ErrHalted) {
		m.halted = err
		return true
	}
	return false
}

// applyIn refuses an entry that was proposed in an earlier term than the term of its place in the
// log: the write buffer ended with the earlier term, even if the same server leads again.
func (m *machine) applyIn(l *raft.Log) (result, error) {
	term, err := raftgroup.TermOf(l)
	if err != nil {
		return 0, err
	}
	if term != 0 && term != l.Term && rule.BufferTerm {
		m.s.index = l.Index
		m.entries++
		return resRejected, nil
	}
	return m.applyEntry(l.Index, l.Data)
}

// finish makes a batch durable in Badger's sense and visible, and writes a checkpoint now and then.
func (m *machine) finish() error {
	m.r.fault("apply.write")
	if err := m.kvs.Flush(); err != nil {
		return err
	}
	m.r.fault("apply.written")
	m.r.publish(m.s, &m.effects)
	m.effects = effects{}
	if due := m.bytes >= checkpointBytes || m.entries >= checkpointEntries; due && m.r.db.MayWrite(&m.kvs) {
		return m.checkpoint()
	}
	return nil // without room the checkpoint can wait: reads need what was applied
}

// checkpoint writes the state at the stamp of the last entry, and after it, in a write of its own,
// the key "applied" (S2): memtables are flushed in order, so once that key is in a table, so is
// everything before it.
func (m *machine) checkpoint() error {
	if m.halted != nil || m.entries == 0 {
		return m.halted
	}
	at := m.s.stamp
	for _, o := range m.s.open {
		if len(o.indexes) > 0 && (o.preparation != nil || time.Since(o.since) > keepInLog) {
			if err := m.takeOver(o, m.s.stamp); err != nil {
				return err
			}
		}
	}
	err := m.r.stats.Checkpoint(func(k, v []byte) error {
		if v == nil {
			return m.kvs.Remove(k, at)
		}
		return m.kvs.Set(k, v, at)
	})
	if err != nil {
		return err
	}
	if err := m.kvs.Flush(); err != nil {
		return err
	}
	m.r.fault("checkpoint.before")
	record, again := m.s.encode()
	if err := m.kvs.Set(keyspace.Record(keyspace.Checkpoint), record, at); err != nil {
		return err
	}
	if err := m.kvs.Flush(); err != nil {
		return err
	}
	m.r.fault("checkpoint.after")
	m.bytes, m.entries = 0, 0
	m.r.kept.Note(m.s.mark(again))
	return nil
}

func (m *machine) applyEntry(index uint64, data []byte) (result, error) {
	e, err := logentry.Decode(data)
	if err != nil {
		return 0, err
	}
	s, stamp := m.s, logentry.Stamp(data)
	s.index = index
	m.bytes += len(data)
	m.entries++
	if stamp <= s.stamp && rule.T1Order {
		return resRejected, nil // T1
	}
	s.stamp = stamp
	if len(s.installing) > 0 {
		if err := m.collectInstalled(stamp); err != nil {
			return 0, err
		}
	}
	if _, prepares := e.(*logentry.Prepare); !prepares {
		s.visible = stamp
	}
	return m.effect(e, index)
}

// effect applies a decoded entry. Its stamp is the state's.
func (m *machine) effect(e logentry.Entry, index uint64) (result, error) {
	s := m.s
	switch e := e.(type) {
	case *logentry.ReadLease:
		s.lease = max(s.lease, e.Until)
	case *logentry.Commit:
		return m.commit(e, index)
	case *logentry.Part:
		return m.part(e, index)
	case *logentry.Prepare:
		return m.prepare(e, index)
	case *logentry.BarPrepare:
		return m.bar(e), nil
	case *logentry.Outcomes:
		return m.resolveAll(e.List)
	case *logentry.Decide:
		return m.decide(e, false)
	case *logentry.Resolve:
		return m.resolve(e.ID, e.C, e.Outcome)
	case *logentry.Forget:
		return resDone, m.forget(e.IDs)
	case *logentry.Watermark:
		if e.Tidy {
			// The previous watermark is used: a reader that was admitted below it notices that it
			// is too old.
			s.own.List = s.own.List.Tidied(s.watermark)
			m.effects.owners = true
		}
		s.watermark = max(s.watermark, e.At)
	case *logentry.DropSpan:
		return resDone, m.dropSpan(e.Span)
	case *logentry.Sweep:
		return m.sweep(e)
	case *logentry.PrepareTransaction:
		return m.prepareTransaction(e, index)
	case *logentry.CompletePreparation:
		return m.completePreparation(e.ID)
	case *logentry.CommitPrepared:
		return m.commitPrepared(e.ID)
	case *logentry.DropPrepared:
		return m.dropPrepared(e)
	case *logentry.Ingest:
		return m.ingest(e)
	case logentry.MoveEntry:
		return m.move(e)
	default:
		return 0, fmt.Errorf("no effect is known of entries of kind %d", e.Kind())
	}
	return resDone, nil
}
