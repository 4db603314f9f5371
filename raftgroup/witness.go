package raftgroup

import (
	"sync"

	"github.com/hashicorp/raft"
)

// wire is what a group needs of a transport.
type wire interface {
	raft.Transport
	raft.WithPreVote
	raft.WithClose
}

// witness is the group's transport as Raft sees it. It records which requests the followers have
// accepted, by the round of Confirm in which they were sent, and sends requests of its own.
//
// It does not repeat a failed request of its own: the heartbeats that Raft sends count as well, and
// Raft ends the leadership if they are not answered either.
type witness struct {
	wire
	self raft.ServerID
	wake chan struct{} // holds an element when a round has an answer to count

	mu    sync.Mutex
	round uint64                  // the newest; guarded by mu
	taken map[raft.ServerID]taken // guarded by mu
	asked map[raft.ServerID]bool  // servers with an unanswered request of ask; guarded by mu
}

// taken is the newest request that a follower has accepted.
type taken struct {
	term  uint64 // of the leader that sent it
	round uint64 // the newest round when it was sent
}

func newWitness(t wire, self raft.ServerID) *witness {
	return &witness{
		wire: t, self: self, wake: make(chan struct{}, 1),
		taken: map[raft.ServerID]taken{}, asked: map[raft.ServerID]bool{},
	}
}

// begin returns the number of a new round: requests that are sent from here on count in it.
func (w *witness) begin() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.round++
	return w.round
}

// agrees reports whether a server has accepted a request of a term that was sent in a round or
// later.
func (w *witness) agrees(id raft.ServerID, term, round uint64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.taken[id]
	return t.term == term && t.round >= round
}

// ask sends a heartbeat to a server, unless an earlier one of ask is unanswered. Servers of all
// releases answer heartbeats.
func (w *witness) ask(s raft.Server, term uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.asked[s.ID] {
		return
	}
	w.asked[s.ID] = true
	addr := w.EncodePeer(w.self, w.LocalAddr())
	header := raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(w.self), Addr: addr}
	req := &raft.AppendEntriesRequest{RPCHeader: header, Term: term, Leader: addr}
	go func() { _ = w.send(s.ID, s.Address, req, &raft.AppendEntriesResponse{}, true) }()
}

// AppendEntries implements raft.Transport.
func (w *witness) AppendEntries(
	id raft.ServerID, addr raft.ServerAddress, req *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse,
) error {
	return w.send(id, addr, req, resp, false)
}

// send sends a request and records its outcome; own is set for a request of ask.
func (w *witness) send(
	id raft.ServerID, addr raft.ServerAddress, req *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse,
	own bool,
) error {
	w.mu.Lock()
	round := w.round
	w.mu.Unlock()
	err := w.wire.AppendEntries(id, addr, req, resp)
	took := err == nil && resp.Success && resp.Term == req.Term
	w.mu.Lock()
	if own {
		delete(w.asked, id)
	}
	if took {
		if was := w.taken[id]; req.Term > was.term || req.Term == was.term && round > was.round {
			w.taken[id] = taken{req.Term, round}
		}
	}
	w.mu.Unlock()
	if took { // if it was refused there is a later term, which Raft learns from its own requests
		w.notify()
	}
	return err
}

// notify wakes the round that waits.
func (w *witness) notify() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}
