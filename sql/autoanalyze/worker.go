package autoanalyze

import (
	"context"
	"errors"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/sampling"
	"github.com/sherddb/sherd/sql/system"
	"github.com/sherddb/sherd/sql/sysview"
	"github.com/sherddb/sherd/sql/tablestats"
	"github.com/sherddb/sherd/txn/locks"
)

// ErrSkipped is the error of an analysis that has given way to another transaction.
var ErrSkipped = errors.New("another transaction wants to lock the table")

// Worker analyzes tables.
type Worker struct {
	// Begin returns a worker for the statements of the system in a database.
	Begin func(database catalog.OID) *system.Worker
	// Totals returns what the fragments of a database have of a storage id.
	Totals func(ctx context.Context, d *catalog.Database, storageID uint32) ([]tablestats.Total, error)
	// Locks lists the locks of all nodes, and the waits for them.
	Locks func(ctx context.Context) []sysview.Lock
}

// giveWayAfter is how often an analysis looks for transactions that wait for its lock: it lets a client
// wait for so long at most, as PostgreSQL does by deadlock_timeout.
const giveWayAfter = time.Second

// Analyze analyzes a table and commits its statistics. It returns ErrSkipped if another transaction has
// locked the table, or waits to lock it.
func (w *Worker) Analyze(ctx context.Context, t *catalog.Table) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go w.giveWay(ctx, cancel, t)
	worker := w.Begin(t.Database)
	err := worker.Do(ctx, func(x *system.Transaction) error {
		a := sampling.Analysis{
			Tx: x.Tx, Executor: x.Executor, Totals: w.Totals, Target: worker.Number("default_statistics_target"),
			NoWait: true, Automatic: true,
		}
		_, err := a.Table(ctx, t.OID, nil)
		return err
	})
	if errors.Is(err, locks.ErrNotAvailable) || err != nil && context.Cause(ctx) == ErrSkipped {
		return ErrSkipped
	}
	return err
}

// giveWay cancels the analysis of a table when another transaction waits for a lock that conflicts
// with its own.
func (w *Worker) giveWay(ctx context.Context, cancel context.CancelCauseFunc, t *catalog.Table) {
	tick := time.NewTicker(giveWayAfter)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, l := range w.Locks(ctx) {
			if waits(&l, t) {
				cancel(ErrSkipped)
				return
			}
		}
	}
}

// stopped are the modes that a transaction cannot get while a table is analyzed.
var stopped = func() map[string]bool {
	out := map[string]bool{}
	for m := locks.AccessShare; m <= locks.AccessExclusive; m++ {
		if m.Conflicts(locks.ShareUpdateExclusive) {
			out[m.String()] = true
		}
	}
	return out
}()

// waits reports whether a lock is waited for that a table cannot have while it is analyzed.
func waits(l *sysview.Lock, t *catalog.Table) bool {
	return !l.Granted && l.Database == t.Database && l.Relation == t.OID && stopped[l.Mode] && l.Type == "relation"
}
