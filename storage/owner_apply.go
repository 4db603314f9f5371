package storage

import (
	"fmt"
	"slices"

	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/rule"
)

// Ownership by the log (C1). An entry of a move counts for all of its ranges or for none; what it finds done already is done. Numbers of moves rise,
// and each range keeps the last: entries of older moves, late or doubled, are void.

// firstState is what buckets are that keys are hashed to, and of which the log says nothing; see unsaid.
func (r *Replica) firstState() OwnState {
	if r.cfg.Added {
		return NotOwned
	}
	return Owned
}

// stepPieces is what ownership says of the ranges of a step, piece by piece, before its entry is applied.
type stepPieces struct {
	*logentry.Step
	list []ownRange
}

func (s *stepPieces) all(ok func(p *ownRange) bool) bool {
	for i := range s.list {
		if !ok(&s.list[i]) {
			return false
		}
	}
	return true
}

// are reports whether all pieces are in a state by this move.
func (s *stepPieces) are(state OwnState) bool {
	return s.all(func(p *ownRange) bool { return s.is(p, state) })
}

func (s *stepPieces) is(p *ownRange, state OwnState) bool {
	return p.State == state && p.Move == s.Move
}

func (s *stepPieces) older(p *ownRange) bool { return p.Move < s.Move || !rule.MoveNumber }

func (m *machine) move(e logentry.MoveEntry) (result, error) {
	step := e.OfMove()
	s := &stepPieces{step, piecesOf(m.s.own.list, step.Ranges, m.r.firstState())}
	m.effects.owners = true
	m.effects.changes = append(m.effects.changes, changeOf{e.Kind(), step.Move})
	switch e := e.(type) {
	case *logentry.Fence:
		return m.fence(s), nil
	case *logentry.Unfence:
		return m.unfence(s), nil
	case *logentry.BeginIngest:
		return m.beginIngest(e, s)
	case *logentry.Own:
		return m.takeOwnership(e, s)
	case *logentry.MovedAway:
		return m.moveAway(e, s)
	case *logentry.Clean:
		if !s.are(Gone) {
			return resVoid, nil
		}
		if err := m.cleanLeft(false, e.Globals, s.list); err != nil {
			return 0, err
		}
		m.setPieces(s, func(p *ownRange) { p.left = false })
		return resDone, nil
	case *logentry.Abandon:
		return m.abandon(e, s)
	}
	return 0, fmt.Errorf("no effect is known of entries of kind %d", e.Kind())
}

func (m *machine) fence(s *stepPieces) result {
	if s.are(Fenced) {
		return resDone
	}
	if !s.all(func(p *ownRange) bool { return p.State == Owned && s.older(p) }) {
		return resVoid
	}
	m.setPieces(s, func(p *ownRange) { p.State, p.F = Fenced, m.s.stamp })
	return resDone
}

func (m *machine) unfence(s *stepPieces) result {
	// What is owned takes the number too, so that a fence of this move that is still on its way is void.
	if !s.all(func(p *ownRange) bool { return s.is(p, Fenced) || p.State == Owned && p.Move <= s.Move }) {
		return resVoid
	}
	// Such a fence is shown no more, where it had no answer and whoever proposed it could not find out (forgetPending).
	m.effects.changes = append(m.effects.changes, changeOf{logentry.KindFence, s.Move})
	m.setPieces(s, func(p *ownRange) { p.State, p.F = Owned, 0 })
	return resDone
}

func (m *machine) takeOwnership(e *logentry.Own, s *stepPieces) (result, error) {
	if s.are(Owned) {
		return resDone, nil
	}
	if !s.are(Receiving) {
		return resVoid, nil
	}
	counted := m.s.own.receipt(e.Move).counted
	m.s.own.dropReceipt(e.Move)
	if err := m.r.stats.apply(counted.encode()); err != nil {
		return 0, err
	}
	m.r.moves.unknown(max(m.s.stamp, e.Since)) // what was carried was deleted elsewhere
	m.setPieces(s, func(p *ownRange) { p.State, p.Since, p.F, p.edge = Owned, e.Since, 0, m.s.stamp })
	return resDone, nil
}

func (m *machine) moveAway(e *logentry.MovedAway, s *stepPieces) (result, error) {
	if s.are(Gone) {
		return resDone, nil
	}
	if !s.are(Fenced) {
		return resVoid, nil
	}
	if err := m.r.stats.leave(e.Stats); err != nil {
		return 0, err
	}
	m.effects.gone = append(m.effects.gone, e.Ranges...)
	m.setPieces(s, func(p *ownRange) { p.State, p.left, p.edge = Gone, true, m.s.stamp })
	return resDone, nil
}

// setPieces changes the pieces of a step, which then have its number.
func (m *machine) setPieces(s *stepPieces, change func(p *ownRange)) {
	for i := range s.list {
		change(&s.list[i])
		s.list[i].Move = s.Move
	}
	m.s.own.list = with(m.s.own.list, s.list)
}

// receivable tells whether a piece may be received. A fragment of the first hour believes that it owns what was never moved, whether it does or
// not; the proposer has looked that there is nothing.
func (m *machine) receivable(p *ownRange) bool {
	return p.State == NotOwned || p.State == Gone || p.State == Receiving || p.State == Owned && p.Move == 0 && p.Arrival == 0
}

// beginIngest begins a new bucket generation. What an earlier one or an undone copy has left is deleted.
func (m *machine) beginIngest(e *logentry.BeginIngest, s *stepPieces) (result, error) {
	if s.are(Receiving) {
		return resDone, nil
	}
	if !s.all(func(p *ownRange) bool { return m.receivable(p) && s.older(p) }) {
		return resVoid, nil
	}
	if e.Generation != 0 && !s.all(func(p *ownRange) bool { return p.Arrival < e.Generation }) {
		return resVoid, nil // another one came between
	}
	o := &m.s.own
	for i := range s.list {
		if p := &s.list[i]; p.State == Receiving {
			p.left = true
			o.dropReceipt(p.Move)
		}
	}
	if err := m.cleanLeft(true, e.Globals, s.list); err != nil {
		return 0, err
	}
	generation := e.Generation
	if generation == 0 || !rule.MoveArrival {
		if rule.MoveArrival || o.arrivals == 0 {
			o.arrivals++
		}
		generation = o.arrivals
	}
	o.arrivals = max(o.arrivals, generation)
	o.setReceipt(receipt{move: e.Move, since: e.Since})
	m.setPieces(s, func(p *ownRange) {
		p.State, p.Arrival, p.F, p.Since, p.left, p.edge = Receiving, generation, 0, 0, false, 0
	})
	return resDone, nil
}

// abandon undoes a BeginIngest, or bars one that is on its way.
func (m *machine) abandon(e *logentry.Abandon, s *stepPieces) (result, error) {
	if !s.all(func(p *ownRange) bool { return p.Move <= e.Move && m.receivable(p) }) {
		return resVoid, nil
	}
	var received []ownRange
	for i := range s.list {
		if p := &s.list[i]; p.State == Receiving {
			p.left = true
			m.s.own.dropReceipt(p.Move)
			received = append(received, *p)
		}
	}
	if err := m.cleanLeft(true, e.Globals, received); err != nil {
		return 0, err
	}
	m.setPieces(s, func(p *ownRange) {
		if p.State == Receiving || p.State == Owned {
			p.State, p.left = Gone, false
		}
	})
	return resDone, nil
}

// ingest writes versions as they were at the source. The entry says how many came before it: whoever has counted its rows has seen all of them.
func (m *machine) ingest(e *logentry.Ingest) (result, error) {
	o := &m.s.own
	got := o.receipt(e.Move)
	if got == nil || got.carries != e.Before {
		return resVoid, nil
	}
	next := *got
	next.carries++
	next.deletes = next.deletes || e.Deletes
	counted, err := decodeDeltas(e.Stats)
	if err != nil {
		return 0, err
	}
	next.counted = next.counted.plus(counted)
	o.receipts = slices.Clone(o.receipts)
	*o.receipt(e.Move) = next
	m.kvs.again = true // entries of local indexes have the same keys and versions in each stay of a bucket
	return resDone, eachCarried(e.Writes, func(at txn.Timestamp, op opKind, key, value []byte) error {
		return m.kvs.add(op, key, value, uint64(at))
	})
}
