package integrity

import (
	"context"
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/exec/keychange"
	"github.com/sherddb/sherd/sql/stmt"
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

func (f *firing) fire(k *queue) error {
	postpone := func(own *rows.Constraint, e *exec.RowEvent) (bool, error) {
		of := &trigger{own: own, con: own.Definition()}
		if !k.t.isDeferred(of.con) {
			return false, nil
		}
		return true, k.t.postpone(k.x, of, []keychange.Change{keychange.New(e.Old, e.New, "")})
	}
	return f.run.Fire(f.c, func(name string) bool { return (name < keyTriggers) == f.early }, postpone)
}

// beginTriggers has the triggers that users have made fire while a program runs, those for statements
// now. level is that of the statement that a foreign key follows, nil for others.
func (t *Transaction) beginTriggers(r *triggers, p *stmt.Program, c *exec.Ctx, level *rows.Level) error {
	if r.sets == nil || c.Hooks.Trigger == nil {
		return nil
	}
	var statements []rows.Statement
	before := uint32(0)
	writers := stmt.Writers(p.Query)
	for i := range writers { // the statement itself begins before those in its WITH
		statements = append(statements, rows.StatementsOf(writers[len(writers)-1-i], r.sets)...)
	}
	for _, set := range r.sets {
		before |= set.Rows().BeforeRow
	}
	if before != 0 || r.before {
		if err := t.steady(c); err != nil {
			return err
		}
	}
	if level == nil {
		level = rows.NewLevel(c.Mem)
	}
	c.Triggers = rows.NewRun(level, r.sets, c.Mem)
	for i := range statements {
		if err := level.Before(c, &statements[i]); err != nil {
			return err
		}
	}
	return nil
}

// Truncating fires the triggers on TRUNCATE of tables, before it or after it.
func (t *Transaction) Truncating(
	ctx context.Context, x *stmt.Executor, timing catalog.TriggerEvents, tables []catalog.OID,
) error {
	view := t.View()
	for _, oid := range tables {
		table := view.Table(oid)
		if table == nil {
			continue
		}
		set := rows.Of(view, table)
		if set == nil {
			continue
		}
		c := x.Context(ctx, t.Tx, nil)
		l, s := rows.NewLevel(c.Mem), rows.Truncation(set)
		fire := l.After
		if timing == catalog.TriggerBefore {
			fire = l.Before
		}
		if err := fire(c, &s); err != nil {
			return err
		}
	}
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
		run.Level().Free()
	}
}

// hold returns the rows of a program that has run, nil if no trigger fires after it. They are kept
// until the queue is empty.
func (k *queue) hold(c *exec.Ctx) *firing {
	run, ok := c.Triggers.(*rows.Run)
	if !ok {
		return nil
	}
	k.runs, k.level = append(k.runs, run), run.Level()
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

// appendStatements queues the triggers for the statements of a program. Those of an event that waits
// already fire once, at the end.
func (k *queue) appendStatements(p *stmt.Program, c *exec.Ctx, r *triggers) {
	if k.level == nil || r.sets == nil {
		return
	}
	for _, q := range stmt.Writers(p.Query) {
		list := rows.StatementsOf(q, r.sets)
		slices.Reverse(list)
		for i := range list {
			s := &list[i]
			k.events = slices.DeleteFunc(k.events, func(e event) bool {
				return e.statement != nil && e.statement.Event() == s.Event()
			})
			k.events = append(k.events, event{statement: s, c: c})
		}
	}
}

// free releases the rows of all programs.
func (k *queue) free() {
	for _, run := range k.runs {
		run.Free()
	}
	if k.level != nil {
		k.level.Free()
	}
}
