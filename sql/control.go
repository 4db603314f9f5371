package sql

import (
	"context"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
)

// control is BEGIN, COMMIT, ROLLBACK and their kin.
func (s *Session) control(ctx context.Context, n *pg_query.TransactionStmt, w ResultWriter) error {
	switch n.Kind {
	case pg_query.TransactionStmtKind_TRANS_STMT_BEGIN, pg_query.TransactionStmtKind_TRANS_STMT_START:
		return s.beginStmt(ctx, n, w)
	case pg_query.TransactionStmtKind_TRANS_STMT_COMMIT:
		return s.commitStmt(ctx, n.Chain, w)
	case pg_query.TransactionStmtKind_TRANS_STMT_ROLLBACK:
		return s.rollbackStmt(n.Chain, w)
	case pg_query.TransactionStmtKind_TRANS_STMT_SAVEPOINT, pg_query.TransactionStmtKind_TRANS_STMT_RELEASE,
		pg_query.TransactionStmtKind_TRANS_STMT_ROLLBACK_TO:
		return pgerr.Unsupported("savepoints are not supported yet").WithHint("Split the work into transactions of its own.")
	}
	return pgerr.Unsupported("prepared transactions are not supported yet").
		WithHint("A transaction over several fragments commits atomically with COMMIT.")
}

func (s *Session) beginStmt(ctx context.Context, n *pg_query.TransactionStmt, w ResultWriter) error {
	if s.tx != nil && s.tx.explicit {
		if err := w.Notice(&pgerr.Error{Severity: "WARNING", Code: pgerr.ActiveSQLTransaction, Message: "there is already a transaction in progress"}); err != nil {
			return err
		}
		return w.Complete(beginTag(n))
	}
	readOnly, err := s.transactionModes(n.Options)
	if err != nil {
		return err
	}
	if s.tx == nil {
		s.begin()
	}
	s.tx.explicit, s.tx.readOnly = true, readOnly
	return w.Complete(beginTag(n))
}

func beginTag(n *pg_query.TransactionStmt) string {
	if n.Kind == pg_query.TransactionStmtKind_TRANS_STMT_START {
		return "START TRANSACTION"
	}
	return "BEGIN"
}

// transactionModes reads ISOLATION LEVEL, READ ONLY and DEFERRABLE.
func (s *Session) transactionModes(options []*pg_query.Node) (readOnly bool, err error) {
	def, _ := s.vars.get("default_transaction_read_only")
	readOnly = def == "on"
	for _, o := range options {
		d := o.GetDefElem()
		value := d.GetArg().GetAConst()
		switch d.GetDefname() {
		case "transaction_isolation":
			if err := checkIsolation(value.GetSval().GetSval()); err != nil {
				return false, err
			}
		case "transaction_read_only":
			readOnly = value.GetIval().GetIval() != 0
		}
	}
	return readOnly, nil
}

func checkIsolation(level string) error {
	if strings.EqualFold(level, "repeatable read") {
		return nil
	}
	return pgerr.Unsupported("isolation level %s is not supported yet", strings.ToUpper(level)).
		WithHint("Transactions are REPEATABLE READ for now: BEGIN without a level, or with ISOLATION LEVEL REPEATABLE READ.")
}

func (s *Session) commitStmt(ctx context.Context, chain bool, w ResultWriter) error {
	if chain {
		return pgerr.Unsupported("COMMIT AND CHAIN is not supported yet").WithHint("Send COMMIT, then BEGIN.")
	}
	if s.tx == nil || !s.tx.explicit {
		if err := s.noTransaction(w); err != nil {
			return err
		}
		if s.tx != nil { // of the statements before, in the same query string or pipeline
			s.closePortals()
			if err := s.commit(ctx); err != nil {
				return err
			}
		}
		return w.Complete("COMMIT")
	}
	s.closePortals()
	if s.tx.failed {
		s.endExplicit(false)
		if err := s.settingsChanged(w); err != nil {
			return err
		}
		return w.Complete("ROLLBACK")
	}
	if err := s.commit(ctx); err != nil {
		return err
	}
	if err := s.settingsChanged(w); err != nil {
		return err
	}
	return w.Complete("COMMIT")
}

func (s *Session) rollbackStmt(chain bool, w ResultWriter) error {
	if chain {
		return pgerr.Unsupported("ROLLBACK AND CHAIN is not supported yet").WithHint("Send ROLLBACK, then BEGIN.")
	}
	if s.tx == nil || !s.tx.explicit {
		if err := s.noTransaction(w); err != nil {
			return err
		}
		if s.tx != nil {
			s.closePortals()
			s.endImplicit(false)
		}
		return w.Complete("ROLLBACK")
	}
	s.closePortals()
	s.endExplicit(false)
	if err := s.settingsChanged(w); err != nil {
		return err
	}
	return w.Complete("ROLLBACK")
}

func (s *Session) noTransaction(w ResultWriter) error {
	return w.Notice(&pgerr.Error{Severity: "WARNING", Code: pgerr.NoActiveSQLTransaction, Message: "there is no transaction in progress"})
}

func (s *Session) endExplicit(committed bool) {
	s.tx.explicit = false
	s.endImplicit(committed)
}
