package catalog

import (
	"slices"
	"testing"
)

// temporaryTable returns the definition of a table with one column.
func temporaryTable(oid, schema OID, name string, on OnCommit) *Table {
	return &Table{
		OID: oid, Database: PostgresDB, Schema: schema, Name: name, Owner: BootstrapRole, Kind: KindTable, StorageID: oid,
		Columns: []Column{{AttNum: 1, Name: "a", Type: 23, Typmod: -1}}, NextAttNum: 2, Special: Special{OnCommit: on},
	}
}

// TestTemporary: a change is split into what all sessions see and what one session sees; the latter
// comes with every newer catalog, and is never applied.
func TestTemporary(t *testing.T) {
	c := openBootstrapped(t)
	base, first := c.View(), OID(90001)
	schema := &Schema{OID: first, Database: PostgresDB, Name: "pg_temp_7", Owner: BootstrapRole}
	ch := base.Plan()
	for _, err := range []error{
		PutTemporarySchema(ch, schema),
		ch.PutTable(temporaryTable(first+1, first, "t", PreserveRows)),
		ch.PutTable(temporaryTable(first+2, first, "gone", DropTable)),
		ch.PutTable(temporaryTable(must[OID](t)(c.NewOID(t.Context())), PostgresPublic, "shared", 0)),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if !ChangesTemporary(ch) {
		t.Error("the change is not one of temporary objects")
	}
	if _, err := c.Apply(t.Context(), ch); err == nil {
		t.Fatal("temporary objects were stored")
	}
	shared, temporary := Apart(ch)
	version := must[uint64](t)(c.Apply(t.Context(), shared))
	newest := must[*View](t)(c.WaitVersion(t.Context(), version))
	if newest.FindTable(PostgresDB, "public", "shared") == nil || TemporaryOf(newest) != nil || newest.Table(first+1) != nil {
		t.Error("the shared part is not the table that is not temporary")
	}
	temporary, dropped := temporary.AfterCommit()
	if !dropped || temporary.Has(first+2) || !temporary.Has(first+1) || temporary.Schema() != first {
		t.Errorf("after the commit: dropped %v, %v", dropped, temporary.Tables())
	}
	own := must[*View](t)(temporary.On(newest, 1<<63))
	for _, name := range []string{TemporarySchema, "pg_temp_7"} {
		if x := own.FindTable(PostgresDB, name, "t"); x == nil || !x.IsTemporary() {
			t.Errorf("%s.t is %v", name, x)
		}
	}
	schemas := 0
	for s := range own.Schemas(PostgresDB) {
		if s.Temporary {
			schemas++
		}
	}
	if schemas != 1 {
		t.Errorf("the schema is listed %d times", schemas)
	}
	// A change that was planned with the objects goes on with a newer catalog.
	alter := own.Plan()
	x := own.Table(first + 1).Clone()
	x.Name = "renamed"
	if err := alter.PutTable(x); err != nil {
		t.Fatal(err)
	}
	newer := must[*View](t)(c.Update(t.Context(), func(_ *View, ch *Change) error {
		return ch.PutRole(&Role{OID: must[OID](t)(c.NewOID(t.Context())), Name: "other", ConnectionLimit: -1})
	}))
	rebased, err := alter.Rebase(must[*View](t)(temporary.On(newer, 1<<63+1)))
	if err != nil {
		t.Fatal(err)
	}
	shared, temporary = Apart(rebased)
	if list := temporary.Tables(); !shared.Empty() || len(list) != 1 || list[0].Name != "renamed" {
		t.Errorf("%v", list)
	}
	// A table that is not temporary cannot refer to the schema.
	_, err = c.Update(t.Context(), func(v *View, ch *Change) error {
		return ch.PutTable(temporaryTable(must[OID](t)(c.NewOID(t.Context())), first, "in", 0))
	})
	if err == nil {
		t.Error("a table is in a schema of temporary objects")
	}
}

// TestSearchPath: temporary objects come first, unless the path names their schema.
func TestSearchPath(t *testing.T) {
	x := &Schema{Name: "pg_temp_3"}
	for _, c := range []struct{ written, path []string }{
		{[]string{"a", "b"}, []string{"pg_temp_3", "pg_catalog", "a", "b"}},
		{[]string{"a", "pg_catalog"}, []string{"pg_temp_3", "a", "pg_catalog"}},
		{[]string{"a", TemporarySchema}, []string{"a", TemporarySchema}},
	} {
		got := SearchPath(x, c.written)
		if !slices.Equal(got, c.path) || !slices.Equal(WrittenPath(got), c.written) {
			t.Errorf("%v: %v, written %v", c.written, got, WrittenPath(got))
		}
	}
}
