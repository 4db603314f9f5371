package storage

import (
	"context"
	"encoding/binary"
	"sync"

	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/rule"
)

// A commit over fragments that needs no check elsewhere takes one round: it is committed, and the client told so, once every writer has prepared
// at one C (kindPrepareAll). The decision follows in the anchor's log, and after it the others resolve; both go many to an entry.
//
//	prepare(C) everywhere ── answer ──▶ anchor: decide ──▶ others: resolve ──▶ anchor: forget
//
// So the anchor must not abort what it finds prepared and undecided. It asks each of the others; who has not prepared at C makes sure, by an
// entry stamped above C, that it never will (HasPrepared). If all have, the anchor decides to commit, otherwise to abort: the first decision in
// its log counts, as ever. An abort speaks of an attempt, and of those before it; a later one stays. The writers are told nothing before
// the anchor has decided: one that had resolved already would answer as if it had never prepared. Package txn/model looks at all the ways this
// can go, and shows what each of these conditions is there for.

// settlement is a decision or a resolution, at the anchor or elsewhere.
type settlement struct {
	id      txn.ID
	C       txn.Timestamp
	outcome txn.Outcome
	decide  bool
}

// Bits of a settlement in an entry.
const (
	settleCommit = 1
	settleDecide = 2
)

const maxSettles = 1024 // of an entry

func appendSettlements(b []byte, list []settlement) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	for i := range list {
		x := &list[i]
		bits := byte(0)
		if x.outcome == txn.Committed {
			bits |= settleCommit
		}
		if x.decide {
			bits |= settleDecide
		}
		b = append(b, bits)
		b = append(b, x.id[:]...)
		b = putTS(b, x.C)
	}
	return b
}

func (r *reader) settlements() (list []settlement) {
	n := r.int()
	for i := 0; i < n && r.err == nil; i++ {
		bits := r.byte()
		x := settlement{id: r.id(), C: r.ts(), outcome: txn.Aborted, decide: bits&settleDecide != 0}
		if bits&settleCommit != 0 {
			x.outcome = txn.Committed
		}
		if bits > settleCommit|settleDecide {
			r.err = errEntry
		}
		list = append(list, x)
	}
	return list
}

// settleAll applies an entry's settlements, each as if it had an entry of its own.
func (m *machine) settleAll(e *entry) (result, error) {
	m.many = make([]result, len(e.settles))
	for i, x := range e.settles {
		one := entry{stamp: e.stamp, id: x.id, ts: x.C, outcome: x.outcome}
		var err error
		switch {
		case !x.decide:
			m.many[i], err = m.resolve(&one)
		case x.outcome == txn.Committed:
			m.many[i], err = m.decideImplied(&one)
		default:
			m.many[i], err = m.abortImplied(&one)
		}
		if err != nil {
			return 0, err
		}
	}
	return resDone, nil
}

func (m *machine) decideImplied(e *entry) (result, error) {
	if m.s.decided[e.id] != nil {
		return resCommitted, nil
	}
	return m.decideCommit(e)
}

// abortImplied is the abort by who knows that the attempt at C is not complete and never will be, or that nobody was told of a commit. It ends
// that attempt and those before it.
func (m *machine) abortImplied(e *entry) (result, error) {
	if m.s.decided[e.id] != nil {
		return resCommitted, nil
	}
	o := m.s.open[e.id]
	if o != nil && o.prepared && o.C > e.ts && rule.T7Attempt {
		return resVoid, nil
	}
	return resAborted, m.abortOpen(o, e)
}

// bar tells whether the transaction is prepared at C. If it is not it never will be: a prepare with that C has a stamp below this entry's (T1).
func (m *machine) bar(e *entry) result {
	if o := m.s.open[e.id]; o != nil && o.prepared && o.C == e.ts {
		return resCommitted
	}
	return resAborted
}

// HasPrepared answers the anchor whether transaction id is prepared here at C, a commit that is not decided yet. Once it has said no, it stays so.
func (r *Replica) HasPrepared(id txn.ID, C txn.Timestamp) (bool, error) {
	r.smu.RLock()
	p := r.prepared[id]
	r.smu.RUnlock()
	if p != nil && p.C == C {
		return true, nil // it is in the log
	}
	if !rule.T7Bar {
		return false, nil
	}
	res, _, err := r.run(&entry{kind: kindBar, id: id, ts: C}, C)
	r.fault("barred")
	return res == resCommitted, err
}

// recoverImplied decides, as the anchor, about a transaction that its coordinator has left, or is slow to decide.
func (r *Replica) recoverImplied(ctx context.Context, p *preparedTxn) (txn.Outcome, error) {
	d := txn.Decision{ID: p.id, C: p.C, Outcome: txn.Committed, Writers: p.writers}
	for _, f := range p.writers {
		if f == r.cfg.Fragment {
			continue
		}
		if r.cfg.AskPrepared == nil {
			return txn.Unknown, errNoLeader
		}
		yes, err := r.cfg.AskPrepared(ctx, f, p.id, p.C)
		if err != nil {
			r.cfg.Logger.Debug("a writer does not answer", "fragment", r.cfg.Fragment, "writer", f, "txn", p.id, "err", err)
			return txn.Unknown, err
		}
		if !yes {
			d.Outcome = txn.Aborted
			break
		}
	}
	r.fault("recover.asked")
	return r.decideImplied(d)
}

// settler gathers settlements for the log, as many to an entry as come while the one before is on its way.
type settler struct {
	mu      sync.Mutex
	list    []settlement          // guarded by mu
	waiting []func(result, error) // guarded by mu
	running bool                  // guarded by mu
}

// settleSoon puts a settlement into the log, and calls then when it is applied. then must not block.
func (r *Replica) settleSoon(x settlement, then func(result, error)) {
	s := &r.settler
	s.mu.Lock()
	s.list, s.waiting = append(s.list, x), append(s.waiting, then)
	first := !s.running
	s.running = true
	s.mu.Unlock()
	if first {
		go r.settleLoop()
	}
}

// settle is settleSoon for who waits.
func (r *Replica) settle(x settlement) (res result, err error) {
	done := make(chan struct{})
	r.settleSoon(x, func(got result, gotErr error) {
		res, err = got, gotErr
		close(done)
	})
	<-done
	return res, err
}

// settleLoop runs until nothing is left.
func (r *Replica) settleLoop() {
	s := &r.settler
	for {
		s.mu.Lock()
		n := min(len(s.list), maxSettles)
		if n == 0 {
			s.running = false
			s.mu.Unlock()
			return
		}
		list, waiting := s.list[:n:n], s.waiting[:n:n]
		s.list, s.waiting = s.list[n:], s.waiting[n:]
		if len(s.list) == 0 {
			s.list, s.waiting = nil, nil
		}
		s.mu.Unlock()
		r.settleMany(list, waiting)
	}
}

func (r *Replica) settleMany(list []settlement, waiting []func(result, error)) {
	above := txn.Timestamp(0)
	for i := range list {
		if list[i].decide && list[i].outcome != txn.Committed && rule.T7Above {
			above = max(above, list[i].C) // so that a late prepare with that C is refused for ever (T7)
		}
	}
	many, err := r.runMany(&entry{kind: kindSettle, settles: list}, above)
	r.fault("settled")
	for i, then := range waiting {
		if err != nil {
			then(resVoid, err)
		} else {
			then(many[i], nil)
		}
	}
}

// runMany is run for an entry with several answers.
func (r *Replica) runMany(e *entry, above txn.Timestamp) ([]result, error) {
	p, _, err := r.offer(context.Background(), offer{body: e.encode(), above: above})
	if err != nil {
		return nil, err
	}
	resp, _, err := p.Done()
	if err != nil {
		return nil, err
	}
	many, ok := resp.([]result)
	if !ok {
		return nil, errTermEnded
	}
	return many, nil
}

func (r *Replica) decideImplied(d txn.Decision) (txn.Outcome, error) {
	res, err := r.settle(settlement{id: d.ID, C: d.C, outcome: d.Outcome, decide: true})
	return r.outcomeOf(d.ID, res, err)
}

// outcomeOf gives the decision that counts. An abort that finds nothing of a transaction may come after a commit that the anchor has forgotten: one that was recovered
// while its coordinator was cut off, which then asks the writers, who have resolved it and say that it is not prepared. The record of the decision outlives that.
func (r *Replica) outcomeOf(id txn.ID, res result, err error) (txn.Outcome, error) {
	switch {
	case err != nil:
		return txn.Unknown, err
	case res == resCommitted:
		return txn.Committed, nil
	case res != resAborted:
		return txn.Unknown, nil
	}
	if rule.T7Record {
		switch _, committed, err := r.savedDecision(id); {
		case err != nil:
			return txn.Unknown, err
		case committed:
			return txn.Committed, nil
		}
	}
	return txn.Aborted, nil
}

// Settle implements txn.Participant.
func (t *Tx) Settle(d txn.Decision, then func(txn.Outcome, error)) {
	x := settlement{id: d.ID, C: d.C, outcome: d.Outcome, decide: t.anchor == t.r.cfg.Fragment}
	t.r.settleSoon(x, func(res result, err error) {
		switch {
		case x.decide:
			then(t.r.outcomeOf(d.ID, res, err))
		case err == nil && res == resVoid:
			then(txn.Unknown, otherAttempt(d))
		case err != nil:
			then(txn.Unknown, err)
		default:
			then(d.Outcome, nil)
		}
	})
}

// resolveImplied is Resolve among others.
func (r *Replica) resolveImplied(d txn.Decision) error {
	res, err := r.settle(settlement{id: d.ID, C: d.C, outcome: d.Outcome})
	if err == nil && res == resVoid {
		return otherAttempt(d)
	}
	return err
}
