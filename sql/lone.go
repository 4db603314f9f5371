package sql

import (
	"context"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/types"
)

// loneAnswer keeps what a statement answers that is all of its transaction, until that has committed: where the commit meets a conflict, as with rows
// that have moved to another fragment meanwhile, nobody has seen anything, and it is run again. A long answer is passed on as it comes.
type loneAnswer struct {
	ResultWriter
	held heldAnswer
	tag  string
}

// Row implements ResultWriter.
func (a *loneAnswer) Row(row []types.Datum) error { return a.held.add(row) }

// Notice implements ResultWriter. A client that has been told of something does not hear of it again.
func (a *loneAnswer) Notice(n *pgerr.Error) error {
	if err := a.held.pass(); err != nil {
		return err
	}
	return a.ResultWriter.Notice(n)
}

// Complete implements ResultWriter.
func (a *loneAnswer) Complete(tag string) error {
	a.tag = tag
	return nil
}

// runLone runs a statement that writes, of the extended protocol, together with its commit, which Sync would ask for at once.
func (s *Session) runLone(ctx context.Context, p *portal, prog *stmt.Program, w ResultWriter) error {
	a := &loneAnswer{ResultWriter: w}
	a.held.emit = w.Row
	for n := 1; ; n++ {
		err := s.runQuery(ctx, prog, p.args, a)
		if err != nil && !cutOff(err) {
			return err
		}
		if err == nil {
			err = s.commit(unbounded(ctx))
		}
		if err == nil {
			if err := a.held.pass(); err != nil {
				return err
			}
			return w.Complete(a.tag)
		}
		if a.held.passed || n >= maxCommits || !pgerr.Is(err, pgerr.SerializationFailure) {
			return err
		}
		if !sleep(ctx, pause) {
			return pgerr.Cancelled(ctx)
		}
		s.fail()
		a.held.drop()
		s.begin().Pipeline = true
		if prog, err = s.refresh(ctx, p.st); err != nil {
			return err
		}
	}
}

// runLoneUtility is runLone for what is no query.
func (s *Session) runLoneUtility(ctx context.Context, p *portal, w ResultWriter) error {
	c := &completion{ResultWriter: w, dir: s.db.cfg.TempDir, lone: true}
	run := func() error {
		s.holdUtility(p.st.stmt.Node, c)
		return s.utility(ctx, *p.st.stmt, c, false)
	}
	err := s.untilCommitted(ctx, c, run, func() {
		s.begin().Pipeline = true
		s.leads = true
	})
	if err != nil {
		return err
	}
	return c.send()
}

// holdUtility has what a statement answers that is no query kept until its commit, where it is all of its transaction.
func (s *Session) holdUtility(n *pg_query.Node, w ResultWriter) {
	if c, ok := w.(*completion); ok && s.mayMeetMoves(n) {
		c.hold()
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
