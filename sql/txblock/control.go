package txblock

import (
	"context"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/integrity"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/tx"
)

// Control runs BEGIN, COMMIT, ROLLBACK and the other statements that control transactions.
func (b *Block) Control(ctx context.Context, n *pg_query.TransactionStmt, w stmt.ResultWriter) error {
	switch n.Kind {
	case pg_query.TransactionStmtKind_TRANS_STMT_BEGIN, pg_query.TransactionStmtKind_TRANS_STMT_START:
		return b.beginStmt(n, w)
	case pg_query.TransactionStmtKind_TRANS_STMT_COMMIT:
		return b.commitStmt(ctx, n.Chain, w)
	case pg_query.TransactionStmtKind_TRANS_STMT_ROLLBACK:
		return b.rollbackStmt(n.Chain, w)
	case pg_query.TransactionStmtKind_TRANS_STMT_SAVEPOINT:
		return b.savepointStmt(n.SavepointName, w)
	case pg_query.TransactionStmtKind_TRANS_STMT_RELEASE:
		return b.releaseStmt(n.SavepointName, w)
	case pg_query.TransactionStmtKind_TRANS_STMT_ROLLBACK_TO:
		return b.rollbackToStmt(n.SavepointName, w)
	case pg_query.TransactionStmtKind_TRANS_STMT_PREPARE:
		return b.prepareStmt(ctx, n.Gid, w)
	case pg_query.TransactionStmtKind_TRANS_STMT_COMMIT_PREPARED:
		return b.commitPrepared(ctx, n.Gid, w)
	case pg_query.TransactionStmtKind_TRANS_STMT_ROLLBACK_PREPARED:
		return b.rollbackPrepared(ctx, n.Gid, w)
	}
	return pgerr.Unsupported("this transaction statement is not supported yet")
}

// beginStmt runs BEGIN and START TRANSACTION. What an implicit transaction has done so far becomes
// part of the explicit one.
func (b *Block) beginStmt(n *pg_query.TransactionStmt, w stmt.ResultWriter) error {
	if b.isExplicit() {
		if err := w.Notice(&pgerr.Error{
			Severity: "WARNING", Code: pgerr.ActiveSQLTransaction,
			Message: "there is already a transaction in progress",
		}); err != nil {
			return err
		}
	}
	if b.Tx == nil {
		b.Begin()
	}
	if err := b.setModes(n.Options); err != nil {
		return err
	}
	b.Tx.Explicit = true
	if n.Kind == pg_query.TransactionStmtKind_TRANS_STMT_START {
		return w.Complete("START TRANSACTION")
	}
	return w.Complete("BEGIN")
}

func (b *Block) commitStmt(ctx context.Context, chain bool, w stmt.ResultWriter) error {
	if chain {
		if err := b.requireExplicit("COMMIT AND CHAIN"); err != nil {
			return err
		}
	}
	if !b.isExplicit() {
		if err := warnNoTransaction(w); err != nil {
			return err
		}
		if b.Tx != nil { // opened by earlier statements of the same query string or pipeline
			if err := b.Commit(ctx); err != nil {
				return err
			}
		}
		return b.complete("COMMIT", w)
	}
	m := b.Tx.Modes
	if b.Tx.failed {
		b.Rollback()
		b.chain(chain, m)
		return b.complete("ROLLBACK", w)
	}
	if err := b.Commit(ctx); err != nil {
		return err
	}
	b.chain(chain, m)
	return b.complete("COMMIT", w)
}

func (b *Block) rollbackStmt(chain bool, w stmt.ResultWriter) error {
	if chain {
		if err := b.requireExplicit("ROLLBACK AND CHAIN"); err != nil {
			return err
		}
	}
	if !b.isExplicit() {
		if err := warnNoTransaction(w); err != nil {
			return err
		}
	}
	if b.Tx != nil {
		m := b.Tx.Modes
		b.Rollback()
		b.chain(chain, m)
	}
	return b.complete("ROLLBACK", w)
}

// chain begins the next transaction with the modes of the one before.
func (b *Block) chain(chain bool, m tx.Modes) {
	if chain {
		t := b.Begin()
		t.Explicit, t.Modes = true, m
		t.Configure()
	}
}

// Next ends the implicit transaction of a procedure and begins another, as its COMMIT and ROLLBACK ask.
func (b *Block) Next(ctx context.Context, commit, chain bool) error {
	before := b.Tx
	modes, pipeline := before.Modes, before.Pipeline
	if !commit {
		b.Rollback()
	} else if err := b.Commit(ctx); err != nil {
		return err
	}
	t := b.Begin()
	t.Pipeline, t.ImplicitBlock = pipeline, true
	if chain {
		t.Modes = modes
		t.Configure()
	}
	t.Used = true
	return nil
}

// complete tells the client that a statement has ended, and which settings have changed back with
// it.
func (b *Block) complete(tag string, w stmt.ResultWriter) error {
	if err := b.env.Settings.SendReport(w.Parameter); err != nil {
		return err
	}
	return w.Complete(tag)
}

func warnNoTransaction(w stmt.ResultWriter) error {
	return w.Notice(&pgerr.Error{
		Severity: "WARNING", Code: pgerr.NoActiveSQLTransaction, Message: "there is no transaction in progress",
	})
}

// SetConstraints runs SET CONSTRAINTS. Constraints that become immediate are checked at once.
func (b *Block) SetConstraints(
	ctx context.Context, c *stmt.Compiler, n *pg_query.ConstraintsSetStmt, w stmt.ResultWriter,
) error {
	if err := b.WarnOutside(w, "SET CONSTRAINTS"); err != nil {
		return err
	}
	list, err := integrity.FindConstraints(c, n)
	if err != nil {
		return err
	}
	if b.Tx != nil {
		t := &b.Tx.Constraints
		t.Set(n, list)
		if !n.Deferred {
			if err := t.CheckDeferred(ctx, b.env.Executor, false); err != nil {
				return err
			}
		}
	}
	return w.Complete("SET CONSTRAINTS")
}
