package deadlock

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"google.golang.org/grpc"

	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/cluster/transport"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn"
)

const (
	lasting    = time.Second // from then on a wait is looked at
	pause      = time.Second // between two searches
	askTimeout = 3 * time.Second
	share      = 20 // a search that has taken some time is followed by a pause of as many times that
)

// Config has the node whose waits are examined. All fields are required.
type Config struct {
	Self   uint32
	Waits  *txn.Detector
	Port   *transport.Port
	Nodes  func() []uint32 // those that can be asked; this one may be among them
	Logger *slog.Logger
}

// Detector searches for cycles that waits here are part of, and answers the searches of other nodes.
type Detector struct {
	pb.UnimplementedDeadlocksServer
	cfg Config
}

// New makes a Detector and registers its service.
func New(cfg Config, members grpc.ServiceRegistrar) *Detector {
	s := &Detector{cfg: cfg}
	pb.RegisterDeadlocksServer(members, s)
	return s
}

// Run searches until ctx ends.
func (s *Detector) Run(ctx context.Context) {
	for wait := pause; ; {
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		start := time.Now()
		s.Search(ctx, start.Add(-lasting))
		wait = max(pause, share*time.Since(start))
	}
}

// Search searches for cycles with waits here that began before a time, and has them ended. It
// returns how many it has found.
func (s *Detector) Search(ctx context.Context, before time.Time) int {
	own := s.edges(s.cfg.Self, s.cfg.Waits.Lasting(before))
	if len(own) == 0 {
		return 0
	}
	others := s.others()
	if len(others) == 0 {
		return 0 // the detector knows all there is
	}
	cycles := txn.FindCycles(own, func(of []txn.LockOwner) []txn.Edge { return s.ask(ctx, others, of) })
	for _, c := range cycles {
		if s.end(ctx, c) {
			s.cfg.Logger.Info("a deadlock over several nodes was ended",
				"victim", c[0].Waiter.String(), "node", c[0].Node,
				"detail", pgerr.From(c.Err()).Detail)
		}
	}
	return len(cycles)
}

func (s *Detector) others() []uint32 {
	var out []uint32
	for _, n := range s.cfg.Nodes() {
		if n != s.cfg.Self {
			out = append(out, n)
		}
	}
	return out
}

func (s *Detector) edges(node uint32, waits []txn.Waiting) []txn.Edge {
	out := make([]txn.Edge, len(waits))
	for i, w := range waits {
		out[i] = txn.Edge{Node: node, Waiting: w}
	}
	return out
}

// ask asks all nodes at the same time.
func (s *Detector) ask(ctx context.Context, others []uint32, of []txn.LockOwner) []txn.Edge {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	request := &pb.WaitsRequest{Of: toWaiters(of)}
	answers := make([][]txn.Edge, len(others))
	var asking sync.WaitGroup
	for i, node := range others {
		asking.Go(func() {
			client, err := s.client(node)
			if err != nil {
				return
			}
			if a, err := client.Waits(ctx, request); err == nil {
				answers[i] = s.edges(node, fromWaits(a.Waits))
			}
		})
	}
	out := s.edges(s.cfg.Self, s.cfg.Waits.WaitsOf(of))
	asking.Wait()
	for _, a := range answers {
		out = append(out, a...)
	}
	return out
}

// end ends the first wait of a cycle.
func (s *Detector) end(ctx context.Context, c txn.Cycle) bool {
	victim := c[0]
	if victim.Node == s.cfg.Self {
		return s.cfg.Waits.Break(victim.Number, victim.Waiter, c.Err())
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	client, err := s.client(victim.Node)
	if err != nil {
		return false
	}
	a, err := client.EndWait(ctx, &pb.EndWaitRequest{Circle: toCycle(c)})
	return err == nil && a.Ended
}

func (s *Detector) client(node uint32) (pb.DeadlocksClient, error) {
	link, err := s.cfg.Port.Link(node, transport.TaskLink)
	if err != nil {
		return nil, err
	}
	return pb.NewDeadlocksClient(link), nil
}
