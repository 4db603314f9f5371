package placement

import (
	"context"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/cluster/liveness"
	"github.com/sherddb/sherd/shardmap"
)

const (
	placeEvery = time.Second
	silentFor  = 5 * time.Second // a node that has not answered for longer is assigned nothing
	deadAfter  = 10 * time.Minute
)

// Placer decides where replicas should be, while this node leads the catalog.
type Placer struct {
	Node     uint32 // this one
	Catalog  *catalog.Catalog
	Liveness *liveness.Detector // nil: there are no other nodes
	Logger   *slog.Logger
}

// Run takes steps until ctx ends.
func (p *Placer) Run(ctx context.Context) {
	t := time.NewTicker(placeEvery)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
		for p.Catalog.Leads() && ctx.Err() == nil {
			more, err := p.placeNext(ctx)
			if err != nil && ctx.Err() == nil {
				p.Logger.Warn("replicas cannot be placed; trying again", "error", err)
			}
			if err != nil || !more {
				break
			}
		}
	}
}

// placeNext takes one step, and reports whether there was one.
func (p *Placer) placeNext(ctx context.Context) (more bool, err error) {
	view := p.Catalog.View()
	sites, sets := p.sites(view), view.ReplicaSets()
	next, ok := shardmap.NextPlacement(sites, sets)
	if !ok {
		return false, nil
	}
	var was shardmap.ReplicaSet
	for _, s := range sets {
		if s.Fragment == next.Fragment {
			was = s
		}
	}
	p.Logger.Info("replicas of a fragment are placed again",
		"fragment", next.Fragment, "nodes", next.Nodes, "joining", next.Joining, "leaving", next.Leaving,
		"before", was.Nodes)
	_, err = p.Catalog.Update(ctx, func(_ *catalog.View, ch *catalog.Change) error { return ch.Place(was, next) })
	return true, err
}

// sites returns the nodes with what the catalog's leader knows about them. If most of them seem to
// be dead, it is more likely that this node is cut off.
func (p *Placer) sites(view *catalog.View) []shardmap.Site {
	sites := view.Sites()
	after, dead := deadNodeAfter(view), 0
	if onlyAdvised(view) {
		after = 0
	}
	for i := range sites {
		s := &sites[i]
		if s.ID == p.Node {
			continue
		}
		c, ok := p.Catalog.Contact(s.ID)
		s.Silent = !ok || c.Last.IsZero() || c.Silent > silentFor
		if s.Dead = ok && after > 0 && c.Silent > after; s.Dead {
			dead++
		}
	}
	if 2*dead > len(sites) {
		for i := range sites {
			sites[i].Dead = false
		}
	}
	return sites
}

// deadNodeAfter is sherd.dead_node_after; 0 means never.
func deadNodeAfter(view *catalog.View) time.Duration {
	if k := view.Cluster(); k != nil {
		if n, err := strconv.Atoi(k.Settings["sherd.dead_node_after"]); err == nil && n >= 0 {
			return time.Duration(n) * time.Second
		}
	}
	return deadAfter
}

// onlyAdvised reports whether replacing the replicas of a dead node is left to an operator
// (sherd.replace_dead_nodes): sherd.advice says how.
func onlyAdvised(view *catalog.View) bool {
	k := view.Cluster()
	return k != nil && k.Settings["sherd.replace_dead_nodes"] == "advise"
}

// Lost reports whether all nodes that have a replica of a fragment have been silent for
// sherd.dead_node_after, as far as this node knows, or have been removed from the cluster. If that
// setting means never, the limit is ten minutes: nothing is replaced automatically, but a caller
// asks. A replica that was joining has nothing without the others.
func (p *Placer) Lost(f *catalog.Fragment) bool {
	if p.Liveness == nil {
		return false
	}
	view := p.Catalog.View()
	after := deadNodeAfter(view)
	if after == 0 {
		after = deadAfter
	}
	for _, n := range f.Nodes {
		switch {
		case slices.Contains(f.Joining, n) || view.Node(n) == nil:
		case n == p.Node || p.Liveness.SilentFor(n) < after:
			return false
		}
	}
	return true
}
