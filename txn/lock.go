package txn

import (
	"errors"
	"fmt"

	"github.com/sherddb/sherd/internal/pgerr"
)

// LockMode is the strength of a row lock, as PostgreSQL's FOR KEY SHARE … FOR UPDATE.
type LockMode byte

// The modes, from the weakest. UPDATE takes NoKeyUpdate if it leaves all unique keys as they are,
// DELETE takes Update.
const (
	KeyShare LockMode = iota + 1
	Share
	NoKeyUpdate
	Update
)

// conflicts is the table of PostgreSQL's manual, 13.3.2 "Row-Level Locks": bit n of conflicts[m] is
// set if modes m and n exclude each other.
var conflicts = [...]byte{
	KeyShare:    1 << Update,
	Share:       1<<NoKeyUpdate | 1<<Update,
	NoKeyUpdate: 1<<Share | 1<<NoKeyUpdate | 1<<Update,
	Update:      1<<KeyShare | 1<<Share | 1<<NoKeyUpdate | 1<<Update,
}

// Conflicts reports whether two transactions cannot hold m and n on one row.
func (m LockMode) Conflicts(n LockMode) bool { return conflicts[m]&(1<<n) != 0 }

func (m LockMode) String() string {
	return [...]string{"none", "KEY SHARE", "SHARE", "NO KEY UPDATE", "UPDATE"}[m]
}

// LockRequest asks for a row lock.
type LockRequest struct {
	Mode LockMode
	// T is the snapshot of the statement: a version of the row above it is 40001 (the first updater
	// wins), or is reported if Recheck is set. MaxTimestamp asks for the lock alone.
	T       Timestamp
	Recheck bool // READ COMMITTED: a version above T is reported, and the caller reads the newest
	NoWait  bool // return ErrLocked instead of waiting
	// Ending makes NoWait wait a moment for transactions that are committing: their clients may
	// already have been answered, and for them the row is not locked any more.
	Ending bool
	// Pin asks for a lock that survives a change of leader: FOR UPDATE and its weaker forms,
	// foreign keys. A transaction that writes anywhere prepares its pinned locks like writes.
	Pin bool
}

// ErrLocked answers a LockRequest with NoWait if another transaction holds the lock.
var ErrLocked = errors.New("row is locked by another transaction")

// ConflictError is 40001 for one row: a version above the transaction's snapshot. It wraps the
// client's *pgerr.Error. Upper layers replace its detail with one that has the row's key as SQL
// shows it.
type ConflictError struct {
	Key     []byte    // of the row
	Version Timestamp // committed by the other transaction
	T       Timestamp // the snapshot
	Other   ID        // zero: the commit is too long ago to know its transaction
	Deleted bool      // the version is a deletion
	Read    bool      // the transaction has read the row, or looked for it, which counts at its commit (T8)
	Err     *pgerr.Error
}

// NewConflict returns the error of a row at key that the transaction other has changed at version,
// above the snapshot T.
func NewConflict(key []byte, version, T Timestamp, other ID, deleted bool) *ConflictError {
	e := &ConflictError{Key: key, Version: version, T: T, Other: other, Deleted: deleted}
	what := "update"
	if deleted {
		what = "delete"
	}
	e.Err = pgerr.New(pgerr.SerializationFailure, "could not serialize access due to concurrent %s", what).
		WithDetail("%s", e.Detail("Row \\x%x", key))
	return e
}

// Detail returns the sentence about the conflict, for a row named by format and args.
func (e *ConflictError) Detail(format string, args ...any) string {
	if e.Read {
		format += ", which this transaction has read or looked for,"
	}
	by := "a transaction that"
	if !e.Other.IsZero() {
		by = fmt.Sprintf("transaction %d, which", e.Other.XID())
	}
	did := "changed"
	if e.Deleted {
		did = "deleted"
	}
	return fmt.Sprintf(format, args...) + fmt.Sprintf(
		" was %s by %s committed at %s, after this transaction's snapshot of %s.", did, by, e.Version, e.T,
	)
}

func (e *ConflictError) Error() string { return e.Err.Error() }

// Unwrap returns the client's error.
func (e *ConflictError) Unwrap() error { return e.Err }

// Isolation is the level of a transaction.
type Isolation byte

// The levels. READ UNCOMMITTED is READ COMMITTED, as in PostgreSQL.
const (
	ReadCommitted Isolation = iota
	RepeatableRead
	Serializable
)

func (i Isolation) String() string {
	return [...]string{"read committed", "repeatable read", "serializable"}[i]
}

// Mark is a position in a transaction's writes and locks in one fragment; a lock that was made
// stronger counts once more. The zero Mark is the beginning. Changes is not used any more.
type Mark struct{ Writes, Locks, Changes int }
