package relay

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/sql/notify"
)

// maxBehind is how many messages may wait for one follower: a follower that is further behind is
// disconnected. As many, up to keptBytes, are kept for followers that reconnect.
const (
	maxBehind = 4096
	keptBytes = 8 << 20
)

// Net is a node's side. All methods may be called concurrently.
type Net struct {
	pb.UnimplementedNotificationsServer
	cfg   Config
	epoch uint64

	hub     *notify.Hub // set before serving is closed
	serving chan struct{}

	mu        sync.Mutex
	count     uint64                 // messages so far; guarded by mu
	followers map[chan *pb.Said]bool // guarded by mu
	kept      []*pb.Said             // the last messages; guarded by mu
	bytes     int                    // of them; guarded by mu
	ended     bool                   // guarded by mu
	peers     map[uint32]*peer       // that this node follows; guarded by mu
	follows   sync.WaitGroup         // of peers
	streams   sync.WaitGroup         // to followers
	turned    chan struct{}          // closed and replaced when a peer's state changes; guarded by mu
}

// New makes the net of a node and registers its service.
func New(cfg Config, members grpc.ServiceRegistrar) *Net {
	n := &Net{cfg: cfg, epoch: rand.Uint64(), followers: map[chan *pb.Said]bool{},
		peers: map[uint32]*peer{}, turned: make(chan struct{}), serving: make(chan struct{})}
	pb.RegisterNotificationsServer(members, n)
	return n
}

// Say sends the messages of a transaction to all followers. It does not wait.
func (n *Net) Say(list []notify.Notification) {
	m := &pb.Said{Epoch: n.epoch}
	for _, x := range list {
		m.Notes = append(m.Notes, &pb.Note{Database: x.Database,
			Channel: x.Channel, Payload: x.Payload, Session: x.PID})
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	m.Count = n.count
	n.count++
	n.keep(m)
	n.send(m)
}

// keep keeps a message for followers that come back. The caller holds mu.
func (n *Net) keep(m *pb.Said) {
	n.kept = append(n.kept, m)
	n.bytes += size(m)
	drop := 0
	for len(n.kept)-drop > maxBehind || n.bytes > keptBytes {
		n.bytes -= size(n.kept[drop])
		drop++
	}
	n.kept = slices.Delete(n.kept, 0, drop)
}

func size(m *pb.Said) int {
	b := 0
	for _, x := range m.Notes {
		b += len(x.Channel) + len(x.Payload) + 64
	}
	return b
}

// send sends a message to all followers. The caller holds mu.
func (n *Net) send(m *pb.Said) {
	for f := range n.followers {
		select {
		case f <- m:
		default:
			delete(n.followers, f)
			close(f)
		}
	}
}

// endTime bounds how long End waits for the followers.
const endTime = time.Second

// End announces to all followers that no more messages come: the node stops, and has no sessions
// any more.
func (n *Net) End(ctx context.Context) {
	n.end()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	told := make(chan struct{})
	go func() {
		n.streams.Wait()
		close(told)
	}()
	select {
	case <-told:
	case <-ctx.Done():
	}
}

func (n *Net) end() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ended = true
	n.send(&pb.Said{Epoch: n.epoch, Count: n.count, End: true})
	for f := range n.followers {
		delete(n.followers, f)
		close(f)
	}
}

// Follow implements the service.
func (n *Net) Follow(r *pb.FollowRequest, stream grpc.ServerStreamingServer[pb.Said]) error {
	f := make(chan *pb.Said, maxBehind)
	n.mu.Lock()
	if n.ended {
		n.mu.Unlock()
		return status.Error(codes.Unavailable, "the node stops")
	}
	n.followers[f] = true
	n.streams.Add(1)
	defer n.streams.Done()
	first := &pb.Said{Epoch: n.epoch, Count: n.count}
	missed := n.since(r)
	if len(missed) > 0 {
		first.Count = missed[0].Count
	}
	n.mu.Unlock()
	defer func() {
		n.mu.Lock()
		delete(n.followers, f)
		n.mu.Unlock()
	}()
	for _, m := range append([]*pb.Said{first}, missed...) {
		if err := stream.Send(m); err != nil {
			return err
		}
	}
	for {
		select {
		case m, ok := <-f:
			if !ok {
				return status.Error(codes.ResourceExhausted, "too far behind, or the end")
			}
			if err := stream.Send(m); err != nil {
				return err
			}
			if m.End {
				return nil
			}
		case <-stream.Context().Done():
			return stream.Context().Err()
		}
	}
}

// since returns what a reconnecting follower has missed, if all of it was kept. From an earlier
// process it had received everything, or knows that it had not. The caller holds mu.
func (n *Net) since(r *pb.FollowRequest) []*pb.Said {
	from := uint64(0)
	switch {
	case r.Epoch == 0:
		return nil
	case r.Epoch == n.epoch:
		from = r.Next
	}
	first := n.count - uint64(len(n.kept))
	if from < first || from > n.count {
		return nil
	}
	return slices.Clone(n.kept[from-first:])
}

// toList is a message as a server takes it.
func toList(m *pb.Said) []notify.Notification {
	out := make([]notify.Notification, 0, len(m.Notes))
	for _, x := range m.Notes {
		out = append(out, notify.Notification{Database: x.Database,
			Channel: x.Channel, Payload: x.Payload, PID: x.Session})
	}
	return out
}

// Ready waits until this node follows each other node, or knows that it cannot be reached: a
// session that listens from then on misses no later message.
func (n *Net) Ready(ctx context.Context) error {
	for {
		nodes := n.cfg.Nodes()
		n.mu.Lock()
		ready := !slices.ContainsFunc(nodes, func(id uint32) bool {
			return id != n.cfg.Self && (n.peers[id] == nil || n.peers[id].state == connecting)
		})
		turned := n.turned
		n.mu.Unlock()
		if ready {
			return nil
		}
		select {
		case <-turned:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
