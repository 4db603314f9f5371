package rebalance

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/sherddb/sherd/catalog"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/fragment"
	"github.com/sherddb/sherd/kv"
	planner "github.com/sherddb/sherd/rebalance/balance"
	"github.com/sherddb/sherd/rebalance/rows"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/shardmap/balance"
	"github.com/sherddb/sherd/txn"
)

// Config has the parts of the node that a Rebalancer uses. All but Every and At are required.
type Config struct {
	Catalog   *catalog.Catalog
	Client    *kv.Client
	Fragments *fragment.Server                          // of this node
	Heat      func(ctx context.Context) []balance.Heat  // of all fragments and their hottest buckets
	Schema    rows.Schema                               // what follows from rows
	KeyText   func(t *catalog.Table, key []byte) string // prints a key of a range table
	Logger    *slog.Logger
	Every     time.Duration // how often the balancer decides; 0 is a minute
	At        func(arrow string) error
}

// Rebalancer drives moves and makes plans.
type Rebalancer struct {
	cfg      Config
	balancer *planner.Balancer
}

// New makes a Rebalancer.
func New(cfg Config) *Rebalancer {
	r := &Rebalancer{cfg: cfg}
	r.balancer = planner.New(planner.Config{
		Catalog: cfg.Catalog, Sizes: r.sizes, Heat: cfg.Heat, Cut: r.SegmentCut, KeyText: cfg.KeyText,
		Silent: cfg.Client.Silent, Now: time.Now, Every: cfg.Every,
	})
	return r
}

// RunRebalance drives moves, makes plans, and removes what moves have left, until ctx ends.
func (r *Rebalancer) RunRebalance(ctx context.Context) {
	var wg sync.WaitGroup
	wg.Go(func() { r.newMover().Run(ctx) })
	wg.Go(func() { r.balancer.Run(ctx, r.cfg.Logger) })
	wg.Go(func() { r.leftovers().run(ctx) })
	wg.Wait()
}

// sizes returns how much the fragments of a database report to hold, all tables together.
func (r *Rebalancer) sizes(ctx context.Context, d *catalog.Database) ([]balance.Stat, error) {
	ids := make([]txn.FragmentID, len(d.Fragments))
	for i := range d.Fragments {
		f := &d.Fragments[i]
		if ids[i] = f.ID; r.cfg.Client.MostSilent(f) {
			return nil, r.cfg.Client.Leaderless(f.ID, nil)
		}
	}
	by, err := r.cfg.Client.CountRows(ctx, ids, 0)
	if err != nil {
		return nil, err
	}
	var out []balance.Stat
	for _, f := range ids {
		for _, x := range by[f] {
			out = append(out, balance.Stat{Fragment: f, Cell: cellOf(x)})
		}
	}
	return out, nil
}

func cellOf(x *pb.Count) balance.Cell {
	return balance.Cell{
		Interval: shardmap.Interval{Lo: x.From, Hi: x.To}, Bytes: x.Bytes, Documents: x.Documents,
		Whole: x.To-x.From > 1,
	}
}

// PlanRebalance makes a plan for a database and keeps it as a proposal; its number is 0 if there is
// nothing to do.
func (r *Rebalancer) PlanRebalance(ctx context.Context, database catalog.OID, a catalog.Author) (
	id uint64, p *catalog.Plan, err error,
) {
	view := r.cfg.Catalog.View()
	if p, err = r.balancer.Plan(ctx, view, view.Database(database), balance.Advise); err != nil {
		return 0, nil, err
	}
	id, err = r.balancer.Propose(ctx, database, p, a)
	return id, p, err
}

// FillFragments makes a plan that moves its share to every fragment of grown, which has more
// fragments than now.
func (r *Rebalancer) FillFragments(ctx context.Context, now, grown *catalog.Database) (*catalog.Plan, error) {
	return r.balancer.Fill(ctx, r.cfg.Catalog.View(), now, grown)
}
