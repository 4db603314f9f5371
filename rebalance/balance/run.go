package balance

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap/balance"
)

const (
	lookEvery   = time.Second
	decideEvery = time.Minute
	atOnce      = 2 // steps of a plan
	autoSteps   = 8 // of the balancer's own plans: then it decides again
	author      = "sherd"
)

// Settings of the cluster.
const (
	ModeSetting    = "sherd.balancer"
	WindowsSetting = "sherd.balancer_windows"
)

// Run proposes plans and carries them out while this node leads the catalog, until ctx ends.
func (b *Balancer) Run(ctx context.Context, log *slog.Logger) {
	t := time.NewTicker(min(lookEvery, b.cfg.Every))
	defer t.Stop()
	var decided time.Time
	for {
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
		if !b.cfg.Catalog.Leads() {
			decided = b.cfg.Now() // a new leader waits once before it decides
			continue
		}
		if err := b.carryOut(ctx); err != nil && ctx.Err() == nil {
			log.Warn("plans of rebalancing do not go on; trying again", "error", err)
		}
		if now := b.cfg.Now(); now.Sub(decided) >= b.cfg.Every {
			decided = now
			if err := b.propose(ctx); err != nil && ctx.Err() == nil {
				log.Warn("what should be moved could not be decided; trying again", "error", err)
			}
		}
	}
}

// settingsOf returns the mode and the windows. A setting that cannot be read counts as its default.
func settingsOf(view *catalog.View) (balance.Mode, balance.Windows) {
	mode, windows := balance.Advise, balance.Windows(nil)
	if k := view.Cluster(); k != nil {
		switch m := balance.Mode(k.Settings[ModeSetting]); m {
		case balance.Off, balance.Auto:
			mode = m
		}
		if w, err := balance.ParseWindows(k.Settings[WindowsSetting]); err == nil {
			windows = w
		}
	}
	return mode, windows
}

// propose makes plans for the databases in which nothing is being moved.
func (b *Balancer) propose(ctx context.Context) error {
	view := b.cfg.Catalog.View()
	mode, windows := settingsOf(view)
	if mode == balance.Off {
		return nil
	}
	var errs []error
	for d := range view.Databases() {
		if len(view.Moves(d.OID)) > 0 || busy(view, d.OID) ||
			len(d.Fragments) < 2 && len(view.Plans(d.OID)) == 0 && !ranged(view, d) {
			continue
		}
		p, err := b.plan(ctx, view, d, mode, func(tables []balance.Table) { b.watch.Note(b.cfg.Now(), d.OID, tables) })
		if err != nil {
			errs = append(errs, err)
			continue
		}
		apply := mode == balance.Auto && windows.Open(b.cfg.Now())
		if apply && len(p.Steps) > autoSteps {
			p.Steps = p.Steps[:autoSteps]
		}
		if err := b.keep(ctx, d.OID, p, apply); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// busy reports whether a plan of a database is being carried out.
func busy(view *catalog.View, database catalog.OID) bool {
	for _, p := range view.Plans(database) {
		if p.Job.State != catalog.JobProposed {
			return true
		}
	}
	return false
}

// keep stores a proposal, and applies it if apply is set. Unless it is applied, a stored proposal
// that says nearly the same stays, so that an operator can read it before applying it.
func (b *Balancer) keep(ctx context.Context, database catalog.OID, p *catalog.Plan, apply bool) error {
	old := b.cfg.Catalog.View().Plans(database)
	if len(p.Steps)+len(p.Advice) == 0 && len(old) == 0 {
		return nil
	}
	if !apply && slices.ContainsFunc(old, func(o catalog.RunningPlan) bool { return like(o.Plan, p) }) {
		return nil
	}
	id, err := b.Propose(ctx, database, p, catalog.Author{Who: author, Why: "balance", Micros: b.cfg.Now().UnixMicro()})
	if err != nil || !apply || id == 0 || len(p.Steps) == 0 {
		return err
	}
	_, err = b.cfg.Catalog.Update(ctx, func(_ *catalog.View, ch *catalog.Change) error {
		return ch.ApplyPlan(id, b.me())
	})
	return err
}

// like reports whether two plans are for the same map, move nearly as many bytes, and have as much
// advice.
func like(a, b *catalog.Plan) bool {
	x, y := a.Bytes(), b.Bytes()
	return a.Epoch == b.Epoch && len(a.Advice) == len(b.Advice) &&
		(len(a.Steps) == 0) == (len(b.Steps) == 0) && 5*max(x-y, y-x) <= max(x, y)
}

// Propose stores a plan for operators to apply, and returns its number, 0 if the plan is empty.
func (b *Balancer) Propose(
	ctx context.Context, database catalog.OID, p *catalog.Plan, a catalog.Author,
) (id uint64, err error) {
	number, err := b.cfg.Catalog.NewJobID(ctx)
	if err != nil {
		return 0, err
	}
	_, err = b.cfg.Catalog.Update(ctx, func(v *catalog.View, ch *catalog.Change) error {
		if v.Database(database) == nil {
			return nil
		}
		id, err = ch.ProposePlan(number, database, p, a)
		return err
	})
	return id, err
}

func (b *Balancer) me() catalog.Author {
	return catalog.Author{Who: author, Why: "balance", Micros: b.cfg.Now().UnixMicro()}
}

// carryOut notes the progress of plans that were applied, and starts the steps that may start.
func (b *Balancer) carryOut(ctx context.Context) error {
	var errs []error
	for _, p := range b.cfg.Catalog.View().Plans(0) {
		if p.Job.State == catalog.JobRunning {
			errs = append(errs, b.goOn(ctx, p))
		}
	}
	return errors.Join(errs...)
}

func (b *Balancer) goOn(ctx context.Context, p catalog.RunningPlan) error {
	id := p.Job.ID
	view := b.cfg.Catalog.View()
	if changed, stuck := view.Progress(p); changed || stuck != "" || p.Done() == len(p.Steps) {
		_, err := b.cfg.Catalog.Update(ctx, func(_ *catalog.View, ch *catalog.Change) error {
			return ch.NotePlan(id, b.me())
		})
		return err
	}
	if _, windows := settingsOf(view); p.Who == author && !windows.Open(b.cfg.Now()) {
		return b.delay(ctx, id, "the next of sherd.balancer_windows")
	}
	return b.begin(ctx, p)
}

func (b *Balancer) delay(ctx context.Context, id uint64, waits string) error {
	if p, ok := b.cfg.Catalog.View().PlanOf(id); !ok || p.Waits == waits {
		return nil
	}
	_, err := b.cfg.Catalog.Update(ctx, func(_ *catalog.View, ch *catalog.Change) error {
		return ch.DelayPlan(id, waits, b.cfg.Now().UnixMicro())
	})
	return err
}

// begin starts the steps that may run now (Q2). A step that cannot, for instance because its
// buckets are being moved by another job, waits and is tried again; the catalog leaves out a step
// that never can.
func (b *Balancer) begin(ctx context.Context, p catalog.RunningPlan) error {
	shape := balance.Plan{Steps: make([]balance.Step, len(p.Steps))}
	for i, s := range p.Steps {
		// a split or merge counts as a move from a fragment to itself
		shape.Steps[i] = balance.Step{Kind: balance.MoveBuckets, From: s.Source, To: s.Target}
		if s.Kind == catalog.LeaderStep {
			shape.Steps[i].Kind = balance.MoveLeader
		}
	}
	view := b.cfg.Catalog.View()
	for _, i := range shape.Startable(func(i int) bool { return p.Steps[i].Done },
		func(i int) bool { return !p.Steps[i].Done && p.Steps[i].Job != 0 }, atOnce) {
		if view.Gathers(p, i) {
			continue
		}
		job, err := b.cfg.Catalog.NewJobID(ctx)
		if err != nil {
			return err
		}
		a := catalog.Author{Who: p.Who, Micros: b.cfg.Now().UnixMicro()}
		_, err = b.cfg.Catalog.Update(ctx, func(_ *catalog.View, ch *catalog.Change) error {
			return ch.BeginPlanStep(p.Job.ID, i, job, a)
		})
		if e := (*pgerr.Error)(nil); errors.As(err, &e) && e.Code != pgerr.SerializationFailure {
			if err := b.delay(ctx, p.Job.ID, e.Message); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}
