package tx

import (
	"context"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/locks"
)

// Services are what all transactions of a node use.
type Services struct {
	Catalog *catalog.Catalog
	Clock   *txn.Clock
	Logger  *slog.Logger
	// Join joins a new transaction to the fragments.
	Join func() exec.Transaction
	Self uint32 // this node's number; 0: there are no others

	TableLocks *LocksElsewhere // of the other nodes; nil: there are none
	// Advisory keeps the advisory locks of all nodes; nil: each node keeps its own.
	Advisory *locks.Advisories
	// AskSnapshot asks another node for a snapshot that was exported there; nil: there are no other
	// nodes.
	AskSnapshot func(ctx context.Context, node uint32, id string) (x ExportedSnapshot, ok bool, err error)

	Storages      Storages
	exports       exports       // snapshots
	schemaChanges atomic.Uint64 // numbers the uncommitted schema changes
}

// Environment is what the transactions of one session, or of one job of the system, have in common.
// Their owner changes it, the transactions only read it.
type Environment struct {
	*Services
	Database  catalog.OID
	PID       uint32 // of the client's connection; 0: the system
	Locks     *locks.Session
	Floor     txn.Timestamp     // the owner has read or committed at it: new reads are not below it
	elsewhere atomic.Bool       // a transaction waits for a lock at other nodes
	Values    func() *types.Env // by which values are read and printed

	Temporary *Temporary // objects; nil: there can be none

	// Setting returns a parameter's canonical value.
	Setting func(name string) (value string, known bool)
	// Report shows others the transaction that is open now; nil: it is not shown.
	Report func(*Tx)
}

// WaitElsewhere notes that a transaction waits for a lock at other nodes, until end is called.
func (e *Environment) WaitElsewhere() (end func()) {
	e.elsewhere.Store(true)
	return func() { e.elsewhere.Store(false) }
}

// WaitsElsewhere reports whether a transaction waits for a lock at other nodes.
func (e *Environment) WaitsElsewhere() bool { return e.elsewhere.Load() }

// Begin opens a transaction.
func (e *Environment) Begin(began time.Time, m Modes) *Tx {
	t := &Tx{env: e, Began: began, Modes: m}
	t.open()
	return t
}

// BeginSystem opens a transaction for work that is not part of a client's.
func (e *Environment) BeginSystem(began time.Time) *Tx {
	return e.Begin(began, Modes{Level: "read committed"})
}

// Milliseconds reads a setting that is a time; 0 is no limit.
func (e *Environment) Milliseconds(name string) time.Duration {
	v, _ := e.Setting(name)
	n, _ := strconv.Atoi(v)
	return time.Duration(n) * time.Millisecond
}

// Scope is sherd.txn_scope.
func (e *Environment) Scope() txn.Scope {
	switch v, _ := e.Setting("sherd.txn_scope"); v {
	case "bucket":
		return txn.ScopeBucket
	case "fragment":
		return txn.ScopeFragment
	}
	return txn.ScopeCluster
}

// LockRequest is how a lock is waited for.
func (e *Environment) LockRequest(mode locks.Mode) locks.Request {
	log, _ := e.Setting("log_lock_waits")
	return locks.Request{
		Mode: mode, Log: log == "on",
		Timeout: e.Milliseconds("lock_timeout"), Deadlock: e.Milliseconds("deadlock_timeout"),
	}
}
