package liveness

import (
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/cluster/transport"
	"github.com/sherddb/sherd/txn"
)

// Config has what a node reports about itself. All but Heartbeat and Logger are required.
type Config struct {
	Self        uint32
	Incarnation uint64 // a random number of this process, not 0
	Clock       *txn.Clock
	Port        *transport.Port
	Nodes       func() []uint32                          // returns the nodes of the cluster
	Leads       func() map[txn.FragmentID]uint64         // returns what this node leads, with the terms
	Over        func(txn.ID) bool                        // reports whether a transaction of this gateway is over
	Lost        func(node uint32, incarnation uint64)    // a gateway's write buffers here may be dropped
	Ended       func(node uint32, transactions []txn.ID) // so may those of these transactions of a gateway
	Heartbeat   time.Duration                            // default 1 s
	Logger      *slog.Logger
}

const (
	missesOfDead      = 3 // heartbeats without an answer
	heartbeatsOfLease = 5 // and without anything heard
	heartbeatsOfHint  = 5 // during which another node's report of a leader counts
)

// Leadership is a fragment's leader.
type Leadership struct {
	Node uint32
	Term uint64
}

// hint is a leader that another node has reported.
type hint struct {
	Leadership
	until time.Time
}

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
	cfg Config

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

// Start begins to attend to the other nodes.
func (p *Detector) Start() {
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

// Leader returns the other node that leads a fragment, if it is known and alive.
func (p *Detector) Leader(f txn.FragmentID) (Leadership, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l, ok := p.leaders[f]
	if h, hinted := p.hints[f]; hinted && h.Term > l.Term {
		if time.Now().Before(h.until) {
			l, ok = h.Leadership, true
		} else {
			delete(p.hints, f)
		}
	}
	if !ok {
		return l, false
	}
	q := p.peers[l.Node]
	return l, q != nil && q.isAlive()
}

// Hint updates the leader hint from another node's report. It counts for a time, and less than a
// claim by a leader of the same term or of a newer one: a node that has heard of an election may
// report the previous leader with the new term.
func (p *Detector) Hint(f txn.FragmentID, l Leadership) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.Node == 0 || l.Node == p.cfg.Self || p.leaders[f].Term >= l.Term || p.hints[f].Leadership == l {
		return
	}
	p.hints[f] = hint{l, time.Now().Add(heartbeatsOfHint * p.cfg.Heartbeat)}
	p.announce()
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
// dropped: Config.Lost has returned.
func (p *Detector) Forgotten(node uint32) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := p.peers[node]
	return q != nil && q.quiet.Load() > heartbeatsOfLease // one heartbeat more: Lost was called in the one before
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

// takeLeads merges what a node claims to lead, on one of the two streams. Each stream sends what
// has changed since its last message, so a claim on one stream is not withdrawn by an older message
// on the other, or by another node.
func (p *Detector) takeLeads(q *peer, side side, m *pb.Attendance) {
	if len(m.Leads) == 0 && !m.All {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.peers[q.node] != q {
		return // it has left the cluster
	}
	of := map[txn.FragmentID]bool{}
	if m.All {
		for f := range q.says[side] {
			of[f] = true
		}
		q.says[side] = map[txn.FragmentID]uint64{}
	}
	for _, l := range m.Leads {
		f := txn.FragmentID(l.Fragment)
		of[f] = true
		if l.Term == 0 {
			delete(q.says[side], f)
		} else {
			q.says[side][f] = l.Term
		}
	}
	p.updateLeaders(of)
}

// withdraw removes the claims of a node. The caller holds mu.
func (p *Detector) withdraw(q *peer) {
	of := map[txn.FragmentID]bool{}
	for side := range q.says {
		for f := range q.says[side] {
			of[f] = true
		}
		q.says[side] = map[txn.FragmentID]uint64{}
	}
	p.updateLeaders(of)
}

// updateLeaders determines the leaders of fragments by the nodes' claims: those of the newest
// terms. The caller holds mu.
func (p *Detector) updateLeaders(of map[txn.FragmentID]bool) {
	changed := false
	for f := range of {
		var l Leadership
		for _, q := range p.peers {
			for _, says := range q.says {
				if term := says[f]; term > l.Term {
					l = Leadership{q.node, term}
				}
			}
		}
		if l == p.leaders[f] {
			continue
		}
		changed = true
		if l.Node == 0 {
			delete(p.leaders, f)
			continue
		}
		p.leaders[f] = l
		if p.hints[f].Term <= l.Term {
			delete(p.hints, f)
		}
	}
	if changed {
		p.announce()
	}
}
