package storage

import (
	"context"
	"errors"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/raftgroup"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/rule"
)

// Fragment implements txn.Participant.
func (t *Tx) Fragment() txn.FragmentID { return t.r.cfg.Fragment }

// Promised implements txn.Participant.
func (t *Tx) Promised() txn.Timestamp { return txn.Timestamp(t.r.promised.Load()) }

// Commit implements txn.Participant: one log entry, or parts and one entry for a write set beyond 4 MiB. The context is not
// looked at once the entry is in the log's queue. Stage and locks are gone afterwards, whatever the result, but for *txn.LowError.
func (t *Tx) Commit(ctx context.Context, req txn.CommitRequest) (txn.Timestamp, error) {
	if t.isHeld() {
		return t.commitHeld(ctx, req)
	}
	err := t.r.cfg.Clock.Check(max(req.Floor, req.At))
	if err == nil {
		err = t.encodeStage()
	}
	if err != nil {
		t.abandon()
		return 0, err
	}
	e := &entry{kind: kindCommit, id: t.id, parts: t.parts, stats: t.delta, room: t.rest}
	p, stamp, err := t.r.offer(ctx, offer{body: e.encode(), term: t.term, above: req.Floor, at: req.At, reads: t.validation(), tx: t})
	var low *txn.LowError
	if errors.As(err, &low) {
		t.setPhase(phaseOpen)
		return 0, err
	}
	defer t.end()
	if err != nil {
		t.dropParts()
		return 0, err
	}
	res, err := await(p)
	if err == nil && res == resVoid {
		err = errStageLost
	}
	return stamp, unanswered(err, t.id)
}

// abandon ends a transaction of which nothing that counts is in the log.
func (t *Tx) abandon() {
	if !t.isPrepared() {
		t.end()
	}
}

// Check implements txn.Participant: the reads here are validated at C, and stay valid, for promised and the ceiling are at least C (T8).
func (t *Tx) Check(ctx context.Context, C txn.Timestamp) error {
	v := t.validation()
	if v == nil {
		return nil
	}
	if err := t.r.cfg.Clock.Check(C); err != nil {
		return err
	}
	if _, err := t.viewMark(); err != nil {
		return err // its locks are gone
	}
	if rule.T8Ceiling {
		if err := t.r.cover(C); err != nil {
			return err
		}
	}
	if err := t.promise(ctx, C); err != nil {
		return err
	}
	v.check = true
	return v.advance(ctx, C)
}

// promise raises promised to C where what the transaction has read is owned and not fenced: a later fence is above C.
func (t *Tx) promise(ctx context.Context, C txn.Timestamp) error {
	for {
		own, err := t.intactFor(ctx)
		if err != nil {
			return err
		}
		t.r.pmu.Lock()
		led, same := t.r.term.Load() != 0, t.r.own.Load() == own
		if led && same && rule.T8Ceiling {
			t.r.raise(uint64(C))
		}
		t.r.pmu.Unlock()
		switch {
		case !led:
			return errNoLeader
		case same:
			return nil
		}
	}
}

// enter takes the stage for its commit or prepare.
func (t *Tx) enter() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.begin(); err != nil {
		return err
	}
	if err := t.mayWrite(); err != nil {
		return err
	}
	t.phase = phaseBusy
	return nil
}

// reenter is enter for another attempt.
func (t *Tx) reenter() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.phase != phaseOpen {
		return nil // it was not let go
	}
	if err := t.mayWrite(); err != nil {
		return err
	}
	t.phase = phaseBusy
	return nil
}

// encode gives the write set in pieces of at most maxEntryBody (but for a single operation), each behind headRoom free bytes,
// and its statistics.
//
// Of a write set on disk, or with the keys of pinned locks there, all pieces but the last are sent as they are made, and the last alone is given.
func (t *Tx) encode() (pieces [][]byte, stats []byte, err error) {
	if t.stage.disk != nil || t.carry && t.pinned != nil {
		return t.sendSpilled()
	}
	var d deltas
	plain := !t.stage.mixed
	err = t.stage.last(func(op *stagedOp) error {
		old, err := t.oldSize(op)
		plain = plain && chunksOf(len(op.value)) == 0 && chunksOf(old) == 0
		countOp(&d, op, old)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	var p packer
	if plain {
		p.pieces = t.stage.pieces()
	} else if err := t.stage.last(func(op *stagedOp) error { return t.pack(&p, op) }); err != nil {
		return nil, nil, err
	}
	if t.carry {
		err = t.packLocks(&p)
	}
	if len(p.pieces) == 0 {
		p.grow()
	}
	return p.pieces, d.encode(), err
}

// sendSpilled puts a write set that is on disk into the log as parts, piece by piece, but for the last piece. They go in the order of their keys:
// so Badger's new tables do not overlap, and it merges each with few others.
func (t *Tx) sendSpilled() (last [][]byte, stats []byte, err error) {
	if err := t.stage.spill(t.stageFile); err != nil {
		return nil, nil, err
	}
	s := partSender{t: t}
	var d deltas
	p := packer{full: s.send, size: partBody}
	own, err := t.stage.span(txn.Span{}, t.stage.mark(), false)
	for ; err == nil && own.ok; err = own.next() {
		var old int
		if old, err = t.oldSize(&own.op); err != nil {
			break
		}
		countOp(&d, &own.op, old)
		if encodeOp(&own.op, old, p.add); p.err != nil {
			break
		}
	}
	if err == nil && t.carry {
		err = t.packLocks(&p)
	}
	if err == nil {
		err = p.err
	}
	if werr := s.wait(); err == nil {
		err = werr
	}
	if err != nil {
		t.dropParts()
		return nil, nil, err
	}
	if len(p.pieces) == 0 {
		p.grow()
	}
	return p.pieces, d.encode(), nil
}

func (t *Tx) pack(p *packer, op *stagedOp) error {
	old, err := t.oldSize(op)
	if err == nil {
		encodeOp(op, old, p.add)
	}
	return err
}

// packer cuts a write set into pieces of at most maxEntryBody (but for a single operation), each behind headRoom free bytes.
type packer struct {
	pieces [][]byte
	size   int                      // of a piece; 0: maxEntryBody
	full   func(piece []byte) error // takes pieces as they are full; nil: they are kept
	err    error                    // of full
}

func (p *packer) grow() {
	if n := len(p.pieces); n == 0 || p.full == nil {
		p.pieces = append(p.pieces, make([]byte, headRoom, headRoom+firstBlock))
		return
	}
	if p.err == nil {
		p.err = p.full(p.pieces[0])
	}
	p.pieces[0] = make([]byte, headRoom, p.limit())
}

func (p *packer) limit() int {
	if p.size > 0 {
		return p.size
	}
	return maxEntryBody
}

func (p *packer) add(op opKind, key, value []byte) {
	n := len(p.pieces) - 1
	if n < 0 || len(p.pieces[n]) > headRoom && len(p.pieces[n])+len(key)+len(value) > p.limit() {
		p.grow()
		n = len(p.pieces) - 1
	}
	p.pieces[n] = appendOp(p.pieces[n], op, key, value)
}

// encodeOp gives the operations on Badger's keys that op stands for, given the size of the value it replaces (-1: none).
func encodeOp(op *stagedOp, old int, add func(op opKind, key, value []byte)) {
	n := chunksOf(len(op.value))
	switch {
	case op.delete:
		add(opDelete, op.key, nil)
	case n == 0 && op.kept:
		add(opPutKept, op.key, op.value)
	case n == 0:
		add(opPut, op.key, op.value)
	default:
		for i := range n {
			add(opPut, chunkKey(op.key, i), op.value[i*chunkSize:min((i+1)*chunkSize, len(op.value))])
		}
		head := opPutHead
		if op.kept {
			head = opPutHeadKept
		}
		add(head, op.key, encodeChunkHead(len(op.value)))
	}
	for i := n; i < chunksOf(old); i++ {
		add(opDelete, chunkKey(op.key, i), nil)
	}
}

func countOp(d *deltas, op *stagedOp, old int) {
	if !IsRow(op.key) {
		return
	}
	docs, bytes := 0, 0
	if old >= 0 {
		docs, bytes = -1, -len(op.key)-old
	}
	if !op.delete {
		docs, bytes = docs+1, bytes+len(op.key)+len(op.value)
	}
	if docs != 0 || bytes != 0 {
		d.add(op.key, docs, bytes)
	}
}

// oldSize gives the size of the newest committed value, -1 if there is none; an index entry's value is never chunked, so it
// is not asked for.
func (t *Tx) oldSize(op *stagedOp) (int, error) {
	if op.old != unknownSize {
		return int(op.old), nil
	}
	if !IsRow(op.key) {
		return -1, nil
	}
	value, _, err := t.r.newest(op.key)
	if value == nil {
		return -1, err
	}
	return len(value), err
}

// What Raft holds of one transaction is bounded by the size of the parts of one that is staged on disk, and by how many are under way.
const (
	partBody      = 256 << 10
	partsInFlight = 8
)

// sendParts puts all pieces but the last into the log and gives the last.
func (t *Tx) sendParts(pieces [][]byte) ([]byte, error) {
	s := partSender{t: t}
	var err error
	for ; len(pieces) > 1 && err == nil; pieces = pieces[1:] {
		err = s.send(pieces[0])
		pieces[0] = nil
	}
	if werr := s.wait(); err == nil {
		err = werr
	}
	if err != nil {
		t.dropParts()
		return nil, err
	}
	return pieces[0], nil
}

// partSender puts pieces into the log as parts, some at a time.
type partSender struct {
	t      *Tx
	flying []raftgroup.Proposal
}

func (s *partSender) send(piece []byte) error {
	t := s.t
	t.r.cfg.Pace.worked()
	if t.parts == 0 {
		if err := t.r.installs.awaitRoom(context.Background()); err != nil {
			return err
		}
	}
	e := &entry{kind: kindPart, id: t.id, parts: t.parts, room: piece}
	p, _, err := t.r.offer(context.Background(), offer{body: e.encode(), term: t.term})
	if err != nil {
		return err
	}
	t.parts++
	s.flying = append(s.flying, p)
	if len(s.flying) < partsInFlight {
		return nil
	}
	err = awaitPart(s.flying[0])
	s.flying = s.flying[1:]
	return err
}

// wait waits for all that were sent.
func (s *partSender) wait() (err error) {
	for _, p := range s.flying {
		if perr := awaitPart(p); err == nil {
			err = perr
		}
	}
	s.flying = nil
	return err
}

// awaitPart gives a definite error: a part alone has no effect, whether it reached the log or not.
func awaitPart(p raftgroup.Proposal) error {
	res, err := await(p)
	if err == nil && res == resVoid || pgerr.Is(err, pgerr.StatementCompletionUnknown) {
		return errStageLost
	}
	return err
}

// dropParts has the log forget the parts of a transaction that will not commit. If that fails the next leader does it.
func (t *Tx) dropParts() {
	if t.parts > 0 {
		_, _, _ = t.r.run(&entry{kind: kindResolve, id: t.id, outcome: txn.Aborted}, 0)
	}
}

// Prepare implements txn.Participant.
func (t *Tx) Prepare(ctx context.Context, req txn.PrepareRequest) error {
	if err := t.r.cfg.Clock.Check(req.C); err != nil {
		return err
	}
	e := &entry{kind: kindPrepare, id: t.id, ts: req.C, anchor: req.Anchor, attempt: req.Attempt, writers: req.Writers}
	t.anchor = req.Anchor
	if t.implied = req.Implied; t.implied {
		e.kind = kindPrepareAll
	}
	if e.again = t.isPrepared(); e.again {
		t.adopted.Store(false) // somebody is at work on it
	} else {
		t.carry = true
		if err := t.encodeStage(); err != nil {
			return err
		}
		e.room, e.stats, e.parts = t.rest, t.delta, t.parts
	}
	p, _, err := t.r.offer(ctx, offer{body: e.encode(), term: t.term, at: e.ts, reads: t.validation(), tx: t})
	if err != nil {
		return err // another attempt finds the parts where they are
	}
	// From here on only a decision ends it, whether or not the log answers.
	t.setPhase(phasePrepared)
	t.ending.Store(true)
	res, err := await(p)
	if err == nil && res == resVoid {
		err = errStageLost
	}
	return err
}

func (t *Tx) isPrepared() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.phase == phasePrepared
}

// encodeStage encodes the stage and logs its parts, at the first attempt.
func (t *Tx) encodeStage() error {
	if t.encoded {
		return t.reenter()
	}
	if err := t.r.room(!t.puts.Load()); err != nil {
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

// Decide implements txn.Participant: the commit point, in the anchor's log.
func (t *Tx) Decide(_ context.Context, d txn.Decision) (txn.Outcome, error) {
	decide := t.r.decide
	if t.implied {
		decide = t.r.decideImplied
	}
	out, err := decide(d)
	if err == nil && out == txn.Aborted && !t.isHeld() {
		t.end()
	}
	return out, err
}

// Resolve implements txn.Participant.
func (t *Tx) Resolve(_ context.Context, d txn.Decision) error {
	if !t.isPrepared() && t.parts == 0 && d.Outcome == txn.Aborted { // nothing of it is in the log
		t.end()
		return nil
	}
	resolve := t.r.Resolve
	if t.implied {
		resolve = t.r.resolveImplied
	}
	err := resolve(d)
	if err == nil && (d.Outcome == txn.Committed || !t.isHeld()) {
		t.end()
	}
	return err
}

// Forget implements txn.Participant.
func (t *Tx) Forget(_ context.Context, d txn.Decision) { t.r.forgets.add(d.ID) }

// decide writes a decision; an abort is stamped above C, so that a late prepare with that C is refused for ever (T7).
func (r *Replica) decide(d txn.Decision) (txn.Outcome, error) {
	above := d.C
	if !rule.T7Above {
		above = 0
	}
	res, _, err := r.run(&entry{kind: kindDecide, id: d.ID, ts: d.C, outcome: d.Outcome, writers: d.Writers}, above)
	switch {
	case err != nil:
		return txn.Unknown, err
	case res == resCommitted:
		return txn.Committed, nil
	case res == resAborted:
		return txn.Aborted, nil
	}
	return txn.Unknown, nil
}

// Resolve applies the anchor's decision here; nothing if the transaction is not prepared here.
func (r *Replica) Resolve(d txn.Decision) error {
	res, _, err := r.run(&entry{kind: kindResolve, id: d.ID, ts: d.C, outcome: d.Outcome}, 0)
	if err == nil && res == resVoid {
		return otherAttempt(d)
	}
	return err
}

// otherAttempt is the error of a resolution that finds another attempt prepared. Where an abort does, that one is undecided.
func otherAttempt(d txn.Decision) error {
	return pgerr.New(pgerr.InternalError, "transaction %s is prepared here at another time than %s", d.ID, d.C)
}

// Outcome answers, as the anchor, what became of transaction id at C. If that is open it is aborted by the asking (T7), unless its commit is
// implied. Unknown where another attempt is prepared: who asks looks again.
func (r *Replica) Outcome(ctx context.Context, id txn.ID, C txn.Timestamp) (txn.Outcome, error) {
	r.smu.RLock()
	p := r.prepared[id]
	r.smu.RUnlock()
	if p != nil && p.implied && p.C == C && rule.T7Implied {
		return r.recoverImplied(ctx, p)
	}
	return r.decide(txn.Decision{ID: id, C: C, Outcome: txn.Aborted})
}

// releaseSettled ends the transaction that the log has settled, whoever proposed it.
func (r *Replica) releaseSettled(id txn.ID) {
	r.tmu.Lock()
	t := r.txs[id]
	r.tmu.Unlock()
	if t != nil {
		t.end()
	}
}
