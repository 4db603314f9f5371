package taskserver

import (
	"context"
	"errors"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/cluster/failure"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/cluster/transport"
	"github.com/sherddb/sherd/fragment"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/distexec"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/exec/lockwait"
	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/exec/wire"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// task is a running request.
type task struct {
	*request
	c       *conn
	call    *fragment.Call       // nil: it could not be opened
	part    *fragment.LeasedPart // nil: it has none
	task    exec.Task
	started bool // the gateway was notified
}

// run runs a request and returns how it ended.
func (c *conn) run(req *request) *pb.TaskEnd {
	ctx, cancel := req.limited()
	defer cancel()
	t := &task{request: req, c: c}
	c.rows.Take() // of a task that failed
	c.sending.Lock()
	c.current = t
	c.sending.Unlock()
	res, err := t.run(ctx)
	if cause := context.Cause(ctx); cause != nil && err != nil &&
		(errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		err = cause
	}
	end := &pb.TaskEnd{}
	if req.stopped.Load() && (errors.Is(err, errStopped) || pgerr.Is(err, pgerr.QueryCanceled)) {
		end.Stopped, err = true, nil
	}
	if t.part != nil {
		if req.begin.ChangesBuffer {
			t.part.Changed()
		}
		if lost := context.Cause(t.part.Gone()); lost != nil {
			err = lost
		} else {
			end.Buffer = t.part.Message()
		}
	}
	end.Failure, end.Now, end.Floor = t.call.Failed(err), c.s.now(), uint64(c.s.cfg.Clock.Last())
	end.Result = wire.AppendResult(nil, &res)
	if err == nil && !end.Stopped {
		end.Rows = c.rows.Take()
	}
	if !t.started && t.task.T != 0 {
		end.Started = t.start()
	}
	if pgerr.Is(err, pgerr.InternalError) && !errors.Is(err, failure.ErrUnknownPlan) {
		c.s.cfg.Logger.Warn("a task of another node failed", "node", c.node, "fragment",
			req.begin.Header.GetFragment(), "error", err)
	}
	return end
}

func (t *task) start() *pb.TaskStarted {
	return &pb.TaskStarted{T: uint64(t.task.T), Term: t.call.Term, Buffer: t.part.Message()}
}

// run does what the request asks for.
func (t *task) run(ctx context.Context) (res exec.Result, err error) {
	s, b := t.c.s, t.begin
	defer fragment.Guard(s.cfg.Logger, &err)
	open := s.parts.Open
	if b.Replica {
		open = s.parts.OpenAny
	}
	if t.call, err = open(t.c.node, b.Header); err != nil {
		return res, err
	}
	view, err := s.cfg.Catalog.WaitVersion(ctx, b.Header.CatalogVersion)
	if err != nil {
		return res, err
	}
	d, err := t.database(view)
	if err != nil {
		return res, err
	}
	program, err := t.c.gateway.plans.program(view, b.Header.Incarnation, b.PlanId, b.Plan)
	if err != nil {
		return res, err
	}
	if err := t.decode(view, d); err != nil {
		return res, err
	}
	run := t.task.WithProgram(program)
	if b.Replica {
		if b.ChangesBuffer {
			return res, pgerr.New(pgerr.ProtocolViolation, "a task for any replica changes something")
		}
		return s.cfg.Gateway.ReadReplica(ctx, t.call.Replica, run, t.emit)
	}
	if err := distexec.Admit(ctx, t.call.Replica, run); err != nil {
		return res, err
	}
	t.task.T = run.T
	on, err := t.enter()
	if err != nil {
		return res, err
	}
	if t.part != nil {
		gone := t.part.Gone()
		leave := context.AfterFunc(gone, func() { t.cancel(context.Cause(gone)) })
		defer leave()
	}
	res, err = distexec.RunTask(ctx, on, run, t.emit)
	if t.part == nil && on.Mark() != (txn.Mark{}) {
		on.Rollback()
		err = pgerr.New(pgerr.ProtocolViolation, "a task that changes nothing has written")
	}
	return res, err
}

// database returns the fragment's database, and reads the buckets.
func (t *task) database(v *catalog.View) (*catalog.Database, error) {
	d, _ := v.Fragment(t.call.Fragment)
	if d == nil {
		return nil, &failure.Replan{Version: v.Version(), Why: "the fragment's database was dropped"}
	}
	set, err := fragment.BucketsOf(t.begin.Buckets)
	if err != nil {
		return nil, err
	}
	t.task.Buckets, t.task.Epoch = set, t.begin.Header.Epoch
	return d, nil
}

// decode decodes the inputs of the task.
func (t *task) decode(v *catalog.View, d *catalog.Database) (err error) {
	b := t.begin
	t.task.Txn, t.task.T, t.task.Floor = t.call.ID, txn.Timestamp(b.T), txn.Timestamp(b.Floor)
	t.task.Writes, t.task.Found, t.task.FoundBy, t.task.Prefix = t.write, t.found, t.by, t.pre
	if t.task.Params, err = wire.DecodeValues(b.Params); err != nil {
		return err
	}
	if t.task.Outers, err = wire.DecodeValues(b.Outers); err != nil {
		return err
	}
	if t.task.Env, err = wire.DecodeEnv(b.Environment); err != nil {
		return err
	}
	if t.task.Limits, err = wire.DecodeLimits(b.Limits); err != nil {
		return err
	}
	asked, err := wire.DecodeSession(b.Session)
	if err != nil {
		return err
	}
	if asked != nil {
		t.task.Session = newSession(asked, v, d, t.task.Env)
	}
	attachTypes(t.c.s.cfg.Catalog, v, d, asked, t.task.Env)
	limits := memory.Limits{
		Query: int64(b.Memory), Work: int64(b.WorkMemory), Hash: int64(b.HashMemory), Files: int64(b.Files) - 1,
	}
	t.task.Mem = memory.Limited(limits).WithFiles(t.c.s.cfg.TempDir)
	if m := b.Seen; m != nil {
		t.task.Seen = &txn.Mark{Writes: int(m.Writes), Locks: int(m.Locks), Changes: int(m.Changes)}
	}
	if b.LockWaitsMicros != 0 {
		t.task.Limits.LockWaits = t.lockWaits()
	}
	return nil
}

// enter returns the part to run on. A task that changes nothing leases none if its transaction has
// none.
func (t *task) enter() (on *fragment.Part, err error) {
	s, b := t.c.s, t.begin
	if b.ChangesBuffer {
		t.part, err = s.parts.Begin(t.call, txn.Isolation(b.Isolation), b.Backend)
	} else {
		t.part, err = s.parts.Find(t.call)
	}
	switch {
	case err != nil:
		return nil, err
	case t.part == nil:
		return s.parts.NewPart(t.call.Replica, t.call.Replica.Tx(t.call.ID)), nil
	}
	t.part.SetLockTimeout(time.Duration(b.LockTimeoutMicros) * time.Microsecond)
	return &t.part.Part, nil
}

// emit adds a row to the current batch, and sends the batch when it is full.
func (t *task) emit(row types.Row) error {
	if t.stopped.Load() {
		return errStopped
	}
	w := &t.c.rows
	if !w.Add(row) {
		if err := t.flush(); err != nil {
			return err
		}
		w.Add(row)
	}
	switch {
	case w.Size() > maxBatch:
		w.Take()
		return pgerr.New(pgerr.ProgramLimitExceeded, "row is too large to be sent from one node to another").
			WithDetail("A row of a fragment's answer may have %d MB.", maxBatch>>20).
			WithHint("Read fewer, or smaller, columns at a time.")
	case w.Full():
		return t.flush()
	}
	return nil
}

// maxBatch is the largest batch that fits into a message, with room for the rest of the message. A
// batch is larger than usual if one of its rows is.
const maxBatch = transport.MaxMessage - 1<<20

// flush sends a batch. It waits while the gateway accepts none: the stream's window alone bounds
// how much is under way.
func (t *task) flush() error {
	if !t.started {
		t.started = true
		if err := t.c.send(&pb.TaskAnswer{Kind: &pb.TaskAnswer_Started{Started: t.start()}}); err != nil {
			return err
		}
	}
	return t.c.send(&pb.TaskAnswer{Kind: &pb.TaskAnswer_Rows{Rows: &pb.TaskRows{Rows: t.c.rows.Take()}}})
}

// end sends the end of the running task; the task sends nothing after it.
func (c *conn) end(end *pb.TaskEnd) error {
	c.sending.Lock()
	defer c.sending.Unlock()
	c.current = nil
	return c.stream.Send(&pb.TaskAnswer{Kind: &pb.TaskAnswer_End{End: end}})
}

func (c *conn) send(a *pb.TaskAnswer) error {
	c.sending.Lock()
	defer c.sending.Unlock()
	return c.stream.Send(a)
}

// lockWaits reports long waits for row locks to the gateway, and the lock owners that they wait
// for.
func (t *task) lockWaits() *lockwait.Watcher {
	tell := func(w *pb.TaskWaiting, doing string, waited time.Duration) {
		w.Doing, w.WaitedMicros = doing, uint64(waited.Microseconds())
		t.c.sending.Lock()
		defer t.c.sending.Unlock()
		if t.c.current == t { // a wait's timer may fire late
			// A stream that has ended ends the task.
			_ = t.c.stream.Send(&pb.TaskAnswer{Kind: &pb.TaskAnswer_Waiting{Waiting: w}})
		}
	}
	return &lockwait.Watcher{
		After: time.Duration(t.begin.LockWaitsMicros) * time.Microsecond,
		Waits: func() bool { return len(t.c.s.cfg.Deadlocks.Blockers(t.call.ID)) > 0 },
		Still: func(doing string, waited time.Duration) {
			w := &pb.TaskWaiting{}
			for _, p := range t.c.s.cfg.Deadlocks.Blockers(t.call.ID) {
				w.Blockers = append(w.Blockers, t.c.s.lockOwner(p))
			}
			tell(w, doing, waited)
		},
		Over: func(doing string, waited time.Duration, err error) {
			w := &pb.TaskWaiting{Over: true}
			if err != nil {
				w.Error = failure.EncodeError(err)
			}
			tell(w, doing, waited)
		},
	}
}

// lockOwner returns the owner or waiter of a lock, and the gateway of its session.
func (s *Server) lockOwner(p txn.LockOwner) *pb.LockOwner {
	return &pb.LockOwner{Transaction: p.ID[:], Session: p.Session, Gateway: s.parts.Gateway(p.ID)}
}
