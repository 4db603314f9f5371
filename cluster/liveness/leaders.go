package liveness

import (
	"maps"
	"time"

	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/txn"
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

// leadTick is how often a node checks whether the fragments that it leads have changed.
const leadTick = 25 * time.Millisecond

// followLeads notifies the others as soon as what this node leads has changed.
func (p *Detector) followLeads() {
	t := time.NewTicker(leadTick)
	defer t.Stop()
	last := p.cfg.Leads()
	for {
		select {
		case <-t.C:
			if now := p.cfg.Leads(); !maps.Equal(now, last) {
				last = now
				p.Wake()
			}
		case <-p.stop:
			return
		}
	}
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

// updateLeaders determines the leaders of fragments by the nodes' claims: those of the newest terms. The
// caller holds mu.
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
