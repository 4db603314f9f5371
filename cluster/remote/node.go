package remote

import (
	"fmt"
	"log/slog"
	"sync"

	"github.com/sherddb/sherd/catalog"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/cluster/transport"
	"github.com/sherddb/sherd/kv"
	"github.com/sherddb/sherd/txn"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Config has the parts of the node that Nodes use. All but Over are required.
type Config struct {
	Incarnation uint64 // of this process
	Catalog     *catalog.Catalog
	Clock       *txn.Clock
	Port        *transport.Port
	// Over notifies a node that a transaction is over, if the end may not have reached it.
	Over   func(node uint32, id txn.ID)
	Logger *slog.Logger
}

// Nodes are the other nodes of the cluster. All methods may be called concurrently.
type Nodes struct {
	cfg Config

	mu sync.RWMutex
	by map[uint32]*Node // guarded by mu
}

// New creates a node's handles on the others.
func New(cfg Config) *Nodes { return &Nodes{cfg: cfg, by: map[uint32]*Node{}} }

// Node returns the handle on a node.
func (n *Nodes) Node(id uint32) (*Node, error) {
	n.mu.RLock()
	x := n.by[id]
	n.mu.RUnlock()
	if x != nil {
		return x, nil
	}
	link, err := n.cfg.Port.Link(id, transport.TaskLink)
	if err != nil {
		return nil, &kv.NoAnswer{Node: id, Name: fmt.Sprintf("n%d", id), Err: err}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if x := n.by[id]; x != nil {
		return x, nil
	}
	x = &Node{nodes: n, id: id, link: link, client: pb.NewFragmentsClient(link)}
	n.by[id] = x
	return x, nil
}

// Node is another node.
type Node struct {
	nodes  *Nodes
	id     uint32
	link   *transport.Link
	client pb.FragmentsClient
}

// ID is the node's number.
func (n *Node) ID() uint32 { return n.id }

// Name returns the node's name, for messages.
func (n *Node) Name() string {
	if x := n.nodes.cfg.Catalog.View().Node(n.id); x != nil {
		return x.Name
	}
	return fmt.Sprintf("n%d", n.id)
}

// Connection is the connection to the node.
func (n *Node) Connection() grpc.ClientConnInterface { return n.link }

// CallError returns the error of a call that gRPC could not complete: NoAnswer, unless the node
// said that it does not know the operation.
func (n *Node) CallError(err error) error {
	if status.Code(err) == codes.Unimplemented {
		return &kv.UnknownOperation{Name: n.Name()}
	}
	return n.NoAnswer(err)
}

// NoAnswer returns the error of a node that did not answer.
func (n *Node) NoAnswer(err error) error {
	if cause := n.link.Err(); cause != nil {
		err = cause
	}
	return &kv.NoAnswer{Node: n.id, Name: n.Name(), Err: err}
}

// Merge merges the clock of an answer.
func (n *Node) Merge(now uint64) error {
	if now == 0 {
		return nil
	}
	return n.nodes.cfg.Clock.Merge(txn.Timestamp(now))
}

func (n *Node) header(f txn.FragmentID, id txn.ID) *pb.Header {
	cfg := &n.nodes.cfg
	return &pb.Header{
		Fragment: uint32(f), Now: uint64(cfg.Clock.Now()), CatalogVersion: cfg.Catalog.View().Version(),
		Incarnation: cfg.Incarnation, Transaction: id[:],
	}
}
