package catalog

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
)

func labelRule(t testing.TB, text string) shardmap.LabelRule {
	t.Helper()
	r, err := shardmap.ParseLabelRule(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func zoneOps() []op {
	eu := shardmap.LabelRule{{Label: "disk", Not: true, Values: []string{"tape"}}, {Label: "region", Values: []string{"eu", "us"}}}
	noDisk := shardmap.LabelRule{{Label: "disk", Not: true, Values: []string{"hdd"}}}
	d := &Database{
		OID: 5, Name: "orders", Owner: 10, Map: shardmap.NewInitialMap([]uint32{1}), ReplicationFactor: 3, Labels: eu,
		Fragments: []Fragment{{ID: 1, Nodes: []uint32{1}, Labels: noDisk}},
		Pins:      []Pin{{shardmap.Interval{Lo: 3, Hi: 4}, 1, []string{"customers/1-A", "customers/2-A"}}},
	}
	m := &Move{Interval: shardmap.Interval{Lo: 7, Hi: 8}, Target: 1, Pin: true, Anchors: []string{"customers/3-A"}}
	j := NewMoveJob(3, 5, m, 77)
	return []op{{kind: putOp, key: keyOf(d), desc: d}, {kind: putOp, key: keyOf(j), desc: j}}
}

func TestZoneFormat(t *testing.T) {
	data, err := encodeBatch(zoneOps())
	if err != nil {
		t.Fatal(err)
	}
	e, err := decodeEntry(golden(t, "zones.v1", data))
	if err != nil || !reflect.DeepEqual(e.ops, zoneOps()) {
		t.Fatalf("batch: %v", err)
	}
	if m, err := e.ops[1].desc.(*Job).Move(); err != nil || !slices.Equal(m.Anchors, []string{"customers/3-A"}) {
		t.Errorf("move: %+v, %v", m, err)
	}
}

// TestZones: what the database wants and what is wanted of a fragment hold both, and how that is kept is told as it is.
func TestZones(t *testing.T) {
	v := emptyView()
	var ops []op
	for id, region := range map[uint32]string{1: "eu", 2: "us", 3: "eu", 4: ""} {
		n := &Node{ID: id, Name: "n" + string('0'+rune(id)), Block: NodeBlock(id), Labels: map[string]string{"region": region, "disk": "ssd"}, Gateway: id == 4}
		ops = append(ops, op{kind: putOp, key: keyOf(n), desc: n})
	}
	v, err := v.apply(ops, counters{node: 5})
	if err != nil {
		t.Fatal(err)
	}
	d := &Database{Name: "shop", ReplicationFactor: 2, Labels: labelRule(t, "disk=ssd"), Fragments: []Fragment{{ID: 1, Nodes: []uint32{1, 3}}}}
	f := &d.Fragments[0]
	for _, c := range []struct {
		rule           string
		want           int
		nodes, joining []uint32
		kept           bool
		state          string
		shortage       string
	}{
		{"region=eu", 2, []uint32{1, 3}, nil, true, "kept", ""},
		{"region=eu", 2, []uint32{1, 2}, nil, false, "replicas are moving: 1 outside", ""},
		{"region=eu", 2, []uint32{1, 2, 3}, []uint32{3}, false, "replicas are moving: 1 outside", ""},
		{"region=eu", 2, []uint32{1, 3}, []uint32{3}, true, "kept, replicas are added: 1 of 2", ""},
		{"region=eu", 3, []uint32{1, 3}, nil, true, "kept, with 2 of 3 replicas: too few nodes have the labels", "and these are 2"},
		{"region=moon", 2, []uint32{1, 3}, nil, false, "not kept: no node has the labels", "no node that may hold"},
		{"region=us", 1, []uint32{2}, nil, true, "kept", ""},
		{"disk!=ssd", 1, []uint32{2}, nil, false, "not kept: no node has the labels", "no node that may hold"},
	} {
		f.Labels, f.Replicas, f.Nodes, f.Joining = labelRule(t, c.rule), c.want, c.nodes, c.joining
		z, ok := v.ZoneOf(d, f)
		if !ok || z.Kept() != c.kept || z.State() != c.state {
			t.Errorf("%+v: kept %t, %s", c, z.Kept(), z.State())
		}
		list := v.Shortages(d, "")
		if (len(list) > 0) != (c.shortage != "") || len(list) > 0 && !strings.Contains(list[0].Message, c.shortage) {
			t.Errorf("%+v: %v", c, list)
		}
	}
	f.Labels, f.Replicas, f.Nodes, f.Joining, f.On = labelRule(t, "region=us"), 2, []uint32{1, 3}, nil, []uint32{1, 3}
	z, _ := v.ZoneOf(d, f)
	if list := v.Shortages(d, ""); z.State() != "not kept: no node of those that it is bound to has the labels" || len(list) != 1 || !strings.Contains(list[0].Detail, "is bound to some nodes") {
		t.Errorf("bound elsewhere: %s, %v", z.State(), list)
	}
	if f.Labels, d.Labels = nil, nil; len(v.Zones(d)) != 0 {
		t.Error("a zone without a rule")
	}
}

// TestSetLabels: rules are set and taken back, and the changelog says so; they are no definition that plans depend on.
func TestSetLabels(t *testing.T) {
	_, do := movedCatalog(t)
	a := Author{Who: "ann", Why: "law", Micros: 1000}
	set := func(fragment, rule string) error {
		return do(func(_ *View, c *Change) error { return c.SetLabels(5, fragment, labelRule(t, rule), a) })
	}
	var before, after *View
	look := func(v **View) {
		_ = do(func(x *View, _ *Change) error {
			*v = x
			return nil
		})
	}
	look(&before)
	for _, err := range []error{set("orders$1", "region=eu"), set("", "disk!=hdd"), set("", "disk!=hdd")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := set("orders$9", "region=eu"); !pgerr.Is(err, pgerr.UndefinedObject) {
		t.Errorf("no such fragment: %v", err)
	}
	look(&after)
	d := after.Database(5)
	if got := d.RuleOf(d.FragmentByID(2)).String(); got != "disk!=hdd, region=eu" {
		t.Errorf("rule %q", got)
	}
	if got := after.ReplicaSets()[0].Labels.String(); got != "disk!=hdd" {
		t.Errorf("rule of the other %q", got)
	}
	if before.definitionVersion != after.definitionVersion {
		t.Error("plans are made anew")
	}
	var said []string
	for r := range after.Records() {
		if r.Kind == ReplicasRecord {
			said = append(said, r.Subject+": "+r.Change+" ("+r.Who+", "+r.Why+")")
		}
	}
	want := []string{"orders$1: replicas on nodes with region=eu (ann, law)", "orders: replicas on nodes with disk!=hdd (ann, law)"}
	if !slices.Equal(said, want) {
		t.Errorf("changelog: %q", said)
	}
}

// TestPinAnchors: what is there is pinned at once, what is not when it has come; a pin ends with its last anchor, and nothing moves it away.
func TestPinAnchors(t *testing.T) {
	_, do := movedCatalog(t) // move 7 is about [100,300)
	a := Author{Who: "ann", Why: "law", Micros: 1000}
	half := shardmap.Bucket(shardmap.BucketCount / 2)
	var view *View
	pin := func(fragment string, first uint64, anchors ...Anchor) (moves int, err error) {
		err = do(func(_ *View, c *Change) (err error) {
			moves, err = c.PinAnchors(5, "customers", anchors, fragment, first, a)
			return err
		})
		_ = do(func(v *View, _ *Change) error {
			view = v
			return nil
		})
		return moves, err
	}
	n, err := pin("orders$1", 8, Anchor{"c/2", 900}, Anchor{"c/1", half + 1}, Anchor{"c/0", half + 1}, Anchor{"c/3", 901}, Anchor{"c/3", 901})
	if err != nil || n != 2 {
		t.Fatalf("%d moves, %v", n, err)
	}
	d := view.Database(5)
	if len(d.Pins) != 1 || d.Pins[0].Lo != uint32(half+1) || !slices.Equal(d.Pins[0].Anchors, []string{"c/0", "c/1"}) {
		t.Errorf("pins %+v", d.Pins)
	}
	m, ok := view.MoveOf(9)
	if !ok || m.Lo != 901 || m.Target != 2 || !m.Pin || !slices.Equal(m.Anchors, []string{"c/3"}) {
		t.Errorf("move %+v", m)
	}
	if _, err := pin("orders$0", 10, Anchor{"c/1", half + 1}); !pgerr.Is(err, pgerr.ObjectInUse) {
		t.Errorf("pinned elsewhere: %v", err)
	}
	if _, err := pin("orders$1", 10, Anchor{"c/9", 150}); !pgerr.Is(err, pgerr.ObjectInUse) {
		t.Errorf("on its way: %v", err)
	}
	if n, err := pin("orders$1", 10, Anchor{"c/4", half + 1}); err != nil || n != 0 || !slices.Equal(view.Database(5).Pins[0].Anchors, []string{"c/0", "c/1", "c/4"}) {
		t.Errorf("%d moves, %v", n, err)
	}
	unpin := func(anchors ...Anchor) (ended int, err error) {
		err = do(func(_ *View, c *Change) (err error) {
			ended, err = c.UnpinAnchors(5, "customers", anchors, a)
			return err
		})
		return ended, err
	}
	if n, err := unpin(Anchor{"c/1", half + 1}); err != nil || n != 0 {
		t.Errorf("%d ended, %v", n, err)
	}
	if _, err := unpin(Anchor{"c/1", half + 1}); !pgerr.Is(err, pgerr.UndefinedObject) {
		t.Errorf("unpinned twice: %v", err)
	}
	err = do(func(_ *View, c *Change) error {
		return c.AddMove(12, 5, &Move{Interval: shardmap.OneBucket(half + 1), Target: 1}, a)
	})
	if !pgerr.Is(err, pgerr.ObjectInUse) {
		t.Errorf("moved away: %v", err)
	}
	if n, err := unpin(Anchor{"c/4", half + 1}, Anchor{"c/0", half + 1}); err != nil || n != 1 {
		t.Errorf("%d ended, %v", n, err)
	}
}

// TestBoundAgainstLabels: a fragment is not bound to nodes that its rule does not allow.
func TestBoundAgainstLabels(t *testing.T) {
	c := openBootstrapped(t)
	name := c.View().Database(PostgresDB).FragmentName(&c.View().Database(PostgresDB).Fragments[0])
	bind := func(_ *View, ch *Change) error {
		return ch.SetFragmentFactor(PostgresDB, name, 1, []uint32{1}, Author{Micros: 1})
	}
	for rule, want := range map[string]string{"region=moon": pgerr.ObjectNotInPrerequisiteState, "region!=moon": ""} {
		_, err := c.Update(t.Context(), func(_ *View, ch *Change) error {
			return ch.SetLabels(PostgresDB, name, labelRule(t, rule), Author{Micros: 1})
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Update(t.Context(), bind); (want == "") != (err == nil) || want != "" && !pgerr.Is(err, want) {
			t.Errorf("%s: %v", rule, err)
		}
	}
}
