package counts

import (
	"fmt"
	"slices"
	"testing"

	"github.com/sherddb/sherd/storage/keyspace"
)

const table = 20000

// row returns the key of a row in a bucket.
func row(bucket uint32, name string) []byte {
	return append(keyspace.RowPrefix(table, bucket, 1), name...)
}

// apply applies the deltas of a write set that writes a row of n bytes.
func apply(t *testing.T, s *Sums, key []byte, n int) []byte {
	t.Helper()
	var d BucketDeltas
	d.Add(key, 1, len(key)+n)
	if err := s.Apply(d.Encode(true)); err != nil {
		t.Fatal(err)
	}
	return d.Encode(true)
}

// TestScan: a group above the limit is counted by bucket from the rows at one stamp and the deltas
// that come after it.
func TestScan(t *testing.T) {
	s := New()
	apply(t, s, row(8, "b"), 1000)
	if s.Wanted() {
		t.Error("a group is wanted that is not above the limit")
	}
	apply(t, s, row(7, "a"), ExactBytes)
	if !s.Wanted() || s.Progress() != (Progress{Waiting: 1}) {
		t.Fatalf("the group is not wanted: %+v", s.Progress())
	}
	groups := s.NextWanted()
	if !slices.Equal(groups, []uint32{0}) || s.Wanted() {
		t.Fatal(groups)
	}
	x := s.Begin(groups)
	if got := fmt.Sprint(s.Progress()); got != "{0 1 0}" {
		t.Error(got)
	}
	after := row(8, "after")
	apply(t, s, after, 500) // not seen by the scan
	late := row(9, "late")  // prepared before the stamp: seen, and applied after it
	deltas := apply(t, s, late, 200)
	for _, span := range x.Spans() {
		for _, r := range []struct {
			key []byte
			n   int
		}{{row(7, "a"), ExactBytes}, {row(8, "b"), 1000}, {late, 200}} {
			if !span.Contains(r.key) {
				t.Errorf("%x is not in %x", r.key, span)
			}
			x.Add(r.key, make([]byte, r.n))
		}
	}
	if err := x.TakeBack(deltas); err != nil {
		t.Fatal(err)
	}
	x.Finish()
	size := func(key []byte, n int) int64 { return int64(len(key) + n) }
	want := []Range{
		{table, 7, 8, 1, size(row(7, "a"), ExactBytes)},
		{table, 8, 256, 3, size(row(8, "b"), 1000) + size(after, 500) + size(late, 200)},
	}
	if got := s.ByTable(table); !slices.Equal(got, want) || s.Progress().Counted != 1 {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := s.Clone().ByGroup(); len(got) != 2 || got[1] != want[0] || got[0].Documents != 4 {
		t.Errorf("by group: %+v", got)
	}
}

// TestScanGivenUp: a scan that fails, or whose group has become void meanwhile, counts nothing, and
// the group waits again.
func TestScanGivenUp(t *testing.T) {
	s := New()
	apply(t, s, row(7, "a"), 2*ExactBytes)
	s.Begin(s.NextWanted()).GiveUp()
	if s.Progress() != (Progress{Waiting: 1}) || !s.Wanted() {
		t.Errorf("%+v", s.Progress())
	}
	x := s.Begin(s.NextWanted())
	var d Deltas // of a move: the buckets are not known
	d.Add(row(8, "moved"), 1, 100)
	if err := s.Apply(d.Encode()); err != nil {
		t.Fatal(err)
	}
	x.Add(row(7, "a"), make([]byte, 2*ExactBytes))
	if x.Finish(); s.Progress() != (Progress{Waiting: 1}) || !s.Wanted() {
		t.Errorf("%+v", s.Progress())
	}
}
