package cluster

import (
	"crypto/rand"
	"encoding/binary"
	"maps"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/sherddb/sherd/cluster/liveness"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/cluster/remote"
	"github.com/sherddb/sherd/cluster/transport"
	"github.com/sherddb/sherd/fragment"
	"github.com/sherddb/sherd/txn"
)

// links is what a Host has for the other nodes; nil if the node stands alone.
type links struct {
	incarnation uint64
	liveness    *liveness.Detector
	nodes       *remote.Nodes
	closing     sync.Once
	stop        chan struct{}

	lost func(node uint32, incarnation uint64) // called for gateways that are gone; nil: nothing else is kept for them
}

func newLinks(h *Host, d *transport.Port) *links {
	var seed [8]byte
	if _, err := rand.Read(seed[:]); err != nil {
		panic("cluster: no randomness: " + err.Error()) // crypto/rand never fails on a supported system
	}
	incarnation := binary.LittleEndian.Uint64(seed[:]) | 1
	l := &links{incarnation: incarnation, stop: make(chan struct{})}
	cfg := &h.cfg
	l.liveness = liveness.New(liveness.Config{
		Self: cfg.Node, Incarnation: incarnation, Clock: cfg.Clock, Port: d, Logger: cfg.Logger,
		Heartbeat: cfg.Heartbeat,
		Nodes:     h.nodeNumbers, Leads: h.terms,
		Over: func(id txn.ID) bool { return !h.client.AtWork(id) },
		Lost: func(node uint32, incarnation uint64) {
			h.fragments.DropGateway(node, incarnation)
			if l.lost != nil {
				l.lost(node, incarnation)
			}
		},
		Ended: h.fragments.DropTransactions,
	})
	l.nodes = remote.New(remote.Config{
		Incarnation: incarnation, Catalog: cfg.Catalog, Clock: cfg.Clock,
		Port: d, Logger: cfg.Logger, Over: l.liveness.ReportEnd,
	})
	return l
}

// leadTick is how often a node checks whether the fragments that it leads have changed, to notify
// the others at once.
const leadTick = 25 * time.Millisecond

func (l *links) start(h *Host) {
	if l == nil {
		return
	}
	l.liveness.Start()
	go func() {
		t := time.NewTicker(leadTick)
		defer t.Stop()
		last := h.terms()
		for {
			select {
			case <-t.C:
				if now := h.terms(); !maps.Equal(now, last) {
					last = now
					l.liveness.Wake()
				}
			case <-l.stop:
				return
			}
		}
	}()
}

func (l *links) close() {
	if l != nil {
		l.closing.Do(func() {
			close(l.stop)
			l.liveness.Close()
		})
	}
}

// Register registers the services that a Host offers to the other nodes, before the port is open.
func (h *Host) Register(s grpc.ServiceRegistrar) {
	if h.links != nil {
		pb.RegisterPresenceServer(s, h.links.liveness)
		pb.RegisterFragmentsServer(s, fragment.Service{Server: h.fragments})
	}
}

// OnGatewayLost sets, before Start, a function that is called when a gateway's process is gone, or
// was silent for too long: what is kept here for its transactions may be dropped.
func (h *Host) OnGatewayLost(lost func(node uint32, incarnation uint64)) {
	if h.links != nil {
		h.links.lost = lost
	}
}

// AskAlive asks a gateway about transactions whose part here has not been used for long. The
// parts of transactions that are over are dropped.
func (h *Host) AskAlive(node uint32, ids []txn.ID) {
	if h.links != nil {
		h.links.liveness.AskAlive(node, ids)
	}
}

// Health returns what is known about the other nodes; nothing if the node stands alone.
func (h *Host) Health() []liveness.Health {
	if h.links == nil {
		return nil
	}
	return h.links.liveness.Health()
}

// Liveness returns the failure detector (package liveness); nil if the node stands alone.
func (h *Host) Liveness() *liveness.Detector {
	if h.links == nil {
		return nil
	}
	return h.links.liveness
}

// Nodes returns the senders to the other nodes; nil if the node stands alone.
func (h *Host) Nodes() *remote.Nodes {
	if h.links == nil {
		return nil
	}
	return h.links.nodes
}

// Incarnation returns the number of this process, by which the other nodes distinguish it from an
// earlier one; 0 if it stands alone.
func (h *Host) Incarnation() uint64 {
	if h.links == nil {
		return 0
	}
	return h.links.incarnation
}

func (h *Host) nodeNumbers() []uint32 {
	var out []uint32
	for n := range h.cfg.Catalog.View().Nodes() {
		out = append(out, n.ID)
	}
	return out
}

// terms returns the fragments that are led here, with their terms.
func (h *Host) terms() map[txn.FragmentID]uint64 {
	h.mu.RLock()
	defer h.mu.RUnlock()
	out := make(map[txn.FragmentID]uint64, len(h.replicas))
	for id, r := range h.replicas {
		if term := r.Group.Term(); term != 0 {
			out[id] = term
		}
	}
	return out
}
