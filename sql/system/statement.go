package system

import (
	"context"
	"slices"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/types"
)

// Rows runs a statement and returns its rows.
func (t *Transaction) Rows(ctx context.Context, text string) (rows [][]types.Datum, err error) {
	held := &stmt.HeldRows{Emit: func(row []types.Datum) error {
		own := make([]types.Datum, len(row))
		for i, d := range row {
			own[i] = d.Clone()
		}
		rows = append(rows, own)
		return nil
	}}
	err = t.run(ctx, text, held.Add, held)
	return rows, err
}

// Run runs a statement that returns no rows.
func (t *Transaction) Run(ctx context.Context, text string) error {
	return t.run(ctx, text, func([]types.Datum) error { return nil }, nil)
}

// Each runs a statement and emits its rows. A row is valid during emit. After an error, the rows that
// were emitted do not count.
func (t *Transaction) Each(ctx context.Context, text string, emit exec.Emit) error {
	return t.run(ctx, text, emit, nil)
}

// run runs a statement, again in the transaction while that helps after a conflict. held is not nil if
// emit keeps the rows until the end.
func (t *Transaction) run(ctx context.Context, text string, emit exec.Emit, held *stmt.HeldRows) error {
	t.w.text, t.w.arrived = text, time.Now()
	p, err := t.locked(ctx, text)
	if err != nil {
		return err
	}
	if p.Plan.Failing != nil {
		return p.Plan.Failing
	}
	r := &stmt.Attempts{Tx: t.Tx, Held: held, Alone: !t.Used, Writes: p.Writes}
	if r.Writes {
		r.Mark = t.Parts.Mark()
	}
	t.Used = true
	counted := func(row []types.Datum) error {
		r.Rows++
		return emit(row)
	}
	waiting := t.constraints.Mark()
	t.BeginStatement()
	for {
		t.constraints.Restore(waiting) // what an attempt has left for the commit is undone with it
		t.BeginAttempt()
		if err = t.FollowMap(ctx); err != nil {
			return err
		}
		err = t.attempt(ctx, p, r, counted)
		if err == nil || !r.Again(ctx, err) {
			return canceled(ctx, err)
		}
		if p.Version != t.View().DefinitionVersion() { // another node has changed them
			if p, err = t.locked(ctx, text); err != nil {
				return err
			}
		}
	}
}

// attempt runs a program once.
func (t *Transaction) attempt(ctx context.Context, p *stmt.Program, r *stmt.Attempts, emit exec.Emit) error {
	x := t.w.Executor()
	c := x.Context(ctx, t.Tx, nil)
	c.Before = r.Mark
	if _, err := t.constraints.Perform(&x, p, c, emit); err != nil || r.Held == nil {
		return err
	}
	return r.Held.Pass()
}

// locked compiles a statement and locks its tables, so that their definitions cannot change.
func (t *Transaction) locked(ctx context.Context, text string) (*stmt.Program, error) {
	p, err := t.program(text)
	for err == nil {
		if err = t.LockTables(ctx, p.Tables); err != nil {
			return nil, err
		}
		if p.Version == t.View().DefinitionVersion() {
			return p, nil
		}
		before := p
		if p, err = t.program(text); err == nil && slices.Equal(before.Tables, p.Tables) {
			return p, nil
		}
	}
	return nil, err
}

// program compiles a statement.
func (t *Transaction) program(text string) (*stmt.Program, error) {
	list, err := parse.Parse(text)
	if err != nil {
		return nil, err
	}
	c := &t.w.compiler
	c.View, c.Uncommitted = t.View(), t.Schema != nil
	return c.Program(list[0], nil)
}

// canceled returns the error of a statement that is not run again. If ctx has ended, that is the error,
// not the conflict that the statement met last.
func canceled(ctx context.Context, err error) error {
	if pgerr.Is(err, pgerr.SerializationFailure) && ctx.Err() != nil {
		return pgerr.Cancelled(ctx)
	}
	return err
}
