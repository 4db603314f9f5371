package cluster

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
)

const (
	placeEvery = time.Second
	silentFor  = 5 * time.Second // a node that has not answered for longer is assigned nothing
	deadAfter  = 10 * time.Minute
)

// placeReplicas decides where replicas should be (shardmap.NextPlacement), as long as the catalog
// is led here, one step at a time. Each fragment's leader carries it out. Two nodes that decide at
// the same time do no harm: each step is conditional on where the replicas are.
func (h *Host) placeReplicas(ctx context.Context) {
	t := time.NewTicker(placeEvery)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
		for h.cfg.Catalog.Leads() && ctx.Err() == nil {
			more, err := h.placeNext(ctx)
			if err != nil && ctx.Err() == nil {
				h.cfg.Logger.Warn("replicas cannot be placed; trying again", "error", err)
			}
			if err != nil || !more {
				break
			}
		}
		if h.cfg.Catalog.Leads() {
			h.abandonRemoved(ctx)
		}
	}
}

// abandonRemoved removes the indexes that nodes were building which have been removed since.
func (h *Host) abandonRemoved(ctx context.Context) {
	view := h.cfg.Catalog.View()
	gone := func(j *catalog.Job) bool { return j.Node != 0 && view.Node(j.Node) == nil }
	if err := h.abandonBuildsOf(ctx, gone); err != nil && ctx.Err() == nil {
		h.cfg.Logger.Warn("indexes that removed nodes were building cannot be removed; trying again", "error", err)
	}
}

// placeNext takes one step, and reports whether there was one.
func (h *Host) placeNext(ctx context.Context) (more bool, err error) {
	view := h.cfg.Catalog.View()
	sites, sets := h.sites(view), view.ReplicaSets()
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
	h.cfg.Logger.Info("replicas of a fragment are placed again",
		"fragment", next.Fragment, "nodes", next.Nodes, "joining", next.Joining, "leaving", next.Leaving,
		"before", was.Nodes)
	_, err = h.cfg.Catalog.Update(ctx, func(_ *catalog.View, ch *catalog.Change) error { return ch.Place(was, next) })
	return true, err
}

// sites returns the nodes with what the catalog's leader knows about them. If most of them seem to
// be dead, it is more likely that this node is cut off.
func (h *Host) sites(view *catalog.View) []shardmap.Site {
	sites := view.Sites()
	after, dead := deadNodeAfter(view), 0
	if onlyAdvised(view) {
		after = 0
	}
	for i := range sites {
		s := &sites[i]
		if s.ID == h.cfg.Node {
			continue
		}
		c, ok := h.cfg.Catalog.Contact(s.ID)
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
func (h *Host) Lost(f *catalog.Fragment) bool {
	if h.links == nil {
		return false
	}
	view := h.cfg.Catalog.View()
	after := deadNodeAfter(view)
	if after == 0 {
		after = deadAfter
	}
	for _, n := range f.Nodes {
		switch {
		case slices.Contains(f.Joining, n) || view.Node(n) == nil:
		case n == h.cfg.Node || h.links.liveness.SilentFor(n) < after:
			return false
		}
	}
	return true
}
