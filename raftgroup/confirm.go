package raftgroup

import (
	"context"
	"sync"

	"github.com/hashicorp/raft"
	"github.com/sherddb/sherd/internal/pgerr"
)

// confirmRounds shares quorum rounds among callers: a round serves those that arrived before it started (T5).
type confirmRounds struct {
	mu      sync.Mutex
	running bool         // guarded by mu
	next    []chan error // callers of the round to come; guarded by mu
}

// Confirm returns nil if this server was leader at some moment after the call began. The sole voter needs no round.
func (g *Group) Confirm(ctx context.Context) error {
	if g.sole.Load() && g.raft.State() == raft.Leader {
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

// SoleVoter tells whether this process is the group's only voter.
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
		err := g.raft.VerifyLeader().Error()
		if err != nil {
			err = pgerr.New(pgerr.CannotConnectNow, "%s has no leader at present", g.name).WithHint("Try again in a moment.")
		}
		for _, ch := range batch {
			ch <- err
		}
	}
}
