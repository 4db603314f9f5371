package catalog

import (
	"errors"
	"fmt"
	"slices"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
)

// Progress updates the steps of a plan that have become done, and returns the reason if the plan
// cannot continue. It reports whether it has changed p.
func (v *View) Progress(p RunningPlan) (changed bool, stuck string) {
	d := v.Database(p.Job.Database)
	for i := range p.Steps {
		s := &p.Steps[i]
		if s.Done || s.Kind != LeaderStep && s.Job == 0 {
			continue
		}
		switch {
		case s.Kind == LeaderStep:
			f := d.FragmentByID(s.Fragment)
			s.Done = f == nil || len(f.Nodes) > 0 && f.Nodes[0] == s.Node
			changed = changed || s.Done
		case v.Job(s.Job) != nil:
			if j := v.Job(s.Job); j.State == JobFailed {
				stuck = fmt.Sprintf("move %d has failed: %s", s.Job, j.Error)
			}
		case s.ofSegments() && s.segments(v.Table(s.Table)) == nil:
			s.Done, changed = true, true
		case !s.ofSegments() && len(d.Remaining(&Move{Interval: s.Interval, Source: s.Source, Target: s.Target})) == 0:
			s.Done, changed = true, true
		default:
			stuck = fmt.Sprintf("move %d has ended before it was done", s.Job)
		}
	}
	return changed, stuck
}

// BeginPlanStep starts a step of a plan; job is a new number, for a move. A step that has nothing
// to do is done. A step that cannot start now, because another move has its buckets, is left for
// later. A step that is refused because of a later change, such as a pin of its buckets, is left
// out: the plan continues without it, and the next plan takes the change into account.
func (c *Change) BeginPlanStep(id uint64, step int, job uint64, a Author) error {
	p, ok := c.base.PlanOf(id)
	if !ok || p.Job.State != JobRunning || step >= len(p.Steps) || p.Steps[step].Done || p.Steps[step].Job != 0 {
		return nil
	}
	s := &p.Steps[step]
	a.Plan, a.Why = id, s.Reason
	switch s.Kind {
	case LeaderStep:
		if err := c.leadBy(s.Fragment, s.Node); err != nil {
			return err
		}
		s.Done = true
	case SplitStep, MergeStep:
		return c.beginResegment(p, step, job, a)
	case BucketsStep:
		d := c.base.Database(p.Job.Database)
		m := &Move{Interval: s.Interval, Source: s.Source, Target: s.Target}
		if len(d.Remaining(m)) == 0 {
			s.Done = true
			break
		}
		if why := c.mayTake(d, m); why != nil {
			return c.leaveOut(p, step, why, a)
		}
		if err := c.AddMove(job, d.OID, m, a); err != nil {
			return err
		}
		s.Job = job
	}
	p.Waits = ""
	return c.PutJob(p.Job.WithPlan(p.Plan, a.Micros))
}

// leaveOut marks a step as done that is refused for good, and records why.
func (c *Change) leaveOut(p RunningPlan, step int, why error, a Author) error {
	s := &p.Steps[step]
	s.LeftOut, s.Done, p.Waits = pgerr.From(why).Message, true, ""
	name := fmt.Sprintf("step %d", step+1)
	if s.What != "" {
		name += " (" + s.What + ")"
	}
	return errors.Join(c.PutJob(p.Job.WithPlan(p.Plan, a.Micros)), c.notePlan(p, name+" left out: "+s.LeftOut, a))
}

// leadBy makes a node the preferred leader of a fragment, if it has a replica there.
func (c *Change) leadBy(fragment, node uint32) error {
	_, f := c.base.Fragment(fragment)
	if f == nil || !slices.Contains(f.Nodes, node) || slices.Contains(f.Joining, node) ||
		slices.Contains(f.Leaving, node) {
		return nil
	}
	nodes := []uint32{node}
	for _, n := range f.Nodes {
		if n != node {
			nodes = append(nodes, n)
		}
	}
	was := shardmap.ReplicaSet{Fragment: fragment, Nodes: f.Nodes, Joining: f.Joining, Leaving: f.Leaving}
	next := was
	next.Nodes = nodes
	return c.Place(was, next)
}

// NotePlan records the progress of a plan. The plan ends if all steps are done, and pauses if it
// cannot continue.
func (c *Change) NotePlan(id uint64, a Author) error {
	p, ok := c.base.PlanOf(id)
	if !ok || p.Job.State != JobRunning {
		return nil
	}
	changed, stuck := c.base.Progress(p)
	switch {
	case p.Done() == len(p.Steps):
		return c.endPlan(p, "plan done", a)
	case stuck != "":
		j := p.Job.Clone()
		j.State, j.Error, p.Waits = JobPaused, stuck, "sherd.resume_plan or sherd.cancel_plan"
		return errors.Join(c.PutJob(j.WithPlan(p.Plan, a.Micros)), c.notePlan(p, "plan paused: "+stuck, a))
	case changed:
		return c.PutJob(p.Job.WithPlan(p.Plan, a.Micros))
	}
	return nil
}

// DelayPlan records what a plan waits for.
func (c *Change) DelayPlan(id uint64, waits string, micros int64) error {
	p, ok := c.base.PlanOf(id)
	if !ok || p.Job.State != JobRunning || p.Waits == waits {
		return nil
	}
	p.Waits = waits
	return c.PutJob(p.Job.WithPlan(p.Plan, micros))
}

// SetNodeShare sets a node's weight and limit. A nil value stays unchanged.
func (c *Change) SetNodeShare(id uint32, weight *float64, maxBytes *uint64, a Author) error {
	n := c.base.Node(id)
	if n == nil {
		return nil
	}
	n = n.Clone()
	change := ""
	if weight != nil {
		if !(*weight > 0 && *weight <= 1000) {
			return pgerr.New(pgerr.InvalidParameterValue, "weight %g of a node is not above 0 and at most 1000",
				*weight)
		}
		n.Weight, change = *weight, fmt.Sprintf("weight %g", *weight)
	}
	if maxBytes != nil {
		if n.MaxBytes = *maxBytes; change != "" {
			change += ", "
		}
		change += fmt.Sprintf("max_bytes %d", *maxBytes)
	}
	if change == "" {
		return nil
	}
	return errors.Join(c.PutNode(n), c.NoteNode(n, change, a))
}
