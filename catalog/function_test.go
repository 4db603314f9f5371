package catalog

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
)

func functionOps() []op {
	f := &Function{
		OID: 16520, Database: 5, Schema: 16384, Name: "total", Owner: 10, Comment: "c", Kind: 'f', Language: "sql",
		Arguments: []Argument{
			{Name: "o", Mode: 'i', Type: 2249, Relation: 16385}, {Name: "n", Mode: 'i', Type: 23, Default: "1"},
			{Name: "x", Mode: 't', Type: 25},
		},
		Result: 2249, ResultRelation: 16385, Set: true, Volatility: 's', Strict: true, Leakproof: true,
		SecurityDefiner: true, Parallel: 'r', Cost: 7.5, Rows: 12, Settings: []string{"work_mem=4MB"},
		Body: []string{"SELECT 1"}, Atomic: true, Uses: []Use{{Relation: 16385, Columns: []int16{1}}, {Constraint: 16386}},
	}
	g := &Function{OID: 16521, Database: 5, Schema: 16384, Name: "p", Owner: 10, Kind: 'p', Language: "sql",
		Volatility: 'v', Parallel: 'u', Source: "SELECT 1"}
	return []op{{kind: putOp, key: keyOf(f), desc: f}, {kind: putOp, key: keyOf(g), desc: g}}
}

// TestFunctionFormat: functions are kept.
func TestFunctionFormat(t *testing.T) {
	data, err := encodeBatch(functionOps())
	if err != nil {
		t.Fatal(err)
	}
	e, err := decodeEntry(golden(t, "functions.v1", data))
	if err != nil || !reflect.DeepEqual(e.ops, functionOps()) {
		t.Errorf("%+v, %v", e.ops, err)
	}
}

// TestFunctions checks that functions of a name differ in their arguments, that what uses a function and
// what a function uses stays, and that functions go with their database.
func TestFunctions(t *testing.T) {
	c := openBootstrapped(t)
	oid := func() OID { return must[OID](t)(c.NewOID(t.Context())) }
	v := c.View()
	db := v.DatabaseByName("postgres")
	schema := v.SchemaByName(db.OID, "public")
	function := func(name string, types ...OID) *Function {
		f := &Function{OID: oid(), Database: db.OID, Schema: schema.OID, Name: name, Owner: db.Owner, Kind: 'f',
			Language: "sql", Result: 23, Volatility: 'i', Source: "SELECT 1"}
		for _, n := range types {
			f.Arguments = append(f.Arguments, Argument{Mode: 'i', Type: n})
		}
		return f
	}
	update := func(f func(ch *Change) error) error {
		_, err := c.Update(t.Context(), func(_ *View, ch *Change) error { return f(ch) })
		return err
	}
	one, two, other := function("f", 23), function("f", 23, 25), function("f2")
	for _, f := range []*Function{one, two, other} {
		if err := update(f.Put); err != nil {
			t.Fatal(err)
		}
	}
	if err := update(function("f", 23).Put); !pgerr.Is(err, pgerr.DuplicateFunction) {
		t.Errorf("the same arguments: %v", err)
	}
	if got := FunctionsNamed(c.View(), schema.OID, "f"); len(got) != 2 || got[0].OID != one.OID || got[1].OID != two.OID {
		t.Errorf("functions of a name: %+v", got)
	}
	two.Arguments[1].Default = fmt.Sprintf("(sherd.function_%d(1))::text", one.OID)
	if err := update(two.Put); err != nil {
		t.Fatal(err)
	}
	drop := func(f *Function) error {
		return update(func(ch *Change) error { f.Drop(ch); return nil })
	}
	if err := drop(one); !pgerr.Is(err, pgerr.DependentObjectsStillExist) {
		t.Errorf("dropped a function that another one uses: %v", err)
	}
	lost := function("g")
	lost.Result = enumTypes | 77
	if err := update(lost.Put); !pgerr.Is(err, pgerr.UndefinedObject) {
		t.Errorf("a function that returns a missing type: %v", err)
	}
	if err := drop(two); err != nil {
		t.Fatal(err)
	}
	if err := drop(one); err != nil {
		t.Error(err)
	}
	if err := update(func(ch *Change) error { ch.DropDatabase(db.OID); return nil }); err != nil {
		t.Fatal(err)
	}
	if FunctionByOID(c.View(), other.OID) != nil {
		t.Error("a function outlives its database")
	}
}
