package sql

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/locks"
	"github.com/sherddb/sherd/sql/query"
)

// tableUse is a lock that a statement takes on a table before it is planned, and holds until the transaction ends.
type tableUse struct {
	table catalog.OID
	mode  locks.Mode
}

// holder gives the owner of the transaction's locks; the first that needs one makes it.
func (t *transaction) holder() *locks.Owner {
	if t.locks == nil {
		t.locks = t.env.locks.Begin(t.parts.ID())
	}
	return t.locks
}

// share keeps the definitions of tables still until the transaction ends.
func (t *transaction) share(ctx context.Context, uses []tableUse) error {
	for _, u := range uses {
		if err := t.lockTable(ctx, u.table, u.mode, false); err != nil {
			return err
		}
	}
	return nil
}

// lockTable takes the lock of a table until the transaction ends, or is rolled back to a savepoint before now. The error with noWait is
// locks.ErrNotAvailable, else 40P01, 55P03 or the context's cause.
func (t *transaction) lockTable(ctx context.Context, table catalog.OID, mode locks.Mode, noWait bool) error {
	return t.lock(ctx, locks.Table(t.env.database, table), mode, noWait)
}

// lock is lockTable for any object.
func (t *transaction) lock(ctx context.Context, tag locks.Tag, mode locks.Mode, noWait bool) error {
	if t.concernsOthers(tag, mode) {
		return t.lockEverywhere(ctx, tag, mode, noWait)
	}
	return t.lockHere(ctx, tag, mode, noWait)
}

func (t *transaction) lockHere(ctx context.Context, tag locks.Tag, mode locks.Mode, noWait bool) error {
	o := t.holder()
	err := o.Acquire(ctx, tag, locks.Request{Mode: mode, NoWait: true}) // only a wait needs to know the settings
	if err == nil || noWait || !errors.Is(err, locks.ErrNotAvailable) {
		return err
	}
	return lockError(ctx, o.Acquire(ctx, tag, t.env.lockRequest(mode)))
}

// barrier waits until all who may still use an older definition of a table have ended, no longer than for a lock. It stops nobody.
func (t *transaction) barrier(ctx context.Context, table catalog.OID) error {
	ctx, cancel := t.lockTimeout(ctx)
	defer cancel()
	return lockError(ctx, t.env.barrier(ctx, t.holder(), t.env.pid, locks.Table(t.env.database, table)))
}

// usesTable tells whether the transaction holds a lock of a table.
func (t *transaction) usesTable(table catalog.OID) bool {
	return t.locks != nil && t.locks.Holds(locks.Table(t.env.database, table)) != 0
}

// usesAlready tells whether the transaction holds a lock of a table that a function of the statement now wants for itself. One that an earlier attempt of
// the same statement has left does not count, once.
func (t *transaction) usesAlready(table catalog.OID) bool {
	return t.usesTable(table) && !slices.Contains(t.defined, table)
}

// defines notes that a function of the statement has tables for itself, to change their definitions.
func (t *transaction) defines(tables ...catalog.OID) {
	t.defining = append(t.defining, tables...)
	t.defined = slices.DeleteFunc(slices.Clone(t.defined), func(x catalog.OID) bool { return slices.Contains(tables, x) })
}

// lockWaits logs long waits for row locks as package locks does for others; nil where log_lock_waits is off.
func (s *Session) lockWaits() *exec.LockWaits {
	if on, _ := s.vars.get("log_lock_waits"); on != "on" {
		return nil
	}
	logger, pid, waits := s.db.cfg.Logger, s.start.PID, s.db.cfg.Deadlocks
	return &exec.LockWaits{
		After: max(s.milliseconds("deadlock_timeout"), time.Millisecond),
		Waits: func() bool { return len(blockers(waits.Waits())[pid]) > 0 },
		Still: func(doing string, waited time.Duration) {
			logger.Info("still waiting for a lock", "pid", pid, "lock", "row", "object", doing, "waited", waited,
				"blocked_by", blockers(waits.Waits())[pid])
		},
		Over: func(doing string, waited time.Duration, err error) {
			logger.Info("the wait for a lock is over", "pid", pid, "lock", "row", "object", doing, "waited", waited, "error", err)
		},
	}
}

// lockError gives what a client sees of a lock that was not taken.
func lockError(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && pgerr.Code(err) == pgerr.InternalError {
		return cancelled(ctx)
	}
	return err
}

// lockMark gives the place to which unlockTo returns.
func (t *transaction) lockMark() int {
	if t.locks == nil {
		return 0
	}
	return t.locks.Mark()
}

// unlockTo lets go of the locks taken since a mark.
func (t *transaction) unlockTo(mark int) {
	if t.locks != nil {
		t.locks.RollbackTo(mark)
		if e := t.env.tableLocks; e != nil {
			e.RollbackTo(t.locks.ID(), mark)
		}
	}
}

// unlock lets go of all locks.
func (t *transaction) unlock() {
	if t.locks != nil {
		t.locks.Release()
		if e := t.env.tableLocks; e != nil {
			e.Release(t.locks.ID())
		}
		t.locks = nil
	}
}

// tablesOf lists the locks that a query and its subqueries take: of one table the strongest first.
func tablesOf(q *query.Query) []tableUse {
	var out []tableUse
	eachQuery(q, func(q *query.Query) {
		for i, r := range q.Rels {
			if r.Table != nil {
				out = append(out, tableUse{r.Table.OID, useOf(q, i)})
			}
		}
	})
	return inOrder(out)
}

// inOrder sorts locks by table, so that two statements seldom meet in a circle; of one table the strongest first.
func inOrder(uses []tableUse) []tableUse {
	slices.SortFunc(uses, func(a, b tableUse) int { return cmp.Or(cmp.Compare(a.table, b.table), cmp.Compare(b.mode, a.mode)) })
	return slices.Compact(uses)
}

// useOf gives the lock that one range table entry needs.
func useOf(q *query.Query, rel int) locks.Mode {
	if q.Command != query.Select && rel == q.Result {
		return locks.RowExclusive
	}
	for _, l := range q.Locking {
		if slices.Contains(l.Rels, rel) {
			return locks.RowShare
		}
	}
	return locks.AccessShare
}
