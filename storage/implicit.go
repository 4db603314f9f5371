package storage

import (
	"context"
	"sync"

	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/storage/proposer"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/protocol"
	"github.com/sherddb/sherd/txn/rule"
)

// A commit over fragments that needs no check elsewhere takes one round (implicit commit): it is
// committed, and the client gets its answer, once every writer has prepared at one C
// (Prepare.Implicit). The decision follows in the log of the coordinator fragment, and
// after it the others resolve. Decisions and resolutions go into the log many to an entry.
//
//	prepare(C) everywhere ─▶ answer ─▶ coordinator: decide ─▶ others: resolve ─▶ coordinator: forget
//
// So the coordinator fragment must not abort what it finds prepared and undecided. It asks each of
// the other writers. One that has not prepared at C makes sure, by an entry stamped above C, that
// it never will (HasPrepared). If all have prepared, the coordinator fragment decides to commit,
// otherwise to abort; the first decision in its log counts, as always. An abort applies to an
// attempt and to those before it; a later attempt stays. The writers get no outcome before the
// coordinator fragment has decided: one that had already resolved would answer as if it had never
// prepared. Package txn/protocol decides; its tests explore all the ways this can go, and show what
// each of these conditions is there for.

const maxOutcomes = 1024 // outcomes in one entry

// resolveAll applies the outcomes of an entry, each as if it had an entry of its own.
func (m *machine) resolveAll(list []logentry.TransactionOutcome) (result, error) {
	m.many = make([]result, len(list))
	for i, x := range list {
		var err error
		if x.Decide {
			m.many[i], err = m.decide(&logentry.Decide{ID: x.ID, C: x.C, Outcome: x.Outcome}, true)
		} else {
			m.many[i], err = m.resolve(x.ID, x.C, x.Outcome)
		}
		if err != nil {
			return 0, err
		}
	}
	return resDone, nil
}

// bar reports whether the transaction is prepared at C. If it is not, it never will be: a prepare
// with that C has a stamp below this entry's (T1).
func (m *machine) bar(e *logentry.BarPrepare) result {
	if m.s.open[e.ID].writer().Has(protocol.Build, e.C) {
		return resCommitted
	}
	return resAborted
}

// HasPrepared reports to the coordinator fragment whether transaction id is prepared here at C, by
// a commit that is not decided yet. Once the answer was no, it stays no.
func (r *Outcomes) HasPrepared(id txn.ID, C txn.Timestamp) (bool, error) {
	r.txns.mu.RLock()
	p := r.txns.prepared[id]
	r.txns.mu.RUnlock()
	if p != nil && p.Has(protocol.Build, C) {
		return true, nil // it is in the log
	}
	if !rule.T7Bar {
		return false, nil
	}
	res, _, err := r.log.run((&logentry.BarPrepare{ID: id, C: C}).Encode(), C)
	r.cfg.Knobs.Fault("barred")
	return res == resCommitted, err
}

// recoverImplicit decides, in the coordinator fragment, about a transaction whose coordinator has
// left or is slow to decide.
func (r *Outcomes) recoverImplicit(ctx context.Context, p *preparedTxn) (txn.Outcome, error) {
	d := txn.Decision{ID: p.id, C: p.C, Outcome: txn.Committed, Writers: p.writers}
	for _, f := range p.writers {
		if f == r.cfg.Fragment {
			continue
		}
		if r.cfg.Others.Prepared == nil {
			return txn.Unknown, proposer.ErrNotLeader
		}
		yes, err := r.cfg.Others.Prepared(ctx, f, p.id, p.C)
		if err != nil {
			r.cfg.Logger.Debug("a writer does not answer", "fragment", r.cfg.Fragment, "writer", f, "txn", p.id,
				"err", err)
			return txn.Unknown, err
		}
		if !yes {
			d.Outcome = txn.Aborted
			break
		}
	}
	r.cfg.Knobs.Fault("recover.asked")
	return r.decideImplicit(d)
}

// outcomeQueue collects decisions and resolutions for the log: as many go into an entry as come
// while the entry before is on its way.
type outcomeQueue struct {
	mu      sync.Mutex
	list    []logentry.TransactionOutcome // guarded by mu
	waiting []func(result, error)         // guarded by mu
	running bool                          // guarded by mu
}

// logSoon puts an outcome into the log, and calls then when it is applied. then must not block.
func (r *Outcomes) logSoon(x logentry.TransactionOutcome, then func(result, error)) {
	s := &r.queue
	s.mu.Lock()
	s.list, s.waiting = append(s.list, x), append(s.waiting, then)
	first := !s.running
	s.running = true
	s.mu.Unlock()
	if first {
		go r.logLoop()
	}
}

// logNow is logSoon for a caller that waits.
func (r *Outcomes) logNow(x logentry.TransactionOutcome) (res result, err error) {
	done := make(chan struct{})
	r.logSoon(x, func(got result, gotErr error) {
		res, err = got, gotErr
		close(done)
	})
	<-done
	return res, err
}

// logLoop runs until nothing is left.
func (r *Outcomes) logLoop() {
	s := &r.queue
	for {
		s.mu.Lock()
		n := min(len(s.list), maxOutcomes)
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
		r.logMany(list, waiting)
	}
}

func (r *Outcomes) logMany(list []logentry.TransactionOutcome, waiting []func(result, error)) {
	above := txn.Timestamp(0)
	for i := range list {
		if list[i].Decide && list[i].Outcome != txn.Committed && rule.T7Above {
			// so that a late prepare with that C is refused permanently (T7)
			above = max(above, list[i].C)
		}
	}
	many, err := r.log.runMany((&logentry.Outcomes{List: list}).Encode(), above)
	r.cfg.Knobs.Fault("outcomes.logged")
	for i, then := range waiting {
		if err != nil {
			then(resVoid, err)
		} else {
			then(many[i], nil)
		}
	}
}

// runMany is run for an entry with several results.
func (l logWriter) runMany(body []byte, above txn.Timestamp) ([]result, error) {
	p, _, err := l.p.Propose(proposer.Entry{Body: body, Above: above})
	if err != nil {
		return nil, err
	}
	resp, _, err := p.Done()
	if err != nil {
		return nil, err
	}
	if resp == resUnknown {
		return nil, errUnknownHere
	}
	many, ok := resp.([]result)
	if !ok {
		return nil, errTermEnded
	}
	return many, nil
}

func (r *Outcomes) decideImplicit(d txn.Decision) (txn.Outcome, error) {
	res, err := r.logNow(logentry.TransactionOutcome{ID: d.ID, C: d.C, Outcome: d.Outcome, Decide: true})
	return r.outcomeOf(d.ID, res, err)
}

// outcomeOf returns the decision that counts. An abort that finds nothing of a transaction may come
// after a commit that the coordinator fragment has forgotten: the commit was recovered while its
// coordinator was cut off. That coordinator then asks the writers, which have resolved the
// transaction and answer that it is not prepared. The record of the decision outlives that.
func (r *Outcomes) outcomeOf(id txn.ID, res result, err error) (txn.Outcome, error) {
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

// LogOutcome implements txn.Participant.
func (c *Committer) LogOutcome(d txn.Decision, then func(txn.Outcome, error)) {
	x := logentry.TransactionOutcome{ID: d.ID, C: d.C, Outcome: d.Outcome, Decide: c.coordinator == c.t.r.cfg.Fragment}
	c.t.r.Outcomes.logSoon(x, func(res result, err error) {
		switch {
		case x.Decide:
			then(c.t.r.Outcomes.outcomeOf(d.ID, res, err))
		case err == nil && res == resVoid:
			then(txn.Unknown, otherAttempt(d))
		case err != nil:
			then(txn.Unknown, err)
		default:
			then(d.Outcome, nil)
		}
	})
}

// resolveImplicit is Resolve, in an entry together with others.
func (r *Outcomes) resolveImplicit(d txn.Decision) error {
	res, err := r.logNow(logentry.TransactionOutcome{ID: d.ID, C: d.C, Outcome: d.Outcome})
	if err == nil && res == resVoid {
		return otherAttempt(d)
	}
	return err
}
