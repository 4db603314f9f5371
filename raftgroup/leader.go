package raftgroup

import (
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// leadership is the leader that this server knows of.
type leadership struct {
	mu      sync.Mutex
	leader  raft.ServerID // "" if none is known; guarded by mu
	changed chan struct{} // closed when leader changes; guarded by mu
}

// observe follows changes of the leader until the group is closed.
func (g *Group) observe() {
	ch := make(chan raft.Observation, 16)
	o := raft.NewObserver(ch, false, func(o *raft.Observation) bool {
		_, ok := o.Data.(raft.LeaderObservation)
		return ok
	})
	g.raft.RegisterObserver(o)
	go func() {
		defer g.raft.DeregisterObserver(o)
		for {
			select {
			case <-ch: // if an observation was dropped, others followed it, or look sees the change
				g.look()
			case <-g.stop:
				return
			}
		}
	}()
}

// look takes the leader from Raft's present state.
func (g *Group) look() raft.ServerID {
	_, id := g.raft.LeaderWithID()
	l := &g.lead
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.leader != id {
		l.leader = id
		close(l.changed)
		l.changed = make(chan struct{})
	}
	return id
}

// Leader returns the leader as far as this server knows, or "", and the term of this server. The
// leader may have been replaced already (T5). It is the leader of that term: Raft's library clears
// the leader before it enters another term.
func (g *Group) Leader() (raft.ServerID, uint64) {
	for term := g.raft.CurrentTerm(); ; {
		id := g.look()
		now := g.raft.CurrentTerm()
		if now == term {
			return id, term
		}
		term = now
	}
}

// LeaderChanged returns a channel that is closed when the leader differs from that at the call.
func (g *Group) LeaderChanged() <-chan struct{} {
	g.look()
	g.lead.mu.Lock()
	defer g.lead.mu.Unlock()
	return g.lead.changed
}

// Progress is what a leader knows of a member.
type Progress struct {
	Match   uint64    // the member's log agrees with the leader's up to here; 0 is unknown
	Contact time.Time // when it last answered; zero if it has not yet
}

// progressor is a transport that records the answers of followers.
type progressor interface {
	Progress(raft.ServerID) (match, term uint64, contact time.Time)
	Forget(raft.ServerID) // what it has answered
}

// Progress returns how far a member has replicated the log. Only the leader knows it. With a
// transport that records no answers every member counts as up to date.
func (g *Group) Progress(id raft.ServerID) Progress {
	p, ok := g.opts.Transport.(progressor)
	if !ok || id == g.opts.ID {
		return Progress{Match: g.raft.LastIndex(), Contact: time.Now()}
	}
	match, term, contact := p.Progress(id)
	if term != g.raft.CurrentTerm() {
		match = 0
	}
	return Progress{match, contact}
}

// LastIndex returns the index of the last entry in the log here.
func (g *Group) LastIndex() uint64 { return g.raft.LastIndex() }

// ID returns the id of this server.
func (g *Group) ID() raft.ServerID { return g.opts.ID }
