package txn

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
)

// nodes are the detectors of several nodes, numbered from 1, asked as if over the network.
type nodes struct {
	detectors []*Detector
	between   func() // called between two questions
}

func newNodes(n int) *nodes {
	out := &nodes{}
	for range n {
		out.detectors = append(out.detectors, NewDetector())
	}
	return out
}

func (n *nodes) ask(owners []LockOwner) []Edge {
	if n.between != nil {
		n.between()
	}
	var out []Edge
	for i, d := range n.detectors {
		for _, w := range d.WaitsOf(owners) {
			out = append(out, Edge{uint32(i + 1), w})
		}
	}
	return out
}

func (n *nodes) own(node int) []Edge {
	var out []Edge
	for _, w := range n.detectors[node-1].Lasting(time.Now().Add(time.Hour)) {
		out = append(out, Edge{uint32(node), w})
	}
	return out
}

// block notes a wait at a node; ended tells whether it was ended.
func (n *nodes) block(t *testing.T, node int, waiter LockOwner, blockers ...LockOwner) (w *Wait, ended *error) {
	t.Helper()
	ended = new(error)
	d := n.detectors[node-1]
	w = &Wait{Waiter: waiter, Lock: "ShareLock", Fragment: FragmentID(node)}
	w.End = func(err error) {
		d.Done(w)
		*ended = err
	}
	if err := d.Block(w, blockers...); err != nil {
		t.Fatal(err)
	}
	return w, ended
}

// numbered makes a lock owner whose id is as large as its number.
func numbered(n byte) LockOwner { return LockOwner{ID: ID{n, 15: n}, Session: uint32(n)} }

// TestCycleOverNodes: all nodes find a cycle, and choose the same victim, whose error says who
// waits for whom.
func TestCycleOverNodes(t *testing.T) {
	n := newNodes(3)
	a, b, c := numbered(1), numbered(2), numbered(3)
	n.block(t, 1, a, b)
	_, ended := n.block(t, 2, b, numbered(9), a)
	n.block(t, 3, c, a, b) // waits for it, and is not in it
	for node := 1; node <= 3; node++ {
		got := FindCycles(n.own(node), n.ask)
		if len(got) != 1 || len(got[0]) != 2 || got[0][0].Waiter != b || got[0][0].Node != 2 || got[0][1].Waiter != a {
			t.Fatalf("node %d: %+v", node, got)
		}
	}
	cycle := FindCycles(n.own(1), n.ask)[0]
	if !n.detectors[1].Break(cycle[0].Number, cycle[0].Waiter, cycle.Err()) {
		t.Fatal("the wait was not ended")
	}
	var e *DeadlockError
	if !errors.As(*ended, &e) || pgerr.From(*ended).Code != pgerr.DeadlockDetected || len(e.Waits) != 2 ||
		!strings.Contains(e.Err.Detail, "Process 2 waits for ShareLock on transaction") ||
		!strings.Contains(e.Err.Detail, "blocked by process 2.") {
		t.Fatalf("%v: %+v", *ended, e)
	}
	if n.detectors[1].Break(cycle[0].Number, cycle[0].Waiter, cycle.Err()) {
		t.Error("a wait ended twice")
	}
	if got := FindCycles(n.own(1), n.ask); len(got) != 0 {
		t.Fatalf("afterwards: %+v", got)
	}
}

// TestCycleOfSession: who holds a lock for the session is found by what the session waits for.
func TestCycleOfSession(t *testing.T) {
	n := newNodes(2)
	a, b := numbered(1), numbered(2)
	n.block(t, 1, a, LockOwner{Session: b.Session})
	n.block(t, 2, b, a)
	if got := FindCycles(n.own(1), n.ask); len(got) != 1 || got[0][0].Waiter != b {
		t.Fatalf("%+v", got)
	}
}

// TestCycleThatNeverWas: a wait that ended, or began again, between two answers makes no cycle.
func TestCycleThatNeverWas(t *testing.T) {
	for _, anew := range []bool{false, true} {
		n := newNodes(2)
		a, b := numbered(1), numbered(2)
		first, _ := n.block(t, 1, a, b)
		asked := 0
		n.between = func() {
			switch asked++; asked {
			case 1: // a goes on, then b begins to wait for it
				n.detectors[0].Done(first)
				if anew {
					n.block(t, 1, a, numbered(7))
				}
				n.block(t, 2, b, a)
			}
		}
		if got := FindCycles(n.own(1), n.ask); len(got) != 0 {
			t.Errorf("%+v", got)
		}
	}
}

// TestCyclesAtRandom draws waits on several nodes. After each node has searched, no cycle is
// left, and a transaction was ended in each cycle and nowhere else.
func TestCyclesAtRandom(t *testing.T) {
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		n, ends := newNodes(2+rnd.IntN(3)), map[ID]*error{}
		waits := map[LockOwner][]LockOwner{}
		for i := range byte(4 + rnd.IntN(12)) {
			p := numbered(i + 1)
			var blockers []LockOwner
			for range 1 + rnd.IntN(2) {
				if q := numbered(byte(rnd.IntN(18) + 1)); q != p {
					blockers = append(blockers, q)
				}
			}
			node := 1 + rnd.IntN(len(n.detectors))
			d := n.detectors[node-1]
			end := new(error)
			w := &Wait{Waiter: p, Lock: "ShareLock"}
			w.End = func(err error) { d.Done(w); *end = err }
			if d.Block(w, blockers...) != nil {
				continue // a cycle within one node
			}
			waits[p], ends[p.ID] = blockers, end
		}
		before := map[LockOwner]bool{}
		for p := range waits {
			before[p] = reaches(waits, p, p, map[LockOwner]bool{})
		}
		for node := range n.detectors {
			for _, c := range FindCycles(n.own(node+1), n.ask) {
				n.detectors[c[0].Node-1].Break(c[0].Number, c[0].Waiter, c.Err())
			}
		}
		ended := 0
		for p := range waits {
			if *ends[p.ID] == nil {
				continue
			}
			ended++
			if !before[p] {
				t.Fatalf("seed %d: %d was in no cycle", seed, p.Session)
			}
		}
		for p := range waits {
			if *ends[p.ID] != nil {
				delete(waits, p)
			}
		}
		for p := range waits {
			if reaches(waits, p, p, map[LockOwner]bool{}) {
				t.Fatalf("seed %d: %d is still in a cycle", seed, p.Session)
			}
		}
		if some := slices.ContainsFunc(slices.Collect(maps.Keys(before)), func(p LockOwner) bool {
			return before[p]
		}); some != (ended > 0) {
			t.Fatalf("seed %d: %d ended", seed, ended)
		}
	}
}

// reaches tells whether from, by way of those it waits for, waits for to.
func reaches(waits map[LockOwner][]LockOwner, from, to LockOwner, been map[LockOwner]bool) bool {
	for _, p := range waits[from] {
		if p == to {
			return true
		}
		if !been[p] {
			been[p] = true
			if reaches(waits, p, to, been) {
				return true
			}
		}
	}
	return false
}

// TestLongQueue: a queue is a chain of waits, and takes few questions however long it is.
func TestLongQueue(t *testing.T) {
	n, questions := newNodes(2), 0
	n.between = func() { questions++ }
	before := numbered(1)
	for range 300 {
		p := LockOwner{ID: NewID()}
		n.block(t, 1, p, before)
		before = p
	}
	n.block(t, 2, LockOwner{ID: NewID()}, before)
	for node := 1; node <= 2; node++ {
		if got := FindCycles(n.own(node), n.ask); len(got) != 0 {
			t.Fatal(got)
		}
	}
	if questions > 6 {
		t.Errorf("%d questions", questions)
	}
}
