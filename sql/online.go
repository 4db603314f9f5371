package sql

import (
	"context"
	"errors"
	"slices"
	"time"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/ddl"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/locks"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/txn"
)

// Changes of definitions beside the table's users (C2). A statement that is all of its transaction need not be undone with anything else, so it may
// go by steps, each a change of the catalog of its own, of which only neighbouring ones are in use at once:
//
//	ADD COLUMN    the column is there, but nobody can name it: who changes a row keeps the value it has
//	              — everybody who does not know that has ended —
//	              the column is public
//	CREATE INDEX  the index is kept by writers, and not read
//	              — everybody who does not keep it has ended —
//	              the rows that are there get their entries, some at a time, each batch a transaction
//	              the index is public
//
// The table is kept from other changes of its definition meanwhile. What a crash leaves in between does no harm: the column stays a dropped one,
// the index is taken away at the next start.

// online tells whether a statement can be run beside the users of its table.
func online(n *pg_query.Node) bool {
	switch x := n.Node.(type) {
	case *pg_query.Node_IndexStmt:
		return true
	case *pg_query.Node_AlterTableStmt:
		return x.AlterTableStmt.Objtype == pg_query.ObjectType_OBJECT_TABLE &&
			!slices.ContainsFunc(x.AlterTableStmt.Cmds, func(c *pg_query.Node) bool { return !addsPlainColumn(c.GetAlterTableCmd()) })
	}
	return false
}

// addsPlainColumn tells whether a command adds a column that holds nothing which a row without it could break.
func addsPlainColumn(c *pg_query.AlterTableCmd) bool {
	if c.GetSubtype() != pg_query.AlterTableType_AT_AddColumn {
		return false
	}
	notNull, filled := false, false
	for _, k := range c.GetDef().GetColumnDef().GetConstraints() {
		switch k.GetConstraint().GetContype() {
		case pg_query.ConstrType_CONSTR_DEFAULT:
			filled = true
		case pg_query.ConstrType_CONSTR_NULL:
		case pg_query.ConstrType_CONSTR_NOTNULL:
			notNull = true
		default:
			return false
		}
	}
	return filled || !notNull
}

// stepwise is a change of one table under way. The session's transaction holds its locks.
type stepwise struct {
	s     *Session
	outer *tx.Tx
	next  *catalog.Table // as it is to be in the end
	was   *catalog.Table // as it is now
}

// errNotBeside tells that a statement needs the table for itself: rows are to be stored anew.
var errNotBeside = errors.New("sql: a change of a table cannot be made beside its users")

// defineOnline runs a statement that online accepts, outside of any transaction.
func (s *Session) defineOnline(ctx context.Context, st parse.Statement, w stmt.ResultWriter) error {
	t := s.tx // of a pipeline, and not used yet
	if t == nil {
		t = s.begin()
	}
	if t.IsReadOnly() {
		return t.ReadOnlyError(parse.Name(st.Node))
	}
	t.Used, s.leads = true, false
	var notices []*pgerr.Error
	e := s.definer(func(n *pgerr.Error) error {
		notices = append(notices, n)
		return nil
	})
	e.Lock = s.reserveTables
	e.Fill = func(context.Context, *catalog.View, catalog.OID, catalog.OID) error { return nil } // below, by steps
	e.Rewrite = func(context.Context, *catalog.View, ddl.Rewrite) (bool, error) { return false, errNotBeside }
	tag, err := ddl.Run(ctx, e, st)
	if errors.Is(err, errNotBeside) {
		t.Schema = nil
		return s.definition(ctx, st, w, t.Together)
	}
	for _, n := range notices {
		if nerr := w.Notice(n); nerr != nil && err == nil {
			err = nerr
		}
	}
	if err != nil {
		return err
	}
	if d := t.Schema; d != nil {
		t.Schema = nil
		run := &stepwise{s: s, outer: t.Tx}
		if err := run.plan(d); err != nil {
			return err
		}
		if err := run.steps(ctx); err != nil {
			return err
		}
	}
	return w.Complete(tag)
}

// plan finds the one table that a draft changes.
func (p *stepwise) plan(d *tx.SchemaChange) error {
	for _, x := range d.Change.Touches() {
		if x.Table != 0 && x.Changes {
			p.was, p.next = p.s.db.cfg.Catalog.View().Table(x.Table), d.View.Table(x.Table)
		}
	}
	if p.was == nil || p.next == nil {
		return pgerr.New(pgerr.InternalError, "a change by steps concerns no table")
	}
	return nil
}

func (p *stepwise) steps(ctx context.Context) error {
	if n := len(p.next.Indexes); n > len(p.was.Indexes) {
		return p.buildIndex(ctx, &p.next.Indexes[n-1])
	}
	hidden := p.next.Clone()
	for i := len(p.was.Columns); i < len(hidden.Columns); i++ {
		hidden.Columns[i].Dropped, hidden.Columns[i].Adding = true, true
	}
	hidden.Document, hidden.Anchors = p.was.Document, p.was.Anchors // a new column may become the document, when it is public
	if err := p.put(ctx, hidden, nil); err != nil {
		return err
	}
	if err := p.behindBarrier(ctx, func() error { return nil }); err != nil {
		return err
	}
	return p.finish(ctx, nil)
}

// behindBarrier waits until no user of an older definition is left, calls f, and proves that the table's locks have held at all nodes since before the barrier.
// A node that has come back or joined meanwhile was not asked and may have served by an older definition: then it is asked too, and f is called again.
func (p *stepwise) behindBarrier(ctx context.Context, f func() error) error {
	for n := 1; ; n++ {
		if err := p.outer.Barrier(ctx, p.was.OID); err != nil {
			return err
		}
		if err := f(); err != nil {
			return err
		}
		err := p.outer.ConfirmLocks(ctx)
		if err == nil || n >= stmt.MaxCommits || !pgerr.Is(err, pgerr.SerializationFailure) {
			return err
		}
		if !stmt.Sleep(ctx, stmt.Pause) {
			return pgerr.Cancelled(ctx)
		}
		if err := p.lockAgain(ctx); err != nil {
			return err
		}
	}
}

// lockAgain takes the table's lock at all nodes of now, for a transaction of another id: a release of the locks of the one before may still be on its way.
// Whether somebody has changed the definition in between shows when it is put.
func (p *stepwise) lockAgain(ctx context.Context) error {
	p.outer.Unlock()
	if err := p.outer.Renew(false); err != nil {
		return err
	}
	return p.s.reserveTables(ctx, []catalog.OID{p.was.OID})
}

// finish makes the last step. The statement has then succeeded: its locks protect nothing any more, so that the commit of the outer transaction has nothing to
// confirm, and nothing is a reason to run it again.
func (p *stepwise) finish(ctx context.Context, more func(*catalog.View, *catalog.Change) error) error {
	if err := p.put(ctx, p.next, more); err != nil {
		return err
	}
	p.outer.Unlock()
	return nil
}

// put makes next the definition of the table, which nobody else changes meanwhile. A statement that is cancelled is not cut off while that is being written: whether the
// step was taken decides about what follows.
func (p *stepwise) put(ctx context.Context, next *catalog.Table, more func(*catalog.View, *catalog.Change) error) error {
	view, err := p.s.db.cfg.Catalog.Update(catalog.Answered(ctx), func(v *catalog.View, ch *catalog.Change) error {
		if t := v.Table(p.was.OID); t == nil || t.Version != p.was.Version {
			return pgerr.New(pgerr.SerializationFailure, "could not serialize access due to concurrent update").
				WithDetail(`The definition of table "%s" was changed by another node at the same time.`, p.was.Name)
		}
		if err := ch.PutTable(next); err != nil || more == nil {
			return err
		}
		return more(v, ch)
	})
	if err == nil {
		p.was = view.Table(p.was.OID)
	}
	return err
}

// fillBatch is how many rows get their entries in one transaction: their locks stop writers of these rows that long.
const fillBatch = 500

func (p *stepwise) buildIndex(ctx context.Context, x *catalog.Index) error {
	cat := p.s.db.cfg.Catalog
	id, err := cat.NewJobID(ctx)
	if err != nil {
		return err
	}
	job := catalog.NewBuildIndexJob(id, p.next, x, time.Now().UnixMicro())
	job.Node = cat.Self()
	building := p.next.Clone()
	building.Index(x.OID).State = catalog.IndexBuilding
	err = p.put(ctx, building, func(_ *catalog.View, ch *catalog.Change) error { return ch.PutJob(job) })
	if err != nil && !pgerr.Is(err, pgerr.StatementCompletionUnknown) {
		return err
	}
	if err == nil {
		err = p.behindBarrier(ctx, func() error { return p.fill(ctx, x.OID, job) })
	}
	if err == nil {
		err = p.finish(ctx, func(_ *catalog.View, ch *catalog.Change) error {
			ch.DropJob(id)
			return nil
		})
	}
	if err != nil {
		p.abandon(job)
	}
	return err
}

// rows tells how many rows the table has, as far as is known.
func (p *stepwise) rows(ctx context.Context) (n int64) {
	d := p.s.db.cfg.Catalog.View().Database(p.s.database)
	stats, err := p.s.db.cfg.Fragments.TableStats(ctx, d, p.was.StorageID)
	if err != nil {
		return 0
	}
	for i := range stats {
		n += stats[i].Documents
	}
	return n
}

// fill gives the index the entries of the rows that are there.
func (p *stepwise) fill(ctx context.Context, index catalog.OID, job *catalog.Job) error {
	fill, err := newFill(p.s.db.cfg.Catalog.View(), p.was.OID, index)
	if err != nil {
		return err
	}
	job.Done = 0
	told := time.Now()
	for _, share := range p.outer.Gateway.Map.Split(p.outer.Gateway.Map.All()) {
		for at := (exec.FillPlace{}); !at.Done; {
			before := at.Rows
			if at, err = p.batch(ctx, fill, share, at); err != nil {
				return err
			}
			job.Done += at.Rows - before
			if time.Since(told) > progressEvery {
				told = time.Now()
				p.progress(ctx, job)
			}
		}
	}
	return nil
}

// progressEvery is how often a job says how far it is.
const progressEvery = time.Second

// progress records how far the job is; nothing depends on it.
func (p *stepwise) progress(ctx context.Context, job *catalog.Job) {
	job.Total, job.UpdatedMicros = p.rows(ctx), time.Now().UnixMicro()
	_, _ = p.s.db.cfg.Catalog.Update(ctx, func(v *catalog.View, ch *catalog.Change) error {
		if v.Job(job.ID) == nil {
			return nil
		}
		return ch.PutJob(job)
	})
}

// batch fills in some rows' entries in a transaction of its own, and again where that met a conflict.
func (p *stepwise) batch(ctx context.Context, fill *exec.Fill, share shardmap.Share, at exec.FillPlace) (exec.FillPlace, error) {
	for n := 1; ; n++ {
		next, err := p.batchOnce(ctx, fill, share, at)
		conflict := pgerr.Is(err, pgerr.SerializationFailure) || pgerr.Is(err, pgerr.DeadlockDetected)
		if !conflict || n >= stmt.MaxCommits || !stmt.Sleep(ctx, stmt.Pause) {
			return next, err
		}
	}
}

func (p *stepwise) batchOnce(ctx context.Context, fill *exec.Fill, share shardmap.Share, at exec.FillPlace) (exec.FillPlace, error) {
	s := p.s
	t, x := s.txEnv.BeginSystem(s.queryAt), s.executor(ctx)
	next, err := fill.Some(x.Context(ctx, t, nil), share, at, fillBatch)
	if err != nil {
		t.Rollback()
		return at, err
	}
	_, err = t.Commit(ctx)
	t.Release()
	if err != nil {
		return at, err
	}
	return next, nil
}

// abandon takes away an index that could not be finished: first out of the definition, then, when nobody keeps it any more, what it has stored. That
// may take as long as somebody's transaction, so nobody waits for it; if it fails, the next start does it. Where the log did not say what became of the last change, the
// job tells whether there is anything to take away: it is there from the index's first definition until the index is public.
func (p *stepwise) abandon(job *catalog.Job) {
	db, tag := p.s.db, locks.Table(p.s.database, p.was.OID)
	ctx, cat := context.Background(), db.cfg.Catalog
	building := false
	_, err := cat.Current(ctx)
	if err == nil {
		_, err = cat.Update(ctx, func(v *catalog.View, ch *catalog.Change) error {
			building = v.Job(job.ID) != nil
			return ch.Unbuild(job)
		})
	}
	if err == nil && !building {
		return
	}
	if err != nil {
		db.cfg.Logger.Warn("an index that could not be built is taken away at the next start", "job", job.ID, "error", err)
		return
	}
	go func() {
		o := db.locks.NewSession(0).Begin(txn.NewID())
		defer o.Release()
		err := db.services.Barrier(ctx, o, 0, tag)
		if err == nil {
			_, err = cat.Update(ctx, func(_ *catalog.View, ch *catalog.Change) error { return ch.Discard(job, time.Now().UnixMicro(), "") })
		}
		if err != nil {
			db.cfg.Logger.Warn("what an unfinished index has stored is deleted after the next start", "job", job.ID, "error", err)
		}
	}()
}
