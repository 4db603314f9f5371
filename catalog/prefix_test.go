package catalog

import (
	"reflect"
	"slices"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
)

// prefixOps are a database with a rule and a table under it.
func prefixOps() []op {
	rule := shardmap.Prefix{Text: "eu/", Interval: shardmap.Interval{Lo: 1 << 20, Hi: 1<<20 + 16}}
	m, _, err := shardmap.NewInitialMap([]uint32{1, 2}).AssignShares([]uint32{1, 2}, 16)
	if err != nil {
		panic(err)
	}
	d := &Database{
		OID: 5, Name: "orders", Owner: 10, Map: m, ReplicationFactor: 3, PrefixEpoch: 3,
		Fragments: []Fragment{{ID: 1, Nodes: []uint32{1}}, {ID: 2, Ordinal: 1, Nodes: []uint32{1}}}, Prefixes: []PrefixRule{{rule, []uint32{1, 2}}},
	}
	t := &Table{
		OID: 16385, Database: 5, Schema: 16384, Name: "people", Owner: 10, Kind: KindTable, Version: 1, StorageID: 16390, NextAttNum: 2,
		Columns: []Column{{AttNum: 1, Name: "id", Type: 25, Typmod: -1, NotNull: true}}, Prefixes: shardmap.Prefixes{rule}, PrefixEpoch: 3,
	}
	return []op{{kind: putOp, key: keyOf(d), desc: d}, {kind: putOp, key: keyOf(t), desc: t}}
}

func TestPrefixFormat(t *testing.T) {
	data, err := encodeBatch(prefixOps())
	if err != nil {
		t.Fatal(err)
	}
	e, err := decodeEntry(golden(t, "prefixes.v1", data))
	if err != nil || !reflect.DeepEqual(e.ops, prefixOps()) {
		t.Fatalf("%+v, %v", e.ops, err)
	}
}

// addPrefix makes a rule and redefines all tables.
func addPrefix(t *testing.T, c *Catalog, text string, buckets int, fragments ...uint32) *View {
	t.Helper()
	all := must[shardmap.Interval](t)(c.AssignPrefix(t.Context(), PostgresDB, fragments, buckets))
	return must[*View](t)(c.Update(t.Context(), func(v *View, ch *Change) error {
		if err := ch.AddPrefix(PostgresDB, PrefixRule{shardmap.Prefix{Text: text, Interval: all}, fragments}, Author{Micros: 1}); err != nil {
			return err
		}
		return putTables(v, ch)
	}))
}

func putTables(v *View, ch *Change) error {
	for t := range v.Tables(PostgresDB) {
		if err := ch.PutTable(t.Clone()); err != nil {
			return err
		}
	}
	return nil
}

// TestPrefixRules: all hashed tables have the rules of their database (K10), whoever comes first.
func TestPrefixRules(t *testing.T) {
	c := openBootstrapped(t)
	before := putTable(t, c, newTable(t, c, "orders"))
	d := before.Database(PostgresDB)
	f := []uint32{d.Fragments[0].ID, d.Fragments[1].ID}
	v := addPrefix(t, c, "eu/", 10, f...)
	d = v.Database(PostgresDB)
	orders := v.FindTable(PostgresDB, "public", "orders")
	if orders.PrefixEpoch != 1 || !orders.Prefixes.Equal(d.Rules()) || orders.Version != 2 || len(d.Rules()) != 1 {
		t.Fatalf("%+v", orders)
	}
	if d.Map.Lookup(1<<20+4) != f[0] || d.Map.Lookup(1<<20+5) != f[1] || len(d.Map.Ranges()) != 5 {
		t.Errorf("map: %v", d.Map.Ranges())
	}
	if v.DefinitionVersion() == before.DefinitionVersion() {
		t.Error("plans go on with the old definitions")
	}
	late := before.Plan() // planned before there was the rule
	if err := late.PutTable(newTable(t, c, "late")); err != nil {
		t.Fatal(err)
	}
	late = must[*Change](t)(late.On(v))
	if _, err := late.PreviewAs(1); !IsConflict(err) {
		t.Errorf("a table without the rule comes into force: %v", err)
	}
	if v = putTable(t, c, newTable(t, c, "people")); !v.FindTable(PostgresDB, "public", "people").Prefixes.Equal(d.Rules()) {
		t.Error("a new table has no rules")
	}
	ranged := newTable(t, c, "ranged")
	ranged.Policy, ranged.Anchors, ranged.Segments = nil, false, shardmap.Segments{{Bucket: 1<<20 + 10}}
	if v = putTable(t, c, ranged); v.FindTable(PostgresDB, "public", "ranged").Prefixes != nil {
		t.Error("a range table has rules")
	}
	_, err := c.Update(t.Context(), func(v *View, ch *Change) error { return ch.DropPrefix(PostgresDB, "eu/", Author{Micros: 2}) })
	if !IsConflict(err) {
		t.Errorf("a rule is dropped, and tables keep it: %v", err)
	}
	v = must[*View](t)(c.Update(t.Context(), func(v *View, ch *Change) error {
		if err := ch.DropPrefix(PostgresDB, "eu/", Author{Micros: 2}); err != nil {
			return err
		}
		return putTables(v, ch)
	}))
	if p := v.FindTable(PostgresDB, "public", "people"); p.Prefixes != nil || p.PrefixEpoch != 2 {
		t.Errorf("%+v", p)
	}
}

// TestPrefixFragments: buckets of a rule do not leave its fragments, these do not go, and others can be named.
func TestPrefixFragments(t *testing.T) {
	c := openBootstrapped(t)
	d := c.View().Database(PostgresDB)
	f := []uint32{d.Fragments[0].ID, d.Fragments[1].ID, d.Fragments[2].ID}
	d = addPrefix(t, c, "eu/", 9, f[0], f[1]).Database(PostgresDB)
	a, all := Author{Who: "me", Micros: 1}, d.Prefixes[0].Interval
	job := must[uint64](t)(c.NewJobIDs(t.Context(), 4))
	change := func(plan func(ch *Change) error) error {
		_, err := c.Update(t.Context(), func(_ *View, ch *Change) error { return plan(ch) })
		return err
	}
	err := change(func(ch *Change) error { return ch.AddMove(job, PostgresDB, &Move{Interval: all, Target: f[2]}, a) })
	if !pgerr.Is(err, pgerr.ObjectInUse) {
		t.Errorf("a move out of the fragments: %v", err)
	}
	err = change(func(ch *Change) error { return ch.RemoveFragment(job+1, PostgresDB, f[0], a) })
	if !pgerr.Is(err, pgerr.ObjectInUse) {
		t.Errorf("removal of a fragment of the rule: %v", err)
	}
	for _, x := range []struct {
		to   []uint32
		want []shardmap.Range
	}{
		{[]uint32{f[0], f[1]}, nil},
		{[]uint32{f[1], f[2]}, []shardmap.Range{{Interval: shardmap.Interval{Lo: all.Lo, Hi: all.Lo + 4}, Fragment: f[2]}, {Interval: shardmap.Interval{Lo: all.Hi - 1, Hi: all.Hi}, Fragment: f[2]}}},
		{[]uint32{f[2]}, []shardmap.Range{{Interval: all, Fragment: f[2]}}},
		{f, []shardmap.Range{{Interval: shardmap.Interval{Lo: all.Lo + 3, Hi: all.Lo + 4}, Fragment: f[2]}, {Interval: shardmap.Interval{Lo: all.Lo + 7, Hi: all.Hi}, Fragment: f[2]}}},
	} {
		got, err := d.PrefixMoves("eu/", x.to)
		if err != nil || !slices.Equal(got, x.want) {
			t.Errorf("to %v: %v, %v, want %v", x.to, got, err, x.want)
		}
	}
	moves, err := d.PrefixMoves("eu/", f[2:])
	if err != nil {
		t.Fatal(err)
	}
	if err := change(func(ch *Change) error { return ch.MovePrefix(PostgresDB, "eu/", f[2:], moves, job+2, a) }); err != nil {
		t.Fatal(err)
	}
	v := c.View()
	d = v.Database(PostgresDB)
	if m, ok := v.MoveOf(job + 2); !ok || m.Interval != all || m.Target != f[2] || d.PrefixElsewhere(&d.Prefixes[0]) != 9 || d.PrefixEpoch != 1 {
		t.Errorf("%+v, %v", m, d.Prefixes)
	}
	err = change(func(ch *Change) error { return ch.MovePrefix(PostgresDB, "eu/", f[:1], nil, job+3, a) })
	if !pgerr.Is(err, pgerr.ObjectInUse) {
		t.Errorf("other fragments while buckets are on their way: %v", err)
	}
}

// TestPrefixBesidePinnedAnchors: what is pinned is not led elsewhere by a rule that is made or dropped, and what is on its way to be pinned neither.
func TestPrefixBesidePinnedAnchors(t *testing.T) {
	c := openBootstrapped(t)
	a, rule := Author{Who: "me", Micros: 1}, shardmap.Prefix{Text: "eu/"}
	d := c.View().Database(PostgresDB)
	f := d.Fragments[0]
	rule.Interval = must[shardmap.Interval](t)(c.AssignPrefix(t.Context(), PostgresDB, []uint32{f.ID}, 8))
	change := func(plan func(ch *Change) error) error {
		_, err := c.Update(t.Context(), func(_ *View, ch *Change) error { return plan(ch) })
		return err
	}
	add := func(ch *Change) error { return ch.AddPrefix(PostgresDB, PrefixRule{rule, []uint32{f.ID}}, a) }
	drop := func(ch *Change) error { return ch.DropPrefix(PostgresDB, "eu/", a) }
	job := must[uint64](t)(c.NewJobIDs(t.Context(), 20))
	for _, x := range []struct {
		id   string
		hash bool // it is a key of a table without anchors
		add  bool // it lies elsewhere by the rule
	}{{"us/1", false, false}, {"eu/1", false, true}, {"EU/2", false, true}, {"order/1$eu/1", false, true}, {"eu/1$us/1", false, false}, {"eu/1$us/1", true, true}, {"x$@5", false, false}} {
		refused := map[string]bool{}
		for _, when := range []string{"before", "under"} {
			rules := c.View().Database(PostgresDB).Rules()
			b, err := rules.BucketOf(x.id)
			if x.hash {
				b = rules.HashBucket(x.id)
			}
			if err != nil {
				t.Fatal(err)
			}
			home := d.NameOf(c.View().Database(PostgresDB).Map.Lookup(b))
			anchors := []Anchor{{ID: x.id, Bucket: b}}
			if err := change(func(ch *Change) error { _, err := ch.PinAnchors(PostgresDB, "t", anchors, home, job, a); return err }); err != nil {
				t.Fatal(err)
			}
			step := map[string]func(*Change) error{"before": add, "under": drop}[when]
			refused[when] = pgerr.Is(change(step), pgerr.ObjectInUse)
			if err := change(func(ch *Change) error { _, err := ch.UnpinAnchors(PostgresDB, "t", anchors, a); return err }); err != nil {
				t.Fatal(err)
			}
			if refused[when] {
				if err := change(step); err != nil {
					t.Fatal(err)
				}
			}
		}
		if refused["before"] != x.add || refused["under"] != x.add {
			t.Errorf("%s: refused %v", x.id, refused)
		}
	}
	away := d.FragmentName(&d.Fragments[1])
	if b := shardmap.HashBucket("eu/1"); d.NameOf(d.Map.Lookup(b)) == away {
		away = d.FragmentName(&d.Fragments[2])
	}
	err := change(func(ch *Change) error {
		n, err := ch.PinAnchors(PostgresDB, "t", []Anchor{{ID: "eu/1", Bucket: shardmap.HashBucket("eu/1")}}, away, job, a)
		if n != 1 {
			t.Errorf("%d moves", n)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := change(add); !pgerr.Is(err, pgerr.ObjectInUse) {
		t.Errorf("on its way: %v", err)
	}
}
