package fragment

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/kv"
	"github.com/sherddb/sherd/txn"
)

type partKey struct {
	fragment txn.FragmentID
	id       txn.ID
}

// LeasedPart is the part of a transaction whose gateway is another node.
type LeasedPart struct {
	Part
	partKey
	node        uint32
	incarnation uint64
	birth, term uint64
	count       atomic.Uint64 // tasks that were to change it and have ended
	used        atomic.Int64  // nanoseconds since 1970

	gone context.Context // ends when the part is dropped: tasks go with it
	drop context.CancelCauseFunc

	mu   sync.Mutex
	kept []func() // they release pinned snapshots; guarded by mu
}

// leases are all leased parts.
type leases struct {
	mu       sync.Mutex
	by       map[partKey]*LeasedPart // guarded by mu
	gateways map[txn.ID]gatewayRole  // guarded by mu
}

// gatewayRole is the gateway of a transaction, and the number of fragments here in which it has a
// part.
type gatewayRole struct {
	node  uint32
	parts int
}

// add is called with mu held.
func (l *leases) add(p *LeasedPart) {
	l.by[p.partKey] = p
	g := l.gateways[p.id]
	l.gateways[p.id] = gatewayRole{p.node, g.parts + 1}
}

// remove is called with mu held.
func (l *leases) remove(p *LeasedPart) {
	if l.by[p.partKey] != p {
		return
	}
	delete(l.by, p.partKey)
	g := l.gateways[p.id]
	if g.parts--; g.parts == 0 {
		delete(l.gateways, p.id)
		return
	}
	l.gateways[p.id] = g
}

// get returns the part of a transaction, whichever node is its gateway; nil if there is none.
func (l *leases) get(c *Call) *LeasedPart {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.by[partKey{c.Fragment, c.ID}]
}

// Find returns the part that a call is for. It is nil if the gateway knows of none and there is
// none.
func (s *Server) Find(c *Call) (*LeasedPart, error) {
	p := s.leases.get(c)
	switch {
	case p == nil && c.birth == 0:
		return nil, nil
	case p == nil, c.birth != 0 && p.birth != c.birth, p.node != c.node, p.incarnation != c.incarnation:
		return nil, txn.NewLost(c.Fragment, true)
	case p.term != c.Term:
		if s.leases.end(p); c.birth == 0 { // what its gateway does not know of cannot be missed
			return nil, nil
		}
		return nil, txn.NewLost(c.Fragment, true)
	}
	p.used.Store(time.Now().UnixNano())
	return p, nil
}

// Begin returns the part that a call is for, and creates it if there is none.
func (s *Server) Begin(c *Call, isolation txn.Isolation, backend uint32) (*LeasedPart, error) {
	p, err := s.Find(c)
	if p != nil || err != nil {
		return p, err
	}
	if c.Replica.Group.Yielding() {
		return nil, &kv.NotLeader{Fragment: c.Fragment}
	}
	s.leases.mu.Lock()
	defer s.leases.mu.Unlock()
	key := partKey{c.Fragment, c.ID}
	if p := s.leases.by[key]; p != nil { // another task of the transaction's first statement here was faster
		return p, nil
	}
	p = &LeasedPart{
		partKey: key, node: c.node, incarnation: c.incarnation,
		birth: s.births.Add(1), term: c.Term,
	}
	s.initPart(&p.Part, c.Replica, c.Replica.Tx(c.ID))
	p.gone, p.drop = context.WithCancelCause(context.Background())
	p.SetSession(backend)
	if isolation == txn.Serializable {
		p.TrackReads()
	}
	p.used.Store(time.Now().UnixNano())
	s.leases.add(p)
	return p, nil
}

// forget takes a part from the table: its transaction is over, or left to the log.
func (l *leases) forget(p *LeasedPart) {
	l.mu.Lock()
	l.remove(p)
	l.mu.Unlock()
	p.drop(txn.NewLost(p.fragment, true))
	p.mu.Lock()
	kept := p.kept
	p.kept = nil
	p.mu.Unlock()
	for _, release := range kept {
		release()
	}
}

// end drops a part and its locks. Prepared writes stay in the log, which asks the coordinator
// fragment.
func (l *leases) end(p *LeasedPart) {
	l.forget(p)
	p.Rollback()
	if _, _, prepared := p.replica.Outcomes.Prepared(p.id); prepared {
		p.Detach()
	}
}

// dropWhere ends the parts that match.
func (l *leases) dropWhere(match func(*LeasedPart) bool) {
	var gone []*LeasedPart
	l.mu.Lock()
	for _, p := range l.by {
		if match(p) {
			gone = append(gone, p)
		}
	}
	l.mu.Unlock()
	for _, p := range gone {
		l.end(p)
	}
}

// DropGateway drops the parts of a gateway's process: it is another one now, or was silent for too
// long.
func (s *Server) DropGateway(node uint32, incarnation uint64) {
	s.leases.dropWhere(func(p *LeasedPart) bool { return p.node == node && p.incarnation == incarnation })
}

// DropTransactions drops the parts of transactions that are over at their gateway.
func (s *Server) DropTransactions(node uint32, ids []txn.ID) {
	over := make(map[txn.ID]bool, len(ids))
	for _, id := range ids {
		over[id] = true
	}
	s.leases.dropWhere(func(p *LeasedPart) bool { return p.node == node && over[p.id] })
}

// Idle lists, by gateway, the transactions whose parts here have not been used for a while: the
// notice of their end may have been lost.
func (s *Server) Idle(d time.Duration) map[uint32][]txn.ID {
	before := time.Now().Add(-d).UnixNano()
	out := map[uint32][]txn.ID{}
	s.leases.mu.Lock()
	defer s.leases.mu.Unlock()
	for _, p := range s.leases.by {
		if p.used.Load() < before {
			out[p.node] = append(out[p.node], p.id)
		}
	}
	return out
}

// Leased returns how many parts there are.
func (s *Server) Leased() int {
	s.leases.mu.Lock()
	defer s.leases.mu.Unlock()
	return len(s.leases.by)
}

// Gateway returns the node of a transaction's session; 0 if no part of it is leased here.
func (s *Server) Gateway(id txn.ID) uint32 {
	s.leases.mu.Lock()
	defer s.leases.mu.Unlock()
	return s.leases.gateways[id].node
}

// keep registers a function to call when the part is dropped.
func (p *LeasedPart) keep(release func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kept = append(p.kept, release)
}

// Gone returns a context that ends when the part is dropped; its cause is the error of a task that
// uses the part.
func (p *LeasedPart) Gone() context.Context { return p.gone }

// Changed counts a task that was to change the part and has ended.
func (p *LeasedPart) Changed() { p.count.Add(1) }

// dropped returns the error of a call during which the part was dropped: storage's error about an
// ended transaction is then no fault of the caller, and nothing of the transaction is in the log.
func (p *LeasedPart) dropped(err error) error {
	if p != nil && pgerr.Is(err, pgerr.InternalError) && p.gone.Err() != nil {
		return txn.NewLost(p.fragment, true)
	}
	return err
}

// Message returns what the gateway should know about a part; nil for nil.
func (p *LeasedPart) Message() *pb.WriteBuffer {
	if p == nil {
		return nil
	}
	count := p.count.Load() // before the rest: an answer older than its number would replace a newer one
	m := p.Mark()
	out := &pb.WriteBuffer{
		Term: p.term, Birth: p.birth, Count: count,
		Mark:      &pb.Mark{Writes: uint64(m.Writes), Locks: uint64(m.Locks), Changes: uint64(m.Changes)},
		HasWrites: p.HasWrites(), HasPins: p.HasPins(), HasReads: p.HasReads(), LowWater: uint64(p.LowWater()),
	}
	out.BucketsWritten, out.Written = p.Written()
	return out
}
