package storage

import (
	"slices"

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

func (m *machine) move(e *entry) (result, error) {
	if e.kind == kindCarry {
		return m.carry(e)
	}
	o, x := &m.s.own, &e.moving
	now := piecesOf(o.list, x.ranges, m.r.firstState())
	m.effects.owners = true
	m.effects.changes = append(m.effects.changes, changeOf{e.kind, x.move})
	all := func(ok func(p *ownRange) bool) bool {
		for i := range now {
			if !ok(&now[i]) {
				return false
			}
		}
		return true
	}
	mine := func(s OwnState) func(*ownRange) bool {
		return func(p *ownRange) bool { return p.State == s && p.Move == x.move }
	}
	older := func(p *ownRange) bool { return p.Move < x.move || !rule.MoveNumber }
	var change func(p *ownRange)
	switch e.kind {
	case kindFence:
		if all(mine(Fenced)) {
			return resDone, nil
		}
		if !all(func(p *ownRange) bool { return p.State == Owned && older(p) }) {
			return resVoid, nil
		}
		change = func(p *ownRange) { p.State, p.F = Fenced, e.stamp }
	case kindUnfence:
		// What is owned takes the number too, so that a fence of this move that is still on its way is void.
		if !all(func(p *ownRange) bool { return mine(Fenced)(p) || p.State == Owned && p.Move <= x.move }) {
			return resVoid, nil
		}
		// Such a fence is shown no more, where it had no answer and whoever proposed it could not find out (forgetPending).
		m.effects.changes = append(m.effects.changes, changeOf{kindFence, x.move})
		change = func(p *ownRange) { p.State, p.F = Owned, 0 }
	case kindReceive:
		if all(mine(Receiving)) {
			return resDone, nil
		}
		if !all(func(p *ownRange) bool { return m.receivable(p) && older(p) }) {
			return resVoid, nil
		}
		if x.arrival != 0 && !all(func(p *ownRange) bool { return p.Arrival < x.arrival }) {
			return resVoid, nil // another one came between
		}
		return resDone, m.receive(e, now)
	case kindOwn:
		if all(mine(Owned)) {
			return resDone, nil
		}
		if !all(mine(Receiving)) {
			return resVoid, nil
		}
		counted := o.receipt(x.move).counted
		o.dropReceipt(x.move)
		if err := m.r.stats.apply(counted.encode()); err != nil {
			return 0, err
		}
		m.r.moves.unknown(max(e.stamp, x.since)) // what was carried was deleted elsewhere
		change = func(p *ownRange) { p.State, p.Since, p.F, p.edge = Owned, x.since, 0, e.stamp }
	case kindGone:
		if all(mine(Gone)) {
			return resDone, nil
		}
		if !all(mine(Fenced)) {
			return resVoid, nil
		}
		if err := m.r.stats.leave(e.stats); err != nil {
			return 0, err
		}
		m.effects.gone = append(m.effects.gone, x.ranges...)
		change = func(p *ownRange) { p.State, p.left, p.edge = Gone, true, e.stamp }
	case kindClean:
		if !all(mine(Gone)) {
			return resVoid, nil
		}
		if err := m.cleanLeft(e, now); err != nil {
			return 0, err
		}
		change = func(p *ownRange) { p.left = false }
	case kindAbandon:
		return m.abandon(e, now)
	}
	m.setPieces(now, x.move, change)
	return resDone, nil
}

func (m *machine) setPieces(now []ownRange, move uint64, change func(p *ownRange)) {
	for i := range now {
		change(&now[i])
		now[i].Move = move
	}
	m.s.own.list = with(m.s.own.list, now)
}

// receivable tells whether a piece may be received. A fragment of the first hour believes that it owns what was never moved, whether it does or
// not; the proposer has looked that there is nothing.
func (m *machine) receivable(p *ownRange) bool {
	return p.State == NotOwned || p.State == Gone || p.State == Receiving || p.State == Owned && p.Move == 0 && p.Arrival == 0
}

// receive begins a new arrival. What an earlier stay or an undone copy has left is deleted.
func (m *machine) receive(e *entry, now []ownRange) error {
	o, x := &m.s.own, &e.moving
	for i := range now {
		if now[i].State == Receiving {
			now[i].left = true
			o.dropReceipt(now[i].Move)
		}
	}
	if err := m.cleanLeft(e, now); err != nil {
		return err
	}
	arrival := x.arrival
	if arrival == 0 || !rule.MoveArrival {
		if rule.MoveArrival || o.arrivals == 0 {
			o.arrivals++
		}
		arrival = o.arrivals
	}
	o.arrivals = max(o.arrivals, arrival)
	o.setReceipt(receipt{move: x.move, since: x.since})
	m.setPieces(now, x.move, func(p *ownRange) {
		p.State, p.Arrival, p.F, p.Since, p.left, p.edge = Receiving, arrival, 0, 0, false, 0
	})
	return nil
}

// abandon undoes a receive, or bars one that is on its way.
func (m *machine) abandon(e *entry, now []ownRange) (result, error) {
	x := &e.moving
	for i := range now {
		if p := &now[i]; p.Move > x.move || !m.receivable(p) {
			return resVoid, nil
		}
	}
	var received []ownRange
	for i := range now {
		if p := &now[i]; p.State == Receiving {
			p.left = true
			m.s.own.dropReceipt(p.Move)
			received = append(received, *p)
		}
	}
	if err := m.cleanLeft(e, received); err != nil {
		return 0, err
	}
	m.setPieces(now, x.move, func(p *ownRange) {
		if p.State == Receiving || p.State == Owned {
			p.State, p.left = Gone, false
		}
	})
	return resDone, nil
}

// carry writes versions as they were at the source. The entry says how many came before it: whoever has counted its rows has seen all of them.
func (m *machine) carry(e *entry) (result, error) {
	o, x := &m.s.own, &e.moving
	got := o.receipt(x.move)
	if got == nil || got.carries != x.carries {
		return resVoid, nil
	}
	next := *got
	next.carries++
	next.deletes = next.deletes || x.deletes
	counted := reader{b: putBytes(nil, e.stats)}
	next.counted = next.counted.plus(counted.deltas())
	if counted.err != nil {
		return 0, counted.err
	}
	o.receipts = slices.Clone(o.receipts)
	*o.receipt(x.move) = next
	m.kvs.again = true // entries of local indexes have the same keys and versions in each stay of a bucket
	return resDone, eachCarried(e.writes, func(at txn.Timestamp, op opKind, key, value []byte) error {
		return m.kvs.add(op, key, value, uint64(at))
	})
}
