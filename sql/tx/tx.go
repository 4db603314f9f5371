package tx

import (
	"context"
	"fmt"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/txn"
)

// Tx is a SQL transaction: explicit between BEGIN and COMMIT, implicit around a statement, a query
// string or a pipeline. It is not safe for concurrent use.
type Tx struct {
	Locks
	env           *Environment
	Parts         exec.Transaction // the part in the fragments; nil once it has ended
	Explicit      bool
	ImplicitBlock bool // implicit, around the statements of one query string
	Pipeline      bool // implicit, around what comes before the next Sync
	Modes         Modes
	savepoints    []savepoint // the outermost first
	Began         time.Time
	Used          bool          // a statement ran in it: its snapshot is taken
	At            txn.Timestamp // of all its reads if they share one, 0 before the first
	Read          txn.Timestamp // the largest of its reads
	Gateway       exec.Gateway
	routes        routes
	Schema        *SchemaChange    // what it has changed of the schema; nil: nothing
	partsBy       *shardmap.Map    // by which PartMap means fragments, if there is one snapshot; nil: by the newest
	seen          uint64           // storages of tables that were known when the one snapshot was taken
	imported      map[storage]bool // these storages, if the snapshot was imported; else nil
	Past          bool             // it reads at a time of the past
	Near          bool             // the statement under way may be served by replicas that do not lead
	lags          bool             // its one snapshot was taken for them
	exported      []string         // snapshots that others may import while it runs
	temporary     bool             // it has changed temporary objects
}

// open joins the transaction to the fragments.
func (t *Tx) open() {
	database := t.View().Database(t.env.Database)
	t.Parts, t.At, t.partsBy = t.env.Join(), 0, nil
	t.Locks.env, t.Locks.id = t.env, t.Parts.ID()
	t.Configure()
	t.Gateway = exec.Gateway{
		Txn: t.Parts.ID(), Logger: t.env.Logger, Fragment: t.Parts.Fragment, Snapshot: t.snapshot,
		Leave: t.negotiable, Took: t.negotiated, Renew: t.newerMap,
	}
	t.routes.newest, t.routes.held, t.routes.in = nil, nil, nil
	if database != nil {
		t.Gateway.Map, t.routes.newest = database.Map, database.Map
		t.Gateway.Name = t.FragmentName
	}
	if p := t.env.Temporary; p != nil && p.rows != nil {
		p.join(t)
	}
}

// Renew opens another transaction for a statement that is all of its own and is run again: what the
// one before has buffered may still be there, and does not count any more.
func (t *Tx) Renew(writes bool) error {
	t.Parts.Rollback()
	t.open()
	if writes {
		return t.Parts.Bound(t.env.Scope())
	}
	return nil
}

// Configure tells the fragments, and Environment.Report, of the modes and settings.
func (t *Tx) Configure() {
	t.Parts.Configure(txn.Options{
		Isolation: t.Modes.Isolation(), LockTimeout: t.env.Milliseconds("lock_timeout"), Session: t.env.PID,
	})
	if t.env.Report != nil {
		t.env.Report(t)
	}
}

// OneSnapshot reports whether all statements of the transaction read at one timestamp, and there
// may be more than one of them.
func (t *Tx) OneSnapshot() bool {
	return t.Modes.Isolation() != txn.ReadCommitted && (t.Explicit || t.ImplicitBlock || t.Pipeline)
}

// snapshot returns the timestamp of a statement's reads: taken from the fragments that it may
// reach, or once for the transaction from all of the database.
func (t *Tx) snapshot(ctx context.Context, shares []shardmap.Share) (txn.Timestamp, error) {
	if t.At != 0 {
		return t.At, nil
	}
	if err := t.ReadPastAsSet(); err != nil || t.At != 0 {
		return t.At, err
	}
	if t.OneSnapshot() {
		return t.fix(ctx)
	}
	return t.freshen(ctx, shares)
}

// FragmentName returns the name of a fragment, which may have been added since the transaction
// began.
func (t *Tx) FragmentName(id shardmap.FragmentID) string {
	if id == shardmap.Session {
		return catalog.TemporarySchema
	}
	d := t.env.Catalog.View().Database(t.env.Database)
	if d == nil {
		return fmt.Sprintf("fragment %d", id)
	}
	return d.NameOfFragment(id)
}

// negotiable reports whether the fragment that a statement reads may choose the timestamp of its
// reads, as current would ask for it: not below floor.
func (t *Tx) negotiable() (floor txn.Timestamp, ok bool) {
	if v, _ := t.env.Setting(AsOfSetting); t.At != 0 || v != "" || t.Near || t.OneSnapshot() {
		return 0, false
	}
	return t.env.Floor, true
}

// negotiated notes the timestamp that the fragment has chosen.
func (t *Tx) negotiated(T txn.Timestamp) { t.Read = max(t.Read, T) }

// TakeSnapshot takes the one snapshot of a transaction that has one and has not taken it: its first
// query does, whatever it reads.
func (t *Tx) TakeSnapshot(ctx context.Context) error {
	if t.At != 0 || !t.OneSnapshot() {
		return nil
	}
	if err := t.ReadPastAsSet(); err != nil || t.At != 0 {
		return err
	}
	_, err := t.fix(ctx)
	return err
}

// fix takes the one snapshot of the transaction.
func (t *Tx) fix(ctx context.Context) (txn.Timestamp, error) {
	t.env.Storages.ObserveAll(t.env.Catalog.View()) // what is in force by now is not newer than the snapshot
	t.seen = t.env.Storages.count()
	if T, ok, err := t.fixNear(); ok || err != nil {
		return T, err
	}
	T, err := t.CurrentEverywhere(ctx)
	if err == nil {
		err = t.Pin(T, t.Parts.PinSnapshot)
	}
	if err == nil {
		t.At, t.partsBy = T, t.Gateway.Map
	}
	return T, err
}

// SnapshotForLater returns the timestamp at which a cursor reads that is declared now, or of a
// snapshot that is exported now.
func (t *Tx) SnapshotForLater(ctx context.Context) (txn.Timestamp, error) {
	t.Used = true
	t.considerReplicasLater()
	return t.snapshot(ctx, t.Gateway.Map.Split(t.Gateway.Map.All()))
}

// Rollback ends the transaction and undoes all of it.
func (t *Tx) Rollback() {
	if t.Parts != nil {
		t.Parts.Rollback()
		t.Parts = nil
	}
	t.Schema = nil
	t.Release()
}

// Commit commits what the transaction has done in the fragments, and ends it there, also if that
// fails. What it holds on this node stays held until Release.
func (t *Tx) Commit(ctx context.Context) (txn.Timestamp, error) {
	at, err := t.Parts.Commit(ctx, max(t.env.Floor, t.Read))
	t.Parts = nil
	return at, err
}

// Prepare is Commit for PREPARE TRANSACTION: from now on the transaction is known by its name. The
// database and the floor of the request are set here.
func (t *Tx) Prepare(ctx context.Context, r txn.PreparationRequest) error {
	r.Database, r.Floor = uint32(t.env.Database), max(t.env.Floor, t.Read)
	err := t.Parts.PrepareTransaction(ctx, r)
	t.Parts = nil
	return err
}

// Release releases the locks that the transaction held on this node, and what it has exported.
func (t *Tx) Release() {
	t.Unlock()
	if t.exported != nil {
		t.env.exports.remove(t.exported)
		t.exported = nil
	}
}
