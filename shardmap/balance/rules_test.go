package balance

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sherddb/sherd/shardmap"
)

const gib = 1024 * mib

// database makes the input of fragments of the given sizes, in MiB, that are spread over the
// initial ranges in cells of 1/64 of each.
func database(sizes ...int64) Input {
	in := Input{Mode: Advise}
	var ids []shardmap.FragmentID
	for i := range sizes {
		id := shardmap.FragmentID(i + 1)
		ids = append(ids, id)
		in.Fragments = append(
			in.Fragments, Fragment{ID: id, Name: fmt.Sprintf("db$%d", i), Nodes: []uint32{uint32(i + 1)}},
		)
		in.Nodes = append(in.Nodes, Node{ID: uint32(i + 1)})
	}
	in.Map = shardmap.NewInitialMap(ids)
	for i, v := range shardmap.InitialRanges(len(sizes)) {
		for k := uint32(0); k < 64; k++ {
			n := uint32(v.Len())
			in.Cells = append(
				in.Cells,
				Cell{
					Interval: shardmap.Interval{Lo: v.Lo + n*k/64, Hi: v.Lo + n*(k+1)/64}, Bytes: sizes[i] * mib / 64,
					Documents: sizes[i],
				},
			)
		}
	}
	return in
}

// text prints the moves of a plan as "from>to".
func text(p Plan) string {
	var out []string
	for _, s := range p.Steps {
		out = append(out, fmt.Sprintf("%d>%d", s.From, s.To))
	}
	return strings.Join(out, " ")
}

// A round begins by 64 MiB and 5 %, or more than 1 GiB.
func TestThresholds(t *testing.T) {
	for _, c := range []struct {
		a, b int64
		acts bool
	}{
		{100, 37, false}, {100, 36, true}, {64, 0, true}, {63, 0, false},
		{2000, 1930, false}, {2000, 1900, false}, {2000, 1899, true},
		{40 * 1024, 39 * 1024, false}, {40 * 1024, 39*1024 - 1, true}, {0, 0, false},
	} {
		for _, in := range []Input{database(c.a, c.b), database(c.b, c.a)} {
			if p := Decide(in); len(p.Steps) > 0 != c.acts {
				t.Errorf("%d and %d MiB: %v", c.a, c.b, p.Steps)
			}
		}
	}
	in := database(1000, 10)
	in.Mode = Off
	if p := Decide(in); len(p.Steps) > 0 {
		t.Errorf("mode off: %v", p.Steps)
	}
}

// Each difference to the next is too small to matter, and the sum of them is not.
func TestSlopeOfSmallSteps(t *testing.T) {
	var sizes []int64
	for i := range int64(20) {
		sizes = append(sizes, 2000+i*80)
	}
	if p := Decide(database(sizes...)); len(p.Steps) == 0 {
		t.Error("a slope from 2,000 to 3,500 MiB stays as it is")
	}
}

func TestNeighboursFirst(t *testing.T) {
	p := Decide(database(3000, 1000, 2000))
	if text(p) != "1>2" {
		t.Fatalf("plan: %+v", p.Steps)
	}
	s := p.Steps[0]
	if s.Hi != shardmap.InitialRanges(3)[0].Hi || s.Bytes < 900*mib || s.Bytes > 1000*mib || s.Documents < 50000 ||
		s.Seconds < 50 || s.Seconds > 70 {
		t.Errorf("step: %+v", s)
	}
	if !strings.Contains(s.Reason, "db$0") || !strings.Contains(s.Reason, "2.0 GiB more than db$1") {
		t.Errorf("reason: %s", s.Reason)
	}
	if p.Epoch != 1 || p.Bytes() != s.Bytes {
		t.Errorf("epoch %d, bytes %d", p.Epoch, p.Bytes())
	}
}

// single makes fragment 1 of buckets of the given MiB, fragment 2 of empty ones.
func single(sizes ...int64) Input {
	in := database(0, 0)
	in.Cells = nil
	hi := in.Map.Ranges()[0].Hi
	for i, n := range sizes {
		lo := hi - uint32(len(sizes)-i)
		in.Cells = append(in.Cells, Cell{Interval: shardmap.Interval{Lo: lo, Hi: lo + 1}, Bytes: n * mib})
	}
	return in
}

// A bucket above 128 MiB stays: the other edge gives, and where that has one too, the range is
// split behind it.
func TestBigBuckets(t *testing.T) {
	hi := shardmap.InitialRanges(2)[0].Hi
	small := slices.Repeat([]int64{20}, 20)
	for _, c := range []struct {
		name  string
		sizes []int64
		want  func(v shardmap.Interval) bool
	}{
		{"touching edge", append([]int64{200}, small...), func(v shardmap.Interval) bool { return v.Hi == hi }},
		{"other edge", append(slices.Clone(small), 200), func(v shardmap.Interval) bool { return v.Lo == 0 }},
		{"split", append(append([]int64{200}, small...), 200), func(v shardmap.Interval) bool { return v.Hi == hi-1 }},
	} {
		p := Decide(single(c.sizes...))
		if len(p.Steps) != 1 || !c.want(p.Steps[0].Interval) {
			t.Errorf("%s: %+v", c.name, p.Steps)
		}
		for _, s := range p.Steps {
			if s.Bytes > 400*mib || s.Bytes < 100*mib {
				t.Errorf("%s moves %s", c.name, sized(s.Bytes))
			}
		}
	}
	p := Decide(single(200, 300, 250))
	if len(p.Steps) != 0 || len(p.Advice) != 1 || !strings.Contains(p.Advice[0].Text, "3 buckets above 128 MiB") {
		t.Errorf("nothing but big buckets: %+v", p)
	}
}

// grown adds a fragment that owns nothing.
func grown(in Input) Input {
	n := len(in.Fragments)
	in.Fragments = append(
		in.Fragments,
		Fragment{ID: shardmap.FragmentID(n + 1), Name: fmt.Sprintf("db$%d", n), Nodes: []uint32{uint32(n + 1)}},
	)
	in.Nodes = append(in.Nodes, Node{ID: uint32(n + 1)})
	return in
}

func TestNewFragmentIsFedFromTheLargest(t *testing.T) {
	p := Decide(grown(database(3000, 1000, 1000)))
	if len(p.Steps) == 0 || p.Steps[0].From != 1 {
		t.Fatalf("plan: %+v", p.Steps)
	}
	var to4 int64
	for _, s := range p.Steps {
		if s.To == 4 {
			to4 += s.Bytes
		}
	}
	if to4 < 1200*mib {
		t.Errorf("the new fragment gets %s", sized(to4))
	}
}

// Fragments of a database with next to no data are filled by numbers of buckets: what comes will be
// spread so.
func TestFill(t *testing.T) {
	for _, n := range []int{1, 3} {
		in := database(slices.Repeat([]int64{0}, n)...)
		if p := Decide(grown(in)); len(p.Steps) > 0 {
			t.Errorf("a new fragment of an empty database is filled unasked: %+v", p.Steps)
		}
		in = grown(grown(in))
		in.Fill = true
		owned := owners(t, in, Decide(in))
		for f, got := range owned {
			if want := shardmap.BucketCount / (n + 2); got < want-n-2 || got > want+n+2 {
				t.Errorf("of %d: fragment %d owns %d buckets, want %d", n+2, f, got, want)
			}
		}
		if len(owned) != n+2 {
			t.Errorf("%d fragments own something", len(owned))
		}
	}
}

// owners applies a plan and counts the buckets of each fragment.
func owners(t *testing.T, in Input, p Plan) map[shardmap.FragmentID]int {
	t.Helper()
	m := in.Map
	for _, s := range p.Steps {
		for _, share := range m.Split(shardmap.NewBucketSet(s.Interval)) {
			if share.Fragment != s.From {
				t.Fatalf("step %+v takes what fragment %d owns", s, share.Fragment)
			}
		}
		next, err := m.Reassign(s.Interval, s.To)
		if err != nil {
			t.Fatal(err)
		}
		m = next
	}
	out := map[shardmap.FragmentID]int{}
	for _, f := range m.Fragments() {
		out[f] = m.Owned(f).Len()
	}
	return out
}

// Whoever is emptied keeps nothing, the others get what is even, neighbours first.
func TestDrain(t *testing.T) {
	for _, sizes := range [][]int64{{0, 0, 0}, {1000, 1000, 1000}, {500, 3000, 2500, 10}} {
		for drained := range sizes {
			in := database(sizes...)
			in.Mode = Off
			in.Fragments[drained].Drains = true
			p := Decide(in)
			owned := owners(t, in, p)
			if _, still := owned[in.Fragments[drained].ID]; still || len(owned) != len(sizes)-1 {
				t.Errorf("%v without %d: %v", sizes, drained, owned)
			}
		}
	}
	in := single(500, 400, 300) // a bucket of any size leaves a fragment that is emptied
	in.Fragments[0].Drains = true
	if owned := owners(t, in, Decide(in)); len(owned) != 1 {
		t.Errorf("big buckets stay: %v", owned)
	}
}

func after(in Input, p Plan) map[shardmap.FragmentID]int64 {
	out := map[shardmap.FragmentID]int64{}
	for _, c := range in.Cells {
		out[in.Map.Lookup(shardmap.Bucket(c.Lo))] += c.Bytes
	}
	for _, s := range p.Steps {
		out[s.From] -= s.Bytes
		out[s.To] += s.Bytes
	}
	return out
}

func TestWeights(t *testing.T) {
	in := database(3000, 3000, 3000)
	in.Nodes[2].Weight = 4
	got := after(in, Decide(in))
	for f, want := range map[shardmap.FragmentID]int64{1: 1500, 2: 1500, 3: 6000} {
		if x := got[f] / mib; math.Abs(float64(x-want)) > 100 {
			t.Errorf("fragment %d ends with %d MiB, want about %d", f, x, want)
		}
	}
}

func TestLimits(t *testing.T) {
	in := database(4000, 4000, 0)
	in.Nodes[2].MaxBytes = gib
	if got := after(in, Decide(in))[3]; got > gib || got < gib*9/10 {
		t.Errorf("a node of 1 GiB gets %s", sized(got))
	}
	in.Nodes[2].Full = true
	if p := Decide(in); len(p.Steps) > 0 {
		t.Errorf("a full node: %+v", p.Steps)
	}
	in = database(4000, 4000, 4000) // above its limit a node gives
	in.Nodes[0].MaxBytes, in.Nodes[0].Used = gib, 4000*mib
	if got := after(in, Decide(in))[1]; got > gib*11/10 {
		t.Errorf("a node above its limit keeps %s", sized(got))
	}
	for i := range in.Nodes {
		in.Nodes[i].MaxBytes, in.Nodes[i].Used = gib, 4000*mib
	}
	if p := Decide(in); len(p.Steps) > 0 || len(p.Advice) != 1 || !strings.Contains(p.Advice[0].Text, "add a node") {
		t.Errorf("no room anywhere: %+v", p)
	}
}

func TestSilentAndFrozen(t *testing.T) {
	in := database(4000, 100, 2000)
	in.Nodes[1].Silent = true
	if got := text(Decide(in)); strings.Contains(got, "2") {
		t.Errorf("what a silent node leads takes part: %s", got)
	}
	in = database(4000, 100, 2000)
	in.Fragments[0].Frozen = true
	if got := text(Decide(in)); strings.Contains(got, "1") {
		t.Errorf("what moves already takes part: %s", got)
	}
}

// What is pinned goes to its place, stays there, and is passed over.
func TestRules(t *testing.T) {
	in := database(4000, 100)
	v := in.Map.Ranges()[0].Interval
	in.Rules = []Rule{
		{Interval: shardmap.Interval{Lo: v.Hi - 40000, Hi: v.Hi}, Fragments: []shardmap.FragmentID{1}, Why: "a pin"},
	}
	p := Decide(in)
	if len(p.Steps) != 1 || p.Steps[0].Hi > v.Hi-40000 && p.Steps[0].Lo < v.Hi {
		t.Errorf("a pin is moved: %+v", p.Steps)
	}
	in.Rules = []Rule{
		{Interval: shardmap.Interval{Lo: 1000, Hi: 2000}, Fragments: []shardmap.FragmentID{2}, Why: "zone eu"},
	}
	p = Decide(in)
	if s := p.Steps[0]; s.Lo != 1000 || s.Hi != 2000 || s.To != 2 || !strings.HasPrefix(s.Reason, "zone eu") {
		t.Errorf("the first step is %+v", s)
	}
	in.Rules[0].Fragments = []shardmap.FragmentID{7}
	if p := Decide(in); len(p.Advice) == 0 {
		t.Error("a rule that nobody can meet is passed over in silence")
	}
}

func TestStartable(t *testing.T) {
	p := Plan{Steps: []Step{
		{Kind: MoveLeader, Fragment: 1}, {Kind: MoveBuckets, From: 1, To: 2}, {Kind: MoveBuckets, From: 2, To: 1},
		{Kind: MoveBuckets, From: 3, To: 2}, {Kind: MoveBuckets, From: 1, To: 2},
	}}
	none := func(int) bool { return false }
	is := func(n ...int) func(int) bool { return func(i int) bool { return slices.Contains(n, i) } }
	for _, c := range []struct {
		done, running func(int) bool
		most          int
		want          []int
	}{
		{none, none, 9, []int{0, 1, 3}}, {none, none, 2, []int{0, 1}}, {is(0), is(1), 9, []int{3}},
		{is(0, 1), none, 9, []int{2, 3}}, {is(0, 1), is(2), 1, nil},
	} {
		if got := p.Startable(c.done, c.running, c.most); !slices.Equal(got, c.want) {
			t.Errorf("startable %v, want %v", got, c.want)
		}
	}
}

// MongoDB's migration thresholds: fewer than 20 chunks 2, up to 79 4, from 80 on 8; a round goes on
// until no two differ by two.
func TestSegmentThresholds(t *testing.T) {
	for n, want := range map[int]int{0: 2, 19: 2, 20: 4, 79: 4, 80: 8, 5000: 8} {
		if got := SegmentThreshold(n); got != want {
			t.Errorf("%d segments: %d, want %d", n, got, want)
		}
	}
	for _, c := range []struct {
		have    []int
		inRound bool
		moves   int
	}{
		{[]int{5, 4}, false, 0}, {[]int{6, 4}, false, 1}, {[]int{12, 9}, false, 0}, {[]int{12, 8}, false, 2},
		{[]int{12, 9}, true, 1},
		{[]int{50, 43}, false, 0}, {[]int{50, 42}, false, 4}, {[]int{9, 0, 0}, false, 6}, {[]int{7}, false, 0},
		{nil, false, 0},
	} {
		have := map[shardmap.FragmentID]int{}
		for i, n := range c.have {
			have[shardmap.FragmentID(i+1)] = n
		}
		moves := EvenSegments(have, c.inRound)
		if len(moves) != c.moves {
			t.Errorf("%v: %d moves, want %d", c.have, len(moves), c.moves)
		}
		for _, m := range moves {
			have[m.From]--
			have[m.To]++
		}
		if len(moves) > 0 && len(EvenSegments(have, true)) > 0 {
			t.Errorf("%v: a round ends at %v", c.have, have)
		}
	}
}

func TestWindows(t *testing.T) {
	at := func(s string) time.Time {
		x, err := time.Parse("2006-01-02 15:04 -0700", s)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	for _, c := range []struct {
		windows, time string
		open          bool
	}{
		{"", "2026-11-21 12:00 +0000", true}, {"22:00-06:00", "2026-11-21 23:30 +0000", true},
		{"22:00-06:00", "2026-11-21 05:59 +0000", true},
		{"22:00-06:00", "2026-11-21 06:00 +0000", false}, {"22:00-06:00", "2026-11-21 08:00 +0300", true},
		{"01:00-05:00", "2026-11-21 00:59 +0000", false},
		{"mon-fri 01:00-05:00", "2026-11-21 02:00 +0000", false},
		{"mon-fri 01:00-05:00, sat 00:00-24:00", "2026-11-21 23:59 +0000", true},
		{"fri 22:00-06:00", "2026-11-21 05:00 +0000", true}, {"sat 22:00-06:00", "2026-11-21 05:00 +0000", false},
		{"fri-mon 00:00-24:00", "2026-11-22 12:00 +0000", true},
	} {
		w, err := ParseWindows(c.windows)
		if err != nil {
			t.Fatal(err)
		}
		if got := w.Open(at(c.time)); got != c.open {
			t.Errorf("%q at %s: %v", c.windows, c.time, got)
		}
	}
	for _, bad := range []string{
		"22-06", "25:00-26:00", "24:00-01:00", "10:00-24:30", "foo 10:00-11:00", "mon-foo 10:00-11:00", "10:60-11:00",
	} {
		if _, err := ParseWindows(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func FuzzParseWindows(f *testing.F) {
	for _, s := range []string{"", "22:00-06:00", "mon-fri 01:00-05:00, sat 00:00-24:00", "x"} {
		f.Add(s)
	}
	f.Fuzz(func(_ *testing.T, s string) {
		w, err := ParseWindows(s)
		if err == nil {
			w.Open(time.Unix(1790000000, 0))
		}
	})
}

func TestSmooth(t *testing.T) {
	if got := Smooth(0, 100, SmoothOver); math.Abs(got-63.2) > 0.1 {
		t.Errorf("after ten minutes of 100: %v", got)
	}
	a, b := Smooth(50, 200, time.Minute), 50.0
	for range 60 {
		b = Smooth(b, 200, time.Second)
	}
	if math.Abs(a-b) > 1e-9 || Smooth(7, 9, 0) != 7 {
		t.Errorf("a minute at once gives %v, in seconds %v", a, b)
	}
}

func TestClip(t *testing.T) {
	m, err := shardmap.NewMap(
		3,
		[]shardmap.Range{
			{Interval: shardmap.Interval{Lo: 0, Hi: 100}, Fragment: 1},
			{Interval: shardmap.Interval{Lo: 100, Hi: 200}, Fragment: 2},
			{Interval: shardmap.Interval{Lo: 200, Hi: shardmap.BucketCount}, Fragment: 1},
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	group := func(f shardmap.FragmentID, lo, hi uint32, bytes int64) Stat {
		return Stat{f, Cell{Interval: shardmap.Interval{Lo: lo, Hi: hi}, Bytes: bytes, Documents: bytes / 10}}
	}
	got := Clip(
		m,
		[]Stat{
			group(1, 0, 256, 1560), group(2, 0, 256, 50), group(1, 256, 512, 7), group(2, 256, 512, 9),
			group(1, 0, 256, 156),
		},
	)
	want := []Cell{
		{Interval: shardmap.Interval{Lo: 0, Hi: 100}, Bytes: 1100, Documents: 109},
		{Interval: shardmap.Interval{Lo: 100, Hi: 200}, Bytes: 50, Documents: 5},
		{Interval: shardmap.Interval{Lo: 200, Hi: 256}, Bytes: 616, Documents: 62},
		{Interval: shardmap.Interval{Lo: 256, Hi: 512}, Bytes: 7},
	}
	if !slices.Equal(got, want) {
		t.Errorf("cells %v\nwant  %v", got, want)
	}
}
