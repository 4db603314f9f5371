package sql

import (
	"context"
	"fmt"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/locks"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/sysview"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/sql/verify"
	"github.com/sherddb/sherd/txn"
)

// Fragments is the databases' fragments; package cluster has them.
type Fragments interface {
	Begin() exec.Transaction
	// WaitFragments waits until all fragments of a database serve.
	WaitFragments(ctx context.Context, d *catalog.Database) error
	// Silent tells whether a node does not answer.
	Silent(node uint32) bool
	// TableStats counts the rows of a storage id, of all for 0, in each fragment of a database.
	TableStats(ctx context.Context, d *catalog.Database, storageID uint32) ([]sysview.Stat, error)
	// CountRows is TableStats of the fragments that answer soon; the others it adds to missing, of which it asks none.
	CountRows(ctx context.Context, d *catalog.Database, storageID uint32, missing map[uint32]bool) ([]sysview.Stat, error)
	// PlanRebalance makes a plan for a database, and keeps it as a proposal; its number is 0 where there is nothing to do.
	PlanRebalance(ctx context.Context, database catalog.OID, a catalog.Author) (id uint64, p *catalog.Plan, err error)
	// FillFragments makes a plan that gives every fragment of grown its share; now is the database as it is.
	FillFragments(ctx context.Context, now, grown *catalog.Database) (*catalog.Plan, error)
	// ListRowLocks gives the row locks, held and waited for, and ListTransactions the transactions that hold or have staged something: as many as
	// are worth looking at, and how many there are.
	ListRowLocks() ([]txn.RowLock, int)
	ListTransactions() ([]txn.OpenTransaction, int)
	// ListReplicas gives the replicas of the fragments that are led here.
	ListReplicas() []sysview.Replica
	// ListHeat gives what is used most in the fragments that are led here.
	ListHeat() []sysview.Heat
	// Check proves that what a database's fragments store agrees with its definitions.
	Check(ctx context.Context, database catalog.OID, emit verify.Emit) error
	// Held lists the prepared transactions of a database by name. CommitHeld and RollbackHeld end one; 42704 where there is none of that name.
	// After any other error but 40003 it is still held.
	Held(ctx context.Context, database catalog.OID) ([]txn.HeldTransaction, error)
	// HeldSoon is Held, without tables, of the fragments that answer; the others are missing. Those most of whose nodes are silent are not asked, the others
	// for as long as patience, 0 for as long as any statement waits.
	HeldSoon(ctx context.Context, database catalog.OID, patience time.Duration) (held []txn.HeldTransaction, missing []txn.FragmentID, err error)
	// Lost tells whether all nodes that have a replica of a fragment have been silent for sherd.dead_node_after, or are in the cluster no more.
	Lost(f *catalog.Fragment) bool
	CommitHeld(ctx context.Context, database catalog.OID, gid string, floor txn.Timestamp) (txn.Timestamp, error)
	RollbackHeld(ctx context.Context, database catalog.OID, gid string) error
	// Outcome tells what became of a transaction, for the time of gc_ttl; ResolveTransaction is an operator's decision about one whose anchor is
	// out of reach (T7).
	Outcome(ctx context.Context, database catalog.OID, id txn.ID) (txn.Outcome, txn.Timestamp, error)
	ResolveTransaction(ctx context.Context, database catalog.OID, id txn.ID, outcome txn.Outcome) error
}

// transaction is a session's transaction: explicit between BEGIN and COMMIT, implicit around a statement, a query string or a pipeline.
type transaction struct {
	tookFormer string // what an INSERT ... ON CONFLICT has met of former ids

	env        *environment
	parts      exec.Transaction
	explicit   bool
	together   bool // implicit, around the statements of one query string
	pipeline   bool // implicit, around what comes before the next Sync
	failed     bool
	modes      modes
	savepoints []savepoint // the outermost first
	began      time.Time
	used       bool          // a statement ran in it: its snapshot is taken
	t          txn.Timestamp // of all its reads where they share one, 0 before the first
	read       txn.Timestamp // the largest of its reads
	locks      *locks.Owner  // of tables and advisory; nil before the first
	gateway    exec.Gateway
	routes     routes
	named      bool          // it has asked for the id that clients see
	draft      *draft        // what it has changed of the definitions, nil: nothing
	defining   []catalog.OID // the tables whose definitions functions of the running statement change
	defined    []catalog.OID // likewise of its attempt before, of which the locks are left
	filled     filled
	newIDs     map[catalog.OID]uint64  // the next number for ids of tables that it has made
	sequences  map[uint32]*newSequence // whose storage it has made, by storage
	partsBy    *shardmap.Map           // by which sherd.fragment means fragments, if there is one snapshot; nil: by the newest
	seen       uint64                  // storages of tables that were known when the one snapshot was taken
	imported   map[storage]bool        // these storages, if the snapshot was imported; else nil
	past       bool                    // it reads at a time of the past
	near       bool                    // the statement under way may be served by replicas that do not lead
	lags       bool                    // its one snapshot was taken for them
	deferrals  deferrals               // of constraints
	keys       *exec.KeyLog            // keys that wait for deferred checks; nil: there were none
	keysOf     []*reference            // the constraints that they are of, by their numbers there
	exported   []string                // snapshots that others may import while it runs
	said       said                    // LISTEN, UNLISTEN and NOTIFY
}

// begin opens a transaction.
func (s *Session) begin() *transaction {
	s.tx = s.newTransaction(s.queryAt, s.defaultModes())
	s.env = nil
	return s.tx
}

// open joins the transaction to the fragments.
func (t *transaction) open() {
	database := t.view().Database(t.env.database)
	t.parts, t.t, t.partsBy = t.env.fragments.Begin(), 0, nil
	t.configure()
	t.gateway = exec.Gateway{
		Txn: t.parts.ID(), Logger: t.env.logger, Fragment: t.parts.Fragment, Snapshot: t.snapshot, Leave: t.leave, Took: t.took, Renew: t.newerMap,
	}
	t.routes.newest, t.routes.held, t.routes.in = nil, nil, nil
	if database != nil {
		t.gateway.Map, t.routes.newest = database.Map, database.Map
		t.gateway.Name = t.nameOf
	}
}

// renew gives a lone statement that is run again another transaction: what the one before has staged may still be there, and counts no more.
func (t *transaction) renew(writes bool) error {
	t.parts.Rollback()
	t.open()
	if writes {
		return t.parts.Bound(t.env.scope())
	}
	return nil
}

func (t *transaction) configure() {
	t.parts.Configure(exec.TransactionOptions{
		Isolation: t.modes.isolation(), LockTimeout: t.env.milliseconds("lock_timeout"), Session: t.env.pid,
	})
	if t.env.report != nil {
		t.env.report(t)
	}
}

// oneSnapshot tells whether all statements of the transaction read at one timestamp, and there may be more than one of them.
func (t *transaction) oneSnapshot() bool {
	return t.modes.isolation() != txn.ReadCommitted && (t.explicit || t.together || t.pipeline)
}

// snapshot gives the timestamp of a statement's reads: taken from the fragments that it may reach, or once for the transaction from all of
// the database.
func (t *transaction) snapshot(ctx context.Context, shares []shardmap.Share) (txn.Timestamp, error) {
	if t.t != 0 {
		return t.t, nil
	}
	if err := t.goBackAsSet(); err != nil || t.t != 0 {
		return t.t, err
	}
	if t.oneSnapshot() {
		return t.fix(ctx)
	}
	return t.freshen(ctx, shares)
}

// nameOf gives the name of a fragment, which may have been added since the transaction began.
func (t *transaction) nameOf(id shardmap.FragmentID) string {
	d := t.env.catalog.View().Database(t.env.database)
	if d == nil {
		return fmt.Sprintf("fragment %d", id)
	}
	return fragmentName(d, id)
}

// leave tells whether the fragment that a statement reads may choose the timestamp of its reads, as current would ask for it: not below floor.
func (t *transaction) leave() (floor txn.Timestamp, ok bool) {
	if v, _ := t.env.setting(asOfSetting); t.t != 0 || v != "" || t.near || t.oneSnapshot() {
		return 0, false
	}
	return t.env.floor, true
}

// took notes the timestamp that it has chosen.
func (t *transaction) took(T txn.Timestamp) { t.read = max(t.read, T) }

// first takes the one snapshot of a transaction that has one and has not taken it: its first query does, whatever it reads.
func (t *transaction) first(ctx context.Context) error {
	if t.t != 0 || !t.oneSnapshot() {
		return nil
	}
	if err := t.goBackAsSet(); err != nil || t.t != 0 {
		return err
	}
	_, err := t.fix(ctx)
	return err
}

// fix takes the one snapshot of the transaction.
func (t *transaction) fix(ctx context.Context) (txn.Timestamp, error) {
	t.env.storages.observeAll(t.env.catalog.View()) // what is in force by now is not newer than the snapshot
	t.seen = t.env.storages.count()
	if T, ok, err := t.fixNear(); ok || err != nil {
		return T, err
	}
	T, err := t.everywhere(ctx)
	if err == nil {
		err = t.hold(T, t.parts.HoldSnapshot)
	}
	if err == nil {
		t.t, t.partsBy = T, t.gateway.Map
	}
	return T, err
}

// opened gives the timestamp at which a cursor reads that is declared now, or a snapshot that is exported.
func (t *transaction) opened(ctx context.Context) (txn.Timestamp, error) {
	t.used = true
	if err := t.consider(nil); err != nil {
		return 0, err
	}
	return t.snapshot(ctx, t.gateway.Map.Split(t.gateway.Map.All()))
}

func (t *transaction) rollback() {
	if t.parts != nil {
		t.parts.Rollback()
		t.parts = nil
	}
	t.draft = nil
	t.release()
}

// release lets go of what the transaction held here.
func (t *transaction) release() {
	t.unlock()
	if t.keys != nil {
		t.keys.Close()
	}
	if t.exported != nil {
		t.env.exports.remove(t.exported)
		t.exported = nil
	}
}

// commit commits the session's transaction and ends it, also where that fails.
func (s *Session) commit(ctx context.Context) error {
	t := s.tx
	if err := s.settleDeferred(ctx, true); err != nil {
		s.closePortals()
		s.endImplicit()
		return err
	}
	if err := s.holdCursors(); err != nil {
		s.closePortals()
		s.endImplicit()
		return err
	}
	s.closePortals()
	if err := t.confirmLocks(ctx); err != nil {
		s.endImplicit()
		return err
	}
	if err := t.define(); err != nil {
		s.endImplicit()
		return err
	}
	ticket, err := t.announce()
	if err != nil {
		s.endImplicit()
		return err
	}
	id, idle := t.parts.ID(), t.named && t.draft == nil && !t.parts.HasWrites()
	ts, err := t.parts.Commit(ctx, max(s.floor, t.read))
	if t.parts = nil; idle && err == nil {
		s.db.told.committedIdle(id)
	}
	if mayBeCommitted(err) {
		for _, l := range t.said.listens {
			s.listen(l)
		}
	}
	t.publish(ticket, ts, err)
	t.release()
	if err != nil {
		s.endImplicit()
		return s.inWords(err)
	}
	if t.draft != nil {
		s.db.storages.observeAll(s.db.cfg.Catalog.View())
		s.db.sequences.forget(s.db.cfg.Catalog.View())
	}
	s.floor = max(s.floor, ts)
	s.counters.commits.Add(1)
	s.tx = nil
	if s.vars.end(true, 1) {
		s.stale, s.unreported = true, true
	}
	return nil
}

// execution makes the context in which a program runs.
func (s *Session) execution(ctx context.Context, args []types.Datum) *exec.Ctx {
	s.running = ctx
	x := s.executor(ctx)
	return x.context(ctx, s.tx, args)
}

func commandName(c query.Command) string {
	return [...]string{"SELECT", "INSERT", "UPDATE", "DELETE"}[c]
}

// timed bounds a statement, with all that it is run again, by statement_timeout.
func (s *Session) timed(ctx context.Context) (context.Context, context.CancelFunc) {
	d := s.milliseconds("statement_timeout")
	if d == 0 {
		return ctx, func() {}
	}
	bounded := context.WithValue(ctx, unboundedKey{}, ctx)
	return context.WithTimeoutCause(bounded, d, pgerr.New(pgerr.QueryCanceled, "canceling statement due to statement timeout"))
}

type unboundedKey struct{}

// unbounded gives the context that timed bounded: what a portal starts outlives the statement that started it.
func unbounded(ctx context.Context) context.Context {
	if outer, ok := ctx.Value(unboundedKey{}).(context.Context); ok {
		return outer
	}
	return ctx
}

func cancelled(ctx context.Context) error {
	cause := context.Cause(ctx)
	if e := pgerr.From(cause); e != nil && e.Code != pgerr.InternalError {
		return e
	}
	return pgerr.New(pgerr.QueryCanceled, "canceling statement due to user request")
}

func fragmentName(d *catalog.Database, id shardmap.FragmentID) string {
	if f := d.FragmentByID(id); f != nil {
		return d.FragmentName(f)
	}
	return fmt.Sprintf("fragment %d", id)
}
