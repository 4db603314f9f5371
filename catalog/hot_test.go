package catalog

import (
	"reflect"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
)

func hotTables() (t, parts *Table) {
	t = &Table{
		OID: 16500, Database: 5, Schema: 2200, Name: "counters", Owner: 10, Kind: KindTable, Version: 1, StorageID: 16500, NextAttNum: 3, Document: 2,
		Columns:     []Column{{AttNum: 1, Name: "id", Type: 25, Typmod: -1, NotNull: true}, {AttNum: 2, Name: "doc", Type: 3802, Typmod: -1}},
		Constraints: []Constraint{{OID: 16501, Name: "counters_pkey", Kind: PrimaryKey, Columns: []int16{1}, Valid: true}},
		Hot: &Hot{
			Parts: 16502, Counters: []Counter{{Column: 2, Path: []string{"Stats", "Likes"}}}, Next: 3,
			Documents: []HotDocument{
				{Number: 1, ID: "counters/1", Key: []byte{1, 0}, Parts: []int64{1 << 32, 1<<32 + 5}, Counters: []int32{0}, Since: 1, Who: "postgres", Joined: 2},
				{Number: 2, ID: "counters/2", Key: []byte{2, 0}, Parts: []int64{2 << 32, 2<<32 + 9}, Counters: []int32{0}, Since: 3, Who: "postgres"},
			},
		},
	}
	parts = NewPartsTable(t, 16502, 16503)
	parts.AddCounter()
	parts.Version = 1
	return t, parts
}

func hotOps() []op {
	t, parts := hotTables()
	return []op{{kind: putOp, key: keyOf(t), desc: t}, {kind: putOp, key: keyOf(parts), desc: parts}}
}

func TestHotFormat(t *testing.T) {
	data, err := encodeBatch(hotOps())
	if err != nil {
		t.Fatal(err)
	}
	if e, err := decodeEntry(golden(t, "hot.v1", data)); err != nil || !reflect.DeepEqual(e.ops, hotOps()) {
		t.Errorf("batch: %v", err)
	}
}

// TestKeepsCounters: a table with split documents keeps what its counters rest on.
func TestKeepsCounters(t *testing.T) {
	old, _ := hotTables()
	for name, c := range map[string]struct {
		change func(*Table)
		ok     bool
	}{
		"comment":    {func(t *Table) { t.Comment = "x" }, true},
		"add column": {func(t *Table) { t.Columns = append(t.Columns, Column{AttNum: 3, Name: "n", Type: 23}) }, true},
		"emptied":    {func(t *Table) { t.StorageID, t.Hot = 16510, nil }, true},
		"constraint": {func(t *Table) { t.Constraints = append(t.Constraints, Constraint{Name: "c", Kind: Check}) }, false},
		"index":      {func(t *Table) { t.Indexes = append(t.Indexes, Index{OID: 16511}) }, false},
		"rewrite":    {func(t *Table) { t.StorageID = 16510 }, false},
		"type":       {func(t *Table) { t.Columns[1].Type = 25 }, false},
		"drop":       {func(t *Table) { t.Columns[1].Dropped = true }, false},
		"generated":  {func(t *Table) { t.Columns = append(t.Columns, Column{AttNum: 3, Name: "n", Generated: "1"}) }, false},
		"document":   {func(t *Table) { t.Document = 0 }, false},
		"anchors":    {func(t *Table) { t.Anchors = true }, false},
	} {
		next := old.Clone()
		c.change(next)
		if err := next.keepsCounters(old); (err == nil) != c.ok || err != nil && !pgerr.Is(err, pgerr.FeatureNotSupported) {
			t.Errorf("%s: %v", name, err)
		}
		whole := old.Clone()
		whole.Hot.Documents[1].Joined = 4
		if err := next.keepsCounters(whole); err != nil {
			t.Errorf("%s of a table without split documents: %v", name, err)
		}
	}
}

func TestHotDocuments(t *testing.T) {
	x, parts := hotTables()
	h := x.Hot
	if h.DocumentAt([]byte{1, 0}) != nil || h.DocumentAt([]byte{2, 0}) != &h.Documents[1] || h.Document(1) != &h.Documents[0] || h.Document(3) != nil {
		t.Error("a document is not found, or one that is whole again is")
	}
	if !h.Splits() || (*Hot)(nil).Splits() || h.Counters[0].Name(x) != "Stats.Likes" {
		t.Error("what is split is not told")
	}
	if c := parts.Columns[AddedColumn(0)]; c.Name != "c0" || parts.Columns[BaseColumn(0)].Name != "b0" {
		t.Errorf("the columns of a counter are %s", c.Name)
	}
	for name, broken := range map[string]func(*Hot){
		"no table":   func(h *Hot) { h.Parts = 0 },
		"order":      func(h *Hot) { h.Documents[1].Number = 1 },
		"number":     func(h *Hot) { h.Documents[1].Number = 3 },
		"no key":     func(h *Hot) { h.Documents[0].Key = nil },
		"no parts":   func(h *Hot) { h.Documents[0].Parts = nil },
		"no counter": func(h *Hot) { h.Documents[0].Counters = []int32{1} },
	} {
		c := h.Clone()
		broken(c)
		if c.check() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if h.check() != nil {
		t.Error(h.check())
	}
}
