package exec

import (
	"bytes"
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/exec/keychange"
	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/exec/operator"
	"github.com/sherddb/sherd/sql/exec/spool"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/plan/walk"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// modifyOp is UPDATE and DELETE. Inside a fragment it writes the rows of its child as they arrive.
// At the gateway it keeps all rows first, and then sends each to the fragment of its key.
type modifyOp struct {
	node      *plan.Modify
	child     operator.Op
	rule      *table.Rule
	assign    []assignment
	returning []expr.Eval
	program   *Program // of the stage, at the gateway
	once      bool     // the child is one scan, which returns each row once
	// At the gateway: compute all rows before the first write, because subqueries must not see it
	// (E6).
	holds   bool
	width   int       // columns of the table; the row's key follows
	keyed   []int     // unique columns that the update sets
	again   *scanOp   // reads a changed row again; nil if the child is more than one scan
	next    types.Row // the new row, then the child's slots beyond the columns
	value   []byte
	order   []byte
	out     types.Row
	entries entryKeeper
	watcher *keychange.Watcher
	updated func(col int) bool // of an update of a table with triggers
}

func (k *compiler) modify(n *plan.Modify) (operator.Op, error) {
	if n.Kind == plan.ModInsert {
		return k.insert(n)
	}
	child, err := k.Node(n.Child)
	if err != nil {
		return nil, err
	}
	o, err := k.modifier(n, len(n.Child.Output()), n.Assign)
	if err != nil {
		return nil, err
	}
	o.child, o.once = child, isOneScan(n.Child)
	o.holds = o.holds || walk.HasSubPlan(n.Returning...) || checksRead(n)
	s := n.Scan
	if s == nil {
		s, _ = n.Child.(*plan.Scan)
	}
	if s != nil {
		if o.again, err = k.scan(s); err != nil {
			return nil, err
		}
		k.Own(o.again)
	}
	if o.returning, err = k.Exprs(n.Returning); err != nil {
		return nil, err
	}
	o.out = make(types.Row, len(o.returning))
	o.program, err = compileNode(plan.AtFragment(n), 0)
	return o, err
}

// modifier returns a modifyOp without its input, whose rows have the given width. sets is what the
// whole statement assigns, for triggers on updates of columns.
func (k *compiler) modifier(n *plan.Modify, width int, sets []query.Assignment) (*modifyOp, error) {
	o := &modifyOp{node: n, width: len(n.Table.Columns), next: make(types.Row, width)}
	var err error
	if o.rule, err = k.tableRule(n); err != nil {
		return nil, err
	}
	o.entries.rule = o.rule
	for _, a := range n.Assign {
		o.holds = o.holds || walk.HasSubPlan(a.Expr)
		f, err := k.Expr(a.Expr)
		if err != nil {
			return nil, err
		}
		o.assign = append(o.assign, assignment{a.Col, f})
	}
	o.keyed = keyedColumns(o.rule, o.assign)
	var touched func(int) bool
	if n.Kind == plan.ModUpdate {
		touched = touches(o.rule, o.assign)
		if n.Triggers.Changes(catalog.TriggerUpdate) {
			touched, o.keyed = nil, uniquePositions(o.rule.Table.Def)
		}
		if n.Triggers.Fires(catalog.TriggerUpdate) {
			o.updated = updatedColumns(n, sets)
		}
	}
	o.watcher = keychange.NewWatcher(o.rule.Table, n, touched)
	k.Own(o.watcher)
	return o, nil
}

// isOneScan reports whether a plan reads rows of one table without a global index.
func isOneScan(n plan.Node) bool {
	if p, ok := n.(*plan.Project); ok && !p.Sets {
		n = p.Child
	}
	if b, ok := n.(*plan.Batch); ok {
		n = b.Child
	}
	if g, ok := n.(*plan.Gather); ok && g.Route.Index == nil {
		n = g.Child
	}
	_, ok := n.(*plan.Scan)
	return ok
}

// readOnly refuses to write to a table in a read-only transaction, unless the table is temporary.
func readOnly(c *Ctx, what string, t *catalog.Table) error {
	if c.Limits.ReadOnly && !t.IsTemporary() {
		return pgerr.New(pgerr.ReadOnlySQLTransaction, "cannot execute %s in a read-only transaction", what)
	}
	return nil
}

// Run implements Op.
func (o *modifyOp) Run(x *operator.Execution, emit Emit) error {
	c := statement(x)
	what := "UPDATE"
	if o.node.Kind == plan.ModDelete {
		what = "DELETE"
	}
	if err := readOnly(c, what, o.node.Table); err != nil {
		return err
	}
	if c.local != nil {
		return o.inFragment(c, emit)
	}
	return o.atGateway(c, emit)
}

// inFragment writes the rows of the child in their fragment.
func (o *modifyOp) inFragment(c *Ctx, emit Emit) error {
	seen := &memory.KeySet{Mem: c.Mem}
	defer seen.Free()
	defer o.entries.free()
	err := o.child.Run(&c.Execution, func(row types.Row) error {
		// A join may return a row more than once; only its first partner counts.
		if len(row) > o.width+1 {
			if fresh, err := seen.Add([]byte(row[o.width].S)); err != nil || !fresh {
				return err
			}
		}
		return o.stageHere(c, row, emit)
	})
	if err != nil {
		return err
	}
	return o.entries.finish(c)
}

func (o *modifyOp) stageHere(c *Ctx, row types.Row, emit Emit) error {
	tx, key := c.local.tx, []byte(row[o.width].S)
	if err := writtenBefore(c, o.rule.Table, key, o.node.Triggers, o.done()); err != nil {
		return err
	}
	row, err := o.lock(c, key, row)
	if err != nil || row == nil {
		return err
	}
	c.Affected++
	if o.node.Kind == plan.ModDelete {
		if err := tx.Delete(key); err != nil {
			return err
		}
		if err := dropOrder(o.rule.Table, tx, &o.order, key); err != nil {
			return err
		}
		if err := o.entries.change(c, row, key, nil, nil); err != nil {
			return err
		}
		if err := o.watcher.Note(&c.Keys, c.Mem, row, nil); err != nil {
			return err
		}
		return o.emitReturning(c, row, emit)
	}
	if o.value, err = o.rule.Encode(o.value[:0], o.next); err != nil {
		return err
	}
	if err := tx.Put(key, o.value); err != nil {
		return err
	}
	if err := o.entries.change(c, row, key, o.next, o.value); err != nil {
		return err
	}
	if err := o.watcher.Note(&c.Keys, c.Mem, row, o.next); err != nil {
		return err
	}
	return o.emitReturning(c, o.next, emit)
}

// lock locks a row and returns the version to change, with the new row in next. That is the version
// that was read, or, if READ COMMITTED finds a newer one that still meets the condition, the newer
// one. It returns nil if there is nothing to change any more.
func (o *modifyOp) lock(c *Ctx, key []byte, row types.Row) (types.Row, error) {
	req := txn.LockRequest{Mode: txn.Update, T: c.since(), Recheck: o.again != nil && c.rechecks()}
	update := o.node.Kind == plan.ModUpdate
	if update {
		if len(o.keyed) > 0 {
			if err := o.newRow(c, row); err != nil {
				return nil, err
			}
		}
		req.Mode = updateMode(o.rule.Table, o.keyed, row, o.next)
	}
	changed, err := lockRow(c, o.rule.Table, key, req, o.doing())
	if err != nil {
		return nil, err
	}
	if changed {
		if ok, err := o.again.newest(c, key); err != nil || !ok {
			return nil, err
		}
		row = o.again.out
	}
	if !update || len(o.keyed) > 0 && !changed {
		return row, nil
	}
	if err := o.newRow(c, row); err != nil {
		return nil, err
	}
	if stronger := updateMode(o.rule.Table, o.keyed, row, o.next); stronger > req.Mode {
		_, err = lockRow(c, o.rule.Table, key, txn.LockRequest{Mode: stronger, T: maxT}, o.doing())
	}
	return row, err
}

func (o *modifyOp) doing() string {
	if o.node.Kind == plan.ModDelete {
		return "deleting"
	}
	return "updating"
}

func (o *modifyOp) done() string {
	if o.node.Kind == plan.ModDelete {
		return "deleted"
	}
	return "updated"
}

// newRow computes and checks the result of an update of row, into next.
func (o *modifyOp) newRow(c *Ctx, row types.Row) error {
	if err := o.assigned(c, row); err != nil {
		return err
	}
	return o.completed(c)
}

// assigned computes the result of an update of row but for generated columns, into next.
func (o *modifyOp) assigned(c *Ctx, row types.Row) error {
	copy(o.next, row)
	for _, a := range o.assign {
		d, err := a.expr(&c.Ctx, row)
		if err != nil {
			return err
		}
		o.next[a.col] = d
	}
	return nil
}

// completed computes the generated columns of the new row and checks it.
func (o *modifyOp) completed(c *Ctx) error {
	if err := o.rule.Generate(&c.Ctx, o.next); err != nil {
		return err
	}
	return o.rule.Check(&c.Ctx, o.next, query.RowUpdated)
}

func (o *modifyOp) emitReturning(c *Ctx, row types.Row, emit Emit) error {
	if len(o.returning) == 0 {
		return nil
	}
	if err := expr.EvalInto(&c.Ctx, o.out, o.returning, row); err != nil {
		return err
	}
	return emit(o.out)
}

// atGateway keeps the child's rows, then writes deletes and replacements, then the rows that get
// another key.
func (o *modifyOp) atGateway(c *Ctx, emit Emit) error {
	rows := spool.NewRows(c.Mem)
	defer rows.Free()
	seen := &memory.KeySet{Mem: c.Mem}
	defer seen.Free()
	err := o.child.Run(&c.Execution, func(row types.Row) error {
		if !o.once {
			if fresh, err := seen.Add([]byte(row[o.width].S)); err != nil || !fresh {
				return err
			}
		}
		return rows.Keep(row)
	})
	if err != nil {
		return err
	}
	before := c.Affected
	g := &gatewayModify{o: o, c: c, out: &sender{c: c, node: plan.AtFragment(o.node), program: o.program}}
	g.moved.Mem, g.later.Mem, g.returned.Mem = c.Mem, c.Mem, c.Mem
	defer g.free()
	if err := rows.Emit(c.Tick, g.take); err != nil {
		return err
	}
	if err := g.finish(); err != nil {
		return err
	}
	c.Affected = before + rows.Len() - g.skipped
	return g.returned.Emit(c.Tick, emit)
}

// gatewayModify is one execution at the gateway.
type gatewayModify struct {
	o        *modifyOp
	c        *Ctx
	out      *sender
	moved    writeSpool // rows that get another key
	later    laterEntries
	returned spool.Rows
	skipped  int64 // rows that triggers have left out
}

func (g *gatewayModify) free() {
	g.moved.Free()
	g.later.Free()
	g.returned.Free()
}

func (g *gatewayModify) take(row types.Row) error {
	o, key := g.o, []byte(row[g.o.width].S)
	result, next := row, types.Row(nil)
	if ok, err := g.before(row); err != nil || !ok {
		g.skipped++
		return err
	}
	if o.node.Kind == plan.ModDelete {
		g.out.add(table.BucketIn(key), Write{Kind: WriteDelete, Key: key})
		if err := g.entries(row, key, nil, nil, nil); err != nil {
			return err
		}
	} else {
		if err := o.completed(g.c); err != nil {
			return err
		}
		result, next = o.next, o.next
		if err := g.update(row, key); err != nil {
			return err
		}
	}
	if err := o.watcher.Note(&g.c.Keys, g.c.Mem, row, next); err != nil {
		return err
	}
	if err := g.after(row); err != nil {
		return err
	}
	if g.c.Prompt && !o.holds { // functions in RETURNING see the row
		if _, err := g.out.flush(); err != nil {
			return err
		}
	}
	if err := g.o.emitReturning(g.c, result, g.returned.Keep); err != nil {
		return err
	}
	if g.out.full() && !o.holds {
		_, err := g.out.flush()
		return err
	}
	return nil
}

// before computes the result of an update, and fires the triggers before the row is written. It
// reports whether the row is written.
func (g *gatewayModify) before(row types.Row) (bool, error) {
	o, kind := g.o, g.o.node.Kind.Event()
	if kind == catalog.TriggerUpdate {
		if err := o.assigned(g.c, row); err != nil {
			return false, err
		}
	}
	if g.c.Triggers == nil || !o.node.Triggers.Changes(kind) {
		return true, nil
	}
	e := &RowEvent{Table: o.node.Table, Kind: kind, Old: row[:o.width], Updated: o.updated}
	if kind == catalog.TriggerDelete {
		next, err := g.c.Triggers.Before(g.c, e)
		return next != nil, err
	}
	e.New = o.next[:o.width]
	for _, c := range o.rule.Generated { // they are computed after the triggers
		e.New[c.Col] = types.Null
	}
	return fireBefore(g.c, e, e.New)
}

// after notes a row that was written, for triggers.
func (g *gatewayModify) after(row types.Row) error {
	o, kind := g.o, g.o.node.Kind.Event()
	if g.c.Triggers == nil || o.node.Triggers.AfterRow&uint32(kind) == 0 {
		return nil
	}
	e := &RowEvent{Table: o.node.Table, Kind: kind, Old: row[:o.width], Updated: o.updated}
	if kind == catalog.TriggerUpdate {
		e.New = o.next[:o.width]
	}
	return g.c.Triggers.After(g.c, e)
}

// update stages the new row in its place, or notes it for the move.
func (g *gatewayModify) update(old types.Row, key []byte) error {
	o, t := g.o, g.o.rule.Table
	value, err := o.rule.Encode(nil, o.next)
	if err != nil {
		return err
	}
	bucket, newKey := table.BucketIn(key), key
	if o.node.MovesKey || o.node.Triggers.Changes(catalog.TriggerUpdate) && t.KeyChanged(old, o.next) {
		if bucket, newKey, err = t.MovedKey(o.next); err != nil {
			return err
		}
	}
	if bytes.Equal(newKey, key) {
		g.out.add(bucket, Write{Kind: WriteReplace, Key: key, Value: value, Mode: updateMode(t, o.keyed, old, o.next)})
		return g.entries(old, key, o.next, newKey, value)
	}
	g.out.add(table.BucketIn(key), Write{Kind: WriteDelete, Key: key, Value: newKey})
	if err := g.moved.keep(uint32(bucket), &Write{Kind: WriteInsert, Key: newKey, Value: value}); err != nil {
		return err
	}
	return g.entries(old, key, o.next, newKey, value)
}

// finish writes the rest. Rows with another key come after all deletes, so that keys may be
// exchanged.
func (g *gatewayModify) finish() error {
	if _, err := g.out.flush(); err != nil {
		return err
	}
	if err := g.moved.send(g.out); err != nil {
		return err
	}
	if err := g.later.send(g.out); err != nil {
		return err
	}
	_, err := g.out.flush()
	return err
}

func (g *gatewayModify) entries(old types.Row, oldKey []byte, next types.Row, nextKey, value []byte) error {
	return g.out.changeEntries(g.c, g.o.rule.Indexes, &g.later, old, oldKey, next, nextKey, value)
}

// touches returns a function that reports whether an update changes a column.
func touches(r *table.Rule, assign []assignment) func(col int) bool {
	return func(col int) bool {
		return slices.ContainsFunc(assign, func(a assignment) bool { return a.col == col }) ||
			slices.ContainsFunc(r.Generated, func(g table.GeneratedColumn) bool { return g.Col == col })
	}
}
