package system_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/internal/testsql"
	"github.com/sherddb/sherd/sql/system"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/locks"
)

// worker returns another worker of a node.
func worker(n *testsql.Node) *system.Worker { return n.Workers.NewWorker(catalog.PostgresDB, false) }

// TestCommit checks that a transaction sees what it has written, that its commit keeps all of it, and
// that an error keeps none.
func TestCommit(t *testing.T) {
	n, ctx := testsql.Open(t, 2), t.Context()
	n.Define("CREATE TABLE t (k text PRIMARY KEY, v int)")
	commits, rollbacks := n.Counters.Commits.Load(), n.Counters.Rollbacks.Load()
	err := n.Worker.Do(ctx, func(x *system.Transaction) error {
		if err := testsql.RunIn(ctx, x, "INSERT INTO t VALUES ('a', 1), ('b', 2)", "UPDATE t SET v = v + 10"); err != nil {
			return err
		}
		got, err := testsql.RowsIn(ctx, x, "SELECT k, v::text FROM t ORDER BY k")
		if got != "a|11\nb|12" {
			t.Errorf("in the transaction: %q", got)
		}
		return err
	})
	testsql.WantCode(t, err, "")
	failed := errors.New("the job has had enough")
	err = n.Worker.Do(ctx, func(x *system.Transaction) error {
		return errors.Join(x.Run(ctx, "DELETE FROM t"), failed)
	})
	if !errors.Is(err, failed) {
		t.Errorf("got %v", err)
	}
	if got := n.Rows("SELECT k, v::text FROM t ORDER BY k"); got != "a|11\nb|12" {
		t.Errorf("after the rollback: %q", got)
	}
	if c, r := n.Counters.Commits.Load()-commits, n.Counters.Rollbacks.Load()-rollbacks; c != 2 || r != 1 {
		t.Errorf("%d commits and %d rollbacks were counted", c, r)
	}
}

// TestConstraints checks that a statement obeys the constraints of its table, and the commit the
// deferred ones.
func TestConstraints(t *testing.T) {
	n := testsql.Open(t, 2)
	n.Define(`CREATE TABLE parent (k text PRIMARY KEY);
		CREATE TABLE child (k text PRIMARY KEY, p text REFERENCES parent, later text,
			CHECK (p <> 'bad'), FOREIGN KEY (later) REFERENCES parent DEFERRABLE INITIALLY DEFERRED)`)
	n.Must("INSERT INTO parent VALUES ('p')")
	testsql.WantCode(t, n.Run("INSERT INTO child VALUES ('1', 'none', NULL)"), pgerr.ForeignKeyViolation)
	testsql.WantCode(t, n.Run("INSERT INTO child VALUES ('1', 'bad', NULL)"), pgerr.CheckViolation)
	testsql.WantCode(t, n.Run("INSERT INTO child VALUES ('1', 'p', 'none')"), pgerr.ForeignKeyViolation)
	if got := n.Rows("SELECT k FROM child"); got != "" {
		t.Errorf("rows that were refused: %q", got)
	}
	n.Must("INSERT INTO child VALUES ('2', 'p', 'q')", "INSERT INTO parent VALUES ('q')")
	testsql.WantCode(t, n.Run("DELETE FROM parent WHERE k = 'p'"), pgerr.ForeignKeyViolation)
	if got := n.Rows("SELECT k, later FROM child"); got != "2|q" {
		t.Errorf("got %q", got)
	}
}

// TestByID checks that nothing follows from the rows that a worker of jobs about ids writes.
func TestByID(t *testing.T) {
	n, ctx := testsql.Open(t, 2), t.Context()
	n.Define(`CREATE TABLE parent (k text PRIMARY KEY);
		CREATE TABLE child (k text PRIMARY KEY, p text REFERENCES parent ON DELETE CASCADE)`)
	n.Must("INSERT INTO parent VALUES ('p')", "INSERT INTO child VALUES ('c', 'p')")
	byID := n.Workers.NewWorker(catalog.PostgresDB, true)
	err := byID.Do(ctx, func(x *system.Transaction) error { return x.Run(ctx, "DELETE FROM parent") })
	testsql.WantCode(t, err, "")
	if got := n.Rows("SELECT k, p FROM child"); got != "c|p" {
		t.Errorf("got %q", got)
	}
}

// TestDoAgain checks which errors have a transaction run again.
func TestDoAgain(t *testing.T) {
	n := testsql.Open(t, 1)
	for name, x := range map[string]struct {
		err  error
		runs int
	}{
		"conflict":  {pgerr.New(pgerr.SerializationFailure, "rows have changed"), 3},
		"deadlock":  {pgerr.New(pgerr.DeadlockDetected, "deadlock detected"), 3},
		"move":      {&txn.LostError{Err: pgerr.New(pgerr.CannotConnectNow, "rows have moved")}, 3},
		"violation": {pgerr.New(pgerr.UniqueViolation, "duplicate key"), 1},
	} {
		runs, deadlocks := 0, n.Counters.Deadlocks.Load()
		err := n.Worker.Do(t.Context(), func(*system.Transaction) error {
			if runs++; runs < 3 {
				return x.err
			}
			return nil
		})
		if runs != x.runs || (err != nil) != (x.runs == 1) {
			t.Errorf("%s: %d runs, %v", name, runs, err)
		}
		if got := n.Counters.Deadlocks.Load() - deadlocks; got != map[string]int64{"deadlock": 2}[name] {
			t.Errorf("%s: %d deadlocks were counted", name, got)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	runs := 0
	err := n.Worker.Do(ctx, func(*system.Transaction) error {
		runs++
		cancel()
		return pgerr.New(pgerr.SerializationFailure, "rows have changed")
	})
	if runs != 1 || err == nil {
		t.Errorf("after the end of its context it ran %d times: %v", runs, err)
	}
}

// TestStatementAgain checks that a statement which has waited for a row that another transaction has
// changed runs again, and loses nothing.
func TestStatementAgain(t *testing.T) {
	n, ctx := testsql.Open(t, 2), t.Context()
	n.Define("CREATE TABLE t (k text PRIMARY KEY, v int)")
	n.Must("INSERT INTO t VALUES ('a', 0)")
	other, done, runs := worker(n), make(chan error, 1), 0
	err := n.Worker.Do(ctx, func(x *system.Transaction) error {
		if err := x.Run(ctx, "UPDATE t SET v = v + 1"); err != nil {
			return err
		}
		go func() {
			done <- other.Do(ctx, func(y *system.Transaction) error {
				runs++
				_, err := y.Rows(ctx, "SELECT k FROM t FOR UPDATE")
				return errors.Join(err, y.Run(ctx, "UPDATE t SET v = v + 10"))
			})
		}()
		select {
		case err := <-done:
			t.Errorf("the other transaction did not wait: %v", err)
		case <-time.After(100 * time.Millisecond):
		}
		return nil
	})
	testsql.WantCode(t, err, "")
	testsql.WantCode(t, <-done, "")
	if got := n.Rows("SELECT v::text FROM t"); got != "11" || runs != 1 {
		t.Errorf("got %s after %d runs of the transaction", got, runs)
	}
}

// TestLocksTables checks that a transaction keeps the definitions of its tables, and waits for others
// that have them.
func TestLocksTables(t *testing.T) {
	n, ctx := testsql.Open(t, 1), t.Context()
	n.Define("CREATE TABLE t (k text PRIMARY KEY)")
	table := locks.Table(catalog.PostgresDB, n.Table("t").OID)
	owner := n.Locks.NewSession(1).Begin(txn.NewID())
	exclusive := locks.Request{Mode: locks.AccessExclusive, NoWait: true}
	err := n.Worker.Do(ctx, func(x *system.Transaction) error {
		if _, err := x.Rows(ctx, "SELECT k FROM t"); err != nil {
			return err
		}
		if err := owner.Acquire(ctx, table, exclusive); err == nil {
			t.Error("the table could be locked while a transaction reads it")
		}
		return nil
	})
	testsql.WantCode(t, err, "")
	testsql.WantCode(t, owner.Acquire(ctx, table, exclusive), "")
	waiting, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		done <- worker(n).Do(waiting, func(x *system.Transaction) error { return x.Run(waiting, "DELETE FROM t") })
	}()
	eventually.Holds(t, "the statement waits for the table", func() bool { return waits(n) })
	cancel()
	testsql.WantCode(t, <-done, pgerr.QueryCanceled)
	owner.Release()
	n.Must("DELETE FROM t")
}

// waits reports whether a lock is waited for.
func waits(n *testsql.Node) bool {
	for _, l := range n.Locks.Locks() {
		if !l.Granted {
			return true
		}
	}
	return false
}

// TestBarrier checks that a barrier waits for the users of a table.
func TestBarrier(t *testing.T) {
	n, ctx := testsql.Open(t, 1), t.Context()
	n.Define("CREATE TABLE t (k text PRIMARY KEY)")
	oid, done := n.Table("t").OID, make(chan error, 1)
	err := n.Worker.Do(ctx, func(x *system.Transaction) error {
		if err := x.Run(ctx, "INSERT INTO t VALUES ('a')"); err != nil {
			return err
		}
		go func() { done <- worker(n).Barrier(ctx, oid) }()
		select {
		case err := <-done:
			t.Errorf("the barrier did not wait: %v", err)
		case <-time.After(100 * time.Millisecond):
		}
		return nil
	})
	testsql.WantCode(t, err, "")
	testsql.WantCode(t, <-done, "")
}

// TestCondition checks that the condition of a schema change is asked for at the commit, and that its
// error ends the transaction.
func TestCondition(t *testing.T) {
	n, ctx := testsql.Open(t, 1), t.Context()
	n.Define("CREATE TABLE t (k text PRIMARY KEY)")
	refused := pgerr.New(pgerr.ObjectNotInPrerequisiteState, "not now")
	comment := func(condition func(catalog.OID, *catalog.Change) (*catalog.Change, error)) error {
		return n.Worker.Do(ctx, func(x *system.Transaction) error {
			x.Condition = condition
			return x.ChangeSchema(ctx, func(v *catalog.View, ch *catalog.Change) error {
				own := v.Table(n.Table("t").OID).Clone()
				own.Name = "u"
				return ch.PutTable(own)
			})
		})
	}
	err := comment(func(catalog.OID, *catalog.Change) (*catalog.Change, error) { return nil, refused })
	testsql.WantCode(t, err, pgerr.ObjectNotInPrerequisiteState)
	n.Table("t")
	testsql.WantCode(t, comment(nil), "")
	n.Table("u")
}
