package exec

import (
	"errors"
	"slices"
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/exec/operator"
	"github.com/sherddb/sherd/sql/exec/spool"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/plan/walk"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// mergeOp is MERGE at the gateway. It keeps all rows of its input before it writes the first (E6). The
// rows are processed in their order, but what updates and deletions remove is written before what
// insertions add, so that a new row may have a key that another row of the statement loses.
type mergeOp struct {
	node    *plan.Merge
	child   operator.Op
	width   int // columns of the table; the row's key follows
	actions []mergeAction
	insert  *insertOp // of all actions that insert; nil: none does
	program *Program  // of node.Stage
	holds   bool      // no row is written before the last one is computed, because of subqueries (E6)
	row     types.Row // that is inserted
}

// mergeAction is a WHEN clause.
type mergeAction struct {
	matched bool
	cond    expr.Eval
	write   *modifyOp   // UPDATE and DELETE
	values  []expr.Eval // INSERT: the columns of the new row
}

func (k *compiler) merge(n *plan.Merge) (operator.Op, error) {
	o := &mergeOp{node: n, width: len(n.Table.Columns), row: make(types.Row, len(n.Table.Columns))}
	var err error
	if o.child, err = k.Node(n.Child); err != nil {
		return nil, err
	}
	o.holds = walk.HasSubPlan(n.Exprs()...)
	var sets []query.Assignment
	for _, a := range n.Actions {
		if a.Write != nil && a.Write.Kind == plan.ModUpdate {
			sets = append(sets, a.Write.Assign...)
		}
	}
	for _, a := range n.Actions {
		own, err := k.mergeAction(o, a, sets)
		if err != nil {
			return nil, err
		}
		o.actions = append(o.actions, own)
	}
	o.program, err = compileNode(plan.Stage{Modify: n.Stage}, 0)
	return o, err
}

func (k *compiler) mergeAction(o *mergeOp, a plan.MergeAction, sets []query.Assignment) (own mergeAction, err error) {
	own.matched = a.Matched
	if own.cond, err = k.Optional(a.Cond); err != nil || a.Write == nil {
		return own, err
	}
	if a.Write.Kind != plan.ModInsert {
		if own.write, err = k.modifier(a.Write, len(o.node.Child.Output()), sets); err == nil {
			own.write.holds = o.holds
			k.Own(own.write)
		}
		return own, err
	}
	if o.insert == nil {
		if o.insert, err = k.inserter(a.Write); err != nil {
			return own, err
		}
		k.Own(o.insert)
	}
	own.values = make([]expr.Eval, o.width)
	for _, x := range a.Write.Assign {
		if own.values[x.Col], err = k.Expr(x.Expr); err != nil {
			return own, err
		}
	}
	return own, nil
}

// merging is one execution.
type merging struct {
	o       *mergeOp
	c       *Ctx
	changes sender          // of rows that are there
	writes  []gatewayModify // by action; those that insert or do nothing have none
	insert  *insertion      // nil: no action inserts
	changed memory.KeySet   // keys of rows that the statement has updated or deleted
	did     Merged
}

// Run implements Op.
func (o *mergeOp) Run(x *operator.Execution, _ Emit) error {
	c := statement(x)
	if c.Gateway == nil {
		return internal("MERGE inside a fragment")
	}
	writes := slices.ContainsFunc(o.actions, func(a mergeAction) bool { return a.write != nil || a.values != nil })
	if err := readOnly(c, "MERGE", o.node.Table); err != nil && writes {
		return err
	}
	rows := spool.NewRows(c.Mem)
	defer rows.Free()
	if err := o.child.Run(x, rows.Keep); err != nil {
		return err
	}
	before := c.Affected
	m := o.begin(c)
	defer m.free()
	err := rows.Emit(c.Tick, m.take)
	if err == nil {
		err = m.finish()
	}
	if err != nil {
		return mergeError(err)
	}
	c.Affected = before + m.did.Inserted + m.did.Updated + m.did.Deleted
	if c.Analyze != nil {
		m.did.Skipped = rows.Len() - (c.Affected - before)
		c.Analyze.addMerged(o.node, m.did)
	}
	return nil
}

// mergeError returns an error of a write as MERGE reports it.
func mergeError(err error) error {
	var e *pgerr.Error
	if !errors.As(err, &e) || e.Code != pgerr.TriggeredDataChangeViolation ||
		!strings.HasPrefix(e.Message, "tuple to be ") {
		return err
	}
	own := *e
	own.Message = "tuple to be updated or deleted was already modified by an operation triggered by the current command"
	return &own
}

func (o *mergeOp) begin(c *Ctx) *merging {
	m := &merging{o: o, c: c, writes: make([]gatewayModify, len(o.actions))}
	m.changed.Mem = c.Mem
	m.changes = sender{c: c, node: plan.Stage{Modify: o.node.Stage}, program: o.program, shown: o.node}
	for i, a := range o.actions {
		if a.write != nil {
			g := &m.writes[i]
			g.o, g.c, g.out = a.write, c, &m.changes
			g.moved.Mem, g.later.Mem, g.returned.Mem = c.Mem, c.Mem, c.Mem
		}
	}
	if o.insert != nil {
		m.insert = &insertion{o: o.insert, c: c, sync: true, merges: m}
		m.insert.out = sender{
			c: c, node: plan.Stage{Modify: o.insert.node}, program: o.insert.program, ahead: &m.changes, shown: o.node,
		}
	}
	return m
}

func (m *merging) free() {
	m.changed.Free()
	for i := range m.writes {
		if m.writes[i].o != nil {
			m.writes[i].free()
		}
	}
}

// take does for a row what the first action says whose condition is met.
func (m *merging) take(row types.Row) error {
	matched := !row[m.o.width].IsNull()
	for i := range m.o.actions {
		a := &m.o.actions[i]
		if a.matched != matched {
			continue
		}
		ok, err := a.cond.Holds(&m.c.Ctx, row)
		switch {
		case err != nil:
			return err
		case !ok:
			continue
		case a.write != nil:
			return m.change(&m.writes[i], row)
		case a.values != nil:
			return m.add(a, row)
		}
		return nil
	}
	return nil
}

// change updates or deletes a row. A row that a trigger has left out may be met again.
func (m *merging) change(g *gatewayModify, row types.Row) error {
	key := []byte(row[m.o.width].S)
	if m.changed.Has(key) {
		return pgerr.New(pgerr.CardinalityViolation, "MERGE command cannot affect row a second time").
			WithHint("Ensure that not more than one source row matches any one target row.")
	}
	skipped := g.skipped
	if err := g.take(row); err != nil || g.skipped > skipped {
		return err
	}
	if g.o.node.Kind == plan.ModDelete {
		m.did.Deleted++
	} else {
		m.did.Updated++
	}
	_, err := m.changed.Add(key)
	return err
}

// add inserts the row that an action makes of a row.
func (m *merging) add(a *mergeAction, row types.Row) error {
	for i, f := range a.values {
		d, err := f(&m.c.Ctx, row)
		if err != nil {
			return err
		}
		m.o.row[i] = d
	}
	skipped := m.insert.skipped
	if err := m.insert.take(m.o.row); err != nil || m.insert.skipped > skipped {
		return err
	}
	m.did.Inserted++
	return nil
}

// finish writes the rest: what remains of changes, the rows that get another key, new rows, and at
// last the entries that only one row may have.
func (m *merging) finish() error {
	if _, err := m.changes.flush(); err != nil {
		return err
	}
	for i := range m.writes {
		if m.writes[i].o == nil {
			continue
		}
		if err := m.writes[i].moved.send(&m.changes); err != nil {
			return err
		}
	}
	if m.insert != nil {
		if err := m.insert.flush(); err != nil {
			return err
		}
	}
	for i := range m.writes {
		if m.writes[i].o == nil {
			continue
		}
		if err := m.writes[i].later.send(&m.changes); err != nil {
			return err
		}
	}
	_, err := m.changes.flush()
	return err
}
