package catalog

import (
	"reflect"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
)

// referringOps is a batch with a foreign key.
func referringOps() []op {
	t := &Table{
		OID: 16385, Database: 5, Schema: 16384, Name: "lines", Owner: 10, Kind: KindTable, Version: 3, StorageID: 16390,
		Columns: []Column{{AttNum: 1, Name: "id", Type: 25, Typmod: -1}, {AttNum: 2, Name: "n", Type: 20, Typmod: -1}},
		Constraints: []Constraint{{
			OID: 16392, Name: "lines_n_fkey", Kind: ForeignKey, Columns: []int16{2, 1}, Valid: true, Deferrable: true, InitiallyDeferred: true,
			Reference: &Reference{
				Table: 16400, Columns: []int16{1, 3}, Index: 16401, Match: MatchFull, OnUpdate: Cascade, OnDelete: SetNull, DeleteColumns: []int16{2},
			},
		}},
		NextAttNum: 3,
	}
	return []op{{kind: putOp, key: keyOf(t), desc: t}}
}

func TestForeignKeyFormat(t *testing.T) {
	ops := referringOps()
	data, err := encodeBatch(ops)
	if err != nil {
		t.Fatal(err)
	}
	e, err := decodeEntry(golden(t, "foreign-key.v1", data))
	if err != nil || !reflect.DeepEqual(e.ops, ops) {
		t.Errorf("%+v, %v", e.ops, err)
	}
}

func TestForeignKeyChecks(t *testing.T) {
	for name, spoil := range map[string]func(*Constraint){
		"nothing referred to":  func(k *Constraint) { k.Reference = nil },
		"no foreign key":       func(k *Constraint) { k.Kind = Unique },
		"too few columns":      func(k *Constraint) { k.Reference.Columns = k.Reference.Columns[:1] },
		"no table":             func(k *Constraint) { k.Reference.Table = 0 },
		"an own column lacked": func(k *Constraint) { k.Columns[0] = 9 },
	} {
		tab := referringOps()[0].desc.(*Table)
		if err := checkDescriptor(tab); err != nil {
			t.Fatal(err)
		}
		copied := tab.Clone()
		spoil(&copied.Constraints[0])
		if checkDescriptor(copied) == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	tab := referringOps()[0].desc.(*Table)
	tab.Clone().Constraints[0].Reference.Columns[0] = 7
	if tab.Constraints[0].Reference.Columns[0] == 7 {
		t.Error("the clone shares memory")
	}
}

// TestForeignKeysHold shows K5: what a foreign key refers to stays.
func TestForeignKeysHold(t *testing.T) {
	c := openBootstrapped(t)
	parent, child := newTable(t, c, "parent"), newTable(t, c, "child")
	child.Constraints = append(child.Constraints, Constraint{
		OID: must[OID](t)(c.NewOID(t.Context())), Name: "child_fkey", Kind: ForeignKey, Columns: []int16{1},
		Reference: &Reference{Table: parent.OID, Columns: []int16{1}, Match: MatchSimple, OnUpdate: NoAction, OnDelete: NoAction},
	})
	update := func(f func(*View, *Change) error) (*View, error) { return c.Update(t.Context(), f) }
	if _, err := update(func(_ *View, ch *Change) error { return ch.PutTable(child) }); err == nil {
		t.Error("a table that is not there was referred to")
	}
	v, err := update(func(_ *View, ch *Change) error {
		if err := ch.PutTable(child); err != nil {
			return err
		}
		return ch.PutTable(parent)
	})
	if err != nil {
		t.Fatal(err)
	}
	if by := v.Referrers(parent.OID); len(by) != 1 || by[0].Table.OID != child.OID || by[0].Key.Name != "child_fkey" || len(v.Referrers(child.OID)) != 0 {
		t.Errorf("%+v", by)
	}
	if _, err := update(func(_ *View, ch *Change) error { ch.DropTable(parent.OID); return nil }); !pgerr.Is(err, pgerr.DependentObjectsStillExist) {
		t.Errorf("dropped what is referred to: %v", err)
	}
	_, err = update(func(v *View, ch *Change) error {
		bare := v.Table(parent.OID).Clone()
		bare.Constraints, bare.Indexes = nil, nil
		return ch.PutTable(bare)
	})
	if !pgerr.Is(err, pgerr.DependentObjectsStillExist) {
		t.Errorf("dropped the key that is referred to: %v", err)
	}
	if _, err := update(func(_ *View, ch *Change) error { ch.DropTable(parent.OID); ch.DropTable(child.OID); return nil }); err != nil {
		t.Error(err)
	}
}
