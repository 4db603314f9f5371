package catalog

import (
	"reflect"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
)

// viewOps are those of laterOps with a view of their table.
func viewOps() []op {
	ops := laterOps()
	t := ops[0].desc.(*Table)
	view := &Table{
		OID: 16600, Database: t.Database, Schema: t.Schema, Name: "seen", Owner: 10, Kind: KindView, Version: 1,
		Columns: []Column{{AttNum: 1, Name: "a", Type: 25, Typmod: -1}}, NextAttNum: 2,
		Options: map[string]string{OptionCheck: "local"},
		Special: Special{View: &ViewRule{OID: 16601, Query: `SELECT t.a FROM "#"."16385" t(a)`, Uses: []Use{
			{Relation: t.OID, Columns: []int16{t.Columns[0].AttNum}}, {Constraint: 16602},
		}}},
	}
	return append(ops, op{kind: putOp, key: keyOf(view), desc: view})
}

// TestViewFormat: views are kept.
func TestViewFormat(t *testing.T) {
	data, err := encodeBatch(viewOps())
	if err != nil {
		t.Fatal(err)
	}
	e, err := decodeEntry(golden(t, "view.v1", data))
	if err != nil || !reflect.DeepEqual(e.ops, viewOps()) {
		t.Errorf("%+v, %v", e.ops, err)
	}
}

// TestViews: what a view uses exists and stays, and the views that use it are found.
func TestViews(t *testing.T) {
	c := openBootstrapped(t)
	oids := make([]OID, 4)
	for i := range oids {
		oids[i] = must[OID](t)(c.NewOID(t.Context()))
	}
	update := func(f func(ch *Change) error) error {
		_, err := c.Update(t.Context(), func(_ *View, ch *Change) error { return f(ch) })
		return err
	}
	table := &Table{OID: oids[0], Database: PostgresDB, Schema: PostgresPublic, Name: "t", Owner: BootstrapRole,
		Kind: KindTable, StorageID: oids[0], NextAttNum: 3, Columns: []Column{
			{AttNum: 1, Name: "a", Type: 23, Typmod: -1}, {AttNum: 2, Name: "b", Type: 23, Typmod: -1},
		}}
	view := &Table{OID: oids[1], Database: PostgresDB, Schema: PostgresPublic, Name: "v", Owner: BootstrapRole,
		Kind: KindView, NextAttNum: 2, Columns: []Column{{AttNum: 1, Name: "a", Type: 23, Typmod: -1}},
		Special: Special{View: &ViewRule{OID: oids[2], Query: "SELECT", Uses: []Use{
			{Relation: oids[0], Columns: []int16{1}},
		}}}}
	if err := update(func(ch *Change) error { return ch.PutTable(view) }); !pgerr.Is(err, pgerr.UndefinedTable) {
		t.Errorf("a view of no table: %v", err)
	}
	if err := update(func(ch *Change) error { return ch.PutTable(table) }); err != nil {
		t.Fatal(err)
	}
	if err := update(func(ch *Change) error { return ch.PutTable(view) }); err != nil {
		t.Fatal(err)
	}
	if got := ViewsUsing(c.View(), table.OID); len(got) != 1 || got[0].Name != "v" || got[0].View.UseOf(table.OID) == nil {
		t.Errorf("users of the table: %v", got)
	}
	drop := func(att int16) error {
		return update(func(ch *Change) error {
			less := c.View().Table(table.OID).Clone()
			less.ColumnByNum(att).Dropped = true
			return ch.PutTable(less)
		})
	}
	if err := drop(1); !pgerr.Is(err, pgerr.DependentObjectsStillExist) {
		t.Errorf("a column that the view reads is dropped: %v", err)
	}
	if err := drop(2); err != nil {
		t.Errorf("another column: %v", err)
	}
	err := update(func(ch *Change) error { ch.DropTable(table.OID); return nil })
	if !pgerr.Is(err, pgerr.DependentObjectsStillExist) {
		t.Errorf("the table is dropped: %v", err)
	}
	if err := update(func(ch *Change) error { ch.DropTable(table.OID); ch.DropTable(view.OID); return nil }); err != nil {
		t.Errorf("both are dropped: %v", err)
	}
	none := view.Clone()
	none.OID, none.View = oids[3], nil
	if err := update(func(ch *Change) error { return ch.PutTable(none) }); err == nil {
		t.Error("a view without a query")
	}
}

// TestMaterializedFormat: a materialized view is kept with its storage, and whether it has rows.
func TestMaterializedFormat(t *testing.T) {
	ops := viewOps()
	view := ops[len(ops)-1].desc.(*Table)
	view.Kind, view.StorageID, view.View.Populated, view.Options = KindMaterialized, 16603, true, nil
	data, err := encodeBatch(ops)
	if err != nil {
		t.Fatal(err)
	}
	e, err := decodeEntry(golden(t, "materialized.v1", data))
	if err != nil || !reflect.DeepEqual(e.ops, ops) {
		t.Errorf("%+v, %v", e.ops, err)
	}
	view.StorageID = 0
	if err := checkTable(view); err == nil {
		t.Error("a materialized view without storage is accepted")
	}
}
