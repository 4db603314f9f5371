package ownership

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/txn"
)

func owned(lo, hi uint32, s State, move uint64, generation uint32, F, since, edge txn.Timestamp) Piece {
	return Piece{Range: Range{BucketRange: BucketRange{Lo: lo, Hi: hi}, State: s, Move: move, F: F, Generation: generation,
		Since: since}, Edge: edge}
}

func listed(list List) string {
	var b strings.Builder
	for _, p := range list {
		fmt.Fprintf(&b, "%d-%d %s m%d a%d F%d s%d e%d; ", p.Lo, p.Hi, p.State, p.Move, p.Generation, p.F, p.Since, p.Edge)
	}
	return strings.TrimSuffix(b.String(), "; ")
}

func TestUnlistedBuckets(t *testing.T) {
	span := BucketRange{Lo: shardmap.BucketCount - 2, Hi: shardmap.BucketCount + 3}
	moved := Piece{Range: Range{BucketRange: BucketRange{Lo: shardmap.BucketCount + 1, Hi: shardmap.BucketCount + 2},
		State: Gone, Move: 3}}
	got := (&Map{NotOwned, List{moved}}).Pieces(span)
	want := List{
		{Range: Range{BucketRange: BucketRange{Lo: shardmap.BucketCount - 2, Hi: shardmap.BucketCount},
			State: NotOwned}},
		{Range: Range{BucketRange: BucketRange{Lo: shardmap.BucketCount, Hi: shardmap.BucketCount + 1}, State: Owned}},
		moved,
		{Range: Range{BucketRange: BucketRange{Lo: shardmap.BucketCount + 2, Hi: shardmap.BucketCount + 3},
			State: Owned}},
	}
	if len(got) != len(want) {
		t.Fatalf("pieces %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("piece %d is %v, want %v", i, got[i], want[i])
		}
	}
	o := &Map{First: NotOwned}
	if s := o.Find(shardmap.BucketCount).State; s != Owned {
		t.Errorf("an assigned bucket of which nothing is said is %v", s)
	}
	if s := o.Find(0).State; s != NotOwned {
		t.Errorf("a bucket that keys are hashed to is %v where nothing is said", s)
	}
}

func TestTidied(t *testing.T) {
	left := owned(10, 20, Gone, 4, 2, 5, 0, 6)
	left.Left = true
	for _, x := range []struct {
		name string
		list List
		want string
	}{
		{"owned, of one generation", List{owned(0, 10, Owned, 3, 1, 0, 4, 7), owned(10, 20, Owned, 9, 1, 0, 2, 8)},
			"0-20 owned m9 a1 F0 s0 e0"},
		{"owned, of several", List{owned(0, 10, Owned, 3, 1, 0, 4, 7), owned(10, 20, Owned, 9, 2, 0, 2, 8)},
			"0-10 owned m3 a1 F0 s0 e0; 10-20 owned m9 a2 F0 s0 e0"},
		{"gone", List{owned(0, 10, Gone, 8, 1, 5, 4, 7), owned(10, 20, Gone, 4, 2, 9, 2, 9)},
			"0-20 gone m8 a2 F0 s0 e0"},
		{"apart", List{owned(0, 10, Gone, 3, 1, 5, 4, 7), owned(11, 20, Gone, 4, 2, 9, 2, 9)},
			"0-10 gone m3 a1 F0 s0 e0; 11-20 gone m4 a2 F0 s0 e0"},
		{"still read", List{owned(0, 10, Gone, 3, 1, 10, 4, 11), owned(10, 20, Gone, 4, 2, 5, 2, 6)},
			"0-10 gone m3 a1 F10 s0 e11; 10-20 gone m4 a2 F0 s0 e0"},
		{"refuses older reads", List{owned(0, 10, Owned, 3, 1, 0, 11, 7), owned(10, 20, Owned, 4, 1, 0, 2, 6)},
			"0-10 owned m3 a1 F0 s11 e0; 10-20 owned m4 a1 F0 s0 e0"},
		{"not cleaned", List{owned(0, 10, Gone, 3, 1, 5, 0, 6), left},
			"0-10 gone m3 a1 F0 s0 e0; 10-20 gone m4 a2 F5 s0 e6"},
		{"under way", List{owned(0, 10, Fenced, 3, 1, 5, 0, 6), owned(10, 20, Fenced, 3, 1, 5, 0, 6),
			owned(20, 30, Receiving, 3, 1, 0, 0, 0), owned(30, 40, Receiving, 4, 1, 0, 0, 0)},
			"0-10 fenced m3 a1 F5 s0 e6; 10-20 fenced m3 a1 F5 s0 e6; 20-30 receiving m3 a1 F0 s0 e0; 30-40 " +
				"receiving m4 a1 F0 s0 e0"},
	} {
		if got := listed(x.list.Tidied(10)); got != x.want {
			t.Errorf("%s:\n%s\nwant\n%s", x.name, got, x.want)
		}
	}
}
