package distexec

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/sherddb/sherd/cluster/failure"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/cluster/remote"
	"github.com/sherddb/sherd/kv"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/exec/wire"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

const (
	pieceBytes = 4 << 20         // of writes and keys in one message
	endWait    = 5 * time.Second // limit for a task to end after Stop
)

// Run runs a task in a part on another node. With follower, the node runs it at its replica, which
// need not lead: the task changes nothing, and names its timestamp.
func (s *Streams) Run(ctx context.Context, p *remote.Part, follower bool, task *exec.Task, emit exec.Emit) (
	exec.Result, error,
) {
	plan, err := s.plans.get(task.Plan, s.catalog.View())
	if err != nil {
		return exec.Result{}, err
	}
	node := s.to(p.Node())
	changes := plan.changes || p.Options().Isolation == txn.Serializable && !task.Limits.Unvalidated && !follower
	for again := false; ; again = true {
		if err := p.AwaitAnswers(ctx); err != nil {
			return exec.Result{}, err
		}
		r := &run{node: node, part: p, ctx: ctx, task: task, emit: emit, changes: changes}
		begin := beginOf(ctx, p, task, plan)
		begin.ChangesBuffer, begin.Replica = changes, follower
		known := node.knows(plan.number) && !again
		if known {
			begin.Plan = nil
		}
		res, err := r.do(begin)
		if err == nil && !known {
			node.learnPlan(plan.number)
		}
		if errors.Is(err, failure.ErrUnknownPlan) && !again {
			node.forgetPlan(plan.number)
			continue
		}
		if errors.Is(err, failure.ErrUnknownPlan) {
			err = node.NoAnswer(err)
		}
		if res.Node = node.Name(); follower {
			res.Node += " (follower)"
		}
		return res, err
	}
}

// beginOf makes the first message of a task, but for what may be long.
func beginOf(ctx context.Context, p *remote.Part, task *exec.Task, plan *encoded) *pb.TaskBegin {
	h := p.Header()
	h.Epoch = task.Epoch
	memory := task.Mem.Limits()
	b := &pb.TaskBegin{
		Header: h, T: uint64(task.T), Floor: uint64(task.Floor), PlanId: plan.number, Plan: plan.bytes,
		Params: wire.AppendValues(nil, task.Params), Outers: wire.AppendValues(nil, task.Outers),
		Environment:       wire.AppendEnv(nil, task.Env),
		Session:           wire.AppendSession(nil, task.Session, plan.settings),
		Limits:            wire.AppendLimits(nil, &task.Limits),
		LockTimeoutMicros: uint64(p.LockTimeout() / time.Microsecond), Memory: uint64(memory.Query),
		WorkMemory: uint64(memory.Work), HashMemory: uint64(memory.Hash), Files: uint64(memory.Files + 1),
		Isolation: uint32(p.Options().Isolation), Backend: p.Options().Session,
	}
	for _, iv := range task.Buckets.Intervals() {
		b.Buckets = append(b.Buckets, &pb.BucketRange{Lo: iv.Lo, Hi: iv.Hi})
	}
	if d, ok := ctx.Deadline(); ok {
		b.TimeLeftMicros = uint64(max(time.Until(d), time.Microsecond) / time.Microsecond)
	}
	if m := task.Seen; m != nil {
		b.Seen = &pb.Mark{Writes: uint64(m.Writes), Locks: uint64(m.Locks), Changes: uint64(m.Changes)}
	}
	if w := task.Limits.LockWaits; w != nil {
		b.LockWaitsMicros = uint64(max(w.After, time.Microsecond) / time.Microsecond)
	}
	return b
}

// run is one task on a borrowed stream.
type run struct {
	node    *leaderNode
	part    *remote.Part
	ctx     context.Context
	task    *exec.Task
	emit    exec.Emit
	changes bool

	s       *stream
	rows    wire.RowReader
	stopped atomic.Bool // Stop was sent
	emitErr error       // no more rows are passed on
}

// do runs the task, and returns the stream to the pool or drops it. It first waits for a Stop that
// is being sent, which would otherwise end the stream's next task, possibly of another transaction.
func (r *run) do(begin *pb.TaskBegin) (exec.Result, error) {
	s, err := r.node.borrow()
	if err != nil {
		return exec.Result{}, err
	}
	r.s = s
	over, intact := make(chan struct{}), make(chan bool, 1)
	disarm := context.AfterFunc(r.ctx, func() { intact <- r.stop(over) })
	res, end, err := r.exchange(begin)
	close(over)
	whole := true
	cancelled := !disarm()
	if cancelled {
		whole = <-intact
	}
	switch {
	case end == nil: // it was dropped, or leave has it
	case whole:
		r.node.giveBack(s)
	default:
		r.node.drop(s)
	}
	if cancelled && r.ctx.Err() != nil && (err != nil || end == nil || end.Stopped) {
		err = r.ctx.Err()
	}
	return res, err
}

// exchange sends the task and takes the answers.
func (r *run) exchange(begin *pb.TaskBegin) (exec.Result, *pb.TaskEnd, error) {
	if err := r.send(begin); err != nil && !errors.Is(err, io.EOF) { // io.EOF: Recv returns the reason
		return exec.Result{}, nil, r.lost(err)
	}
	for {
		m, err := r.s.client.Recv()
		if err != nil {
			return exec.Result{}, nil, r.lost(err)
		}
		switch k := m.Kind.(type) {
		case *pb.TaskAnswer_Started:
			r.started(k.Started)
		case *pb.TaskAnswer_Rows:
			r.pass(k.Rows.Rows)
			if r.emitErr != nil && !r.changes {
				r.leave()
				return exec.Result{}, nil, r.emitErr
			}
		case *pb.TaskAnswer_Waiting:
			r.waits(k.Waiting)
		case *pb.TaskAnswer_End:
			res, err := r.end(k.End)
			return res, k.End, err
		}
	}
}

// send sends the task, in pieces if it is long.
func (r *run) send(begin *pb.TaskBegin) error {
	t := r.task
	more := &pb.TaskMore{FoundBy: uint32(t.FoundBy), Prefix: t.Prefix}
	first, size := true, 0
	flush := func(last bool) error {
		m := &pb.TaskPart{Kind: &pb.TaskPart_More{More: more}}
		if first {
			if len(more.Writes) > 0 || len(more.Found) > 0 || len(more.Prefix) > 0 {
				begin.More = more
			}
			begin.Go = last
			m = &pb.TaskPart{Kind: &pb.TaskPart_Begin{Begin: begin}}
		}
		if err := r.s.send(m); err != nil || !last || first {
			first, more, size = false, &pb.TaskMore{FoundBy: uint32(t.FoundBy)}, 0
			return err
		}
		return r.s.send(&pb.TaskPart{Kind: &pb.TaskPart_Go{Go: &pb.TaskGo{}}})
	}
	for i := range t.Writes {
		more.Writes = wire.AppendWrite(more.Writes, &t.Writes[i])
		if len(more.Writes) >= pieceBytes {
			if err := flush(false); err != nil {
				return err
			}
		}
	}
	for _, k := range t.Found {
		more.Found = append(more.Found, k)
		if size += len(k); len(more.Writes)+size >= pieceBytes {
			if err := flush(false); err != nil {
				return err
			}
		}
	}
	return flush(true)
}

func (r *run) started(x *pb.TaskStarted) {
	if x == nil {
		return
	}
	if x.Buffer != nil {
		r.part.Learn(x.Buffer)
	}
	if r.task.T == 0 {
		r.task.Start(txn.Timestamp(x.T))
	}
}

// pass passes a batch on, unless the gateway needs no more rows.
func (r *run) pass(batch []byte) {
	if r.emitErr != nil || len(batch) == 0 {
		return
	}
	err := r.rows.Reset(batch)
	for err == nil {
		var row types.Row
		if row, err = r.rows.Next(); row == nil || err != nil {
			break
		}
		err = r.emit(row)
	}
	if r.emitErr = err; err != nil {
		r.sendStop()
	}
}

// waits reports a wait for a lock at the leader.
func (r *run) waits(x *pb.TaskWaiting) {
	w := r.task.Limits.LockWaits
	if w == nil {
		return
	}
	waited := time.Duration(x.WaitedMicros) * time.Microsecond
	if !x.Over {
		w.Still(x.Doing, waited)
		return
	}
	var err error
	if x.Error != nil {
		err, _ = failure.DecodeError(x.Error)
	}
	w.Over(x.Doing, waited, err)
}

// errUnasked is the error of a task that has ended early although this gateway wanted all of it.
// Its rows must not be taken for the complete result.
var errUnasked = errors.New("it has stopped a task that was to go on")

// end takes the last answer.
func (r *run) end(x *pb.TaskEnd) (exec.Result, error) {
	p := r.part
	if x.Buffer != nil {
		p.Learn(x.Buffer)
	}
	r.started(x.Started)
	r.pass(x.Rows)
	if err := r.node.Merge(x.Now); err != nil {
		return exec.Result{}, err
	}
	var res exec.Result
	if len(x.Result) > 0 {
		var err error
		if res, err = wire.DecodeResult(x.Result); err != nil {
			return res, err
		}
	}
	err := failure.Decode(x.Failure, p.Fragment())
	switch {
	case r.emitErr != nil:
		err = r.emitErr
	case x.Stopped && !r.stopped.Load():
		if r.changes {
			p.Lose()
		}
		return res, r.node.NoAnswer(errUnasked)
	}
	var lost *txn.LostError
	if errors.As(err, &lost) {
		p.Lose()
	}
	return res, err
}

func (r *run) sendStop() {
	if !r.stopped.Swap(true) {
		_ = r.s.send(&pb.TaskPart{Kind: &pb.TaskPart_Stop{Stop: &pb.TaskStop{}}}) // where it fails, Recv fails too
	}
}

// stop ends the task of a statement that was cancelled, and cuts the stream off if no end arrives.
// It reports whether the stream is intact.
func (r *run) stop(over <-chan struct{}) bool {
	cut := time.AfterFunc(endWait, r.s.cancel)
	r.sendStop()
	<-over
	return cut.Stop()
}

// leave drains, in the background, the stream of a task whose rows are not needed any more.
func (r *run) leave() {
	s, node := r.s, r.node
	cut := time.AfterFunc(endWait, s.cancel)
	go func() {
		for {
			m, err := s.client.Recv()
			if err != nil {
				cut.Stop()
				node.drop(s)
				return
			}
			if m.GetEnd() != nil {
				if cut.Stop() {
					node.giveBack(s)
				} else {
					node.drop(s)
				}
				return
			}
		}
	}()
}

// lost drops a stream that broke.
func (r *run) lost(err error) error {
	p := r.part
	r.node.drop(r.s)
	if status.Code(err) == codes.FailedPrecondition { // the node is about to end, and has not begun it
		return &kv.NotLeader{Fragment: p.Fragment()}
	}
	if r.changes {
		p.Lose()
	}
	if r.emitErr != nil {
		return r.emitErr
	}
	return r.node.CallError(err)
}
