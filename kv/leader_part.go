package kv

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

// LeaderPart is a transaction's part in one fragment of a cluster of several nodes. It finds the
// leader, and keeps its part there as long as the transaction has something in it. It decides what
// happens when the leader changes (docs/decisions/2026-11-21-node-protocol.md has the table).
type LeaderPart struct {
	of         *Transaction
	fragment   txn.FragmentID
	unanswered atomic.Bool // a request of PREPARE TRANSACTION was not answered

	mu          sync.Mutex
	options     txn.Options    // guarded by mu
	cur         Part           // at the leader that was found; nil: none was needed yet; guarded by mu
	here        bool           // that leader is this node; guarded by mu
	coordinator txn.FragmentID // the coordinator fragment in the last Prepare; guarded by mu
}

// known returns the current part, if there is one.
func (x *LeaderPart) known() Part {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.cur
}

// at returns the part at the leader, and waits while there is no leader.
func (x *LeaderPart) at(ctx context.Context) (Part, error) {
	if p := x.known(); p != nil {
		return p, nil
	}
	leader, err := x.of.client.Find(ctx, x.fragment)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.cur != nil {
		return x.cur, nil
	}
	p, err := leader.Part(x.fragment, x.of.id, x.options)
	if err != nil {
		return nil, err
	}
	x.cur, x.here = p, leader.Node == x.of.client.cfg.Node
	return x.cur, nil
}

// drop drops a part without buffered writes, so that the leader is looked up again.
func (x *LeaderPart) drop(p Part) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.cur == p {
		x.cur = nil
	}
}

// Run calls do with the part at the leader, to run a task there; do reports whether the task has
// passed rows on. A task that was cut off runs again, unless it has buffered writes or passed rows
// on.
func (x *LeaderPart) Run(ctx context.Context, do func(context.Context, Part) (passed bool, err error)) error {
	for pause := (Backoff{}); ; {
		p, err := x.at(ctx)
		if err != nil {
			return err
		}
		passed, err := do(ctx, p)
		switch {
		case err == nil && x.known() != p && p.Volatile(): // a concurrent task has found another leader meanwhile
			p.Rollback()
			return txn.NewLost(x.fragment, true)
		case err == nil:
			return x.of.CheckScope()
		}
		again, err := x.recover(ctx, p, passed, err)
		if !again {
			return err
		}
		if werr := pause.Wait(ctx); werr != nil {
			return x.of.client.GaveUp(x.fragment, werr, err)
		}
	}
}

// recover reports whether a task that failed should run again, or returns its error.
func (x *LeaderPart) recover(ctx context.Context, p Part, passed bool, err error) (bool, error) {
	var lost *txn.LostError
	switch {
	case ctx.Err() != nil:
		return false, err
	case errors.As(err, &lost):
		return false, err
	case storage.BufferLost(err):
		return false, txn.NewLost(x.fragment, true)
	case !LeaderGone(err) && !OutcomeOpen(err):
		return false, err
	case p.Volatile():
		return false, txn.NewLost(x.fragment, true)
	}
	x.of.client.UpdateHint(x.fragment, err)
	x.drop(p)
	if passed {
		return false, txn.NewLost(x.fragment, false)
	}
	return true, err
}

// Fragment implements txn.Participant.
func (x *LeaderPart) Fragment() txn.FragmentID { return x.fragment }

// HasWrites implements txn.Participant.
func (x *LeaderPart) HasWrites() bool {
	p := x.known()
	return p != nil && p.HasWrites()
}

// HasPins implements txn.Participant.
func (x *LeaderPart) HasPins() bool {
	p := x.known()
	return p != nil && p.HasPins()
}

// HasReads implements txn.Participant.
func (x *LeaderPart) HasReads() bool {
	p := x.known()
	return p != nil && p.HasReads()
}

// LowWater implements txn.Participant.
func (x *LeaderPart) LowWater() txn.Timestamp {
	if p := x.known(); p != nil {
		return p.LowWater()
	}
	return 0
}

// Mark returns the position to which RollbackTo and Restart return.
func (x *LeaderPart) Mark() txn.Mark {
	if p := x.known(); p != nil {
		return p.Mark()
	}
	return txn.Mark{}
}

// RollbackTo drops the writes and locks since m. A lost part stays lost: it may still exist at the
// leader, under the same id.
func (x *LeaderPart) RollbackTo(m txn.Mark) {
	if p := x.known(); p != nil {
		p.RollbackTo(m)
	}
}

// Restart drops the writes since m and keeps the locks.
func (x *LeaderPart) Restart(m txn.Mark, forgetReads bool) {
	if p := x.known(); p != nil {
		p.Restart(m, forgetReads)
	}
}

// Rollback implements txn.Participant.
func (x *LeaderPart) Rollback() {
	if p := x.known(); p != nil {
		p.Rollback()
	}
}

// SetLockTimeout bounds the waits for locks from now on.
func (x *LeaderPart) SetLockTimeout(d time.Duration) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.options.LockTimeout = d
	if x.cur != nil {
		x.cur.SetLockTimeout(d)
	}
}

// Width returns how many buckets are written, at least.
func (x *LeaderPart) Width() int {
	if p := x.known(); p != nil {
		return p.Width()
	}
	return 0
}

// Volatile reports whether there is something that would be lost with the leader's term.
func (x *LeaderPart) Volatile() bool {
	p := x.known()
	return p != nil && p.Volatile()
}

// Owned implements Part.
func (x *LeaderPart) Owned(ctx context.Context) error {
	p := x.known()
	if p == nil {
		return nil
	}
	err := p.Owned(ctx)
	if err != nil && (LeaderGone(err) || OutcomeOpen(err) || storage.BufferLost(err)) {
		return txn.NewLost(x.fragment, true)
	}
	return err
}

// Commit implements txn.Participant. If the answer is lost, it asks for the outcome.
func (x *LeaderPart) Commit(ctx context.Context, req txn.CommitRequest) (txn.Timestamp, error) {
	p, err := x.at(ctx)
	if err != nil {
		return 0, err
	}
	C, err := p.Commit(ctx, req)
	switch {
	case err == nil:
		return C, nil
	case OutcomeOpen(err):
		return x.queryCommit(ctx, err)
	case LeaderGone(err), storage.BufferLost(err):
		return 0, txn.NewLost(x.fragment, true)
	}
	return 0, err
}

// queryCommit asks for the outcome of a commit that was not answered. If a leader has applied an entry
// of its own term and does not know the commit, it never will: whatever an earlier leader put into
// the log lies before that entry, or is gone, and the call first ends a part that still exists
// there.
func (x *LeaderPart) queryCommit(ctx context.Context, cause error) (txn.Timestamp, error) {
	ctx, cancel := Decisive(ctx)
	defer cancel()
	id := x.of.id
	for pause := (Backoff{}); ; {
		var out txn.Outcome
		var C txn.Timestamp
		err := x.of.client.Ask(ctx, x.fragment, func(s Sender) (err error) {
			if out, C, err = QueryOutcome(ctx, s, x.fragment, id); err == nil && out == txn.InProgress {
				err = End(ctx, s, x.fragment, id)
			}
			return err
		})
		switch {
		case err == nil && out == txn.Committed:
			return C, nil
		case err == nil && out != txn.InProgress:
			return 0, txn.NewLost(x.fragment, true)
		case pause.Wait(ctx) != nil:
			if pgerr.Is(cause, pgerr.StatementCompletionUnknown) {
				return 0, cause
			}
			return 0, txn.Unanswered(id, cause)
		}
	}
}

// Check implements txn.Participant.
func (x *LeaderPart) Check(ctx context.Context, C txn.Timestamp) error {
	p, err := x.at(ctx)
	if err == nil {
		err = p.Check(ctx, C)
	}
	if err != nil && (LeaderGone(err) || OutcomeOpen(err) || storage.BufferLost(err)) {
		return txn.NewLost(x.fragment, true)
	}
	return err
}

// Prepare implements txn.Participant. If there is no answer, it asks the leader whether the
// transaction is prepared. If not, it never will be at this C, but may have been.
func (x *LeaderPart) Prepare(ctx context.Context, req txn.PrepareRequest) error {
	x.mu.Lock()
	x.coordinator = req.Coordinator
	x.mu.Unlock()
	p, err := x.at(ctx)
	if err == nil {
		err = p.Prepare(ctx, req)
	}
	switch {
	case err == nil:
		return nil
	case OutcomeOpen(err):
		cause := err
		ctx, cancel := Decisive(ctx)
		defer cancel()
		yes := false
		err := x.of.client.Ask(ctx, x.fragment, func(s Sender) (err error) {
			yes, err = HasPrepared(ctx, s, x.fragment, x.of.id, req.C)
			return err
		})
		switch {
		case err != nil:
			return txn.Unanswered(x.of.id, cause)
		case !yes:
			return &txn.LateNoError{Err: txn.NewLost(x.fragment, true)}
		}
		return nil
	case LeaderGone(err), storage.BufferLost(err):
		return txn.NewLost(x.fragment, true)
	}
	return err
}

// Decide implements txn.Participant: it repeats the same decision until it is answered. The first
// one counts (T7).
func (x *LeaderPart) Decide(ctx context.Context, d txn.Decision) (out txn.Outcome, err error) {
	ctx, cancel := Decisive(ctx)
	defer cancel()
	if p := x.known(); p != nil {
		if out, err = p.Decide(ctx, d); err == nil || !LeaderGone(err) && !OutcomeOpen(err) {
			return out, err
		}
	}
	err = x.of.client.Ask(ctx, x.fragment, func(s Sender) (err error) {
		out, err = Decide(ctx, s, x.fragment, d)
		return err
	})
	return out, err
}

// Resolve implements txn.Participant.
func (x *LeaderPart) Resolve(ctx context.Context, d txn.Decision) error {
	if p := x.known(); p != nil {
		if err := p.Resolve(ctx, d); err == nil || !LeaderGone(err) && !OutcomeOpen(err) {
			return err
		}
	}
	return x.of.client.Ask(ctx, x.fragment, func(s Sender) error { return Resolve(ctx, s, x.fragment, d) })
}

// LogOutcome implements txn.Participant.
func (x *LeaderPart) LogOutcome(d txn.Decision, then func(txn.Outcome, error)) {
	x.mu.Lock()
	p, here, decides := x.cur, x.here, x.coordinator == x.fragment
	x.mu.Unlock()
	again := func() {
		if decides {
			then(x.Decide(context.Background(), d))
			return
		}
		ctx, cancel := Decisive(context.Background())
		defer cancel()
		then(d.Outcome, x.Resolve(ctx, d))
	}
	if !here {
		go again()
		return
	}
	p.LogOutcome(d, func(out txn.Outcome, err error) {
		if err != nil && (LeaderGone(err) || OutcomeOpen(err)) {
			go again()
			return
		}
		then(out, err)
	})
}

// Forget implements txn.Participant. If the leader does not forget it now, it does when the record
// expires.
func (x *LeaderPart) Forget(ctx context.Context, d txn.Decision) {
	if p := x.known(); p != nil {
		p.Forget(ctx, d)
	}
}

// PrepareTransaction is the first step of PREPARE TRANSACTION.
func (x *LeaderPart) PrepareTransaction(ctx context.Context, req storage.PreparationRequest) error {
	p, err := x.at(ctx)
	if err == nil {
		err = p.PrepareTransaction(ctx, req)
	}
	if err != nil && OutcomeOpen(err) {
		x.unanswered.Store(true)
	}
	if err != nil && (LeaderGone(err) || storage.BufferLost(err)) {
		return txn.NewLost(x.fragment, true)
	}
	return err
}

// CompletePrepared is the last step of PREPARE TRANSACTION, in the coordinator fragment.
func (x *LeaderPart) CompletePrepared(ctx context.Context) error {
	p, err := x.at(ctx)
	if err != nil {
		return err
	}
	return p.CompletePrepared(ctx)
}

// DropPrepared undoes PrepareTransaction.
func (x *LeaderPart) DropPrepared(ctx context.Context) error {
	ask := func(do func(Sender) error) error { return x.of.client.Ask(ctx, x.fragment, do) }
	if x.unanswered.Load() {
		if err := dropUntilGone(ctx, x.fragment, x.of.id, ask); err != nil {
			return txn.Unanswered(x.of.id, err)
		}
		return nil
	}
	return ask(func(s Sender) error { return DropPrepared(ctx, s, x.fragment, x.of.id) })
}

// dropUntilGone drops what an unanswered request to prepare has put into the log, or will put
// there: the leader may still be working on it. It ends the part, so that a request that has not
// started finds none, and asks the leader until nothing of the transaction is in progress there.
func dropUntilGone(ctx context.Context, f txn.FragmentID, id txn.ID, ask func(func(Sender) error) error) error {
	ctx, cancel := Decisive(ctx)
	defer cancel()
	for pause := (Backoff{}); ; {
		var out txn.Outcome
		err := ask(func(s Sender) (err error) {
			if err = End(ctx, s, f, id); err == nil {
				err = DropPrepared(ctx, s, f, id)
			}
			if err == nil {
				out, _, err = QueryOutcome(ctx, s, f, id)
			}
			return err
		})
		if err != nil || out != txn.InProgress {
			return err
		}
		if err := pause.Wait(ctx); err != nil {
			return err
		}
	}
}

// DetachPrepared leaves the prepared part to the log.
func (x *LeaderPart) DetachPrepared() {
	if p := x.known(); p != nil {
		p.DetachPrepared()
	}
}
