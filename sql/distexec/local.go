package distexec

import (
	"context"

	"github.com/sherddb/sherd/fragment"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/txn"
)

// RunTask runs a task in a transaction's part. If it has written where a prepared transaction has
// read, it waits for the end of that transaction.
func RunTask(ctx context.Context, p *fragment.Part, task *exec.Task, emit exec.Emit) (exec.Result, error) {
	return runTask(ctx, p, nil, task, emit)
}

// runTask is RunTask for a transaction of this node: it admits the task, and the transaction must
// not become wider than its scope. of is nil if the gateway is another node. That node checks the
// scope, and the task is admitted.
func runTask(ctx context.Context, p *fragment.Part, of *Transaction, task *exec.Task, emit exec.Emit) (
	exec.Result, error,
) {
	if of != nil {
		if err := Admit(ctx, p.Replica(), task); err != nil {
			return exec.Result{}, err
		}
	}
	if err := p.Owned(ctx); err != nil {
		return exec.Result{}, err
	}
	res, err := exec.RunTask(ctx, taskTx{p, of, task.Buckets, task.Limits.Unvalidated}, task, emit)
	if err == nil {
		err = p.AwaitReaders(ctx)
	}
	p.CountScan(task.Buckets, res.Rows)
	return res, p.TaskError(err, task.Changes())
}

// taskTx is a part as one task uses it.
type taskTx struct {
	*fragment.Part
	of          *Transaction       // nil: its scope is checked elsewhere
	buckets     shardmap.BucketSet // that the task may read
	unvalidated bool
}

// Generation implements table.Generations.
func (x taskTx) Generation(b shardmap.Bucket) (generation uint32, ok bool) {
	return x.Part.WriteGeneration(uint32(b)), true
}

// View opens a reader at T.
func (x taskTx) View(ctx context.Context, T txn.Timestamp) (exec.View, error) {
	v, err := x.ViewOf(ctx, T, x.buckets.Intervals())
	if err != nil {
		return nil, err
	}
	if x.unvalidated {
		v.Unvalidated()
	}
	v.Count(x.Part)
	return v, nil
}

// Put buffers a value.
func (x taskTx) Put(key, value []byte) error {
	if err := x.record(key); err != nil {
		return err
	}
	return x.Tx.Put(key, value)
}

// Delete buffers a removal.
func (x taskTx) Delete(key []byte) error {
	if err := x.record(key); err != nil {
		return err
	}
	return x.Tx.Delete(key)
}

// record checks a write before it is buffered.
func (x taskTx) record(key []byte) error {
	if !x.Record(key) || x.of == nil {
		return nil
	}
	return x.of.CheckScope()
}
