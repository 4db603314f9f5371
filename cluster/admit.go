package cluster

import (
	"context"
	"errors"

	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

// Admit prepares a task for a fragment that this node leads. The fragment's own log decides whether
// it owns the buckets (C1), whichever bucket map the task was made with; if it does not, Admit
// returns *txn.MovedError. If the task leaves the timestamp to the fragment, Admit takes it.
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
		// A fragment that is still empty reports 0, which would look as if no timestamp had been
		// taken.
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

// away converts a report of storage that something of a transaction has moved away from the
// fragment into the transaction's error.
func away(f txn.FragmentID, err error) error {
	if storage.RowsMoved(err) {
		return txn.NewAway(f)
	}
	return err
}

// away converts the error of a task. If buckets moved while a task was changing the write buffer,
// its part of the buffer cannot be told from the rest, so the statement starts again.
func (s *Stage) away(task *exec.Task, err error) error {
	if moved := (*txn.MovedError)(nil); errors.As(err, &moved) && task.Changes() {
		return txn.NewUnder(s.Fragment())
	}
	return away(s.Fragment(), err)
}

// Owned checks that the fragment still owns what the transaction has buffered, locked and read
// here; if not, it returns *txn.LostError.
func (s *Stage) Owned() error { return away(s.Fragment(), s.Tx.Owned()) }

// Check implements txn.Participant.
func (s *Stage) Check(ctx context.Context, C txn.Timestamp) error {
	return away(s.Fragment(), s.Tx.Check(ctx, C))
}

// Hold is the first step of PREPARE TRANSACTION.
func (s *Stage) Hold(ctx context.Context, req storage.HoldRequest) error {
	return away(s.Fragment(), s.Tx.Hold(ctx, req))
}

// Owned checks that the fragments still own what the transaction has buffered, locked and read in
// them; if not, it returns *txn.LostError. It asks only fragments that the transaction has used.
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
