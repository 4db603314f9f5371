package txblock

import (
	"context"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/integrity"
	"github.com/sherddb/sherd/sql/monitor"
	"github.com/sherddb/sherd/sql/notify"
	"github.com/sherddb/sherd/sql/schemachange"
	"github.com/sherddb/sherd/sql/sequence"
	"github.com/sherddb/sherd/sql/settings"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/txn"
)

// Environment is what a block uses of its session and its node.
type Environment struct {
	*tx.Environment
	Role           func() catalog.OID
	Settings       *settings.Values
	Listener       *notify.Listener
	Sequences      *sequence.Allocator
	TransactionIDs *monitor.TransactionIDs
	Counters       *monitor.DatabaseCounters
	Portals        Portals
	// HearOthers waits until the notifications that other nodes have sent arrive here.
	HearOthers func(context.Context) error
	Prepared   *tx.PreparedTransactions
	// Executor returns an executor with the session's values, for the checks of deferred
	// constraints.
	Executor func(context.Context) stmt.Executor
	// Arrival returns the time at which the running statement arrived.
	Arrival func() time.Time
	// Begun is called when a transaction has begun.
	Begun func()
}

// Portals are the functions by which a block reaches the session's portals.
type Portals struct {
	// Close closes the portals that end with their transaction.
	Close func()
	// Keep reads the rows that cursors WITH HOLD have not returned yet.
	Keep func() error
	// AnyToKeep reports whether there are cursors WITH HOLD that the transaction has declared.
	AnyToKeep func() bool
	// Undo closes the portals that were opened at a level of nesting or deeper. It reads the rest
	// of the other ones that see writes buffered since a mark.
	Undo func(nest int, mark txn.Marks)
	// Release makes the portals that were opened at a level of nesting or deeper belong to the
	// level above it.
	Release func(nest int)
}

// Block is the transaction block of a session. The zero value is not usable: see New.
type Block struct {
	env Environment
	Tx  *Transaction // nil outside of any
}

// New returns the block of a session that has no transaction.
func New(env Environment) *Block { return &Block{env: env} }

// Begin opens an implicit transaction.
func (b *Block) Begin() *Transaction {
	t := b.env.Begin(b.env.Arrival(), b.defaultModes())
	b.Tx = &Transaction{
		Tx: t, Sequences: sequence.Transaction{Tx: t}, Constraints: integrity.Transaction{Tx: t},
		DDL: schemachange.Transaction{Tx: t},
	}
	b.env.Begun()
	return b.Tx
}

// Join returns the transaction of a statement. implicitBlock reports whether other statements share
// its query string.
func (b *Block) Join(implicitBlock bool) *Transaction {
	if b.Tx == nil {
		b.Begin().ImplicitBlock = implicitBlock
	}
	return b.Tx
}

// PreventInBlock returns an error if a statement that commits by itself is run in a transaction
// block or a pipeline. what names the statement, implicitBlock reports whether other statements
// share its query string, and leads whether it is the first of its pipeline.
func (b *Block) PreventInBlock(what string, implicitBlock, leads bool) error {
	t := b.Tx
	switch {
	case t == nil && !implicitBlock:
		return nil
	case t == nil || t.Explicit || t.ImplicitBlock:
		return pgerr.New(pgerr.ActiveSQLTransaction, "%s cannot run inside a transaction block", what)
	case implicitBlock || t.Used && !leads:
		return pgerr.New(pgerr.ActiveSQLTransaction, "%s cannot be executed within a pipeline", what)
	}
	return nil
}

// Commit commits the transaction and ends it, even if the commit fails.
func (b *Block) Commit(ctx context.Context) error {
	ticket, err := b.beforeCommit(ctx)
	if err != nil {
		b.Rollback()
		return err
	}
	t := b.Tx
	id, idle := t.Parts.ID(), t.Named && t.Schema == nil && !t.Parts.HasWrites()
	ts, err := t.Commit(ctx)
	if idle && err == nil {
		b.env.TransactionIDs.CommitWithoutWrite(id)
	}
	t.Pending.Publish(b.env.Listener, ticket, ts, err)
	if err == nil {
		b.env.Temporary.Committed(t.Tx)
	}
	t.Release()
	if err != nil {
		b.Rollback()
		return b.nameConflict(err)
	}
	if t.Schema != nil {
		view := b.env.Catalog.View()
		b.env.Storages.ObserveAll(view)
		b.env.Sequences.Forget(view)
	}
	b.env.Floor = max(b.env.Floor, ts)
	b.env.Counters.Commits.Add(1)
	b.leave(true)
	return nil
}

// beforeCommit does what must precede the commit in the fragments. It returns the ticket for
// notify.Pending.Publish.
func (b *Block) beforeCommit(ctx context.Context) (ticket uint64, err error) {
	t := b.Tx
	if err := t.Constraints.CheckDeferred(ctx, b.env.Executor, true); err != nil {
		return 0, err
	}
	if err := b.env.Portals.Keep(); err != nil {
		return 0, err
	}
	b.env.Portals.Close()
	if err := b.env.Temporary.MayCommit(t.Tx); err != nil {
		return 0, err
	}
	if err := t.ConfirmLocks(ctx); err != nil {
		return 0, err
	}
	if err := t.define(b.env.Database, b.env.Temporary); err != nil {
		return 0, err
	}
	return t.Pending.Announce(b.env.Listener)
}

// Rollback ends the transaction and undoes all of it.
func (b *Block) Rollback() {
	b.env.Portals.Close()
	b.Tx.Rollback()
	b.env.Counters.Rollbacks.Add(1)
	b.leave(false)
}

// leave forgets the transaction, which has ended.
func (b *Block) leave(committed bool) {
	b.Tx = nil
	b.env.Settings.End(committed, 1)
}

// Close rolls back the open transaction, if there is one, when the session ends.
func (b *Block) Close() {
	if b.Tx != nil {
		b.Tx.Rollback()
		b.Tx = nil
	}
}

// Fail makes an explicit transaction wait for its ROLLBACK, and ends an implicit one. If there is a
// savepoint, it keeps what was done before the savepoint for ROLLBACK TO.
func (b *Block) Fail() {
	t := b.Tx
	switch {
	case t == nil || t.failed:
	case !t.Explicit:
		b.Rollback()
	case t.Depth() > 0:
		b.undoTo(t.Depth() - 1)
		t.failed = true
	default:
		b.env.Portals.Close()
		t.Rollback()
		t.failed = true
	}
}

// Status is the state of a block, as ReadyForQuery shows it to the client.
type Status byte

// The states of a block.
const (
	Idle          Status = 'I'
	InTransaction Status = 'T'
	Failed        Status = 'E'
)

// Status returns the state of the block. An implicit transaction is idle.
func (b *Block) Status() Status {
	switch {
	case !b.isExplicit():
		return Idle
	case b.Tx.failed:
		return Failed
	}
	return InTransaction
}

// MayRun returns an error in a failed transaction, which only accepts its end.
func (b *Block) MayRun() error {
	if b.HasFailed() {
		return pgerr.New(pgerr.InFailedSQLTransaction,
			"current transaction is aborted, commands ignored until end of transaction block")
	}
	return nil
}

// HasFailed reports whether the transaction waits for its ROLLBACK.
func (b *Block) HasFailed() bool { return b.Tx != nil && b.Tx.failed }

// Nest returns how deep the session is in transactions: 0 outside of any, 1 in one, more in its
// savepoints.
func (b *Block) Nest() int {
	if b.Tx == nil {
		return 0
	}
	return 1 + b.Tx.Depth()
}

func (b *Block) isExplicit() bool { return b.Tx != nil && b.Tx.Explicit }

// InBlock reports whether other statements follow in the same transaction, as far as the session
// can know: after BEGIN, and in a query string of several statements.
func (b *Block) InBlock() bool { return b.Tx != nil && (b.Tx.Explicit || b.Tx.ImplicitBlock) }

// WarnOutside warns the client of a statement that has no effect outside of a transaction block.
func (b *Block) WarnOutside(w stmt.ResultWriter, what string) error {
	if b.InBlock() {
		return nil
	}
	return w.Notice(&pgerr.Error{
		Severity: "WARNING", Code: pgerr.NoActiveSQLTransaction,
		Message: what + " can only be used in transaction blocks",
	})
}

// requireExplicit refuses a statement that makes sense only between BEGIN and COMMIT.
func (b *Block) requireExplicit(what string) error {
	if b.isExplicit() {
		return nil
	}
	return pgerr.New(pgerr.NoActiveSQLTransaction, "%s can only be used in transaction blocks", what)
}

// refuseInside refuses a statement that cannot be undone with the statements around it.
func (b *Block) refuseInside(what string) error {
	if b.InBlock() {
		return pgerr.New(pgerr.ActiveSQLTransaction, "%s cannot run inside a transaction block", what)
	}
	return nil
}

// View returns the catalog as the running statement sees it.
func (b *Block) View() *catalog.View {
	if b.Tx == nil {
		return b.env.View()
	}
	return b.Tx.View()
}

// HasSchemaChanges reports whether the transaction sees uncommitted schema changes. Nothing that
// was made from them may be kept for other transactions.
func (b *Block) HasSchemaChanges() bool { return b.Tx != nil && b.Tx.Schema != nil }
