package balance

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sherddb/sherd/shardmap"
)

// ranged makes an input of a range table whose segments have the given MiB, in fragments in turn,
// from the first on.
func ranged(fragments int, sizes ...int64) Input {
	in := database(make([]int64, fragments)...)
	in.Cells = nil
	t := Table{ID: 9, Name: "r"}
	for i, n := range sizes {
		t.Segments = append(t.Segments, Segment{
			Bucket: shardmap.BucketCount + shardmap.Bucket(i), Fragment: shardmap.FragmentID(i%fragments + 1),
			Bytes: n * mib, Documents: max(n, 1) * 10,
		})
	}
	in.Tables, in.Limits = []Table{t}, Limits{Size: 128 * mib, Writes: 1000}
	return in
}

// told prints the steps of a plan: s3 splits segment 3, w3 does for its writes, m2+3 merges three
// from 2 on, 4:1>2 moves segment 4 from fragment 1 to 2.
func told(p Plan) string {
	var out []string
	at := func(b uint32) uint32 { return b - shardmap.BucketCount }
	for _, s := range p.Steps {
		switch s.Kind {
		case SplitSegment:
			out = append(
				out, fmt.Sprintf("%s%d", map[bool]string{false: "s", true: "w"}[s.ByWrites], at(uint32(s.First))),
			)
		case MergeSegments:
			out = append(out, fmt.Sprintf("m%d+%d", at(uint32(s.First)), s.Count))
		case MoveBuckets:
			name := fmt.Sprint(at(s.Lo))
			if s.Len() > 1 {
				name += fmt.Sprintf("-%d", at(s.Hi)-1)
			}
			out = append(out, fmt.Sprintf("%s:%d>%d", name, s.From, s.To))
		}
	}
	return strings.Join(out, " ")
}

func TestSplitsAndMerges(t *testing.T) {
	seg := func(in *Input, i int) *Segment { return &in.Tables[0].Segments[i] }
	for _, c := range []struct {
		name  string
		sizes []int64
		alter func(in *Input)
		want  string
	}{
		{"at the limit", []int64{128, 100}, nil, ""},
		{"above it, the largest first", []int64{129, 100, 200}, nil, "s2 s0"},
		{"one document", []int64{300, 300}, func(in *Input) { seg(in, 0).Documents = 1 }, "s1"},
		{"no limit", []int64{300, 300, 1, 1}, func(in *Input) { in.Limits.Size = 0 }, ""},
		{"off", []int64{300, 1, 1}, func(in *Input) { in.Mode = Off }, ""},
		{"pinned ones are split too", []int64{300, 200}, func(in *Input) {
			in.Rules = []Rule{{Interval: shardmap.OneBucket(seg(in, 0).Bucket), Fragments: []shardmap.FragmentID{1}}}
			seg(in, 0).Pinned = true
		}, "s0 s1"},
		{"where something moves all stays", []int64{300, 200}, func(in *Input) { in.Fragments[0].Frozen = true }, "s1"},
		{"small neighbours, to where most of it is", []int64{90, 30, 20, 90}, nil, "2:1>2 m1+2"},
		{"together at half of the limit", []int64{90, 32, 32, 90}, nil, ""},
		{"several", []int64{100, 20, 10, 5, 0, 0, 100}, nil, "2:1>2 4:1>2 m1+5 0:1>2"},
		{"empty ones go by number", []int64{0, 0, 0}, nil, "1:2>1 m0+3"},
		{"those that somebody made stay", []int64{0, 0, 0, 0}, func(in *Input) {
			for i := range in.Tables[0].Segments {
				seg(in, i).Kept = true
			}
		}, ""},
		{"up to one that somebody made", []int64{0, 0, 0, 0}, func(in *Input) {
			seg(in, 2).Kept = true
		}, "1:2>1 m0+2 3:2>1 m2+2"},
		{"pinned ones are not merged", []int64{0, 0, 0, 0}, func(in *Input) { seg(in, 1).Pinned = true }, "3:2>1 m2+2"},
		{"hot ones are not merged", []int64{10, 10, 90, 90}, func(in *Input) {
			seg(in, 0).Most, seg(in, 1).Most = 260, 250
		}, ""},
		{"nor where nobody knows", []int64{10, 10, 90, 90}, func(in *Input) { seg(in, 0).Most = math.Inf(1) }, ""},
		{"heat is no matter without a limit", []int64{10, 10, 90, 90}, func(in *Input) {
			seg(in, 0).Most, in.Limits.Writes = math.Inf(1), 0
		}, "1:2>1 m0+2"},
		{"by writes", []int64{90, 90}, func(in *Input) { seg(in, 0).Least = 1001 }, "w0"},
		{"a pinned one could not go", []int64{90, 90}, func(in *Input) {
			seg(in, 0).Least, seg(in, 0).Pinned = 1001, true
		}, ""},
		{"nobody else would take it", []int64{90, 90}, func(in *Input) {
			seg(in, 0).Least, in.Fragments[1].Drains = 1001, false
			in.Fragments[1].Frozen = true
		}, ""},
	} {
		in := ranged(2, c.sizes...)
		if c.alter != nil {
			c.alter(&in)
		}
		if got := told(Decide(in)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// Segments count for the shares of fragments and move as a whole; of small tables by number.
func TestSegmentsAreSpread(t *testing.T) {
	for _, c := range []struct {
		name  string
		sizes []int64
		alter func(in *Input)
		want  string
	}{
		{"by bytes", []int64{100, 0, 100, 0, 100, 0, 100}, func(in *Input) {}, "0:1>2 2:1>2"},
		{"large ones as well", []int64{200, 0, 250}, func(in *Input) {
			in.Limits.Size = 512 * mib
			in.Tables[0].Segments[1].Kept = true
			in.Tables[0].Segments[2].Kept = true
		}, "0:1>2"},
		{"by number", []int64{1, 1, 1, 1, 1}, func(in *Input) {}, "1:2>1 3:2>1 m0+5"},
		{"by number, those that stay", []int64{5, 4, 3, 2}, func(in *Input) {
			for i := range in.Tables[0].Segments {
				in.Tables[0].Segments[i].Kept, in.Tables[0].Segments[i].Fragment = true, 1
			}
		}, "2-3:1>2"},
		{"not where that makes bytes uneven", []int64{30, 30}, func(in *Input) {
			for i := range in.Tables[0].Segments {
				in.Tables[0].Segments[i].Kept, in.Tables[0].Segments[i].Fragment = true, 1
			}
			in.Cells = []Cell{
				{Interval: shardmap.Interval{Lo: shardmap.BucketCount - 256, Hi: shardmap.BucketCount},
					Bytes: 100 * mib},
			}
		}, ""},
	} {
		in := ranged(2, c.sizes...)
		for i := range in.Tables[0].Segments {
			in.Tables[0].Segments[i].Kept = c.name == "by bytes"
		}
		c.alter(&in)
		if got := told(Decide(in)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestCuts(t *testing.T) {
	var keys []KeyAt
	for i := range 64 {
		keys = append(keys, KeyAt{[]byte{byte(i)}, int64(i) * mib})
	}
	list := func(n int, key func(i int) int) (out [][]byte) {
		for i := range n {
			out = append(out, []byte{byte(key(i))})
		}
		return out
	}
	r := rand.New(rand.NewPCG(1, 1))
	uniform := list(32, func(int) int { return r.IntN(64) })
	for _, c := range []struct {
		name           string
		written        [][]byte
		bySize, writes int
	}{
		{"nothing known", nil, 32, -1},
		{"all over", uniform, 32, 32},
		{"growing keys", list(32, func(i int) int { return 60 + i/9 }), 57, -1},
		{"growing keys in the middle", list(32, func(i int) int { return 10 + i }), 32, -1},
		{"falling keys", list(32, func(i int) int { return 3 - i/9 }), 7, -1},
		{"growing keys, loaded in a moment", list(32, func(i int) int { return i * 2 }), 57, -1},
		{"one key", list(32, func(int) int { return 17 }), 32, -1},
		{"one key has most", list(32, func(i int) int { return []int{17, 17, 17, 17, 40}[i%5] }), 32, -1},
		{"one key has half", list(32, func(i int) int { return []int{17, 17, 17, 40, 41}[i%5] }), 32, 40},
		{"too few", uniform[:15], 32, -1},
	} {
		if k := CutBySize(keys, 64*mib, 63*mib, c.written); len(k) != 1 || int(k[0][0]) != c.bySize {
			t.Errorf("%s: by size %v", c.name, k)
		}
		k := CutByWrites(c.written)
		if got := append([]byte{255}, k...); c.writes < 0 && k != nil ||
			c.writes >= 0 && max(int(got[len(got)-1])-c.writes, c.writes-int(got[len(got)-1])) > 6 {
			t.Errorf("%s: by writes %v", c.name, k)
		}
	}
	for _, c := range []struct {
		limit   int64
		written [][]byte
		want    string
	}{
		{63, nil, "[32]"}, {50, nil, "[21 43]"}, {33, nil, "[16 32 48]"}, {20, uniform, "[11 21 32 43 53]"},
		{1, nil, "[4 8 12 16 20 24 28 32 36 40 44 48 52 56 60]"},
		{20, list(32, func(i int) int { return i * 2 }), "[18 36 54]"}, {20, list(32, func(i int) int {
			return 62 - i*2
		}), "[10 28 46]"},
	} {
		var got []int
		for _, k := range CutBySize(keys, 64*mib, c.limit*mib, c.written) {
			got = append(got, int(k[0]))
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("limit %d: %v, want %s", c.limit, got, c.want)
		}
	}
	if k := CutBySize(keys[:1], mib, mib, nil); k != nil {
		t.Errorf("one document is cut at %v", k)
	}
}

func TestWatch(t *testing.T) {
	var w Watch
	tables := []Table{{Segments: []Segment{{Bucket: 1}, {Bucket: 2}}}}
	now := time.Unix(0, 0)
	for minute := range 30 {
		a, b := &tables[0].Segments[0], &tables[0].Segments[1]
		if a.Writes = 500; minute == 14 {
			a.Writes = 2 // another has come to lead
		}
		b.Writes = float64(minute)
		w.Note(now, 7, tables)
		least, most := 500.0, 500.0
		if minute < 5 || minute >= 14 && minute < 20 {
			least = 0
			if minute >= 14 {
				least = 2
			}
		}
		if minute < 10 {
			most = math.Inf(1)
		}
		if a.Least != least || a.Most != most {
			t.Errorf("minute %d: %v to %v", minute, a.Least, a.Most)
		}
		if minute >= 10 && (b.Most != float64(minute) || b.Least > float64(minute-5) || b.Least < float64(minute-10)) {
			t.Errorf("minute %d: %v to %v", minute, b.Least, b.Most)
		}
		now = now.Add(time.Minute)
	}
	w.Note(now, 8, nil)
	w.Note(now, 7, tables[:0])
	if len(w.seen) != 0 {
		t.Error("what is gone is not forgotten")
	}
}

// rangeSim is a range table of documents of 1 MiB, by number.
type rangeSim struct {
	t       testing.TB
	in      Input
	keys    []uint32 // sorted
	starts  []uint32
	heat    func(key uint32) float64
	written [][]byte
	next    shardmap.Bucket
	copied  int64
	splits  int
	merges  int
	moved   int64
}

func newRangeSim(t testing.TB, fragments int) *rangeSim {
	s := &rangeSim{t: t, in: ranged(fragments, 0), starts: []uint32{0}, next: shardmap.BucketCount + 1, heat: func(uint32) float64 {
		return 0
	}}
	return s
}

func (s *rangeSim) insert(k uint32) {
	at, found := slices.BinarySearch(s.keys, k)
	if !found {
		s.keys = slices.Insert(s.keys, at, k)
	}
	key := binary.BigEndian.AppendUint32(nil, k)
	if s.written = append(s.written, key); len(s.written) > 32 {
		s.written = s.written[1:]
	}
}

// of returns the keys of the i-th segment.
func (s *rangeSim) of(i int) []uint32 {
	lo, _ := slices.BinarySearch(s.keys, s.starts[i])
	hi := len(s.keys)
	if i+1 < len(s.starts) {
		hi, _ = slices.BinarySearch(s.keys, s.starts[i+1])
	}
	return s.keys[lo:hi]
}

func (s *rangeSim) measure() {
	for i := range s.in.Tables[0].Segments {
		g := &s.in.Tables[0].Segments[i]
		keys := s.of(i)
		g.Bytes, g.Documents, g.Writes = int64(len(keys))*mib, int64(len(keys)), 0
		for _, k := range keys {
			g.Writes += s.heat(k)
		}
	}
	Present(s.in.Tables)
}

func (s *rangeSim) place(b shardmap.Bucket) int {
	return slices.IndexFunc(s.in.Tables[0].Segments, func(g Segment) bool { return g.Bucket == b })
}

// round decides and carries out, and reports whether there was anything to do.
func (s *rangeSim) round() bool {
	s.measure()
	done := false
	for _, step := range Decide(s.in).Steps {
		list := &s.in.Tables[0].Segments
		switch step.Kind {
		case MoveBuckets:
			for b := step.Lo; b < step.Hi; b++ {
				(*list)[s.place(shardmap.Bucket(b))].Fragment = step.To
			}
			s.moved += step.Bytes
			done = true
		case SplitSegment:
			at := s.place(step.First)
			if !s.split(at, step.ByWrites) {
				continue
			}
			s.copied, s.splits, done = s.copied+step.Bytes, s.splits+1, true
		case MergeSegments:
			at := s.place(step.First)
			for _, g := range (*list)[at : at+step.Count] {
				if g.Fragment != step.From {
					s.t.Fatal("segments of different fragments are merged")
				}
			}
			(*list)[at].Bucket, s.next = s.next, s.next+1
			*list = slices.Delete(*list, at+1, at+step.Count)
			s.starts = slices.Delete(s.starts, at+1, at+step.Count)
			s.copied, s.merges, done = s.copied+step.Bytes, s.merges+1, true
		}
	}
	return done
}

func (s *rangeSim) split(at int, byWrites bool) bool {
	keys := s.of(at)
	var stored []KeyAt
	for i := 0; i < len(keys); i += max(len(keys)/64, 1) {
		stored = append(stored, KeyAt{binary.BigEndian.AppendUint32(nil, keys[i]), int64(i) * mib})
	}
	cuts := CutBySize(stored, int64(len(keys))*mib, s.in.Limits.Size, s.inside(at))
	if byWrites {
		if cuts = nil; CutByWrites(s.inside(at)) != nil {
			cuts = [][]byte{CutByWrites(s.inside(at))}
		}
	}
	list := &s.in.Tables[0].Segments
	for i, cut := range cuts {
		*list = slices.Insert(*list, at+i+1, Segment{Bucket: s.next, Fragment: (*list)[at].Fragment})
		s.next++
		s.starts = slices.Insert(s.starts, at+i+1, binary.BigEndian.Uint32(cut))
	}
	(*list)[at].Bucket, s.next = s.next, s.next+1
	return len(cuts) > 0
}

// inside returns sampled writes to a segment: by heat, if there is some.
func (s *rangeSim) inside(at int) (out [][]byte) {
	for _, k := range s.written {
		if i := binary.BigEndian.Uint32(k); i >= s.starts[at] && (at+1 == len(s.starts) || i < s.starts[at+1]) {
			out = append(out, k)
		}
	}
	var hot []uint32
	for _, k := range s.of(at) {
		if s.heat(k) > 0 {
			hot = append(hot, k)
		}
	}
	for i := 0; len(hot) > 0 && i < 32; i++ {
		out = append(out, binary.BigEndian.AppendUint32(nil, hot[i*37%len(hot)]))
	}
	return out
}

func (s *rangeSim) rest() {
	s.t.Helper()
	for range 30 {
		if !s.round() {
			return
		}
	}
	s.t.Fatalf("30 plans and no rest: %s", told(Decide(s.in)))
}

// fine looks whether all is as it should be: none too large, no two that could be one.
func (s *rangeSim) fine() {
	s.t.Helper()
	s.measure()
	list := s.in.Tables[0].Segments
	for i := range list {
		if list[i].Bytes > s.in.Limits.Size {
			s.t.Errorf("segment %d has %s", i, sized(list[i].Bytes))
		}
		if i > 0 && list[i-1].Bytes+list[i].Bytes < s.in.Limits.Size/2 &&
			list[i-1].Writes+list[i].Writes < s.in.Limits.Writes/2 {
			s.t.Errorf("segments %d and %d have %s and %s", i-1, i, sized(list[i-1].Bytes), sized(list[i].Bytes))
		}
	}
}

// A table that grows all over, at its end, and shrinks again: what is written again by splits and
// merges is bounded by what was inserted and deleted.
func TestRangeTableGrowsAndShrinks(t *testing.T) {
	for _, c := range []struct {
		name   string
		key    func(r *rand.Rand, i int) uint32
		copies float64 // of what was inserted, at most
	}{
		{"all over", func(r *rand.Rand, _ int) uint32 { return r.Uint32() }, 1.6},
		{"at the end", func(_ *rand.Rand, i int) uint32 { return uint32(i) * 1000 }, 1.3},
		{"at the beginning", func(_ *rand.Rand, i int) uint32 { return 1<<31 - uint32(i)*1000 }, 1.3},
		{"skewed", func(r *rand.Rand, _ int) uint32 { return uint32(math.Pow(r.Float64(), 6) * math.MaxUint32) }, 1.8},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newRangeSim(t, 3)
			r := rand.New(rand.NewPCG(9, 9))
			const n = 6000
			for i := range n {
				if s.insert(c.key(r, i)); i%20 == 0 {
					s.round()
				}
			}
			s.rest()
			s.fine()
			t.Logf(
				"%d segments, %d splits, %d merges, %.2f written anew, %.2f moved", len(s.starts), s.splits, s.merges,
				float64(s.copied)/(n*mib), float64(s.moved)/(n*mib),
			)
			if got := float64(s.copied) / (n * mib); got > c.copies || s.merges > 0 {
				t.Errorf("growing wrote %.2f of it anew, merged %d times", got, s.merges)
			}
			s.copied, s.splits = 0, 0
			for len(s.keys) > 0 {
				at := r.IntN(len(s.keys))
				s.keys = slices.Delete(s.keys, at, min(at+50, len(s.keys)))
				s.round()
			}
			s.rest()
			s.fine()
			if s.splits > 0 || len(s.starts) != 1 || s.copied > 2*n*mib {
				t.Errorf(
					"shrinking: %d splits, %s written anew, %d segments left", s.splits, sized(s.copied), len(s.starts),
				)
			}
		})
	}
}

// Sizes and rates that go up and down by a third around any value come to rest.
func TestSegmentsDoNotOscillate(t *testing.T) {
	s := newRangeSim(t, 3)
	r := rand.New(rand.NewPCG(2, 3))
	for range 3000 {
		s.insert(r.Uint32())
	}
	s.heat = func(k uint32) float64 { return float64(k>>26) / 4 }
	s.rest()
	splits, merges := s.splits, s.merges
	base, heat := s.keys, s.heat
	for round := range 60 {
		keep := 1.0
		if round%2 == 1 {
			keep = 0.75
		}
		s.keys = nil
		for _, k := range base {
			if r.Float64() < keep {
				s.keys = append(s.keys, k)
			}
		}
		s.heat = func(k uint32) float64 { return heat(k) * (0.75 + r.Float64()/2) }
		s.round()
	}
	if s.merges > merges || s.splits > splits+2 {
		t.Errorf("%d splits, %d merges while nothing changed in the long run", s.splits-splits, s.merges-merges)
	}
}

// Segments that are written to much are split until each part is below the limit or is one key, and
// the parts go to several fragments; when it is over they become one again.
func TestHotSegments(t *testing.T) {
	s := newRangeSim(t, 3)
	s.in.Mode = Auto
	for i := range uint32(60) {
		s.insert(i * 1000)
	}
	s.written = nil
	s.heat = func(k uint32) float64 { return 100 } // 6,000 writes a second
	s.rest()
	s.fine()
	owners := map[shardmap.FragmentID]int{}
	for _, g := range s.in.Tables[0].Segments {
		if owners[g.Fragment]++; g.Writes > s.in.Limits.Writes {
			t.Errorf("a segment has %.0f writes a second", g.Writes)
		}
	}
	if len(owners) != 3 || len(s.starts) > 12 {
		t.Errorf("%d segments in %v", len(s.starts), owners)
	}
	segments := len(s.starts)
	s.heat = func(k uint32) float64 { // one key has it all
		if k == 30000 {
			return 5000
		}
		return 0
	}
	s.rest()
	if len(s.starts) > segments {
		t.Errorf("%d segments, one key is hot", len(s.starts))
	}
	s.heat = func(uint32) float64 { return 0 }
	s.rest()
	if len(s.starts) != 1 {
		t.Errorf("%d segments after the heat", len(s.starts))
	}
}

// Many segments are decided upon in a moment, wherever they are.
func BenchmarkSegments(b *testing.B) {
	const n = 16000
	for _, c := range []struct {
		name      string
		fragments int
		alter     func(i int, s *Segment)
	}{
		{"in turn", 100, func(int, *Segment) {}},
		{"one has all", 3, func(_ int, s *Segment) { s.Fragment = 1 }},
		{"a tenth has two thirds", 100, func(i int, s *Segment) {
			if i%3 > 0 {
				s.Fragment = shardmap.FragmentID(i%10 + 1)
			}
		}},
		{"one has all, of 1,000", 1000, func(_ int, s *Segment) { s.Fragment = 1 }},
		{"small ones", 100, func(_ int, s *Segment) { s.Fragment, s.Bytes, s.Kept = 1, 1000, true }},
	} {
		b.Run(c.name, func(b *testing.B) {
			sizes := make([]int64, n)
			for i := range sizes {
				sizes[i] = int64(i*37%140) + 30
			}
			in := ranged(c.fragments, sizes...)
			for i := range in.Tables[0].Segments {
				c.alter(i, &in.Tables[0].Segments[i])
			}
			for b.Loop() {
				Decide(in)
			}
		})
	}
}
