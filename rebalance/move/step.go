package move

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

const (
	stepBytes    = 8 << 20                // of a step, about
	shortestWait = 50 * time.Millisecond  // first wait for prepared transactions before a fence
	longestWait  = 5 * time.Second        // longest one; each wait that was too short doubles the next
	smallRound   = 256 << 10              // a round of catching up that copies less is the last
	quickRound   = 10 * time.Millisecond  // and one that takes less
	maxRounds    = 20                     // of catching up
	currentIn    = 500 * time.Millisecond // time for the catalog's leader to answer before a fence
	undoTime     = 10 * time.Second       // for an attempt to undo a step
)

// step is a step of a move under way.
type step struct {
	d      *Driver
	m      catalog.RunningMove
	target *storage.Replica
	catalog.MoveStep

	copier    *copier
	flipsWith map[catalog.OID]uint64 // the versions of tables on which the flip is conditional

	T       txn.Timestamp // everything up to T was copied
	since   txn.Timestamp // the largest watermark of the source's reads
	wait    time.Duration // how long the next fence waits for prepared transactions
	held    time.Duration // how long the last try blocked writers without a fence
	fencing bool          // a fence of this number may have come into the source's log
	// This driver has copied everything: the source has nothing that the target's replica here does
	// not have.
	copiedAll bool

	began  time.Time
	fenced time.Time
	phases phases
}

// phases are the parts of the time that writers wait for a step, as its driver measures them: from
// the proposal of the fence until the last difference is copied, from then to the flip, and from
// there until source and target have been notified.
type phases struct{ cut, flip, handOver time.Duration }

// step moves a part of a range: all of it, or some MiB at an edge, at the one that touches the
// target if there is one.
func (d *Driver) step(ctx context.Context, m catalog.RunningMove, target *storage.Replica, r shardmap.Range) error {
	view := d.cfg.Catalog.View()
	part, err := m.Interval, error(nil)
	if m.Resegment == nil {
		part, err = d.part(ctx, view.Database(m.Job.Database), m, r)
	}
	if err != nil {
		return err
	}
	number, err := d.cfg.Catalog.NewJobID(ctx) // taken now: fragments treat a smaller number as an older step
	if err != nil {
		return err
	}
	s := &step{d: d, m: m, target: target, MoveStep: catalog.MoveStep{Number: number,
		Interval: part, Source: r.Fragment}, began: time.Now()}
	_, err = d.cfg.Catalog.Update(ctx, func(_ *catalog.View, c *catalog.Change) error {
		return c.BeginStep(m.Job.ID, s.MoveStep, now())
	})
	if errors.Is(err, catalog.ErrStepOver) {
		return nil // paused, cancelled, or another driver's
	}
	if err != nil {
		return err
	}
	if err := s.run(ctx); err != nil {
		if errors.Is(err, errStopHere) || ctx.Err() != nil {
			return err
		}
		if uerr := s.undo(ctx, reason(err)); uerr != nil {
			return uerr // the job has the first error
		}
		return err
	}
	return nil
}

// errStopHere is wrapped by the error of an arrow at which a test stops a driver.
var errStopHere = errors.New("move: stopped")

func (s *step) at(arrow string) error {
	if err := s.d.cfg.At(arrow); err != nil {
		return fmt.Errorf("%w at %q: %w", errStopHere, arrow, err)
	}
	return nil
}

// from returns the buckets that leave the source, and into those that come to the target. They
// differ only if segments replace others.
func (s *step) from() []storage.BucketRange {
	if r := s.m.Resegment; r != nil {
		return r.OldBuckets().Intervals()
	}
	return []storage.BucketRange{s.Interval}
}

func (s *step) into() []storage.BucketRange {
	if r := s.m.Resegment; r != nil {
		return r.NewBuckets().Intervals()
	}
	return []storage.BucketRange{s.Interval}
}

// run executes the step. If it returns an error, the step has to be undone, or completed if it has
// flipped.
func (s *step) run(ctx context.Context) error {
	if err := s.at(Begun); err != nil {
		return err
	}
	generation, err := s.target.Moves.BeginIngest(ctx, s.Number, s.into(), 0)
	if err != nil {
		return err
	}
	s.copier = newCopier(s, generation)
	defer s.copier.queue.Close()
	if err := s.at(IngestBegun); err != nil {
		return err
	}
	for tries := newTries(); ; {
		err := s.bring(ctx)
		if err == nil {
			return s.complete(ctx)
		}
		if err := s.again(ctx, tries, err); err != nil {
			return err
		}
	}
}

// bring copies what the target does not have yet, and flips.
func (s *step) bring(ctx context.Context) error {
	if err := s.catchUp(ctx); err != nil {
		return err
	}
	return s.cutOver(ctx)
}

// catchUp reads and copies until little was written meanwhile.
func (s *step) catchUp(ctx context.Context) error {
	for round := 0; ; round++ {
		began, before := time.Now(), s.copier.bytes
		if err := s.read(ctx, false); err != nil {
			return err
		}
		arrow := CaughtUp
		if round == 0 {
			arrow = Copied
		}
		if err := s.at(arrow); err != nil {
			return err
		}
		small, quick := s.copier.bytes-before < smallRound, time.Since(began) < quickRound
		switch {
		case round == 0 && small && quick: // what was written meanwhile is not worth a round
			return s.at(CaughtUp)
		case round > 0 && (small || quick), round == maxRounds:
			return nil
		}
	}
}

// read reads what was written at the source since T, and copies it. If final, it fences the source
// first and reads up to the fence.
func (s *step) read(ctx context.Context, final bool) error {
	req := storage.ReadRequest{Ranges: s.from(), Since: s.T, AtLeast: max(s.T, s.copier.floor), Move: s.Number} // M8
	var res storage.ReadResult
	err := s.d.cfg.Once(ctx, s.Source, func(src Source) (err error) {
		take := func(batch []storage.Version) error { return s.copier.take(ctx, batch, final) }
		if final {
			res, err = src.cut(ctx, req, s.wait, take)
		} else {
			res, err = src.readVersions(ctx, req, take)
		}
		return err
	})
	if err == nil {
		err = s.copier.flush(ctx)
	}
	if err == nil { // after an error the same is read and copied again
		s.T, s.since = res.T, max(s.since, res.Watermark, s.copier.floor)
	}
	return err
}

// cutOver fences the source, copies the rest, and flips.
func (s *step) cutOver(ctx context.Context) error {
	// M3: the catalog has a leader, and according to it the step has not ended and no definition
	// has changed.
	cctx, cancel := context.WithTimeout(ctx, currentIn)
	view, err := s.d.cfg.Catalog.Current(cctx)
	cancel()
	if err != nil {
		return fmt.Errorf("the catalog has no leader within reach: %w", err)
	}
	s.flipsWith = maps.Clone(s.copier.derived)
	view.FlipsWith(s.m.Job.Database, s.flipsWith)
	if err := s.check(view); err != nil {
		return err
	}
	s.wait = max(s.wait, time.Duration(s.d.lastWait.Load())/2, shortestWait)
	s.fenced, s.fencing = time.Now(), true
	err = s.read(ctx, true)
	if storage.Uncalm(err) {
		s.fenced, s.fencing, s.held = time.Time{}, false, s.wait // behind the gate (storage/gate.go)
	}
	if errors.Is(err, storage.ErrUndecided) || storage.Uncalm(err) {
		s.wait = min(2*s.wait, longestWait)
	}
	if err != nil {
		return err
	}
	s.d.lastWait.Store(int64(s.wait)) // so that the next step on a slow machine starts near it
	s.phases.cut = time.Since(s.fenced)
	for _, arrow := range []string{Fenced, CopiedRest} {
		if err := s.at(arrow); err != nil {
			return err
		}
	}
	s.F, s.Since = uint64(s.T), uint64(s.since)
	passed := make(chan error, 1)
	// otherwise the first reads at the target would wait for the entry Own
	go func() { passed <- s.target.Moves.PassBy(s.T) }()
	flipping := time.Now()
	err = s.flip(ctx)
	s.phases.flip = time.Since(flipping)
	if perr := <-passed; err == nil && perr != nil {
		s.d.cfg.Logger.Debug("the first reads of what has moved wait", "move", s.m.Job.ID, "error", perr)
	}
	if err != nil {
		return err
	}
	s.Phase, s.copiedAll = catalog.StepFlipped, true
	return s.at(Flipped)
}

// runs reports whether the step may still flip, according to this node's view.
func (s *step) runs() bool {
	m, ok := s.d.cfg.Catalog.View().MoveOf(s.m.Job.ID)
	return ok && m.Step.Number == s.Number && m.Step.Phase == catalog.StepRunning && m.Job.State == catalog.JobRunning
}

// check returns an error if the step may not flip according to a view.
func (s *step) check(view *catalog.View) error {
	err := view.Plan().Flip(s.m.Job.ID, s.Number, s.flipsWith, func(*catalog.Move) {}, now())
	if errors.Is(err, catalog.ErrStepOver) {
		return errOver
	}
	return err
}

var errOver = errors.New("the step was ended: paused, cancelled, or another driver's")

// flip is the commit point. If its outcome is unknown, flip asks the catalog; if that fails too,
// undo asks until the catalog answers.
func (s *step) flip(ctx context.Context) error {
	_, err := s.d.cfg.Catalog.Update(ctx, func(_ *catalog.View, c *catalog.Change) error {
		return c.Flip(s.m.Job.ID, s.Number, s.flipsWith, func(m *catalog.Move) {
			m.Step.F, m.Step.Since = s.F, s.Since
			m.Bytes += s.copier.bytes
			m.Documents += s.copier.documents
			m.Rate = rate(m.Rate, s.copier.bytes, time.Since(s.began))
		}, now())
	})
	if errors.Is(err, catalog.ErrStepOver) {
		err = errOver
	}
	if err == nil {
		return nil
	}
	view, cerr := s.d.cfg.Catalog.Current(ctx)
	if cerr != nil {
		return err // undo asks again
	}
	if m, ok := view.MoveOf(s.m.Job.ID); ok && m.Step.Number == s.Number && m.Step.Phase == catalog.StepFlipped {
		return nil
	}
	return err
}

// rate returns the smoothed bytes per second of a move's steps.
func rate(before, bytes int64, took time.Duration) int64 {
	n := int64(float64(bytes) / max(took, time.Millisecond).Seconds())
	if before == 0 {
		return n
	}
	return (3*before + n) / 4
}

// complete notifies the fragments that the step has flipped.
func (s *step) complete(ctx context.Context) error {
	telling := time.Now()
	blocked, err := s.handOver(ctx)
	if err != nil {
		return err
	}
	s.phases.handOver = time.Since(telling)
	s.d.cfg.Logger.Debug("a step of a move has flipped", "move", s.m.Job.ID,
		"step", s.Number, "blocked", blocked, "cut", s.phases.cut,
		"flip", s.phases.flip, "hand_over", s.phases.handOver)
	if err := s.at(GoneNow); err != nil {
		return err
	}
	if err := s.tell(ctx, func(src Source) error { return src.clean(ctx, s.Number, s.from()) }); err != nil {
		return err
	}
	if err := s.at(Cleaned); err != nil {
		return err
	}
	if s.copier != nil {
		s.copier.dropUnknown(ctx)
	}
	return s.done(ctx, func(m *catalog.Move) {
		m.Blocked += blocked.Microseconds()
		m.Worst = max(m.Worst, blocked.Microseconds())
	})
}

// handOver notifies both fragments at once that the ranges have another owner, and returns for how
// long writes waited.
func (s *step) handOver(ctx context.Context) (blocked time.Duration, err error) {
	owned := make(chan error, 1)
	go func() { owned <- s.own(ctx) }()
	err = s.tell(ctx, func(src Source) (err error) {
		blocked, err = src.movedAway(ctx, s.Number, s.from())
		return err
	})
	if err := errors.Join(<-owned, err); err != nil {
		return 0, err
	}
	if blocked == 0 && !s.fenced.IsZero() { // zero: another driver's fence
		blocked = time.Since(s.fenced)
	}
	return blocked, nil
}

// own makes the target the owner. If this driver has copied everything, the target serves from the
// proposal on.
func (s *step) own(ctx context.Context) error {
	own := s.target.Moves.Own
	if s.copiedAll {
		own = s.target.Moves.OwnIngested
	}
	err := own(ctx, s.IngestNumber(), s.into(), txn.Timestamp(s.F), txn.Timestamp(s.Since))
	if err != nil && !errors.Is(err, storage.ErrMoveVoid) {
		return err
	}
	return s.at(OwnedNow)
}

// tell sends a notice to the source's leader; if it is void, it was sent before.
func (s *step) tell(ctx context.Context, do func(Source) error) error {
	err := s.d.cfg.Ask(ctx, s.Source, do)
	if errors.Is(err, storage.ErrMoveVoid) {
		return nil
	}
	return err
}

func (s *step) done(ctx context.Context, note func(*catalog.Move)) error {
	_, err := s.d.cfg.Catalog.Update(ctx, func(_ *catalog.View, c *catalog.Change) error {
		return c.FinishStep(s.m.Job.ID, s.Number, note, now())
	})
	return err
}

// undo aborts the step in the catalog and lifts its fence. If the step has flipped meanwhile, undo
// completes it.
func (s *step) undo(ctx context.Context, why string) error {
	ctx, cancel := context.WithTimeout(ctx, undoTime)
	defer cancel()
	_, err := s.d.cfg.Catalog.Update(ctx, func(_ *catalog.View, c *catalog.Change) error {
		return c.AbortStep(s.m.Job.ID, s.Number, why, now())
	})
	if err != nil {
		return err
	}
	view, err := s.d.cfg.Catalog.Current(ctx)
	if err != nil {
		return err
	}
	m, ok := view.MoveOf(s.m.Job.ID)
	if !ok || m.Step.Number != s.Number {
		return nil // another driver has ended it
	}
	s.MoveStep = m.Step
	switch m.Step.Phase {
	case catalog.StepAborted:
		return s.lift(ctx)
	case catalog.StepFlipped:
		return s.complete(ctx)
	}
	return nil
}

// lift lifts the fence of an aborted step, and makes the target discard what it has ingested.
func (s *step) lift(ctx context.Context) error {
	if err := s.at(Aborted); err != nil {
		return err
	}
	if err := s.tell(ctx, func(src Source) error { return src.unfence(ctx, s.Number, s.from()) }); err != nil {
		return err
	}
	var blocked int64
	if !s.fenced.IsZero() {
		blocked = time.Since(s.fenced).Microseconds()
	}
	if err := s.at(Lifted); err != nil {
		return err
	}
	err := s.target.Moves.Abandon(ctx, s.IngestNumber(), s.into())
	if err != nil && !errors.Is(err, storage.ErrMoveVoid) {
		return err
	}
	return s.done(ctx, func(m *catalog.Move) {
		m.Blocked += blocked
		m.Worst = max(m.Worst, blocked)
	})
}
