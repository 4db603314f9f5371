package autoanalyze_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/internal/testsql"
	"github.com/sherddb/sherd/sql/autoanalyze"
	"github.com/sherddb/sherd/sql/statistics"
	"github.com/sherddb/sherd/sql/system"
	"github.com/sherddb/sherd/sql/sysview"
	"github.com/sherddb/sherd/sql/tablestats"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/locks"
)

func newWorker(n *testsql.Node) *autoanalyze.Worker {
	return &autoanalyze.Worker{
		Begin:  func(database catalog.OID) *system.Worker { return n.Workers.NewWorker(database, false) },
		Totals: n.Gateway.Totals,
		Locks:  func(context.Context) []sysview.Lock { return nil },
	}
}

// changed returns how many rows of a table have changed since it was analyzed.
func changed(n *testsql.Node, t *testing.T, table string) int64 {
	t.Helper()
	view, x := n.Catalog.View(), n.Table(table)
	totals, err := n.Gateway.Totals(t.Context(), view.Database(x.Database), x.StorageID)
	testsql.WantCode(t, err, "")
	return tablestats.Changed(tablestats.LastAnalysis(view, x), totals)
}

// TestAnalyze checks what an analysis stores, and which rows count as changed after it, updates in
// place among them.
func TestAnalyze(t *testing.T) {
	n := testsql.Open(t, 3)
	n.Define("CREATE TABLE t (k int PRIMARY KEY, v int)")
	n.Must("INSERT INTO t SELECT g, g % 7 FROM generate_series(1, 500) g")
	w := newWorker(n)
	if got := changed(n, t, "t"); got != 500 {
		t.Errorf("after 500 inserts %d rows have changed", got)
	}
	for run := int64(1); run <= 2; run++ {
		testsql.WantCode(t, w.Analyze(t.Context(), n.Table("t")), "")
		got := tablestats.Stored(n.Catalog.View(), n.Table("t"))
		if got == nil || got.AnalyzedRows != 500 || got.Automatic.Count != run || got.Manual.Count != 0 {
			t.Fatalf("got %+v", got)
		}
		if d := got.Column(statistics.Key{Position: 2}).Distinct; d != 7 {
			t.Errorf("%v distinct values", d)
		}
		if got := changed(n, t, "t"); got != 0 {
			t.Errorf("after the analysis %d rows have changed", got)
		}
		n.Must("UPDATE t SET v = v WHERE k <= 40", "DELETE FROM t WHERE k = 1", "INSERT INTO t VALUES (1, 1)")
		if got := changed(n, t, "t"); got != 40 { // a transaction counts its last write of a row
			t.Errorf("%d rows have changed", got)
		}
	}
}

// TestLocked checks that the lock of another transaction is not waited for (AA2).
func TestLocked(t *testing.T) {
	n := testsql.Open(t, 1)
	n.Define("CREATE TABLE t (k int PRIMARY KEY)")
	x := n.Table("t")
	owner := n.Locks.NewSession(1).Begin(txn.NewID())
	exclusive := locks.Request{Mode: locks.AccessExclusive}
	testsql.WantCode(t, owner.Acquire(t.Context(), locks.Table(x.Database, x.OID), exclusive), "")
	if err := newWorker(n).Analyze(t.Context(), x); !errors.Is(err, autoanalyze.ErrSkipped) {
		t.Errorf("got %v", err)
	}
	owner.Release()
	testsql.WantCode(t, newWorker(n).Analyze(t.Context(), x), "")
}

// TestGivesWay checks that an analysis ends when another transaction waits for its table, and not when
// one waits for a row or another table (AA2).
func TestGivesWay(t *testing.T) {
	n := testsql.Open(t, 1)
	n.Define("CREATE TABLE t (k int PRIMARY KEY)")
	x := n.Table("t")
	w, looked, wait := newWorker(n), atomic.Int64{}, atomic.Bool{}
	wanted := sysview.Lock{Type: "relation", Database: x.Database, Relation: x.OID, Mode: "AccessExclusiveLock"}
	w.Locks = func(context.Context) []sysview.Lock {
		looked.Add(1)
		granted, weak, other := wanted, wanted, wanted
		granted.Granted, weak.Mode, other.Relation = true, "RowExclusiveLock", x.OID+1
		out := []sysview.Lock{granted, weak, other}
		if wait.Load() {
			out = append(out, wanted)
		}
		return out
	}
	w.Totals = func(ctx context.Context, _ *catalog.Database, _ uint32) ([]tablestats.Total, error) {
		<-ctx.Done() // the analysis takes long
		return nil, ctx.Err()
	}
	done := make(chan error, 1)
	go func() { done <- w.Analyze(t.Context(), x) }()
	eventually.Holds(t, "the locks are looked at", func() bool { return looked.Load() > 1 })
	select {
	case err := <-done:
		t.Fatalf("it has ended though nothing waits for it: %v", err)
	default:
	}
	wait.Store(true)
	if err := <-done; !errors.Is(err, autoanalyze.ErrSkipped) {
		t.Errorf("got %v", err)
	}
}
