package taskserver

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sherddb/sherd/catalog"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/fragment"
	"github.com/sherddb/sherd/sql/distexec"
	"github.com/sherddb/sherd/txn"
)

// Config configures a Server. All fields except the limits are required.
type Config struct {
	Gateway   *distexec.Gateway
	Fragments *fragment.Server
	Deadlocks *txn.Detector
	Catalog   *catalog.Catalog
	Clock     *txn.Clock
	Logger    *slog.Logger
	// TempDir is for rows that a task keeps beyond its memory; "" means the system's.
	TempDir string

	MaxStreams int // of a node; default 1,000
	MaxPlans   int // of a node; default 10,000
}

// Server answers the gateways on other nodes. All methods may be called concurrently.
type Server struct {
	pb.UnimplementedTasksServer
	cfg   Config
	parts *fragment.Server
	tasks atomic.Int64 // under way

	leave   sync.Once
	leaving chan struct{} // closed by Drain

	mu    sync.Mutex
	nodes map[uint32]*gateway // guarded by mu
}

// gateway holds what this node keeps for another node.
type gateway struct {
	streams atomic.Int32
	plans   plans
}

// New makes a Server.
func New(cfg Config) *Server {
	if cfg.MaxStreams == 0 {
		cfg.MaxStreams = 1000
	}
	if cfg.MaxPlans == 0 {
		cfg.MaxPlans = 10_000
	}
	return &Server{cfg: cfg, parts: cfg.Fragments, nodes: map[uint32]*gateway{}, leaving: make(chan struct{})}
}

// Gateway returns this node's gateway.
func (s *Server) Gateway() *distexec.Gateway { return s.cfg.Gateway }

// drainLook is the interval at which Drain checks for running tasks.
const drainLook = 5 * time.Millisecond

// Drain ends the gateways' streams, each when its task has ended, until ctx ends. If this node
// leads no fragment any more, only tasks that have begun to read are left. A task that arrives
// later is not begun, and its gateway learns that.
func (s *Server) Drain(ctx context.Context) {
	s.leave.Do(func() { close(s.leaving) })
	t := time.NewTicker(drainLook)
	defer t.Stop()
	for s.tasks.Load() > 0 {
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
	}
}

func (s *Server) gateway(node uint32) *gateway {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.nodes[node]
	if g == nil {
		g = &gateway{plans: plans{limit: s.cfg.MaxPlans}}
		s.nodes[node] = g
	}
	return g
}

func (s *Server) now() uint64 { return uint64(s.cfg.Clock.Now()) }
