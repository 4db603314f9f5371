package catalognet

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
	"github.com/sherddb/sherd/catalog"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/cluster/raftnet"
	"github.com/sherddb/sherd/cluster/transport"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Group is the catalog's number among the Raft groups; fragments are numbered from 1.
const Group = 0

// askTimeout is how long an answer may take. An entry takes some milliseconds; a caller that waits
// longer asks again, because the leader may have changed by then.
const askTimeout = 3 * time.Second

// Net is the catalog's side of a node's port. All methods may be called concurrently.
type Net struct {
	pb.UnimplementedCatalogServer
	port    *transport.Port
	catalog atomic.Pointer[catalog.Catalog]
}

// New makes the net of a port and registers its service with the server of the members.
func New(d *transport.Port, members grpc.ServiceRegistrar) *Net {
	n := &Net{port: d}
	pb.RegisterCatalogServer(members, n)
	return n
}

// Serve lets other nodes ask a catalog.
func (n *Net) Serve(c *catalog.Catalog) { n.catalog.Store(c) }

// Ask implements the service.
func (n *Net) Ask(ctx context.Context, q *pb.CatalogRequest) (*pb.CatalogAnswer, error) {
	c := n.catalog.Load()
	if c == nil {
		return nil, status.Error(codes.Unavailable, "the node is starting")
	}
	a, err := c.Answer(ctx, q.Request)
	return &pb.CatalogAnswer{Answer: a}, err
}

// Forward brings a request to a node. It is a catalog.Forward.
func (n *Net) Forward(ctx context.Context, to raft.ServerID, request []byte) ([]byte, error) {
	node, err := raftnet.NodeOf(to)
	if err != nil {
		return nil, err
	}
	link, err := n.port.Link(node, transport.TaskLink)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	a, err := pb.NewCatalogClient(link).Ask(ctx, &pb.CatalogRequest{Request: request})
	return a.GetAnswer(), err
}

var _ catalog.Forward = (*Net)(nil).Forward
