package balance

import (
	"context"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/shardmap/balance"
)

// Config has the parts of the node that a Balancer uses.
type Config struct {
	Catalog *catalog.Catalog
	// Sizes returns the sizes that the fragments of a database report.
	Sizes func(ctx context.Context, d *catalog.Database) ([]balance.Stat, error)
	// Heat returns how often the fragments of all databases are used. nil: it is unknown.
	Heat func(ctx context.Context) []balance.Heat
	// Cut returns the keys at which a segment in bucket b of fragment f is split: by its size if
	// limit, the largest size, is above 0, and by its writes otherwise. It returns none if no split
	// would help.
	Cut func(ctx context.Context, t *catalog.Table, b shardmap.Bucket,
		f shardmap.FragmentID, limit int64) ([][]byte, error)
	// KeyText prints a key of a range table.
	KeyText func(t *catalog.Table, key []byte) string
	// Silent reports whether a node does not answer.
	Silent func(node uint32) bool
	Now    func() time.Time
	Every  time.Duration // between decisions; 0 is a minute
}

// Balancer makes plans.
type Balancer struct {
	cfg   Config
	watch balance.Watch // of segments; for Run alone
}

// New makes a Balancer.
func New(cfg Config) *Balancer {
	if cfg.Every == 0 {
		cfg.Every = decideEvery
	}
	return &Balancer{cfg: cfg}
}

// Plan makes a plan for a database. It may be empty.
func (b *Balancer) Plan(
	ctx context.Context, view *catalog.View, d *catalog.Database, mode balance.Mode,
) (*catalog.Plan, error) {
	return b.plan(ctx, view, d, mode, func(tables []balance.Table) { balance.Present(tables) })
}

// plan makes a plan. lately sets the recent write rates of the segments.
func (b *Balancer) plan(
	ctx context.Context, view *catalog.View, d *catalog.Database, mode balance.Mode, lately func([]balance.Table),
) (*catalog.Plan, error) {
	in, err := b.picture(ctx, view, d, d)
	if err != nil {
		return nil, err
	}
	in.Mode, in.Limits = mode, limitsOf(view)
	if b.cfg.Heat != nil && (mode == balance.Auto || in.Limits.Writes > 0 && len(in.Tables) > 0) {
		warm := balance.Warm(in.Map, in.Cells, in.Tables, b.cfg.Heat(ctx))
		if mode == balance.Auto {
			in.Cells = warm
		}
	}
	lately(in.Tables)
	return b.withKeys(ctx, view, d, balance.Decide(in))
}

// Fill makes a plan that moves its share to every fragment of grown, however small the share is.
// now is the present database: its fragments exist and can be asked for their sizes.
func (b *Balancer) Fill(ctx context.Context, view *catalog.View, now, grown *catalog.Database) (*catalog.Plan, error) {
	in, err := b.picture(ctx, view, now, grown)
	if err != nil {
		return nil, err
	}
	in.Mode, in.Fill = balance.Off, true
	return b.withKeys(ctx, view, now, balance.Decide(in))
}

// Empty returns which fragments take which buckets of a fragment that is being removed. Moves under
// way count as done.
func (b *Balancer) Empty(
	ctx context.Context, view *catalog.View, d *catalog.Database, fragment uint32,
) ([]shardmap.Range, error) {
	in, err := b.picture(ctx, view, d, d)
	if err != nil {
		return nil, err
	}
	for _, m := range view.Moves(d.OID) {
		if m.Job.State == catalog.JobCancelled {
			continue
		}
		for _, r := range d.Remaining(m.Move) {
			if in.Map, err = in.Map.Reassign(r.Interval, m.Target); err != nil {
				return nil, err
			}
		}
	}
	for i := range in.Fragments {
		f := d.FragmentByID(in.Fragments[i].ID)
		in.Fragments[i].Drains, in.Fragments[i].Frozen = f.Draining, !f.Draining && d.Isolates(f.ID)
	}
	for _, t := range in.Tables {
		for i := range t.Segments {
			t.Segments[i].Fragment = in.Map.Lookup(t.Segments[i].Bucket)
		}
	}
	return balance.Empty(in, fragment), nil
}

// picture returns the input of a decision about database d, from what the fragments of now report.
func (b *Balancer) picture(
	ctx context.Context, view *catalog.View, now, d *catalog.Database,
) (in balance.Input, err error) {
	stats, err := b.cfg.Sizes(ctx, now)
	if err != nil {
		return in, err
	}
	in = balance.Input{Map: d.Map, Cells: balance.Clip(d.Map, stats), Tables: tablesOf(view, d, stats)}
	moving := map[uint32]bool{}
	for _, m := range view.Moves(d.OID) {
		moving[m.Target] = true
		for _, r := range d.Remaining(m.Move) {
			moving[r.Fragment] = true
		}
	}
	for i := range d.Fragments {
		f := &d.Fragments[i]
		in.Fragments = append(in.Fragments, balance.Fragment{
			// a fragment that is being removed is emptied by its removal
			ID: f.ID, Name: d.FragmentName(f), Nodes: f.Nodes, Frozen: moving[f.ID] || f.Draining || d.Isolates(f.ID),
		})
	}
	for _, p := range d.Pins {
		in.Rules = append(in.Rules, balance.Rule{Interval: p.Interval,
			Fragments: []shardmap.FragmentID{p.Fragment}, Why: "a pin"})
	}
	in.Nodes = b.nodes(ctx, view)
	return in, ctx.Err()
}

// nodes returns the nodes that hold fragments. It asks for the space that they use only if one has
// a limit. If the fragments of a database do not report their sizes, for instance because one has
// no leader, its nodes may be at their limits: they are assigned nothing, and the other nodes do
// not wait for them.
func (b *Balancer) nodes(ctx context.Context, view *catalog.View) (out []balance.Node) {
	limited := false
	for n := range view.Nodes() {
		out = append(out, balance.Node{ID: n.ID, Weight: n.Weight,
			MaxBytes: int64(n.MaxBytes), Silent: b.cfg.Silent(n.ID)})
		limited = limited || n.MaxBytes > 0
	}
	if !limited {
		return out
	}
	used, unknown := map[uint32]int64{}, map[uint32]bool{}
	for d := range view.Databases() {
		stats, err := b.cfg.Sizes(ctx, d)
		for i := range d.Fragments {
			for _, n := range d.Fragments[i].Nodes {
				unknown[n] = unknown[n] || err != nil
			}
		}
		for _, s := range stats {
			if f := d.FragmentByID(s.Fragment); f != nil {
				for _, n := range f.Nodes {
					used[n] += s.Bytes
				}
			}
		}
	}
	for i := range out {
		out[i].Used, out[i].Full = used[out[i].ID], out[i].MaxBytes > 0 && unknown[out[i].ID]
	}
	return out
}

// planOf returns a decision in the form of the catalog.
func planOf(p balance.Plan) *catalog.Plan {
	out := &catalog.Plan{Epoch: p.Epoch}
	for _, s := range p.Steps {
		step := catalog.PlanStep{
			Kind: catalog.BucketsStep, Interval: s.Interval,
			Source: s.From, Target: s.To, Fragment: s.Fragment, Node: s.Node, Bytes: s.Bytes,
			Documents: s.Documents, Estimate: int64(s.Seconds * 1e6), Reason: s.Reason,
			Table: catalog.OID(s.Table), First: s.First, Last: s.Last, Count: s.Count,
		}
		switch s.Kind {
		case balance.MoveLeader:
			step.Kind = catalog.LeaderStep
		case balance.SplitSegment:
			step.Kind = catalog.SplitStep
		case balance.MergeSegments:
			step.Kind = catalog.MergeStep
		}
		out.Steps = append(out.Steps, step)
	}
	for _, a := range p.Advice {
		out.Advice = append(out.Advice, catalog.PlanAdvice{Subject: a.Subject, Text: a.Text})
	}
	return out
}
