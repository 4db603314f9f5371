package sql

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/locks"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// services are the parts of the server that transactions use.
type services struct {
	catalog       *catalog.Catalog
	fragments     Fragments
	clock         *txn.Clock
	logger        *slog.Logger
	tempDir       string
	tableLocks    *LocksElsewhere // of the other nodes; nil: there are none
	advisoryLocks *AdvisoryLocks  // likewise
	notifications *notifications
	exports       exports // snapshots
	storages      storages
	drafts        atomic.Uint64 // numbers the uncommitted schema changes
}

// use sets what follows from the server's configuration.
func (x *services) use(cfg *Config) {
	x.catalog, x.fragments, x.clock, x.logger, x.tempDir = cfg.Catalog, cfg.Fragments, cfg.Clock, cfg.Logger, cfg.TempDir
	if o := cfg.Others; o != nil {
		x.tableLocks, x.advisoryLocks = o.Locks, o.Advisory
	}
}

// environment is what the transactions of one session, or of one job of the system, have in common. Their owner
// changes it, the transactions only read it.
type environment struct {
	*services
	database  catalog.OID
	pid       uint32 // of the client's connection; 0: the system
	locks     *locks.Session
	floor     txn.Timestamp     // the owner has read or committed at it: new reads are not below it
	elsewhere atomic.Bool       // a transaction waits for a lock at other nodes
	values    func() *types.Env // by which values are read and printed

	// setting returns a parameter's canonical value.
	setting func(name string) (value string, known bool)
	// report shows others the transaction that is open now; nil: it is not shown.
	report func(*transaction)
}

// newTransaction opens a transaction.
func (e *environment) newTransaction(began time.Time, m modes) *transaction {
	t := &transaction{env: e, began: began, modes: m}
	t.open()
	return t
}

// systemTransaction opens a transaction for work that is not part of a client's.
func (e *environment) systemTransaction(began time.Time) *transaction {
	return e.newTransaction(began, modes{level: "read committed"})
}

// commitAlone commits a transaction of the system, which has neither changed definitions nor deferred constraints.
// It ends also if that fails.
func (t *transaction) commitAlone(ctx context.Context) error {
	_, err := t.parts.Commit(ctx, max(t.env.floor, t.read))
	t.parts = nil
	t.release()
	return err
}

// milliseconds reads a setting that is a time; 0 is no limit.
func (e *environment) milliseconds(name string) time.Duration {
	v, _ := e.setting(name)
	return time.Duration(atoi(v)) * time.Millisecond
}

// scope is sherd.txn_scope.
func (e *environment) scope() exec.Scope {
	switch v, _ := e.setting("sherd.txn_scope"); v {
	case "bucket":
		return exec.ScopeBucket
	case "fragment":
		return exec.ScopeFragment
	}
	return exec.ScopeCluster
}

// lockRequest is how a lock is waited for.
func (e *environment) lockRequest(mode locks.Mode) locks.Request {
	log, _ := e.setting("log_lock_waits")
	return locks.Request{
		Mode: mode, Log: log == "on",
		Timeout: e.milliseconds("lock_timeout"), Deadlock: e.milliseconds("deadlock_timeout"),
	}
}
