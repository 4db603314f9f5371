package move

import (
	"context"
	"errors"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/clusterversion"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/storage"
)

// A step that does not reach its flip is not copied again from its start. What the target has
// ingested is in its log, complete up to T, and stays as it is: versions of the source at or below
// T do not change, and the next read is of those above it, refused if the source may have discarded
// some of them. So as long as the target's leader is the same, and the definitions by which entries
// were derived are in force, the driver reads what has come since T and tries again. A step that
// was fenced needs another number for that, because lifting the fence bars its own; the target
// continues by the number that it has. The catalog has that number before there is another fence,
// so the driver that finds the step completes or undoes it by both.

const (
	againFor   = 2 * time.Minute // a replica discards nothing while it ingests
	againTries = 3               // after errors of unknown kinds

	// A fence that stood for longer without a flip, together with the wait before it, has cost
	// writers more than is acceptable again soon.
	lateFence = fenceTime / 2
	latePause = 2 * time.Second // before the try after such a fence, at first
	lateMost  = 20 * time.Second
)

// tries bounds how often a step is tried again.
type tries struct {
	until   time.Time
	unknown int
	backoff time.Duration
	late    time.Duration // the pause after one that held writers up for too long
}

func newTries() *tries {
	return &tries{until: time.Now().Add(againFor), backoff: minBackoff, late: latePause}
}

// pause returns how long the next try has to wait, after one that held writers up for some time. If
// the machine was too slow for a flip within fenceTime, it is likely to be so in a moment too:
// writers would wait for most of the time, and nothing move.
func (t *tries) pause(stood time.Duration) (d time.Duration) {
	if stood > lateFence {
		d, t.late = t.late, min(2*t.late, lateMost)
		return d
	}
	d, t.backoff = t.backoff, min(2*t.backoff, maxBackoff)
	return d
}

// again prepares another try after an error before the flip; if there is none, it returns the error
// with which the step ends.
func (s *step) again(ctx context.Context, t *tries, err error) error {
	if errors.Is(err, errStopHere) || !t.may(err) || !s.ingesting() {
		return err
	}
	stood := s.held
	s.held = 0
	if s.fencing {
		stood = time.Since(s.fenced)
	}
	s.d.cfg.Logger.Debug("a step of a move is tried again",
		"move", s.m.Job.ID, "step", s.Number, "held_up", stood, "error", err)
	if s.fencing {
		if rerr := s.renew(ctx, reason(err)); rerr != nil {
			return errors.Join(err, rerr)
		}
	} else if s.runs() {
		s.d.waits(ctx, s.m.Job.ID, reason(err))
	}
	if s.rest(ctx, t.pause(stood)) && s.copier.renew(s.d.cfg.Catalog.View()) {
		return nil
	}
	return err
}

// rest waits, and reports whether the step may still flip then. It ends with the step: cancelling a
// move does not wait for it.
func (s *step) rest(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	for {
		view := s.d.cfg.Catalog.View()
		if !s.runs() {
			return false
		}
		select {
		case <-t.C:
			return s.runs()
		case <-view.Superseded():
		case <-ctx.Done():
			return false
		}
	}
}

// may reports whether another try is allowed after an error.
func (t *tries) may(err error) bool {
	if pgerr.Is(err, pgerr.SnapshotTooOld) || time.Now().After(t.until) {
		return false
	}
	var held *storage.PreparedError
	var changed *catalog.DefinitionsChangedError
	if !errors.As(err, &held) && !errors.As(err, &changed) &&
		!errors.Is(err, storage.ErrUndecided) && !storage.Uncalm(err) && !errors.Is(err, errOver) {
		t.unknown++
	}
	return t.unknown <= againTries
}

// ingesting reports whether the copied rows are still there, and this node leads the target.
func (s *step) ingesting() bool {
	return s.d.cfg.Leads(s.m.Target) == s.target && s.target.Moves.Ingesting(s.IngestNumber(), s.into())
}

// renew lifts the step's fence and assigns it another number. After an error, undo finds in the
// catalog how far it came.
func (s *step) renew(ctx context.Context, why string) error {
	cat := s.d.cfg.Catalog
	if !cat.View().Knows(clusterversion.RenewedSteps) {
		return errOver
	}
	view, err := cat.Update(ctx, func(_ *catalog.View, c *catalog.Change) error {
		return c.AbortStep(s.m.Job.ID, s.Number, why, now())
	})
	if err != nil {
		return err
	}
	m, ok := view.MoveOf(s.m.Job.ID)
	if !ok || m.Step.Number != s.Number || m.Step.Phase != catalog.StepAborted || m.Job.State != catalog.JobRunning {
		return errOver // paused, or it has flipped
	}
	if err := s.at(Aborted); err != nil {
		return err
	}
	if err := s.tell(ctx, func(src Source) error { return src.unfence(ctx, s.Number, s.from()) }); err != nil {
		return err
	}
	blocked := time.Since(s.fenced).Microseconds()
	if err := s.at(Lifted); err != nil {
		return err
	}
	next, err := cat.NewJobID(ctx)
	if err != nil {
		return err
	}
	view, err = cat.Update(ctx, func(_ *catalog.View, c *catalog.Change) error {
		return c.RenewStep(s.m.Job.ID, s.Number, next, func(m *catalog.Move) {
			m.Blocked += blocked
			m.Worst = max(m.Worst, blocked)
		}, now())
	})
	if err != nil {
		return err
	}
	if m, ok = view.MoveOf(s.m.Job.ID); !ok || m.Step.Number != next {
		return errOver
	}
	s.MoveStep, s.fenced, s.fencing = m.Step, time.Time{}, false
	return s.at(Renewed)
}

// renew derives entries by newer definitions from now on. It reports false if a definition by which
// entries were derived is no longer in force.
func (c *copier) renew(view *catalog.View) bool {
	for oid, version := range c.derived {
		if t := view.Table(oid); t == nil || t.Version != version {
			return false
		}
	}
	c.know(view)
	c.batch, c.size, c.older = nil, 0, nil // they will be read again
	return true
}
