package balance

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/shardmap/balance"
)

const mib = 1 << 20

// world is a catalog of one database, whose fragments hold as many bytes as bytes says, evenly in their first buckets, and a Balancer over it.
type world struct {
	t     *testing.T
	c     *catalog.Catalog
	b     *Balancer
	now   time.Time
	sizes map[shardmap.Interval]int64 // MiB of runs of buckets, in one range each
}

func newWorld(t *testing.T, fragments int) *world {
	c, err := catalog.Open(catalog.Options{Dir: t.TempDir(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := c.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	_, err = c.Bootstrap(ctx, catalog.BootstrapOptions{ClusterID: "0d9d1a5e-3c58-4f0e-9f6e-1f2a3b4c5d6e", Fragments: fragments, Node: catalog.Node{ID: 1, Name: "n1", Block: "A"}})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, c: c, now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), sizes: map[shardmap.Interval]int64{}}
	w.b = New(Config{Catalog: c, Sizes: w.said, Silent: func(uint32) bool { return false }, Now: func() time.Time { return w.now }})
	return w
}

// said is what the fragments say: each run of buckets is where the map says.
func (w *world) said(_ context.Context, d *catalog.Database) (out []balance.Stat, err error) {
	for v, n := range w.sizes {
		for k := range uint32(16) {
			part := shardmap.Interval{Lo: v.Lo + uint32(v.Len())*k/16, Hi: v.Lo + uint32(v.Len())*(k+1)/16}
			for _, s := range d.Map.Split(shardmap.NewBucketSet(part)) {
				share := int64(s.Buckets.Len()) * n * mib / int64(v.Len())
				out = append(out, balance.Stat{Fragment: s.Fragment, Cell: balance.Cell{Interval: part, Bytes: share, Documents: share / 1000}})
			}
		}
	}
	return out, nil
}

func (w *world) database() *catalog.Database { return w.c.View().Database(catalog.PostgresDB) }

func (w *world) update(f func(ch *catalog.Change) error) error {
	w.t.Helper()
	_, err := w.c.Update(w.t.Context(), func(_ *catalog.View, ch *catalog.Change) error { return f(ch) })
	return err
}

func (w *world) do(f func(ch *catalog.Change) error) {
	w.t.Helper()
	if err := w.update(f); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) set(name, value string) {
	w.t.Helper()
	w.do(func(ch *catalog.Change) error { return ch.PutSetting(catalog.Setting{Name: name, Value: value}) })
}

func (w *world) propose() []catalog.RunningPlan {
	w.t.Helper()
	if err := w.b.propose(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	return w.c.View().Plans(0)
}

func (w *world) carryOut() {
	w.t.Helper()
	if err := w.b.carryOut(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// land ends the moves that are under way: their buckets have arrived.
func (w *world) land() (n int) {
	w.t.Helper()
	for _, m := range w.c.View().Moves(0) {
		w.do(func(ch *catalog.Change) error {
			d := w.database().Clone()
			next, err := d.Map.Reassign(m.Interval, m.Target)
			if err != nil {
				return err
			}
			d.Map = next
			ch.DropJob(m.Job.ID)
			return ch.PutDatabase(d)
		})
		n++
	}
	return n
}

// A proposal is made in advise, stays while it says the same, is applied by a person, and is done when its moves are; the pair of fragments moves one
// piece at a time.
func TestAdviseAndApply(t *testing.T) {
	w := newWorld(t, 3)
	if plans := w.propose(); len(plans) != 0 {
		t.Fatalf("an empty database has plans: %+v", plans)
	}
	w.sizes[w.database().Map.Ranges()[0].Interval] = 900
	first := w.propose()
	if len(first) != 1 || first[0].Job.State != catalog.JobProposed || first[0].Bytes() < 500*mib || first[0].Who != "sherd" {
		t.Fatalf("plans: %+v", first)
	}
	w.sizes[w.database().Map.Ranges()[0].Interval] = 950
	if again := w.propose(); len(again) != 1 || again[0].Job.ID != first[0].Job.ID {
		t.Errorf("the proposal is another though nearly nothing has changed: %+v", again)
	}
	w.carryOut()
	if len(w.c.View().Moves(0)) != 0 {
		t.Fatal("a proposal is carried out")
	}
	id := first[0].Job.ID
	w.do(func(ch *catalog.Change) error { return ch.ApplyPlan(id, catalog.Author{Who: "ann", Micros: 5}) })
	rounds := 0
	for ; len(w.c.View().Plans(0)) > 0; rounds++ {
		w.carryOut()
		moves := w.c.View().Moves(0)
		if len(moves) > atOnce || rounds > 20 {
			t.Fatalf("%d moves in round %d", len(moves), rounds)
		}
		for _, m := range moves {
			if m.Who != "ann" {
				t.Errorf("a move of a plan that ann has applied is %s's", m.Who)
			}
		}
		w.land()
	}
	if left := w.propose(); len(left) != 0 {
		t.Errorf("after the plan there is another: %+v", left)
	}
	for _, f := range w.database().Fragments {
		if w.database().Map.Owned(f.ID).IsEmpty() {
			t.Errorf("fragment %d owns nothing", f.ID)
		}
	}
}

// In auto plans are applied, within the windows; outside of them nothing begins.
func TestAutoWithinWindows(t *testing.T) {
	w := newWorld(t, 2)
	w.sizes[w.database().Map.Ranges()[0].Interval] = 400
	w.set(ModeSetting, "auto")
	w.set(WindowsSetting, "22:00-06:00")
	if plans := w.propose(); len(plans) != 1 || plans[0].Job.State != catalog.JobProposed {
		t.Fatalf("at noon: %+v", plans)
	}
	w.now = w.now.Add(11 * time.Hour)
	plans := w.propose()
	if len(plans) != 1 || plans[0].Job.State != catalog.JobRunning {
		t.Fatalf("at eleven: %+v", plans)
	}
	w.now = w.now.Add(10 * time.Hour)
	w.carryOut()
	if plans = w.c.View().Plans(0); len(w.c.View().Moves(0)) != 0 || !strings.Contains(plans[0].Waits, "balancer_windows") {
		t.Errorf("at nine: %+v", plans)
	}
	w.now = w.now.Add(14 * time.Hour)
	w.carryOut()
	if moves := w.c.View().Moves(0); len(moves) != 1 || moves[0].Plan != plans[0].Job.ID {
		t.Errorf("at eleven again: %+v", moves)
	}
	w.set(ModeSetting, "off")
	w.land()
	w.carryOut()
	if plans = w.propose(); len(plans) != 0 {
		t.Errorf("in off: %+v", plans)
	}
}

// A move that somebody ends makes its plan stop, with the reason; a step whose buckets somebody else moves waits.
func TestPlanInTheWay(t *testing.T) {
	w := newWorld(t, 2)
	ranges := w.database().Map.Ranges()
	w.sizes[ranges[0].Interval] = 400
	plan := w.propose()[0]
	me := catalog.Author{Who: "ann", Micros: 7}
	w.do(func(ch *catalog.Change) error { return ch.ApplyPlan(plan.Job.ID, me) })
	other, err := w.c.NewJobID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.do(func(ch *catalog.Change) error {
		return ch.AddMove(other, catalog.PostgresDB, &catalog.Move{Interval: plan.Steps[0].Interval, Target: ranges[1].Fragment}, me)
	})
	w.carryOut()
	if p := w.c.View().Plans(0)[0]; !strings.Contains(p.Waits, "are being moved by move") {
		t.Errorf("waits for %q", p.Waits)
	}
	w.do(func(ch *catalog.Change) error { return ch.CancelMove(other, me) })
	w.carryOut()
	mine := w.c.View().Moves(0)
	if len(mine) != 1 || mine[0].Why == "" || mine[0].Plan != plan.Job.ID {
		t.Fatalf("moves: %+v", mine)
	}
	w.do(func(ch *catalog.Change) error { return ch.CancelMove(mine[0].Job.ID, me) })
	w.carryOut()
	if p := w.c.View().Plans(0)[0]; p.Job.State != catalog.JobPaused || !strings.Contains(p.Job.Error, "ended before it was done") {
		t.Errorf("plan: %s, %q", p.Job.State, p.Job.Error)
	}
	if plans := w.propose(); len(plans) != 1 {
		t.Errorf("beside a plan that is stuck another is proposed: %+v", plans)
	}
}

// Weights and limits of nodes, and pins, are in the picture.
func TestPicture(t *testing.T) {
	w := newWorld(t, 2)
	v := w.database().Map.Ranges()[0].Interval
	w.sizes[v] = 400
	weight, limit := 2.0, uint64(1<<30)
	w.do(func(ch *catalog.Change) error {
		return ch.SetNodeShare(1, &weight, &limit, catalog.Author{Who: "ann", Micros: 3})
	})
	w.do(func(ch *catalog.Change) error {
		return ch.Pin(catalog.PostgresDB, shardmap.Interval{Lo: 0, Hi: 10}, w.database().Map.Lookup(0), catalog.Author{Who: "ann", Micros: 4})
	})
	in, err := w.b.picture(t.Context(), w.c.View(), w.database(), w.database())
	if err != nil {
		t.Fatal(err)
	}
	if n := in.Nodes[0]; n.Weight != 2 || n.MaxBytes != 1<<30 || n.Used != 400*mib {
		t.Errorf("node: %+v", n)
	}
	if len(in.Rules) != 1 || in.Rules[0].Hi != 10 || len(in.Cells) != 16 || in.Fragments[1].Name != "postgres$1" {
		t.Errorf("picture: %+v", in)
	}
	p, err := w.b.Plan(t.Context(), w.c.View(), w.database(), balance.Advise)
	if err != nil || p.Epoch != w.database().Map.Epoch() || len(p.Steps) == 0 || p.Steps[0].Estimate == 0 {
		t.Errorf("plan: %+v, %v", p, err)
	}
}

// TestLostDatabase: a database that does not say what it holds keeps no other from being balanced. Its nodes, of which it is not known how much they hold, are given
// nothing beyond what they have.
func TestLostDatabase(t *testing.T) {
	w := newWorld(t, 2)
	lost := w.another("lost", 1, 1)
	w.b.cfg.Sizes = func(ctx context.Context, d *catalog.Database) ([]balance.Stat, error) {
		if d.OID == lost {
			return nil, errors.New("no leader")
		}
		return w.said(ctx, d)
	}
	w.sizes[w.database().Map.Ranges()[0].Interval] = 900
	limit := uint64(1 << 40)
	w.do(func(ch *catalog.Change) error {
		return ch.SetNodeShare(1, nil, &limit, catalog.Author{Who: "ann", Micros: 3})
	})
	if in, err := w.b.picture(t.Context(), w.c.View(), w.database(), w.database()); err != nil || !in.Nodes[0].Full {
		t.Errorf("its node: %+v, %v", in.Nodes, err)
	}
	node, err := w.c.NewNodeID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.do(func(ch *catalog.Change) error {
		d := w.c.View().Database(lost).Clone()
		d.Fragments[0].Nodes, d.Fragments[1].Nodes = []uint32{node}, []uint32{node}
		return errors.Join(ch.PutNode(&catalog.Node{ID: node, Name: "n2", Block: "B"}), ch.PutDatabase(d))
	})
	if err := w.b.propose(t.Context()); err == nil {
		t.Error("nobody hears of the one that is lost")
	}
	if plans := w.c.View().Plans(catalog.PostgresDB); len(plans) != 1 {
		t.Errorf("plans of the other: %+v", plans)
	}
}

// another makes a database of two fragments on some nodes.
func (w *world) another(name string, nodes ...uint32) catalog.OID {
	w.t.Helper()
	oid, err := w.c.NewOID(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	ids, err := w.c.NewFragmentIDs(w.t.Context(), len(nodes))
	if err != nil {
		w.t.Fatal(err)
	}
	d := w.database().Clone()
	d.OID, d.Name, d.Map, d.Fragments = oid, name, shardmap.NewInitialMap(ids), nil
	for i, id := range ids {
		d.Fragments = append(d.Fragments, catalog.Fragment{ID: id, Ordinal: i, Nodes: nodes[i : i+1]})
	}
	w.do(func(ch *catalog.Change) error { return ch.PutDatabase(d) })
	return oid
}

// Fragments that are added to a database, also to an empty one, get their shares by a plan.
func TestFill(t *testing.T) {
	for _, mib := range []int64{0, 900} {
		w := newWorld(t, 1)
		w.sizes[shardmap.WholeSpace()] = mib
		now, me := w.database(), catalog.Author{Who: "ann", Micros: 9}
		ids, err := w.c.NewFragmentIDs(t.Context(), 2)
		if err != nil {
			t.Fatal(err)
		}
		grown := now.Clone()
		for i, id := range ids {
			grown.Fragments = append(grown.Fragments, catalog.Fragment{ID: id, Ordinal: i + 1, Nodes: []uint32{1}, Added: true})
		}
		p, err := w.b.Fill(t.Context(), w.c.View(), now, grown)
		if err != nil {
			t.Fatal(err)
		}
		number, err := w.c.NewJobID(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		w.do(func(ch *catalog.Change) error {
			for _, id := range ids {
				if _, err := ch.AddFragment(now.OID, id, []uint32{1}, me); err != nil {
					return err
				}
			}
			return ch.BeginPlan(number, now.OID, p, me)
		})
		for round := 0; len(w.c.View().Plans(0)) > 0; round++ {
			if round > 20 {
				t.Fatalf("no end: %+v", w.c.View().Plans(0))
			}
			w.carryOut()
			w.land()
		}
		for _, f := range w.database().Fragments {
			if n := w.database().Map.Owned(f.ID).Len(); n < 300_000 || n > 400_000 {
				t.Errorf("%d MiB: fragment %d owns %d buckets", mib, f.ID, n)
			}
		}
	}
}

// TestFillLeavesIsolated: a fragment that was made for one tenant is given nothing else, and what it has stays.
func TestFillLeavesIsolated(t *testing.T) {
	w := newWorld(t, 3)
	w.sizes[shardmap.WholeSpace()] = 900
	now := w.database()
	tenant, one := now.Fragments[2].ID, shardmap.Interval{Lo: 7, Hi: 8}
	alone := now.Clone()
	m, err := shardmap.NewMap(now.Map.Epoch()+1, []shardmap.Range{
		{Interval: shardmap.Interval{Lo: 0, Hi: 7}, Fragment: now.Fragments[0].ID}, {Interval: one, Fragment: tenant},
		{Interval: shardmap.Interval{Lo: 8, Hi: shardmap.BucketCount}, Fragment: now.Fragments[0].ID},
	})
	if err != nil {
		t.Fatal(err)
	}
	alone.Map, alone.Pins = m, []catalog.Pin{{Interval: one, Fragment: tenant}}
	p, err := w.b.Fill(t.Context(), w.c.View(), alone, alone)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Steps) == 0 {
		t.Error("the empty fragment is not filled")
	}
	for _, s := range p.Steps {
		if s.Source == tenant || s.Target == tenant {
			t.Errorf("step %+v", s)
		}
	}
}
