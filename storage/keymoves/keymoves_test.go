package keymoves

import (
	"fmt"
	"testing"

	"github.com/sherddb/sherd/txn"
)

func notesOf(from, n int) (out Notes) {
	for i := range n {
		out.Add(fmt.Append(nil, "row ", from+i))
	}
	return out
}

// TestRecent: keys that were left are reported, others are not, and the answer about keys that are
// not known any more is "perhaps".
func TestRecent(t *testing.T) {
	var k Recent
	want := func(row int, version txn.Timestamp, want bool) {
		t.Helper()
		if got := k.Perhaps(fmt.Append(nil, "row ", row), version); got != want {
			t.Errorf("row %d, deleted at %d: %v, want %v", row, version, got, want)
		}
	}
	want(1, 5, false)
	k.Unknown(10)
	want(1, 10, true) // of another term
	want(1, 11, false)
	k.Add(notesOf(1, 1), 20)
	want(1, 20, true)
	want(2, 20, false)
	k.Add(notesOf(100, maxKeys-1), 30)
	want(1, 20, true)
	k.Add(notesOf(1_000_000, 2), 40) // begins a new half
	want(1, 20, true)
	want(2, 20, true) // older than the half that is left, so it is not known
	want(2, 50, false)
	k.Add(notesOf(2_000_000, maxKeys-1), 60)
	want(1, 20, true)
	want(2, 41, false)
	k.Add(notesOf(3_000_000, maxKeys+1), 70) // too many at once
	want(2, 70, true)
	want(2, 71, false)
}
