package integrity

import (
	"context"
	"errors"
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/exec/keychange"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/refint"
	"github.com/sherddb/sherd/sql/stmt"
	rows "github.com/sherddb/sherd/sql/trigger"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// queue holds the after-trigger events of one statement, or of deferred checks. The statements of
// actions add to it. As in PostgreSQL, a check that looks at rows which another action is about to
// remove so comes after that action.
type queue struct {
	x      *stmt.Executor
	t      *Transaction
	ctx    context.Context
	view   *catalog.View
	of     *triggers // whose statement runs now
	events []event
	runs   []*rows.Run // that have rows
	level  *rows.Level // nil: no triggers have fired yet
}

// event is the keys that a statement has written, for one trigger.
type event struct {
	of      *triggers
	trigger *trigger
	changes []keychange.Change
	// Instead of these: rows for triggers that users have made, or a statement.
	rows      *firing
	statement *rows.Statement
	c         *exec.Ctx // of the statement
}

// Perform runs a program in a context that x has made, with what precedes it and what follows from
// the rows that it writes: triggers and constraints. Deferred checks are left to the commit. It returns
// the form of the program that has run.
func (t *Transaction) Perform(
	x *stmt.Executor, p *stmt.Program, c *exec.Ctx, emit exec.Emit,
) (*stmt.Program, error) {
	if p.Integrity == nil {
		return x.Perform(t.Tx, p, c, emit)
	}
	if err := t.begin(x, p, c); err != nil {
		return nil, err
	}
	ran, err := x.Perform(t.Tx, p, c, emit)
	if err == nil {
		err = t.finish(x, ran, c)
	}
	t.abandon(c)
	return ran, err
}

// finish does what follows from the rows that a program has written.
func (t *Transaction) finish(x *stmt.Executor, p *stmt.Program, c *exec.Ctx) error {
	if p.Integrity == nil || c.Keys.Empty() && c.Triggers == nil {
		return nil
	}
	own := *x // x itself stays on the stack
	k := &queue{x: &own, t: t, ctx: c.Context, view: t.View()}
	k.add(p, c)
	err := k.drain()
	k.free()
	return err
}

// begin prepares a program's context: unique constraints that are deferred let rows share values, an
// INSERT settles keys while it runs, and triggers fire. abandon releases what these keep.
func (t *Transaction) begin(x *stmt.Executor, p *stmt.Program, c *exec.Ctx) error {
	r := triggersIn(p)
	if r == nil {
		return nil
	}
	if len(r.list) > 0 {
		c.Deferred = t.deferredUniques(r)
		own, ctx := *x, c.Context // x itself stays on the stack
		if !c.Limits.Replica {
			c.Hooks.KeysFull = func(c *exec.Ctx) error { return t.settleSome(ctx, &own, p, c) }
		}
	}
	return t.beginTriggers(r, p, c, nil)
}

// DeferredUniques returns the unique indexes of a program that are checked at the commit, for
// exec.Ctx.Deferred.
func (t *Transaction) DeferredUniques(p *stmt.Program) map[uint32]int {
	return t.deferredUniques(triggersIn(p))
}

// add queues what follows from a statement.
func (k *queue) add(p *stmt.Program, c *exec.Ctx) {
	if p.Integrity == nil {
		return
	}
	run := k.hold(c)
	k.append(run, true)
	k.appendKeys(p, c)
	k.append(run, false)
	k.appendStatements(p, c, triggersIn(p))
}

// appendKeys queues what follows from the keys that a statement has written.
func (k *queue) appendKeys(p *stmt.Program, c *exec.Ctx) {
	if c.Keys.Empty() {
		return
	}
	if p.Query.Command != query.Insert || len(p.Query.CTEs) > 0 {
		c.Keys.Sort()
	}
	of := triggersIn(p)
	for i := range of.list {
		if changes := c.Keys.Of(i); len(changes) > 0 {
			k.events = append(k.events, event{of: of, trigger: &of.list[i], changes: changes})
		}
	}
}

// drain works until the queue is empty.
func (k *queue) drain() error {
	for len(k.events) > 0 {
		e := k.events[0]
		k.events[0] = event{}
		k.events = k.events[1:]
		if e.rows != nil || e.statement != nil {
			if err := k.fireOwn(&e); err != nil {
				return err
			}
			continue
		}
		k.of = e.of
		if err := k.fire(e.trigger, e.changes); err != nil {
			return err
		}
	}
	return nil
}

// fireOwn fires triggers that users have made.
func (k *queue) fireOwn(e *event) error {
	if e.rows != nil {
		return e.rows.fire(k)
	}
	return k.level.After(e.c, e.statement)
}

// fire runs one trigger.
func (k *queue) fire(x *trigger, changes []keychange.Change) error {
	t := k.t
	if x.former != nil {
		return k.formerIDs(x.former, changes)
	}
	if x.key != nil && k.x.Limits.Replica { // the triggers of PostgreSQL fire in other roles only
		return nil
	}
	deferred := t.isDeferred(x.constraint())
	if x.unique != nil {
		return t.postpone(k.x, x, changes) // values that were shared while that was allowed
	}
	if !x.incoming {
		if deferred {
			return t.postpone(k.x, x, changes)
		}
		return k.check(x.key, changes)
	}
	for _, deleted := range []bool{true, false} {
		some := slices.DeleteFunc(slices.Clone(changes), func(ch keychange.Change) bool {
			return (ch.New == nil) != deleted
		})
		if len(some) == 0 {
			continue
		}
		action := x.key.Action(deleted)
		if action == catalog.NoAction && deferred {
			if err := t.postpone(k.x, x, some); err != nil {
				return err
			}
			continue
		}
		if err := k.act(x.key, action, deleted, some); err != nil {
			return err
		}
	}
	return nil
}

// program compiles a statement of a trigger, once for the program that the trigger belongs to.
func (k *queue) program(st refint.Statement) (*stmt.Program, error) {
	k.of.mu.Lock()
	p := k.of.programs[st.Text]
	k.of.mu.Unlock()
	if p != nil {
		return p, nil
	}
	c := *k.x.Compiler.AsSystem()
	c.View, c.Uncommitted = k.view, k.t.Schema != nil
	q, err := c.Query(st.Text, st.Params...)
	if err != nil {
		return nil, err
	}
	if p, err = c.Compile(q, st.Params); err != nil {
		return nil, err
	}
	k.of.mu.Lock()
	k.of.programs[st.Text] = p
	k.of.mu.Unlock()
	return p, nil
}

// run runs a statement of a trigger, and queues what follows from it. With newest, it reads the
// newest state, whatever the transaction's snapshot.
func (k *queue) run(st refint.Statement, args []types.Datum, newest bool, emit exec.Emit) error {
	p, err := k.program(st)
	if err != nil {
		return err
	}
	t := k.t
	c := k.x.Context(k.ctx, t.Tx, args)
	c.Limits.MaxFanout, c.Limits.FanoutNotice, c.Limits.ReadOnly, c.Limits.Unvalidated = 0, 0, false, true
	if newest && t.At != 0 {
		at, err := t.CurrentEverywhere(k.ctx)
		if err != nil {
			return err
		}
		c.Gateway, c.Limits.Since = c.Gateway.ReadingAt(at), t.At
	}
	if emit == nil {
		emit = func([]types.Datum) error { return nil }
	}
	c.Deferred, c.Keyed = t.DeferredUniques(p), true
	if r := triggersIn(p); r != nil {
		if err := t.beginTriggers(r, p, c, k.level); err != nil {
			return inStatement(st, err)
		}
	}
	_, err = k.x.Perform(t.Tx, p, c, emit)
	c.Keyed = false
	if err != nil {
		t.abandon(c) // the level ends with the error
		return inStatement(st, err)
	}
	k.add(p, c)
	return nil
}

// inStatement adds to the CONTEXT of an error the statement of a trigger in which it came.
func inStatement(st refint.Statement, err error) error {
	where := func(e *pgerr.Error) *pgerr.Error {
		c := *e
		if c.Where != "" {
			c.Where += "\n"
		}
		c.Where += `SQL statement "` + st.Shown + `"`
		return &c
	}
	var conflict *txn.ConflictError
	var deadlock *txn.DeadlockError
	switch {
	case errors.As(err, &conflict):
		own := *conflict
		own.Err = where(conflict.Err)
		return &own
	case errors.As(err, &deadlock):
		own := *deadlock
		own.Err = where(deadlock.Err)
		return &own
	}
	return where(pgerr.From(err))
}

// exists reports whether a statement returns a row.
func (k *queue) exists(st refint.Statement, args []types.Datum, newest bool) (bool, error) {
	found := false
	err := k.run(st, args, newest, func([]types.Datum) error {
		found = true
		return nil
	})
	return found, err
}
