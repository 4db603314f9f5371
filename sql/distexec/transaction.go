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

// Run implements exec.Fragment.
func (p *taskPart) Run(ctx context.Context, task *exec.Task, emit exec.Emit) (exec.Result, error) {
	leader, routed := p.part.(*kv.LeaderPart)
	if !routed {
		return p.of.run(ctx, p.part, task, emit)
	}
	var res exec.Result
	passed := false
	watched := func(row types.Row) error {
		passed = true
		return emit(row)
	}
	err := leader.Run(ctx, func(ctx context.Context, at kv.Part) (_ bool, err error) {
		res, err = p.of.run(ctx, at, task, watched)
		return passed, err
	})
	return res, err
}

// run runs a task in a part on this node or another one.
func (t *Transaction) run(ctx context.Context, p kv.Part, task *exec.Task, emit exec.Emit) (exec.Result, error) {
	if here, ok := p.(*fragment.Part); ok {
		if err := Admit(ctx, here.Replica(), task); err != nil {
			return exec.Result{}, err
		}
		return runTask(ctx, here, t, task, emit)
	}
	res, err := t.gateway.streams.Run(ctx, p.(*remote.Part), false, task, emit)
	if replan := (*failure.Replan)(nil); errors.As(err, &replan) && ctx.Err() == nil {
		// The caller plans again, with the definitions that are valid there.
		if _, werr := t.gateway.cfg.Catalog.WaitVersion(ctx, replan.Version); werr != nil {
			err = werr
		}
	}
	return res, err
}
