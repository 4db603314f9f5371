package cluster

import (
	"context"
	"slices"
	"time"

	"github.com/sherddb/sherd/cluster/liveness"
)

const (
	clockEvery = 500 * time.Millisecond
	clockKnown = time.Minute // how long a clock that another node reported is extrapolated
)

// watchClock compares this node's clock with the other nodes' clocks. A node whose clock is behind
// continues: the range of times that it accepts follows the others' clocks. A clock that has run
// ahead of a majority issues no stamps (txn.Clock), and its node leads nothing. So a clock that
// jumped disables its own node only, and none of its stamps get into the logs.
func (h *Host) watchClock(ctx context.Context) {
	t := time.NewTicker(clockEvery)
	defer t.Stop()
	warned := false
	for {
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
		from, upTo := believed(h.Health(), time.Now(), h.cfg.Clock.Ahead())
		h.cfg.Clock.Believe(from, upTo)
		err := h.cfg.Clock.Sane()
		if err == nil {
			warned = false
			continue
		}
		if !warned {
			warned = true
			h.cfg.Logger.Error("the clock of this node is ahead of most others': "+
				"it leads no fragments until it is right", "error", err)
		}
		if err := h.HandOver(ctx, 0); err != nil && ctx.Err() == nil {
			h.cfg.Logger.Debug("leadership could not be handed over", "error", err)
		}
	}
}

// believed returns the range of times that most nodes would accept from a clock; zero times if too
// few nodes are known.
func believed(others []liveness.Health, now time.Time, ahead time.Duration) (from, upTo time.Time) {
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

// fit reports whether a node may be asked to lead: it answers, and its clock is not refused.
func (h *Host) fit(node uint32) bool {
	if node == h.cfg.Node {
		return h.cfg.Clock.Sane() == nil
	}
	for _, x := range h.Health() {
		if x.Node == node {
			return x.Alive && x.ClockError == nil
		}
	}
	return true // nothing is known about it yet
}
