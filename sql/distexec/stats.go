package distexec

import (
	"context"
	"sync"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/kv"
	"github.com/sherddb/sherd/sql/sysview"
	"github.com/sherddb/sherd/txn"
)

// TableStats counts the rows of a storage id, of all if it is 0, in each fragment of a database.
func (g *Gateway) TableStats(ctx context.Context, d *catalog.Database, storageID uint32) ([]sysview.Stat, error) {
	ids := make([]txn.FragmentID, len(d.Fragments))
	for i, f := range d.Fragments {
		ids[i] = f.ID
	}
	return g.rowsIn(ctx, ids, storageID)
}

func (g *Gateway) rowsIn(ctx context.Context, ids []txn.FragmentID, storageID uint32) ([]sysview.Stat, error) {
	by, err := g.Client.CountRows(ctx, ids, storageID)
	if err != nil {
		return nil, err
	}
	var out []sysview.Stat
	for _, f := range ids {
		for _, s := range by[f] {
			out = append(out, sysview.Stat{
				Fragment: f, Table: s.Table, From: s.From, To: s.To, Documents: s.Documents, Bytes: s.Bytes,
			})
		}
	}
	return out, nil
}

// CountRows is TableStats for the fragments that answer soon. It adds the others to missing, and
// asks none that is in missing already.
func (g *Gateway) CountRows(
	ctx context.Context, d *catalog.Database, storageID uint32, missing map[txn.FragmentID]bool,
) ([]sysview.Stat, error) {
	var mu sync.Mutex
	by := map[txn.FragmentID][]sysview.Stat{}
	left, err := g.AskReachable(ctx, d, kv.SoonTime, missing, func(ctx context.Context, f txn.FragmentID) error {
		stats, err := g.rowsIn(ctx, []txn.FragmentID{f}, storageID)
		mu.Lock()
		defer mu.Unlock()
		by[f] = stats
		return err
	})
	for _, f := range left {
		missing[f] = true
	}
	var out []sysview.Stat
	for i := range d.Fragments {
		out = append(out, by[d.Fragments[i].ID]...)
	}
	return out, err
}
