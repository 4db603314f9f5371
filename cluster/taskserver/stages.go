package taskserver

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sherddb/sherd/cluster"
	"github.com/sherddb/sherd/cluster/failure"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

type stageKey struct {
	fragment txn.FragmentID
	id       txn.ID
}

// stage is a transaction's stage in a fragment, and what is kept with it.
type stage struct {
	*cluster.Stage
	stageKey
	replica     *storage.Replica
	node        uint32
	incarnation uint64
	birth, term uint64
	count       atomic.Uint64 // tasks that were to change it and have ended
	used        atomic.Int64  // nanoseconds since 1970

	gone context.Context // ends when the stage is dropped: tasks go with it
	drop context.CancelCauseFunc

	mu   sync.Mutex
	kept []func() // they release pinned snapshots; guarded by mu
}

// stages are all of them.
type stages struct {
	mu       sync.Mutex
	by       map[stageKey]*stage    // guarded by mu
	gateways map[txn.ID]gatewayRole // guarded by mu
}

// gatewayRole is the gateway of a transaction, and the number of fragments here in which it has a
// stage.
type gatewayRole struct {
	node   uint32
	stages int
}

// add is called with mu held.
func (t *stages) add(st *stage) {
	t.by[st.stageKey] = st
	g := t.gateways[st.id]
	t.gateways[st.id] = gatewayRole{st.node, g.stages + 1}
}

// remove is called with mu held.
func (t *stages) remove(st *stage) {
	if t.by[st.stageKey] != st {
		return
	}
	delete(t.by, st.stageKey)
	g := t.gateways[st.id]
	if g.stages--; g.stages == 0 {
		delete(t.gateways, st.id)
		return
	}
	t.gateways[st.id] = g
}

// find returns the stage that a request is for. It is nil if the gateway knows of none and there is
// none.
func (s *Server) find(h *header) (*stage, error) {
	s.stages.mu.Lock()
	st := s.stages.by[stageKey{h.fragment, h.id}]
	s.stages.mu.Unlock()
	switch {
	case st == nil && h.birth == 0:
		return nil, nil
	case st == nil, h.birth != 0 && st.birth != h.birth, st.node != h.node, st.incarnation != h.incarnation:
		return nil, txn.NewLost(h.fragment, true)
	case st.term != h.term:
		if s.end(st); h.birth == 0 { // what its gateway does not know of cannot be missed
			return nil, nil
		}
		return nil, txn.NewLost(h.fragment, true)
	}
	st.used.Store(time.Now().UnixNano())
	return st, nil
}

// begin returns the stage that a request is for, and creates it if there is none.
func (s *Server) begin(h *header, o txn.Isolation, backend uint32) (*stage, error) {
	st, err := s.find(h)
	if st != nil || err != nil {
		return st, err
	}
	if h.replica.Yielding() {
		return nil, &failure.NotLeader{Fragment: h.fragment}
	}
	s.stages.mu.Lock()
	defer s.stages.mu.Unlock()
	key := stageKey{h.fragment, h.id}
	if st := s.stages.by[key]; st != nil { // another task of the transaction's first statement here was faster
		return st, nil
	}
	st = &stage{
		Stage: s.cfg.Host.NewStage(h.replica.Tx(h.id)), stageKey: key, replica: h.replica, node: h.node, incarnation: h.incarnation,
		birth: s.births.Add(1), term: h.term,
	}
	st.gone, st.drop = context.WithCancelCause(context.Background())
	st.SetSession(backend)
	if o == txn.Serializable {
		st.TrackReads()
	}
	st.used.Store(time.Now().UnixNano())
	s.stages.add(st)
	return st, nil
}

// forget takes a stage from the table: its transaction is over, or left to the log.
func (s *Server) forget(st *stage) {
	s.stages.mu.Lock()
	s.stages.remove(st)
	s.stages.mu.Unlock()
	st.drop(txn.NewLost(st.fragment, true))
	st.mu.Lock()
	kept := st.kept
	st.kept = nil
	st.mu.Unlock()
	for _, release := range kept {
		release()
	}
}

// end drops a stage and its locks. Prepared writes stay in the log, which asks the coordinator
// fragment.
func (s *Server) end(st *stage) {
	s.forget(st)
	st.Rollback()
	if _, _, prepared := st.replica.Prepared(st.id); prepared {
		st.Detach()
	}
}

// dropWhere ends the stages that match.
func (s *Server) dropWhere(match func(*stage) bool) {
	var gone []*stage
	s.stages.mu.Lock()
	for _, st := range s.stages.by {
		if match(st) {
			gone = append(gone, st)
		}
	}
	s.stages.mu.Unlock()
	for _, st := range gone {
		s.end(st)
	}
}

// DropGateway drops the stages of a gateway's process: it is another one now, or was silent for too long.
func (s *Server) DropGateway(node uint32, incarnation uint64) {
	s.dropWhere(func(st *stage) bool { return st.node == node && st.incarnation == incarnation })
}

// DropTransactions drops the stages of transactions that are over at their gateway.
func (s *Server) DropTransactions(node uint32, ids []txn.ID) {
	over := make(map[txn.ID]bool, len(ids))
	for _, id := range ids {
		over[id] = true
	}
	s.dropWhere(func(st *stage) bool { return st.node == node && over[st.id] })
}

// Idle lists, by gateway, the transactions whose stages here have not been used for a while: the
// notice of their end may have been lost.
func (s *Server) Idle(d time.Duration) map[uint32][]txn.ID {
	before := time.Now().Add(-d).UnixNano()
	out := map[uint32][]txn.ID{}
	s.stages.mu.Lock()
	defer s.stages.mu.Unlock()
	for _, st := range s.stages.by {
		if st.used.Load() < before {
			out[st.node] = append(out[st.node], st.id)
		}
	}
	return out
}

// keep registers a function to call when the stage is dropped.
func (st *stage) keep(release func()) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.kept = append(st.kept, release)
}

// message returns what the gateway should know about a stage; nil for nil.
func (st *stage) message() *pb.Stage {
	if st == nil {
		return nil
	}
	count := st.count.Load() // before the rest: what an answer says must not be older than its number, or it would take the place of a newer one's
	m := st.Mark()
	out := &pb.Stage{
		Term: st.term, Birth: st.birth, Count: count, Mark: &pb.Mark{Writes: uint64(m.Writes), Locks: uint64(m.Locks), Changes: uint64(m.Changes)},
		HasWrites: st.HasWrites(), HasPins: st.HasPins(), HasReads: st.HasReads(), Promised: uint64(st.Promised()),
	}
	out.BucketsWritten, out.Written = st.Written()
	return out
}

// gatewayOf returns the node of a transaction's session; 0 if no stage of it is here.
func (s *Server) gatewayOf(id txn.ID) uint32 {
	s.stages.mu.Lock()
	defer s.stages.mu.Unlock()
	return s.stages.gateways[id].node
}
