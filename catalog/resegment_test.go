package catalog

import (
	"errors"
	"slices"
	"testing"

	"github.com/sherddb/sherd/shardmap"
)

// mergingCatalog has a range table of two segments in one fragment, pinned for what is given, and a job that merges them; merge carries it out.
func mergingCatalog(t *testing.T, first, second []Pin) (do func(func(*View, *Change) error) error, merge func() *Database) {
	t.Helper()
	_, do = movedCatalog(t)
	old := []shardmap.Bucket{1 << 20, 1<<20 + 1}
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ok(do(func(v *View, c *Change) error {
		d, table := v.Database(5).Clone(), v.Table(16385).Clone()
		next, _, err := d.Map.Assign([]uint32{1, 1})
		d.Map, d.Pins = next, append(first, second...)
		table.Columns = []Column{{AttNum: 1, Name: "at", Type: 20, Typmod: -1, NotNull: true}}
		table.Constraints = []Constraint{{OID: 16387, Name: "orders_pkey", Kind: PrimaryKey, Columns: []int16{1}, Valid: true, Index: 16388}}
		table.Indexes = []Index{{OID: 16388, Name: "orders_pkey", StorageID: 1, Columns: []int16{1}, Unique: true, Primary: true}}
		table.NextAttNum = 2
		table.Segments = shardmap.Segments{{Bucket: old[0]}, {Start: []byte{0x80}, Bucket: old[1]}}
		return errors.Join(err, c.PutDatabase(d), c.PutTable(table))
	}))
	ok(do(func(_ *View, c *Change) error {
		return c.AddResegment(8, 16385, old, [][]byte{nil}, "merged", Author{Micros: 1})
	}))
	return do, func() (d *Database) {
		t.Helper()
		step := MoveStep{Number: 20, Interval: shardmap.Interval{Lo: 1 << 20, Hi: 1<<20 + 2}, Source: 1}
		ok(do(func(_ *View, c *Change) error { return c.BeginStep(8, step, 2) }))
		ok(do(func(v *View, c *Change) error {
			return c.Flip(8, 20, map[OID]uint64{16385: v.Table(16385).Version}, func(*Move) {}, 3)
		}))
		ok(do(func(v *View, _ *Change) error { d = v.Database(5); return nil }))
		return d
	}
}

// TestMergedPins: one segment made of two is pinned as long as one of them was to be.
func TestMergedPins(t *testing.T) {
	pin := func(b shardmap.Bucket, anchors ...string) []Pin {
		return []Pin{{Interval: shardmap.OneBucket(b), Fragment: 1, Anchors: anchors}}
	}
	const low, high, merged = 1 << 20, 1<<20 + 1, 1<<20 + 2
	for _, x := range []struct {
		name          string
		first, second []Pin
		want          []string
		pinned        bool
	}{
		{"none", nil, nil, nil, false},
		{"for the same", pin(low, "a"), pin(high, "a"), []string{"a"}, true},
		{"for others", pin(low, "a"), pin(high, "b"), []string{"a", "b"}, true},
		{"for itself and others", pin(low), pin(high, "b"), nil, true},
		{"for others and itself", pin(low, "a"), pin(high), nil, true},
	} {
		_, merge := mergingCatalog(t, x.first, x.second)
		d := merge()
		if p, pinned := d.PinOf(merged); pinned != x.pinned || pinned && p.Fragment != 1 || !slices.Equal(p.Anchors, x.want) || len(d.Pins) != map[bool]int{true: 1}[x.pinned] {
			t.Errorf("%s: %+v", x.name, d.Pins)
		}
	}
	for _, late := range []uint32{low, high} {
		do, merge := mergingCatalog(t, nil, nil)
		err := do(func(_ *View, c *Change) error {
			return c.Pin(5, shardmap.Interval{Lo: late, Hi: late + 1}, 1, Author{Micros: 2})
		})
		if err != nil {
			t.Fatal(err)
		}
		if d := merge(); len(d.Pins) != 1 || d.Pins[0].Lo != merged {
			t.Errorf("bucket %d was pinned meanwhile: %+v", late, d.Pins)
		}
	}
}

// TestPrefixBesideMerge: segments whose numbers are on both sides of a rule's buckets are nothing that the rule waits for.
func TestPrefixBesideMerge(t *testing.T) {
	_, do := movedCatalog(t)
	err := do(func(v *View, c *Change) error {
		d := v.Database(5).Clone()
		rule := shardmap.Prefix{Text: "eu/", Interval: shardmap.Interval{Lo: 1<<20 + 1, Hi: 1<<20 + 3}}
		next, _, err := d.Map.Assign([]uint32{1, 2, 2, 1})
		d.Map, d.Prefixes = next, []PrefixRule{{rule, []uint32{2}}}
		m := &Move{Interval: shardmap.Interval{Lo: 1 << 20, Hi: 1<<20 + 4}, Target: 2, Resegment: &Resegment{
			Table: 16385, Old: []shardmap.Bucket{1 << 20, 1<<20 + 3}, New: shardmap.Segments{{Bucket: 1<<20 + 4}}, What: "merged",
		}}
		return errors.Join(err, c.PutDatabase(d), c.PutJob(NewMoveJob(8, 5, m, 1)))
	})
	if err != nil {
		t.Fatal(err)
	}
	_ = do(func(v *View, _ *Change) error {
		if jobs := v.PrefixMoving(v.Database(5), "eu/", []uint32{2}); len(jobs) != 0 {
			t.Errorf("jobs %v", jobs)
		}
		return nil
	})
}
