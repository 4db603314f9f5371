package distexec

import (
	"context"
	"sync"

	"github.com/sherddb/sherd/catalog"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/kv"
	"github.com/sherddb/sherd/sql/sysview"
	"github.com/sherddb/sherd/sql/tablestats"
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

// Totals returns what each fragment of a database has of a storage id, of all if it is 0. All of them
// must answer.
func (g *Gateway) Totals(ctx context.Context, d *catalog.Database, storageID uint32) ([]tablestats.Total, error) {
	answers := make([]*pb.CountsAnswer, len(d.Fragments))
	ids := make([]txn.FragmentID, len(d.Fragments))
	at := map[txn.FragmentID]int{}
	for i := range d.Fragments {
		ids[i] = d.Fragments[i].ID
		at[ids[i]] = i
	}
	err := kv.InEach(ids, func(f txn.FragmentID) (err error) {
		answers[at[f]], err = g.Client.Totals(ctx, f, storageID)
		return err
	})
	if err != nil {
		return nil, err
	}
	var out []tablestats.Total
	for i, a := range answers {
		out = append(out, totalsOf(ids[i], storageID, a)...)
	}
	return out, nil
}

// totalsOf returns the totals of a fragment. That of a storage id that was asked for is always there.
func totalsOf(f txn.FragmentID, storageID uint32, a *pb.CountsAnswer) []tablestats.Total {
	by := map[uint32]*tablestats.Total{}
	of := func(table uint32) *tablestats.Total {
		if by[table] == nil {
			by[table] = &tablestats.Total{Fragment: f, Storage: table, Term: a.GetTerm()}
		}
		return by[table]
	}
	if storageID != 0 {
		of(storageID)
	}
	for _, c := range a.GetCounts() {
		t := of(c.Table)
		t.Rows, t.Bytes = t.Rows+c.Documents, t.Bytes+c.Bytes
	}
	for _, w := range a.GetWritten() {
		of(w.Table).Written = w.Rows
	}
	out := make([]tablestats.Total, 0, len(by))
	for _, t := range by {
		out = append(out, *t)
	}
	return out
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
