package fragment

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sherddb/sherd/cluster/failure"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/kv"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

// Config has the parts of the node that a Server uses. All fields are required.
type Config struct {
	Replicas *Replicas
	Clock    *txn.Clock
	Logger   *slog.Logger
}

// Server answers requests about the fragments of this node. All methods may be called concurrently.
type Server struct {
	cfg    Config
	leases leases
	births atomic.Uint64 // of the last leased part
	pins   pins          // of transactions whose gateway is this node
	busy   busy
}

var _ kv.Sender = (*Server)(nil)

// New makes a Server.
func New(cfg Config) *Server {
	s := &Server{cfg: cfg}
	s.leases.by, s.leases.gateways = map[partKey]*LeasedPart{}, map[txn.ID]gatewayRole{}
	s.pins.by = map[partKey][]func(){}
	var seed [8]byte
	if _, err := rand.Read(seed[:]); err != nil {
		panic("fragment: no randomness: " + err.Error()) // crypto/rand never fails on a supported system
	}
	s.births.Store(binary.LittleEndian.Uint64(seed[:]) >> 1) // so that another process of this node uses other numbers
	return s
}

// Call is a request, checked: the replica that it concerns, and its sender.
type Call struct {
	Fragment    txn.FragmentID
	ID          txn.ID // of the transaction; zero: the request names none
	Replica     *storage.Replica
	Term        uint64 // in which the fragment is led here; 0: a follower may answer
	node        uint32 // of the sender; 0: this node
	incarnation uint64
	birth       uint64
}

// here reports whether the sender is this node.
func (c *Call) here() bool { return c.node == 0 }

// Send implements kv.Sender for this node.
func (s *Server) Send(ctx context.Context, r *pb.Request) (*pb.Response, error) {
	c, err := s.local(r)
	if err != nil {
		return nil, err
	}
	return s.answer(ctx, c, r)
}

// Stream implements kv.Sender for this node.
func (s *Server) Stream(ctx context.Context, r *pb.Request, emit func(*pb.Response) error) error {
	c, err := s.local(r)
	if err != nil {
		return err
	}
	return s.stream(ctx, c, r, emit)
}

// Snapshot implements kv.Sender for this node. Several fragments are asked in parallel, because each
// may wait for a quorum (T5).
func (s *Server) Snapshot(ctx context.Context, shares []shardmap.Share, _ uint64) (
	T txn.Timestamp, failed map[txn.FragmentID]error, err error) {
	var mu sync.Mutex
	ask := func(x shardmap.Share) {
		c, err := s.local(&pb.Request{Fragment: uint32(x.Fragment)})
		var got txn.Timestamp
		if err == nil {
			got, err = c.Replica.SnapshotOf(ctx, x.Buckets.Intervals())
		}
		mu.Lock()
		defer mu.Unlock()
		if T = max(T, got); err == nil {
			return
		}
		if failed == nil {
			failed = map[txn.FragmentID]error{}
		}
		failed[x.Fragment] = err
	}
	var wg sync.WaitGroup
	for i, x := range shares {
		if i == len(shares)-1 {
			ask(x)
		} else {
			wg.Go(func() { ask(x) })
		}
	}
	wg.Wait()
	return T, failed, nil
}

func (s *Server) local(r *pb.Request) (*Call, error) {
	c := &Call{Fragment: txn.FragmentID(r.Fragment), Replica: s.cfg.Replicas.Get(txn.FragmentID(r.Fragment))}
	if len(r.Transaction) == len(txn.ID{}) {
		c.ID = txn.ID(r.Transaction)
	}
	switch {
	case c.Replica != nil:
		return c, nil
	case anyReplica(r):
		return nil, errNotOpen
	}
	return nil, NotAvailable(c.Fragment)
}

// NotAvailable returns the error of a request for a fragment that has no replica here, or not yet.
func NotAvailable(f txn.FragmentID) error {
	return pgerr.New(pgerr.CannotConnectNow, "fragment %d is not available", f).WithHint("Try again in a moment.")
}

// Open checks a task of another node: its clock, and whether this node leads the fragment.
func (s *Server) Open(node uint32, h *pb.Header) (*Call, error) {
	r, term, err := s.leads(h.GetNow(), h.GetFragment())
	if err != nil {
		return nil, err
	}
	return opened(node, h, r, term)
}

// OpenAny is Open for a replica that need not lead.
func (s *Server) OpenAny(node uint32, h *pb.Header) (*Call, error) {
	if err := s.merge(h.GetNow()); err != nil {
		return nil, err
	}
	r := s.cfg.Replicas.Get(txn.FragmentID(h.GetFragment()))
	if r == nil {
		return nil, &kv.NotLeader{Fragment: h.GetFragment()}
	}
	return opened(node, h, r, 0)
}

func opened(node uint32, h *pb.Header, r *storage.Replica, term uint64) (*Call, error) {
	if len(h.GetTransaction()) != len(txn.ID{}) {
		return nil, errNoTransaction
	}
	return &Call{
		Fragment: h.Fragment, ID: txn.ID(h.Transaction), Replica: r, Term: term,
		node: node, incarnation: h.Incarnation, birth: h.Birth,
	}, nil
}

var errNoTransaction = pgerr.New(pgerr.ProtocolViolation, "a request of another node names no transaction")

// merge takes over another node's clock.
func (s *Server) merge(now uint64) error {
	if err := s.cfg.Clock.Merge(txn.Timestamp(now)); err != nil {
		return &kv.ClockAhead{Err: err}
	}
	return nil
}

// leads returns the replica of a fragment that is led here.
func (s *Server) leads(now uint64, fragment uint32) (*storage.Replica, uint64, error) {
	if err := s.merge(now); err != nil {
		return nil, 0, err
	}
	r := s.cfg.Replicas.Get(txn.FragmentID(fragment))
	if r == nil {
		return nil, 0, &kv.NotLeader{Fragment: fragment}
	}
	term := r.Group.Term()
	if term == 0 {
		return nil, 0, notLed(r)
	}
	return r, term, nil
}

// notLed returns the error that names the leader of a fragment that this node does not lead.
func notLed(r *storage.Replica) error {
	node, term := r.Group.Leader()
	return &kv.NotLeader{Fragment: r.ID(), Leader: node, Term: term}
}

// Failed returns the failure of a call for another node: storage's errors about lost leadership are
// converted to those of the protocol. The receiver is nil if the call could not be opened.
func (c *Call) Failed(err error) *pb.Failure {
	switch {
	case err == nil:
		return nil
	case c == nil:
	case storage.NotLed(err):
		err = notLed(c.Replica)
	case storage.BufferLost(err):
		err = txn.NewLost(c.Fragment, true)
	}
	return failure.Encode(err)
}

// Replicas returns the replicas on this node.
func (s *Server) Replicas() *Replicas { return s.cfg.Replicas }

// Suffers reports whether the 99th percentile of clients' commits here is above limit and above
// twice its usual value; a limit of 0 means never.
func (s *Server) Suffers(limit time.Duration) bool { return s.busy.suffers(limit) }
