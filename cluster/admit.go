package cluster

import (
	"context"
	"errors"

	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

// Admit readies a task for a fragment that is led here: the fragment's own log says whether it has the buckets (C1), whatever map the task was made
// by; *txn.MovedError where it has not. It takes the timestamp where that is left to the fragment.
func Admit(ctx context.Context, r *storage.Replica, task *exec.Task) error {
	buckets, T := task.Buckets.Intervals(), task.T
	if T == txn.MaxTimestamp { // it only writes, or looks at the newest state
		return r.Admit(ctx, buckets, 0, true)
	}
	if T == 0 {
		newest, err := r.SnapshotOf(ctx, buckets)
		if err != nil {
			return err
		}
		// 0, of a fragment that holds nothing yet, would look as if no timestamp had been taken.
		T = max(newest, task.Floor, 1)
	}
	if err := r.Admit(ctx, buckets, T, task.Changes()); err != nil {
		return err
	}
	if task.T == 0 {
		task.T = T
		task.Start(T)
	}
	return nil
}

// away is the error of a transaction of which something has moved away from the fragment, for what storage says of that.
func away(f txn.FragmentID, err error) error {
	if storage.RowsMoved(err) {
		return txn.NewAway(f)
	}
	return err
}

// away is away of a task. Where buckets have moved under one that changes the stage, what of it was done cannot be told from the rest: the statement
// starts again.
func (s *Stage) away(task *exec.Task, err error) error {
	if moved := (*txn.MovedError)(nil); errors.As(err, &moved) && task.Changes() {
		return txn.NewUnder(s.Fragment())
	}
	return away(s.Fragment(), err)
}

// Owned tells whether what the transaction has staged, locked and read here is still the fragment's; *txn.LostError if not.
func (s *Stage) Owned() error { return away(s.Fragment(), s.Tx.Owned()) }

// Check implements txn.Participant.
func (s *Stage) Check(ctx context.Context, C txn.Timestamp) error {
	return away(s.Fragment(), s.Tx.Check(ctx, C))
}

// Hold is the first step of PREPARE TRANSACTION.
func (s *Stage) Hold(ctx context.Context, req storage.HoldRequest) error {
	return away(s.Fragment(), s.Tx.Hold(ctx, req))
}

// Owned tells whether what the transaction has staged, locked and read in fragments is still theirs; *txn.LostError if not. Only those are asked in
// which there is something.
func (t *Transaction) Owned(ctx context.Context, fragments []txn.FragmentID) error {
	for _, id := range fragments {
		t.mu.Lock()
		p := t.parts[id]
		t.mu.Unlock()
		if p == nil || !p.staged() {
			continue
		}
		if err := p.owned(ctx); err != nil {
			return err
		}
	}
	return nil
}
