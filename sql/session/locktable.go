package session

import (
	"context"
	"errors"
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/catalog/acl"
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
	if c := s.currentCompiler(); analyze.FindView(c.Analysis(s.query), rv) != nil {
		return lockView(ctx, s, rv, mode, noWait)
	}
	err := s.block.Tx.LockNamed(ctx, func() (catalog.OID, error) {
		t, err := analyze.Table(s.currentCompiler().Analysis(s.query), rv)
		if err != nil {
			return 0, s.notLockable(rv, err)
		}
		return t.OID, s.currentCompiler().CheckTable(t, privilegesToLock(mode))
	}, mode, noWait)
	if errors.Is(err, locks.ErrNotAvailable) {
		return pgerr.New(pgerr.LockNotAvailable, `could not obtain lock on relation "%s"`, rv.Relname)
	}
	return err
}

// lockView locks a view, and the relations that it reads.
func lockView(ctx context.Context, s *Session, rv *pg_query.RangeVar, mode locks.Mode, noWait bool) error {
	err := s.block.Tx.LockNamed(ctx, func() (catalog.OID, error) {
		c := s.currentCompiler()
		v := analyze.FindView(c.Analysis(s.query), rv)
		if v == nil {
			return 0, pgerr.New(pgerr.UndefinedTable, `relation "%s" does not exist`, rv.Relname)
		}
		return v.OID, c.CheckTable(v, privilegesToLock(mode))
	}, mode, noWait)
	c := s.currentCompiler()
	v := analyze.FindView(c.Analysis(s.query), rv)
	if err == nil && v != nil {
		for _, b := range relationsBelow(c, v) {
			if err = stmt.CheckRelation(c.View, s.database, b.role, b.table, privilegesToLock(mode)); err != nil {
				break
			}
			if err = s.block.Tx.LockTable(ctx, b.table.OID, mode, noWait); err != nil {
				break
			}
		}
	}
	if errors.Is(err, locks.ErrNotAvailable) {
		return pgerr.New(pgerr.LockNotAvailable, `could not obtain lock on relation "%s"`, rv.Relname)
	}
	return err
}

// privilegesToLock returns privileges; LOCK TABLE needs one of them.
func privilegesToLock(mode locks.Mode) acl.Mode {
	switch mode {
	case locks.AccessShare:
		return acl.Select
	case locks.RowExclusive:
		return acl.Insert | acl.Update | acl.Delete | acl.Truncate
	}
	return acl.Update | acl.Delete | acl.Truncate
}

// relationBelow is a relation that a view reads, with the role whose privileges count.
type relationBelow struct {
	table *catalog.Table
	role  catalog.OID
}

// relationsBelow returns the tables and views that a view reads, directly or through others.
func relationsBelow(c *stmt.Compiler, v *catalog.Table) (out []relationBelow) {
	for list := []relationBelow{{v, c.Role}}; len(list) > 0; list = list[1:] {
		role := list[0].role
		if !list[0].table.SecurityInvoker() {
			role = list[0].table.Owner
		}
		for _, u := range list[0].table.View.Uses {
			t := c.View.Table(u.Relation)
			below := relationBelow{t, role}
			if t == nil || t.Sequence != nil || slices.Contains(out, below) {
				continue
			}
			out = append(out, below)
			if t.IsView() {
				list = append(list, below)
			}
		}
	}
	return out
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
