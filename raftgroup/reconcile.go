package raftgroup

import (
	"context"
	"slices"
	"time"

	"github.com/hashicorp/raft"
)

// Membership is the desired membership of a group. Servers are addressed by their ids.
type Membership struct {
	Voters    []raft.ServerID
	Nonvoters []raft.ServerID // members with all the data and no vote
	Leader    raft.ServerID   // the desired leader, if it can lead; "" is any
}

const (
	reconcileEvery = time.Second
	changeTimeout  = 10 * time.Second
	promoteLag     = 256              // entries that a member may lag behind to be made a voter
	contactLimit   = 3 * time.Second  // a member whose last answer is older does not count as reachable
	minLead        = 5 * time.Second  // a leader leads at least that long before it hands over to the desired one
	putOffTime     = 10 * time.Second // between attempts to hand over
	maxPutOff      = 6                // a transfer may be postponed so often
)

// Reconcile reconciles the members of the group with the result of desired, one change at a time,
// whenever this server leads. It calls desired every second, and when Nudge is called. It makes no
// change while desired returns no voters. The leader calls looked, if not nil, with the members at
// each of these times.
func (g *Group) Reconcile(desired func() Membership, looked func(have []raft.Server)) {
	go func() {
		t := time.NewTicker(reconcileEvery)
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
			g.reconcile(desired, looked, &p)
		}
	}()
}

// Nudge makes Reconcile call desired again now.
func (g *Group) Nudge() {
	select {
	case g.nudge <- struct{}{}:
	default:
	}
}

// pace limits when leadership may be handed over.
type pace struct {
	since  time.Time // when this server became leader
	next   time.Time // not before this time; zero: at any time
	putOff int       // attempts that BeforeTransfer has refused
}

func (g *Group) reconcile(desired func() Membership, looked func([]raft.Server), p *pace) {
	for g.Term() != 0 {
		w := desired()
		if len(w.Voters) == 0 {
			return
		}
		have := g.Members()
		if looked != nil {
			looked(have)
		}
		c := nextChange(have, w, g.opts.ID, g.health)
		if c.kind == noChange {
			if w.Leader == "" || w.Leader == g.opts.ID || time.Since(p.since) < minLead {
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
			g.opts.Logger.Debug(
				"members of a group could not be changed; trying again", "group", g.name, "change", c.kind, "server",
				c.id, "error", err,
			)
			return
		}
		g.opts.Logger.Info("members of a group changed", "group", g.name, "change", c.kind, "server", c.id)
		if c.kind == transferChange {
			return
		}
	}
}

func (g *Group) carryOut(c change, p *pace) error {
	ctx, cancel := context.WithTimeout(context.Background(), changeTimeout)
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
		return g.handOff(ctx, &raft.Server{ID: c.id, Address: addr}, p)
	}
	return nil
}

// handOff hands leadership over when BeforeTransfer allows it. After maxPutOff refusals it insists.
func (g *Group) handOff(ctx context.Context, to *raft.Server, p *pace) error {
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

// health is the state of a member on which a decision depends.
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

// nextChange returns the next step from have to w. A voter is removed only when all desired voters
// vote, so that no step makes the group smaller than it was and than it is to be.
func nextChange(have []raft.Server, w Membership, self raft.ServerID, of func(raft.ServerID) health) change {
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

// handOver returns a transfer to the desired leader, or, if any will do, to one of the desired
// voters, if it votes and is up to date.
func handOver(have []raft.Server, w Membership, of func(raft.ServerID) health) change {
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
