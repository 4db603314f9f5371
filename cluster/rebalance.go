package cluster

import (
	"context"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/shardmap/balance"
)

// sizes returns how much the fragments of a database report to hold, all tables together, for the
// balancer.
func (h *Host) sizes(ctx context.Context, d *catalog.Database) ([]balance.Stat, error) {
	for i := range d.Fragments {
		if f := &d.Fragments[i]; h.MostSilent(f) {
			return nil, h.Leaderless(f.ID, nil)
		}
	}
	stats, err := h.TableStats(ctx, d, 0)
	if err != nil {
		return nil, err
	}
	out := make([]balance.Stat, len(stats))
	for i, s := range stats {
		out[i] = balance.Stat{Fragment: s.Fragment, Cell: balance.Cell{
			Interval: shardmap.Interval{Lo: s.From, Hi: s.To}, Bytes: s.Bytes, Documents: s.Documents, Whole: s.To-s.From > 1,
		}}
	}
	return out, nil
}

// heats returns how often all fragments and their hottest buckets are used, for the balancer. Nodes
// that do not answer are left out.
func (h *Host) heats(ctx context.Context) (out []balance.Heat) {
	all := h.ListHeat()
	if h.cfg.HeatElsewhere != nil {
		all = append(all, h.cfg.HeatElsewhere(ctx)...)
	}
	for _, x := range all {
		if x.Key == nil {
			out = append(out, balance.Heat{Fragment: x.Fragment, Bucket: x.Bucket, Reads: x.Reads, Writes: x.Writes})
		}
	}
	return out
}

// PlanRebalance makes a plan for a database and keeps it as a proposal; its number is 0 if there is
// nothing to do.
func (h *Host) PlanRebalance(ctx context.Context, database catalog.OID, a catalog.Author) (id uint64, p *catalog.Plan, err error) {
	view := h.cfg.Catalog.View()
	if p, err = h.balancer.Plan(ctx, view, view.Database(database), balance.Advise); err != nil {
		return 0, nil, err
	}
	id, err = h.balancer.Propose(ctx, database, p, a)
	return id, p, err
}

// FillFragments makes a plan that moves its share to every fragment of grown, which has more
// fragments than now.
func (h *Host) FillFragments(ctx context.Context, now, grown *catalog.Database) (*catalog.Plan, error) {
	return h.balancer.Fill(ctx, h.cfg.Catalog.View(), now, grown)
}
