package remote

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/cluster/door"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/kv"
	"github.com/sherddb/sherd/txn"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Config says whose side it is. All but Over are required.
type Config struct {
	Incarnation uint64 // of this process
	Catalog     *catalog.Catalog
	Clock       *txn.Clock
	Door        *door.Door
	Over        func(node uint32, id txn.ID) // notifies a node that a transaction is over, if the end may not have reached it
	Logger      *slog.Logger
}

const (
	maxStreams = 1000
	idleTime   = time.Minute
)

// Nodes are the other nodes of the cluster. All methods may be called concurrently.
type Nodes struct {
	cfg   Config
	plans plans

	mu sync.RWMutex
	by map[uint32]*Node // guarded by mu

	stop chan struct{}
	done sync.WaitGroup
}

// New creates a node's handles on the others.
func New(cfg Config) *Nodes {
	n := &Nodes{cfg: cfg, by: map[uint32]*Node{}, stop: make(chan struct{})}
	n.done.Add(1)
	go n.housekeeping()
	return n
}

// Close ends all streams.
func (n *Nodes) Close() {
	close(n.stop)
	n.done.Wait()
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, x := range n.by {
		x.closeIdle(time.Time{})
	}
}

// housekeeping ends streams that have not been used for long.
func (n *Nodes) housekeeping() {
	defer n.done.Done()
	t := time.NewTicker(idleTime / 4)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-n.stop:
			return
		}
		n.mu.RLock()
		for _, x := range n.by {
			x.closeIdle(time.Now().Add(-idleTime))
		}
		n.mu.RUnlock()
	}
}

// Node returns the handle on a node.
func (n *Nodes) Node(id uint32) (*Node, error) {
	n.mu.RLock()
	x := n.by[id]
	n.mu.RUnlock()
	if x != nil {
		return x, nil
	}
	link, err := n.cfg.Door.Link(id, door.TaskLink)
	if err != nil {
		return nil, &kv.NoAnswer{Node: id, Name: fmt.Sprintf("n%d", id), Err: err}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if x := n.by[id]; x != nil {
		return x, nil
	}
	x = &Node{nodes: n, id: id, link: link, client: pb.NewFragmentsClient(link), tasks: pb.NewTasksClient(link), known: map[uint64]bool{}}
	n.by[id] = x
	return x, nil
}

// Node is another node.
type Node struct {
	nodes  *Nodes
	id     uint32
	link   *door.Link
	client pb.FragmentsClient
	tasks  pb.TasksClient

	mu    sync.Mutex
	idle  []*stream       // the longest idle first; guarded by mu
	open  int             // streams, borrowed ones too; guarded by mu
	known map[uint64]bool // plans that it has; guarded by mu
}

// ID is the node's number.
func (n *Node) ID() uint32 { return n.id }

const maxKnown = 10_000

// knows reports whether the node has a plan.
func (n *Node) knows(plan uint64) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.known[plan]
}

// learnt records that the node has a plan: it has answered a task that included it.
func (n *Node) learnt(plan uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.known) >= maxKnown {
		clear(n.known)
	}
	n.known[plan] = true
}

func (n *Node) forgetPlan(plan uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.known, plan)
}

// stream is a stream of tasks.
type stream struct {
	node   *Node
	client pb.Tasks_RunClient
	cancel context.CancelFunc
	since  time.Time // idle

	sending sync.Mutex
}

// borrow returns a stream that no other task uses.
func (n *Node) borrow() (*stream, error) {
	n.mu.Lock()
	if i := len(n.idle) - 1; i >= 0 {
		s := n.idle[i]
		n.idle = n.idle[:i]
		n.mu.Unlock()
		return s, nil
	}
	if n.open >= maxStreams {
		n.mu.Unlock()
		return nil, pgerr.New(pgerr.TooManyConnections, "too many tasks at node n%d", n.id)
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
		return nil, n.callError(err)
	}
	return &stream{node: n, client: c, cancel: cancel}, nil
}

// giveBack returns a stream whose task has ended.
func (n *Node) giveBack(s *stream) {
	s.since = time.Now()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.idle = append(n.idle, s)
}

// drop ends a stream that is not to be used again.
func (n *Node) drop(s *stream) {
	s.cancel()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.open--
}

// closeIdle ends the streams that are idle since before a time, all for the zero time.
func (n *Node) closeIdle(before time.Time) {
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

// callError returns the error of a call that gRPC could not complete: NoAnswer, unless the node said
// that it does not know the operation.
func (n *Node) callError(err error) error {
	if status.Code(err) == codes.Unimplemented {
		return &kv.UnknownOperation{Name: n.name()}
	}
	return n.noAnswer(err)
}

func (n *Node) noAnswer(err error) error {
	if cause := n.link.Err(); cause != nil {
		err = cause
	}
	return &kv.NoAnswer{Node: n.id, Name: n.name(), Err: err}
}

// heard merges the clock of an answer.
func (n *Node) heard(now uint64) error {
	if now == 0 {
		return nil
	}
	return n.nodes.cfg.Clock.Merge(txn.Timestamp(now))
}

func (n *Node) header(f txn.FragmentID, id txn.ID) *pb.Header {
	cfg := &n.nodes.cfg
	return &pb.Header{
		Fragment: uint32(f), Now: uint64(cfg.Clock.Now()), CatalogVersion: cfg.Catalog.View().Version(), Incarnation: cfg.Incarnation, Transaction: id[:],
	}
}
