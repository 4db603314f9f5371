package kv

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

// AskReachable calls a function for each fragment of a database that answers within the timeout,
// and with timeout 0 for as long as any statement waits. It returns the other fragments. It does
// not ask the fragments in skip, nor those most of whose nodes are silent.
func (c *Client) AskReachable(
	ctx context.Context, d *catalog.Database, timeout time.Duration, skip map[txn.FragmentID]bool,
	do func(ctx context.Context, f txn.FragmentID) error,
) (missing []txn.FragmentID, err error) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	var errs []error
	var asked []txn.FragmentID
	for i := range d.Fragments {
		if f := &d.Fragments[i]; skip[f.ID] || c.MostSilent(f) {
			missing = append(missing, f.ID)
		} else {
			asked = append(asked, f.ID)
		}
	}
	for _, f := range asked {
		wg.Go(func() {
			soon, cancel := ctx, context.CancelFunc(func() {})
			if timeout > 0 {
				soon, cancel = context.WithTimeout(ctx, timeout)
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

// MostSilent reports whether a fragment can have no leader, because most of its replicas were given
// the time to answer and did not.
func (c *Client) MostSilent(f *catalog.Fragment) bool {
	if c.cfg.Peers == nil {
		return false
	}
	silent := 0
	for _, n := range f.Nodes {
		if n != c.cfg.Node && (c.cfg.Peers.Silent(n) || c.cfg.Catalog.View().Node(n) == nil) {
			silent++
		}
	}
	return 2*silent > len(f.Nodes)
}
