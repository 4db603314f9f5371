package session

import (
	"context"
	"errors"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/txn/locks"
)

// lockStmt runs LOCK TABLE. The grammar numbers the modes as package locks does. implicitBlock
// reports whether other statements share its transaction.
func (s *Session) lockStmt(ctx context.Context, n *pg_query.LockStmt, w stmt.ResultWriter, implicitBlock bool) error {
	if (s.block.Tx == nil || !s.block.Tx.Explicit) && !implicitBlock {
		return pgerr.New(pgerr.NoActiveSQLTransaction, "LOCK TABLE can only be used in transaction blocks")
	}
	if s.block.Tx == nil {
		s.block.Begin().ImplicitBlock = true
	}
	for _, r := range n.Relations {
		if err := s.lockRelation(ctx, r.GetRangeVar(), locks.Mode(n.Mode), n.Nowait); err != nil {
			return err
		}
	}
	return w.Complete("LOCK TABLE")
}

// lockRelation locks the table that has a name.
func (s *Session) lockRelation(ctx context.Context, rv *pg_query.RangeVar, mode locks.Mode, noWait bool) error {
	err := s.block.Tx.LockNamed(ctx, func() (catalog.OID, error) {
		t, err := analyze.Table(s.currentCompiler().Analysis(s.query), rv)
		if err != nil {
			return 0, s.notLockable(rv, err)
		}
		return t.OID, s.currentCompiler().CheckTable(t)
	}, mode, noWait)
	if errors.Is(err, locks.ErrNotAvailable) {
		return pgerr.New(pgerr.LockNotAvailable, `could not obtain lock on relation "%s"`, rv.Relname)
	}
	return err
}

// notLockable returns the error for a relation that was not found as a table. LOCK TABLE's errors
// have no position.
func (s *Session) notLockable(rv *pg_query.RangeVar, err error) error {
	if pgerr.Is(err, pgerr.WrongObjectType) && pgerr.From(err).Detail != "" {
		return pgerr.New(pgerr.WrongObjectType, `cannot lock relation "%s"`, rv.Relname).
			WithDetail("%s", pgerr.From(err).Detail)
	}
	if pgerr.Is(err, pgerr.WrongObjectType) {
		return pgerr.Unsupported(`LOCK TABLE of system relation "%s" is not supported`, rv.Relname).
			WithHint("Each statement computes the rows of system relations again, so there is nothing to lock.")
	}
	parts := []string{rv.Relname}
	if rv.Schemaname != "" {
		parts = []string{rv.Schemaname, rv.Relname}
	}
	if pgerr.Is(err, pgerr.UndefinedTable) && s.names().FindRelation(parts) != 0 {
		return pgerr.New(pgerr.WrongObjectType, `cannot lock relation "%s"`, rv.Relname).
			WithDetail("This operation is not supported for indexes.")
	}
	e := *pgerr.From(err)
	e.Position = 0
	return &e
}
