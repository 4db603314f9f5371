package distexec

import (
	"context"

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
