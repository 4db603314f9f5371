package sql

import (
	"context"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/integrity"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/tx"
)

// control runs BEGIN, COMMIT, ROLLBACK and the other statements that control transactions.
func (s *Session) control(ctx context.Context, n *pg_query.TransactionStmt, w stmt.ResultWriter) error {
	switch n.Kind {
	case pg_query.TransactionStmtKind_TRANS_STMT_BEGIN, pg_query.TransactionStmtKind_TRANS_STMT_START:
		return s.beginStmt(n, w)
	case pg_query.TransactionStmtKind_TRANS_STMT_COMMIT:
		return s.commitStmt(ctx, n.Chain, w)
	case pg_query.TransactionStmtKind_TRANS_STMT_ROLLBACK:
		return s.rollbackStmt(n.Chain, w)
	case pg_query.TransactionStmtKind_TRANS_STMT_SAVEPOINT:
		return s.savepointStmt(n.SavepointName, w)
	case pg_query.TransactionStmtKind_TRANS_STMT_RELEASE:
		return s.releaseStmt(n.SavepointName, w)
	case pg_query.TransactionStmtKind_TRANS_STMT_ROLLBACK_TO:
		return s.rollbackToStmt(n.SavepointName, w)
	case pg_query.TransactionStmtKind_TRANS_STMT_PREPARE:
		return s.prepareTransaction(ctx, n.Gid, w)
	case pg_query.TransactionStmtKind_TRANS_STMT_COMMIT_PREPARED:
		return s.commitPrepared(ctx, n.Gid, w)
	case pg_query.TransactionStmtKind_TRANS_STMT_ROLLBACK_PREPARED:
		return s.rollbackPrepared(ctx, n.Gid, w)
	}
	return pgerr.Unsupported("this transaction statement is not supported yet")
}

// beginStmt runs BEGIN and START TRANSACTION. What an implicit transaction has done so far becomes
// part of the explicit one.
func (s *Session) beginStmt(n *pg_query.TransactionStmt, w stmt.ResultWriter) error {
	if s.tx != nil && s.tx.Explicit {
		if err := w.Notice(&pgerr.Error{
			Severity: "WARNING", Code: pgerr.ActiveSQLTransaction,
			Message: "there is already a transaction in progress",
		}); err != nil {
			return err
		}
	}
	if s.tx == nil {
		s.begin()
	}
	if err := s.setModes(n.Options); err != nil {
		return err
	}
	s.tx.Explicit = true
	if n.Kind == pg_query.TransactionStmtKind_TRANS_STMT_START {
		return w.Complete("START TRANSACTION")
	}
	return w.Complete("BEGIN")
}

func (s *Session) commitStmt(ctx context.Context, chain bool, w stmt.ResultWriter) error {
	if chain {
		if err := s.needBlock("COMMIT AND CHAIN"); err != nil {
			return err
		}
	}
	if s.tx == nil || !s.tx.Explicit {
		if err := s.noTransaction(w); err != nil {
			return err
		}
		if s.tx != nil { // opened by earlier statements of the same query string or pipeline
			if err := s.commit(ctx); err != nil {
				return err
			}
		}
		return s.ended("COMMIT", w)
	}
	m := s.tx.Modes
	if s.tx.failed {
		s.closePortals()
		s.endImplicit()
		s.chain(chain, m)
		return s.ended("ROLLBACK", w)
	}
	if err := s.commit(ctx); err != nil {
		return err
	}
	s.chain(chain, m)
	return s.ended("COMMIT", w)
}

func (s *Session) rollbackStmt(chain bool, w stmt.ResultWriter) error {
	if chain {
		if err := s.needBlock("ROLLBACK AND CHAIN"); err != nil {
			return err
		}
	}
	if s.tx == nil || !s.tx.Explicit {
		if err := s.noTransaction(w); err != nil {
			return err
		}
	}
	if s.tx != nil {
		m := s.tx.Modes
		s.closePortals()
		s.endImplicit()
		s.chain(chain, m)
	}
	return s.ended("ROLLBACK", w)
}

// chain begins the next transaction with the modes of the one before.
func (s *Session) chain(chain bool, m tx.Modes) {
	if chain {
		t := s.begin()
		t.Explicit, t.Modes = true, m
		t.Configure()
	}
}

// ended tells the client that a transaction has ended, and which settings have changed back with
// it.
func (s *Session) ended(tag string, w stmt.ResultWriter) error {
	if err := s.reportSettings(w); err != nil {
		return err
	}
	return w.Complete(tag)
}

func (s *Session) noTransaction(w stmt.ResultWriter) error {
	return w.Notice(&pgerr.Error{
		Severity: "WARNING", Code: pgerr.NoActiveSQLTransaction, Message: "there is no transaction in progress",
	})
}

// setConstraints runs SET CONSTRAINTS. Constraints that become immediate are checked at once.
func (s *Session) setConstraints(ctx context.Context, n *pg_query.ConstraintsSetStmt, w stmt.ResultWriter) error {
	if err := s.warnNoBlock(w, "SET CONSTRAINTS"); err != nil {
		return err
	}
	list, err := integrity.FindConstraints(s.currentCompiler(), n)
	if err != nil {
		return err
	}
	if s.tx != nil {
		t := &s.tx.constraints
		t.Set(n, list)
		if !n.Deferred {
			if err := t.CheckDeferred(ctx, s.executor, false); err != nil {
				return err
			}
		}
	}
	return w.Complete("SET CONSTRAINTS")
}
