package storage

import (
	"context"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/storage/proposer"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/protocol"
	"github.com/sherddb/sherd/txn/rule"
)

// Prepare implements txn.Participant.
func (t *Tx) Prepare(ctx context.Context, req txn.PrepareRequest) error {
	if err := t.r.cfg.Clock.Check(req.C); err != nil {
		return err
	}
	e := logentry.Prepare{
		ID: t.id, C: req.C, Coordinator: req.Anchor, Attempt: req.Attempt, Again: t.isPrepared(),
		Implicit: req.Implied, Writers: req.Writers,
	}
	t.anchor, t.implied = req.Anchor, req.Implied
	var body []byte
	if e.Again {
		t.adopted.Store(false) // a coordinator works on it
		body = e.Encode()
	} else {
		t.carry = true
		if err := t.encodeStage(); err != nil {
			return t.unprepared(err)
		}
		if err := t.passGate(ctx); err != nil {
			return t.unprepared(err)
		}
		e.Stats, e.Parts = t.delta, t.parts
		body = e.EncodeInto(t.rest)
	}
	p, _, err := t.r.offer(ctx, offer{
		Entry: proposer.Entry{Body: body, Term: t.term, At: req.C}, reads: t.validation(), tx: t,
	})
	if err != nil {
		return t.unprepared(err) // another attempt finds the parts where they are
	}
	// From here on only a decision ends it, whether or not the log answers.
	t.setPhase(phasePrepared)
	t.locks.SetEnding()
	res, err := await(p)
	if err == nil && res == resVoid {
		err = proposer.ErrTermOver
	}
	return err
}

// unprepared reopens a transaction whose prepare is not in the log. It may be prepared again, or
// rolled back. If a rollback was requested meanwhile, it is done here, because that caller may be
// gone.
func (t *Tx) unprepared(err error) error {
	t.mu.Lock()
	if t.phase == phaseBusy {
		t.phase = phaseOpen
	}
	over := t.phase == phaseOpen && t.unwanted
	t.mu.Unlock()
	if over {
		t.dropParts()
		t.end()
	}
	return err
}

func (t *Tx) isPrepared() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.phase == phasePrepared
}

// encodeStage encodes the write buffer and logs its parts, at the first attempt.
func (t *Tx) encodeStage() error {
	if t.encoded {
		return t.reenter()
	}
	if err := t.r.db.Room(!t.puts.Load()); err != nil {
		return err
	}
	if err := t.enter(); err != nil {
		return err
	}
	pieces, stats, err := t.encode()
	if err != nil {
		return err
	}
	if t.rest, err = t.sendParts(pieces); err != nil {
		return err
	}
	t.encoded, t.delta = true, stats
	return nil
}

func (t *Tx) setPhase(p phase) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.phase != phaseDone {
		t.phase = p
	}
}

// Decide implements txn.Participant: the commit point, in the coordinator fragment's log.
func (t *Tx) Decide(_ context.Context, d txn.Decision) (txn.Outcome, error) {
	decide := t.r.Outcomes.decide
	if t.implied {
		decide = t.r.Outcomes.decideImplicit
	}
	out, err := decide(d)
	if err == nil && out == txn.Aborted && !t.isHeld() {
		t.end()
	}
	return out, err
}

// Resolve implements txn.Participant.
func (t *Tx) Resolve(_ context.Context, d txn.Decision) error {
	if !t.isPrepared() && t.parts == 0 && d.Outcome == txn.Aborted { // the log has nothing of it
		t.end()
		return nil
	}
	resolve := t.r.Outcomes.Resolve
	if t.implied {
		resolve = t.r.Outcomes.resolveImplicit
	}
	err := resolve(d)
	if err == nil && (d.Outcome == txn.Committed || !t.isHeld()) {
		t.end()
	}
	return err
}

// Forget implements txn.Participant.
func (t *Tx) Forget(_ context.Context, d txn.Decision) { t.r.Outcomes.forgets.add(d.ID) }

// decide writes a decision. An abort is stamped above C, so that a late prepare with that C is
// refused permanently (T7).
func (r *Outcomes) decide(d txn.Decision) (txn.Outcome, error) {
	above := d.C
	if !rule.T7Above {
		above = 0
	}
	res, _, err := r.log.run((&logentry.Decide{ID: d.ID, C: d.C, Outcome: d.Outcome, Writers: d.Writers}).Encode(),
		above)
	return r.outcomeOf(d.ID, res, err)
}

// Resolve applies the coordinator fragment's decision here. It does nothing if the transaction is
// not prepared here.
func (r *Outcomes) Resolve(d txn.Decision) error {
	res, _, err := r.log.run((&logentry.Resolve{ID: d.ID, C: d.C, Outcome: d.Outcome}).Encode(), 0)
	if err == nil && res == resVoid {
		return otherAttempt(d)
	}
	return err
}

// otherAttempt is the error of a resolution that finds another attempt prepared. If the resolution
// is an abort, that attempt is undecided.
func otherAttempt(d txn.Decision) error {
	return pgerr.New(pgerr.InternalError, "transaction %s is prepared here at another time than %s", d.ID, d.C)
}

// Outcome returns, in the coordinator fragment, what became of transaction id at C. If the
// transaction is open, the query itself aborts it (T7), unless it has an implicit commit. The
// result is Unknown if another attempt is prepared: the caller has to ask again.
func (r *Outcomes) Outcome(ctx context.Context, id txn.ID, C txn.Timestamp) (txn.Outcome, error) {
	r.txns.mu.RLock()
	p := r.txns.prepared[id]
	r.txns.mu.RUnlock()
	if p != nil && p.MustAsk(protocol.Build, C) {
		return r.recoverImplicit(ctx, p)
	}
	return r.decide(txn.Decision{ID: id, C: C, Outcome: txn.Aborted})
}
