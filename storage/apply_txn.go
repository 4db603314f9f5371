package storage

import (
	"fmt"
	"time"

	"github.com/sherddb/sherd/storage/codec"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/storage/keysummary"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/protocol"
	"github.com/sherddb/sherd/txn/rule"
)

func (m *machine) commit(e *logentry.Commit, index uint64) (result, error) {
	stamp := m.s.stamp
	if _, ok := m.s.recent[e.ID]; ok && rule.CommitOnce {
		return resDone, nil // a repeated commit applies once
	}
	o := m.s.open[e.ID]
	if got := o.count(); got != e.Parts {
		return resVoid, nil
	}
	if o != nil {
		delete(m.s.open, e.ID)
		m.effects.parts = append(m.effects.parts, e.ID)
		o.indexes = append(o.indexes, index)
		if err := o.keys.Add(e.Writes); err != nil {
			return 0, err
		}
		if err := m.installPieces(o, stamp, stamp); err != nil {
			return 0, err
		}
		e.Writes = nil
	}
	m.writers.add(e.ID, stamp)
	if err := m.remember(e.ID, stamp); err != nil {
		return 0, err
	}
	if err := m.r.stats.Apply(e.Stats); err != nil {
		return 0, err
	}
	return resDone, m.install(e.Writes, stamp)
}

func (o *openTxn) count() int {
	if o == nil {
		return 0
	}
	return o.parts
}

// installPieces writes an open transaction's rows, at the stamp of the entry that commits it, and
// forgets its pieces. Those of a large transaction are written later.
func (m *machine) installPieces(o *openTxn, at, version txn.Timestamp) error {
	if o.later() {
		m.installLater(o, at, version)
		return m.dropPreparation(o, at)
	}
	err := m.pieces.each(o, at, func(writes []byte) error {
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
	if len(ops) > 0 {
		m.r.cfg.Pace.CountCommit()
	}
	return logentry.EachOp(ops, func(op logentry.Op, key, value []byte) error {
		if !op.Writes() {
			return nil
		}
		return m.kvs.Add(op, key, value, version)
	})
}

func (m *machine) part(e *logentry.Part, index uint64) (result, error) {
	o := m.s.open[e.ID]
	if o.count() != e.Number || o != nil && (o.Prepared || o.preparation != nil) {
		return resVoid, nil
	}
	if o == nil {
		o = &openTxn{id: e.ID, since: time.Now(), keys: &keysummary.Summary{}}
		m.s.open[e.ID] = o
	}
	o.indexes = append(o.indexes, index)
	o.parts++
	if o.parts == 1 {
		m.effects.parts = append(m.effects.parts, e.ID)
	}
	m.r.fault("part.applied")
	return resDone, o.keys.Add(e.Writes)
}

// prepare need not look for an earlier abort: that one was stamped above its C, so T1 has rejected
// the entry.
func (m *machine) prepare(e *logentry.Prepare, index uint64) (result, error) {
	o := m.s.open[e.ID]
	if e.Again {
		if o == nil || o.preparation == nil && (!o.Prepared || o.attempt >= e.Attempt) {
			return resVoid, nil
		}
		// a prepared transaction may be old, but its coordinator is at work now
		o.Prepared, o.since = true, time.Now()
	} else {
		if o.count() != e.Parts || o != nil && (o.Prepared || o.preparation != nil) {
			return resVoid, nil
		}
		if o == nil {
			o = &openTxn{id: e.ID, since: time.Now(), writes: e.Writes}
			m.s.open[e.ID] = o
		} else if err := o.keys.Add(e.Writes); err != nil {
			return 0, err
		}
		o.indexes = append(o.indexes, index)
		o.stats = e.Stats
		o.Prepared = true
		m.effects.parts = append(m.effects.parts, e.ID)
	}
	o.C, o.coordinator, o.attempt, o.writers, o.Implicit = e.C, e.Coordinator, e.Attempt, e.Writers, e.Implicit
	m.effects.prepared = append(m.effects.prepared, o)
	return resDone, nil
}

// writer returns what the protocol asks of a transaction. A nil one is not prepared here.
func (o *openTxn) writer() protocol.Writer[txn.Timestamp] {
	if o == nil {
		return protocol.Writer[txn.Timestamp]{}
	}
	return o.Writer
}

// outcomes are the results of a decision, by what the protocol calls them.
var outcomes = [...]result{
	protocol.Unknown: resVoid, protocol.Committed: resCommitted, protocol.Aborted: resAborted,
}

// decide applies a decision of this coordinator fragment (T7). An abort is stamped above its C.
// known: its proposer knows that the attempt is not complete (protocol.Writer.Abort).
func (m *machine) decide(e *logentry.Decide, known bool) (result, error) {
	o, decided := m.s.open[e.ID], m.s.decided[e.ID] != nil
	if e.Outcome == txn.Committed {
		out, effect := o.writer().Commit(protocol.Build, decided, e.C)
		if effect != protocol.Install {
			return outcomes[out], nil
		}
		if o == nil { // in a build without T7Decide
			o = &openTxn{id: e.ID, Writer: protocol.Writer[txn.Timestamp]{Prepared: true, C: e.C}, writers: e.Writers}
		}
		return outcomes[out], m.commitOpen(o)
	}
	out, effect := o.writer().Abort(protocol.Build, decided, e.C, known)
	if effect != protocol.Drop {
		return outcomes[out], nil
	}
	return outcomes[out], m.abortOpen(o, e.C)
}

// abortOpen ends the attempt at C of a prepared transaction, and an open transaction as a whole. It
// does nothing if o is nil.
func (m *machine) abortOpen(o *openTxn, C txn.Timestamp) error {
	switch {
	case o == nil:
		return nil
	case o.preparation != nil:
		m.endCommitAttempt(o, C)
		return nil
	}
	m.endOpen(o)
	return m.dropPieces(o, m.s.stamp)
}

// commitOpen records this coordinator fragment's decision to commit, and makes the rows visible.
func (m *machine) commitOpen(o *openTxn) error {
	d := &decision{id: o.id, C: o.C, writers: o.writers, since: time.Now()}
	m.s.decided[o.id] = d
	m.effects.decided = append(m.effects.decided, d)
	stamp := m.s.stamp
	if err := m.kvs.Set(keyspace.IDRecord(keyspace.Decision, o.id), encodeDecision(d, false), stamp); err != nil {
		return err
	}
	return m.installOpen(o, stamp)
}

// resolve applies the decision of another coordinator fragment. If nothing of the transaction is
// here, it has been resolved before.
func (m *machine) resolve(id txn.ID, C txn.Timestamp, outcome txn.Outcome) (result, error) {
	o := m.s.open[id]
	if o == nil {
		return resDone, nil
	}
	effect, ok := o.Resolve(protocol.Build, outcome == txn.Committed, C)
	switch {
	case !ok:
		return resVoid, nil
	case effect == protocol.Install:
		return resDone, m.installOpen(o, m.s.stamp)
	}
	return resDone, m.abortOpen(o, C)
}

// installOpen writes a prepared transaction's rows at its C, by an entry stamped at.
func (m *machine) installOpen(o *openTxn, at txn.Timestamp) error {
	if err := m.installPieces(o, at, o.C); err != nil {
		return err
	}
	if o.Prepared && o.coordinator != m.r.cfg.Fragment {
		// the coordinator fragment has the record of its decision; other fragments keep
		// one too, in case the coordinator fragment cannot be reached
		if err := m.remember(o.id, o.C); err != nil {
			return err
		}
	}
	m.endOpen(o)
	m.writers.add(o.id, o.C)
	return m.r.stats.Apply(o.stats)
}

func (m *machine) endOpen(o *openTxn) {
	delete(m.s.open, o.id)
	m.effects.ended = append(m.effects.ended, o.id)
	if !o.Prepared {
		m.effects.parts = append(m.effects.parts, o.id)
	}
}

// forget drops decisions from memory. Their records stay for keepOutcome (T7), then the caller that
// lists them has them deleted.
func (m *machine) forget(resolved []txn.ID) error {
	stamp := m.s.stamp
	var ids []txn.ID
	for _, id := range resolved {
		d := m.s.decided[id]
		if d == nil {
			continue
		}
		delete(m.s.decided, id)
		m.effects.forgotten = append(m.effects.forgotten, id)
		ids = append(ids, id)
		if err := m.kvs.Set(keyspace.IDRecord(keyspace.Decision, id), encodeDecision(d, true), stamp); err != nil {
			return err
		}
	}
	if len(ids) == 0 {
		return nil
	}
	if err := m.kvs.Set(keyspace.StampRecord(keyspace.Forgotten, stamp), encodeForgotten(ids), stamp); err != nil {
		return err
	}
	return m.expire(keyspace.Forgotten, func(b []byte) error {
		ids, err := forgotten(b)
		for _, id := range ids {
			if err := m.kvs.Remove(keyspace.IDRecord(keyspace.Decision, id), stamp); err != nil {
				return err
			}
		}
		return err
	})
}

const forgotFormat = 1

// A record of kind keyspace.Forgotten: format(1), then 16 bytes for each id.
func encodeForgotten(ids []txn.ID) []byte {
	b := []byte{forgotFormat}
	for _, id := range ids {
		b = append(b, id[:]...)
	}
	return b
}

func forgotten(b []byte) (ids []txn.ID, err error) {
	if len(b) == 0 || b[0] != forgotFormat || (len(b)-1)%len(txn.ID{}) != 0 {
		return nil, fmt.Errorf("forgotten decisions of a format this release does not know: %w", codec.ErrMalformed)
	}
	for b = b[1:]; len(b) > 0; b = b[len(txn.ID{}):] {
		ids = append(ids, txn.ID(b[:len(txn.ID{})]))
	}
	return ids, nil
}
