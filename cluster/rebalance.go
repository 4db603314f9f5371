package cluster

import (
	"context"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/shardmap/balance"
)

// sizes gives what the fragments of a database say that they hold, all tables together, for the balancer.
func (h *Host) sizes(_ context.Context, d *catalog.Database) ([]balance.Stat, error) {
	stats, err := h.TableStats(d, 0)
	if err != nil {
		return nil, err
	}
	out := make([]balance.Stat, len(stats))
	for i, s := range stats {
		out[i] = balance.Stat{Fragment: s.Fragment, Cell: balance.Cell{
			Interval: shardmap.Interval{Lo: s.From, Hi: s.To}, Bytes: s.Bytes, Documents: s.Documents,
		}}
	}
	return out, nil
}

// PlanRebalance makes a plan for a database and keeps it as a proposal; its number is 0 where there is nothing to do.
func (h *Host) PlanRebalance(ctx context.Context, database catalog.OID, a catalog.Author) (id uint64, p *catalog.Plan, err error) {
	view := h.cfg.Catalog.View()
	if p, err = h.balancer.Plan(ctx, view, view.Database(database), balance.Advise, false); err != nil {
		return 0, nil, err
	}
	id, err = h.balancer.Propose(ctx, database, p, a)
	return id, p, err
}

// MovesBuckets tells whether plans can be carried out.
func (h *Host) MovesBuckets() bool { return false }

// FillFragments makes a plan that gives every fragment of a database its share, in a picture of it that the catalog need not have.
func (h *Host) FillFragments(ctx context.Context, d *catalog.Database) (*catalog.Plan, error) {
	return h.balancer.Plan(ctx, h.cfg.Catalog.View(), d, balance.Off, true)
}
