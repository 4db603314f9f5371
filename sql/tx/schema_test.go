package tx

import (
	"errors"
	"testing"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/txn/locks"
)

// TestUncommittedSchema: a change is seen by its own transaction only, at a version that is none of the catalog. What
// others change meanwhile is seen too.
func TestUncommittedSchema(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	x, y := w.begin("read committed"), w.environment(2).Begin(w.now.Time(), Modes{Level: "read committed"})
	defer x.Rollback()
	defer y.Rollback()
	first, second := w.newTable("first"), w.newTable("second")
	must(t, put(ctx, x, first))
	must(t, put(ctx, x, second))
	for _, table := range []*catalog.Table{first, second} {
		if x.View().Table(table.OID) == nil {
			t.Errorf("the transaction does not see %s", table.Name)
		}
		if x.Newest().Table(table.OID) != nil || y.View().Table(table.OID) != nil {
			t.Errorf("others see %s", table.Name)
		}
	}
	own := x.View().DefinitionVersion()
	must(t, put(ctx, y, w.newTable("third")))
	if other := y.View().DefinitionVersion(); own < uncommittedVersion || other < uncommittedVersion || own == other {
		t.Errorf("the versions of two uncommitted schemas are %x and %x", own, other)
	}
	theirs := w.table("theirs")
	if x.View().Table(theirs.OID) == nil || x.View().Table(first.OID) == nil {
		t.Error("after another transaction has committed a table, it or the own one is not seen")
	}
	if x.View().DefinitionVersion() == own {
		t.Errorf("the version is still %x", own)
	}
}

// TestSchemaLocks: a table is kept from other changes of its definition. Its users are not kept from it.
func TestSchemaLocks(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	table := w.table("orders")
	x, y := w.begin("read committed"), w.environment(2).Begin(w.now.Time(), Modes{Level: "read committed"})
	defer x.Rollback()
	defer y.Rollback()
	renamed := table.Clone()
	renamed.Name = "sales"
	must(t, put(ctx, x, renamed))
	if !x.HasChanged(table) || y.HasChanged(table) {
		t.Errorf("the table is changed by the transaction: %v, by another: %v", x.HasChanged(table), y.HasChanged(table))
	}
	must(t, y.LockTable(ctx, table.OID, locks.RowExclusive, true))
	if err := y.LockTable(ctx, table.OID, locks.ShareUpdateExclusive, true); !errors.Is(err, locks.ErrNotAvailable) {
		t.Errorf("another change of the definition: %v", err)
	}
	w.settings["lock_timeout"] = "1"
	wantCode(t, "a change of the same table", put(ctx, y, renamed), "55P03")
}

// TestStorages: a snapshot does not reach rows of a storage from after it, but those of the transaction's own.
func TestStorages(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	old := w.table("old")
	x := w.begin("repeatable read")
	defer x.Rollback()
	must(t, x.TakeSnapshot(ctx))
	added, own := w.table("added"), w.table("own")
	replaced := own.Clone()
	replaced.StorageID = w.newTable("").StorageID
	must(t, put(ctx, x, replaced))
	use := func(table *catalog.Table) []TableUse { return []TableUse{{table.OID, locks.AccessShare}} }
	wantCode(t, "a table from before", x.CheckStorages(use(old)), "")
	wantCode(t, "a table from after", x.CheckStorages(use(added)), "40001")
	wantCode(t, "a table that it has rewritten itself", x.CheckStorages(use(own)), "")
	truncated := old.Clone()
	truncated.StorageID = w.newTable("").StorageID
	truncated.Version++
	w.update(func(ch *catalog.Change) error { return ch.PutTable(truncated) })
	x.View() // a statement is planned before its tables are checked
	wantCode(t, "a table that was truncated since", x.CheckStorages(use(old)), "40001")
	later := w.begin("repeatable read")
	defer later.Rollback()
	must(t, later.TakeSnapshot(ctx))
	wantCode(t, "a table from before the next snapshot", later.CheckStorages(use(added)), "")
	w.settings[AsOfSetting] = "-1h"
	past := w.begin("read committed")
	defer past.Rollback()
	must(t, past.ReadPastAsSet())
	wantCode(t, "a table an hour ago", past.CheckStorages(use(old)), "72000")
}
