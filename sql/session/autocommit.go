package session

import (
	"context"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/portal"
	"github.com/sherddb/sherd/sql/stmt"
)

// isAutocommit reports whether the running statement is all of its transaction.
func (s *Session) isAutocommit(implicitBlock bool) bool {
	if s.block.Tx == nil {
		return !implicitBlock
	}
	return s.leads && s.lastOfPipeline && s.block.Tx.Pipeline && !s.block.Tx.Explicit
}

// autocommit runs a statement and commits an implicit transaction. It runs both again if w allows
// it; then reopen opens the next transaction, unless run does. What statement_timeout leaves of ctx
// bounds all runs together. As in PostgreSQL it does not interrupt a commit, because the client
// would not know its outcome.
func (s *Session) autocommit(ctx context.Context, w *stmt.HoldingWriter, run, reopen func() error) error {
	commit := func() error {
		if s.block.Tx == nil || s.block.Tx.Explicit {
			return nil
		}
		err := s.block.Commit(unbounded(ctx))
		if nerr := s.sendNotices(w); err == nil { // of deferred triggers
			err = nerr
		}
		return err
	}
	return stmt.Autocommit(ctx, w, run, commit, func() error {
		s.block.Fail()
		if reopen == nil {
			return nil
		}
		return reopen()
	})
}

// runAutocommit runs a portal of the extended protocol that is all of its transaction, and commits
// at once, because the Sync that follows would commit anyway. prog is nil if the statement is not a
// query.
func (s *Session) runAutocommit(ctx context.Context, p *portal.Portal, prog *stmt.Program, w stmt.ResultWriter) error {
	h := stmt.NewHoldingWriter(w, s.node.TempDir, true)
	h.Hold()
	run := func() error {
		if prog == nil {
			return s.utility(ctx, *p.Statement.Tree, h, false)
		}
		return s.runQuery(ctx, prog, p.Args, h)
	}
	err := s.autocommit(ctx, h, run, func() (err error) {
		s.block.Begin().Pipeline = true
		if s.leads = true; prog != nil {
			prog, err = s.portals.Statements.ForArgs(ctx, p.Statement, p.Args)
		}
		return err
	})
	if err != nil {
		return err
	}
	return h.Send()
}

// holdUtility makes w keep the answer of a statement that is not a query until its commit, if the
// statement is all of its transaction.
func (s *Session) holdUtility(n *pg_query.Node, w stmt.ResultWriter) {
	if h, ok := w.(*stmt.HoldingWriter); ok && s.mayMeetMoves(n) {
		h.Hold()
	}
}

// mayMeetMoves reports whether a statement that is not a query writes rows or changes definitions,
// so that a move can conflict with it.
func (s *Session) mayMeetMoves(n *pg_query.Node) bool {
	switch x := n.Node.(type) {
	case *pg_query.Node_TransactionStmt, *pg_query.Node_VariableSetStmt, *pg_query.Node_VariableShowStmt,
		*pg_query.Node_ConstraintsSetStmt, *pg_query.Node_PrepareStmt, *pg_query.Node_DeallocateStmt,
		*pg_query.Node_DiscardStmt, *pg_query.Node_FetchStmt, *pg_query.Node_ClosePortalStmt,
		*pg_query.Node_LockStmt, *pg_query.Node_ListenStmt, *pg_query.Node_UnlistenStmt, *pg_query.Node_NotifyStmt:
		return false
	case *pg_query.Node_CopyStmt:
		return x.CopyStmt.IsFrom
	case *pg_query.Node_ExecuteStmt:
		st, err := s.portals.Statements.Find(x.ExecuteStmt.Name)
		return err == nil && st.MayWrite()
	}
	return parse.CommitsItself(n) == "" || n.GetIndexStmt() != nil || n.GetVacuumStmt() != nil
}
