package storage

import (
	"context"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/storage/locktable"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/storage/proposer"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/protocol"
	"github.com/sherddb/sherd/txn/rule"
)

// Prepare implements txn.Participant.
func (c *Committer) Prepare(ctx context.Context, req txn.PrepareRequest) error {
	if err := c.t.r.cfg.Clock.Check(req.C); err != nil {
		return err
	}
	e := logentry.Prepare{
		ID: c.t.id, C: req.C, Coordinator: req.Coordinator, Attempt: req.Attempt, Again: c.t.isPrepared(),
		Implicit: req.Implicit, Writers: req.Writers,
	}
	c.coordinator, c.implicit = req.Coordinator, req.Implicit
	var body []byte
	if e.Again {
		c.t.adopted.Store(false) // a coordinator works on it
		body = e.Encode()
	} else {
		c.withPins = true
		if err := c.encodeBuffer(); err != nil {
			return c.unprepared(err)
		}
		if err := c.passGate(ctx); err != nil {
			return c.unprepared(err)
		}
		e.Stats, e.Parts = c.delta, c.parts
		body = e.EncodeInto(c.rest)
	}
	p, _, err := c.t.r.offer(ctx, offer{
		Entry: proposer.Entry{Body: body, Term: c.t.term, At: req.C}, reads: c.validation(), tx: c.t,
	})
	if err != nil {
		return c.unprepared(err) // another attempt finds the parts where they are
	}
	// From here on only a decision ends it, whether or not the log answers.
	c.t.setPhase(phasePrepared)
	c.t.locks.SetEnding()
	res, err := await(p)
	if err == nil && res == resVoid {
		err = proposer.ErrTermOver
	}
	return err
}

// unprepared reopens a transaction whose prepare is not in the log. It may be prepared again, or
// rolled back. If a rollback was requested meanwhile, it is done here, because that caller may be
// gone.
func (c *Committer) unprepared(err error) error {
	c.t.mu.Lock()
	if c.t.phase == phaseBusy {
		c.t.phase = phaseOpen
	}
	over := c.t.phase == phaseOpen && c.t.unwanted
	c.t.mu.Unlock()
	if over {
		c.dropParts()
		c.t.end()
	}
	return err
}

func (t *Tx) isPrepared() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.phase == phasePrepared
}

// encodeBuffer encodes the write buffer and logs its parts, at the first attempt.
func (c *Committer) encodeBuffer() error {
	if c.encoded {
		return c.reenter()
	}
	if err := c.t.r.db.Room(!c.t.puts.Load()); err != nil {
		return err
	}
	if err := c.enter(); err != nil {
		return err
	}
	pieces, stats, err := c.encode()
	if err != nil {
		return err
	}
	if c.rest, err = c.sendParts(pieces); err != nil {
		return err
	}
	c.encoded, c.delta = true, stats
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
func (c *Committer) Decide(_ context.Context, d txn.Decision) (txn.Outcome, error) {
	decide := c.t.r.Outcomes.decide
	if c.implicit {
		decide = c.t.r.Outcomes.decideImplicit
	}
	out, err := decide(d)
	if err == nil && out == txn.Aborted && !c.t.isByName() {
		c.t.end()
	}
	return out, err
}

// Resolve implements txn.Participant.
func (c *Committer) Resolve(_ context.Context, d txn.Decision) error {
	if !c.t.isPrepared() && c.parts == 0 && d.Outcome == txn.Aborted { // the log has nothing of it
		c.t.end()
		return nil
	}
	resolve := c.t.r.Outcomes.Resolve
	if c.implicit {
		resolve = c.t.r.Outcomes.resolveImplicit
	}
	err := resolve(d)
	if err == nil && (d.Outcome == txn.Committed || !c.t.isByName()) {
		c.t.end()
	}
	return err
}

// Forget implements txn.Participant.
func (c *Committer) Forget(_ context.Context, d txn.Decision) { c.t.r.Outcomes.forgets.add(d.ID) }

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

// passGate waits while the gate keeps the transaction from being prepared. An error means that the
// caller does not want it to be prepared any more.
func (c *Committer) passGate(ctx context.Context) error {
	g := c.t.r.Owned.Gate()
	if g == nil || !c.touches(g.Ranges) {
		return nil
	}
	select {
	case <-g.Opened:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-c.t.r.stopper.Stopped():
	}
	return nil
}

// touches reports whether the transaction has buffered or locked something of ranges here, or may
// have.
func (c *Committer) touches(ranges []BucketRange) (hit bool) {
	c.t.mu.Lock()
	defer c.t.mu.Unlock()
	err := c.t.buffer.Each(func(key []byte) bool {
		hit = c.t.r.Globals.Within(key, ranges)
		return !hit
	})
	c.t.locks.Each(func(l *locktable.Lock, _ bool) bool {
		hit = hit || c.t.r.Globals.Within([]byte(l.Key()), ranges)
		return !hit
	})
	return hit || err != nil || c.t.locks.Span() != nil
}
