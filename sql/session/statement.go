package session

import (
	"context"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/explain"
	"github.com/sherddb/sherd/sql/function"
	"github.com/sherddb/sherd/sql/parameter"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/types"
)

// utility runs a statement that is not a query. implicitBlock reports whether other statements share
// its query string, and so its transaction.
func (s *Session) utility(ctx context.Context, st parse.Statement, w stmt.ResultWriter, implicitBlock bool) error {
	s.freshen()
	s.query = st.Text()
	if s.block.Tx != nil && parse.TakesSnapshot(st.Node) {
		s.block.Tx.Used = true
		if err := s.block.Tx.TakeSnapshot(ctx); err != nil {
			return err
		}
	}
	switch n := st.Node.Node.(type) {
	case *pg_query.Node_TransactionStmt:
		return s.noticing(w, func(w stmt.ResultWriter) error { return s.block.Control(ctx, n.TransactionStmt, w) })
	case *pg_query.Node_VariableShowStmt:
		return s.settings.Show(n.VariableShowStmt, w)
	case *pg_query.Node_VariableSetStmt:
		return s.settings.Set(ctx, n.VariableSetStmt, w)
	case *pg_query.Node_ExplainStmt:
		return s.explain(ctx, st, n.ExplainStmt, w)
	case *pg_query.Node_PrepareStmt:
		return complete(w, "PREPARE", s.portals.Statements.Prepare(ctx, st, n.PrepareStmt))
	case *pg_query.Node_ExecuteStmt:
		return s.executeStmt(ctx, n.ExecuteStmt, w)
	case *pg_query.Node_DeallocateStmt:
		tag, err := s.portals.Statements.Deallocate(n.DeallocateStmt)
		return complete(w, tag, err)
	case *pg_query.Node_DiscardStmt:
		return s.discard(ctx, n.DiscardStmt, w, implicitBlock)
	case *pg_query.Node_DeclareCursorStmt:
		return s.declareCursor(ctx, st, n.DeclareCursorStmt, w)
	case *pg_query.Node_FetchStmt:
		return s.fetch(ctx, n.FetchStmt, w)
	case *pg_query.Node_ClosePortalStmt:
		tag, err := s.portals.CloseCursor(n.ClosePortalStmt)
		return complete(w, tag, err)
	case *pg_query.Node_ConstraintsSetStmt:
		return setConstraints(ctx, s, n.ConstraintsSetStmt, w)
	case *pg_query.Node_LockStmt:
		return s.node.knownNames(ctx, func() error { return s.lockStmt(ctx, n.LockStmt, w, implicitBlock) })
	case *pg_query.Node_ListenStmt:
		return s.block.Listen(ctx, n.ListenStmt.Conditionname, true, w, implicitBlock)
	case *pg_query.Node_UnlistenStmt:
		return s.block.Listen(ctx, n.UnlistenStmt.Conditionname, false, w, implicitBlock)
	case *pg_query.Node_NotifyStmt:
		return s.block.Notify(n.NotifyStmt, w, implicitBlock)
	case *pg_query.Node_CreateTableAsStmt:
		return s.createTableAs(ctx, st, n.CreateTableAsStmt, w, implicitBlock)
	case *pg_query.Node_RefreshMatViewStmt:
		return refreshMaterialized(ctx, s, st, n.RefreshMatViewStmt, w, implicitBlock)
	case *pg_query.Node_SelectStmt: // IsQuery is false because it has an INTO
		return s.selectInto(ctx, st, n.SelectStmt, w, implicitBlock)
	case *pg_query.Node_CopyStmt:
		return s.copyStmt(ctx, st, n.CopyStmt, w)
	case *pg_query.Node_DoStmt:
		return anonymous{procedural{s}, w}.do(ctx, st, n.DoStmt, implicitBlock)
	case *pg_query.Node_VacuumStmt:
		return vacuum{Session: s, w: w}.known(ctx, n.VacuumStmt, implicitBlock)
	}
	s.node.CatchUp(ctx) // DDL changes the definitions as they are in the cluster
	if what := parse.CommitsItself(st.Node); what != "" {
		if err := s.block.PreventInBlock(what, implicitBlock, s.leads); err != nil {
			return err
		}
		return s.definitionOutsideBlock(ctx, st, w)
	}
	if tag, ok := parse.NeedsNoWork(st.Node); ok {
		return w.Complete(tag)
	}
	return s.definition(ctx, st, w, implicitBlock)
}

// utilityColumns describes the rows of a statement that is neither a query nor runs one; nil if it
// returns none.
func utilityColumns(n *pg_query.Node) []stmt.Column {
	switch n := n.Node.(type) {
	case *pg_query.Node_VariableShowStmt:
		return parameter.Columns(n.VariableShowStmt)
	case *pg_query.Node_ExplainStmt:
		return explain.Columns(n.ExplainStmt)
	}
	return nil
}

// discard runs DISCARD.
func (s *Session) discard(
	ctx context.Context, n *pg_query.DiscardStmt, w stmt.ResultWriter, implicitBlock bool,
) error {
	tag := "DISCARD " + strings.TrimPrefix(n.Target.String(), "DISCARD_")
	switch n.Target {
	case pg_query.DiscardMode_DISCARD_ALL:
		if s.block.Tx != nil && s.block.Tx.Explicit {
			return pgerr.New(pgerr.ActiveSQLTransaction, "DISCARD ALL cannot run inside a transaction block")
		}
		s.portals.CloseAll()
		s.portals.Statements.CloseAll()
		s.locks.UnlockAll()
		s.vars.ResetAll(0)
		s.sequences.Reset()
		s.listener.UnlistenAll()
		if err := dropTemporary(ctx, s, implicitBlock); err != nil {
			return err
		}
		if err := s.vars.SendReport(w.Parameter); err != nil {
			return err
		}
	case pg_query.DiscardMode_DISCARD_TEMP:
		if err := dropTemporary(ctx, s, implicitBlock); err != nil {
			return err
		}
	case pg_query.DiscardMode_DISCARD_SEQUENCES:
		s.sequences.Reset()
	}
	return w.Complete(tag)
}

// dropTemporary drops the session's temporary objects, if it has any.
func dropTemporary(ctx context.Context, s *Session, implicitBlock bool) error {
	if temporaryIn(s, s.block.View()) == nil {
		return nil
	}
	return s.txEnv.Temporary.Drop(ctx, s.block.Join(implicitBlock).Tx)
}

// bound holds the parameters that a client has bound to a statement that is not a query but
// contains one.
type bound struct {
	params []types.OID
	args   []types.Datum
	vars   function.Names // of a function's statement; nil: it is the client's
}

// containedProgram returns the program of a contained query, and the arguments bound to its
// parameters.
func (s *Session) containedProgram(ctx context.Context, inner parse.Statement) (*stmt.Program, []types.Datum, error) {
	switch b := s.bound; {
	case b != nil && b.vars != nil:
		p, err := s.currentCompiler().ForFunction(inner, b.vars)
		if err != nil {
			return nil, nil, err
		}
		return p, b.args[:len(p.Params)], nil
	case b != nil:
		p, err := s.program(ctx, inner, b.params)
		return p, b.args, err
	}
	p, err := s.program(ctx, inner, nil)
	if err == nil && len(p.Params) > 0 || pgerr.Is(err, pgerr.IndeterminateDatatype) {
		err = s.currentCompiler().NoParameters(inner)
	}
	return p, nil, err
}

// setConstraints is SET CONSTRAINTS, which may fire triggers.
func setConstraints(ctx context.Context, s *Session, n *pg_query.ConstraintsSetStmt, w stmt.ResultWriter) error {
	return s.noticing(w, func(w stmt.ResultWriter) error {
		return s.block.SetConstraints(ctx, s.currentCompiler(), n, w)
	})
}
