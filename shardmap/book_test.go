package shardmap

import (
	"fmt"
	"testing"
)

// The numbers of *Designing Data-Intensive Applications*, chapter 7.

// Ten nodes and 1,000 fragments from the outset: 100 on each. An eleventh node takes its share from
// the ten and nothing else moves; when it goes, the same happens in reverse.
func TestThousandFragmentsOnTenNodes(t *testing.T) {
	sites := make([]Site, 10)
	for i := range sites {
		sites[i] = Site{ID: uint32(i + 1), Holds: true}
	}
	var sets []ReplicaSet
	for i := range 1000 {
		// FirstPlacement counts; the counts of a thousand are the same as those of its round robin.
		sets = append(sets, ReplicaSet{Fragment: FragmentID(i + 1), Want: 1, Nodes: []uint32{uint32(i%10 + 1)}})
	}
	if n := FirstPlacement(sites, sets[:57], 1, nil); n[0] != 8 {
		t.Errorf("the 58th fragment goes to node %d", n[0])
	}
	moved := place(t, append(sites, Site{ID: 11, Holds: true}), sets)
	if moved != 90 {
		t.Errorf("a new node takes %d of 1,000 fragments, want 90", moved)
	}
	gone := append(sites, Site{ID: 11, Holds: true, Drains: true})
	if moved := place(t, gone, sets); moved != 90 {
		t.Errorf("the node gives back %d", moved)
	}
	held := map[uint32]int{}
	for _, s := range sets {
		held[s.Nodes[0]]++
	}
	for n, k := range held {
		if k != 100 {
			t.Errorf("node %d has %d fragments", n, k)
		}
	}
}

// place carries placement out until there is nothing to do, and counts the replicas that moved.
func place(t *testing.T, sites []Site, sets []ReplicaSet) (moved int) {
	t.Helper()
	for range 2000 {
		next, ok := NextPlacement(sites, sets)
		if !ok {
			return moved
		}
		s := &sets[next.Fragment-1]
		*s = next
		moved += len(s.Joining)
		s.Joining, s.Leaving = nil, nil
		s.Nodes = next.staying()
	}
	t.Fatal("no end")
	return 0
}

// A 16-bit hash space of four: 0 to 16,383 is the first, and so on; here the ranges of buckets have
// the same proportions.
func TestRangesOfHashes(t *testing.T) {
	for i, v := range InitialRanges(4) {
		scaled := Interval{v.Lo / 16, v.Hi / 16}
		if want := (Interval{uint32(i) * 16384, uint32(i+1) * 16384}); scaled != want {
			t.Errorf("range %d is %v of 65,536, want %v", i, scaled, want)
		}
	}
}

// From three to four by hash mod n three quarters of the keys move; by ranges a quarter has to.
func TestHashModNMovesMore(t *testing.T) {
	const keys = 12000
	byMod := 0
	for k := range keys {
		b, err := BucketOf(fmt.Sprintf("orders/%d-A", k))
		if err != nil {
			t.Fatal(err)
		}
		if b%3 != b%4 {
			byMod++
		}
	}
	if share := float64(byMod) / keys; share < 0.7 || share > 0.8 {
		t.Errorf("by hash mod n %.2f of the keys move", share)
	}
}
