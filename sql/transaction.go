package sql

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec"
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
	// TableStats counts the rows of a storage id, of all for 0, in each fragment of a database.
	TableStats(d *catalog.Database, storageID uint32) ([]sysview.Stat, error)
	// Check proves that what a database's fragments store agrees with its definitions.
	Check(ctx context.Context, database catalog.OID, emit verify.Emit) error
	// Held lists the prepared transactions of a database by name. CommitHeld and RollbackHeld end one; 42704 where there is none of that name.
	// After any other error but 40003 it is still held.
	Held(ctx context.Context, database catalog.OID) ([]txn.HeldTransaction, error)
	CommitHeld(ctx context.Context, database catalog.OID, gid string, floor txn.Timestamp) (txn.Timestamp, error)
	RollbackHeld(ctx context.Context, database catalog.OID, gid string) error
	// Outcome tells what became of a transaction, for the time of gc_ttl; ResolveTransaction is an operator's decision about one whose anchor is
	// out of reach (T7).
	Outcome(ctx context.Context, database catalog.OID, id txn.ID) (txn.Outcome, txn.Timestamp, error)
	ResolveTransaction(ctx context.Context, database catalog.OID, id txn.ID, outcome txn.Outcome) error
}

// transaction is a session's transaction: explicit between BEGIN and COMMIT, implicit around a statement or a pipeline.
type transaction struct {
	s        *Session
	parts    exec.Transaction
	explicit bool
	wide     bool // several statements are known to share it: one snapshot for all of them
	failed   bool
	readOnly bool
	began    time.Time
	used     bool          // a statement ran in it: its snapshot is taken
	t        txn.Timestamp // of all its reads, 0 before the first
	tables   []catalog.OID // shared locks held
	gateway  exec.Gateway
}

// begin opens a transaction.
func (s *Session) begin() *transaction {
	s.tx = &transaction{s: s, began: s.queryAt}
	s.env = nil
	def, _ := s.vars.get("default_transaction_read_only")
	s.tx.readOnly = def == "on"
	s.tx.open()
	return s.tx
}

// open joins the transaction to the fragments; a statement that is run again takes it anew.
func (t *transaction) open() {
	db := t.s.db
	database := t.s.view().Database(t.s.database)
	t.parts, t.t = db.cfg.Fragments.Begin(), 0
	t.parts.Configure(exec.TransactionOptions{
		Isolation: txn.RepeatableRead, LockTimeout: t.s.milliseconds("lock_timeout"), Session: t.s.start.PID,
	})
	t.gateway = exec.Gateway{Txn: t.parts.ID(), Fragment: t.parts.Fragment, Snapshot: t.snapshot}
	if database != nil {
		t.gateway.Map = database.Map
		t.gateway.Name = func(id shardmap.FragmentID) string { return fragmentName(database, id) }
	}
}

// snapshot gives the timestamp of all reads: taken from the fragments that the first statement may reach, or from all of the database where
// further statements may follow.
func (t *transaction) snapshot(ctx context.Context, shares []shardmap.Share) (txn.Timestamp, error) {
	if t.t != 0 {
		return t.t, nil
	}
	var ids []txn.FragmentID
	if t.explicit || t.wide {
		ids = t.gateway.Map.Fragments()
	} else {
		for _, s := range shares {
			ids = append(ids, s.Fragment)
		}
	}
	T, err := t.parts.Snapshot(ctx, ids)
	if err != nil {
		return 0, err
	}
	T = max(T, t.s.floor)
	if t.explicit || t.wide {
		t.t = T
	}
	return T, nil
}

// share keeps the definitions of tables still until the transaction ends.
func (t *transaction) share(ctx context.Context, tables []catalog.OID) error {
	for _, oid := range tables {
		if slices.Contains(t.tables, oid) {
			continue
		}
		if err := t.s.db.locks.share(ctx, oid, len(t.tables) > 0); err != nil {
			return err
		}
		t.tables = append(t.tables, oid)
	}
	return nil
}

func (t *transaction) unlock() {
	if len(t.tables) > 0 {
		t.s.db.locks.release(t.tables, false)
		t.tables = nil
	}
}

func (t *transaction) rollback() {
	if t.parts != nil {
		t.parts.Rollback()
		t.parts = nil
	}
	t.unlock()
}

// commit commits the session's transaction and ends it, also where that fails.
func (s *Session) commit(ctx context.Context) error {
	t := s.tx
	ts, err := t.parts.Commit(ctx, max(s.floor, t.t))
	t.parts = nil
	t.unlock()
	if err != nil {
		t.explicit = false
		s.endImplicit(false)
		return err
	}
	s.floor = max(s.floor, ts)
	s.tx = nil
	if s.vars.end(true) {
		s.stale = true
	}
	return nil
}

// run runs a program in the session's transaction, opening an implicit one where there is none. It gives the number of rows for the command
// tag.
func (s *Session) run(ctx context.Context, p *program, args []types.Datum, emit exec.Emit) (int64, error) {
	if s.tx == nil {
		s.begin()
	}
	t := s.tx
	if p.writes && t.readOnly {
		return 0, pgerr.New(pgerr.ReadOnlySQLTransaction, "cannot execute %s in a read-only transaction", commandName(p.query.Command))
	}
	p, err := s.settle(ctx, p)
	if err != nil {
		return 0, err
	}
	if p.writes {
		if err := s.settlePortals(); err != nil {
			return 0, err
		}
	}
	alone := !t.explicit && !t.used
	t.used = true
	var rows int64
	counted := func(row []types.Datum) error {
		rows++
		return emit(row)
	}
	for attempt := 1; ; attempt++ {
		c := s.execution(ctx, args)
		err := p.exec.Run(c, counted)
		if err == nil && p.writes {
			return c.Affected, nil
		}
		if err == nil || !alone || rows > 0 || attempt >= maxAttempts || ctx.Err() != nil || !pgerr.Is(err, pgerr.SerializationFailure) {
			return rows, err
		}
		t.again() // nothing was answered yet: run it again, above what was in the way
	}
}

// maxAttempts bounds how often a lone statement is run again after a conflict.
const maxAttempts = 10_000

// again undoes a lone statement's writes and lets it take a new timestamp. Its row locks are kept, so that it gets further each time.
func (t *transaction) again() {
	t.parts.Restart(nil)
	t.t = 0
}

// settle takes the locks that keep the definitions of p's tables still, and plans anew if one has changed before that.
func (s *Session) settle(ctx context.Context, p *program) (*program, error) {
	for {
		if err := s.tx.share(ctx, p.tables); err != nil {
			return nil, err
		}
		if p.version == s.view().DefinitionVersion() {
			return p, nil
		}
		q, err := s.program(ctx, p.stmt, p.params)
		if err != nil {
			return nil, err
		}
		if !sameColumns(p.columns, q.columns) {
			return nil, pgerr.New(pgerr.FeatureNotSupported, "cached plan must not change result type")
		}
		if slices.Equal(p.tables, q.tables) {
			return q, nil
		}
		p = q
	}
}

// execution makes the context in which a program runs.
func (s *Session) execution(ctx context.Context, args []types.Datum) *exec.Ctx {
	s.running = ctx
	env := s.Env()
	c := &exec.Ctx{Context: ctx, Params: args, Env: env, Session: info{s, ctx}, Mem: exec.NewMemory(s.memory), Hooks: s.hook, Limits: s.limit}
	if s.tx != nil {
		c.Gateway, c.Limits.ReadOnly = &s.tx.gateway, s.tx.readOnly
	}
	return c
}

func commandName(c query.Command) string {
	return [...]string{"SELECT", "INSERT", "UPDATE", "DELETE"}[c]
}

// milliseconds reads a setting that is a time; 0 is no limit.
func (s *Session) milliseconds(name string) time.Duration {
	v, _ := s.vars.get(name)
	return time.Duration(atoi(v)) * time.Millisecond
}

// timed bounds a statement by statement_timeout.
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
