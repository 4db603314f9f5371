package raftnet

import (
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// progress has the answers of a group's followers to this node as a leader.
type progress struct {
	mu sync.Mutex
	of map[raft.ServerID]*standing // guarded by mu
}

type standing struct {
	match, term uint64
	contact     time.Time
}

// note records an answer of a follower to an append of a term that ends at an index. The index is 0
// for a heartbeat, which compares no logs.
func (p *progress) note(id raft.ServerID, term, index uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of == nil {
		p.of = map[raft.ServerID]*standing{}
	}
	s := p.of[id]
	if s == nil {
		s = &standing{}
		p.of[id] = s
	}
	if term > s.term { // entries that an earlier leader knew may have been replaced since
		s.term, s.match = term, 0
	}
	if term == s.term {
		s.match = max(s.match, index)
	}
	s.contact = time.Now()
}

// appended notes the answer to an append.
func (p *progress) appended(id raft.ServerID, a *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) {
	last := a.PrevLogEntry
	if n := len(a.Entries); n > 0 {
		last = a.Entries[n-1].Index
	}
	if !resp.Success {
		last = 0
	}
	p.note(id, a.Term, last)
}

// Forget forgets what a follower has answered.
func (t *Transport) Forget(id raft.ServerID) {
	t.progress.mu.Lock()
	defer t.progress.mu.Unlock()
	delete(t.progress.of, id)
}

// Progress returns how far a follower's log agrees with the log of this node as leader of a term,
// and when the follower answered last. Zeros: it has not answered.
func (t *Transport) Progress(id raft.ServerID) (match, term uint64, contact time.Time) {
	t.progress.mu.Lock()
	defer t.progress.mu.Unlock()
	if s := t.progress.of[id]; s != nil {
		return s.match, s.term, s.contact
	}
	return 0, 0, time.Time{}
}
