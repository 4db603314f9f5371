package tablelock

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/cluster/liveness"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/cluster/transport"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/locks"
)

const (
	askTimeout  = 2 * time.Second        // for requests that do not wait for a lock
	nodeTimeout = 30 * time.Second       // of Config.NodeTimeout
	catchUp     = 5 * time.Second        // how long a lock is kept until its holder's definitions arrive
	look        = 100 * time.Millisecond // how often that is checked
)

// Config has the parts of the node that a Net uses. All fields but NodeTimeout are required.
type Config struct {
	Self        uint32
	Incarnation uint64 // of this process
	Catalog     *catalog.Catalog
	Port        *transport.Port
	Liveness    *liveness.Detector
	Nodes       func() []uint32 // of the cluster; this one may be among them
	Logger      *slog.Logger
	NodeTimeout time.Duration // with a node that cannot be asked and may be alive; 0 is 30 s
}

// Net is one node's part in table locks. All methods may be called concurrently.
type Net struct {
	pb.UnimplementedTableLocksServer
	cfg     Config
	manager atomic.Pointer[locks.Manager]

	mu      sync.Mutex
	open    map[txn.ID]*taken    // what transactions of this node may hold elsewhere; guarded by mu
	holders map[holderID]*holder // of other nodes' transactions here; guarded by mu
}

// New makes the net of a node and registers its service.
func New(cfg Config, members grpc.ServiceRegistrar) *Net {
	if cfg.NodeTimeout == 0 {
		cfg.NodeTimeout = nodeTimeout
	}
	n := &Net{cfg: cfg, open: map[txn.ID]*taken{}, holders: map[holderID]*holder{}}
	pb.RegisterTableLocksServer(members, n)
	return n
}

// Serve lets other nodes take locks here.
func (n *Net) Serve(m *locks.Manager) { n.manager.Store(m) }

func (n *Net) client(node uint32) (pb.TableLocksClient, error) {
	link, err := n.cfg.Port.Link(node, transport.TaskLink)
	if err != nil {
		return nil, err
	}
	return pb.NewTableLocksClient(link), nil
}

// nodes returns the nodes of the cluster, ascending.
func (n *Net) nodes() []uint32 {
	out := slices.Clone(n.cfg.Nodes())
	slices.Sort(out)
	return out
}

// Alone reports whether there is no other node.
func (n *Net) Alone() bool {
	return !slices.ContainsFunc(n.cfg.Nodes(), func(x uint32) bool { return x != n.cfg.Self })
}

// silent reports whether no node that answers has heard from a node for longer than the lease of
// write buffers.
func (n *Net) silent(ctx context.Context, node uint32) bool {
	p := n.cfg.Liveness
	if !p.Forgotten(node) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	for _, other := range n.nodes() {
		if other == n.cfg.Self || other == node || p.Forgotten(other) {
			continue
		}
		client, err := n.client(other)
		if err != nil {
			return false
		}
		if a, err := client.Silent(ctx, &pb.SilentRequest{Node: node}); err != nil || !a.Silent {
			return false
		}
	}
	return true
}

// Silent implements the service.
func (n *Net) Silent(_ context.Context, r *pb.SilentRequest) (*pb.SilentAnswer, error) {
	return &pb.SilentAnswer{Silent: n.cfg.Liveness.Forgotten(r.Node)}, nil
}
