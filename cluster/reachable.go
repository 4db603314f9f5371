package cluster

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn"
)

// askReachable calls a function for each fragment of a database that answers within patience, and
// with patience 0 for as long as any statement waits. It returns the other fragments. It does not
// ask the fragments in skip, nor those most of whose nodes are silent.
func (h *Host) askReachable(ctx context.Context, d *catalog.Database, patience time.Duration, skip map[txn.FragmentID]bool,
	do func(ctx context.Context, f txn.FragmentID) error) (missing []txn.FragmentID, err error) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	var errs []error
	var asked []txn.FragmentID
	for i := range d.Fragments {
		if f := &d.Fragments[i]; skip[f.ID] || h.mostSilent(f) {
			missing = append(missing, f.ID)
		} else {
			asked = append(asked, f.ID)
		}
	}
	for _, f := range asked {
		wg.Go(func() {
			soon, cancel := ctx, context.CancelFunc(func() {})
			if patience > 0 {
				soon, cancel = context.WithTimeout(ctx, patience)
			}
			defer cancel()
			err := do(soon, f)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil && ctx.Err() == nil && (soon.Err() != nil || pgerr.Is(err, pgerr.CannotConnectNow)):
				missing = append(missing, f)
			case err != nil:
				errs = append(errs, err)
			}
		})
	}
	wg.Wait()
	slices.Sort(missing)
	return missing, errors.Join(errs...)
}

// mostSilent reports whether a fragment can have no leader, because most of its replicas were given
// the time to answer and did not.
func (h *Host) mostSilent(f *catalog.Fragment) bool {
	if h.links == nil {
		return false
	}
	silent := 0
	for _, n := range f.Nodes {
		if n != h.cfg.Node && (h.links.presence.Silent(n) || h.cfg.Catalog.View().Node(n) == nil) {
			silent++
		}
	}
	return 2*silent > len(f.Nodes)
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
		case n == h.cfg.Node || h.links.presence.SilentFor(n) < after:
			return false
		}
	}
	return true
}
