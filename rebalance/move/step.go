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
	stepBytes  = 8 << 20                // about as much is moved by a step
	settleTime = 50 * time.Millisecond  // how long what is prepared is waited for before a fence, at first
	settleMost = 5 * time.Second        // and where that was too short, again and again: the machine may be slow
	smallRound = 256 << 10              // a round of catching up that brought less is the last
	quickRound = 10 * time.Millisecond  // and one that took less
	maxRounds  = 20                     // of catching up
	currentIn  = 500 * time.Millisecond // within which the catalog's leader has to answer before a fence
	undoTime   = 10 * time.Second       // for an attempt to undo a step
)

// step is a step of a move under way.
type step struct {
	d      *Driver
	m      catalog.RunningMove
	target *storage.Replica
	catalog.MoveStep

	carrier   *carrier
	flipsWith map[catalog.OID]uint64 // the versions of tables on which the flip is conditional

	T       txn.Timestamp // up to which everything was carried
	since   txn.Timestamp // the largest watermark of the source's reads
	settle  time.Duration // how long the next fence waits for what is prepared
	held    time.Duration // for how long the last try has held writers up without a fence
	fencing bool          // a fence of this number may have come into the source's log
	carried bool          // everything, by this driver: nothing is left at the source that the target's replica here does not have

	began  time.Time
	fenced time.Time
	phases phases
}

// phases are what of a step writers wait for, as its driver sees it: from the fence's proposal to the last difference carried, to the flip, and to the moment at
// which source and target have been told.
type phases struct{ cut, flip, handOver time.Duration }

// step moves a part of a range: all of it, or some MiB at an edge, the one that touches the target where there is one.
func (d *Driver) step(ctx context.Context, m catalog.RunningMove, target *storage.Replica, r shardmap.Range) error {
	view := d.cfg.Catalog.View()
	part, err := m.Interval, error(nil)
	if m.Resegment == nil {
		part, err = d.part(ctx, view.Database(m.Job.Database), m, r)
	}
	if err != nil {
		return err
	}
	number, err := d.cfg.Catalog.NewJobID(ctx) // now: the fragments take a smaller one for older than what they have
	if err != nil {
		return err
	}
	s := &step{d: d, m: m, target: target, MoveStep: catalog.MoveStep{Number: number, Interval: part, Source: r.Fragment}, began: time.Now()}
	_, err = d.cfg.Catalog.Update(ctx, func(_ *catalog.View, c *catalog.Change) error { return c.BeginStep(m.Job.ID, s.MoveStep, now()) })
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
			return uerr // what went wrong first is in the job
		}
		return err
	}
	return nil
}

// errStopHere is wrapped by the error of an arrow at which a test ends a driver.
var errStopHere = errors.New("move: stopped")

func (s *step) at(arrow string) error {
	if err := s.d.cfg.At(arrow); err != nil {
		return fmt.Errorf("%w at %q: %w", errStopHere, arrow, err)
	}
	return nil
}

// from and into are the buckets that go from the source, and those that come to the target: the same, but where segments take the place of others.
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

// run takes the step from its start to its end. After an error before the flip it has to be undone; after it, completed.
func (s *step) run(ctx context.Context) error {
	if err := s.at(Begun); err != nil {
		return err
	}
	arrival, err := s.target.Moves.BeginIngest(ctx, s.Number, s.into(), 0)
	if err != nil {
		return err
	}
	s.carrier = newCarrier(s, arrival)
	defer s.carrier.queue.Close()
	if err := s.at(Received); err != nil {
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

// bring carries what the target does not have yet, and flips.
func (s *step) bring(ctx context.Context) error {
	if err := s.catchUp(ctx); err != nil {
		return err
	}
	return s.cutOver(ctx)
}

// catchUp reads and carries, until what has come meanwhile is little.
func (s *step) catchUp(ctx context.Context) error {
	for round := 0; ; round++ {
		began, before := time.Now(), s.carrier.bytes
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
		small, quick := s.carrier.bytes-before < smallRound, time.Since(began) < quickRound
		switch {
		case round == 0 && small && quick: // nothing can have come that is worth a round
			return s.at(CaughtUp)
		case round > 0 && (small || quick), round == maxRounds:
			return nil
		}
	}
}

// read reads what has come since T, up to the newest or, where final, up to the fence that it begins with, and carries it.
func (s *step) read(ctx context.Context, final bool) error {
	req := storage.ReadRequest{Ranges: s.from(), Since: s.T, AtLeast: max(s.T, s.carrier.floor), Move: s.Number} // M8
	var res storage.ReadResult
	err := s.d.cfg.Once(ctx, s.Source, func(src Source) (err error) {
		take := func(batch []storage.Version) error { return s.carrier.take(ctx, batch, final) }
		if final {
			res, err = src.cut(ctx, req, s.settle, take)
		} else {
			res, err = src.readVersions(ctx, req, take)
		}
		return err
	})
	if err == nil {
		err = s.carrier.flush(ctx)
	}
	if err == nil { // else what came of it is carried once more
		s.T, s.since = res.T, max(s.since, res.Watermark, s.carrier.floor)
	}
	return err
}

// cutOver fences the source, carries what is left, and flips.
func (s *step) cutOver(ctx context.Context) error {
	// M3: the catalog has a leader, and does not say that the step is over or that definitions have changed.
	cctx, cancel := context.WithTimeout(ctx, currentIn)
	view, err := s.d.cfg.Catalog.Current(cctx)
	cancel()
	if err != nil {
		return fmt.Errorf("the catalog has no leader within reach: %w", err)
	}
	s.flipsWith = maps.Clone(s.carrier.derived)
	view.FlipsWith(s.m.Job.Database, s.flipsWith)
	if err := s.check(view); err != nil {
		return err
	}
	s.settle = max(s.settle, time.Duration(s.d.settled.Load())/2, settleTime)
	s.fenced, s.fencing = time.Now(), true
	err = s.read(ctx, true)
	if storage.Uncalm(err) {
		s.fenced, s.fencing, s.held = time.Time{}, false, s.settle // behind the gate (storage/gate.go)
	}
	if errors.Is(err, storage.ErrUnsettled) || storage.Uncalm(err) {
		s.settle = min(2*s.settle, settleMost)
	}
	if err != nil {
		return err
	}
	s.d.settled.Store(int64(s.settle)) // on a slow machine the next step does not begin so far below that
	s.phases.cut = time.Since(s.fenced)
	for _, arrow := range []string{Fenced, Carried} {
		if err := s.at(arrow); err != nil {
			return err
		}
	}
	s.F, s.Since = uint64(s.T), uint64(s.since)
	passed := make(chan error, 1)
	// else the first reads at the target would wait for the entry Own
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
	s.Phase, s.carried = catalog.StepFlipped, true
	return s.at(Flipped)
}

// runs reports whether the step may still flip, as far as is known here.
func (s *step) runs() bool {
	m, ok := s.d.cfg.Catalog.View().MoveOf(s.m.Job.ID)
	return ok && m.Step.Number == s.Number && m.Step.Phase == catalog.StepRunning && m.Job.State == catalog.JobRunning
}

// check makes sure that the step may still flip.
func (s *step) check(view *catalog.View) error {
	err := view.Plan().Flip(s.m.Job.ID, s.Number, s.flipsWith, func(*catalog.Move) {}, now())
	if errors.Is(err, catalog.ErrStepOver) {
		return errOver
	}
	return err
}

var errOver = errors.New("the step was ended: paused, cancelled, or another driver's")

// flip is the commit point. Where it is not known whether it was reached, the catalog is asked until it says so.
func (s *step) flip(ctx context.Context) error {
	_, err := s.d.cfg.Catalog.Update(ctx, func(_ *catalog.View, c *catalog.Change) error {
		return c.Flip(s.m.Job.ID, s.Number, s.flipsWith, func(m *catalog.Move) {
			m.Step.F, m.Step.Since = s.F, s.Since
			m.Bytes += s.carrier.bytes
			m.Documents += s.carrier.documents
			m.Rate = rate(m.Rate, s.carrier.bytes, time.Since(s.began))
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

// rate smooths bytes per second over steps.
func rate(before, bytes int64, took time.Duration) int64 {
	n := int64(float64(bytes) / max(took, time.Millisecond).Seconds())
	if before == 0 {
		return n
	}
	return (3*before + n) / 4
}

// complete tells the fragments what the catalog says: that the step has flipped.
func (s *step) complete(ctx context.Context) error {
	telling := time.Now()
	blocked, err := s.handOver(ctx)
	if err != nil {
		return err
	}
	s.phases.handOver = time.Since(telling)
	s.d.cfg.Logger.Debug("a step of a move has flipped", "move", s.m.Job.ID, "step", s.Number, "blocked", blocked, "cut", s.phases.cut, "flip", s.phases.flip, "hand_over", s.phases.handOver)
	if err := s.at(GoneNow); err != nil {
		return err
	}
	if err := s.tell(ctx, func(src Source) error { return src.clean(ctx, s.Number, s.from()) }); err != nil {
		return err
	}
	if err := s.at(Cleaned); err != nil {
		return err
	}
	if s.carrier != nil {
		s.carrier.dropUnknown(ctx)
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

// own makes the target the owner; from the proposal on where this driver has carried everything.
func (s *step) own(ctx context.Context) error {
	own := s.target.Moves.Own
	if s.carried {
		own = s.target.Moves.OwnIngested
	}
	err := own(ctx, s.Receives(), s.into(), txn.Timestamp(s.F), txn.Timestamp(s.Since))
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
	_, err := s.d.cfg.Catalog.Update(ctx, func(_ *catalog.View, c *catalog.Change) error { return c.FinishStep(s.m.Job.ID, s.Number, note, now()) })
	return err
}

// undo has the catalog say that the step was aborted, and carries that out; or, where it has flipped meanwhile, completes it.
func (s *step) undo(ctx context.Context, why string) error {
	ctx, cancel := context.WithTimeout(ctx, undoTime)
	defer cancel()
	_, err := s.d.cfg.Catalog.Update(ctx, func(_ *catalog.View, c *catalog.Change) error { return c.AbortStep(s.m.Job.ID, s.Number, why, now()) })
	if err != nil {
		return err
	}
	view, err := s.d.cfg.Catalog.Current(ctx)
	if err != nil {
		return err
	}
	m, ok := view.MoveOf(s.m.Job.ID)
	if !ok || m.Step.Number != s.Number {
		return nil // another driver has
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

// lift lifts the fence of an aborted step, and has the target give up what it has.
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
	err := s.target.Moves.Abandon(ctx, s.Receives(), s.into())
	if err != nil && !errors.Is(err, storage.ErrMoveVoid) {
		return err
	}
	return s.done(ctx, func(m *catalog.Move) {
		m.Blocked += blocked
		m.Worst = max(m.Worst, blocked)
	})
}
