package taskserver

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/fragment"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/exec/wire"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// maxParts bounds the writes and keys that a task is sent in addition to its plan.
const maxParts = 64 << 20

// conn is a stream of a gateway, which runs tasks one after another.
type conn struct {
	s       *Server
	stream  grpc.BidiStreamingServer[pb.TaskPart, pb.TaskAnswer]
	node    uint32
	gateway *gateway

	requests chan *request
	ended    chan struct{}
	err      error // of the stream, once it has ended

	rows    wire.RowWriter
	sending sync.Mutex
	// The task that has not ended; guarded by sending.
	current *task
}

// errLeaving ends a stream between two tasks. A task that was sent meanwhile is not begun, and its
// gateway may look for another leader.
var errLeaving = status.Error(codes.FailedPrecondition, "the node is about to end")

// request is a task as it was sent.
type request struct {
	begin *pb.TaskBegin
	size  int
	write []exec.Write
	found [][]byte
	by    int
	pre   [][]byte

	ctx     context.Context
	cancel  context.CancelCauseFunc
	stopped atomic.Bool
}

// Run implements nodepb.TasksServer.
func (s *Server) Run(stream grpc.BidiStreamingServer[pb.TaskPart, pb.TaskAnswer]) error {
	node, err := fragment.Caller(stream.Context())
	if err != nil {
		return err
	}
	g := s.gateway(node)
	defer g.streams.Add(-1)
	if int(g.streams.Add(1)) > s.cfg.MaxStreams {
		return status.Errorf(codes.ResourceExhausted, "node %d runs more than %d tasks here at a time",
			node, s.cfg.MaxStreams)
	}
	c := &conn{
		s: s, stream: stream, node: node, gateway: g, requests: make(chan *request, 1), ended: make(chan struct{}),
	}
	go c.receive()
	for {
		select {
		case req := <-c.requests:
			if err := c.answer(req); err != nil {
				return err
			}
		case <-c.ended:
			return c.err
		case <-s.leaving:
			return errLeaving
		}
	}
}

func (c *conn) answer(req *request) error {
	c.s.tasks.Add(1)
	defer c.s.tasks.Add(-1)
	return c.end(c.run(req))
}

// receive handles the gateway's messages. It ends the running task when Stop arrives or the stream
// ends.
func (c *conn) receive() {
	defer close(c.ended)
	var req *request // first collected, then running
	for {
		part, err := c.stream.Recv()
		if err == nil {
			req, err = c.take(req, part)
		}
		if err != nil {
			if req != nil && req.cancel != nil {
				req.cancel(context.Canceled)
			}
			if !errors.Is(err, io.EOF) {
				c.err = err
			}
			return
		}
	}
}

// take takes one message.
func (c *conn) take(req *request, part *pb.TaskPart) (*request, error) {
	switch k := part.Kind.(type) {
	case *pb.TaskPart_Begin:
		req = &request{begin: k.Begin}
		if err := req.add(k.Begin.More); err != nil || !k.Begin.Go {
			return req, err
		}
		return req, c.start(req)
	case *pb.TaskPart_More:
		if req == nil || req.cancel != nil {
			return req, errOrder
		}
		return req, req.add(k.More)
	case *pb.TaskPart_Go:
		if req == nil || req.cancel != nil {
			return req, errOrder
		}
		return req, c.start(req)
	case *pb.TaskPart_Stop:
		if req != nil && req.cancel != nil {
			req.stopped.Store(true)
			req.cancel(errStopped)
		}
		return req, nil
	}
	return req, errOrder
}

var errOrder = status.Error(codes.InvalidArgument, "a part of a task came out of order")

// errStopped is the error of emit, and the cause of the end of a task's context, when the gateway
// wants no more of the task's rows.
var errStopped = errors.New("taskserver: the gateway has stopped the task")

func (r *request) add(m *pb.TaskMore) (err error) {
	if m == nil {
		return nil
	}
	r.size += len(m.Writes)
	for _, lists := range [][][]byte{m.Found, m.Prefix} {
		for _, b := range lists {
			r.size += len(b)
		}
	}
	if r.size > maxParts {
		return status.Errorf(codes.ResourceExhausted, "a task has more than %d MB of writes and keys", maxParts>>20)
	}
	if r.write, err = wire.DecodeWrites(r.write, m.Writes); err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	r.found, r.pre = append(r.found, m.Found...), append(r.pre, m.Prefix...)
	if m.FoundBy != 0 {
		r.by = int(m.FoundBy)
	}
	return nil
}

// start hands the request over to be run. The request before it has been answered, because the
// gateway sends the next one only then.
func (c *conn) start(req *request) error {
	req.ctx, req.cancel = context.WithCancelCause(c.stream.Context())
	select {
	case c.requests <- req:
		return nil
	default:
		req.cancel(context.Canceled)
		return errOrder
	}
}

// grace is how long the gateway may take, after a task's time is over, to end the task itself.
const grace = time.Second

var errTimeOver = pgerr.New(pgerr.QueryCanceled, "canceling statement due to statement timeout")

// limited returns the context of a request with its remaining time.
func (r *request) limited() (context.Context, context.CancelFunc) {
	left := r.begin.TimeLeftMicros
	if left == 0 || left > uint64(1<<62/time.Microsecond) {
		return r.ctx, func() { r.cancel(nil) }
	}
	ctx, cancel := context.WithTimeoutCause(r.ctx, time.Duration(left)*time.Microsecond+grace, errTimeOver)
	return ctx, func() {
		cancel()
		r.cancel(nil)
	}
}
