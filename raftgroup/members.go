package raftgroup

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/raft"
)

// Members gives the servers of the group, as this one knows them.
func (g *Group) Members() []raft.Server {
	f := g.raft.GetConfiguration()
	return f.Configuration().Servers
}

// AddVoter makes a server a voter: one that was none before, which must have opened the group with Join, or a non-voter, which better has caught up
// before. The leader does it; the error is nil when a majority has the new configuration.
func (g *Group) AddVoter(ctx context.Context, id raft.ServerID, addr raft.ServerAddress) error {
	return g.changeMembers(ctx, func() raft.Future { return g.raft.AddVoter(id, addr, 0, 0) })
}

// AddNonvoter makes a server a member that has all and decides nothing.
func (g *Group) AddNonvoter(ctx context.Context, id raft.ServerID, addr raft.ServerAddress) error {
	return g.changeMembers(ctx, func() raft.Future { return g.raft.AddNonvoter(id, addr, 0, 0) })
}

// Demote makes a voter a non-voter.
func (g *Group) Demote(ctx context.Context, id raft.ServerID) error {
	return g.changeMembers(ctx, func() raft.Future { return g.raft.DemoteVoter(id, 0, 0) })
}

// Remove takes a server out of the group.
func (g *Group) Remove(ctx context.Context, id raft.ServerID) error {
	return g.changeMembers(ctx, func() raft.Future { return g.raft.RemoveServer(id, 0, 0) })
}

// changeMembers carries a change out. Until it is known to have come to pass this server does not count as the only voter: another may have been
// made one, and elected (T5).
func (g *Group) changeMembers(ctx context.Context, change func() raft.Future) error {
	if !g.enter() {
		return g.errClosed()
	}
	g.members.Lock()
	defer g.members.Unlock()
	g.sole.Store(false)
	defer g.witness.notify() // a round looks at the voters again
	if err := g.wait(ctx, change()); err != nil {
		return err
	}
	g.refreshVoters()
	return nil
}

// ErrNobodyThere says that leadership was not handed over since who should have it, or any other voter, does not answer.
var ErrNobodyThere = errors.New("raftgroup: no voter that could lead answers")

// transferContact is how fresh a voter's last answer must be for it to be handed leadership: a few heartbeats.
func (g *Group) transferContact() time.Duration { return g.opts.Election / 2 }

// Transfer hands leadership to another voter. It ends when that has been told to stand for election and this server does not lead any more, OnFollower
// included; nil leaves the choice to the group: the voter that has most. Only one that has just answered is handed it, else ErrNobodyThere: Raft's
// library refuses every entry until it has given an attempt up, which with a dead server takes as long as its replication pauses, ten seconds and more.
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
		return ErrNobodyThere
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

// successor gives who can be handed leadership now: to, or the one of all voters that has most; nil for nobody.
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
