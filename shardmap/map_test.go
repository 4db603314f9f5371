package shardmap

import (
	"math/rand/v2"
	"reflect"
	"testing"
)

func TestInitialRanges(t *testing.T) {
	want := []Interval{{0, 349525}, {349525, 699050}, {699050, 1048576}}
	if got := InitialRanges(3); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for _, n := range []int{1, 2, 7, 1000, BucketCount} {
		next := uint32(0)
		for i, v := range InitialRanges(n) {
			if v.Lo != next || v.Empty() || v.Lo != uint32(uint64(i)*BucketCount/uint64(n)) {
				t.Fatalf("n = %d: range %d is %v", n, i, v)
			}
			next = v.Hi
		}
		if next != BucketCount {
			t.Fatalf("n = %d ends at %d", n, next)
		}
	}
}

func TestMapBook(t *testing.T) {
	m := NewInitialMap([]FragmentID{10, 11, 12})
	for id, want := range map[string]FragmentID{
		"orders/1-A": 10, "customers/6-A": 10, "customers/1-A": 12, "edge/376655": 12, "edge/596753": 11,
		"edge/1174741": 10, "edge/2844744": 11,
	} {
		b, err := BucketOf(id)
		if err != nil || m.Lookup(b) != want {
			t.Errorf("%s (%d): fragment %d, %v; want %d", id, b, m.Lookup(b), err, want)
		}
	}
	if m.Epoch() != 1 || !reflect.DeepEqual(m.Fragments(), []FragmentID{10, 11, 12}) {
		t.Errorf("epoch %d, fragments %v", m.Epoch(), m.Fragments())
	}
}

func TestNewMapCovers(t *testing.T) {
	r := func(lo, hi uint32, f FragmentID) Range { return Range{Interval{lo, hi}, f} }
	tests := []struct {
		ranges []Range
		err    string
	}{
		{[]Range{r(500, BucketCount, 2), r(0, 500, 1)}, ""},
		{nil, "bucket map: no fragment owns buckets [0,1048576)"},
		{[]Range{r(0, 500, 1)}, "bucket map: no fragment owns buckets [500,1048576)"},
		{[]Range{r(0, 500, 1), r(501, BucketCount, 2)}, "bucket map: no fragment owns buckets 500"},
		{[]Range{r(0, 500, 1), r(400, BucketCount, 2)}, "bucket map: two fragments own buckets [400,500)"},
		{[]Range{r(0, BucketCount+1, 1)}, "bucket map: range 0 to 1048577 is empty or outside the space"},
		{[]Range{r(0, BucketCount, 1), r(5, 5, 1)}, "bucket map: range 5 to 5 is empty or outside the space"},
	}
	for _, tt := range tests {
		_, err := NewMap(1, tt.ranges)
		if got := errText(err); got != tt.err {
			t.Errorf("%v: %q, want %q", tt.ranges, got, tt.err)
		}
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestMapSplit(t *testing.T) {
	m := NewInitialMap([]FragmentID{10, 11, 12})
	got := m.Split(NewBucketSet(Interval{349000, 350000}, Interval{5, 6}, Interval{1048000, 1048576}))
	want := []Share{
		{10, NewBucketSet(Interval{5, 6}, Interval{349000, 349525})},
		{11, NewBucketSet(Interval{349525, 350000})},
		{12, NewBucketSet(Interval{1048000, 1048576})},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if s := m.Split(BucketSet{}); len(s) != 0 {
		t.Errorf("empty set: %v", s)
	}
	for _, s := range m.Split(AllBuckets()) {
		if !s.Buckets.Equal(m.Owned(s.Fragment)) {
			t.Errorf("fragment %d: %v", s.Fragment, s.Buckets)
		}
	}
}

func TestMapReassign(t *testing.T) {
	m := NewInitialMap([]FragmentID{10, 11, 12})
	edge, err := m.Reassign(Interval{349000, 349525}, 11)
	if err != nil || edge.Epoch() != 2 || len(edge.Ranges()) != 3 ||
		edge.Ranges()[1].Interval != (Interval{349000, 699050}) {
		t.Fatalf("%v, %v", edge, err)
	}
	middle, err := edge.Reassign(Interval{500000, 500001}, 10)
	if err != nil || len(middle.Ranges()) != 5 || middle.Lookup(500000) != 10 || middle.Lookup(500001) != 11 {
		t.Fatalf("%v, %v", middle, err)
	}
	whole, err := middle.Reassign(WholeSpace(), 12)
	if err != nil || len(whole.Ranges()) != 1 || whole.Epoch() != 4 {
		t.Fatalf("%v, %v", whole, err)
	}
	if m.Lookup(349000) != 10 {
		t.Error("the old map has changed")
	}
	if _, err := m.Reassign(Interval{7, 7}, 10); err == nil {
		t.Error("empty range accepted")
	}
}

// TestBucketSetAlgebra compares sets with a plain bitmap over a small part of the space.
func TestBucketSetAlgebra(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const span = 40
	draw := func() (BucketSet, [span]bool) {
		var ivs []Interval
		var bits [span]bool
		for range rng.IntN(5) {
			v := Interval{rng.Uint32N(span), rng.Uint32N(span)}
			ivs = append(ivs, v)
			for b := v.Lo; b < v.Hi; b++ {
				bits[b] = true
			}
		}
		return NewBucketSet(ivs...), bits
	}
	for range 2000 {
		s, a := draw()
		u, b := draw()
		union, both, not, n := s.Union(u), s.Intersect(u), s.Complement(), 0
		for i := range span {
			k := Bucket(i)
			if s.Contains(k) != a[i] || union.Contains(k) != (a[i] || b[i]) || both.Contains(k) != (a[i] && b[i]) ||
				not.Contains(k) == a[i] {
				t.Fatalf("bucket %d: %v and %v: ∪ %v ∩ %v ¬ %v", i, s, u, union, both, not)
			}
			if a[i] {
				n++
			}
		}
		if s.Len() != n || !s.Complement().Complement().Equal(s) || not.Len() != BucketCount-n {
			t.Fatalf("%v: %d buckets", s, s.Len())
		}
	}
}

func TestBucketSetPrint(t *testing.T) {
	s := BucketSetOf(5, 3, 4, 9)
	if s.String() != "[3,6), 9" || s.IsAll() || s.IsEmpty() || !AllBuckets().IsAll() || !(BucketSet{}).IsEmpty() {
		t.Errorf("%v", s)
	}
}

func BenchmarkLookup(b *testing.B) {
	m := NewInitialMap(make([]FragmentID, 1000))
	for b.Loop() {
		m.Lookup(982173)
	}
}

func TestMapCutJoin(t *testing.T) {
	m := NewInitialMap([]FragmentID{10, 11})
	cut, err := m.Cut(5)
	if err != nil || cut.Epoch() != 2 || len(cut.Ranges()) != 3 ||
		cut.Ranges()[1].Interval != (Interval{5, BucketCount / 2}) || cut.Lookup(5) != 10 {
		t.Fatalf("%v, %v", cut, err)
	}
	for _, at := range []uint32{0, 5, BucketCount / 2, BucketCount} {
		if _, err := cut.Cut(at); err == nil {
			t.Errorf("cut at %d", at)
		}
	}
	for _, at := range []uint32{0, 4, BucketCount / 2, BucketCount} {
		if _, err := cut.Join(at); err == nil {
			t.Errorf("joined at %d", at)
		}
	}
	if joined, err := cut.Join(5); err != nil || joined.Epoch() != 3 || len(joined.Ranges()) != 2 {
		t.Errorf("%v, %v", joined, err)
	}
}
