package exec

import (
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/plan/walk"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// conflictRule is ON CONFLICT, compiled over existing row ++ proposed row.
type conflictRule struct {
	update  bool
	returns bool // the gateway updates the row
	key     bool // the primary key is one of the arbiter constraints
	assign  []assignment
	where   expr.Eval
	keyed   []int     // unique columns that DO UPDATE sets
	both    types.Row // existing, then proposed
	next    types.Row // the new row
	// updated is RowEvent.Updated of the rows that DO UPDATE changes.
	updated func(col int) bool
}

type assignment struct {
	col  int
	expr expr.Eval
}

func (k *compiler) conflictRule(n *plan.Modify, rule *table.Rule) (*conflictRule, error) {
	oc, width := n.OnConflict, len(n.Table.Columns)
	r := &conflictRule{update: oc.Update, returns: oc.Returns, key: oc.Primary,
		both: make(types.Row, 2*width), next: make(types.Row, width)}
	for _, a := range oc.Assign {
		f, err := k.Expr(a.Expr)
		if err != nil {
			return nil, err
		}
		r.assign = append(r.assign, assignment{a.Col, f})
	}
	if walk.HasSubPlan(oc.Where) {
		return nil, pgerr.Unsupported("subqueries in ON CONFLICT DO UPDATE are not supported yet").
			WithHint("Compute the value in the INSERT's SELECT and read it through EXCLUDED.")
	}
	r.keyed = keyedColumns(rule, r.assign)
	var err error
	r.where, err = k.Optional(oc.Where)
	r.updated = updatedColumns(n, oc.Assign)
	k.Own(r)
	return r, err
}

// taken checks whether the key of a proposed row exists, before the insertion takes the lock for a
// new row. An existing row gets the lock of an update instead, and DO NOTHING needs none. taken
// returns the existing row, nil if there is none: another transaction may be inserting one, and the
// stronger lock waits for it.
//
// READ COMMITTED uses the newest version, whether or not the statement's snapshot has it. Above
// that level a version that the snapshot does not have is 40001, for DO NOTHING too, because its
// result would depend on a row that the transaction cannot see.
func (o *stageOp) taken(c *Ctx, key []byte) ([]byte, error) {
	existing, err := c.local.tx.Newest(c.ctx(), key)
	switch {
	case err != nil || existing == nil:
		return nil, err
	case !o.conf.update && c.rechecks():
		return existing, nil
	case !o.conf.update:
		return existing, named(c, o.rule.Table, key, c.local.tx.ChangedSince(c.ctx(), key, c.local.task.T))
	}
	req := txn.LockRequest{Mode: txn.NoKeyUpdate, T: c.local.task.T, Recheck: c.rechecks()}
	if len(o.conf.keyed) > 0 {
		req.Mode = txn.Update
	}
	if _, err := lockRow(c, o.rule.Table, key, req, "updating"); err != nil {
		return nil, err
	}
	return c.local.tx.Newest(c.ctx(), key)
}

// conflict handles a row whose key belongs to existing. If the row will be changed, its lock is
// held.
func (o *stageOp) conflict(c *Ctx, w *Write, existing []byte, emit Emit) error {
	own := w.Hit
	if seen := c.local.task.Seen; seen != nil && o.conf.update && !own {
		var err error
		if own, err = c.local.tx.BufferedSince(w.Key, *seen); err != nil {
			return err
		}
	}
	if _, again := o.written[string(w.Key)]; again || own {
		return pgerr.New(pgerr.CardinalityViolation, "ON CONFLICT DO UPDATE command cannot affect row a second time").
			WithHint("Ensure that no rows proposed for insertion within the same command " +
				"have duplicate constrained values.")
	}
	r := o.conf
	switch {
	case !r.update:
		return o.did(w, didSkip, emit)
	case r.returns:
		return o.reply(emit, w, didReturn, types.Null, types.NewBytes(aliasString(existing)))
	}
	t, width := o.rule.Table, len(r.next)
	if err := t.Decode(&o.reader, r.both[:width], existing); err != nil {
		return err
	}
	if err := t.Decode(&o.reader, r.both[width:], w.Value); err != nil {
		return err
	}
	if ok, err := r.where.Holds(&c.Ctx, r.both); err != nil {
		return err
	} else if !ok {
		return o.did(w, didSkip, emit)
	}
	value, err := o.conflictRow(c)
	if err != nil {
		return err
	}
	if err := o.put(c, w.Key, value, false); err != nil {
		return err
	}
	if o.written != nil {
		o.written[string(w.Key)] = struct{}{}
	}
	return o.reply(emit, w, didUpdate, types.NewBytes(aliasString(value)), types.NewBytes(aliasString(existing)))
}

// conflictRow computes and checks the new row of DO UPDATE.
func (o *stageOp) conflictRow(c *Ctx) ([]byte, error) {
	if err := o.conf.assigned(c); err != nil {
		return nil, err
	}
	return o.conf.finish(c, o.rule)
}

// assigned computes the new row of DO UPDATE.
func (r *conflictRule) assigned(c *Ctx) error {
	copy(r.next, r.both)
	for _, a := range r.assign {
		d, err := a.expr(&c.Ctx, r.both)
		if err != nil {
			return err
		}
		r.next[a.col] = d
	}
	return nil
}

// finish checks and encodes the new row.
func (r *conflictRule) finish(c *Ctx, rule *table.Rule) ([]byte, error) {
	for _, i := range rule.Table.Key {
		if rule.Table.CompareColumn(i, r.next, r.both) != 0 {
			return nil, pgerr.Unsupported("ON CONFLICT DO UPDATE that changes the primary key is not supported yet").
				WithHint("UPDATE the key in a statement of its own.")
		}
	}
	if err := rule.Generate(&c.Ctx, r.next); err != nil {
		return nil, err
	}
	if err := rule.Check(&c.Ctx, r.next, query.RowUpdated); err != nil {
		return nil, err
	}
	return rule.Encode(nil, r.next)
}

// updateReturned updates the rows that fragments have returned for ON CONFLICT, and makes their
// answers those of updates.
func (in *insertion) updateReturned(parts []*part) error {
	r := in.o.conf
	if r == nil || !r.returns {
		return nil
	}
	for _, p := range parts {
		for i := range p.answers {
			if p.answers[i].what != didReturn {
				continue
			}
			if err := in.updateOne(r, &p.writes[i], &p.answers[i]); err != nil {
				return ofRow(err, p.writes[i].Place)
			}
		}
	}
	_, err := in.out.flush()
	return err
}

// updateOne updates a row that a fragment has returned.
func (in *insertion) updateOne(r *conflictRule, w *Write, a *answer) error {
	c, rule, width := in.c, in.o.rule, len(r.next)
	var existing, proposed types.RowReader
	if err := rule.Table.Decode(&existing, r.both[:width], a.old); err != nil {
		return err
	}
	if err := rule.Table.Decode(&proposed, r.both[width:], w.Value); err != nil {
		return err
	}
	a.what = didSkip
	if err := rule.Allow(&c.Ctx, r.both, query.RowConflicted); err != nil {
		return err
	}
	if ok, err := r.where.Holds(&c.Ctx, r.both); err != nil || !ok {
		return err
	}
	if err := r.assigned(c); err != nil {
		return err
	}
	for _, g := range rule.Generated { // they are computed after the triggers
		r.next[g.Col] = types.Null
	}
	e := &RowEvent{Table: in.o.node.Table, Kind: catalog.TriggerUpdate, Old: r.both[:width],
		New: r.next, Updated: r.updated}
	if ok, err := fireBefore(c, e, r.next); err != nil || !ok {
		return err
	}
	value, err := r.finish(c, rule)
	if err != nil {
		return err
	}
	a.what, a.value = didUpdate, value
	in.out.add(table.BucketIn(w.Key), Write{Kind: WriteLocked, Key: w.Key, Value: value, Place: w.Place})
	if c.Prompt {
		_, err = in.out.flush()
	}
	return err
}

// fireBefore fires the triggers before an event, and copies the row that they return into row. It
// reports whether there is one.
func fireBefore(c *Ctx, e *RowEvent, row types.Row) (bool, error) {
	if c.Triggers == nil {
		return true, nil
	}
	next, err := c.Triggers.Before(c, e)
	if err != nil || next == nil {
		return false, err
	}
	copy(row, next)
	return true, nil
}

// updatedColumns returns what reports whether an update sets a column, or one that the column is
// generated from.
func updatedColumns(n *plan.Modify, assign []query.Assignment) func(col int) bool {
	set := map[int]bool{}
	for _, a := range assign {
		set[a.Col] = true
	}
	for _, k := range n.Checks {
		if k.Generated < 0 {
			continue
		}
		if n.Triggers.Changes(catalog.TriggerUpdate) { // a trigger may set what it is generated from
			set[k.Generated] = true
			continue
		}
		walk.Visit(k.Expr, func(e query.Expr) {
			s, ok := e.(*query.Slot)
			sets := func(a query.Assignment) bool { return a.Col == s.N }
			if ok && slices.ContainsFunc(assign, sets) {
				set[k.Generated] = true
			}
		})
	}
	return func(col int) bool { return set[col] }
}
