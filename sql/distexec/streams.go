package distexec

import (
	"context"
	"sync"
	"time"

	"github.com/sherddb/sherd/catalog"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/cluster/remote"
	"github.com/sherddb/sherd/internal/pgerr"
)

const (
	maxStreams = 1000
	idleTime   = time.Minute
)

// Streams are the streams of tasks to other nodes. All methods may be called concurrently.
type Streams struct {
	catalog *catalog.Catalog
	plans   plans

	mu sync.RWMutex
	by map[*remote.Node]*leaderNode // guarded by mu

	stop chan struct{}
	done sync.WaitGroup
}

// NewStreams makes Streams.
func NewStreams(c *catalog.Catalog) *Streams {
	s := &Streams{catalog: c, by: map[*remote.Node]*leaderNode{}, stop: make(chan struct{})}
	s.done.Go(s.housekeeping)
	return s
}

// Close ends all streams.
func (s *Streams) Close() {
	close(s.stop)
	s.done.Wait()
	s.closeIdle(time.Time{})
}

// housekeeping ends streams that have not been used for long.
func (s *Streams) housekeeping() {
	t := time.NewTicker(idleTime / 4)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			s.closeIdle(time.Now().Add(-idleTime))
		case <-s.stop:
			return
		}
	}
}

func (s *Streams) closeIdle(before time.Time) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, n := range s.by {
		n.closeIdle(before)
	}
}

// to returns the streams to a node.
func (s *Streams) to(node *remote.Node) *leaderNode {
	s.mu.RLock()
	n := s.by[node]
	s.mu.RUnlock()
	if n != nil {
		return n
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n = s.by[node]; n == nil {
		n = &leaderNode{Node: node, tasks: pb.NewTasksClient(node.Connection()), known: map[uint64]bool{}}
		s.by[node] = n
	}
	return n
}

// leaderNode is another node, which runs tasks.
type leaderNode struct {
	*remote.Node
	tasks pb.TasksClient

	mu    sync.Mutex
	idle  []*stream       // the longest idle first; guarded by mu
	open  int             // streams, borrowed ones too; guarded by mu
	known map[uint64]bool // plans that it has; guarded by mu
}

const maxKnown = 10_000

// knows reports whether the node has a plan.
func (n *leaderNode) knows(plan uint64) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.known[plan]
}

// learnPlan records that the node has a plan: it has answered a task that included it.
func (n *leaderNode) learnPlan(plan uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.known) >= maxKnown {
		clear(n.known)
	}
	n.known[plan] = true
}

func (n *leaderNode) forgetPlan(plan uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.known, plan)
}

// stream is a stream of tasks.
type stream struct {
	node   *leaderNode
	client pb.Tasks_RunClient
	cancel context.CancelFunc
	since  time.Time // idle

	sending sync.Mutex
}

// borrow returns a stream that no other task uses.
func (n *leaderNode) borrow() (*stream, error) {
	n.mu.Lock()
	if i := len(n.idle) - 1; i >= 0 {
		s := n.idle[i]
		n.idle = n.idle[:i]
		n.mu.Unlock()
		return s, nil
	}
	if n.open >= maxStreams {
		n.mu.Unlock()
		return nil, pgerr.New(pgerr.TooManyConnections, "too many tasks at node n%d", n.ID())
	}
	n.open++
	n.mu.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	c, err := n.tasks.Run(ctx)
	if err != nil {
		cancel()
		n.mu.Lock()
		n.open--
		n.mu.Unlock()
		return nil, n.CallError(err)
	}
	return &stream{node: n, client: c, cancel: cancel}, nil
}

// giveBack returns a stream whose task has ended.
func (n *leaderNode) giveBack(s *stream) {
	s.since = time.Now()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.idle = append(n.idle, s)
}

// drop ends a stream that is not to be used again.
func (n *leaderNode) drop(s *stream) {
	s.cancel()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.open--
}

// closeIdle ends the streams that are idle since before a time, all for the zero time.
func (n *leaderNode) closeIdle(before time.Time) {
	n.mu.Lock()
	i := 0
	for i < len(n.idle) && (before.IsZero() || n.idle[i].since.Before(before)) {
		i++
	}
	gone := n.idle[:i:i]
	n.idle = n.idle[i:]
	n.open -= len(gone)
	n.mu.Unlock()
	for _, s := range gone {
		s.cancel()
	}
}

func (s *stream) send(m *pb.TaskPart) error {
	s.sending.Lock()
	defer s.sending.Unlock()
	return s.client.Send(m)
}
