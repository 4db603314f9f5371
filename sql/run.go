package sql

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// run runs a program in the session's transaction, opening an implicit one where there is none. It gives the number of rows for the command
// tag.
func (s *Session) run(ctx context.Context, p *stmt.Program, args []types.Datum, emit exec.Emit) (int64, error) {
	if !p.LocksRows() {
		return s.runAt(ctx, opening{}, p, args, emit, nil)
	}
	h := &heldAnswer{emit: emit}
	return s.runAt(ctx, opening{}, p, args, h.add, h)
}

// opening is what a portal reads: at a timestamp, 0 takes a new one, and what its transaction had staged before a place, nil is all.
type opening struct {
	at     txn.Timestamp
	before exec.Mark
	fixed  bool       // part is what it reads, whatever the settings say meanwhile
	part   *exec.Part // see exec.Ctx
}

// apply settles what a program reads.
func (o *opening) apply(c *exec.Ctx) {
	c.Part = o.part
	if o.at != 0 {
		c.Gateway = c.Gateway.ReadingAt(o.at)
	}
	if o.before != nil {
		c.Before, c.Steady = o.before, true
	}
}

// runAt is run with what is read settled by an opening. Where emit keeps the answer until the end, held says so.
func (s *Session) runAt(ctx context.Context, o opening, p *stmt.Program, args []types.Datum, emit exec.Emit, held *heldAnswer) (int64, error) {
	if s.tx == nil {
		s.begin()
	}
	t := s.tx
	if p.Writes && t.IsReadOnly() {
		return 0, t.ReadOnlyError(commandName(p.Query.Command))
	}
	p, err := s.settle(ctx, p)
	if err != nil {
		return 0, err
	}
	if p.Plan.Failing != nil {
		return 0, p.Plan.Failing
	}
	if err := t.ReadPastAsSet(); err != nil {
		return 0, err
	}
	if err := t.ConsiderReplicas(p.Reading()); err != nil {
		return 0, err
	}
	defer func() { t.Near = false }()
	if err := t.CheckStorages(p.Tables); err != nil {
		return 0, err
	}
	s.db.samples.note(s.database, p, args)
	if args, err = s.withCurrent(p.Query, args); err != nil {
		return 0, err
	}
	r := &attempts{tx: t, at: o.at, held: held, lone: !t.Used && !t.Explicit && !t.Together}
	if p.Writes {
		if err := t.Parts.Bound(s.txEnv.Scope()); err != nil {
			return 0, err
		}
		r.mark, r.writes = t.Parts.Mark(), true
	}
	t.Used = true
	counted := func(row []types.Datum) error {
		r.rows++
		return emit(row)
	}
	partial := s.partial(p, o)
	waiting, pending, draft := t.deferrals, t.pending, t.Schema
	t.BeginStatement()
	for {
		t.deferrals, t.pending = waiting, pending // what an attempt has left to the commit is undone with it
		if t.Schema != draft {                    // the workers of open cursors read it: it is written only where an attempt has made another
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
		c.Before, c.Partial = r.mark, partial
		if o.apply(c); !o.fixed {
			if c.Part, err = s.part(p); err != nil {
				return 0, err
			}
		}
		t.settling(&x, p, c)
		_, err := x.Perform(t.Tx, p, c, counted)
		if err == nil {
			err = t.keep(&x, p, c)
		}
		if err == nil && held != nil {
			err = held.pass()
		}
		if err == nil && p.Query.Command != query.Select {
			return c.Affected, nil
		}
		if err == nil || !r.again(ctx, err) {
			return r.rows, orLate(ctx, err)
		}
		if p.Version != s.view().DefinitionVersion() { // another node has changed them
			if p, err = s.settle(ctx, p); err != nil {
				return r.rows, err
			}
		}
	}
}

// attempts decides whether a statement that met a conflict is run again, above what was in its way. It is where nothing was answered yet, and no
// snapshot older than the statement is promised: at READ COMMITTED, and for a statement that is a transaction of its own.
type attempts struct {
	tx     *transaction
	mark   exec.Mark // before the statement
	writes bool
	lone   bool
	at     txn.Timestamp
	rows   int64       // answered, or kept in held
	held   *heldAnswer // nil: rows are answered at once
	n      int
	last   string // the last conflict
	same   int    // how often it came in a row
}

const (
	maxAttempts = 10_000
	maxSame     = 32 // of one conflict in all its words: the locks that are kept lead nowhere then
	pauseAfter  = 100
	pause       = 5 * time.Millisecond
)

// answered tells whether the client has seen rows.
func (r *attempts) answered() bool { return r.rows > 0 && (r.held == nil || r.held.passed) }

// again undoes what the statement has written, and keeps its row locks, so that it gets further each time.
func (r *attempts) again(ctx context.Context, err error) bool {
	t := r.tx
	var lost *txn.LostError
	var elsewhere *txn.MovedError
	staged := errors.As(err, &lost) && lost.Staged // is lost
	var split *txn.SplitError
	moved := errors.As(err, &elsewhere) || errors.As(err, &split) // what it wants to read and write: nobody could tell in time where, or it lies by other segments now
	if !pgerr.Is(err, pgerr.SerializationFailure) || r.answered() || r.at != 0 && !moved || ctx.Err() != nil {
		return false
	}
	cut := lost != nil || moved // what was read can be read again at the same timestamp
	switch {
	case r.lone:
	case staged, t.HasDefined(): // a function may have written, which the mark of a SELECT does not tell
		return false
	case !cut && (t.Modes.Isolation() != txn.ReadCommitted || t.At != 0):
		return false
	}
	if text := err.Error() + pgerr.From(err).Detail; cut { // it says the same until it is over
		r.same = 0
	} else if text == r.last {
		r.same++
	} else {
		r.last, r.same = text, 0
	}
	if r.n++; r.n >= maxAttempts || r.same >= maxSame {
		return false
	}
	switch {
	case staged:
		if t.Renew(r.writes) != nil {
			return false
		}
		r.mark = t.Parts.Mark()
	case r.writes || r.lone:
		t.Parts.Restart(r.mark, r.lone)
	}
	if r.lone {
		t.At = 0
	}
	if r.held != nil {
		r.held.drop()
		r.rows = 0
	}
	return r.n < pauseAfter && !(cut && r.n > 1) || sleep(ctx, pause)
}

// orLate gives the error of a statement that is not run again: where its time is over that is why, whatever conflict it met last.
func orLate(ctx context.Context, err error) error {
	if pgerr.Is(err, pgerr.SerializationFailure) && ctx.Err() != nil {
		return pgerr.Cancelled(ctx)
	}
	return err
}

// sleep tells whether it slept its time.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// settle takes the locks that keep the definitions of p's tables still, and plans anew if one has changed before that.
func (s *Session) settle(ctx context.Context, p *stmt.Program) (*stmt.Program, error) {
	return s.settleAs(ctx, p, p.Columns)
}

// settleNew is settle for a statement of whose result the client knows nothing yet.
func (s *Session) settleNew(ctx context.Context, p *stmt.Program) (*stmt.Program, error) {
	if s.tx == nil {
		s.begin()
	}
	return s.settleAs(ctx, p, nil)
}

func (s *Session) settleAs(ctx context.Context, p *stmt.Program, columns []stmt.Column) (*stmt.Program, error) {
	for {
		if err := s.tx.LockTables(ctx, p.Tables); err != nil {
			return nil, err
		}
		if p.Version == s.view().DefinitionVersion() {
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
		if columns != nil && !sameColumns(columns, q.Columns) {
			return nil, pgerr.New(pgerr.FeatureNotSupported, "cached plan must not change result type").WithRoutine("RevalidateCachedQuery") // drivers prepare again on it
		}
		if slices.Equal(p.Tables, q.Tables) {
			return q, nil
		}
		p = q
	}
}
