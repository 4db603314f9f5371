package sql

import (
	"context"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/sql/stmt"
)

// runAlone runs a portal of the extended protocol that is all of its transaction together with the commit, which Sync
// would ask for at once. prog is nil if the statement is not a query.
func (s *Session) runAlone(ctx context.Context, p *portal, prog *stmt.Program, w stmt.ResultWriter) error {
	h := stmt.NewHoldingWriter(w, s.db.cfg.TempDir, true)
	h.Hold()
	run := func() error {
		if prog == nil {
			return s.utility(ctx, *p.st.stmt, h, false)
		}
		return s.runQuery(ctx, prog, p.args, h)
	}
	err := s.autocommit(ctx, h, run, func() (err error) {
		s.begin().Pipeline = true
		if s.leads = true; prog != nil {
			prog, err = s.refresh(ctx, p.st)
		}
		return err
	})
	if err != nil {
		return err
	}
	return h.Send()
}

// holdUtility has what a statement answers that is no query kept until its commit, where it is all of its transaction.
func (s *Session) holdUtility(n *pg_query.Node, w stmt.ResultWriter) {
	if h, ok := w.(*stmt.HoldingWriter); ok && s.mayMeetMoves(n) {
		h.Hold()
	}
}

// mayMeetMoves tells whether a statement that is no query writes rows, or makes definitions, which a move can be in the way of.
func (s *Session) mayMeetMoves(n *pg_query.Node) bool {
	switch x := n.Node.(type) {
	case *pg_query.Node_TransactionStmt, *pg_query.Node_VariableSetStmt, *pg_query.Node_VariableShowStmt, *pg_query.Node_ConstraintsSetStmt, *pg_query.Node_PrepareStmt,
		*pg_query.Node_DeallocateStmt, *pg_query.Node_DiscardStmt, *pg_query.Node_FetchStmt, *pg_query.Node_ClosePortalStmt, *pg_query.Node_LockStmt, *pg_query.Node_ListenStmt,
		*pg_query.Node_UnlistenStmt, *pg_query.Node_NotifyStmt:
		return false
	case *pg_query.Node_CopyStmt:
		return x.CopyStmt.IsFrom
	case *pg_query.Node_ExecuteStmt:
		p, ok := s.statements[x.ExecuteStmt.Name]
		return ok && p.stmt != nil && (p.program == nil || p.program.Writes)
	}
	return runsAlone(n) == "" || n.GetIndexStmt() != nil
}
