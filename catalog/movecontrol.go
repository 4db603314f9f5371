package catalog

import (
	"errors"

	"github.com/sherddb/sherd/internal/pgerr"
)

// moveNamed returns the move with a number that a user has named.
func (c *Change) moveNamed(id uint64) (RunningMove, error) {
	if m, ok := c.base.MoveOf(id); ok {
		return m, nil
	}
	for r := range c.base.Records() {
		if r.Move != nil && r.Move.Job == id {
			return RunningMove{}, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "move %d has ended: %s", id,
				r.Move.Outcome).
				WithHint("sherd.move_history tells about it.")
		}
	}
	return RunningMove{}, pgerr.New(pgerr.UndefinedObject, "move %d does not exist", id).
		WithHint("sherd.moves lists them.")
}

// PauseMove stops a move before its next step. The present step is undone unless it has flipped.
func (c *Change) PauseMove(id uint64, a Author) error {
	m, err := c.moveNamed(id)
	switch {
	case err != nil:
		return err
	case m.Job.State == JobCancelled:
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "move %d is being cancelled", id)
	case m.Job.State == JobPaused:
		return nil
	}
	return c.setMove(m, JobPaused, a)
}

// ResumeMove continues a move that was paused or has failed.
func (c *Change) ResumeMove(id uint64, a Author) error {
	m, err := c.moveNamed(id)
	switch {
	case err != nil:
		return err
	case m.Job.State == JobCancelled:
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "move %d is being cancelled", id)
	case m.Job.State == JobRunning:
		return nil
	}
	return c.setMove(m, JobRunning, a)
}

// CancelMove ends a move, or the removal of a fragment. Buckets that have arrived at the target
// stay there; all others stay where they are.
func (c *Change) CancelMove(id uint64, a Author) error {
	if j := c.base.Job(id); j != nil && j.Kind == RemovalJob {
		r, err := j.Removal()
		if err != nil {
			return err
		}
		return c.cancelRemoval(j, r, a)
	}
	m, err := c.moveNamed(id)
	if err != nil || m.Job.State == JobCancelled {
		return err
	}
	if !m.Step.Open() {
		return errors.Join(c.EndMove(id, string(JobCancelled), "", a.Micros), c.noteMove(m, JobCancelled, a))
	}
	return c.setMove(m, JobCancelled, a)
}

// setMove sets the state of a move. If the new state is not JobRunning, a running step is aborted.
func (c *Change) setMove(m RunningMove, state JobState, a Author) error {
	m.Job = m.Job.Clone()
	m.Job.State, m.Job.Error = state, ""
	if state != JobRunning && m.Step.Phase == StepRunning {
		m.Step.Phase = StepAborted
	}
	if m.Waits = ""; state == JobPaused {
		m.Waits = "sherd.resume_move"
	}
	return errors.Join(c.PutJob(m.Job.WithMove(m.Move, a.Micros)), c.noteMove(m, state, a))
}

// noteMove records the author of a pause, resumption or cancellation of a move.
func (c *Change) noteMove(m RunningMove, state JobState, a Author) error {
	change := map[JobState]string{JobRunning: "move resumed", JobPaused: "move paused",
		JobCancelled: "move cancelled"}[state]
	return c.note(a, RangeRecord, c.base.Database(m.Job.Database), c.subject(m.Move), change)
}
