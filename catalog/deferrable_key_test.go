package catalog

import (
	"reflect"
	"testing"
)

// deferrableKeyOps is a UNIQUE that is the primary key.
func deferrableKeyOps() []op {
	table := &Table{
		OID: 16390, Database: PostgresDB, Schema: PostgresPublic, Name: "late", Owner: BootstrapRole, Kind: KindTable, StorageID: 16390,
		Columns: []Column{{AttNum: 1, Name: "id", Type: 23, Typmod: -1, NotNull: true}},
		Indexes: []Index{{OID: 16391, Name: "late_pkey", StorageID: 16391, Columns: []int16{1}, Unique: true, Global: true}},
		Constraints: []Constraint{{
			OID: 16392, Name: "late_pkey", Kind: Unique, Columns: []int16{1}, Valid: true, Index: 16391, Deferrable: true, Primary: true,
		}},
		NextAttNum: 2,
	}
	return []op{{kind: putOp, key: keyOf(table), desc: table}}
}

func TestDeferrableKeyFormat(t *testing.T) {
	ops := deferrableKeyOps()
	data, err := encodeBatch(ops)
	if err != nil {
		t.Fatal(err)
	}
	e, err := decodeEntry(golden(t, "deferrable-key.v1", data))
	if err != nil || !reflect.DeepEqual(e.ops, ops) {
		t.Errorf("%+v, %v", e.ops, err)
	}
	if table := ops[0].desc.(*Table); table.DeferrableKey() == nil || table.PrimaryKey() != nil {
		t.Error("rows are stored under it")
	}
}
