package system

import (
	"context"
	"errors"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/integrity"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/txn"
)

// Transaction is a transaction of a worker.
type Transaction struct {
	*tx.Tx
	// Condition returns the schema change that is committed, with what must hold then; nil: nothing
	// has to.
	Condition func(database catalog.OID, ch *catalog.Change) (*catalog.Change, error)

	w           *Worker
	constraints integrity.Transaction
}

// Do runs f in a transaction and commits it, again if that meets a conflict, a deadlock, a move or a
// new leader.
func (w *Worker) Do(ctx context.Context, f func(*Transaction) error) error {
	for n := 1; ; n++ {
		err := w.once(ctx, f)
		if err == nil {
			return nil
		}
		var lost *txn.LostError
		passing := pgerr.Is(err, pgerr.SerializationFailure) || pgerr.Is(err, pgerr.DeadlockDetected) ||
			errors.As(err, &lost)
		if !passing || n >= stmt.MaxCommits || !stmt.Sleep(ctx, stmt.Pause) {
			return err
		}
	}
}

// once runs f in a transaction and commits it.
func (w *Worker) once(ctx context.Context, f func(*Transaction) error) error {
	t := w.begin()
	err := f(t)
	if err == nil {
		err = t.commit(ctx)
	}
	if err == nil {
		w.counters.Commits.Add(1)
		return nil
	}
	t.rollback()
	if pgerr.Is(err, pgerr.DeadlockDetected) {
		w.counters.Deadlocks.Add(1)
		w.env.Logger.Info("deadlock detected", "pid", 0, "detail", pgerr.From(err).Detail, "query", w.text)
	}
	return err
}

// Barrier waits until the transactions that use a table now have ended.
func (w *Worker) Barrier(ctx context.Context, table catalog.OID) error {
	t := w.begin()
	defer t.rollback()
	return t.Barrier(ctx, table)
}

func (w *Worker) begin() *Transaction {
	now := time.Now()
	w.setNow(now)
	t := w.env.BeginSystem(now)
	return &Transaction{Tx: t, w: w, constraints: integrity.Transaction{Tx: t}}
}

// commit commits the transaction. If that fails, the caller rolls it back.
func (t *Transaction) commit(ctx context.Context) error {
	if err := t.constraints.CheckDeferred(ctx, t.Executor, true); err != nil {
		return err
	}
	if err := t.ConfirmLocks(ctx); err != nil {
		return err
	}
	if err := t.define(); err != nil {
		return err
	}
	defines := t.Schema != nil
	at, err := t.Commit(ctx)
	if err != nil {
		return err
	}
	t.Release()
	t.constraints.Close()
	e := &t.w.env
	if e.Floor = max(e.Floor, at); defines {
		e.Storages.ObserveAll(e.Catalog.View())
	}
	return nil
}

// define adds the schema change to what the transaction commits with its rows.
func (t *Transaction) define() (err error) {
	if t.Schema == nil {
		return nil
	}
	ch := t.Schema.Change
	if t.Condition != nil {
		if ch, err = t.Condition(t.w.env.Database, ch); err != nil {
			return err
		}
	}
	t.Parts.Define(ch)
	return nil
}

// rollback ends the transaction and undoes all of it.
func (t *Transaction) rollback() {
	t.Rollback()
	t.constraints.Close()
	t.w.counters.Rollbacks.Add(1)
}

// Executor returns an executor for the transaction.
func (t *Transaction) Executor(context.Context) stmt.Executor { return t.w.Executor() }
