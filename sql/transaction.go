package sql

import (
	"context"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/integrity"
	"github.com/sherddb/sherd/sql/notify"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/schemachange"
	"github.com/sherddb/sherd/sql/sequence"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/sql/types"
)

// transaction is a client's transaction. It adds to tx.Tx the actions that wait for the commit, and
// state that belongs to the client until then.
type transaction struct {
	*tx.Tx
	failed      bool // it waits for ROLLBACK
	named       bool // the client has asked for the id that clients see
	schema      schemachange.Transaction
	newIDs      map[catalog.OID]uint64 // the next number for ids of tables that it has made
	sequences   sequence.Transaction
	constraints integrity.Transaction
	pending     notify.Pending // LISTEN, UNLISTEN and NOTIFY
	kept        []waiting      // by savepoint
}

// waiting is the part of a transaction that waits for its commit. A rollback to a savepoint and a
// new attempt of a statement restore it.
type waiting struct {
	constraints integrity.Mark
	pending     notify.Pending
}

func (t *transaction) waiting() waiting { return waiting{t.constraints.Mark(), t.pending} }

func (t *transaction) restore(w waiting) {
	t.constraints.Restore(w.constraints)
	t.pending = w.pending
}

// Rollback ends the transaction, and undoes all of it.
func (t *transaction) Rollback() {
	t.Tx.Rollback()
	t.constraints.Close()
}

// Release releases what the transaction held here.
func (t *transaction) Release() {
	t.Tx.Release()
	t.constraints.Close()
}

// begin opens a transaction.
func (s *Session) begin() *transaction {
	t := s.txEnv.Begin(s.queryAt, s.defaultModes())
	s.tx = &transaction{
		Tx: t, sequences: sequence.Transaction{Tx: t}, constraints: integrity.Transaction{Tx: t},
		schema: schemachange.Transaction{Tx: t},
	}
	s.env = nil
	return s.tx
}

// commit commits the session's transaction and ends it, even if the commit fails.
func (s *Session) commit(ctx context.Context) error {
	t := s.tx
	if err := t.constraints.CheckDeferred(ctx, s.executor, true); err != nil {
		s.closePortals()
		s.endImplicit()
		return err
	}
	if err := s.holdCursors(); err != nil {
		s.closePortals()
		s.endImplicit()
		return err
	}
	s.closePortals()
	if err := t.ConfirmLocks(ctx); err != nil {
		s.endImplicit()
		return err
	}
	if err := s.define(); err != nil {
		s.endImplicit()
		return err
	}
	ticket, err := t.pending.Announce(s.listener)
	if err != nil {
		s.endImplicit()
		return err
	}
	id, idle := t.Parts.ID(), t.named && t.Schema == nil && !t.Parts.HasWrites()
	ts, err := t.Commit(ctx)
	if idle && err == nil {
		s.db.transactionIDs.CommitWithoutWrite(id)
	}
	t.pending.Publish(s.listener, ticket, ts, err)
	t.Release()
	if err != nil {
		s.endImplicit()
		return s.inWords(err)
	}
	if t.Schema != nil {
		s.db.services.Storages.ObserveAll(s.db.cfg.Catalog.View())
		s.db.sequences.Forget(s.db.cfg.Catalog.View())
	}
	s.txEnv.Floor = max(s.txEnv.Floor, ts)
	s.counters.Commits.Add(1)
	s.tx = nil
	s.vars.End(true, 1)
	return nil
}

// execution returns the context in which a program runs.
func (s *Session) execution(ctx context.Context, args []types.Datum) *exec.Ctx {
	s.running = ctx
	x := s.executor(ctx)
	if s.tx == nil {
		return x.Context(ctx, nil, args)
	}
	return x.Context(ctx, s.tx.Tx, args)
}

// executor returns an executor with the session's values.
func (s *Session) executor(ctx context.Context) stmt.Executor {
	values := s.Env() // it brings the limits up to date
	return stmt.Executor{
		Compiler: &s.compiler, PID: s.start.PID, Values: values, Functions: info{objects{s}, ctx}, Hooks: s.hook,
		Limits: s.limit, Memory: s.derived.Memory, TempDir: s.db.cfg.TempDir,
	}
}

func commandName(c query.Command) string {
	return [...]string{"SELECT", "INSERT", "UPDATE", "DELETE"}[c]
}

// timed bounds a statement, including its repeated runs, by statement_timeout.
func (s *Session) timed(ctx context.Context) (context.Context, context.CancelFunc) {
	d := s.txEnv.Milliseconds("statement_timeout")
	if d == 0 {
		return ctx, func() {}
	}
	bounded := context.WithValue(ctx, unboundedKey{}, ctx)
	return context.WithTimeoutCause(bounded, d,
		pgerr.New(pgerr.QueryCanceled, "canceling statement due to statement timeout"))
}

type unboundedKey struct{}

// unbounded returns the context that timed bounded: what a portal starts outlives the statement
// that started it.
func unbounded(ctx context.Context) context.Context {
	if outer, ok := ctx.Value(unboundedKey{}).(context.Context); ok {
		return outer
	}
	return ctx
}

// define adds the schema change to what the transaction commits with its rows.
func (s *Session) define() error {
	t := s.tx
	if t.Schema == nil {
		return nil
	}
	for table, next := range t.newIDs {
		t.Schema.Change.StartIDs(table, next)
	}
	t.sequences.Define(t.Schema.Change)
	ch, err := t.schema.Condition(s.database)
	if err != nil {
		return err
	}
	t.Parts.Define(ch)
	return nil
}
