package ownership

import (
	"bytes"
	"math/rand"
	"testing"

	"github.com/sherddb/sherd/storage/codec"
	"github.com/sherddb/sherd/txn"
)

// apply runs a step by name.
func apply(m *Machine, what string, move uint64, stamp txn.Timestamp, ranges ...BucketRange) ([]Piece, Outcome) {
	s := m.Step(Owned, move, stamp, ranges)
	switch what {
	case "fence":
		return nil, s.Fence()
	case "unfence":
		return nil, s.Unfence()
	case "own":
		return nil, s.Own(stamp - 1)
	case "move away":
		return nil, s.MoveAway()
	case "clean":
		return s.Clean()
	case "begin":
		return s.BeginIngest(0)
	case "abandon":
		return s.Abandon()
	}
	panic(what)
}

// TestSteps: what each step makes of each state, in the order in which a driver takes them and in
// others.
func TestSteps(t *testing.T) {
	whole, part, wider := BucketRange{Lo: 10, Hi: 20}, BucketRange{Lo: 12, Hi: 14}, BucketRange{Lo: 5, Hi: 15}
	type step struct {
		what  string
		move  uint64
		r     BucketRange
		out   Outcome
		left  string // pieces whose rows are to be deleted
		after string
	}
	for name, steps := range map[string][]step{
		"source": {
			{"fence", 3, whole, Changed, "", "10-20 fenced m3 a0 F1 s0 e0"},
			{"fence", 3, whole, Repeat, "", "10-20 fenced m3 a0 F1 s0 e0"},
			{"fence", 4, part, Void, "", "10-20 fenced m3 a0 F1 s0 e0"},
			{"fence", 4, wider, Void, "", "10-20 fenced m3 a0 F1 s0 e0"},
			{"clean", 3, whole, Void, "", "10-20 fenced m3 a0 F1 s0 e0"},
			{"move away", 2, whole, Void, "", "10-20 fenced m3 a0 F1 s0 e0"},
			{"move away", 3, whole, Changed, "", "10-20 gone m3 a0 F1 s0 e7"},
			{"move away", 3, whole, Repeat, "", "10-20 gone m3 a0 F1 s0 e7"},
			{"unfence", 3, whole, Void, "", "10-20 gone m3 a0 F1 s0 e7"},
			{"clean", 3, whole, Changed, "10-20 gone m3 a0 F1 s0 e7", "10-20 gone m3 a0 F1 s0 e7"},
			{"clean", 3, whole, Changed, "", "10-20 gone m3 a0 F1 s0 e7"},
			{"begin", 2, part, Void, "", "10-20 gone m3 a0 F1 s0 e7"},
		},
		"source, undone": {
			{"unfence", 3, whole, Changed, "", "10-20 owned m3 a0 F0 s0 e0"}, // before the fence
			{"fence", 3, whole, Void, "", "10-20 owned m3 a0 F0 s0 e0"},
			{"fence", 4, part, Changed, "",
				"10-12 owned m3 a0 F0 s0 e0; 12-14 fenced m4 a0 F3 s0 e0; 14-20 owned m3 a0 F0 s0 e0"},
			{"unfence", 4, part, Changed, "",
				"10-12 owned m3 a0 F0 s0 e0; 12-14 owned m4 a0 F0 s0 e0; 14-20 owned m3 a0 F0 s0 e0"},
		},
		"target": {
			{"own", 3, whole, Void, "", ""},
			{"begin", 3, whole, Changed, "", "10-20 receiving m3 a1 F0 s0 e0"},
			{"begin", 3, whole, Repeat, "", "10-20 receiving m3 a1 F0 s0 e0"},
			{"fence", 4, whole, Void, "", "10-20 receiving m3 a1 F0 s0 e0"},
			{"own", 4, whole, Void, "", "10-20 receiving m3 a1 F0 s0 e0"},
			{"own", 3, whole, Changed, "", "10-20 owned m3 a1 F0 s5 e6"},
			{"own", 3, whole, Repeat, "", "10-20 owned m3 a1 F0 s5 e6"},
			{"abandon", 3, whole, Void, "", "10-20 owned m3 a1 F0 s5 e6"},
			{"begin", 4, whole, Void, "", "10-20 owned m3 a1 F0 s5 e6"},
		},
		"target, undone": {
			{"begin", 3, whole, Changed, "", "10-20 receiving m3 a1 F0 s0 e0"},
			{"abandon", 3, whole, Changed, "10-20 receiving m3 a1 F0 s0 e0", "10-20 gone m3 a1 F0 s0 e0"},
			{"abandon", 3, whole, Changed, "", "10-20 gone m3 a1 F0 s0 e0"},
			{"begin", 3, whole, Void, "", "10-20 gone m3 a1 F0 s0 e0"},
			{"begin", 4, whole, Changed, "", "10-20 receiving m4 a2 F0 s0 e0"},
			{"begin", 5, whole, Changed, "10-20 receiving m4 a2 F0 s0 e0", "10-20 receiving m5 a3 F0 s0 e0"},
		},
		"target, barred before it began": {
			{"abandon", 3, whole, Changed, "", "10-20 gone m3 a0 F0 s0 e0"},
			{"begin", 3, whole, Void, "", "10-20 gone m3 a0 F0 s0 e0"},
		},
	} {
		var m Machine
		for i, s := range steps {
			before := m
			left, out := apply(&m, s.what, s.move, txn.Timestamp(i+1), s.r)
			if got := listed(m.List); out != s.out || got != s.after || listed(left) != s.left {
				t.Errorf("%s: %s of move %d: outcome %d, left %q, list %q", name, s.what, s.move, out, listed(left),
					got)
			}
			if out != Changed && (m.Generations != before.Generations || listed(m.List) != listed(before.List)) {
				t.Errorf("%s: %s of move %d has changed something", name, s.what, s.move)
			}
		}
	}
}

// TestRandomSteps: whatever comes in whatever order, the list is in order, nothing that a reader
// holds changes, numbers of moves and generations only rise (OW2, OW3), a step counts for all of
// its ranges or for none (OW1), and a checkpoint has all of it.
func TestRandomSteps(t *testing.T) {
	steps := []string{"fence", "unfence", "own", "move away", "clean", "begin", "abandon"}
	effects := map[string]int{}
	for seed := range int64(200) {
		rnd := rand.New(rand.NewSource(seed))
		var m Machine
		for stamp := txn.Timestamp(1); stamp < 100; stamp++ {
			lo := uint32(rnd.Intn(6))
			ranges := []BucketRange{{Lo: lo, Hi: lo + 1 + uint32(rnd.Intn(3))}}
			if rnd.Intn(3) == 0 {
				ranges = append(ranges, BucketRange{Lo: 10, Hi: 11 + uint32(rnd.Intn(3))})
			}
			move := uint64(1 + rnd.Intn(4) + int(stamp)/15)
			before, held := Map{Owned, m.List}, listed(m.List)
			what := steps[rnd.Intn(len(steps))]
			if _, out := apply(&m, what, move, stamp, ranges...); out == Changed {
				effects[what]++
			}
			if listed(before.List) != held {
				t.Fatalf("seed %d: %s has changed a list that readers share", seed, what)
			}
			compareMaps(t, &before, &Map{Owned, m.List}, ranges, move)
			b := m.Append(nil)
			r := codec.Reader{B: b}
			if read := ReadMachine(&r); r.End() != nil || !bytes.Equal(read.Append(nil), b) {
				t.Fatalf("seed %d: a checkpoint of %s has %s", seed, listed(m.List), listed(read.List))
			}
		}
	}
	for _, what := range steps {
		if effects[what] < 20 {
			t.Errorf("%s had an effect %d times", what, effects[what])
		}
	}
}

func compareMaps(t *testing.T, before, after *Map, ranges []BucketRange, move uint64) {
	t.Helper()
	at := uint32(0)
	for _, p := range after.List {
		if p.Empty() || p.Lo < at {
			t.Fatalf("the list is not in order: %s", listed(after.List))
		}
		at = p.Hi
	}
	changed, same := 0, 0
	for bucket := range uint32(20) {
		x, y := before.Find(bucket), after.Find(bucket)
		x.BucketRange, y.BucketRange = BucketRange{}, BucketRange{}
		in := false
		for _, r := range ranges {
			in = in || bucket >= r.Lo && bucket < r.Hi
		}
		switch {
		case !in && x != y:
			t.Fatalf("bucket %d is none of the step's", bucket)
		case y.Move < x.Move || y.Generation < x.Generation:
			t.Fatalf("bucket %d was at move %d, generation %d, and is at %d, %d", bucket, x.Move, x.Generation, y.Move,
				y.Generation)
		case y.State == Receiving && x.State != Receiving && y.Generation <= x.Generation:
			t.Fatalf("bucket %d is received at generation %d again", bucket, x.Generation)
		case in && y.Move == move:
			changed++
		case in:
			same++
		}
		if in && x != y && y.Move != move {
			t.Fatalf("bucket %d was changed, and does not have the number of the move", bucket)
		}
	}
	if changed > 0 && same > 0 && listed(before.List) != listed(after.List) {
		t.Fatalf("the step counts for a part of its ranges: %s, then %s", listed(before.List), listed(after.List))
	}
}

// TestVerdicts: what may be read and written in each state.
func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		state         State
		write         Verdict
		below, at, up Verdict // reads at 4 (Since is 5), at F (10), above
	}{
		{NotOwned, Elsewhere, Elsewhere, Elsewhere, Elsewhere},
		{Owned, Here, TooOld, Here, Here},
		{Fenced, Wait, TooOld, Here, Wait},
		{Receiving, Wait, Wait, Wait, Wait},
		{Gone, Elsewhere, TooOld, Here, Elsewhere},
	} {
		p := owned(0, 10, c.state, 1, 1, 10, 5, 0)
		if w, b, a, u := p.Write(), p.Read(4), p.Read(10), p.Read(11); w != c.write || b != c.below || a != c.at ||
			u != c.up {
			t.Errorf("%s: %d, %d, %d, %d", c.state, w, b, a, u)
		}
	}
	now := Map{Owned, List{owned(10, 20, Owned, 3, 2, 0, 0, 0), owned(20, 30, Fenced, 4, 1, 5, 0, 0),
		owned(30, 40, Gone, 5, 1, 5, 0, 0)}}
	for _, c := range []struct {
		bucket, generation uint32
		want               Verdict
	}{{5, 0, Here}, {12, 2, Here}, {12, 1, Elsewhere}, {22, 1, Wait}, {22, 0, Elsewhere}, {32, 1, Elsewhere}} {
		if got := now.Holds(c.bucket, c.generation); got != c.want {
			t.Errorf("bucket %d at generation %d: %d", c.bucket, c.generation, got)
		}
	}
	then := Map{Owned, List{owned(10, 20, Owned, 3, 2, 0, 0, 0), owned(20, 30, Owned, 3, 1, 0, 0, 0),
		owned(30, 40, Owned, 3, 1, 0, 0, 0)}}
	had := func(p *Piece) bool { return p.State == Owned }
	for r, want := range map[BucketRange]Verdict{{Lo: 0, Hi: 20}: Here, {Lo: 0, Hi: 25}: Wait,
		{Lo: 15, Hi: 35}: Elsewhere} {
		if got := now.Unmoved(&then, r, had); got != want {
			t.Errorf("buckets %s: %d", r, got)
		}
	}
}
