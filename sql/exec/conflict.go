package exec

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/txn"
)

// conflictRule is ON CONFLICT, compiled over existing row ++ proposed row.
type conflictRule struct {
	update bool
	assign []assignment
	where  Eval
	both   Row // existing, then proposed
	next   Row // the new row
}

type assignment struct {
	col  int
	expr Eval
}

func (k *compiler) conflictRule(n *plan.Modify) (*conflictRule, error) {
	oc, width := n.OnConflict, len(n.Table.Columns)
	r := &conflictRule{update: oc.Update, both: make(Row, 2*width), next: make(Row, width)}
	for _, a := range oc.Assign {
		f, err := k.expr(a.Expr)
		if err != nil {
			return nil, err
		}
		r.assign = append(r.assign, assignment{a.Col, f})
	}
	if hasSubPlan(oc.Where) {
		return nil, pgerr.Unsupported("subqueries in ON CONFLICT DO UPDATE are not supported yet").
			WithHint("Compute the value in the INSERT's SELECT and read it through EXCLUDED.")
	}
	var err error
	r.where, err = k.optional(oc.Where)
	return r, err
}

// conflict decides over a row whose key is taken by existing.
func (o *stageOp) conflict(c *Ctx, w *Write, existing []byte, emit Emit) error {
	if _, own := o.written[string(w.Key)]; own || w.Hit {
		return pgerr.New(pgerr.CardinalityViolation, "ON CONFLICT DO UPDATE command cannot affect row a second time").
			WithHint("Ensure that no rows proposed for insertion within the same command have duplicate constrained values.")
	}
	if _, err := c.local.tx.Lock(c.ctx(), w.Key, txn.LockRequest{Mode: txn.Update, T: c.local.task.T}); err != nil {
		return err
	}
	r := o.conf
	if !r.update {
		return o.did(w, didSkip, nil, emit)
	}
	t, width := o.rule.table, len(r.next)
	if err := t.decode(&o.reader, r.both[:width], existing); err != nil {
		return err
	}
	if err := t.decode(&o.reader, r.both[width:], w.Value); err != nil {
		return err
	}
	if ok, err := holds(c, r.where, r.both); err != nil {
		return err
	} else if !ok {
		return o.did(w, didSkip, nil, emit)
	}
	value, err := o.conflictRow(c)
	if err != nil {
		return err
	}
	if err := o.put(c, w.Key, value, false); err != nil {
		return err
	}
	return o.did(w, didUpdate, value, emit)
}

// conflictRow computes and checks the row that DO UPDATE makes.
func (o *stageOp) conflictRow(c *Ctx) ([]byte, error) {
	r, t := o.conf, o.rule.table
	copy(r.next, r.both)
	for _, a := range r.assign {
		d, err := a.expr(c, r.both)
		if err != nil {
			return nil, err
		}
		r.next[a.col] = d
	}
	for _, i := range t.key {
		if t.compareColumn(i, r.next, r.both) != 0 {
			return nil, pgerr.Unsupported("ON CONFLICT DO UPDATE that changes the primary key is not supported yet").
				WithHint("UPDATE the key in a statement of its own.")
		}
	}
	if err := o.rule.generate(c, r.next); err != nil {
		return nil, err
	}
	if err := o.rule.check(c, r.next); err != nil {
		return nil, err
	}
	return o.rule.encode(nil, r.next)
}
