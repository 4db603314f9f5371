package catalog

import (
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
)

func typeOps() []op {
	t := &Type{
		OID: 16500, Database: 5, Schema: 16384, Name: "mood", Owner: 10, Comment: "c", Kind: EnumType,
		Labels: []EnumLabel{{16501, "sad", "\x40", 1}, {16503, "so-so", "\x60", 1.5}, {16502, "ok", "\x80", 2}},
	}
	return []op{{kind: putOp, key: keyOf(t), desc: t}}
}

func domainOps() []op {
	t := &Type{
		OID: domains | 23<<18 | 7, Database: 5, Schema: 16384, Name: "posint", Owner: 10, Comment: "c", Kind: DomainType,
		Domain: &Domain{Base: 23, Typmod: 8, Collation: 100, NotNull: true, Default: "3", Checks: []Constraint{
			{OID: 16510, Name: "posint_check", Kind: Check, Check: "(VALUE > 0)", Valid: true, Comment: "k"},
		}},
	}
	return []op{{kind: putOp, key: keyOf(t), desc: t}}
}

func compositeOps() []op {
	t := &Type{
		OID: 16520, Database: 5, Schema: 16384, Name: "address", Owner: 10, Kind: CompositeType,
		Attributes: []Attribute{
			{Number: 1, Name: "street", Type: 25, Typmod: -1, Collation: 100, Comment: "a"},
			{Number: 2, Name: "gone", Type: 23, Typmod: -1, Dropped: true},
			{Number: 3, Name: "zip", Type: 1043, Typmod: 9, Collation: 100},
		},
	}
	return []op{{kind: putOp, key: keyOf(t), desc: t}}
}

// TestCompositeFormat: composite types are kept.
func TestCompositeFormat(t *testing.T) {
	data, err := encodeBatch(compositeOps())
	if err != nil {
		t.Fatal(err)
	}
	e, err := decodeEntry(golden(t, "composites.v1", data))
	if err != nil || !reflect.DeepEqual(e.ops, compositeOps()) {
		t.Errorf("%+v, %v", e.ops, err)
	}
}

// TestDomainFormat: domains are kept.
func TestDomainFormat(t *testing.T) {
	data, err := encodeBatch(domainOps())
	if err != nil {
		t.Fatal(err)
	}
	e, err := decodeEntry(golden(t, "domains.v1", data))
	if err != nil || !reflect.DeepEqual(e.ops, domainOps()) {
		t.Errorf("%+v, %v", e.ops, err)
	}
}

// TestTypeFormat: types of users are kept.
func TestTypeFormat(t *testing.T) {
	data, err := encodeBatch(typeOps())
	if err != nil {
		t.Fatal(err)
	}
	e, err := decodeEntry(golden(t, "types.v1", data))
	if err != nil || !reflect.DeepEqual(e.ops, typeOps()) {
		t.Errorf("%+v, %v", e.ops, err)
	}
}

// TestTypes checks that types are found, that their names are those of no row type, that what refers
// to them and what they refer to stays, and that they go with their database.
func TestTypes(t *testing.T) {
	c := openBootstrapped(t)
	oids := make([]OID, 6)
	for i := range oids {
		oids[i] = must[OID](t)(c.NewOID(t.Context()))
	}
	update := func(f func(ch *Change) error) error {
		_, err := c.Update(t.Context(), func(_ *View, ch *Change) error { return f(ch) })
		return err
	}
	other := &Schema{OID: oids[0], Database: PostgresDB, Name: "other", Owner: BootstrapRole}
	owner := &Role{OID: oids[1], Name: "owner", ConnectionLimit: -1}
	mood := &Type{OID: oids[2], Database: PostgresDB, Schema: other.OID, Name: "mood", Owner: owner.OID, Kind: EnumType,
		Labels: []EnumLabel{{OID: oids[3], Text: "sad", Rank: "\x40"}, {OID: oids[4], Text: "ok", Rank: "\x80"}}}
	if err := update(func(ch *Change) error {
		return errors.Join(ch.PutSchema(other), ch.PutRole(owner), mood.Put(ch))
	}); err != nil {
		t.Fatal(err)
	}
	v := c.View()
	found := TypeByOID(v, TypeNumber(mood.TypeOID()))
	if found == nil || TypeNamed(v, other.OID, "mood") != found || !slices.Contains(slices.Collect(TypesIn(v, other.OID)), found) ||
		found.Label("ok").Rank != "\x80" || found.Ranked("\x40").Text != "sad" || found.Ranked("\x41") != nil || found.Label("x") != nil {
		t.Errorf("found %+v", found)
	}
	if TypeNumber(mood.TypeOID()|arrayOfEnum) != mood.OID || TypeNumber(mood.OID) != 0 {
		t.Error("numbers of types and OIDs are confused")
	}
	tab := newTable(t, c, "orders")
	tab.Columns[1].Type = mood.TypeOID()
	putTable(t, c, tab)
	code := func(what, want string, f func(ch *Change) error) {
		t.Helper()
		if err := update(f); pgerr.From(err) == nil || pgerr.From(err).Code != want {
			t.Errorf("%s: %v", what, err)
		}
	}
	code("drop of a used type", pgerr.DependentObjectsStillExist, func(ch *Change) error { mood.Drop(ch); return nil })
	code("drop of its schema", pgerr.DependentObjectsStillExist,
		func(ch *Change) error { ch.DropSchema(other.OID); return nil })
	code("drop of its owner", pgerr.DependentObjectsStillExist, func(ch *Change) error { ch.DropRole(owner.OID); return nil })
	code("name of a table", pgerr.DuplicateObject, func(ch *Change) error {
		x := mood.Clone()
		x.Schema, x.Name = tab.Schema, tab.Name
		return x.Put(ch)
	})
	code("same text", pgerr.DuplicateObject, func(ch *Change) error {
		x := mood.Clone()
		x.Labels[1].Text = "sad"
		return x.Put(ch)
	})
	code("out of order", pgerr.InternalError, func(ch *Change) error {
		x := mood.Clone()
		x.Labels[1].Rank = "\x40"
		return x.Put(ch)
	})
	for what, edit := range map[string]func(x *Table){
		"default":    func(x *Table) { x.Columns[0].Default = "'40'::sherd.value_805306369" },
		"constraint": func(x *Table) { x.Columns[1].Type = 805306369 | arrayOfEnum },
	} {
		code("of a type that does not exist: "+what, pgerr.UndefinedObject, func(ch *Change) error {
			x := tab.Clone()
			edit(x)
			return ch.PutTable(x)
		})
	}
	tab = c.View().Table(tab.OID).Clone()
	tab.Columns[1].Type = 25
	tab.Columns[0].Default = "'40'::" + storedValueName + "805322752"
	if !(&Type{OID: 805322752 &^ enumTypes}).TypeInText(tab.Columns[0].Default) || mood.TypeInText(tab.Columns[0].Default) {
		t.Error("the type that a default names is not found")
	}
	tab.Columns[0].Default = ""
	if err := update(func(ch *Change) error { return ch.PutTable(tab) }); err != nil {
		t.Fatal(err)
	}
	if err := update(func(ch *Change) error { mood.Drop(ch); return nil }); err != nil {
		t.Error(err)
	}
}

// TestUncommittedLabels checks that only values that a transaction adds to a type which exists already
// are unsafe, and which types other nodes do not know.
func TestUncommittedLabels(t *testing.T) {
	c := openBootstrapped(t)
	number := func() OID { return must[OID](t)(c.NewOID(t.Context())) }
	x := &Type{OID: number(), Database: PostgresDB, Schema: PostgresPublic, Name: "mood", Owner: BootstrapRole, Kind: EnumType,
		Labels: []EnumLabel{{OID: number(), Text: "sad", Rank: "\x40"}}}
	preview := func(base *View, x *Type) *View {
		ch := base.Plan()
		if err := x.Put(ch); err != nil {
			t.Fatal(err)
		}
		return must[*View](t)(ch.Preview())
	}
	made := preview(c.View(), x)
	if x.Labels[0].Uncommitted(made, x) || len(UncommittedTypes(made, PostgresDB)) != 1 {
		t.Error("values of a new type are unsafe, or the type is not listed")
	}
	if _, err := c.Update(t.Context(), func(_ *View, ch *Change) error { return x.Put(ch) }); err != nil {
		t.Fatal(err)
	}
	next := x.Clone()
	next.Labels = append(next.Labels, EnumLabel{OID: number(), Text: "ok", Rank: "\x80"})
	added := preview(preview(c.View(), next), next) // a preview of a preview
	if next.Labels[0].Uncommitted(added, next) || !next.Labels[1].Uncommitted(added, next) {
		t.Error("not exactly the new value is unsafe")
	}
	if len(UncommittedTypes(added, PostgresDB)) != 1 || len(UncommittedTypes(c.View(), PostgresDB)) != 0 {
		t.Error("changed types are not listed, or others are")
	}
}
