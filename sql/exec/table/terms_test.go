package table

import (
	"encoding/hex"
	"testing"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// TestEntriesOfTerms: the entries of a GIN index are on disk (V1). A change removes and puts only the
// entries of terms that changed.
func TestEntriesOfTerms(t *testing.T) {
	array := types.ArrayTypeOf(types.Int4)
	def := &catalog.Table{
		StorageID: 9, Columns: []catalog.Column{{AttNum: 1, Name: "a", Type: array, Typmod: -1}},
		Indexes: []catalog.Index{{Name: "x", StorageID: 7, Columns: []int16{1}, Method: catalog.GIN}},
	}
	of, err := New(def)
	if err != nil {
		t.Fatal(err)
	}
	rules, err := NewIndexes(&expr.Compiler{}, of, []query.Index{{
		Def: &def.Indexes[0], Keys: []query.Expr{&query.Slot{T: query.Of(array)}}, Names: []string{"a"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	row := func(text string) types.Row {
		d, err := types.Input(array, -1, text, nil)
		if err != nil {
			t.Fatal(err)
		}
		return types.Row{d}
	}
	key := append([]byte{0, 0, 0, 9, 0, 0, 0, 0, 0x0a, 0xbc, 0xde, 0, 0, 0, 0}, "key"...)
	list, _, err := rules[0].Entries(&expr.Ctx{Run: 1}, row("{1,2,1}"), key, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"0000000900000007" + "7d47b59b941f893e" + hex.EncodeToString([]byte("key")),
		"0000000900000007" + "89033f540a35bd6a" + hex.EncodeToString([]byte("key")),
	}
	if len(list) != len(want) {
		t.Fatalf("%d entries", len(list))
	}
	for i, e := range list {
		if hex.EncodeToString(e.Key) != want[i] || hex.EncodeToString(e.Value) != "020abcde0003" || e.Exclusive ||
			e.Bucket != 0x0abcde {
			t.Errorf("entry %d: %x, %x", i, e.Key, e.Value)
		}
	}
	remove, put, _, err := rules[0].Change(&expr.Ctx{Run: 2}, row("{1,2,3}"), key, row("{4,2,1}"), key, nil)
	if err != nil || len(remove) != 1 || len(put) != 1 {
		t.Errorf("%d entries are removed and %d put, %v", len(remove), len(put), err)
	}
	for _, x := range []struct{ was, now types.Row }{{row("{1,2}"), row("{2,1,2}")}, {row("{}"), row("{}")}} {
		remove, put, _, err := rules[0].Change(&expr.Ctx{Run: 3}, x.was, key, x.now, key, nil)
		if err != nil || len(remove)+len(put) > 0 {
			t.Errorf("%d entries are removed and %d put, %v", len(remove), len(put), err)
		}
	}
	if list, _, err = rules[0].Entries(&expr.Ctx{Run: 4}, types.Row{types.Null}, key, nil, nil); err != nil || len(list) > 0 {
		t.Errorf("%d entries of null, %v", len(list), err)
	}
}
