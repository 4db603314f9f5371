package liveness

import (
	"crypto/rand"
	"encoding/binary"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/cluster/transport"
	"github.com/sherddb/sherd/txn"
)

// Config has what a node reports about itself. All but Incarnation, Heartbeat and Logger are required.
type Config struct {
	Self        uint32
	Incarnation uint64 // the number of this process; 0: a random one
	Clock       *txn.Clock
	Port        *transport.Port
	Nodes       func() []uint32                          // returns the nodes of the cluster
	Leads       func() map[txn.FragmentID]uint64         // returns what this node leads, with the terms
	Over        func(txn.ID) bool                        // reports whether a transaction of this gateway is over
	Ended       func(node uint32, transactions []txn.ID) // their write buffers here may be dropped
	Heartbeat   time.Duration                            // default 1 s
	Logger      *slog.Logger
}

const (
	missesOfDead      = 3 // heartbeats without an answer
	heartbeatsOfLease = 5 // and without anything heard
	heartbeatsOfHint  = 5 // during which another node's report of a leader counts
)

// Health is what is known about another node.
type Health struct {
	Node        uint32
	Incarnation uint64
	Alive       bool // it answers what this node sends
	// The node had time to answer and did not. A node that has not had the time yet is neither
	// alive nor silent.
	Silent     bool
	LastSeen   time.Time     // time of the last message, an answer or not; zero: never
	Clock      txn.Timestamp // its clock at that time
	Offset     time.Duration // by how much its clock is ahead of this node's
	RTT        time.Duration
	ClockError error // its clock was refused
}

// Detector is one node's part in failure detection. All methods may be called concurrently.
type Detector struct {
	pb.UnimplementedPresenceServer
	cfg  Config
	lost []func(node uint32, incarnation uint64) // see OnLost

	mu      sync.Mutex
	peers   map[uint32]*peer              // guarded by mu
	leaders map[txn.FragmentID]Leadership // of the other nodes, by their own claims (peer.says); guarded by mu
	hints   map[txn.FragmentID]hint       // by the reports of others; guarded by mu
	changed chan struct{}                 // closed when leaders or the set of live nodes change; guarded by mu
	closed  bool                          // guarded by mu
	others  atomic.Int32                  // nodes in the cluster
	stop    chan struct{}
	done    sync.WaitGroup
}

// New creates a node's Detector; Start starts it.
func New(cfg Config) *Detector {
	if cfg.Heartbeat == 0 {
		cfg.Heartbeat = time.Second
	}
	if cfg.Incarnation == 0 {
		cfg.Incarnation = newIncarnation()
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	p := &Detector{
		cfg: cfg, peers: map[uint32]*peer{}, leaders: map[txn.FragmentID]Leadership{},
		hints: map[txn.FragmentID]hint{}, changed: make(chan struct{}), stop: make(chan struct{}),
	}
	p.others.Store(1) // until they are counted
	return p
}

// newIncarnation returns a random number, not 0.
func newIncarnation() uint64 {
	var seed [8]byte
	if _, err := rand.Read(seed[:]); err != nil {
		panic("liveness: no randomness: " + err.Error()) // crypto/rand never fails on a supported system
	}
	return binary.LittleEndian.Uint64(seed[:]) | 1
}

// Incarnation returns the number of this process, by which the other nodes distinguish it from an
// earlier one.
func (p *Detector) Incarnation() uint64 { return p.cfg.Incarnation }

// OnLost adds a function, before Start, that is called when a gateway's process is gone, or was
// silent for too long: what is kept here for its transactions may be dropped.
func (p *Detector) OnLost(lost func(node uint32, incarnation uint64)) { p.lost = append(p.lost, lost) }

// Start begins to attend to the other nodes.
func (p *Detector) Start() {
	p.done.Go(p.followLeads)
	p.done.Add(1)
	go func() {
		defer p.done.Done()
		t := time.NewTicker(p.cfg.Heartbeat)
		defer t.Stop()
		for {
			p.follow()
			select {
			case <-t.C:
			case <-p.stop:
				return
			}
		}
	}()
}

// Close ends all streams.
func (p *Detector) Close() {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	p.closed = true
	close(p.stop)
	p.mu.Unlock()
	p.done.Wait()
}

// follow starts to watch nodes that have joined, and stops for those that have left.
func (p *Detector) follow() {
	nodes := p.cfg.Nodes()
	p.others.Store(int32(len(nodes) - 1))
	var gone []*peer
	p.mu.Lock()
	for _, n := range nodes {
		if n != p.cfg.Self {
			p.peerOf(n)
		}
	}
	for n, q := range p.peers {
		switch known := slices.Contains(nodes, n); {
		case !known && q.running: // one that is not known yet has joined just now
			delete(p.peers, n)
			p.withdraw(q)
			gone = append(gone, q)
		case known && !q.running && !p.closed:
			q.running = true
			p.done.Add(1)
			go func() {
				defer p.done.Done()
				q.supervise()
			}()
		}
	}
	p.mu.Unlock()
	for _, q := range gone {
		close(q.gone)
		q.forget()
	}
}

// peerOf is called with mu held.
func (p *Detector) peerOf(node uint32) *peer {
	q := p.peers[node]
	if q == nil {
		q = &peer{p: p, node: node, wake: make(chan struct{}, 1),
			gone: make(chan struct{}), since: time.Now(), health: Health{Node: node}}
		q.says = [2]map[txn.FragmentID]uint64{{}, {}}
		p.peers[node] = q
	}
	return q
}

func (p *Detector) peer(node uint32) *peer {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.peerOf(node)
}

// member returns a node of the cluster, nil if the node is not in it.
func (p *Detector) member(node uint32) *peer {
	if !slices.Contains(p.cfg.Nodes(), node) {
		return nil
	}
	return p.peer(node)
}

// Alone reports whether the cluster has no other node.
func (p *Detector) Alone() bool { return p.others.Load() <= 0 }

// Wake notifies the others at once: what this node leads has changed.
func (p *Detector) Wake() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, q := range p.peers {
		q.nudge()
	}
}

// AskAlive asks a gateway whether transactions are over; those that are over are passed to
// Config.Ended. A node that is not in the cluster is not asked, because its write buffers are
// dropped when it leaves, and it must not be counted among the nodes again (Health).
func (p *Detector) AskAlive(node uint32, ids []txn.ID) {
	q := p.member(node)
	if q == nil {
		return
	}
	q.mu.Lock()
	q.ask = append(q.ask, ids...)
	q.mu.Unlock()
	q.nudge()
}

// ReportEnd notifies a node that a transaction of this gateway is over, because the node may have
// missed its end.
func (p *Detector) ReportEnd(node uint32, id txn.ID) {
	q := p.member(node)
	if q == nil {
		return
	}
	q.mu.Lock()
	q.over = append(q.over, id)
	q.mu.Unlock()
	q.nudge()
}

// Changed is closed when another leader, or another node, is known.
func (p *Detector) Changed() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changed
}

// announce is called with mu held.
func (p *Detector) announce() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// Alive reports whether a node answers.
func (p *Detector) Alive(node uint32) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := p.peers[node]
	return q != nil && q.isAlive()
}

// Silent reports whether a node was given the time to answer, and did not.
func (p *Detector) Silent(node uint32) bool {
	p.mu.Lock()
	q := p.peers[node]
	p.mu.Unlock()
	if q == nil {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.health.Silent
}

// SilentFor returns for how long nothing was heard from a node that is silent, at most since this
// process watches it. It is 0 if the node is not silent.
func (p *Detector) SilentFor(node uint32) time.Duration {
	p.mu.Lock()
	q := p.peers[node]
	p.mu.Unlock()
	if q == nil {
		return 0
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	switch h := q.health; {
	case !h.Silent:
		return 0
	case h.LastSeen.IsZero():
		return time.Since(q.since)
	default:
		return time.Since(h.LastSeen)
	}
}

// Forgotten reports whether a node was not heard from for so long that its write buffers here were
// dropped: the functions of OnLost have returned.
func (p *Detector) Forgotten(node uint32) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := p.peers[node]
	return q != nil && q.quiet.Load() > heartbeatsOfLease // one heartbeat more: it was declared lost in the one before
}

// Health returns what is known about the other nodes, by number.
func (p *Detector) Health() []Health {
	p.mu.Lock()
	peers := make([]*peer, 0, len(p.peers))
	for _, q := range p.peers {
		peers = append(peers, q)
	}
	p.mu.Unlock()
	out := make([]Health, len(peers))
	for i, q := range peers {
		q.mu.Lock()
		out[i] = q.health
		q.mu.Unlock()
	}
	slices.SortFunc(out, func(a, b Health) int { return int(a.Node) - int(b.Node) })
	return out
}
