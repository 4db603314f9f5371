package cluster

import (
	"context"
	"time"

	"github.com/sherddb/sherd/cluster/heat"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

// Stage is a transaction's part in a fragment that is led here: its write buffer, its locks and its
// reads. The gateway may be another node.
type Stage struct {
	*storage.Tx
	places places
	meter  *heat.Meter  // of the fragment; nil: accesses are not counted
	busy   *busy        // records how long commits take; nil: not recorded
	of     *Transaction // checks whether it may become wider; nil: its gateway is another node, which checks by itself
}

// NewStage creates the part of a transaction whose gateway is another node.
func (h *Host) NewStage(tx *storage.Tx) *Stage {
	return &Stage{Tx: tx, meter: h.meter(tx.Fragment()), busy: h.busy}
}

// Commit commits a transaction that writes in this fragment only.
func (s *Stage) Commit(ctx context.Context, req txn.CommitRequest) (txn.Timestamp, error) {
	defer s.busy.since(time.Now())
	C, err := s.Tx.Commit(ctx, req)
	return C, away(s.Fragment(), err)
}

// Prepare prepares here.
func (s *Stage) Prepare(ctx context.Context, req txn.PrepareRequest) error {
	defer s.busy.since(time.Now())
	return away(s.Fragment(), s.Tx.Prepare(ctx, req))
}

// Run runs a task here. If it has written where a prepared transaction has read, it waits for the
// end of that transaction.
func (s *Stage) Run(ctx context.Context, task *exec.Task, emit exec.Emit) (exec.Result, error) {
	if err := s.Owned(); err != nil {
		return exec.Result{}, err
	}
	res, err := exec.RunTask(ctx, taskTx{s.Tx, s, task.Buckets, task.Limits.Unvalidated}, task, emit)
	if err == nil {
		err = s.AwaitReaders(ctx)
	}
	s.countScan(task, res)
	return res, s.away(task, err)
}

// Written reports whether the transaction writes here, and into which buckets: the first two,
// because callers only need to distinguish one from more than one.
func (s *Stage) Written() (buckets []uint32, written bool) {
	p := &s.places
	p.mu.Lock()
	defer p.mu.Unlock()
	return append(buckets, p.buckets[:p.n]...), p.written
}

// RollbackTo drops the writes and locks since m.
func (s *Stage) RollbackTo(m txn.Mark) {
	s.Tx.RollbackTo(m)
	s.places.rollbackTo(m)
}

// Restart drops the writes since m and keeps the locks.
func (s *Stage) Restart(m txn.Mark) {
	s.places.rollbackTo(m)
	s.Tx.Restart(m)
}

// taskTx is a Stage as one task uses it.
type taskTx struct {
	*storage.Tx
	stage       *Stage
	buckets     shardmap.BucketSet // that the task may read
	unvalidated bool
}

// Arrival implements exec.Stays.
func (x taskTx) Arrival(b shardmap.Bucket) (arrival uint32, ok bool) {
	return x.Tx.Arrival(uint32(b)), true
}

// taskView is a view as one task uses it.
type taskView struct {
	*storage.View
	stage *Stage
}

// Get reads a key.
func (v taskView) Get(ctx context.Context, key []byte) ([]byte, error) {
	v.stage.countRead(key)
	return v.View.Get(ctx, key)
}

// Arrival implements exec.Stays.
func (v taskView) Arrival(b shardmap.Bucket) (arrival uint32, ok bool) {
	return v.View.Arrival(uint32(b)), true
}

// View opens a reader at T.
func (x taskTx) View(ctx context.Context, T txn.Timestamp) (exec.View, error) {
	v, err := x.Tx.ViewOf(ctx, T, x.buckets.Intervals())
	if err != nil {
		return nil, err
	}
	if x.unvalidated {
		v.Unvalidated()
	}
	return taskView{v, x.stage}, nil
}

// Put buffers a value.
func (x taskTx) Put(key, value []byte) error {
	if err := x.stage.note(key); err != nil {
		return err
	}
	x.stage.countWrite(key)
	return x.Tx.Put(key, value)
}

// Delete buffers a removal.
func (x taskTx) Delete(key []byte) error {
	if err := x.stage.note(key); err != nil {
		return err
	}
	x.stage.countWrite(key)
	return x.Tx.Delete(key)
}

// note checks a write before it is buffered.
func (s *Stage) note(key []byte) error {
	if !s.places.note(key, s.Mark) || s.of == nil {
		return nil
	}
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	return s.of.checkScope()
}
