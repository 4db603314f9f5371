package distexec

import (
	"context"
	"errors"

	"github.com/sherddb/sherd/cluster/remote"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/kv"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

// followerPart is a fragment for tasks that read at a timestamp which may be in the past: the nearest
// replica runs them, whether it leads or not (T9), and the leader if that replica cannot.
type followerPart struct {
	of       *Transaction
	fragment txn.FragmentID
}

// Run implements exec.Fragment.
func (p followerPart) Run(ctx context.Context, task *exec.Task, emit exec.Emit) (exec.Result, error) {
	passed := false
	watched := func(row types.Row) error {
		passed = true
		return emit(row)
	}
	res, tried, err := p.runNearest(ctx, task, watched)
	switch {
	case tried && err == nil:
		return res, nil
	case tried && (ctx.Err() != nil || !kv.LeaderGone(err) && !kv.OutcomeOpen(err) && !movedAway(err)):
		return res, err
	case passed:
		return res, txn.NewLost(p.fragment, false)
	}
	f, err := p.of.Fragment(p.fragment)
	if err != nil {
		return exec.Result{}, err
	}
	return f.Run(ctx, task, emit)
}

// movedAway reports whether an error says that buckets are elsewhere, according to the replica,
// which may be behind.
func movedAway(err error) bool {
	var moved *txn.MovedError
	return errors.As(err, &moved)
}

// runNearest has the nearest replica run a task; tried is false if that is the leader, or no replica
// is nearer than the leader.
func (p followerPart) runNearest(ctx context.Context, task *exec.Task, emit exec.Emit) (
	res exec.Result, tried bool, err error,
) {
	g := p.of.gateway
	id, ok := g.Followers().Nearest(p.fragment)
	if !ok {
		return res, false, nil
	}
	if id == g.cfg.Node {
		r := g.cfg.Here.Replicas().Get(p.fragment)
		if r == nil { // it was dropped meanwhile
			return res, false, nil
		}
		res, err = g.ReadReplica(ctx, r, task, emit)
		return res, true, err
	}
	n, err := g.cfg.Nodes.Node(id)
	if err != nil {
		return res, true, err
	}
	part, err := n.Part(p.fragment, p.of.ID(), p.of.Options())
	if err == nil {
		res, err = g.streams.Run(ctx, part.(*remote.Part), true, task, emit)
	}
	return res, true, err
}

// ReadReplica runs a task that changes nothing at a replica here, which need not lead: at its
// timestamp, once that is closed (T9). It returns 57P03 if the replica does not get that far;
// nothing was read then.
func (g *Gateway) ReadReplica(ctx context.Context, r *storage.Replica, task *exec.Task, emit exec.Emit) (
	exec.Result, error,
) {
	if task.T == 0 || len(task.Writes) > 0 {
		return exec.Result{}, pgerr.New(pgerr.ProtocolViolation, "a task for any replica names no timestamp, or writes")
	}
	if r.Group.Term() != 0 {
		if err := Admit(ctx, r, task); err != nil {
			return exec.Result{}, err
		}
		return RunTask(ctx, g.cfg.Here.NewPart(r, r.Tx(task.Txn)), task, emit)
	}
	if err := g.Followers().CatchUp(ctx, r, task.T, task.Epoch); err != nil {
		return exec.Result{}, err
	}
	res, err := exec.RunTask(ctx, closedTx{r: r, id: task.Txn, buckets: task.Buckets}, task, emit)
	res.Node = g.nodeName() + " (follower)"
	return res, err
}

// closedTx is the exec.Tx of a task that changes nothing, over a replica that need not lead. A call
// that would change something panics, which ends the task: there is no Tx behind it.
type closedTx struct {
	exec.Tx
	r       *storage.Replica
	id      txn.ID
	buckets shardmap.BucketSet // that the task reads
}

// View opens a reader at T. Its reads do not count as heat: heat belongs to the leader, for what
// could move.
func (x closedTx) View(ctx context.Context, T txn.Timestamp) (exec.View, error) {
	v, err := x.r.ClosedView(ctx, x.id, T, x.buckets.Intervals())
	if err != nil {
		return nil, err
	}
	return v, nil
}

// Global implements exec.Tx.
func (x closedTx) Global(table, index uint32) { x.r.Globals.Add(table, index) }
