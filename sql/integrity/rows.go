package integrity

import (
	"github.com/sherddb/sherd/sql/exec"
	rows "github.com/sherddb/sherd/sql/trigger"
)

// keyTriggers is what the names of the triggers begin with by which PostgreSQL checks foreign keys.
// Triggers whose names come before it fire before the foreign keys of a statement, others after them.
const keyTriggers = "RI_ConstraintTrigger_"

// firing is the rows of one execution of a program, for the triggers that fire before or after the
// foreign keys.
type firing struct {
	run   *rows.Run
	c     *exec.Ctx
	early bool
}

func (f *firing) fire() error {
	return f.run.Fire(f.c, func(name string) bool { return (name < keyTriggers) == f.early })
}

// beginTriggers has the triggers that users have made fire while a program runs.
func (t *Transaction) beginTriggers(r *triggers, c *exec.Ctx) error {
	if r.sets == nil || c.Hooks.Trigger == nil {
		return nil
	}
	before := uint32(0)
	for _, set := range r.sets {
		before |= set.Rows().BeforeRow
	}
	if before != 0 {
		if err := t.steady(c); err != nil {
			return err
		}
	}
	c.Triggers = rows.NewRun(r.sets, c.Mem)
	return nil
}

// steady makes a statement read all at one time, and write each row before it computes the next: the
// functions of triggers see the rows before, and the statement sees nothing of what they write.
func (t *Transaction) steady(c *exec.Ctx) error {
	c.Prompt = true
	if c.Steady {
		return nil
	}
	c.Steady = true
	if c.Before == nil {
		c.Before = t.Parts.Mark()
	}
	if t.At != 0 {
		return nil
	}
	at, err := t.CurrentEverywhere(c.Context)
	if err == nil {
		c.Gateway = c.Gateway.ReadingAt(at)
	}
	return err
}

// abandon releases what the triggers of a statement have kept. It may be called again.
func (t *Transaction) abandon(c *exec.Ctx) {
	if run, ok := c.Triggers.(*rows.Run); ok {
		run.Free()
	}
}

// hold returns the rows of a program that has run, nil if no trigger fires after it. They are kept
// until the queue is empty.
func (k *queue) hold(c *exec.Ctx) *firing {
	run, ok := c.Triggers.(*rows.Run)
	if !ok {
		return nil
	}
	k.runs = append(k.runs, run)
	if !run.HasEvents() {
		return nil
	}
	return &firing{run: run, c: c}
}

// append queues the triggers that fire before the foreign keys of a program, or after them.
func (k *queue) append(f *firing, early bool) {
	if f != nil {
		k.events = append(k.events, event{rows: &firing{f.run, f.c, early}})
	}
}

// free releases the rows of all programs.
func (k *queue) free() {
	for _, run := range k.runs {
		run.Free()
	}
}
