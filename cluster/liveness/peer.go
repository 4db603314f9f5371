package liveness

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/cluster/transport"
	"github.com/sherddb/sherd/txn"
)

// peer is another node.
type peer struct {
	p       *Detector
	node    uint32
	wake    chan struct{}
	gone    chan struct{} // closed: it left the cluster
	running bool          // guarded by p.mu
	since   time.Time     // this process knows of it
	// says has the fragments that the node claims to lead, with the terms, on each stream. The
	// claims of a stream that has ended stay valid until its next one begins. Guarded by p.mu.
	says [2]map[txn.FragmentID]uint64

	misses atomic.Int32 // heartbeats since an answer on the stream that this node opened
	quiet  atomic.Int32 // heartbeats since anything was heard
	alive  atomic.Bool

	mu     sync.Mutex
	health Health   // guarded by mu
	ask    []txn.ID // transactions to ask the node about; guarded by mu
	over   []txn.ID // transactions to report as over; guarded by mu
	warned time.Time
}

// side is one of the two streams with a node.
type side int

const (
	ours   side = iota // this node opened it
	theirs             // the other node opened it
)

func (q *peer) isAlive() bool { return q.alive.Load() }

func (q *peer) nudge() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// supervise keeps a stream to the node open, and detects that the node is silent.
func (q *peer) supervise() {
	t := time.NewTicker(q.p.cfg.Heartbeat)
	defer t.Stop()
	ctx, cancel := context.WithCancel(context.Background())
	ended := q.open(ctx)
	for {
		select {
		case <-t.C:
			if q.quiet.Add(1) == heartbeatsOfLease {
				q.forget()
			}
			if q.misses.Add(1) >= missesOfDead {
				q.misses.Store(0)
				q.dead()
				cancel()
			}
		case <-ended:
			cancel()
			if !q.pause() {
				return
			}
			ctx, cancel = context.WithCancel(context.Background())
			ended = q.open(ctx)
		case <-q.gone:
			cancel()
			<-ended
			return
		case <-q.p.stop:
			cancel()
			<-ended
			return
		}
	}
}

// pause waits before another stream is opened.
func (q *peer) pause() bool {
	select {
	case <-time.After(q.p.cfg.Heartbeat / 4):
		return true
	case <-q.gone:
		return false
	case <-q.p.stop:
		return false
	}
}

// dead resets the links to a node that does not answer.
func (q *peer) dead() {
	was := q.alive.Swap(false)
	q.mu.Lock()
	q.health.Alive, q.health.Silent = false, true
	q.mu.Unlock()
	if was {
		q.p.cfg.Logger.Warn("a node does not answer", "node", q.node)
		q.p.mu.Lock()
		q.p.announce()
		q.p.mu.Unlock()
	}
	for _, class := range []transport.Class{transport.RaftLink, transport.TaskLink} {
		if l, err := q.p.cfg.Port.Link(q.node, class); err == nil {
			l.Reset()
		}
	}
}

// forget drops the write buffers of a gateway that is no longer heard from.
func (q *peer) forget() {
	q.mu.Lock()
	was := q.health.Incarnation
	q.mu.Unlock()
	if was != 0 {
		q.lost(was)
	}
}

// lost calls the functions of OnLost for a process of the node.
func (q *peer) lost(incarnation uint64) {
	for _, lost := range q.p.lost {
		lost(q.node, incarnation)
	}
}

// open runs a stream until ctx ends or it breaks.
func (q *peer) open(ctx context.Context) <-chan struct{} {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := q.attend(ctx); err != nil && ctx.Err() == nil {
			q.p.cfg.Logger.Debug("liveness: stream ended", "node", q.node, "error", err)
		}
	}()
	return ended
}

func (q *peer) attend(ctx context.Context) error {
	link, err := q.p.cfg.Port.Link(q.node, transport.TaskLink)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := pb.NewPresenceClient(link).Attend(ctx, grpc.WaitForReady(true))
	if err != nil {
		return err
	}
	sent := make(chan time.Time, 64)
	received := make(chan error, 1)
	go func() {
		for {
			m, err := s.Recv()
			if err != nil {
				received <- err
				return
			}
			q.answered(m, sent)
		}
	}()
	t := time.NewTicker(q.p.cfg.Heartbeat)
	defer t.Stop()
	say := speaker{q: q}
	for {
		select {
		case sent <- time.Now():
		default:
		}
		if err := s.Send(say.message()); err != nil {
			return err
		}
		select {
		case <-t.C:
		case <-q.wake:
		case err := <-received:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// answered handles an answer on the stream that this node opened.
func (q *peer) answered(m *pb.Attendance, sent <-chan time.Time) {
	q.misses.Store(0)
	rtt := time.Duration(0)
	select {
	case at := <-sent:
		rtt = time.Since(at)
	default:
	}
	q.take(m, ours, rtt)
	if !q.alive.Swap(true) {
		q.mu.Lock()
		q.health.Alive, q.health.Silent = true, false
		q.mu.Unlock()
		q.p.mu.Lock()
		q.p.announce()
		q.p.mu.Unlock()
	}
}

// take handles a message of the node, from either stream.
func (q *peer) take(m *pb.Attendance, from side, rtt time.Duration) {
	q.quiet.Store(0)
	now := txn.Timestamp(m.Now)
	offset := now.Time().Sub(q.p.cfg.Clock.Wall().Time()) + rtt/2
	clockErr := q.p.cfg.Clock.Merge(now)
	q.mu.Lock()
	was := q.health.Incarnation
	h := &q.health
	h.Incarnation, h.LastSeen, h.Clock, h.Offset, h.ClockError = m.Incarnation, time.Now(), now, offset, clockErr
	if rtt > 0 {
		h.RTT = rtt
	}
	warn := clockErr != nil && time.Since(q.warned) > time.Minute
	if warn {
		q.warned = time.Now()
	}
	q.mu.Unlock()
	if warn {
		q.p.cfg.Logger.Error("the clock of a node is too far ahead; what it asks is refused",
			"node", q.node, "ahead", offset, "error", clockErr)
	}
	if was != 0 && was != m.Incarnation {
		q.lost(was)
	}
	q.p.takeLeads(q, from, m)
	q.takeEnded(m)
}

func (q *peer) takeEnded(m *pb.Attendance) {
	var over []txn.ID
	for _, b := range m.NotAlive {
		if len(b) == len(txn.ID{}) {
			over = append(over, txn.ID(b))
		}
	}
	for _, e := range m.Ended {
		if len(e.Transaction) == len(txn.ID{}) {
			over = append(over, txn.ID(e.Transaction))
		}
	}
	if len(over) > 0 && q.p.cfg.Ended != nil {
		q.p.cfg.Ended(q.node, over)
	}
	var answer []txn.ID
	for _, b := range m.AskAlive {
		if len(b) == len(txn.ID{}) && q.p.cfg.Over(txn.ID(b)) {
			answer = append(answer, txn.ID(b))
		}
	}
	if len(answer) > 0 {
		q.mu.Lock()
		q.over = append(q.over, answer...)
		q.mu.Unlock()
		q.nudge()
	}
}

// speaker builds the messages of one stream. Each message has the leaderships that changed since
// the last one.
type speaker struct {
	q    *peer
	last map[txn.FragmentID]uint64
}

func (s *speaker) message() *pb.Attendance {
	cfg := &s.q.p.cfg
	m := &pb.Attendance{Incarnation: cfg.Incarnation, Now: uint64(cfg.Clock.Now()), All: s.last == nil}
	leads := maps.Clone(cfg.Leads())
	if leads == nil {
		leads = map[txn.FragmentID]uint64{}
	}
	for f, term := range leads {
		if s.last[f] != term {
			m.Leads = append(m.Leads, &pb.Leadership{Fragment: uint32(f), Term: term})
		}
	}
	for f := range s.last {
		if _, still := leads[f]; !still {
			m.Leads = append(m.Leads, &pb.Leadership{Fragment: uint32(f)})
		}
	}
	s.last = leads
	s.q.mu.Lock()
	ask, over := s.q.ask, s.q.over
	s.q.ask, s.q.over = nil, nil
	s.q.mu.Unlock()
	for _, id := range ask {
		m.AskAlive = append(m.AskAlive, id[:])
	}
	for _, id := range over {
		m.NotAlive = append(m.NotAlive, id[:])
	}
	return m
}

// Attend implements the service: it answers each message of another node.
func (p *Detector) Attend(s grpc.BidiStreamingServer[pb.Attendance, pb.Attendance]) error {
	who, ok := transport.PeerOf(s.Context())
	if !ok {
		return status.Error(codes.PermissionDenied, "liveness is for nodes of the cluster")
	}
	q := p.peer(who.Node)
	received := make(chan error, 1)
	heard := make(chan struct{}, 1)
	go func() { // ends with the stream, which ends when this method returns
		for {
			m, err := s.Recv()
			if err != nil {
				received <- err
				return
			}
			q.take(m, theirs, 0)
			select {
			case heard <- struct{}{}:
			default:
			}
		}
	}()
	say := speaker{q: q}
	for {
		select {
		case <-heard:
			if err := s.Send(say.message()); err != nil {
				return err
			}
		case err := <-received:
			return err
		case <-p.stop:
			return status.Error(codes.Unavailable, "the node is stopping")
		}
	}
}
