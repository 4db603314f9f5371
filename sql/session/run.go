package session

import (
	"context"
	"slices"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/portal"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/sql/types"
)

// run runs a program in the session's transaction, and opens an implicit transaction if there is
// none. It returns the number of rows for the command tag.
func (s *Session) run(ctx context.Context, p *stmt.Program, args []types.Datum, emit exec.Emit) (int64, error) {
	if !p.LocksRows() {
		return s.runAt(ctx, portal.Opening{}, p, args, emit, nil)
	}
	h := &stmt.HeldRows{Emit: emit}
	return s.runAt(ctx, portal.Opening{}, p, args, h.Add, h)
}

// mayRead decides whether replicas may serve a program, and returns an error if it cannot be read
// as the settings demand.
func mayRead(t *tx.Tx, p *stmt.Program) error {
	if err := t.ReadPastAsSet(); err != nil {
		return err
	}
	if err := t.ConsiderReplicas(p.Reading()); err != nil {
		return err
	}
	return t.CheckStorages(p.Tables)
}

// runAt is run for what an opening reads. held is not nil if emit keeps the answer until the end.
func (s *Session) runAt(
	ctx context.Context, o portal.Opening, p *stmt.Program, args []types.Datum, emit exec.Emit, held *stmt.HeldRows,
) (int64, error) {
	if s.block.Tx == nil {
		s.block.Begin()
	}
	t := s.block.Tx
	if p.Writes && t.IsReadOnly() {
		return 0, t.ReadOnlyError(p.Query.Command.String())
	}
	p, err := s.settle(ctx, p)
	if err != nil {
		return 0, err
	}
	if p.Plan.Failing != nil {
		return 0, p.Plan.Failing
	}
	defer func() { t.Near = false }()
	if err := mayRead(t.Tx, p); err != nil {
		return 0, err
	}
	s.node.Samples.Add(s.database, p, args)
	if args, err = s.portals.WithCurrent(p.Query, args); err != nil {
		return 0, err
	}
	r := &stmt.Attempts{Tx: t.Tx, At: o.At, Held: held, Alone: !t.Used && !t.Explicit && !t.Together}
	if p.Writes {
		if err := t.Parts.Bound(s.txEnv.Scope()); err != nil {
			return 0, err
		}
		r.Mark, r.Writes = t.Parts.Mark(), true
	}
	t.Used = true
	counted := func(row []types.Datum) error {
		r.Rows++
		return emit(row)
	}
	partial := s.reads.Partial(t.Tx, p, o.At)
	waiting, draft := t.Waiting(), t.Schema
	t.BeginStatement()
	for {
		t.Restore(waiting)     // what an attempt has left for the commit is undone with it
		if t.Schema != draft { // workers of open cursors read it: set it only if it has changed
			t.Schema = draft
		}
		t.BeginAttempt()
		if err := t.FollowMap(ctx); err != nil {
			return 0, err
		}
		if err := t.TakeSnapshot(ctx); err != nil {
			return 0, err
		}
		s.running = ctx
		x := s.executor(ctx)
		c := x.Context(ctx, t.Tx, args)
		c.Before, c.Partial = r.Mark, partial
		if o.Apply(c); !o.Fixed {
			if c.Part, err = s.reads.Part(t.Tx, p); err != nil {
				return 0, err
			}
		}
		t.Constraints.BeforeStatement(&x, p, c)
		_, err := x.Perform(t.Tx, p, c, counted)
		if err == nil {
			err = t.Constraints.AfterStatement(&x, p, c)
		}
		if err == nil && held != nil {
			err = held.Pass()
		}
		if err == nil && p.Query.Command != query.Select {
			return c.Affected, nil
		}
		if err == nil || !r.Again(ctx, err) {
			return r.Rows, orLate(ctx, err)
		}
		if p.Version != s.block.View().DefinitionVersion() { // another node has changed them
			if p, err = s.settle(ctx, p); err != nil {
				return r.Rows, err
			}
		}
	}
}

// orLate returns the error of a statement that is not run again. If the time of ctx is over, that
// is the error, not the conflict that the statement met last.
func orLate(ctx context.Context, err error) error {
	if pgerr.Is(err, pgerr.SerializationFailure) && ctx.Err() != nil {
		return pgerr.Cancelled(ctx)
	}
	return err
}

// settle locks p's tables, so that their definitions cannot change. If one has changed before that,
// it plans p again.
func (s *Session) settle(ctx context.Context, p *stmt.Program) (*stmt.Program, error) {
	return s.settleAs(ctx, p, p.Columns)
}

// settleNew is settle for a statement whose result columns the client does not know yet.
func (s *Session) settleNew(ctx context.Context, p *stmt.Program) (*stmt.Program, error) {
	if s.block.Tx == nil {
		s.block.Begin()
	}
	return s.settleAs(ctx, p, nil)
}

func (s *Session) settleAs(ctx context.Context, p *stmt.Program, columns []stmt.Column) (*stmt.Program, error) {
	for {
		if err := s.block.Tx.LockTables(ctx, p.Tables); err != nil {
			return nil, err
		}
		if p.Version == s.block.View().DefinitionVersion() {
			return p, nil
		}
		q, err := s.program(ctx, p.Statement, p.Params)
		switch {
		case err == nil && p.Cursor:
			q, err = s.currentCompiler().ForCursor(q)
		case err == nil && p.Late:
			q, err = s.currentCompiler().LockingLate(q)
		}
		if err != nil {
			return nil, err
		}
		if columns != nil {
			if err := stmt.CheckColumns(columns, q.Columns); err != nil {
				return nil, err
			}
		}
		if slices.Equal(p.Tables, q.Tables) {
			return q, nil
		}
		p = q
	}
}
