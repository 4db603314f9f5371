package storage

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/sherddb/sherd/storage/codec"
	"github.com/sherddb/sherd/storage/counts"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/storage/owned"
	"github.com/sherddb/sherd/storage/ownership"
	"github.com/sherddb/sherd/txn"
)

// What entries of moves do to a replica. Package ownership has the state machine of the buckets.

func (m *machine) move(e logentry.MoveEntry) (result, error) {
	step := e.OfMove()
	s := m.s.own.Step(m.r.Owned.First(), step.Move, m.s.stamp, step.Ranges)
	m.effects.owners = true
	m.effects.changes = append(m.effects.changes, owned.Change{Kind: e.Kind(), Move: step.Move})
	switch e := e.(type) {
	case *logentry.Fence:
		return resultOf(s.Fence()), nil
	case *logentry.Unfence:
		out := s.Unfence()
		if out == ownership.Changed {
			// A fence that got no answer, and whose fate its proposer could not find out, is not
			// published any more (forgetPending).
			m.effects.changes = append(m.effects.changes, owned.Change{Kind: logentry.KindFence, Move: step.Move})
		}
		return resultOf(out), nil
	case *logentry.BeginIngest:
		left, out := s.BeginIngest(e.Generation)
		if out == ownership.Changed {
			m.dropReceipts(left)
			m.s.own.setReceipt(receipt{move: e.Move, since: e.Since})
		}
		return resultOf(out), m.cleanLeft(true, e.Globals, left)
	case *logentry.Own:
		return m.takeOwnership(e, s)
	case *logentry.MovedAway:
		out := s.MoveAway()
		if out != ownership.Changed {
			return resultOf(out), nil
		}
		m.effects.gone = append(m.effects.gone, e.Ranges...)
		return resDone, m.r.stats.Leave(e.Stats)
	case *logentry.Clean:
		left, out := s.Clean()
		return resultOf(out), m.cleanLeft(false, e.Globals, left)
	case *logentry.Abandon:
		receiptOf, out := s.Abandon()
		m.dropReceipts(receiptOf)
		return resultOf(out), m.cleanLeft(true, e.Globals, receiptOf)
	}
	return 0, fmt.Errorf("no effect is known of entries of kind %d", e.Kind())
}

func resultOf(o ownership.Outcome) result {
	if o == ownership.Void {
		return resVoid
	}
	return resDone
}

// dropReceipts drops what is recorded of the moves by which pieces were being received.
func (m *machine) dropReceipts(pieces []ownership.Piece) {
	for _, p := range pieces {
		if p.State == Receiving {
			m.s.own.dropReceipt(p.Move)
		}
	}
}

func (m *machine) takeOwnership(e *logentry.Own, s *ownership.Step) (result, error) {
	out := s.Own(e.Since)
	if out != ownership.Changed {
		return resultOf(out), nil
	}
	counted := m.s.own.receipt(e.Move).counted
	m.s.own.dropReceipt(e.Move)
	if err := m.r.stats.Apply(counted.Encode()); err != nil {
		return 0, err
	}
	m.r.left.Unknown(max(m.s.stamp, e.Since)) // what was ingested was deleted elsewhere
	return resDone, nil
}

// ingest writes versions as they were at the source. The entry says how many entries came before
// it, so the leader that counted its rows has seen all of those.
func (m *machine) ingest(e *logentry.Ingest) (result, error) {
	o := &m.s.own
	got := o.receipt(e.Move)
	if got == nil || got.entries != e.Before {
		return resVoid, nil
	}
	next := *got
	next.entries++
	next.deletes = next.deletes || e.Deletes
	counted, err := counts.DecodeDeltas(e.Stats)
	if err != nil {
		return 0, err
	}
	next.counted = next.counted.Plus(counted)
	o.receipts = slices.Clone(o.receipts)
	*o.receipt(e.Move) = next
	// local index entries have the same keys and versions in each generation of a bucket
	m.kvs.Again = true
	return resDone, logentry.EachIngested(e.Writes, func(at txn.Timestamp, op logentry.Op, key, value []byte) error {
		return m.kvs.Add(op, key, value, at)
	})
}

// ownState is what the log says of ownership; part of state.
type ownState struct {
	ownership.Machine
	receipts []receipt // of moves that are being received
}

// receipt records what has been ingested of a move. It is immutable.
type receipt struct {
	move    uint64
	entries uint64 // entries
	since   txn.Timestamp
	deletes bool          // there was a deletion among them
	counted counts.Deltas // statistics, which count from when the range is owned
}

func (o *ownState) receipt(move uint64) *receipt {
	for i := range o.receipts {
		if o.receipts[i].move == move {
			return &o.receipts[i]
		}
	}
	return nil
}

func (o *ownState) setReceipt(x receipt) {
	o.dropReceipt(x.move)
	o.receipts = append(o.receipts, x)
}

func (o *ownState) dropReceipt(move uint64) {
	o.receipts = slices.DeleteFunc(slices.Clone(o.receipts), func(x receipt) bool { return x.move == move })
}

// uncount removes the rows of a span that is deleted from the counts of what is being received.
func (o *ownState) uncount(span txn.Span) {
	o.receipts = slices.Clone(o.receipts)
	for i := range o.receipts {
		o.receipts[i].counted = o.receipts[i].counted.Without(span)
	}
}

// append appends the ownership to a checkpoint.
func (o *ownState) append(b []byte) []byte {
	b = o.Machine.Append(b)
	b = binary.AppendUvarint(b, uint64(len(o.receipts)))
	for i := range o.receipts {
		x := &o.receipts[i]
		b = binary.AppendUvarint(b, x.move)
		b = binary.AppendUvarint(b, x.entries)
		b = codec.AppendTimestamp(b, x.since)
		b = append(b, codec.Bool(x.deletes))
		b = codec.AppendBytes(b, x.counted.Encode())
	}
	return b
}

// readOwnState reads what append has appended.
func readOwnState(r *codec.Reader) (o ownState) {
	o.Machine = ownership.ReadMachine(r)
	n := r.Int()
	for i := 0; i < n && r.Err == nil; i++ {
		x := receipt{move: r.Uvarint(), entries: r.Uvarint(), since: r.Timestamp(), deletes: r.Byte() != 0}
		x.counted = counts.ReadDeltas(r)
		o.receipts = append(o.receipts, x)
	}
	return o
}
