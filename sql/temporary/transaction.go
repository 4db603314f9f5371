package temporary

import (
	"context"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/txn"
)

// Transaction is a transaction in the fragments and in the session's own. The latter takes no part
// in the commit protocol: it ends as the other parts have.
type Transaction struct {
	exec.Transaction
	rows *Rows
}

// Join adds the session's fragment to a transaction.
func (r *Rows) Join(t exec.Transaction) *Transaction { return &Transaction{t, r} }

// Fragment returns a fragment as the transaction uses it.
func (t *Transaction) Fragment(id txn.FragmentID) (exec.Fragment, error) {
	if id == shardmap.Session {
		return t.rows, nil
	}
	return t.Transaction.Fragment(id)
}

// Follower is Fragment for tasks that any replica may serve.
func (t *Transaction) Follower(id txn.FragmentID) (exec.Fragment, error) {
	if id == shardmap.Session {
		return t.rows, nil
	}
	return t.Transaction.Follower(id)
}

// Mark returns the position of RollbackTo and Restart.
func (t *Transaction) Mark() txn.Marks {
	m := t.Transaction.Mark()
	if n := t.rows.Mark(); n > 0 {
		m[shardmap.Session] = txn.Mark{Writes: n}
	}
	return m
}

// RollbackTo drops the writes and locks since a mark.
func (t *Transaction) RollbackTo(m txn.Marks) {
	t.rows.UndoTo(m[shardmap.Session].Writes)
	t.Transaction.RollbackTo(m)
}

// Restart drops the writes since a mark.
func (t *Transaction) Restart(m txn.Marks, forgetReads bool) {
	t.rows.UndoTo(m[shardmap.Session].Writes)
	t.Transaction.Restart(m, forgetReads)
}

// Rollback drops everything.
func (t *Transaction) Rollback() {
	t.rows.UndoTo(0)
	t.Transaction.Rollback()
}

// Commit commits in the fragments. If that fails, the writes of the session's fragment are undone.
func (t *Transaction) Commit(ctx context.Context, floor txn.Timestamp) (txn.Timestamp, error) {
	at, err := t.Transaction.Commit(ctx, floor)
	if err != nil {
		t.rows.UndoTo(0)
	}
	return at, err
}

// PrepareTransaction refuses a transaction that has written to temporary tables.
func (t *Transaction) PrepareTransaction(ctx context.Context, req txn.PreparationRequest) error {
	if t.rows.Mark() > 0 {
		t.Rollback()
		return pgerr.Unsupported("cannot PREPARE a transaction that has operated on temporary objects")
	}
	return t.Transaction.PrepareTransaction(ctx, req)
}
