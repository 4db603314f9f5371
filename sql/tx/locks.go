package tx

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/locks"
)

// TableUse is a lock that a statement takes on a table before it is planned, and holds until the
// transaction ends.
type TableUse struct {
	Table catalog.OID
	Mode  locks.Mode
}

// InOrder sorts uses by table, so that two statements seldom deadlock; of one table the strongest first.
func InOrder(uses []TableUse) []TableUse {
	slices.SortFunc(uses, func(a, b TableUse) int {
		return cmp.Or(cmp.Compare(a.Table, b.Table), cmp.Compare(b.Mode, a.Mode))
	})
	return slices.Compact(uses)
}

// Locks are the locks of one transaction: of tables, of definitions and, by its owner, advisory ones.
type Locks struct {
	env      *Environment
	id       txn.ID
	owner    *locks.Owner  // nil before the first
	defining []catalog.OID // the tables whose definitions functions of the running statement change
	defined  []catalog.OID // likewise of its attempt before, whose locks are left

	usesTemporary bool // a statement has used a temporary table
}

// LockOwner returns the owner of the transaction's locks, and makes it on the first call.
func (l *Locks) LockOwner() *locks.Owner {
	if l.owner == nil {
		l.owner = l.env.Locks.Begin(l.id)
	}
	return l.owner
}

// LockTables keeps the definitions of tables still until the transaction ends.
func (l *Locks) LockTables(ctx context.Context, uses []TableUse) error {
	for _, u := range uses {
		if err := l.LockTable(ctx, u.Table, u.Mode, false); err != nil {
			return err
		}
	}
	return nil
}

// LockTable takes the lock of a table until the transaction ends, or is rolled back to a savepoint
// before now. The error with noWait is locks.ErrNotAvailable, else 40P01, 55P03 or the context's
// cause.
func (l *Locks) LockTable(ctx context.Context, table catalog.OID, mode locks.Mode, noWait bool) error {
	if p := l.env.Temporary; p != nil && p.objects.Has(table) {
		l.usesTemporary = true
	}
	return l.lock(ctx, locks.Table(l.env.Database, table), mode, noWait)
}

// LockNamed is LockTable for the table that find returns when the lock is granted: while it waits,
// another table may take the name. It does not keep the lock of the first one then.
func (l *Locks) LockNamed(
	ctx context.Context, find func() (catalog.OID, error), mode locks.Mode, noWait bool,
) error {
	table, err := find()
	for err == nil {
		mark := l.lockMark()
		if err := l.LockTable(ctx, table, mode, noWait); err != nil {
			return err
		}
		locked := table
		if table, err = find(); err == nil && table == locked {
			return nil
		}
		l.unlockTo(mark)
	}
	return err
}

// lock is LockTable for any object.
func (l *Locks) lock(ctx context.Context, tag locks.Tag, mode locks.Mode, noWait bool) error {
	if l.concernsOthers(tag, mode) {
		return l.lockEverywhere(ctx, tag, mode, noWait)
	}
	return l.lockHere(ctx, tag, mode, noWait)
}

func (l *Locks) lockHere(ctx context.Context, tag locks.Tag, mode locks.Mode, noWait bool) error {
	o := l.LockOwner()
	err := o.Acquire(ctx, tag, locks.Request{Mode: mode, NoWait: true}) // only a wait needs to know the settings
	if err == nil || noWait || !errors.Is(err, locks.ErrNotAvailable) {
		return err
	}
	return LockError(ctx, o.Acquire(ctx, tag, l.env.LockRequest(mode)))
}

// Barrier waits until all transactions that may still use an older definition of a table have
// ended, no longer than for a lock. It does not stop them.
func (l *Locks) Barrier(ctx context.Context, table catalog.OID) error {
	ctx, cancel := l.LockTimeout(ctx)
	defer cancel()
	return LockError(ctx, l.env.Barrier(ctx, l.LockOwner(), l.env.PID, locks.Table(l.env.Database, table)))
}

// Holds reports whether the transaction has a lock of a mode, or a stronger one.
func (l *Locks) Holds(tag locks.Tag, mode locks.Mode) bool {
	return l.owner != nil && l.owner.Holds(tag)>>mode != 0
}

// usesTable reports whether the transaction holds a lock of a table.
func (l *Locks) usesTable(table catalog.OID) bool {
	return l.owner != nil && l.owner.Holds(locks.Table(l.env.Database, table)) != 0
}

// UsesAlready reports whether the transaction holds a lock of a table that a function of the
// statement now wants for itself. A lock that an earlier attempt of the same statement has left
// does not count, once.
func (l *Locks) UsesAlready(table catalog.OID) bool {
	return l.usesTable(table) && !slices.Contains(l.defined, table)
}

// DefineTables notes that a function of the statement has tables for itself, to change their
// definitions.
func (l *Locks) DefineTables(tables ...catalog.OID) {
	l.defining = append(l.defining, tables...)
	l.defined = slices.DeleteFunc(slices.Clone(l.defined), func(x catalog.OID) bool {
		return slices.Contains(tables, x)
	})
}

// BeginStatement forgets what functions of the statement before have defined.
func (l *Locks) BeginStatement() { l.defining = nil }

// BeginAttempt notes that the statement runs, for the first time or again: the locks of its attempt
// before are left.
func (l *Locks) BeginAttempt() { l.defined, l.defining = l.defining, nil }

// HasDefined reports whether a function of the statement has taken tables for itself.
func (l *Locks) HasDefined() bool { return len(l.defining) > 0 }

// LockError returns the error that a client sees if a lock was not taken.
func LockError(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && pgerr.Code(err) == pgerr.InternalError {
		return pgerr.Cancelled(ctx)
	}
	return err
}

// lockMark returns the place to which unlockTo goes back.
func (l *Locks) lockMark() int {
	if l.owner == nil {
		return 0
	}
	return l.owner.Mark()
}

// unlockTo releases the locks taken since a mark.
func (l *Locks) unlockTo(mark int) {
	if l.owner != nil {
		l.owner.RollbackTo(mark)
		if e := l.env.TableLocks; e != nil {
			e.RollbackTo(l.owner.ID(), mark)
		}
	}
}

// Unlock releases all locks.
func (l *Locks) Unlock() {
	if l.owner != nil {
		l.owner.Release()
		if e := l.env.TableLocks; e != nil {
			e.Release(l.owner.ID())
		}
		l.owner = nil
	}
}

// MayKeepLocks refuses to prepare a transaction that shares a lock with its session: the two could
// not be told apart later.
func (l *Locks) MayKeepLocks() error {
	if l.owner != nil && l.owner.SharedWithSession() {
		return pgerr.New(pgerr.FeatureNotSupported,
			"cannot PREPARE while holding both session-level and transaction-level locks on the same object")
	}
	return nil
}

// DetachLocks hands the transaction's locks over to the caller; nil if it has none.
func (l *Locks) DetachLocks() *locks.Owner {
	owner := l.owner
	if owner != nil {
		owner.Detach()
	}
	l.owner = nil
	return owner
}

// TableLocks lists the transaction's locks of tables.
func (l *Locks) TableLocks() []catalog.TableLock {
	var out []catalog.TableLock
	for tag, modes := range l.LockOwner().Tables() {
		out = append(out, catalog.TableLock{Table: tag.Object, Modes: uint32(modes)})
	}
	slices.SortFunc(out, func(a, b catalog.TableLock) int { return cmp.Compare(a.Table, b.Table) })
	return out
}
