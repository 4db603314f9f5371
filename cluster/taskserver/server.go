package taskserver

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/cluster"
	"github.com/sherddb/sherd/cluster/door"
	"github.com/sherddb/sherd/cluster/failure"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Config says what a Server serves. All but the limits are required.
type Config struct {
	Host    *cluster.Host
	Catalog *catalog.Catalog
	Clock   *txn.Clock
	Logger  *slog.Logger
	TempDir string // of rows that a task keeps beyond its memory; "" is the system's

	MaxStreams int // of a node; default 1,000
	MaxPlans   int // of a node; default 10,000
}

// Server answers the gateways on other nodes. All methods may be called concurrently.
type Server struct {
	pb.UnimplementedFragmentsServer
	cfg    Config
	stages stages
	births atomic.Uint64 // of the last stage
	tasks  atomic.Int64  // under way

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
	s := &Server{cfg: cfg, nodes: map[uint32]*gateway{}, leaving: make(chan struct{})}
	s.stages.by, s.stages.gateways = map[stageKey]*stage{}, map[txn.ID]gatewayRole{}
	var seed [8]byte
	if _, err := rand.Read(seed[:]); err != nil {
		panic("taskserver: no randomness: " + err.Error()) // crypto/rand never fails on a supported system
	}
	s.births.Store(binary.LittleEndian.Uint64(seed[:]) >> 1) // so that another process of this node uses other numbers
	return s
}

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

// caller returns the node that makes a call.
func caller(ctx context.Context) (uint32, error) {
	p, ok := door.PeerOf(ctx)
	if !ok {
		return 0, status.Error(codes.PermissionDenied, "only nodes of the cluster may ask for fragments")
	}
	return p.Node, nil
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

// header is a request's header, checked.
type header struct {
	fragment    txn.FragmentID
	id          txn.ID
	node        uint32
	incarnation uint64
	birth       uint64
	term        uint64 // in which the fragment is led here
	replica     *storage.Replica
}

// open checks what each request about a fragment begins with: the asking node, its clock, and
// whether this node leads the fragment.
func (s *Server) open(ctx context.Context, h *pb.Header) (header, error) {
	if len(h.GetTransaction()) != len(txn.ID{}) {
		return header{}, pgerr.New(pgerr.ProtocolViolation, "a request of another node names no transaction")
	}
	r, term, err := s.leads(h.GetNow(), h.GetFragment())
	if err != nil {
		return header{}, err
	}
	return s.opened(ctx, h, r, term)
}

// openAny is open for a replica that need not lead.
func (s *Server) openAny(ctx context.Context, h *pb.Header) (header, error) {
	if len(h.GetTransaction()) != len(txn.ID{}) {
		return header{}, pgerr.New(pgerr.ProtocolViolation, "a request of another node names no transaction")
	}
	if err := s.cfg.Clock.Merge(txn.Timestamp(h.GetNow())); err != nil {
		return header{}, &failure.ClockAhead{Err: err}
	}
	r, err := s.cfg.Host.Replica(h.GetFragment())
	if err != nil {
		return header{}, &failure.NotLeader{Fragment: h.GetFragment()}
	}
	return s.opened(ctx, h, r, 0)
}

func (s *Server) opened(ctx context.Context, h *pb.Header, r *storage.Replica, term uint64) (header, error) {
	node, err := caller(ctx)
	if err != nil {
		return header{}, err
	}
	return header{
		fragment: h.Fragment, id: txn.ID(h.Transaction), node: node, incarnation: h.Incarnation, birth: h.Birth, term: term, replica: r,
	}, nil
}

// leads returns the replica of a fragment that is led here.
func (s *Server) leads(now uint64, fragment uint32) (*storage.Replica, uint64, error) {
	if err := s.cfg.Clock.Merge(txn.Timestamp(now)); err != nil {
		return nil, 0, &failure.ClockAhead{Err: err}
	}
	r, err := s.cfg.Host.Replica(fragment)
	if err != nil {
		return nil, 0, &failure.NotLeader{Fragment: fragment}
	}
	term := r.Term()
	if term == 0 {
		return nil, 0, notLed(r)
	}
	return r, term, nil
}

// notLed returns the error that names the leader of a fragment that this node does not lead.
func notLed(r *storage.Replica) error {
	node, term := r.Leader()
	return &failure.NotLeader{Fragment: r.ID(), Leader: node, Term: term}
}

// failed returns the failure of a request: storage's errors about lost leadership are converted to
// those of this protocol.
func (h *header) failed(err error) *pb.Failure {
	switch {
	case err == nil:
		return nil
	case storage.NotLed(err):
		err = notLed(h.replica)
	case storage.StageLost(err):
		err = txn.NewLost(h.fragment, true)
	}
	return failure.Encode(err)
}

// guard makes a panic below a call the call's error: a fragment whose files are damaged must not take the process with it.
func (s *Server) guard(err *error) {
	if p := recover(); p != nil {
		*err = s.panicked(p)
	}
}

func (s *Server) panicked(p any) error {
	s.cfg.Logger.Error("panic in a request of another node", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	return pgerr.New(pgerr.InternalError, "internal error: %v", p).WithHint("The log of the node that leads the fragment has the details.")
}

func (s *Server) now() uint64 { return uint64(s.cfg.Clock.Now()) }
