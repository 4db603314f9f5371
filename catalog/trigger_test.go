package catalog

import (
	"errors"
	"reflect"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
)

// triggerOps are those of laterOps with triggers.
func triggerOps() []op {
	ops := laterOps()
	t := ops[0].desc.(*Table)
	t.Triggers = []Trigger{
		{OID: 16510, Name: "stamp", Function: 16520, Events: TriggerRow | TriggerBefore | TriggerUpdate,
			Columns: []int16{t.Columns[0].AttNum}, Arguments: []string{"a", ""}, When: "(old.a <> new.a)", Enabled: 'A',
			Comment: "c"},
		{OID: 16511, Name: "audit", Function: 16521, Events: TriggerInsert, OldTable: "o", NewTable: "n", Enabled: 'O',
			Constraint: 16512, Referenced: 16400, Deferrable: true, InitiallyDeferred: true},
	}
	t.KeyTriggers = 'D'
	return ops
}

// TestTriggerFormat: triggers are kept.
func TestTriggerFormat(t *testing.T) {
	data, err := encodeBatch(triggerOps())
	if err != nil {
		t.Fatal(err)
	}
	e, err := decodeEntry(golden(t, "triggers.v1", data))
	if err != nil || !reflect.DeepEqual(e.ops, triggerOps()) {
		t.Errorf("%+v, %v", e.ops, err)
	}
}

// TestTriggers checks that a trigger keeps its function, that its table has it by name, and that
// triggers which are not valid are refused.
func TestTriggers(t *testing.T) {
	c := openBootstrapped(t)
	oid := func() OID { return must[OID](t)(c.NewOID(t.Context())) }
	db := c.View().DatabaseByName("postgres")
	schema := c.View().SchemaByName(db.OID, "public")
	f := &Function{OID: oid(), Database: db.OID, Schema: schema.OID, Name: "f", Owner: db.Owner, Kind: 'f',
		Language: "plpgsql", Volatility: 'v', Parallel: 'u', Result: 2279, Source: "BEGIN END"}
	table := &Table{OID: oid(), StorageID: oid(), Database: db.OID, Schema: schema.OID, Name: "t", Owner: db.Owner, Kind: KindTable,
		Columns: []Column{{AttNum: 1, Name: "a", Type: 25, Typmod: -1}}, NextAttNum: 2}
	table.Triggers = []Trigger{{OID: oid(), Name: "x", Function: f.OID, Events: TriggerRow | TriggerInsert, Enabled: 'O'}}
	update := func(change func(ch *Change) error) error {
		_, err := c.Update(t.Context(), func(_ *View, ch *Change) error { return change(ch) })
		return err
	}
	if err := update(func(ch *Change) error { return ch.PutTable(table) }); !pgerr.Is(err, pgerr.UndefinedFunction) {
		t.Errorf("a trigger of a function that is not there: %v", err)
	}
	err := update(func(ch *Change) error { return errors.Join(f.Put(ch), ch.PutTable(table)) })
	if err != nil {
		t.Fatal(err)
	}
	got := c.View().Table(table.OID)
	if got.Trigger("x") == nil || got.Trigger("y") != nil || got.Trigger("x").Timing() != 0 {
		t.Errorf("%+v", got.Triggers)
	}
	if c.View().TableOfPart(got.Triggers[0].OID) != got {
		t.Error("the table of a trigger is not found by the trigger's OID")
	}
	drop := func(ch *Change) error { f.Drop(ch); return nil }
	if err := update(drop); !pgerr.Is(err, pgerr.DependentObjectsStillExist) {
		t.Errorf("the function of a trigger was dropped: %v", err)
	}
	for name, change := range map[string]func(x *Trigger){
		"no event":    func(x *Trigger) { x.Events = TriggerRow },
		"two timings": func(x *Trigger) { x.Events |= TriggerTiming },
		"state":       func(x *Trigger) { x.Enabled = 0 },
		"column":      func(x *Trigger) { x.Columns = []int16{7} },
		"name":        func(x *Trigger) { x.Name = "" },
	} {
		bad := got.Clone()
		change(&bad.Triggers[0])
		if err := update(func(ch *Change) error { return ch.PutTable(bad) }); err == nil {
			t.Errorf("%s: a trigger was put that is not valid", name)
		}
	}
}
