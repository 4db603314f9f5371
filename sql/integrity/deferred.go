package integrity

import (
	"context"
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/exec/keychange"
	"github.com/sherddb/sherd/sql/refint"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/tx"
)

// Transaction is a transaction with what its constraints check at its commit.
type Transaction struct {
	*tx.Tx
	state      Mark
	keys       *keychange.Log // keys that wait; nil: there were none
	triggers   []*trigger     // that the keys wait for, by their numbers in the log
	tookFormer string         // the former id that an INSERT ... ON CONFLICT has met
}

// Mark is the state of a transaction's deferred checks, for Restore.
type Mark struct {
	all     byte                 // SET CONSTRAINTS ALL: 'd' deferred, 'i' immediate, 0 as they are defined
	modes   map[catalog.OID]bool // SET CONSTRAINTS of single ones since then; replaced, never changed
	pending []int                // triggers that have keys waiting, by number; replaced, never changed

	from, to int64 // where the keys are in the log, in the order of the statements
}

// Mark returns what Restore brings back. What was deferred since is forgotten then.
func (t *Transaction) Mark() Mark { return t.state }

// Restore brings back the deferred checks of an earlier time in the transaction.
func (t *Transaction) Restore(m Mark) { t.state = m }

// Close releases the keys. It may be called again.
func (t *Transaction) Close() {
	if t.keys != nil {
		t.keys.Close()
	}
}

// isDeferred reports whether a constraint is checked at the commit.
func (t *Transaction) isDeferred(con *catalog.Constraint) bool {
	if !con.Deferrable {
		return false
	}
	d := &t.state
	if deferred, ok := d.modes[con.OID]; ok {
		return deferred
	}
	if d.all != 0 {
		return d.all == 'd'
	}
	return con.InitiallyDeferred
}

// postpone leaves keys to the commit.
func (t *Transaction) postpone(x *stmt.Executor, of *trigger, changes []keychange.Change) error {
	if len(changes) == 0 {
		return nil
	}
	if t.keys == nil {
		t.keys = keychange.NewLog(x.TempDir)
	}
	d := &t.state
	t.keys.Truncate(d.to) // what a savepoint has undone
	n := t.number(of)
	if err := t.keys.Add(n, changes); err != nil {
		return err
	}
	if d.to = t.keys.Size(); !slices.Contains(d.pending, n) {
		d.pending = append(slices.Clone(d.pending), n)
	}
	return nil
}

// number returns the number of a trigger in the log of keys: the same one for each statement that
// defers keys of the constraint.
func (t *Transaction) number(of *trigger) int {
	n := slices.IndexFunc(t.triggers, func(x *trigger) bool {
		if x.own != nil || of.own != nil {
			return x.own != nil && of.own != nil && x.con.OID == of.con.OID && x.own.Event() == of.own.Event()
		}
		return x.constraint() == of.constraint() && x.incoming == of.incoming
	})
	if n < 0 {
		n = len(t.triggers)
		t.triggers = append(t.triggers, of)
	}
	return n
}

// CheckDeferred checks what was deferred: with force all of it, else that of constraints which are
// immediate now. It asks for an executor only if something has to be checked.
func (t *Transaction) CheckDeferred(
	ctx context.Context, executor func(context.Context) stmt.Executor, force bool,
) error {
	due := func(n int) bool { return force || !t.isDeferred(t.triggers[n].constraint()) }
	for slices.ContainsFunc(t.state.pending, due) { // a trigger may write what is checked in turn
		if err := t.checkDue(ctx, executor(ctx), due); err != nil {
			return err
		}
	}
	return nil
}

// checkDue checks the deferred keys of the triggers that are due.
func (t *Transaction) checkDue(ctx context.Context, x stmt.Executor, due func(n int) bool) error {
	d := &t.state
	from, to, pending := d.from, d.to, d.pending
	d.from, d.pending = d.to, nil
	if slices.ContainsFunc(pending, func(n int) bool { return !due(n) }) { // these wait behind the others
		err := t.keys.Each(from, to, func(n int, changes []keychange.Change) error {
			if due(n) {
				return nil
			}
			return t.postpone(&x, t.triggers[n], changes)
		})
		if err != nil {
			return err
		}
	}
	view := t.View()
	programs := map[catalog.OID]*triggers{}
	return t.keys.Each(from, to, func(n int, changes []keychange.Change) error {
		if !due(n) {
			return nil
		}
		return t.checkKeys(ctx, &x, view, t.triggers[n], programs, changes)
	})
}

// checkKeys checks deferred keys of one trigger. Programs are kept by constraint.
func (t *Transaction) checkKeys(
	ctx context.Context, x *stmt.Executor, view *catalog.View, of *trigger, programs map[catalog.OID]*triggers,
	changes []keychange.Change,
) error {
	if of.unique != nil {
		return of.unique.check(x.Context(ctx, t.Tx, nil), view, changes)
	}
	if of.own != nil {
		c := x.Context(ctx, t.Tx, nil)
		c.Before = t.Parts.Mark()
		for _, ch := range changes {
			if err := of.own.Fire(c, ch.Old, ch.New); err != nil {
				return err
			}
		}
		return nil
	}
	key := refint.Current(view, of.key)
	if key == nil {
		return nil // dropped since
	}
	if programs[key.Con.OID] == nil {
		programs[key.Con.OID] = &triggers{programs: map[string]*stmt.Program{}}
	}
	k := &queue{x: x, t: t, ctx: ctx, view: view, of: programs[key.Con.OID]}
	if of.incoming {
		return k.refuse(key, catalog.NoAction, changes) // which queues nothing
	}
	return k.check(key, changes)
}

// Awaits reports whether a deferred check is about rows of a table that the transaction has
// written.
func (t *Transaction) Awaits(table catalog.OID) bool {
	return slices.ContainsFunc(t.state.pending, func(n int) bool {
		of := t.triggers[n]
		if of.unique != nil {
			return of.unique.table == table
		}
		if of.own != nil {
			return of.own.Event().Table == table
		}
		return of.incoming && of.key.Parent.OID == table || !of.incoming && of.key.Child.OID == table
	})
}
