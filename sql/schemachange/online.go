package schemachange

import (
	"context"
	"errors"
	"slices"
	"time"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/ddl"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/sysview"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/txn/locks"
)

// IsOnline reports whether a statement can be run beside the users of its table.
func IsOnline(n *pg_query.Node) bool {
	switch x := n.Node.(type) {
	case *pg_query.Node_IndexStmt:
		return true
	case *pg_query.Node_AlterTableStmt:
		return x.AlterTableStmt.Objtype == pg_query.ObjectType_OBJECT_TABLE &&
			!slices.ContainsFunc(x.AlterTableStmt.Cmds, func(c *pg_query.Node) bool {
				return !addsPlainColumn(c.GetAlterTableCmd())
			})
	}
	return false
}

// addsPlainColumn reports whether a command adds a column without a constraint that existing rows
// could violate.
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

// Node is what changes of this node need besides transactions.
type Node struct {
	*tx.Services
	Locks *locks.Manager
	// TableStats counts the rows of a storage in each fragment of a database.
	TableStats func(ctx context.Context, d *catalog.Database, storageID uint32) ([]sysview.Stat, error)
}

// Online is a change of one table beside its users. A transaction that writes nothing holds its
// locks.
type Online struct {
	Node
	Database catalog.OID
	Outer    *Transaction
	Env      *tx.Environment // of the transactions of batches
	Executor func(context.Context) stmt.Executor

	next *catalog.Table // the final definition
	was  *catalog.Table // the definition in force
}

// ErrOffline is the error of a statement that needs the table for itself, because it has to rewrite
// its rows. Nothing was changed.
var ErrOffline = errors.New("schemachange: the table cannot be changed beside its users")

// Run runs a statement that IsOnline accepts, outside of any transaction. It returns the command
// tag.
func (o *Online) Run(ctx context.Context, e *ddl.Env, st parse.Statement) (tag string, err error) {
	var notices []*pgerr.Error
	send := e.Notice
	e.Notice = func(n *pgerr.Error) error {
		notices = append(notices, n)
		return nil
	}
	e.Lock = o.Outer.Reserve
	e.Fill = func(context.Context, *catalog.View, catalog.OID, catalog.OID) error { return nil } // done in steps
	e.Rewrite = func(context.Context, *catalog.View, ddl.Rewrite) (bool, error) { return false, ErrOffline }
	tag, err = ddl.Run(ctx, e, st)
	if errors.Is(err, ErrOffline) {
		o.Outer.Schema = nil
		return "", err
	}
	for _, n := range notices {
		if nerr := send(n); nerr != nil && err == nil {
			err = nerr
		}
	}
	if err != nil {
		return "", err
	}
	if d := o.Outer.Schema; d != nil {
		o.Outer.Schema = nil
		if err := o.plan(d); err != nil {
			return "", err
		}
		if err := o.steps(ctx); err != nil {
			return "", err
		}
	}
	return tag, nil
}

// plan finds the one table that a schema change is about.
func (o *Online) plan(d *tx.SchemaChange) error {
	for _, x := range d.Change.Touches() {
		if x.Table != 0 && x.Changes {
			o.was, o.next = o.Catalog.View().Table(x.Table), d.View.Table(x.Table)
		}
	}
	if o.was == nil || o.next == nil {
		return pgerr.New(pgerr.InternalError, "a change by steps concerns no table")
	}
	return nil
}

func (o *Online) steps(ctx context.Context) error {
	if n := len(o.next.Indexes); n > len(o.was.Indexes) {
		return o.buildIndex(ctx, &o.next.Indexes[n-1])
	}
	hidden := o.next.Clone()
	for i := len(o.was.Columns); i < len(hidden.Columns); i++ {
		hidden.Columns[i].Dropped, hidden.Columns[i].Adding = true, true
	}
	// A new column may become the document, when it is public.
	hidden.Document, hidden.Anchors = o.was.Document, o.was.Anchors
	if err := o.put(ctx, hidden, nil); err != nil {
		return err
	}
	if err := o.behindBarrier(ctx, func() error { return nil }); err != nil {
		return err
	}
	return o.finish(ctx, nil)
}

// behindBarrier waits until no user of an older definition is left, and calls f. Then it proves
// that the table's locks have held at all nodes since before the barrier. A node that has come back
// or joined meanwhile was not asked, and may have used an older definition. Then it is asked too,
// and f is called again.
func (o *Online) behindBarrier(ctx context.Context, f func() error) error {
	for n := 1; ; n++ {
		if err := o.Outer.Barrier(ctx, o.was.OID); err != nil {
			return err
		}
		if err := f(); err != nil {
			return err
		}
		err := o.Outer.ConfirmLocks(ctx)
		if err == nil || n >= stmt.MaxCommits || !pgerr.Is(err, pgerr.SerializationFailure) {
			return err
		}
		if !stmt.Sleep(ctx, stmt.Pause) {
			return pgerr.Cancelled(ctx)
		}
		if err := o.lockAgain(ctx); err != nil {
			return err
		}
	}
}

// lockAgain takes the table's lock at the present nodes, for a transaction of another id: a release
// of the previous transaction's locks may still arrive. If others have changed the definition in
// between, put notices it.
func (o *Online) lockAgain(ctx context.Context) error {
	o.Outer.Unlock()
	if err := o.Outer.Renew(false); err != nil {
		return err
	}
	return o.Outer.Reserve(ctx, []catalog.OID{o.was.OID})
}

// finish takes the last step. Then the statement has succeeded and its locks protect nothing. It
// releases them, so that the commit of the outer transaction has nothing to confirm, and the
// statement is not run again.
func (o *Online) finish(ctx context.Context, more func(*catalog.View, *catalog.Change) error) error {
	if err := o.put(ctx, o.next, more); err != nil {
		return err
	}
	o.Outer.Unlock()
	return nil
}

// put makes next the definition of the table, unless another node has changed the definition. It
// does not end before the outcome is known, even if the statement is canceled, because what follows
// depends on it.
func (o *Online) put(
	ctx context.Context, next *catalog.Table, more func(*catalog.View, *catalog.Change) error,
) error {
	view, err := o.Catalog.Update(catalog.Answered(ctx), func(v *catalog.View, ch *catalog.Change) error {
		if t := v.Table(o.was.OID); t == nil || t.Version != o.was.Version {
			return pgerr.New(pgerr.SerializationFailure, "could not serialize access due to concurrent update").
				WithDetail(`The definition of table "%s" was changed by another node at the same time.`, o.was.Name)
		}
		if err := ch.PutTable(next); err != nil || more == nil {
			return err
		}
		return more(v, ch)
	})
	if err == nil {
		o.was = view.Table(o.was.OID)
	}
	return err
}

// rows estimates the number of rows of the table.
func (o *Online) rows(ctx context.Context) (n int64) {
	stats, err := o.TableStats(ctx, o.Catalog.View().Database(o.Database), o.was.StorageID)
	if err != nil {
		return 0
	}
	for i := range stats {
		n += stats[i].Documents
	}
	return n
}

// progressEvery is how often a job records its progress.
const progressEvery = time.Second
