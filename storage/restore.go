package storage

import (
	"errors"
	"fmt"
	"io"

	"github.com/hashicorp/raft"

	"github.com/sherddb/sherd/storage/codec"
	"github.com/sherddb/sherd/storage/engine"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/storage/keysummary"
	"github.com/sherddb/sherd/txn"
)

func (m *machine) restoreFrame(got *restored, b []byte) error {
	r := codec.Reader{B: b[1:]}
	switch frameKind(b[0]) {
	case frameKey:
		var x engine.Raw
		x.Deleted, x.Mark = r.Byte() != 0, r.Byte()
		x.At, x.Expires = r.Timestamp(), r.Uvarint()
		x.Key, x.Value = r.Bytes(), r.Bytes()
		if r.Err == nil {
			return m.kvs.Restore(x)
		}
	case frameOpen:
		id := r.ID()
		o := got.open[id]
		if o == nil {
			o = &openFrame{}
			got.open[id] = o
		}
		o.parts = r.Int()
		o.stats = r.Bytes()
		o.writes = append(o.writes, r.Rest())
	case frameStat:
		k, v := r.Bytes(), r.Bytes()
		if r.Err == nil && len(k) > 5 {
			return got.stats.Load(keyspace.RestOf(k), v)
		}
	case frameState:
		s, err := decodeCheckpoint(b[1:])
		got.state = s
		return err
	}
	if r.Err != nil {
		return fmt.Errorf("%w: frame of kind %d", errStream, b[0])
	}
	return nil
}

// adopt takes over what a stream has brought, and publishes it.
//
// covered is the index of the marker that came with the stream. The state contains the commands
// before the marker. Between the last of them and the marker there are only Raft's own entries,
// which the log of a replica that got a stream does not have.
func (m *machine) adopt(got *restored, covered uint64) error {
	got.state.index = max(got.state.index, covered)
	for _, x := range got.state.installing {
		// its rows are in the stream (freeze); earlier releases named the entries, which are not in
		// this log
		x.o.indexes = nil
	}
	if err := m.kvs.Flush(); err != nil {
		return err
	}
	for id, o := range got.state.open {
		if err := m.adoptOpen(o, got.open[id], got.state.stamp); err != nil {
			return fmt.Errorf("open transaction %s: %w", id, err)
		}
	}
	if err := m.kvs.Flush(); err != nil {
		return err
	}
	for _, o := range got.state.open {
		o.keys = &keysummary.Summary{}
		if err := m.pieces.each(o, got.state.stamp+1, o.keys.Add); err != nil {
			return err
		}
	}
	t := m.r.db.At(got.state.stamp)
	defer t.Close()
	if err := t.EachRecord(keyspace.Decision, got.state.loadDecision); err != nil {
		return err
	}
	if err := t.EachRecord(keyspace.Prepared, got.state.loadPreparation); err != nil {
		return err
	}
	before := m.s
	m.s = got.state
	clear(m.expired)
	if err := m.finishInstalls(); err != nil {
		m.s = before
		return err
	}
	m.r.stats.Replace(got.stats)
	m.r.unpublish()
	m.r.kept.Reset()
	m.r.publishAll(m.s)
	m.entries++ // something to write down
	if err := m.r.drops.takeOver(); err != nil {
		return err
	}
	return m.checkpoint()
}

// adoptOpen stores the writes of an open transaction under own keys, if a stream of this release
// contains them.
func (m *machine) adoptOpen(o *openTxn, from *openFrame, at txn.Timestamp) error {
	if from == nil {
		if len(o.indexes) > 0 {
			return fmt.Errorf("%w: there are no writes", errStream)
		}
		return nil
	}
	o.parts, o.stats, o.indexes = from.parts, from.stats, nil
	for _, w := range from.writes {
		err := cutPieces(w, func(piece []byte) error {
			o.own++
			return m.kvs.Set(keyspace.PieceKey(o.id, o.own-1), piece, at)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// unpublish forgets what readers know of the state that a stream replaces.
func (r *Replica) unpublish() {
	r.txns.mu.Lock()
	defer r.txns.mu.Unlock()
	r.txns.clear()
}

// Snapshot implements raft.FSM.
func (m *machine) Snapshot() (raft.FSMSnapshot, error) { return emptySnapshot{}, nil }

// Restore implements raft.FSM: it replaces this replica's database by a stream from the leader.
func (m *machine) Restore(rc io.ReadCloser) error {
	metas, err := m.r.snaps.List() // the newest came with the stream
	if err == nil && len(metas) == 0 {
		err = damaged("there is no marker of a stream")
	}
	if err != nil {
		return errors.Join(err, rc.Close())
	}
	return m.restoreAt(rc, metas[0].Index)
}

// restoreAt replaces the database by a stream that came with the marker of an index.
func (m *machine) restoreAt(rc io.ReadCloser, covered uint64) error {
	defer rc.Close()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.r.db.BeginReplacing()
	m.r.db.Discard(0)
	m.fresh.Store(true)
	err := m.restore(rc, covered)
	switch {
	case err == nil:
		m.r.db.Replaced()
	case errors.Is(err, engine.ErrHalted) && m.r.stopper.IsStopped():
		m.halted = err // the next start begins with the stream that was received
	}
	return err
}

type emptySnapshot struct{}

// Persist implements raft.FSMSnapshot.
func (emptySnapshot) Persist(sink raft.SnapshotSink) error { return nil }

// Release implements raft.FSMSnapshot.
func (emptySnapshot) Release() {}
