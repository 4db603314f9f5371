package raftnet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/raft"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/cluster/transport"
	"google.golang.org/protobuf/proto"
)

const (
	// controlTime bounds heartbeats and votes. It is twice the election time-out: a later answer is
	// useless.
	controlTime = 2 * time.Second
	appendTime  = 10 * time.Second
	maxBatch    = 4 << 20   // bytes of requests in one message, except a single larger one
	slowest     = 128 << 10 // least bytes a second of a link: large requests get more time
)

// peer sends to one node.
type peer struct {
	mux     *Mux
	node    uint32
	ctx     context.Context
	cancel  context.CancelFunc
	control lane
	append  lane

	mu    sync.Mutex
	asked int       // requests not answered; guarded by mu
	heard time.Time // time of the last answer, of a new stream, or when asked rose from 0; guarded by mu
}

func newPeer(m *Mux, node uint32) *peer {
	p := &peer{mux: m, node: node}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.control.time, p.append.time = controlTime, appendTime
	for _, l := range []*lane{&p.control, &p.append} {
		l.peer, l.wake, l.pending = p, make(chan struct{}, 1), map[uint64]*call{}
		m.done.Add(1)
		go l.send()
	}
	return p
}

func (p *peer) close() { p.cancel() }

// lane sends requests to a peer, in order, and matches the answers.
type lane struct {
	peer *peer
	time time.Duration // limit of an answer
	wake chan struct{} // holds one value if queue is not empty

	mu      sync.Mutex
	closed  bool               // guarded by mu
	queue   []*pb.RaftRequest  // not sent; guarded by mu
	pending map[uint64]*call   // not answered; guarded by mu
	last    uint64             // id assigned; guarded by mu
	stream  exchange           // nil: none is open; guarded by mu
	drop    context.CancelFunc // ends stream; guarded by mu
}

type exchange = interface {
	Send(*pb.RaftRequests) error
	Recv() (*pb.RaftResponses, error)
}

// call is a request under way. done is called once, and must not block.
type call struct {
	done  func(*pb.RaftResponse, error)
	timer *time.Timer
}

// enqueue sends requests one after another, with nothing between them. done is called for each; in
// order if the answers come in order.
func (l *lane) enqueue(done func(*pb.RaftResponse, error), requests ...*pb.RaftRequest) {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		for range requests {
			done(nil, raft.ErrTransportShutdown)
		}
		return
	}
	l.peer.ask(len(requests))
	for _, r := range requests {
		l.last++
		id := l.last
		r.Id = id
		l.pending[id] = &call{done: done, timer: time.AfterFunc(
			l.time+time.Duration(proto.Size(r))*time.Second/slowest,
			func() { l.late(id) },
		)}
	}
	l.queue = append(l.queue, requests...)
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// late fails a call whose time is over. If the peer was silent all the time, it also drops the
// connection (RN4).
func (l *lane) late(id uint64) {
	l.mu.Lock()
	c := l.pending[id]
	delete(l.pending, id)
	l.mu.Unlock()
	if c == nil {
		return
	}
	silent := l.peer.answered(1, false) >= l.time
	c.done(nil, fmt.Errorf("node %d did not answer within %v", l.peer.node, l.time))
	if silent {
		l.peer.reset()
	}
}

// ask notes that n requests are under way.
func (p *peer) ask(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked == 0 {
		p.heard = time.Now() // silence counts from here
	}
	p.asked += n
}

// answered notes that n requests have ended, answered or not, and returns how long the peer was
// silent on both lanes.
func (p *peer) answered(n int, heard bool) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked -= n
	silent := time.Since(p.heard)
	if heard {
		p.heard = time.Now()
	}
	return silent
}

func (p *peer) reset() {
	if k, err := p.mux.port.Link(p.node, transport.RaftLink); err == nil {
		p.mux.log.Debug("raft: peer is silent, connection dropped", "node", p.node)
		k.Reset()
	}
}

// send is the lane's goroutine.
func (l *lane) send() {
	defer l.peer.mux.done.Done()
	for {
		select {
		case <-l.wake:
		case <-l.peer.ctx.Done():
			l.shut()
			return
		}
		for {
			batch := l.take()
			if batch == nil {
				break
			}
			s, err := l.open()
			if err == nil {
				err = s.Send(batch)
			}
			if err != nil {
				l.fail(s, l.explain(err))
			}
		}
	}
}

// explain returns the reason why there is no connection, if it is known, and otherwise err with the
// node.
func (l *lane) explain(err error) error {
	if k, kerr := l.peer.mux.port.Link(l.peer.node, transport.RaftLink); kerr == nil {
		if cause := k.Err(); cause != nil {
			return cause
		}
	}
	return fmt.Errorf("node %d: %w", l.peer.node, err)
}

// take returns what to send next, or nil. It leaves out requests whose callers no longer wait.
func (l *lane) take() *pb.RaftRequests {
	l.mu.Lock()
	defer l.mu.Unlock()
	batch, size, n := &pb.RaftRequests{}, 0, 0
	for _, r := range l.queue {
		if l.pending[r.Id] != nil {
			s := proto.Size(r)
			if size > 0 && size+s > maxBatch {
				break
			}
			size += s
			batch.Requests = append(batch.Requests, r)
		}
		n++
	}
	if n == len(l.queue) {
		l.queue = nil
	} else {
		l.queue = l.queue[n:]
	}
	if len(batch.Requests) == 0 {
		return nil
	}
	return batch
}

// open returns the stream, and begins one if there is none.
func (l *lane) open() (exchange, error) {
	l.mu.Lock()
	s := l.stream
	l.mu.Unlock()
	if s != nil {
		return s, nil
	}
	link, err := l.peer.mux.port.Link(l.peer.node, transport.RaftLink)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(l.peer.ctx)
	s, err = pb.NewRaftClient(link).Exchange(ctx)
	if err != nil {
		cancel()
		return nil, err
	}
	l.mu.Lock()
	l.stream, l.drop = s, cancel
	l.mu.Unlock()
	l.peer.answered(0, true) // silence is measured from the new connection on
	l.peer.mux.done.Add(1)
	go l.receive(s)
	return s, nil
}

// receive takes the answers of one stream.
func (l *lane) receive(s exchange) {
	defer l.peer.mux.done.Done()
	for {
		batch, err := s.Recv()
		if err != nil {
			l.fail(s, l.explain(err))
			return
		}
		for _, r := range batch.Responses {
			l.mu.Lock()
			c := l.pending[r.Id]
			delete(l.pending, r.Id)
			l.mu.Unlock()
			if c != nil {
				l.peer.answered(1, true)
				c.timer.Stop()
				c.done(r, nil)
			}
		}
	}
}

// fail ends a stream, unless another has replaced it, and with it all calls: requests that were
// sent may be lost, and the others would arrive out of order.
func (l *lane) fail(s exchange, err error) {
	l.mu.Lock()
	if l.stream != s {
		l.mu.Unlock()
		return
	}
	if l.drop != nil {
		l.drop()
	}
	l.stream, l.drop, l.queue = nil, nil, nil
	gone := l.pending
	l.pending = map[uint64]*call{}
	l.mu.Unlock()
	l.peer.answered(len(gone), false)
	failAll(gone, err)
}

// shut ends the lane.
func (l *lane) shut() {
	l.mu.Lock()
	l.closed = true
	s := l.stream
	l.mu.Unlock()
	l.fail(s, raft.ErrTransportShutdown)
}

func failAll(calls map[uint64]*call, err error) {
	for _, c := range calls {
		c.timer.Stop()
		c.done(nil, err)
	}
}

// ask sends a request and waits for the answer.
func (l *lane) ask(r *pb.RaftRequest, closed <-chan struct{}) (*pb.RaftResponse, error) {
	type answer struct {
		r   *pb.RaftResponse
		err error
	}
	ch := make(chan answer, 1)
	l.enqueue(func(r *pb.RaftResponse, err error) { ch <- answer{r, err} }, r)
	select {
	case a := <-ch:
		if a.err != nil {
			return nil, a.err
		}
		if a.r.Error != "" {
			return a.r, errors.New(a.r.Error)
		}
		return a.r, nil
	case <-closed:
		return nil, raft.ErrTransportShutdown
	}
}
