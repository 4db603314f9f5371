package analyze

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/query"
)

// lockingClause is FOR UPDATE, FOR SHARE and similar clauses (transformLockingClause). They lock
// the tables named, or all of FROM including those in subqueries.
func (s *scope) lockingClause(clauses []*pg_query.Node) error {
	for _, n := range clauses {
		lock := lockOf(n)
		names := n.GetLockingClause().LockedRels
		if len(names) == 0 {
			if err := lockAll(s.q, lock); err != nil {
				return err
			}
			continue
		}
		if err := lockable(s.q, lock.Strength); err != nil {
			return err
		}
		for _, rel := range names {
			if err := s.lockNamed(&lock, rel.GetRangeVar()); err != nil {
				return err
			}
		}
		addLock(s.q, lock)
	}
	return nil
}

// lockOf reads a clause without its tables.
func lockOf(n *pg_query.Node) query.RowLock {
	c := n.GetLockingClause()
	l := query.RowLock{Strength: query.LockUpdate}
	switch c.Strength {
	case pg_query.LockClauseStrength_LCS_FORKEYSHARE:
		l.Strength = query.LockKeyShare
	case pg_query.LockClauseStrength_LCS_FORSHARE:
		l.Strength = query.LockShare
	case pg_query.LockClauseStrength_LCS_FORNOKEYUPDATE:
		l.Strength = query.LockNoKeyUpdate
	}
	switch c.WaitPolicy {
	case pg_query.LockWaitPolicy_LockWaitSkip:
		l.Wait = query.LockSkip
	case pg_query.LockWaitPolicy_LockWaitError:
		l.Wait = query.LockError
	}
	return l
}

// lockable refuses to lock the rows of a query that are not rows of its tables
// (CheckSelectLocking).
func lockable(q *query.Query, strength query.LockStrength) error {
	why := ""
	switch {
	case q.SetOp != nil:
		why = "UNION/INTERSECT/EXCEPT"
	case q.Distinct:
		why = "DISTINCT clause"
	case len(q.GroupBy) > 0 || q.GroupingSets != nil:
		why = "GROUP BY clause"
	case q.Having != nil:
		why = "HAVING clause"
	case q.HasAggs:
		why = "aggregate functions"
	case q.HasWindow:
		why = "window functions"
	case q.HasSRFs:
		why = "set-returning functions in the target list"
	default:
		return nil
	}
	return pgerr.Unsupported("%s is not allowed with %s", strength, why)
}

// lockAll locks all tables of q and of the subqueries in its FROM. Functions, WITH queries and
// system views have no rows to lock.
func lockAll(q *query.Query, lock query.RowLock) error {
	if err := lockable(q, lock.Strength); err != nil {
		return err
	}
	lock.Rels = nil
	for i, r := range q.Rels {
		if err := noSequence(r); err != nil {
			return err
		}
		switch r.Kind {
		case query.RelTable:
			lock.Rels = append(lock.Rels, i)
		case query.RelSubquery:
			if r.Subquery == nil { // a view in a query that is analyzed for its form
				lock.Rels = append(lock.Rels, i)
				continue
			}
			r.Named.Locked = true
			if err := lockAll(r.Subquery, lock); err != nil {
				return err
			}
		}
	}
	addLock(q, lock)
	return nil
}

// noSequence refuses to lock the row of a sequence.
func noSequence(r *query.Rel) error {
	if r.Kind == query.RelSystem && r.Table != nil {
		return pgerr.New(pgerr.WrongObjectType, "cannot lock rows in sequence %q", r.Table.Name)
	}
	return nil
}

func addLock(q *query.Query, lock query.RowLock) {
	if len(lock.Rels) > 0 {
		q.Locking = append(q.Locking, lock)
	}
}

// lockNamed adds a lock of the entry of FROM that OF names.
func (s *scope) lockNamed(lock *query.RowLock, name *pg_query.RangeVar) error {
	if name.Schemaname != "" || name.Catalogname != "" {
		return s.errorf(name.Location, pgerr.SyntaxError, "%s must specify unqualified relation names", lock.Strength)
	}
	for i, r := range s.q.Rels {
		if r.Alias != name.Relname {
			continue
		}
		if err := noSequence(r); err != nil {
			return err
		}
		switch r.Kind {
		case query.RelTable:
			lock.Rels = append(lock.Rels, i)
			return nil
		case query.RelSubquery:
			if r.Subquery == nil {
				lock.Rels = append(lock.Rels, i)
				return nil
			}
			return lockAll(r.Subquery, *lock)
		case query.RelSystem:
			return nil
		}
		what := map[query.RelKind]string{query.RelFunction: "a function", query.RelCTE: "a WITH query"}[r.Kind]
		return s.errorf(name.Location, pgerr.FeatureNotSupported, "%s cannot be applied to %s", lock.Strength, what)
	}
	for _, it := range s.names {
		if it.alias == name.Relname {
			return s.errorf(name.Location, pgerr.FeatureNotSupported, "%s cannot be applied to a join", lock.Strength)
		}
	}
	return s.errorf(name.Location, pgerr.UndefinedTable, "relation %q in %s clause not found in FROM clause",
		name.Relname, lock.Strength)
}
