package counts

import (
	"maps"
	"testing"

	"github.com/sherddb/sherd/storage/keyspace"
)

// TestWritten checks that rows are counted by table and term, with those whose size stays the same.
func TestWritten(t *testing.T) {
	set := func(tables ...uint32) *BucketDeltas {
		d := &BucketDeltas{}
		for i, table := range tables {
			d.Add(keyspace.RowPrefix(table, uint32(i), 1), i%2, 0)
		}
		return d
	}
	var w Written
	w.Add(3, &BucketDeltas{})
	if got := w.In(3, 0); got != nil {
		t.Errorf("nothing was written: %v", got)
	}
	w.Add(3, set(20000, 20000, 20001, 20000))
	w.Add(3, set(20001))
	w.Add(2, set(20001)) // of a transaction whose term is over
	if got, want := w.In(3, 0), map[uint32]int64{20000: 3, 20001: 2}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, want := w.In(3, 20001), map[uint32]int64{20001: 2}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := w.In(4, 0); got != nil {
		t.Errorf("before the first row of a term: %v", got)
	}
	w.Add(4, set(20001))
	if got, want := w.In(4, 0), map[uint32]int64{20001: 1}; !maps.Equal(got, want) {
		t.Errorf("in the next term: got %v, want %v", got, want)
	}
}
