package raftgroup

import (
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// leadership is who leads, as Raft here has heard it.
type leadership struct {
	mu      sync.Mutex
	leader  raft.ServerID // "": nobody is known to; guarded by mu
	changed chan struct{} // closed when leader changes; guarded by mu
}

// observe follows who leads until the group is closed.
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
			case <-ch: // one that did not fit was followed by others, or is seen by look
				g.look()
			case <-g.stop:
				return
			}
		}
	}()
}

// look takes over what Raft knows now.
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

// Leader gives the server that leads as far as is known here, "" where none is, and the term that this server is in. It may have been replaced
// already (T5). The leader is one of that term: Raft's library forgets the leader before it goes into another term.
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

// LeaderChanged gives a channel that is closed when another server leads, or none, than at the call.
func (g *Group) LeaderChanged() <-chan struct{} {
	g.look()
	g.lead.mu.Lock()
	defer g.lead.mu.Unlock()
	return g.lead.changed
}

// Progress is what a leader knows of a member.
type Progress struct {
	Match   uint64    // the member's log agrees with the leader's up to here; 0 is not known
	Contact time.Time // of its last answer, zero for none yet
}

// progressor is a transport that notes what followers answer.
type progressor interface {
	Progress(raft.ServerID) (match, term uint64, contact time.Time)
}

// Progress tells how far a member is, of use at the leader. A transport that notes nothing lets everybody count as up to date.
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

// LastIndex is the index of the last entry in the log here.
func (g *Group) LastIndex() uint64 { return g.raft.LastIndex() }

// ID is this server.
func (g *Group) ID() raft.ServerID { return g.opts.ID }
