package shardmap

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// site reads "2", "2@a" (zone), and marks: s silent, d dead, g gives its replicas away, n holds
// none.
func site(id uint32, zone, marks string) Site {
	s := Site{ID: id, Zone: zone, Holds: true}
	for _, m := range marks {
		switch m {
		case 's':
			s.Silent = true
		case 'd':
			s.Silent, s.Dead = true, true
		case 'g':
			s.Drains = true
		case 'n':
			s.Holds = false
		}
	}
	return s
}

func sitesOf(n int, marks map[uint32]string) (out []Site) {
	for i := range uint32(n) {
		out = append(out, site(i+1, "", marks[i+1]))
	}
	return out
}

// Fragments that cannot have a leader keep nobody waiting.
func TestPlacementBesideALostFragment(t *testing.T) {
	sites := sitesOf(5, map[uint32]string{1: "dg", 2: "dg"})
	mended := ReplicaSet{Fragment: 3, Want: 3, Nodes: []uint32{3, 2, 4}}
	for _, begun := range []ReplicaSet{
		{Fragment: 1, Want: 1, Nodes: []uint32{1, 4}, Joining: []uint32{4}, Leaving: []uint32{1}},
		// half of its voters are no majority
		{Fragment: 1, Want: 2, Nodes: []uint32{1, 3, 4}, Joining: []uint32{4}, Leaving: []uint32{1}},
	} {
		next, ok := NextPlacement(sites, []ReplicaSet{begun, mended})
		if !ok || next.Fragment != 3 || fmt.Sprint(next.Joining, next.Leaving) != "[5] [2]" {
			t.Errorf("beside %v: %v %v", begun, next, ok)
		}
	}
}

func TestNextPlacement(t *testing.T) {
	set := func(want int, nodes ...uint32) ReplicaSet { return ReplicaSet{Fragment: 1, Want: want, Nodes: nodes} }
	for _, c := range []struct {
		name  string
		sites []Site
		set   ReplicaSet
		want  string // nodes joining leaving; empty: nothing to do
	}{
		{"as wanted", sitesOf(3, nil), set(3, 1, 2, 3), ""},
		{"one node", sitesOf(1, nil), set(3, 1), ""},
		{"a second node", sitesOf(2, nil), set(3, 1), "[1 2] [2] []"},
		{"a third", sitesOf(3, nil), set(3, 1, 2), "[1 2 3] [3] []"},
		{"a gateway holds none", sitesOf(3, map[uint32]string{2: "n"}), set(3, 1), "[1 3] [3] []"},
		{"a silent one is given none", sitesOf(3, map[uint32]string{2: "s"}), set(3, 1), "[1 3] [3] []"},
		{"silent for a moment", sitesOf(4, map[uint32]string{3: "s"}), set(3, 1, 2, 3), ""},
		{"dead, and another takes it", sitesOf(4, map[uint32]string{3: "d"}), set(3, 1, 2, 3), "[1 2 3 4] [4] [3]"},
		{"dead, and nobody can", sitesOf(3, map[uint32]string{3: "d"}), set(3, 1, 2, 3), ""},
		{"dead, and one too many", sitesOf(4, map[uint32]string{3: "d"}), set(3, 1, 2, 3, 4), "[1 2 3 4] [] [3]"},
		{"drained, and another takes it", sitesOf(4, map[uint32]string{1: "g"}), set(3, 1, 2, 3), "[1 2 3 4] [4] [1]"},
		{"drained, and nobody can", sitesOf(3, map[uint32]string{2: "g"}), set(3, 1, 2, 3), "[1 2 3] [] [2]"},
		{"dead and drained, and nobody can", sitesOf(3, map[uint32]string{3: "dg"}), set(3, 1, 2, 3), "[1 2 3] [] [3]"},
		{"the dead of two drained first", sitesOf(4, map[uint32]string{1: "g", 2: "dg", 4: "n"}), set(3, 1, 2, 3),
			"[1 2 3] [] [2]"},
		{"the last is dead and drained", sitesOf(3, map[uint32]string{1: "dg", 2: "n", 3: "n"}), set(1, 1), ""},
		{"the last is drained", sitesOf(1, map[uint32]string{1: "g"}), set(1, 1), ""},
		{"most are lost for good, and one is drained", sitesOf(3, map[uint32]string{1: "s", 2: "sg"}),
			set(3, 1, 2, 3), "[1 2 3] [] [2]"},
		{"most are lost for good and drained", sitesOf(3, map[uint32]string{1: "dg", 2: "dg"}), set(3, 1, 2, 3),
			"[1 2 3] [] [1]"},
		{"most are lost for good, and fewer are wanted", sitesOf(3, map[uint32]string{1: "sg", 2: "s"}),
			set(1, 3, 2), "[3 2] [] [2]"},
		{"too many, and one is silent", sitesOf(3, map[uint32]string{1: "s"}), set(2, 1, 2, 3), "[1 2 3] [] [1]"},
		{"removed", sitesOf(2, nil), set(3, 1, 2, 7), "[1 2 7] [] [7]"},
		{"too many", sitesOf(3, nil), set(2, 1, 2, 3), "[1 2 3] [] [3]"},
		{"joining on a node that died", sitesOf(3, map[uint32]string{3: "d"}),
			ReplicaSet{Want: 3, Nodes: []uint32{1, 2, 3}, Joining: []uint32{3}}, "[1 2] [] []"},
		{"on its way", sitesOf(3, nil), ReplicaSet{Want: 3, Nodes: []uint32{1, 2}, Joining: []uint32{2}}, ""},
		{"the leader is silent", sitesOf(3, map[uint32]string{1: "s"}), set(3, 1, 2, 3), "[2 1 3] [] []"},
		{"another zone", []Site{site(1, "a", ""), site(2, "a", ""), site(3, "b", "")}, set(2, 1, 2), "[1 2 3] [3] [1]"},
		{"zones first", []Site{site(1, "a", ""), site(2, "a", ""), site(3, "b", "")}, set(2, 1), "[1 3] [3] []"},
		{"zones, when all answer again", []Site{site(1, "a", ""), site(2, "a", "s"), site(3, "b", "")}, set(2, 1, 2),
			""},
		{"the dead one before the one that is well", sitesOf(5, map[uint32]string{1: "g", 3: "sg"}), set(3, 1, 2, 3),
			"[1 2 3 4] [4] [3]"},
		{"on some nodes only", sitesOf(4, nil), ReplicaSet{Want: 2, On: []uint32{3, 4}, Nodes: []uint32{3}},
			"[3 4] [4] []"},
		{"elsewhere than it may be", sitesOf(4, nil), ReplicaSet{Want: 1, On: []uint32{3}, Nodes: []uint32{1}},
			"[1 3] [3] [1]"},
		{"where it may be nobody can", sitesOf(4, map[uint32]string{3: "s"}),
			ReplicaSet{Want: 1, On: []uint32{3}, Nodes: []uint32{1}}, ""},
		{"joining where it may not", sitesOf(4, nil),
			ReplicaSet{Want: 2, On: []uint32{1, 3}, Nodes: []uint32{1, 2}, Joining: []uint32{2}}, "[1] [] []"},
		{"one too many that may not be", sitesOf(4, nil),
			ReplicaSet{Want: 2, On: []uint32{1, 3}, Nodes: []uint32{1, 2, 3}}, "[1 2 3] [] [2]"},
	} {
		got := ""
		if next, ok := NextPlacement(c.sites, []ReplicaSet{c.set}); ok {
			got = fmt.Sprint(next.Nodes, next.Joining, next.Leaving)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// Where a replica does not answer, none that is well is moved for good order.
func TestPlacementWhileSilent(t *testing.T) {
	var sets []ReplicaSet
	for f := range FragmentID(6) {
		sets = append(sets, ReplicaSet{Fragment: f, Want: 3, Nodes: []uint32{1 + uint32(f)%2, 2 - uint32(f)%2, 3}})
	}
	if next, ok := NextPlacement(sitesOf(4, map[uint32]string{3: "s"}), sets); ok {
		t.Errorf("while 3 is silent: %v %v %v", next.Nodes, next.Joining, next.Leaving)
	}
	if next, ok := NextPlacement(sitesOf(4, nil), sets); !ok || !slices.Contains(next.Joining, 4) {
		t.Errorf("when it is back: %v %v %v", next.Nodes, next.Joining, next.Leaving)
	}
}

// Replicas of dead nodes are replaced one at a time, others a few at a time.
func TestPlacementPace(t *testing.T) {
	sites := sitesOf(5, map[uint32]string{5: "d"})
	sets := []ReplicaSet{
		{Fragment: 1, Want: 3, Nodes: []uint32{1, 2, 5, 3}, Joining: []uint32{3}, Leaving: []uint32{5}},
		{Fragment: 2, Want: 3, Nodes: []uint32{2, 1, 5}},
	}
	if next, ok := NextPlacement(sites, sets); ok {
		t.Errorf("a second one at a time: %+v", next)
	}
	sets[1].Nodes = []uint32{2, 1}
	if next, ok := NextPlacement(sites, sets); !ok || next.Fragment != 2 {
		t.Errorf("what is missing waits for what is dead: %+v", next)
	}
}

// From any start, and whatever arrives meanwhile, it comes to rest: with as many replicas as there
// can be, evenly, leaders too.
func TestPlacementRests(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		n := 1 + rng.IntN(7)
		sites := sitesOf(n, nil)
		zones := rng.IntN(2) == 0
		for i := range sites {
			if zones {
				sites[i].Zone = fmt.Sprint(i % 3)
			}
		}
		var sets []ReplicaSet
		want := 1 + rng.IntN(4)
		for f := range 1 + rng.IntN(12) {
			sets = append(
				sets, ReplicaSet{Fragment: FragmentID(f + 1), Want: want, Nodes: FirstPlacement(sites, sets, 1, nil)},
			)
		}
		settle(t, seed, rng, sites, sets, 0)
		if n > want { // one dies, and is replaced
			sites[rng.IntN(n)].Dead = true
			settle(t, seed, rng, sites, sets, 1)
		}
	}
}

func settle(t *testing.T, seed uint64, rng *rand.Rand, sites []Site, sets []ReplicaSet, dead int) {
	t.Helper()
	for step := 0; ; step++ {
		if step > 1000 {
			t.Fatalf("seed %d: it does not come to rest: %+v", seed, sets)
		}
		next, ok := NextPlacement(sites, sets)
		moving := slices.IndexFunc(sets, func(s ReplicaSet) bool { return len(s.Joining)+len(s.Leaving) > 0 })
		switch {
		case ok && (moving < 0 || rng.IntN(2) == 0):
			for i := range sets {
				if sets[i].Fragment == next.Fragment {
					sets[i] = next
				}
			}
		case moving >= 0: // it arrives
			s := &sets[moving]
			s.Nodes, s.Joining, s.Leaving = s.staying(), nil, nil
		default:
			check(t, seed, sites, sets, dead)
			return
		}
	}
}

func check(t *testing.T, seed uint64, sites []Site, sets []ReplicaSet, dead int) {
	t.Helper()
	replicas, leaders := map[uint32]int{}, map[uint32]int{}
	zoned := sites[0].Zone != ""
	for _, s := range sets {
		if len(s.Nodes) != min(s.Want, len(sites)-dead) {
			t.Fatalf("seed %d: fragment %d has %v, of %d wanted", seed, s.Fragment, s.Nodes, s.Want)
		}
		leaders[s.Nodes[0]]++
		for _, n := range s.Nodes {
			replicas[n]++
		}
	}
	least, most := len(sets), 0
	for _, s := range sites {
		if s.Dead {
			if replicas[s.ID] > 0 {
				t.Fatalf("seed %d: node %d is dead and has replicas", seed, s.ID)
			}
			continue
		}
		least, most = min(least, replicas[s.ID]), max(most, replicas[s.ID])
	}
	if !zoned && most-least > 1 {
		t.Fatalf("seed %d: replicas are uneven: %v", seed, replicas)
	}
	for _, s := range sets { // no leader would be better placed on another of its fragment's nodes
		for _, n := range s.Nodes {
			if leaders[s.Nodes[0]]-leaders[n] > 1 {
				t.Fatalf("seed %d: leaders are uneven: %v, fragment %v", seed, leaders, s.Nodes)
			}
		}
	}
}
