package balance

import (
	"strings"
	"testing"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
)

// ranged makes a range table of two segments, each in another of the first two fragments.
func (w *world) ranged() (first, second shardmap.Bucket) {
	w.t.Helper()
	d := w.database()
	oid, err := w.c.NewOID(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	first, err = w.c.AssignBuckets(w.t.Context(), d.OID, func(*catalog.View, *catalog.Database) ([]shardmap.FragmentID, error) {
		return []shardmap.FragmentID{d.Fragments[0].ID, d.Fragments[1].ID}, nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	second = first + 1
	w.do(func(ch *catalog.Change) error {
		return ch.PutTable(&catalog.Table{
			OID: oid, StorageID: oid, Kind: catalog.KindTable, Database: d.OID, Schema: 2200, Owner: 10, Name: "events", NextAttNum: 2,
			Columns:     []catalog.Column{{AttNum: 1, Name: "at", Type: 20, Typmod: -1, NotNull: true}},
			Constraints: []catalog.Constraint{{OID: oid + 1, Name: "events_pkey", Kind: catalog.PrimaryKey, Columns: []int16{1}, Valid: true, Index: oid + 2}},
			Indexes:     []catalog.Index{{OID: oid + 2, Name: "events_pkey", StorageID: 1, Columns: []int16{1}, Unique: true, Primary: true}},
			Segments:    shardmap.Segments{{Bucket: first}, {Start: []byte{0x80}, Bucket: second, Automatic: true}},
		})
	})
	return first, second
}

// TestStepsLeftOut: steps that are refused for good, because what they are about was pinned after the plan was made, are left out, with the reason in the history. The others
// are carried out, and the plan ends.
func TestStepsLeftOut(t *testing.T) {
	w := newWorld(t, 2)
	first, second := w.ranged()
	d, me := w.database(), catalog.Author{Who: "ann", Micros: w.now.UnixMicro() - 1}
	from, to := d.Fragments[1].ID, d.Fragments[0].ID
	var table catalog.OID
	for x := range w.c.View().Tables(d.OID) {
		table = x.OID
	}
	plan := &catalog.Plan{Epoch: d.Map.Epoch(), Steps: []catalog.PlanStep{
		{Kind: catalog.BucketsStep, Interval: shardmap.OneBucket(second), Source: from, Target: to},
		{Kind: catalog.MergeStep, Source: to, Target: to, Table: table, First: first, Last: second, Count: 2, What: "events: merged at 7"},
		{Kind: catalog.BucketsStep, Interval: shardmap.Interval{Lo: 0, Hi: 8}, Source: to, Target: from},
	}}
	id, err := w.b.Propose(t.Context(), d.OID, plan, me)
	if err != nil {
		t.Fatal(err)
	}
	w.do(func(ch *catalog.Change) error { return ch.ApplyPlan(id, me) })
	w.do(func(ch *catalog.Change) error { return ch.Pin(d.OID, shardmap.OneBucket(second), from, me) })
	for range 5 {
		w.carryOut()
		w.land()
	}
	if plans := w.c.View().Plans(0); len(plans) != 0 {
		t.Fatalf("the plan has not ended: it waits for %q", plans[0].Waits)
	}
	var said []string
	for r := range w.c.View().Records() {
		if r.Kind == catalog.PlanRecord {
			said = append(said, r.Change)
		}
	}
	const want = `plan applied
step 1 left out: segment events: 80- is pinned to fragment "postgres$1"
step 2 (events: merged at 7) left out: segments of table "events" are in different fragments
plan done`
	if got := strings.Join(said, "\n"); got != want {
		t.Errorf("history:\n%s\nwant:\n%s", got, want)
	}
	if owner := w.database().Map.Lookup(0); owner != from {
		t.Errorf("what was not pinned is in fragment %d", owner)
	}
}

// TestMergeLeftOut: so is a merge of segments of which one was pinned since.
func TestMergeLeftOut(t *testing.T) {
	w := newWorld(t, 2)
	first, second := w.ranged()
	me := catalog.Author{Who: "ann", Micros: w.now.UnixMicro() - 1}
	to := w.database().Fragments[0].ID
	job, err := w.c.NewJobID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.do(func(ch *catalog.Change) error {
		return ch.AddMove(job, catalog.PostgresDB, &catalog.Move{Interval: shardmap.OneBucket(second), Target: to}, me)
	})
	w.land()
	d := w.database()
	var table catalog.OID
	for x := range w.c.View().Tables(d.OID) {
		table = x.OID
	}
	id, err := w.b.Propose(t.Context(), d.OID, &catalog.Plan{Epoch: d.Map.Epoch(), Steps: []catalog.PlanStep{
		{Kind: catalog.MergeStep, Source: to, Target: to, Table: table, First: first, Last: second, Count: 2, What: "events: merged at 7"},
		{Kind: catalog.BucketsStep, Interval: shardmap.Interval{Lo: 0, Hi: 8}, Source: to, Target: d.Fragments[1].ID},
	}}, me)
	if err != nil {
		t.Fatal(err)
	}
	w.do(func(ch *catalog.Change) error { return ch.ApplyPlan(id, me) })
	w.do(func(ch *catalog.Change) error { return ch.Pin(d.OID, shardmap.OneBucket(first), to, me) })
	w.carryOut()
	p, ok := w.c.View().PlanOf(id)
	if !ok || !p.Steps[0].Done || !strings.Contains(p.Steps[0].LeftOut, "they are not pinned to the same fragment") || p.Steps[1].Job == 0 || p.Waits != "" {
		t.Errorf("plan: %+v", p.Plan)
	}
}
