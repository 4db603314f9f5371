package raftgroup

import (
	"context"
	"sync"

	"github.com/hashicorp/raft"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn/rule"
)

// confirmRounds shares quorum rounds among callers: a round serves those that arrived before it
// started (T5).
//
// Raft's own VerifyLeader is not enough. It counts each answer that arrives after the call, also
// the answer to a request that was sent before it, and the answers of servers without a vote. A
// process that was suspended finds old answers in its sockets, while another leader was elected and
// has acknowledged writes.
type confirmRounds struct {
	mu      sync.Mutex
	running bool         // guarded by mu
	next    []chan error // callers of the next round; guarded by mu
}

// Confirm returns nil if this server was the leader, and ready, at some moment after the call
// began. The only voter needs no round.
func (g *Group) Confirm(ctx context.Context) error {
	if (g.sole.Load() || !rule.T5Confirm) && g.leads(g.applied.Load()) {
		return nil
	}
	ch := make(chan error, 1)
	c := &g.round
	c.mu.Lock()
	c.next = append(c.next, ch)
	start := !c.running
	c.running = true
	c.mu.Unlock()
	if start {
		go g.confirmLoop()
	}
	select {
	case err := <-ch:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// SoleVoter reports whether this process is the group's only voter.
func (g *Group) SoleVoter() bool { return g.sole.Load() }

func (g *Group) confirmLoop() {
	c := &g.round
	for {
		c.mu.Lock()
		batch := c.next
		c.next = nil
		if len(batch) == 0 {
			c.running = false
			c.mu.Unlock()
			return
		}
		c.mu.Unlock()
		err := g.confirmRound()
		for _, ch := range batch {
			ch <- err
		}
	}
}

// confirmRound returns nil when a majority of the voters has accepted a request of this leader that
// was sent after the round began. A voter that accepted it had not voted in a later term at that
// moment, so no other leader had been elected when the round began.
//
// The voters are those of the configuration in force at any moment of the round. A leader that has
// been replaced cannot commit a change of members, so its configuration differs by at most one
// member from that of its first successor, and two such majorities have a server in common.
func (g *Group) confirmRound() error {
	round := g.witness.begin()
	for {
		changed := g.LeaderChanged()
		term := g.applied.Load()
		if !g.leads(term) {
			return g.errNoLeader()
		}
		voters, agree := 0, 0
		for _, s := range g.Members() {
			if s.Suffrage != raft.Voter {
				continue
			}
			voters++
			if s.ID == g.opts.ID || g.witness.agrees(s.ID, term, round) {
				agree++
			} else {
				g.witness.ask(s, term)
			}
		}
		if 2*agree > voters {
			return nil
		}
		select {
		case <-g.witness.wake:
		case <-changed:
		case <-g.stop:
			return g.errClosed()
		}
	}
}

func (g *Group) errNoLeader() error {
	return pgerr.New(pgerr.CannotConnectNow, "%s has no leader at present", g.name).WithHint("Try again in a moment.")
}
