package tx

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/locks"
)

// TestLockTimeout: a lock that is held is waited for as long as lock_timeout says, and not at all with NOWAIT.
func TestLockTimeout(t *testing.T) {
	w := newWorld(t)
	table := w.table("orders")
	x, y := w.begin("read committed"), w.environment(2).Begin(w.now.Time(), Modes{Level: "read committed"})
	defer y.Rollback()
	must(t, x.LockTables(t.Context(), []TableUse{{table.OID, locks.AccessExclusive}}))
	if !x.Holds(locks.Table(catalog.PostgresDB, table.OID), locks.ShareUpdateExclusive) {
		t.Error("it does not hold a weaker lock than the one that it has taken")
	}
	if err := y.LockTable(t.Context(), table.OID, locks.AccessShare, true); !errors.Is(err, locks.ErrNotAvailable) {
		t.Errorf("with NOWAIT: %v", err)
	}
	w.settings["lock_timeout"] = "1"
	wantCode(t, "with lock_timeout", y.LockTable(t.Context(), table.OID, locks.AccessShare, false), "55P03")
	w.settings["lock_timeout"] = "0"
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(pgerr.New(pgerr.QueryCanceled, "canceled"))
	wantCode(t, "canceled", y.LockTable(ctx, table.OID, locks.AccessShare, false), "57014")
	x.Rollback()
	must(t, y.LockTable(t.Context(), table.OID, locks.AccessExclusive, true))
	if list := y.TableLocks(); len(list) != 1 || list[0].Table != table.OID {
		t.Errorf("it lists the locks %+v", list)
	}
}

// TestLockNamed: of two tables that had a name, only the one that has it now stays locked.
func TestLockNamed(t *testing.T) {
	w := newWorld(t)
	before, first, second := w.table("before"), w.table("first"), w.table("second")
	x := w.begin("read committed")
	defer x.Rollback()
	must(t, x.LockTable(t.Context(), before.OID, locks.Share, false))
	names := []*catalog.Table{first, second, second}
	find := func() (catalog.OID, error) {
		if len(names) == 0 {
			return 0, pgerr.New(pgerr.UndefinedTable, "gone")
		}
		oid := names[0].OID
		names = names[1:]
		return oid, nil
	}
	must(t, x.LockNamed(t.Context(), find, locks.AccessExclusive, true))
	held := func(table *catalog.Table) bool {
		return x.Holds(locks.Table(catalog.PostgresDB, table.OID), locks.AccessShare)
	}
	if held(first) || !held(second) || !held(before) {
		t.Errorf("it holds the locks %+v", x.TableLocks())
	}
	names = []*catalog.Table{first}
	wantCode(t, "a dropped table", x.LockNamed(t.Context(), find, locks.Share, true), pgerr.UndefinedTable)
	if held(first) {
		t.Error("it keeps the lock of a table that was dropped")
	}
}

// TestLockElsewhere: only locks stronger than those of statements that read and write rows are asked for at the other
// nodes, once, and not those of a table that the transaction has made.
func TestLockElsewhere(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	var asked []locks.Mode
	var steps []string
	alone := false
	w.services.TableLocks = &LocksElsewhere{
		Alone: func() bool { return alone },
		Take: func(_ context.Context, l locks.ClusterRequest, local func() error) error {
			asked = append(asked, l.Request.Mode)
			if !w.env.WaitsElsewhere() {
				t.Error("it is not shown that the session waits for other nodes")
			}
			return local()
		},
		Confirm:    func(context.Context, txn.ID) error { steps = append(steps, "confirm"); return nil },
		RollbackTo: func(txn.ID, int) { steps = append(steps, "roll back") },
		Release:    func(txn.ID) { steps = append(steps, "release") },
	}
	table, own := w.table("orders"), w.newTable("own")
	x := w.begin("read committed")
	must(t, put(ctx, x, own))
	asked = nil // the locks of schema changes
	x.Savepoint("a")
	for _, mode := range []locks.Mode{locks.AccessShare, locks.RowExclusive, locks.Share, locks.Share} {
		must(t, x.LockTable(ctx, table.OID, mode, false))
	}
	must(t, x.LockTable(ctx, own.OID, locks.AccessExclusive, false))
	if !slices.Equal(asked, []locks.Mode{locks.Share}) || w.env.WaitsElsewhere() {
		t.Errorf("other nodes were asked for %v", asked)
	}
	x.UndoTo(0)
	must(t, x.ConfirmLocks(ctx))
	x.Rollback()
	if want := []string{"roll back", "confirm", "release"}; !slices.Equal(steps, want) {
		t.Errorf("the other nodes were told to %q, want %q", steps, want)
	}
	alone, asked = true, nil
	x = w.begin("read committed")
	must(t, x.LockTable(ctx, table.OID, locks.AccessExclusive, false))
	x.Rollback()
	if asked != nil {
		t.Errorf("a node without others has asked for %v", asked)
	}
}

// TestTablesOfFunctions: a function may not take a table for itself that its own statement uses, but one whose lock
// was left by an earlier attempt of the statement.
func TestTablesOfFunctions(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	used, mine := w.table("used"), w.table("mine")
	x := w.begin("read committed")
	defer x.Rollback()
	x.BeginStatement()
	x.BeginAttempt()
	must(t, x.LockTable(ctx, used.OID, locks.AccessShare, false))
	if !x.UsesAlready(used.OID) || x.UsesAlready(mine.OID) || x.HasDefined() {
		t.Errorf("used %v, mine %v, defined %v", x.UsesAlready(used.OID), x.UsesAlready(mine.OID), x.HasDefined())
	}
	x.DefineTables(mine.OID)
	must(t, x.LockTable(ctx, mine.OID, locks.AccessExclusive, false))
	if !x.HasDefined() || !x.UsesAlready(mine.OID) {
		t.Error("a second function may take the table of the first")
	}
	x.BeginAttempt()
	if x.UsesAlready(mine.OID) || !x.UsesAlready(used.OID) || x.HasDefined() {
		t.Error("the statement cannot be run again because of the lock of its first attempt")
	}
	x.DefineTables(mine.OID)
	if !x.UsesAlready(mine.OID) {
		t.Error("the lock of the first attempt does not count twice")
	}
	x.BeginStatement()
	x.BeginAttempt()
	if !x.UsesAlready(mine.OID) {
		t.Error("the next statement may take the table again")
	}
}
