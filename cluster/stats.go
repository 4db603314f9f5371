package cluster

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/sysview"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

// TableStats counts the rows of a storage id, of all for 0, in each fragment of a database.
func (h *Host) TableStats(ctx context.Context, d *catalog.Database, storageID uint32) ([]sysview.Stat, error) {
	ids := make([]txn.FragmentID, len(d.Fragments))
	for i, f := range d.Fragments {
		ids[i] = f.ID
	}
	return h.rowsIn(ctx, ids, storageID)
}

func (h *Host) rowsIn(ctx context.Context, ids []txn.FragmentID, storageID uint32) ([]sysview.Stat, error) {
	var mu sync.Mutex
	by := map[txn.FragmentID][]storage.BucketStat{}
	err := h.askAll(ctx, ids, func(f txn.FragmentID, l leader) error {
		stats, err := l.BucketStats(ctx, storageID)
		mu.Lock()
		defer mu.Unlock()
		by[f] = stats
		return err
	})
	if err != nil {
		return nil, err
	}
	var out []sysview.Stat
	for _, f := range ids {
		for _, s := range by[f] {
			out = append(out, sysview.Stat{Fragment: f, Table: s.Table, From: s.From, To: s.To, Documents: s.Documents, Bytes: s.Bytes})
		}
	}
	return out, nil
}

// CountRows is TableStats of the fragments that answer soon; the others it adds to missing, of which it asks none.
func (h *Host) CountRows(ctx context.Context, d *catalog.Database, storageID uint32, missing map[txn.FragmentID]bool) ([]sysview.Stat, error) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	var errs []error
	by := make([][]sysview.Stat, len(d.Fragments))
	for i := range d.Fragments {
		f := &d.Fragments[i]
		mu.Lock()
		skip := missing[f.ID] || h.lost(f)
		if skip {
			missing[f.ID] = true
		}
		mu.Unlock()
		if skip {
			continue
		}
		wg.Go(func() {
			soon, cancel := context.WithTimeout(ctx, askTime)
			defer cancel()
			stats, err := h.rowsIn(soon, []txn.FragmentID{f.ID}, storageID)
			mu.Lock()
			defer mu.Unlock()
			switch by[i] = stats; {
			case err != nil && ctx.Err() == nil && (soon.Err() != nil || pgerr.Is(err, pgerr.CannotConnectNow)):
				missing[f.ID] = true
			case err != nil:
				errs = append(errs, err)
			}
		})
	}
	wg.Wait()
	return slices.Concat(by...), errors.Join(errs...)
}

// lost tells whether a fragment can have no leader, because most of its replicas do not answer.
func (h *Host) lost(f *catalog.Fragment) bool {
	if h.links == nil {
		return false
	}
	silent := 0
	for _, n := range f.Nodes {
		if h.Silent(n) {
			silent++
		}
	}
	return 2*silent > len(f.Nodes)
}
