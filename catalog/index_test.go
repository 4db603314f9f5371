package catalog

import (
	"reflect"
	"testing"
)

// laterOps is a batch with the fields that descriptors have gained since the golden files of fullOps were written.
func laterOps() []op {
	descriptors := []descriptor{
		&Table{
			OID: 16385, Database: 5, Schema: 16384, Name: "orders", Owner: 10, Kind: KindTable, Version: 3, StorageID: 16390,
			Columns: []Column{{AttNum: 1, Name: "id", Type: 25, Typmod: -1}, {AttNum: 2, Name: "n", Type: 20, Typmod: -1}},
			Constraints: []Constraint{
				{OID: 16392, Name: "orders_n_key", Kind: Unique, Columns: []int16{2}, Valid: true, Index: 16391, Deferrable: true},
			},
			Indexes: []Index{{
				OID: 16391, Name: "orders_n_key", StorageID: 16391, Columns: []int16{2, 0}, Unique: true, Expressions: []string{"lower(id)"},
				Order: []KeyOrder{KeyDesc | KeyNullsFirst, 0}, Predicate: "(n > 0)", Include: []int16{1}, NullsNotDistinct: true, Global: true,
				State: IndexBuilding, Options: map[string]string{"fillfactor": "70"},
			}},
			NextAttNum: 3,
		},
	}
	var ops []op
	for _, d := range descriptors {
		ops = append(ops, op{kind: putOp, key: keyOf(d), desc: d})
	}
	return ops
}

func TestIndexFormat(t *testing.T) {
	ops := laterOps()
	data, err := encodeBatch(ops)
	if err != nil {
		t.Fatal(err)
	}
	e, err := decodeEntry(golden(t, "index.v1", data))
	if err != nil || !reflect.DeepEqual(e.ops, ops) {
		t.Errorf("%+v, %v", e.ops, err)
	}
}

// classOps are those of laterOps with operator classes.
func classOps() []op {
	ops := laterOps()
	ops[0].desc.(*Table).Indexes[0].Classes = []OID{4217, 0}
	return ops
}

// TestIndexClassesFormat: operator classes of an index are kept.
func TestIndexClassesFormat(t *testing.T) {
	ops := classOps()
	data, err := encodeBatch(ops)
	if err != nil {
		t.Fatal(err)
	}
	e, err := decodeEntry(golden(t, "index-classes.v1", data))
	if err != nil || !reflect.DeepEqual(e.ops, ops) {
		t.Errorf("%+v, %v", e.ops, err)
	}
}

// methodOps are those of laterOps with an access method.
func methodOps() []op {
	ops := laterOps()
	x := &ops[0].desc.(*Table).Indexes[0]
	x.Method, x.Unique, x.NullsNotDistinct, x.Global = GIN, false, false, false
	ops[0].desc.(*Table).Constraints = nil
	return ops
}

// TestIndexMethodFormat: the access method of an index is kept.
func TestIndexMethodFormat(t *testing.T) {
	ops := methodOps()
	data, err := encodeBatch(ops)
	if err != nil {
		t.Fatal(err)
	}
	e, err := decodeEntry(golden(t, "index-method.v1", data))
	if err != nil || !reflect.DeepEqual(e.ops, ops) {
		t.Errorf("%+v, %v", e.ops, err)
	}
}

func TestIndexChecks(t *testing.T) {
	for name, spoil := range map[string]func(*Index){
		"no expression":        func(x *Index) { x.Expressions = nil },
		"too many orders":      func(x *Index) { x.Order = make([]KeyOrder, 3) },
		"unknown state":        func(x *Index) { x.State = 9 },
		"unknown method":       func(x *Index) { x.Method = "heap" },
		"unique hash":          func(x *Index) { x.Method = Hash },
		"global terms":         func(x *Index) { x.Method, x.Unique, x.NullsNotDistinct = GIN, false, false },
		"unknown column":       func(x *Index) { x.Columns[0] = 7 },
		"unknown extra column": func(x *Index) { x.Include[0] = 7 },
		"no storage id":        func(x *Index) { x.StorageID = 0 },
		"global primary key":   func(x *Index) { x.Primary = true },
	} {
		tab := laterOps()[0].desc.(*Table)
		if err := checkDescriptor(tab); err != nil {
			t.Fatal(err)
		}
		copied := tab.Clone()
		spoil(&copied.Indexes[0])
		if checkDescriptor(copied) == nil {
			t.Errorf("%s: accepted", name)
		}
		if checkDescriptor(tab) != nil {
			t.Errorf("%s: the clone shares memory", name)
		}
	}
}
