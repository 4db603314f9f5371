package storage

import (
	"fmt"
	"slices"

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
		received, out := s.Abandon()
		m.dropReceipts(received)
		return resultOf(out), m.cleanLeft(true, e.Globals, received)
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
	if got == nil || got.carries != e.Before {
		return resVoid, nil
	}
	next := *got
	next.carries++
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
