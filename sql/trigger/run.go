package trigger

import (
	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/function"
	"github.com/sherddb/sherd/sql/types"
)

// Run fires the triggers of one execution of a program. It implements exec.Triggers.
type Run struct {
	level *Level
	sets  map[catalog.OID]*Set
	conds map[*definition]expr.Eval
	both  types.Row // of a condition
	rows  events
}

// NewRun returns the Run of an execution of a program that writes to the tables of sets, by OID.
func NewRun(l *Level, sets map[catalog.OID]*Set, mem *memory.Account) *Run {
	r := &Run{level: l, sets: sets}
	r.rows.Mem = mem
	return r
}

// Level returns the level of the execution.
func (r *Run) Level() *Level { return r.level }

// Free releases the rows that are kept (TG3).
func (r *Run) Free() { r.rows.Free() }

// HasEvents reports whether triggers have to fire after the statement.
func (r *Run) HasEvents() bool { return r.rows.Len() > 0 }

// Before implements exec.Triggers.
func (r *Run) Before(c *exec.Ctx, e *exec.RowEvent) (types.Row, error) {
	return r.each(c, e, catalog.TriggerBefore)
}

// Instead implements exec.Triggers.
func (r *Run) Instead(c *exec.Ctx, e *exec.RowEvent) (types.Row, error) {
	return r.each(c, e, catalog.TriggerInstead)
}

// each fires the triggers of a row with a timing, one after the other (TG1).
func (r *Run) each(c *exec.Ctx, e *exec.RowEvent, timing catalog.TriggerEvents) (types.Row, error) {
	set, own := r.sets[e.Table.OID], *e
	for i := range set.list {
		d := &set.list[i]
		if !d.isFor(timing | catalog.TriggerRow | e.Kind) {
			continue
		}
		if ok, err := r.applies(c, d, &own); err != nil || !ok {
			if err != nil {
				return nil, err
			}
			continue
		}
		result, err := r.fire(c, set, d, &own)
		if err != nil || result == nil {
			return nil, err
		}
		if e.Kind != catalog.TriggerDelete {
			own.New = result
		}
	}
	if e.Kind == catalog.TriggerDelete {
		return own.Old, nil
	}
	return own.New, nil
}

// After implements exec.Triggers.
func (r *Run) After(c *exec.Ctx, e *exec.RowEvent) error {
	set := r.sets[e.Table.OID]
	if err := r.level.note(set, e); err != nil {
		return err
	}
	var due []int
	for i := range set.list {
		d := &set.list[i]
		if !d.isFor(catalog.TriggerRow | e.Kind) {
			continue
		}
		ok, err := r.applies(c, d, e)
		if err != nil {
			return err
		}
		if ok {
			due = append(due, i)
		}
	}
	if len(due) == 0 {
		return nil
	}
	return r.rows.add(e, due)
}

// applies reports whether a trigger fires for a row.
func (r *Run) applies(c *exec.Ctx, d *definition, e *exec.RowEvent) (bool, error) {
	if !d.mayFire(c, e) || d.err != nil {
		return false, d.err
	}
	if d.when == nil {
		return true, nil
	}
	cond, ok := r.conds[d]
	if !ok {
		var err error
		if cond, err = expr.Compile(d.when); err != nil {
			return false, err
		}
		if r.conds == nil {
			r.conds = map[*definition]expr.Eval{}
		}
		r.conds[d] = cond
	}
	width := len(e.Table.Columns)
	if len(r.both) != 2*width {
		r.both = make(types.Row, 2*width)
	}
	clear(r.both)
	copy(r.both, e.Old)
	copy(r.both[width:], e.New)
	return cond.Holds(&c.Ctx, r.both)
}

// mayFire reports whether a trigger is enabled, and an update sets a column that it asks for.
func (d *definition) mayFire(c *exec.Ctx, e *exec.RowEvent) bool {
	if d.Enabled == 'R' && !c.Limits.Replica || d.Enabled == 'O' && c.Limits.Replica {
		return false
	}
	if e.Kind != catalog.TriggerUpdate || len(d.Columns) == 0 {
		return true
	}
	for _, att := range d.Columns {
		for i := range e.Table.Columns {
			if e.Table.Columns[i].AttNum == att && e.Updated != nil && e.Updated(i) {
				return true
			}
		}
	}
	return false
}

// words of a trigger in TG_OP.
var words = map[catalog.TriggerEvents]string{
	catalog.TriggerInsert: "INSERT", catalog.TriggerUpdate: "UPDATE", catalog.TriggerDelete: "DELETE",
	catalog.TriggerTruncate: "TRUNCATE",
}

// timings of a trigger in TG_WHEN.
var timings = map[catalog.TriggerEvents]string{
	catalog.TriggerBefore: "BEFORE", 0: "AFTER", catalog.TriggerInstead: "INSTEAD OF",
}

// fire calls the function of a trigger. It returns the row that the function returns.
func (r *Run) fire(c *exec.Ctx, set *Set, d *definition, e *exec.RowEvent) (types.Row, error) {
	t := &function.Trigger{
		Name: d.Name, When: timings[d.Timing()], Level: "STATEMENT", Op: words[e.Kind], Relation: set.table.OID,
		Table: set.table.Name, TableSchema: set.schema, Args: d.Arguments, Columns: set.columns,
	}
	if d.Is(catalog.TriggerRow) {
		t.Level, t.Old, t.New = "ROW", e.Old, e.New
	}
	if d.Timing() == 0 {
		t.Tables = r.level.read(set, d, e.Kind)
	}
	err := c.Hooks.Trigger(c, d.Function, t)
	return t.Result, err
}

// Fire fires the triggers that which accepts for the rows that were written. postpone is asked for each
// constraint trigger, and reports whether it has kept the event for later.
func (r *Run) Fire(
	c *exec.Ctx, which func(name string) bool, postpone func(own *Constraint, e *exec.RowEvent) (bool, error),
) error {
	return r.rows.each(r.sets, func(set *Set, trigger int, e *exec.RowEvent) error {
		d := &set.list[trigger]
		if !which(d.Name) {
			return nil
		}
		if err := c.Tick(); err != nil {
			return err
		}
		if d.Constraint != 0 && d.Deferrable {
			if later, err := postpone(&Constraint{set, d, e.Kind}, e); later || err != nil {
				return err
			}
		}
		_, err := r.fire(c, set, d, e)
		return err
	})
}

// Constraint is a constraint trigger, for an event.
type Constraint struct {
	set  *Set
	d    *definition
	kind catalog.TriggerEvents
}

// Definition returns the constraint as the catalog has others.
func (k *Constraint) Definition() *catalog.Constraint { return k.d.AsConstraint() }

// Event returns the event.
func (k *Constraint) Event() Event { return Event{k.set.table.OID, k.kind} }

// Fire fires the trigger for a row.
func (k *Constraint) Fire(c *exec.Ctx, old, next types.Row) error {
	r := &Run{level: NewLevel(c.Mem)}
	e := &exec.RowEvent{Table: k.set.table, Kind: k.kind, Old: old, New: next}
	_, err := r.fire(c, k.set, k.d, e)
	return err
}
