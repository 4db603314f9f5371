package shardmap

import (
	"slices"
	"testing"
)

func TestAssignedBuckets(t *testing.T) {
	m := NewInitialMap([]FragmentID{7, 8})
	if !m.All().Equal(AllBuckets()) || m.Top() != BucketCount || !m.Assigned().IsEmpty() {
		t.Fatalf("a new map has %v, top %d", m.All(), m.Top())
	}
	a, first, err := m.Assign([]FragmentID{8, 7, 7})
	if err != nil || first != BucketCount || a.Epoch() != 2 || a.Top() != BucketCount+3 {
		t.Fatalf("first %d, epoch %d, top %d: %v", first, a.Epoch(), a.Top(), err)
	}
	for i, want := range []FragmentID{8, 7, 7, NoFragment} {
		if got := a.Lookup(first + Bucket(i)); got != want {
			t.Errorf("bucket %d of fragment %d, want %d", first+Bucket(i), got, want)
		}
	}
	if got := m.Lookup(first); got != NoFragment {
		t.Errorf("an older map gives it to %d", got)
	}
	if got := len(a.Hashed()); got != 2 {
		t.Errorf("%d ranges are hashed to", got)
	}
	set := NewBucketSet(Interval{BucketCount - 1, BucketCount + 5})
	want := []Share{
		{8, NewBucketSet(Interval{BucketCount - 1, BucketCount + 1})},
		{7, NewBucketSet(Interval{BucketCount + 1, BucketCount + 3})},
		{NoFragment, NewBucketSet(Interval{BucketCount + 3, BucketCount + 5})},
	}
	if got := a.Split(set); !slices.EqualFunc(got, want, func(x, y Share) bool {
		return x.Fragment == y.Fragment && x.Buckets.Equal(y.Buckets)
	}) {
		t.Errorf("split to %v, want %v", got, want)
	}
	b, err := a.Reassign(Interval{BucketCount, BucketCount + 1}, 7)
	if err != nil || b.Lookup(BucketCount) != 7 || b.Lookup(BucketCount-1) != 8 || len(b.Ranges()) != 4 ||
		b.Top() != a.Top() {
		t.Fatalf("reassigned to %v: %v", b, err)
	}
	if _, err := a.Reassign(Interval{BucketCount - 1, BucketCount + 1}, 7); err == nil {
		t.Error("buckets of both kinds go together")
	}
	if _, err := a.Reassign(Interval{BucketCount + 2, BucketCount + 4}, 7); err == nil {
		t.Error("a bucket goes that was never given out")
	}
	c, err := b.Release(BucketSetOf(BucketCount + 1))
	if err != nil || c.Lookup(BucketCount+1) != Taken || c.Lookup(BucketCount+2) != 7 ||
		c.Has(Interval{BucketCount, BucketCount + 2}) {
		t.Fatalf("released to %v: %v", c, err)
	}
	if _, next, err := c.Assign([]FragmentID{7}); err != nil || next != BucketCount+3 {
		t.Errorf("the next number is %d: %v", next, err)
	}
	if _, err := c.Release(BucketSetOf(5)); err == nil {
		t.Error("a bucket that keys are hashed to is released")
	}
	back, err := NewAssignedMap(c.Epoch(), c.Ranges(), c.Top())
	if err != nil || !slices.Equal(back.Ranges(), c.Ranges()) || back.Top() != c.Top() {
		t.Errorf("made again it is %v: %v", back, err)
	}
}

func TestAssignedMapsRefused(t *testing.T) {
	whole := Range{WholeSpace(), 1}
	one := func(lo, hi uint32) Range { return Range{Interval{BucketCount + lo, BucketCount + hi}, 1} }
	for name, c := range map[string]struct {
		ranges []Range
		top    uint32
	}{
		"overlap":     {[]Range{whole, one(0, 2), one(1, 3)}, BucketCount + 3},
		"above top":   {[]Range{whole, one(0, 2)}, BucketCount + 1},
		"no top":      {[]Range{whole, one(0, 2)}, 0},
		"above limit": {[]Range{whole}, BucketLimit + 1},
		"empty":       {[]Range{whole, one(1, 1)}, BucketCount + 3},
		"across":      {[]Range{{Interval{0, BucketCount + 1}, 1}}, BucketCount + 3},
	} {
		if m, err := NewAssignedMap(1, c.ranges, c.top); err == nil {
			t.Errorf("%s: made %v", name, m.Ranges())
		}
	}
}

func TestMinus(t *testing.T) {
	set := func(ivs ...Interval) BucketSet { return NewBucketSet(ivs...) }
	for _, c := range []struct{ a, b, want BucketSet }{
		{set(Interval{0, 10}), set(), set(Interval{0, 10})},
		{set(Interval{0, 10}), set(Interval{2, 3}, Interval{5, 7}),
			set(Interval{0, 2}, Interval{3, 5}, Interval{7, 10})},
		{set(Interval{0, 4}, Interval{6, 9}), set(Interval{3, 7}), set(Interval{0, 3}, Interval{7, 9})},
		{set(Interval{2, 4}), set(Interval{0, 9}), set()},
		{set(Interval{2, 4}, Interval{5, 6}, Interval{8, 9}), set(Interval{4, 8}), set(Interval{2, 4}, Interval{8, 9})},
	} {
		if got := c.a.Minus(c.b); !got.Equal(c.want) {
			t.Errorf("%v minus %v is %v, want %v", c.a, c.b, got, c.want)
		}
	}
}
