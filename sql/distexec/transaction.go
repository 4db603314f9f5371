package distexec

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/sherddb/sherd/cluster/failure"
	"github.com/sherddb/sherd/cluster/remote"
	"github.com/sherddb/sherd/fragment"
	"github.com/sherddb/sherd/kv"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// Transaction is a transaction whose parts run tasks of plans.
type Transaction struct {
	kv.Transaction
	gateway *Gateway
	first   taskPart // of the fragment that is used first, because most transactions use one
	taken   atomic.Bool
}

var _ exec.Transaction = (*Transaction)(nil)

// Fragment returns a fragment as the transaction sees it.
func (t *Transaction) Fragment(id txn.FragmentID) (exec.Fragment, error) {
	p, err := t.Part(id)
	if err != nil {
		return nil, err
	}
	x := &t.first
	if !t.taken.CompareAndSwap(false, true) {
		x = &taskPart{}
	}
	x.of, x.part = t, p
	return x, nil
}

// Follower returns a fragment for tasks that name their timestamp and change nothing.
func (t *Transaction) Follower(id txn.FragmentID) (exec.Fragment, error) {
	if !t.gateway.Followers().Exist() {
		return t.Fragment(id)
	}
	return followerPart{t, id}, nil
}

// taskPart is a part of a transaction that runs tasks.
type taskPart struct {
	of   *Transaction
	part kv.Part
}

// Here reports whether tasks run on this node, which leads the fragment.
func (p *taskPart) Here() bool {
	_, ok := p.part.(*fragment.Part)
	return ok
}

// Run implements exec.Fragment.
func (p *taskPart) Run(ctx context.Context, task *exec.Task, emit exec.Emit) (exec.Result, error) {
	switch at := p.part.(type) {
	case *fragment.Part:
		return runTask(ctx, at, p.of, task, emit)
	case *kv.LeaderPart:
		return p.of.runAtLeader(ctx, at, task, emit)
	}
	return p.of.runElsewhere(ctx, p.part.(*remote.Part), task, emit)
}

// runAtLeader runs a task in the part that leader finds, on this node or another one. It tries again
// at a new leader while no row has been passed on.
func (t *Transaction) runAtLeader(
	ctx context.Context, leader *kv.LeaderPart, task *exec.Task, emit exec.Emit,
) (exec.Result, error) {
	var res exec.Result
	passed := false
	watched := func(row types.Row) error {
		passed = true
		return emit(row)
	}
	err := leader.Run(ctx, func(ctx context.Context, at kv.Part) (_ bool, err error) {
		if here, ok := at.(*fragment.Part); ok {
			res, err = runTask(ctx, here, t, task, watched)
		} else {
			res, err = t.runElsewhere(ctx, at.(*remote.Part), task, watched)
		}
		return passed, err
	})
	return res, err
}

// runElsewhere runs a task in a part on another node.
func (t *Transaction) runElsewhere(
	ctx context.Context, p *remote.Part, task *exec.Task, emit exec.Emit,
) (exec.Result, error) {
	res, err := t.gateway.streams.Run(ctx, p, false, task, emit)
	if replan := (*failure.Replan)(nil); errors.As(err, &replan) && ctx.Err() == nil {
		// The caller plans again, with the definitions that are valid there.
		if _, werr := t.gateway.cfg.Catalog.WaitVersion(ctx, replan.Version); werr != nil {
			err = werr
		}
	}
	return res, err
}
