package catalog

import (
	"errors"
	"fmt"
	"slices"

	"github.com/sherddb/sherd/internal/pgerr"
)

// ProposePlan stores a plan as a proposal. It replaces the earlier proposals for the database; id
// is a new job number. If an equal plan is proposed already, that one stays, and ProposePlan
// returns its number. A plan without steps and advice withdraws the earlier proposals; the result
// is 0.
func (c *Change) ProposePlan(id uint64, database OID, p *Plan, a Author) (uint64, error) {
	for _, old := range c.base.Plans(database) {
		if old.Job.State != JobProposed {
			continue
		}
		if old.Epoch == p.Epoch && slices.Equal(old.Steps, p.Steps) && slices.Equal(old.Advice, p.Advice) {
			return old.Job.ID, nil
		}
		c.DropJob(old.Job.ID)
	}
	if len(p.Steps)+len(p.Advice) == 0 {
		return 0, nil
	}
	p.Who, p.Why = a.Who, a.Why
	return id, c.PutJob(NewPlanJob(id, database, p, a.Micros))
}

// planNamed returns the plan with a number that a user has named.
func (c *Change) planNamed(id uint64) (RunningPlan, error) {
	if p, ok := c.base.PlanOf(id); ok {
		return p, nil
	}
	for r := range c.base.Records() {
		if r.Kind == PlanRecord && r.Plan == id {
			return RunningPlan{}, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "plan %d has ended", id).
				WithHint("sherd.changelog tells about it.")
		}
	}
	return RunningPlan{}, pgerr.New(pgerr.UndefinedObject, "plan %d does not exist", id).
		WithHint("sherd.plans lists them; a newer proposal takes the place of an older one.")
}

// ApplyPlan starts to carry out a plan. It refuses a plan that was made for an older bucket map.
func (c *Change) ApplyPlan(id uint64, a Author) error {
	p, err := c.planNamed(id)
	if err != nil {
		return err
	}
	if p.Job.State != JobProposed {
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "plan %d was applied already", id).
			WithHint("sherd.plans tells how far it is.")
	}
	if len(p.Steps) == 0 {
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "plan %d has no steps", id).
			WithHint("It is advice only: see sherd.advice.")
	}
	d := c.base.Database(p.Job.Database)
	if now := d.Map.Epoch(); now != p.Epoch {
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "plan %d is out of date", id).
			WithDetail("It was made for epoch %d of the bucket map of database \"%s\", which is at epoch %d now.",
				p.Epoch, d.Name, now).
			WithHint("sherd.plan_rebalance() makes a new one.")
	}
	for _, other := range c.base.Plans(p.Job.Database) {
		if other.Job.ID != id && other.Job.State != JobProposed {
			return pgerr.New(pgerr.ObjectInUse, "plan %d of database \"%s\" is being carried out", other.Job.ID,
				d.Name).
				WithHint("Wait for it, or end it with SELECT sherd.cancel_plan(%d).", other.Job.ID)
		}
	}
	// From now on the plan belongs to the user: its moves are made in the user's name, and
	// maintenance windows apply only to plans of the balancer.
	p.Who = a.Who
	return c.setPlan(p, JobRunning, "", a)
}

// BeginPlan stores a plan and starts to carry it out, as part of a larger change; id is a new job
// number. It deletes the proposals for the database.
func (c *Change) BeginPlan(id uint64, database OID, p *Plan, a Author) error {
	d := c.base.Database(database)
	if now := d.Map.Epoch(); now != p.Epoch {
		return conflict()
	}
	for _, other := range c.base.Plans(database) {
		if other.Job.State != JobProposed {
			return pgerr.New(pgerr.ObjectInUse, "plan %d of database \"%s\" is being carried out", other.Job.ID,
				d.Name).
				WithHint("Wait for it, or end it with SELECT sherd.cancel_plan(%d).", other.Job.ID)
		}
		c.DropJob(other.Job.ID)
	}
	p.Who, p.Why = a.Who, a.Why
	j := NewPlanJob(id, database, p, a.Micros)
	j.State = JobRunning
	return errors.Join(c.PutJob(j), c.notePlan(RunningPlan{j, p}, "plan applied", a))
}

// PausePlan pauses a plan: it starts no further step, and its moves are paused.
func (c *Change) PausePlan(id uint64, a Author) error {
	p, err := c.planNamed(id)
	switch {
	case err != nil:
		return err
	case p.Job.State == JobPaused:
		return nil
	case p.Job.State == JobProposed:
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "plan %d was not applied", id)
	}
	for _, m := range c.movesOf(id) {
		if m.Job.State == JobRunning {
			if err := c.setMove(m, JobPaused, a); err != nil {
				return err
			}
		}
	}
	return c.setPlan(p, JobPaused, "sherd.resume_plan", a)
}

// ResumePlan continues a paused plan and its moves.
func (c *Change) ResumePlan(id uint64, a Author) error {
	p, err := c.planNamed(id)
	switch {
	case err != nil:
		return err
	case p.Job.State == JobRunning:
		return nil
	case p.Job.State == JobProposed:
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "plan %d was not applied", id).
			WithHint("SELECT sherd.apply_plan(%d) applies it.", id)
	}
	for _, m := range c.movesOf(id) {
		if m.Job.State == JobPaused || m.Job.State == JobFailed {
			if err := c.setMove(m, JobRunning, a); err != nil {
				return err
			}
		}
	}
	for i := range p.Steps { // start cancelled moves again
		if s := &p.Steps[i]; !s.Done && s.Job != 0 && c.base.Job(s.Job) == nil {
			s.Job = 0
		}
	}
	return c.setPlan(p, JobRunning, "", a)
}

// CancelPlan ends a plan and its moves. Buckets that have arrived stay where they are.
func (c *Change) CancelPlan(id uint64, a Author) error {
	p, err := c.planNamed(id)
	if err != nil {
		return err
	}
	for _, m := range c.movesOf(id) {
		if err := c.CancelMove(m.Job.ID, a); err != nil {
			return err
		}
	}
	return c.endPlan(p, "plan cancelled", a)
}

func (c *Change) movesOf(plan uint64) (out []RunningMove) {
	for _, m := range c.base.Moves(0) {
		if m.Plan == plan {
			out = append(out, m)
		}
	}
	return out
}

func (c *Change) setPlan(p RunningPlan, state JobState, waits string, a Author) error {
	j := p.Job.Clone()
	j.State, j.Error, p.Waits = state, "", waits
	change := map[JobState]string{JobRunning: "plan applied", JobPaused: "plan paused"}[state]
	if state == JobRunning && p.Job.State != JobProposed {
		change = "plan resumed"
	}
	return errors.Join(c.PutJob(j.WithPlan(p.Plan, a.Micros)), c.notePlan(p, change, a))
}

func (c *Change) endPlan(p RunningPlan, change string, a Author) error {
	c.DropJob(p.Job.ID)
	return c.notePlan(p, change, a)
}

func (c *Change) notePlan(p RunningPlan, change string, a Author) error {
	a.Plan = p.Job.ID
	return c.note(a, PlanRecord, c.base.Database(p.Job.Database), fmt.Sprintf("plan %d", p.Job.ID), change)
}
