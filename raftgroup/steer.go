package raftgroup

import (
	"context"
	"slices"
	"time"

	"github.com/hashicorp/raft"
)

// Want is what the members of a group shall be. Servers are addressed by their ids.
type Want struct {
	Voters    []raft.ServerID
	Nonvoters []raft.ServerID // beside them, with all the data and no vote
	Leader    raft.ServerID   // who should lead, where it can; "" is any
}

const (
	steerEvery   = time.Second
	steerTimeout = 10 * time.Second
	promoteLag   = 256              // entries that a member may lag behind to be made a voter
	contactLimit = 3 * time.Second  // a member that has not answered for longer does not count as there
	settleLeader = 5 * time.Second  // a leader leads that long before it hands over to the one wanted
	putOffTime   = 10 * time.Second // between attempts to hand over
	maxPutOff    = 6                // so many attempts may be put off
)

// Steer changes the members of the group, one at a time, to what want gives, whenever this server leads. It asks every second, and when Nudge is
// called. No change is made while want gives none as voters. looked, if not nil, is called with the members, by the leader, after each look.
func (g *Group) Steer(want func() Want, looked func(have []raft.Server)) {
	go func() {
		t := time.NewTicker(steerEvery)
		defer t.Stop()
		var p pace
		for {
			select {
			case <-g.stop:
				return
			case <-t.C:
			case <-g.nudge:
			}
			if g.Term() == 0 {
				p = pace{}
				continue
			}
			if p.since.IsZero() {
				p.since = time.Now()
			}
			g.steer(want, looked, &p)
		}
	}()
}

// Nudge has Steer look again now.
func (g *Group) Nudge() {
	select {
	case g.nudge <- struct{}{}:
	default:
	}
}

// pace is when leadership may be handed over.
type pace struct {
	since  time.Time // this server leads
	next   time.Time // not before; zero: at any time
	putOff int       // attempts that came to nothing, for who uses the leader
}

func (g *Group) steer(want func() Want, looked func([]raft.Server), p *pace) {
	for g.Term() != 0 {
		w := want()
		if len(w.Voters) == 0 {
			return
		}
		have := g.Members()
		if looked != nil {
			looked(have)
		}
		c := nextChange(have, w, g.opts.ID, g.health)
		if c.kind == noChange {
			if w.Leader == "" || w.Leader == g.opts.ID || time.Since(p.since) < settleLeader {
				return
			}
			if c = handOver(have, w, g.health); c.kind == noChange {
				return
			}
		}
		if c.kind == transferChange && time.Now().Before(p.next) {
			return
		}
		if err := g.carryOut(c, p); err != nil {
			g.opts.Logger.Debug("members of a group could not be changed; trying again", "group", g.name, "change", c.kind, "server", c.id, "error", err)
			return
		}
		g.opts.Logger.Info("members of a group changed", "group", g.name, "change", c.kind, "server", c.id)
		if c.kind == transferChange {
			return
		}
	}
}

func (g *Group) carryOut(c change, p *pace) error {
	ctx, cancel := context.WithTimeout(context.Background(), steerTimeout)
	defer cancel()
	addr := raft.ServerAddress(c.id)
	switch c.kind {
	case addChange:
		return g.AddNonvoter(ctx, c.id, addr)
	case promoteChange:
		return g.AddVoter(ctx, c.id, addr)
	case demoteChange:
		return g.Demote(ctx, c.id)
	case removeChange:
		return g.Remove(ctx, c.id)
	case transferChange:
		return g.giveWay(ctx, &raft.Server{ID: c.id, Address: addr}, p)
	}
	return nil
}

// giveWay hands leadership over once that disturbs nobody; who uses the leader for long is not waited for in the end.
func (g *Group) giveWay(ctx context.Context, to *raft.Server, p *pace) error {
	if before := g.opts.BeforeTransfer; before != nil {
		after, err := before(ctx, p.putOff >= maxPutOff)
		if err != nil {
			p.putOff++
			p.next = time.Now().Add(putOffTime)
			return err
		}
		defer after()
	}
	err := g.Transfer(ctx, to)
	if err != nil {
		p.next = time.Now().Add(putOffTime)
	}
	return err
}

// health is a member's as a decision needs it.
type health struct {
	there    bool // it answers
	upToDate bool // its log is nearly the leader's
}

func (g *Group) health(id raft.ServerID) health {
	p := g.Progress(id)
	h := health{there: time.Since(p.Contact) < contactLimit}
	h.upToDate = h.there && p.Match > 0 && g.raft.LastIndex() <= p.Match+promoteLag
	return h
}

type changeKind string

const (
	noChange       changeKind = ""
	addChange      changeKind = "add"
	promoteChange  changeKind = "promote"
	demoteChange   changeKind = "demote"
	removeChange   changeKind = "remove"
	transferChange changeKind = "transfer"
)

type change struct {
	kind changeKind
	id   raft.ServerID
}

// nextChange gives the next step from what there is to what is wanted. A voter leaves only when all those wanted vote, so that no step makes the
// group smaller than it was or shall be.
func nextChange(have []raft.Server, w Want, self raft.ServerID, of func(raft.ServerID) health) change {
	now := map[raft.ServerID]raft.ServerSuffrage{}
	for _, s := range have {
		now[s.ID] = s.Suffrage
	}
	for _, id := range slices.Concat(w.Voters, w.Nonvoters) {
		if _, ok := now[id]; !ok {
			return change{addChange, id}
		}
	}
	complete := true
	for _, id := range w.Voters {
		if now[id] == raft.Voter {
			continue
		}
		if of(id).upToDate {
			return change{promoteChange, id}
		}
		complete = false
	}
	for _, s := range have {
		voter := s.Suffrage == raft.Voter
		switch {
		case slices.Contains(w.Voters, s.ID), voter && !complete, !voter && slices.Contains(w.Nonvoters, s.ID):
			continue
		case s.ID == self:
			return handOver(have, w, of)
		case slices.Contains(w.Nonvoters, s.ID):
			return change{demoteChange, s.ID}
		}
		return change{removeChange, s.ID}
	}
	return change{}
}

// handOver gives leadership to the one wanted, else to any that shall vote, where such a one is up to date.
func handOver(have []raft.Server, w Want, of func(raft.ServerID) health) change {
	try := w.Voters
	if w.Leader != "" {
		try = []raft.ServerID{w.Leader}
	}
	for _, id := range try {
		i := slices.IndexFunc(have, func(s raft.Server) bool { return s.ID == id })
		if i >= 0 && have[i].Suffrage == raft.Voter && of(id).upToDate {
			return change{transferChange, id}
		}
	}
	return change{}
}
