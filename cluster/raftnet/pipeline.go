package raftnet

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/hashicorp/raft"
	pb "github.com/sherddb/sherd/cluster/nodepb"
)

// inFlight is how many appends of a group may be under way to a follower: while the follower writes
// one, the next is being transferred. More would only queue.
const inFlight = 2

// AppendEntriesPipeline implements raft.Transport.
func (t *Transport) AppendEntriesPipeline(id raft.ServerID, _ raft.ServerAddress) (raft.AppendPipeline, error) {
	p, err := t.mux.peer(id)
	if err != nil {
		return nil, err
	}
	return &pipeline{
		t: t, id: id, lane: &p.append, slots: make(chan struct{}, inFlight), out: make(chan raft.AppendFuture),
		closed: make(chan struct{}),
	}, nil
}

// pipeline is the appends of a leader to one follower. It has a goroutine only while an answer
// waits to be taken.
type pipeline struct {
	t    *Transport
	id   raft.ServerID
	lane *lane
	// One for each append that was sent and not answered. It must not wait until answers are taken:
	// Raft's goroutine that takes them may have ended already.
	slots  chan struct{}
	out    chan raft.AppendFuture
	closed chan struct{}
	once   sync.Once

	mu       sync.Mutex
	answered []*appendFuture // not taken; guarded by mu
	draining bool            // guarded by mu
}

// appendFuture is one append.
type appendFuture struct {
	start time.Time
	args  *raft.AppendEntriesRequest
	resp  *raft.AppendEntriesResponse
	done  chan struct{} // closed when err and resp are set
	err   error
	left  int // parts not answered; used by the lane's answers only, which come one at a time
}

// Error implements raft.Future.
func (f *appendFuture) Error() error {
	<-f.done
	return f.err
}

// Start implements raft.AppendFuture.
func (f *appendFuture) Start() time.Time { return f.start }

// Request implements raft.AppendFuture.
func (f *appendFuture) Request() *raft.AppendEntriesRequest { return f.args }

// Response implements raft.AppendFuture.
func (f *appendFuture) Response() *raft.AppendEntriesResponse { return f.resp }

// AppendEntries implements raft.AppendPipeline.
func (p *pipeline) AppendEntries(
	args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse,
) (raft.AppendFuture, error) {
	select {
	case p.slots <- struct{}{}:
	case <-p.closed:
		return nil, raft.ErrPipelineShutdown
	case <-p.t.closed:
		return nil, raft.ErrTransportShutdown
	}
	parts := p.t.encodeAppend(args)
	f := &appendFuture{start: time.Now(), args: args, resp: resp, done: make(chan struct{}), left: len(parts)}
	var mu sync.Mutex // parts may fail by their time while others are answered
	failed := false
	p.lane.enqueue(func(r *pb.RaftResponse, err error) {
		mu.Lock()
		defer mu.Unlock()
		f.left--
		if !failed {
			if err == nil && r.Error != "" {
				err = errors.New(r.Error)
			}
			if err == nil {
				decodeAppended(r, p.id, resp)
			}
			f.err = err
			failed = err != nil || !resp.Success
		}
		if f.left == 0 {
			if f.err != nil {
				resp.Success = false
			} else {
				p.t.progress.appended(p.id, args, resp)
			}
			close(f.done)
			p.answer(f)
		}
	}, parts...)
	return f, nil
}

// answer passes a future on, in order, without blocking the lane.
func (p *pipeline) answer(f *appendFuture) {
	<-p.slots
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answered = append(p.answered, f)
	if !p.draining {
		p.draining = true
		go p.drain()
	}
}

func (p *pipeline) drain() {
	for {
		p.mu.Lock()
		if len(p.answered) == 0 {
			p.draining = false
			p.mu.Unlock()
			return
		}
		f := p.answered[0]
		p.answered = p.answered[1:]
		p.mu.Unlock()
		select {
		case p.out <- f:
		case <-p.closed:
			return
		}
	}
}

// Consumer implements raft.AppendPipeline.
func (p *pipeline) Consumer() <-chan raft.AppendFuture { return p.out }

// Close implements raft.AppendPipeline.
func (p *pipeline) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

// contextUntil returns a context that ends with another or with a channel.
func contextUntil(parent context.Context, closed <-chan struct{}) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(parent)
	go func() {
		select {
		case <-closed:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}
