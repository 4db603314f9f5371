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
	"github.com/sherddb/sherd/txn"
)

// run runs a program in the session's transaction, and opens an implicit transaction if there is
// none. It returns the number of rows for the command tag. opening is what a portal reads; if it is
// nil, and the statement locks rows, its rows are kept until all of them are locked.
func (s *Session) run(
	ctx context.Context, opening *portal.Opening, p *stmt.Program, args []types.Datum, emit exec.Emit,
) (int64, error) {
	t := s.block.Join(false)
	defer func() { t.Near = false }()
	p, args, err := s.prepare(ctx, t.Tx, p, args)
	if err != nil {
		return 0, err
	}
	s.node.Samples.Add(s.database, p.Generic(), args)
	if args, err = s.portals.WithCurrent(p.Query, args); err != nil {
		return 0, err
	}
	var o portal.Opening
	r := &stmt.Attempts{Tx: t.Tx, Emit: emit, Alone: !t.Used && !t.Explicit && !t.ImplicitBlock}
	if opening != nil {
		o, r.At = *opening, opening.At
	} else if p.LocksRows() {
		r.Held = &stmt.HeldRows{Emit: emit}
	}
	if r.Writes = p.Writes || p.Calls != 0; r.Writes {
		r.Mark = t.Parts.Mark()
	}
	t.Used = true
	counted := r.Row
	partial := s.reads.Partial(t.Tx, p, o.At)
	waiting, draft := t.Waiting(), t.Schema
	t.BeginStatement()
	notices := len(s.notices)
	for {
		s.notices = s.notices[:min(len(s.notices), notices)]

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
		if err := readAs(s, p, c, &o, r.Mark); err != nil {
			return 0, err
		}
		_, err := t.Constraints.Perform(&x, p, c, counted)
		if err == nil {
			err = r.Pass()
		}
		if err == nil && p.Query.Command != query.Select {
			return c.Affected, nil
		}
		if err == nil || !r.Again(ctx, err) {
			return r.Rows, orLate(ctx, err)
		}
		if p.Version != s.block.View().DefinitionVersion() { // another node has changed them
			if p, args, err = s.settle(ctx, p, args); err != nil {
				return r.Rows, err
			}
		}
	}
}

// prepare locks the tables of a program and checks that it may run in the transaction. If a
// definition has changed, it returns a program that is planned again, and its arguments.
func (s *Session) prepare(
	ctx context.Context, t *tx.Tx, p *stmt.Program, args []types.Datum,
) (*stmt.Program, []types.Datum, error) {
	if p.WritesShared() && t.IsReadOnly() {
		return nil, nil, t.ReadOnlyError(p.Query.Command.String())
	}
	p, args, err := s.settle(ctx, p, args)
	if err != nil {
		return nil, nil, err
	}
	if p.Plan.Failing != nil {
		return nil, nil, p.Plan.Failing
	}
	if err := t.ReadPastAsSet(); err != nil {
		return nil, nil, err
	}
	if err := t.ConsiderReplicas(p.Reading()); err != nil {
		return nil, nil, err
	}
	if err := t.CheckStorages(p.Tables); err != nil {
		return nil, nil, err
	}
	if p.Writes {
		err = t.Parts.Bound(s.txEnv.Scope())
	}
	return p, args, err
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
// it plans p again. It returns the arguments that the program still has.
func (s *Session) settle(
	ctx context.Context, p *stmt.Program, args []types.Datum,
) (*stmt.Program, []types.Datum, error) {
	q, err := s.settleAs(ctx, p, p.Columns)
	if err != nil {
		return nil, nil, err
	}
	return q, p.ArgumentsOf(q, args), nil
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
		if p.Version == s.block.View().DefinitionVersion() && p.Role == s.currentCompiler().Role {
			return p, nil
		}
		q, err := renewed(ctx, s, p)
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

// readAs sets what a statement reads: as the portal says that it was opened for, or by the settings.
func readAs(s *Session, p *stmt.Program, c *exec.Ctx, o *portal.Opening, before txn.Marks) (err error) {
	if o.Apply(c); o.Fixed {
		return nil
	}
	if c.Part, err = s.reads.Part(s.block.Tx.Tx, p); err != nil || p.Calls == 0 {
		return err
	}
	return steady(c.Context, s.block.Tx.Tx, p, c, before)
}

// steady makes a statement that calls functions read all at one time: it sees nothing of what they
// write, and STABLE functions see what it sees.
func steady(ctx context.Context, t *tx.Tx, p *stmt.Program, c *exec.Ctx, before txn.Marks) error {
	c.Before, c.Steady, c.Prompt = before, true, p.Calls == 'v'
	if t.At != 0 {
		return nil
	}
	at, err := t.CurrentEverywhere(ctx)
	if err == nil {
		c.Gateway = c.Gateway.ReadingAt(at)
	}
	return err
}
