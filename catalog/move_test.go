package catalog

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/sherddb/sherd/internal/clusterversion"
	"github.com/sherddb/sherd/shardmap"
)

func fullMove() *Move {
	return &Move{
		Interval: shardmap.Interval{Lo: 10, Hi: 50}, Source: 1, Target: 2, Who: "postgres", Why: "room", Plan: 9,
		Step:  MoveStep{Number: 4, Interval: shardmap.Interval{Lo: 20, Hi: 30}, Source: 1, Phase: StepFlipped},
		Steps: 3, Bytes: 4, Documents: 5, Blocked: 6, Worst: 7, Retries: 8, Rate: 9, Waits: "x",
	}
}

// moveOps are what moves of buckets brought to the catalog, with all fields set.
func moveOps() []op {
	d := &Database{
		OID: 5, Name: "orders", Owner: 10, Map: shardmap.NewInitialMap([]uint32{1, 2}), ReplicationFactor: 3,
		Fragments: []Fragment{{ID: 1, Draining: true}, {ID: 2, Ordinal: 1, Added: true}},
		Pins:      []Pin{{Interval: shardmap.Interval{Lo: 3, Hi: 5}, Fragment: 1}, {Interval: shardmap.Interval{Lo: 5, Hi: 9}, Fragment: 2}},
	}
	j := NewMoveJob(3, 5, fullMove(), 77)
	ended := &EndedMove{Job: 3, Outcome: "done", StartedMicros: 5, Error: "e", Move: *fullMove()}
	r := &Record{ID: 1<<56 - 3, Kind: MoveRecord, Database: 5, Subject: "s", Change: "c", Who: "w", Why: "y", Plan: 8, Move: ended}
	return []op{
		{kind: putOp, key: keyOf(d), desc: d}, {kind: putOp, key: keyOf(j), desc: j}, {kind: putOp, key: keyOf(r), desc: r},
		{kind: dropOp, key: newKey(recordObject, 4), expect: 2},
	}
}

func TestMoveFormat(t *testing.T) {
	data, err := encodeBatch(moveOps())
	if err != nil {
		t.Fatal(err)
	}
	e, err := decodeEntry(golden(t, "moves.v1", data))
	if err != nil || !reflect.DeepEqual(e.ops, moveOps()) {
		t.Errorf("%+v, %v", e.ops, err)
	}
	m, err := e.ops[1].desc.(*Job).Move()
	if err != nil || !reflect.DeepEqual(m, fullMove()) {
		t.Errorf("%+v, %v", m, err)
	}
	flipped := fullMove()
	flipped.Step.F, flipped.Step.Since, flipped.Step.Receipt, flipped.Pin = 1<<60+1, 1<<60, 3, true
	flipped.Anchors = []string{"customers/1-A"}
	flipped.Segments = []MovedSegment{{16400, 16401, "r", shardmap.KeyRange{Start: []byte{1}}}, {16400, 16401, "r", shardmap.KeyRange{Start: []byte{7}, End: []byte{9}}}}
	flipped.MoreSegments = 2
	if m, err := NewMoveJob(3, 5, flipped, 77).Move(); err != nil || !reflect.DeepEqual(m, flipped) {
		t.Errorf("%+v, %v", m, err)
	}
	split := fullMove()
	split.Interval, split.Step = shardmap.OneBucket(shardmap.BucketCount+4), MoveStep{}
	split.Resegment = &Resegment{
		Table: 16400, Old: []shardmap.Bucket{shardmap.BucketCount + 4}, What: "r: split at 7",
		New: shardmap.Segments{{Bucket: shardmap.BucketCount + 5}, {Start: []byte{7}, Bucket: shardmap.BucketCount + 6}},
	}
	job := NewMoveJob(3, 5, split, 77)
	if m, err := job.Move(); err != nil || job.Kind != ResegmentJob || !reflect.DeepEqual(m, split) {
		t.Errorf("%+v, %v", m, err)
	}
	zero := map[string]bool{}
	noteFields(zero, "Move", reflect.ValueOf(fullMove()).Elem())
	noteFields(zero, "EndedMove", reflect.ValueOf(e.ops[2].desc.(*Record).Move).Elem())
	for path, is := range zero {
		if is && path != "Move.Pin" && path != "Move.Anchors" && path != "Move.Resegment" && path != "Move.Segments" && path != "Move.MoreSegments" {
			t.Errorf("%s is zero", path)
		}
	}
	for _, bad := range []func(*Move){
		func(m *Move) { m.Hi = m.Lo }, func(m *Move) { m.Hi = shardmap.BucketCount + 1 }, func(m *Move) { m.Target = 0 },
		func(m *Move) { m.Step.Hi = 51 }, func(m *Move) { m.Step.Source = 2 }, func(m *Move) { m.Step.Phase = 0 },
	} {
		m := fullMove()
		bad(m)
		if checkDescriptor(NewMoveJob(3, 5, m, 77)) == nil {
			t.Errorf("%+v is taken", m)
		}
	}
}

// movedCatalog has a database of two fragments, each with half of the buckets, and a table.
func movedCatalog(t *testing.T) (v *View, do func(func(*View, *Change) error) error) {
	t.Helper()
	m := newMachine()
	m.counters = counters{oid: 16400, fragment: 3, node: 2, job: 100}
	do = func(f func(*View, *Change) error) error {
		c := m.view.Load().Plan()
		if err := f(m.view.Load(), c); err != nil {
			return err
		}
		return m.apply(logEntry{ops: c.ops}).err
	}
	err := do(func(_ *View, c *Change) error {
		role := &Role{OID: 10, Name: "postgres"}
		d := &Database{
			OID: 5, Name: "orders", Owner: 10, Map: shardmap.NewInitialMap([]uint32{1, 2}), ReplicationFactor: 1,
			Fragments: []Fragment{{ID: 1}, {ID: 2, Ordinal: 1}},
		}
		s := &Schema{OID: 16384, Database: 5, Name: "sales", Owner: 10}
		table := &Table{OID: 16385, Database: 5, Schema: 16384, Name: "orders", Owner: 10, Kind: KindTable, StorageID: 16386, NextAttNum: 1}
		move := &Move{Interval: shardmap.Interval{Lo: 100, Hi: 300}, Target: 2}
		return errors.Join(c.put(&Cluster{ID: "c", Format: clusterversion.Newest}), c.PutRole(role), c.PutDatabase(d), c.PutSchema(s), c.PutTable(table), c.PutJob(NewMoveJob(7, 5, move, 1)))
	})
	if err != nil {
		t.Fatal(err)
	}
	return m.view.Load(), do
}

func TestFlip(t *testing.T) {
	_, do := movedCatalog(t)
	var now *View
	begin := func(number uint64, lo, hi uint32) error {
		return do(func(_ *View, c *Change) error {
			return c.BeginStep(7, MoveStep{Number: number, Interval: shardmap.Interval{Lo: lo, Hi: hi}, Source: 1}, 2)
		})
	}
	flip := func(number, version uint64) error {
		return do(func(v *View, c *Change) error {
			now = v
			return c.Flip(7, number, map[OID]uint64{16385: version}, func(m *Move) { m.Bytes += 10 }, 3)
		})
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(begin(20, 100, 200))
	if err := begin(21, 200, 300); !errors.Is(err, ErrStepOver) {
		t.Errorf("beside another: %v", err)
	}
	var changed *DefinitionsChangedError
	if err := flip(20, 9); !errors.As(err, &changed) {
		t.Errorf("of another version: %v", err)
	}
	if err := flip(21, 1); !errors.Is(err, ErrStepOver) {
		t.Errorf("of another step: %v", err)
	}
	must(flip(20, 1))
	if err := flip(20, 1); !errors.Is(err, ErrStepOver) {
		t.Errorf("twice: %v", err)
	}
	must(do(func(_ *View, c *Change) error { return c.AbortStep(7, 20, "late", 4) }))
	must(do(func(v *View, c *Change) error {
		now = v
		return c.FinishStep(7, 20, func(*Move) {}, 4)
	}))
	d := now.Database(5)
	m, _ := now.MoveOf(7)
	if d.Map.Epoch() != 2 || d.Map.Lookup(150) != 2 || d.Map.Lookup(99) != 1 || m.Step.Phase != StepFlipped || m.Bytes != 10 || m.Steps != 1 {
		t.Errorf("map %v, %+v", d.Map.Ranges(), m.Move)
	}
	if rest := d.Remaining(m.Move); len(rest) != 1 || rest[0].Lo != 200 || rest[0].Hi != 300 {
		t.Errorf("remaining: %v", rest)
	}
	if err := begin(100, 200, 300); err == nil {
		t.Error("a number that was not allotted is taken")
	}
	must(begin(22, 200, 300))
	must(do(func(_ *View, c *Change) error { return c.AbortStep(7, 22, "slow", 5) }))
	if err := flip(22, 1); !errors.Is(err, ErrStepOver) {
		t.Errorf("after it was aborted: %v", err)
	}
	must(do(func(_ *View, c *Change) error { return c.EndMove(7, "done", "", 6) }))
	if _, ok := now.MoveOf(7); !ok {
		t.Error("a move with an open step is gone")
	}
	must(do(func(_ *View, c *Change) error { return c.FinishStep(7, 22, func(*Move) {}, 6) }))
	must(do(func(_ *View, c *Change) error { return c.EndMove(7, "done", "", 6) }))
	must(do(func(v *View, _ *Change) error {
		now = v
		return nil
	}))
	records := slices.Collect(now.Records())
	if _, ok := now.MoveOf(7); ok || len(records) != 1 || records[0].Move.Job != 7 || records[0].Move.Retries != 1 || records[0].Subject != "[100,300)" {
		t.Errorf("%+v", records)
	}
}

// TestRenewStep: an aborted step goes on by another number, and keeps that by which the target receives.
func TestRenewStep(t *testing.T) {
	_, do := movedCatalog(t)
	renew := func(number, next uint64) error {
		return do(func(_ *View, c *Change) error {
			return c.RenewStep(7, number, next, func(m *Move) { m.Blocked += 5 }, 3)
		})
	}
	abort := func(number uint64) error {
		return do(func(_ *View, c *Change) error { return c.AbortStep(7, number, "late", 4) })
	}
	err := do(func(_ *View, c *Change) error {
		return c.BeginStep(7, MoveStep{Number: 20, Interval: shardmap.Interval{Lo: 100, Hi: 200}, Source: 1}, 2)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := renew(20, 21); !errors.Is(err, ErrStepOver) {
		t.Errorf("one that runs: %v", err)
	}
	if err := errors.Join(abort(20), renew(20, 21), abort(21), renew(21, 22)); err != nil {
		t.Fatal(err)
	}
	if err := renew(20, 23); !errors.Is(err, ErrStepOver) {
		t.Errorf("by a number of before: %v", err)
	}
	var m RunningMove
	_ = do(func(v *View, _ *Change) error { m, _ = v.MoveOf(7); return nil })
	want := MoveStep{Number: 22, Interval: shardmap.Interval{Lo: 100, Hi: 200}, Source: 1, Phase: StepRunning, Receipt: 20}
	if m.Step != want || m.Blocked != 10 || m.Retries != 2 {
		t.Errorf("%+v", m.Move)
	}
	err = errors.Join(abort(22), do(func(_ *View, c *Change) error { return c.PauseMove(7, Author{Who: "x", Micros: 9}) }))
	if err != nil {
		t.Fatal(err)
	}
	if err := renew(22, 24); !errors.Is(err, ErrStepOver) {
		t.Errorf("of a move that is paused: %v", err)
	}
}

// TestFlipWithGlobalIndexes: a table with a global index is in the condition of a flip, whether anything was derived for it or not.
func TestFlipWithGlobalIndexes(t *testing.T) {
	_, do := movedCatalog(t)
	var before, now *View
	put := func(oid OID, name string, global bool) error {
		return do(func(v *View, c *Change) error {
			x := Index{OID: oid + 1, Name: name + "_x", StorageID: uint32(oid + 1), Columns: []int16{0}, Expressions: []string{"1"}, Global: global}
			table := &Table{OID: oid, Database: 5, Schema: 16384, Name: name, Owner: 10, Kind: KindTable, StorageID: uint32(oid), NextAttNum: 1, Indexes: []Index{x}}
			return c.PutTable(table)
		})
	}
	see := func() (v *View) {
		_ = do(func(at *View, _ *Change) error { v = at; return nil })
		return v
	}
	err := errors.Join(put(16390, "local", false), put(16392, "global", true), do(func(_ *View, c *Change) error {
		return c.BeginStep(7, MoveStep{Number: 20, Interval: shardmap.Interval{Lo: 100, Hi: 200}, Source: 1}, 2)
	}))
	if err != nil {
		t.Fatal(err)
	}
	before = see()
	with := func(v *View) map[OID]uint64 {
		derived := map[OID]uint64{16385: 1}
		v.FlipsWith(5, derived)
		return derived
	}
	if d := with(before); len(d) != 2 || d[16392] != before.Table(16392).Version {
		t.Fatalf("%v", d)
	}
	flip := func(derived map[OID]uint64) error {
		return do(func(_ *View, c *Change) error { return c.Flip(7, 20, derived, func(*Move) {}, 3) })
	}
	var changed *DefinitionsChangedError
	if err := flip(map[OID]uint64{16385: 1}); !errors.As(err, &changed) {
		t.Errorf("without the table that has one: %v", err)
	}
	if err := put(16394, "later", true); err != nil {
		t.Fatal(err)
	}
	if err := flip(with(before)); !errors.As(err, &changed) {
		t.Errorf("with one that was made since: %v", err)
	}
	now = see()
	if err := flip(with(now)); err != nil {
		t.Error(err)
	}
}

// A move does not wait for what concerns other objects, and notices what concerns it.
func TestFlipConflicts(t *testing.T) {
	for _, c := range []struct {
		name  string
		other func(v *View, c *Change) error
		want  bool
	}{
		{"of the table", func(v *View, c *Change) error { return c.PutTable(v.Table(16385)) }, true},
		{"of the database", func(v *View, c *Change) error { return c.PutDatabase(v.Database(5)) }, true},
		{"of the job", func(v *View, c *Change) error { return c.PutJob(v.Job(7)) }, true},
		{"of a role", func(v *View, c *Change) error { return c.PutRole(v.Role(10)) }, false},
	} {
		_, do := movedCatalog(t)
		err := do(func(v *View, c *Change) error {
			m, _ := v.MoveOf(7)
			m.Step = MoveStep{Number: 20, Interval: shardmap.Interval{Lo: 100, Hi: 200}, Source: 1, Phase: StepRunning}
			return c.PutJob(m.Job.WithMove(m.Move, 2))
		})
		if err != nil {
			t.Fatal(err)
		}
		err = do(func(v *View, mine *Change) error {
			if err := mine.Flip(7, 20, map[OID]uint64{16385: 1}, func(*Move) {}, 3); err != nil {
				return err
			}
			return do(c.other)
		})
		if IsConflict(err) != c.want || err != nil && !c.want {
			t.Errorf("a change %s meanwhile: %v", c.name, err)
		}
	}
}

func TestRecordsAreBounded(t *testing.T) {
	if testing.Short() { // the run with the race detector
		t.Skip("one goroutine does every step")
	}
	v := emptyView()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()
	record := func(at int64) {
		t.Helper()
		c := v.Plan()
		err := errors.Join(c.Record(&Record{Kind: PinRecord}, at), c.Record(&Record{Kind: PinRecord}, at)) // two of one moment
		if err == nil {
			v, err = v.apply(c.ops, counters{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range int64(keepRecords/2 + dropAtOnce) {
		record(now + i)
	}
	if n := len(slices.Collect(v.Records())); n > keepRecords+dropAtOnce+2 || n < keepRecords-2 {
		t.Errorf("%d are kept", n)
	}
	for range keepRecords/dropAtOnce + 2 {
		record(now + keepRecordFor.Microseconds()*2)
	}
	for r := range v.Records() {
		if int64(r.ID) < now+keepRecordFor.Microseconds() {
			t.Fatalf("one of %s is kept", r.At())
		}
	}
}

func TestPinned(t *testing.T) {
	d := &Database{Pins: []Pin{{Interval: shardmap.Interval{Lo: 10, Hi: 20}, Fragment: 1}}}
	for _, c := range []struct {
		v    shardmap.Interval
		to   uint32
		want bool
	}{{shardmap.Interval{Lo: 0, Hi: 10}, 2, false}, {shardmap.Interval{Lo: 19, Hi: 30}, 2, true}, {shardmap.Interval{Lo: 19, Hi: 30}, 1, false}} {
		if _, got := d.Pinned(c.v, c.to); got != c.want {
			t.Errorf("%v to %d: %v", c.v, c.to, got)
		}
	}
}

// TestPlacesAreNoDefinition: plans stay as they are where buckets, pins or replicas move.
func TestPlacesAreNoDefinition(t *testing.T) {
	c := openBootstrapped(t)
	for _, x := range []struct {
		name    string
		edit    func(d *Database) error
		defines bool
	}{
		{"bucket map", func(d *Database) (err error) {
			d.Map, err = d.Map.Cut(7)
			return err
		}, false},
		{"pins", func(d *Database) error {
			d.Pins = []Pin{{Interval: d.Map.Ranges()[0].Interval, Fragment: d.Map.Ranges()[0].Fragment}}
			return nil
		}, false},
		{"setting", func(d *Database) error {
			d.Settings = map[string]string{"work_mem": "1MB"}
			return nil
		}, true},
		{"comment", func(d *Database) error { d.Comment = "x"; return nil }, true},
	} {
		before := c.View().DefinitionVersion()
		view, err := c.Update(t.Context(), func(v *View, ch *Change) error {
			d := v.Database(PostgresDB).Clone()
			return errors.Join(x.edit(d), ch.PutDatabase(d), ch.Require(PostgresPublic))
		})
		if err != nil {
			t.Fatal(x.name, err)
		}
		if got := view.DefinitionVersion() != before; got != x.defines {
			t.Errorf("%s: a definition: %t", x.name, got)
		}
	}
}
