package liveness

import (
	"context"
	"slices"
	"time"
)

const (
	clockEvery = 500 * time.Millisecond
	clockKnown = time.Minute // how long a clock that another node reported is extrapolated
)

// WatchClock compares this node's clock with the other nodes' clocks, until ctx ends. A node whose
// clock is behind continues: the range of times that it accepts follows the others' clocks. A clock
// that has run ahead of a majority issues no stamps (txn.Clock), and its node leads nothing:
// handOver is called until the clock is right. So a clock that jumped disables its own node only,
// and none of its stamps get into the logs.
func (p *Detector) WatchClock(ctx context.Context, handOver func(context.Context) error) {
	clock, logger := p.cfg.Clock, p.cfg.Logger
	t := time.NewTicker(clockEvery)
	defer t.Stop()
	warned := false
	for {
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
		from, upTo := believed(p.Health(), time.Now(), clock.Ahead())
		clock.Believe(from, upTo)
		err := clock.Sane()
		if err == nil {
			warned = false
			continue
		}
		if !warned {
			warned = true
			logger.Error("the clock of this node is ahead of most others': "+
				"it leads no fragments until it is right", "error", err)
		}
		if err := handOver(ctx); err != nil && ctx.Err() == nil {
			logger.Debug("leadership could not be handed over", "error", err)
		}
	}
}

// believed returns the range of times that most nodes would accept from a clock; zero times if too
// few nodes are known.
func believed(others []Health, now time.Time, ahead time.Duration) (from, upTo time.Time) {
	var clocks []time.Time
	for _, x := range others {
		if passed := now.Sub(x.LastSeen); !x.LastSeen.IsZero() && passed < clockKnown {
			clocks = append(clocks, x.Clock.Time().Add(passed))
		}
	}
	majority := (len(others)+1)/2 + 1
	if len(clocks) < majority {
		return from, upTo
	}
	slices.SortFunc(clocks, time.Time.Compare)
	return clocks[len(clocks)-majority], clocks[majority-1].Add(ahead)
}

// MayLead reports whether a node may be asked to lead: it answers, and its clock is not refused.
func (p *Detector) MayLead(node uint32) bool {
	if node == p.cfg.Self {
		return p.cfg.Clock.Sane() == nil
	}
	for _, x := range p.Health() {
		if x.Node == node {
			return x.Alive && x.ClockError == nil
		}
	}
	return true // nothing is known about it yet
}
