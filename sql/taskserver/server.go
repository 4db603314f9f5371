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

// Config says what a Server serves. All but the limits are required.
type Config struct {
	Gateway   *distexec.Gateway
	Fragments *fragment.Server
	Deadlocks *txn.Detector
	Catalog   *catalog.Catalog
	Clock     *txn.Clock
	Logger    *slog.Logger
	TempDir   string // of rows that a task keeps beyond its memory; "" is the system's

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

// gateway is what is kept of another node.
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

// drainLook is how often Drain looks.
const drainLook = 5 * time.Millisecond

// Drain ends the gateways' streams, each when its task has ended, until ctx ends. Where nothing is led here any more, only tasks are left that have begun
// to read; one that is sent after that is not begun, and its gateway knows it.
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
