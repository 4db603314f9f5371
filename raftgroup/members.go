package raftgroup

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/raft"
)

// Members returns the servers of the group, as this one knows them.
func (g *Group) Members() []raft.Server {
	f := g.raft.GetConfiguration()
	return f.Configuration().Servers
}

// AddVoter makes a server a voter: a new server, which must have opened the group with Join, or a
// non-voter, which should have caught up before. It works at the leader only; the error is nil when
// a majority has the new configuration.
func (g *Group) AddVoter(ctx context.Context, id raft.ServerID, addr raft.ServerAddress) error {
	return g.changeMembers(ctx, func() raft.Future { return g.raft.AddVoter(id, addr, 0, 0) })
}

// AddNonvoter makes a server a member that gets all entries and has no vote. What a server of that
// id has answered before does not count: it may have been a member, and may have deleted its log.
func (g *Group) AddNonvoter(ctx context.Context, id raft.ServerID, addr raft.ServerAddress) error {
	if p, ok := g.opts.Transport.(progressor); ok {
		p.Forget(id)
	}
	return g.changeMembers(ctx, func() raft.Future { return g.raft.AddNonvoter(id, addr, 0, 0) })
}

// Demote makes a voter a non-voter.
func (g *Group) Demote(ctx context.Context, id raft.ServerID) error {
	return g.changeMembers(ctx, func() raft.Future { return g.raft.DemoteVoter(id, 0, 0) })
}

// Remove removes a server from the group.
func (g *Group) Remove(ctx context.Context, id raft.ServerID) error {
	return g.changeMembers(ctx, func() raft.Future { return g.raft.RemoveServer(id, 0, 0) })
}

// changeMembers makes a change. Until its outcome is known this server does not count as the only
// voter: another may have become one, and been elected (T5).
func (g *Group) changeMembers(ctx context.Context, change func() raft.Future) error {
	if !g.enter() {
		return g.errClosed()
	}
	g.members.Lock()
	defer g.members.Unlock()
	g.sole.Store(false)
	defer g.witness.notify() // a round of Confirm counts the voters again
	if err := g.wait(ctx, change()); err != nil {
		return err
	}
	g.refreshVoters()
	return nil
}

// ErrNoVoterAnswers is the error of Transfer if the chosen server, or every other voter, does not
// answer.
var ErrNoVoterAnswers = errors.New("raftgroup: no other voter answers")

// transferContact is how recent a voter's last answer must be for a transfer to it: a few
// heartbeats.
func (g *Group) transferContact() time.Duration { return g.opts.Election / 2 }

// Transfer hands leadership to another voter. It returns when that voter has been asked to start an
// election and this server no longer leads, OnFollower included. If to is nil, it chooses the voter
// with the longest log. If the voter has not answered just now, Transfer returns ErrNoVoterAnswers,
// because Raft's library refuses every entry until an attempt has ended. With a dead server that
// takes as long as its replication pauses, ten seconds and more.
func (g *Group) Transfer(ctx context.Context, to *raft.Server) error {
	g.mu.Lock()
	over := g.over
	if g.term == 0 {
		over = nil
	}
	g.mu.Unlock()
	if over == nil {
		return raft.ErrNotLeader
	}
	if to = g.successor(to); to == nil {
		return ErrNoVoterAnswers
	}
	if !g.enter() {
		return g.errClosed()
	}
	if err := g.wait(ctx, g.raft.LeadershipTransferToServer(to.ID, to.Address)); err != nil {
		return err
	}
	select {
	case <-over:
		return nil
	case <-g.stop:
		return g.errClosed()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// successor returns the server that can get leadership now: to, or of all voters the one with the
// longest log; nil if there is none.
func (g *Group) successor(to *raft.Server) *raft.Server {
	var best *raft.Server
	most := uint64(0)
	for _, s := range g.Members() {
		if s.Suffrage != raft.Voter || s.ID == g.opts.ID || to != nil && s.ID != to.ID {
			continue
		}
		if p := g.Progress(s.ID); time.Since(p.Contact) < g.transferContact() && (best == nil || p.Match > most) {
			best, most = &s, p.Match
		}
	}
	return best
}
