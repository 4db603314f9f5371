package cluster

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sherddb/sherd/cluster/failure"
	"github.com/sherddb/sherd/cluster/remote"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/kv"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

// handle is a transaction's participant in one fragment of a cluster of several nodes. It finds the
// leader, and keeps it as long as the transaction has something there. It decides what happens when
// the leader changes (docs/decisions/2026-11-21-node-protocol.md has the table).
type handle struct {
	of       *Transaction
	fragment txn.FragmentID
	holding  atomic.Bool // a request to prepare (Hold) was not answered

	mu      sync.Mutex
	options exec.TransactionOptions // guarded by mu
	cur     part                    // at the leader that was found; nil: none was needed yet; guarded by mu
	anchor  txn.FragmentID          // the coordinator fragment in the last Prepare; guarded by mu
}

var _ part = (*handle)(nil)

// known returns the current part, if there is one.
func (x *handle) known() part {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.cur
}

// at returns the part at the leader, and waits while there is no leader.
func (x *handle) at(ctx context.Context) (part, error) {
	if p := x.known(); p != nil {
		return p, nil
	}
	leader, err := x.of.host.Find(ctx, x.fragment)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.cur != nil {
		return x.cur, nil
	}
	if n, there := leader.Sender.(*remote.Node); there {
		x.cur = &remotePart{n.Part(x.fragment, x.of.id, x.options)}
		return x.cur, nil
	}
	r, err := x.of.host.Replica(x.fragment)
	if err != nil {
		return nil, err
	}
	x.cur = newLocalPart(r, x.of, x.options)
	return x.cur, nil
}

// leave drops a part without buffered writes, so that the leader is looked up again.
func (x *handle) leave(p part) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.cur == p {
		x.cur = nil
	}
}

// Run implements exec.Fragment. A task that was cut off runs again, unless it has buffered writes
// or passed rows on.
func (x *handle) Run(ctx context.Context, task *exec.Task, emit exec.Emit) (exec.Result, error) {
	passed := false
	watched := func(row types.Row) error {
		passed = true
		return emit(row)
	}
	for pause := (kv.Backoff{}); ; {
		p, err := x.at(ctx)
		if err != nil {
			return exec.Result{}, err
		}
		res, err := p.Run(ctx, task, watched)
		switch {
		case err == nil && x.known() != p && p.staged(): // a concurrent task has found another leader meanwhile
			p.Rollback()
			return res, txn.NewLost(x.fragment, true)
		case err == nil:
			return res, x.judge(p)
		}
		again, err := x.recover(ctx, p, passed, err)
		if !again {
			return res, err
		}
		if werr := pause.Wait(ctx); werr != nil {
			return res, x.of.host.GaveUp(x.fragment, werr, err)
		}
	}
}

// recover reports whether a task that failed should run again, or returns its error.
func (x *handle) recover(ctx context.Context, p part, passed bool, err error) (bool, error) {
	var lost *txn.LostError
	var replan *failure.Replan
	switch {
	case ctx.Err() != nil:
		return false, err
	case errors.As(err, &replan): // the caller plans again, with the definitions that are valid there
		if _, werr := x.of.host.cfg.Catalog.WaitVersion(ctx, replan.Version); werr != nil {
			return false, werr
		}
		return false, err
	case errors.As(err, &lost):
		return false, err
	case storage.StageLost(err):
		return false, txn.NewLost(x.fragment, true)
	case !kv.LeaderGone(err) && !kv.OutcomeOpen(err):
		return false, err
	case p.staged():
		return false, txn.NewLost(x.fragment, true)
	}
	x.of.host.UpdateHint(x.fragment, err)
	x.leave(p)
	if passed {
		return false, txn.NewLost(x.fragment, false)
	}
	return true, err
}

// judge checks what was written on another node against the transaction's scope.
func (x *handle) judge(p part) error {
	if _, here := p.(*localPart); here {
		return nil // checked at each write
	}
	x.of.mu.Lock()
	defer x.of.mu.Unlock()
	return x.of.checkScope()
}

// Fragment implements txn.Participant.
func (x *handle) Fragment() txn.FragmentID { return x.fragment }

// HasWrites implements txn.Participant.
func (x *handle) HasWrites() bool {
	p := x.known()
	return p != nil && p.HasWrites()
}

// HasPins implements txn.Participant.
func (x *handle) HasPins() bool {
	p := x.known()
	return p != nil && p.HasPins()
}

// HasReads implements txn.Participant.
func (x *handle) HasReads() bool {
	p := x.known()
	return p != nil && p.HasReads()
}

// Promised implements txn.Participant.
func (x *handle) Promised() txn.Timestamp {
	if p := x.known(); p != nil {
		return p.Promised()
	}
	return 0
}

// Mark returns the position to which RollbackTo and Restart return.
func (x *handle) Mark() txn.Mark {
	if p := x.known(); p != nil {
		return p.Mark()
	}
	return txn.Mark{}
}

// RollbackTo drops the writes and locks since m. A lost part stays lost: it may still exist at the
// leader, under the same id.
func (x *handle) RollbackTo(m txn.Mark) {
	if p := x.known(); p != nil {
		p.RollbackTo(m)
	}
}

// Restart drops the writes since m and keeps the locks.
func (x *handle) Restart(m txn.Mark, forgetReads bool) {
	if p := x.known(); p != nil {
		p.Restart(m, forgetReads)
	}
}

// Rollback implements txn.Participant.
func (x *handle) Rollback() {
	if p := x.known(); p != nil {
		p.Rollback()
	}
}

// SetLockTimeout bounds the waits for locks from now on.
func (x *handle) SetLockTimeout(d time.Duration) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.options.LockTimeout = d
	if x.cur != nil {
		x.cur.SetLockTimeout(d)
	}
}

func (x *handle) width() int {
	if p := x.known(); p != nil {
		return p.width()
	}
	return 0
}

func (x *handle) staged() bool {
	p := x.known()
	return p != nil && p.staged()
}

func (x *handle) owned(ctx context.Context) error {
	p := x.known()
	if p == nil {
		return nil
	}
	err := p.owned(ctx)
	if err != nil && (kv.LeaderGone(err) || kv.OutcomeOpen(err) || storage.StageLost(err)) {
		return txn.NewLost(x.fragment, true)
	}
	return err
}

// Commit implements txn.Participant. If the answer is lost, it asks for the outcome.
func (x *handle) Commit(ctx context.Context, req txn.CommitRequest) (txn.Timestamp, error) {
	p, err := x.at(ctx)
	if err != nil {
		return 0, err
	}
	C, err := p.Commit(ctx, req)
	switch {
	case err == nil:
		return C, nil
	case kv.OutcomeOpen(err):
		return x.recall(ctx, err)
	case kv.LeaderGone(err), storage.StageLost(err):
		return 0, txn.NewLost(x.fragment, true)
	}
	return 0, err
}

// recall asks for the outcome of a commit that was not answered. If a leader has applied an entry
// of its own term and does not know the commit, it never will: whatever an earlier leader put into
// the log lies before that entry, or is gone, and the call first ends a part that still exists
// there.
func (x *handle) recall(ctx context.Context, cause error) (txn.Timestamp, error) {
	ctx, cancel := kv.Decisive(ctx)
	defer cancel()
	id := x.of.id
	for pause := (kv.Backoff{}); ; {
		var out txn.Outcome
		var C txn.Timestamp
		err := x.of.host.Ask(ctx, x.fragment, func(s kv.Sender) (err error) {
			if out, C, err = kv.QueryOutcome(ctx, s, x.fragment, id); err == nil && out == txn.InProgress {
				err = kv.End(ctx, s, x.fragment, id)
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
func (x *handle) Check(ctx context.Context, C txn.Timestamp) error {
	p, err := x.at(ctx)
	if err == nil {
		err = p.Check(ctx, C)
	}
	if err != nil && (kv.LeaderGone(err) || kv.OutcomeOpen(err) || storage.StageLost(err)) {
		return txn.NewLost(x.fragment, true)
	}
	return err
}

// Prepare implements txn.Participant. If there is no answer, it asks the leader whether the
// transaction is prepared. If not, it never will be at this C, but may have been.
func (x *handle) Prepare(ctx context.Context, req txn.PrepareRequest) error {
	x.mu.Lock()
	x.anchor = req.Anchor
	x.mu.Unlock()
	p, err := x.at(ctx)
	if err == nil {
		err = p.Prepare(ctx, req)
	}
	switch {
	case err == nil:
		return nil
	case kv.OutcomeOpen(err):
		cause := err
		ctx, cancel := kv.Decisive(ctx)
		defer cancel()
		yes := false
		err := x.of.host.Ask(ctx, x.fragment, func(s kv.Sender) (err error) {
			yes, err = kv.HasPrepared(ctx, s, x.fragment, x.of.id, req.C)
			return err
		})
		switch {
		case err != nil:
			return txn.Unanswered(x.of.id, cause)
		case !yes:
			return &txn.LateNoError{Err: txn.NewLost(x.fragment, true)}
		}
		return nil
	case kv.LeaderGone(err), storage.StageLost(err):
		return txn.NewLost(x.fragment, true)
	}
	return err
}

// Decide implements txn.Participant: it repeats the same decision until it is answered. The first
// one counts (T7).
func (x *handle) Decide(ctx context.Context, d txn.Decision) (out txn.Outcome, err error) {
	ctx, cancel := kv.Decisive(ctx)
	defer cancel()
	if p := x.known(); p != nil {
		if out, err = p.Decide(ctx, d); err == nil || !kv.LeaderGone(err) && !kv.OutcomeOpen(err) {
			return out, err
		}
	}
	err = x.of.host.Ask(ctx, x.fragment, func(s kv.Sender) (err error) {
		out, err = kv.Decide(ctx, s, x.fragment, d)
		return err
	})
	return out, err
}

// Resolve implements txn.Participant.
func (x *handle) Resolve(ctx context.Context, d txn.Decision) error {
	if p := x.known(); p != nil {
		if err := p.Resolve(ctx, d); err == nil || !kv.LeaderGone(err) && !kv.OutcomeOpen(err) {
			return err
		}
	}
	return x.of.host.Ask(ctx, x.fragment, func(s kv.Sender) error { return kv.Resolve(ctx, s, x.fragment, d) })
}

// Settle implements txn.Participant.
func (x *handle) Settle(d txn.Decision, then func(txn.Outcome, error)) {
	x.mu.Lock()
	p, decides := x.cur, x.anchor == x.fragment
	x.mu.Unlock()
	again := func() {
		if decides {
			then(x.Decide(context.Background(), d))
			return
		}
		ctx, cancel := kv.Decisive(context.Background())
		defer cancel()
		then(d.Outcome, x.Resolve(ctx, d))
	}
	local, here := p.(*localPart)
	if !here {
		go again()
		return
	}
	local.Settle(d, func(out txn.Outcome, err error) {
		if err != nil && (kv.LeaderGone(err) || kv.OutcomeOpen(err)) {
			go again()
			return
		}
		then(out, err)
	})
}

// Forget implements txn.Participant. If the leader does not forget it now, it does when the record
// expires.
func (x *handle) Forget(ctx context.Context, d txn.Decision) {
	if p := x.known(); p != nil {
		p.Forget(ctx, d)
	}
}

// Hold is the first step of PREPARE TRANSACTION.
func (x *handle) Hold(ctx context.Context, req storage.HoldRequest) error {
	p, err := x.at(ctx)
	if err == nil {
		err = p.Hold(ctx, req)
	}
	if err != nil && kv.OutcomeOpen(err) {
		x.holding.Store(true)
	}
	if err != nil && (kv.LeaderGone(err) || storage.StageLost(err)) {
		return txn.NewLost(x.fragment, true)
	}
	return err
}

// HoldComplete is the last step of PREPARE TRANSACTION, at the home.
func (x *handle) HoldComplete(ctx context.Context) error {
	p, err := x.at(ctx)
	if err != nil {
		return err
	}
	return p.HoldComplete(ctx)
}

func (x *handle) unhold(ctx context.Context) error {
	ask := func(do func(kv.Sender) error) error { return x.of.host.Ask(ctx, x.fragment, do) }
	if x.holding.Load() {
		if err := unholdUntilGone(ctx, x.fragment, x.of.id, ask); err != nil {
			return txn.Unanswered(x.of.id, err)
		}
		return nil
	}
	return ask(func(s kv.Sender) error { return kv.DropPrepared(ctx, s, x.fragment, x.of.id) })
}

// unholdUntilGone drops what an unanswered request to prepare has put into the log, or will put
// there: the leader may still be working on it. It ends the part, so that a request that has not
// started finds none, and asks the leader until nothing of the transaction is in progress there.
func unholdUntilGone(ctx context.Context, f txn.FragmentID, id txn.ID, ask func(func(kv.Sender) error) error) error {
	ctx, cancel := kv.Decisive(ctx)
	defer cancel()
	for pause := (kv.Backoff{}); ; {
		var out txn.Outcome
		err := ask(func(s kv.Sender) (err error) {
			if err = kv.End(ctx, s, f, id); err == nil {
				err = kv.DropPrepared(ctx, s, f, id)
			}
			if err == nil {
				out, _, err = kv.QueryOutcome(ctx, s, f, id)
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

// Detach leaves the prepared part to the log.
func (x *handle) Detach() {
	if p := x.known(); p != nil {
		p.Detach()
	}
}
