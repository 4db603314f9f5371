package relay

import (
	"context"
	"slices"
	"time"

	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/cluster/transport"
	"github.com/sherddb/sherd/sql/notify"
)

// Config has the parts of the node that a Net uses. All fields are required.
type Config struct {
	Self  uint32
	Port  *transport.Port
	Nodes func() []uint32 // those of the cluster; this one may be among them
}

// Pauses between looks at the list of nodes, and before a node that did not answer is asked again.
const (
	lookPause  = 200 * time.Millisecond
	retryPause = 500 * time.Millisecond
	timeout    = 10 * time.Second // with a node whose stream has broken
)

// peer is another node that this one follows. Only its goroutine uses it, except for state.
type peer struct {
	state state // guarded by Net.mu
	stop  context.CancelFunc
	epoch uint64    // of its process; 0: not known yet
	next  uint64    // count of the message that comes next
	ended bool      // it has announced that it sends no more
	lost  time.Time // since when its stream is broken; zero: it is not, or the loss was handled
}

type state byte

// The states of a peer.
const (
	connecting state = iota
	following
	away // it did not answer
)

// Serve sets the sessions that listen here, so that Run can begin. It is called once.
func (n *Net) Serve(h *notify.Hub) {
	n.hub = h
	close(n.serving)
}

// Run follows the other nodes until ctx ends.
func (n *Net) Run(ctx context.Context) {
	defer n.follows.Wait()
	select {
	case <-n.serving:
	case <-ctx.Done():
		return
	}
	tick := time.NewTicker(lookPause)
	defer tick.Stop()
	for {
		n.look(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// look starts to follow new nodes, and stops following nodes that have left.
func (n *Net) look(ctx context.Context) {
	nodes := n.cfg.Nodes()
	n.mu.Lock()
	defer n.mu.Unlock()
	for id, p := range n.peers {
		if !slices.Contains(nodes, id) {
			p.stop()
			delete(n.peers, id)
		}
	}
	for _, id := range nodes {
		if id == n.cfg.Self || n.peers[id] != nil {
			continue
		}
		p := &peer{}
		own, stop := context.WithCancel(ctx)
		p.stop = stop
		n.peers[id] = p
		n.follows.Go(func() { n.follow(own, id, p) })
	}
}

// turn sets a peer's state.
func (n *Net) turn(p *peer, s state) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if p.state != s {
		p.state = s
		close(n.turned)
		n.turned = make(chan struct{})
	}
}

// follow follows a node until ctx ends.
func (n *Net) follow(ctx context.Context, id uint32, p *peer) {
	for ctx.Err() == nil {
		was := n.followOnce(ctx, id, p)
		if ctx.Err() != nil {
			return
		}
		n.turn(p, away)
		n.doubt(p, was)
		timer := time.NewTimer(retryPause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

// doubt records that a stream has ended without an announcement. A node that does not come back
// soon may have died with messages unsent.
func (n *Net) doubt(p *peer, was bool) {
	switch {
	case was && !p.ended:
		p.lost = time.Now()
	case !p.lost.IsZero() && time.Since(p.lost) > timeout:
		p.lost = time.Time{}
		n.hub.Missed()
	}
}

// followOnce receives messages until the stream ends, and reports whether there was a stream.
func (n *Net) followOnce(ctx context.Context, id uint32, p *peer) (was bool) {
	link, err := n.cfg.Port.Link(id, transport.TaskLink)
	if err != nil {
		return false
	}
	stream, err := pb.NewNotificationsClient(link).Follow(ctx, &pb.FollowRequest{Epoch: p.epoch, Next: p.next})
	if err != nil {
		return false
	}
	for {
		m, err := stream.Recv()
		if err != nil {
			return was
		}
		if !was {
			was = true
			n.met(p, m)
			n.turn(p, following)
		}
		if m.End {
			p.ended = true
			return true
		}
		if len(m.Notes) > 0 {
			p.next = m.Count + 1
			n.hub.Deliver(toList(m))
		}
	}
}

// met handles the first message of a stream: it reports whether a message was sent that did not
// arrive here.
func (n *Net) met(p *peer, m *pb.Said) {
	same := p.epoch == m.Epoch
	died := !same && !p.lost.IsZero() // and what it had not sent is unknown
	if same && m.Count != p.next || !same && m.Count != 0 || died {
		n.hub.Missed()
	}
	p.epoch, p.next, p.ended, p.lost = m.Epoch, m.Count, false, time.Time{}
}
