package exec

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/plan/walk"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// conflictRule is ON CONFLICT, compiled over existing row ++ proposed row.
type conflictRule struct {
	update bool
	key    bool // the primary key is one of the arbiter constraints
	assign []assignment
	where  expr.Eval
	keyed  []int     // unique columns that DO UPDATE sets
	both   types.Row // existing, then proposed
	next   types.Row // the new row
}

type assignment struct {
	col  int
	expr expr.Eval
}

func (k *compiler) conflictRule(n *plan.Modify, rule *table.Rule) (*conflictRule, error) {
	oc, width := n.OnConflict, len(n.Table.Columns)
	r := &conflictRule{update: oc.Update, key: oc.Primary, both: make(types.Row, 2*width), next: make(types.Row, width)}
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
	if !r.update {
		return o.did(w, didSkip, emit)
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
	r, t := o.conf, o.rule.Table
	copy(r.next, r.both)
	for _, a := range r.assign {
		d, err := a.expr(&c.Ctx, r.both)
		if err != nil {
			return nil, err
		}
		r.next[a.col] = d
	}
	for _, i := range t.Key {
		if t.CompareColumn(i, r.next, r.both) != 0 {
			return nil, pgerr.Unsupported("ON CONFLICT DO UPDATE that changes the primary key is not supported yet").
				WithHint("UPDATE the key in a statement of its own.")
		}
	}
	if err := o.rule.Generate(&c.Ctx, r.next); err != nil {
		return nil, err
	}
	if err := o.rule.Check(&c.Ctx, r.next); err != nil {
		return nil, err
	}
	return o.rule.Encode(nil, r.next)
}
