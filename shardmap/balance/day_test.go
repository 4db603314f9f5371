package balance

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sherddb/sherd/shardmap"
)

// day is a database over time: the true bytes of each bucket, what fragments say of them as storage
// counts (groups of 256, above 4 MiB their large buckets by themselves), and what plans have moved.
type day struct {
	t         testing.TB
	r         *rand.Rand
	in        Input
	size      []int64 // of buckets
	tables    []Table
	moves     int
	bytes     int64
	lastMoved map[uint32][2]shardmap.FragmentID // by the first bucket of what the last plan moved: from, to
	lastSize  []int64                           // of the buckets then
}

const (
	statGroup  = 256
	exactBytes = 4 * mib
)

func newDay(t testing.TB, fragments int, seed uint64) *day {
	ids := make([]shardmap.FragmentID, fragments)
	d := &day{t: t, r: rand.New(rand.NewPCG(seed, seed)), size: make([]int64, shardmap.BucketCount)}
	for i := range ids {
		ids[i] = shardmap.FragmentID(i + 1)
		d.in.Fragments = append(
			d.in.Fragments, Fragment{ID: ids[i], Name: fmt.Sprintf("db$%d", i), Nodes: []uint32{uint32(i + 1)}},
		)
		d.in.Nodes = append(d.in.Nodes, Node{ID: uint32(i + 1)})
	}
	d.in.Mode, d.in.Map = Auto, shardmap.NewInitialMap(ids)
	d.in.Limits = Limits{Size: 128 * mib}
	return d
}

// stats is what the fragments say.
func (d *day) stats() (out []Stat) {
	for _, r := range d.in.Map.Hashed() {
		for lo := r.Lo; lo < r.Hi; {
			end := min(lo-lo%statGroup+statGroup, r.Hi)
			out = d.group(out, r.Fragment, lo, end)
			lo = end
		}
	}
	return out
}

// group appends what a fragment says of the buckets of a group that it owns.
func (d *day) group(out []Stat, f shardmap.FragmentID, lo, end uint32) []Stat {
	var sum int64
	for b := lo; b < end; b++ {
		sum += d.size[b]
	}
	first := lo - lo%statGroup
	say := func(lo, hi uint32, n int64) {
		if n > 0 {
			v := shardmap.Interval{Lo: lo, Hi: hi}
			out = append(out, Stat{f, Cell{Interval: v, Bytes: n, Documents: n / 1000, Whole: v.Len() > 1}})
		}
	}
	if sum <= exactBytes {
		say(first, first+statGroup, sum)
		return out
	}
	at, run := first, int64(0)
	for b := first; b < first+statGroup; b++ {
		n := int64(0)
		if b >= lo && b < end {
			n = d.size[b]
		}
		if n > exactBytes || run+n > exactBytes {
			say(at, b, run)
			at, run = b, 0
		}
		if run += n; n > exactBytes {
			say(b, b+1, n)
			at, run = b+1, 0
		}
	}
	say(at, first+statGroup, run)
	return out
}

// round looks, and carries out what is planned; each step is held against what it really moves.
func (d *day) round() (steps int) {
	d.in.Cells, d.in.Tables = Clip(d.in.Map, d.stats()), d.tables
	Present(d.in.Tables)
	p := Decide(d.in)
	moved := map[uint32][2]shardmap.FragmentID{}
	for _, s := range p.Steps {
		switch s.Kind {
		case MoveBuckets:
			d.carryOut(s)
			moved[s.Lo] = [2]shardmap.FragmentID{s.From, s.To}
			if was, ok := d.lastMoved[s.Lo]; ok && was == [2]shardmap.FragmentID{s.To, s.From} && d.changed() < 32*mib {
				d.t.Errorf(
					"a plan undoes the last one: %s from %d to %d, %d bytes: %s", s.Interval, s.From, s.To, s.Bytes,
					s.Reason,
				)
			}
			steps++
		case SplitSegment:
			d.split(s)
		}
	}
	if steps > 0 {
		d.lastMoved, d.lastSize = moved, append(d.lastSize[:0], d.size...)
	}
	return steps
}

// changed is by how much buckets have grown or shrunk since the last plan. A round leaves
// differences of 32 MiB at most, and 64 MiB begin another.
func (d *day) changed() (n int64) {
	for b, was := range d.lastSize {
		n += max(d.size[b]-was, was-d.size[b])
	}
	return n
}

func (d *day) carryOut(s Step) {
	var really, most int64
	if s.Lo >= shardmap.BucketCount {
		for i := range d.tables {
			for k := range d.tables[i].Segments {
				if x := &d.tables[i].Segments[k]; uint32(x.Bucket) == s.Lo {
					really, x.Fragment = x.Bytes, s.To
				}
			}
		}
	} else {
		for b := s.Lo; b < s.Hi; b++ {
			really, most = really+d.size[b], max(most, d.size[b])
		}
		next, err := d.in.Map.Reassign(s.Interval, s.To)
		if err != nil {
			d.t.Fatal(err)
		}
		d.in.Map = next
	}
	if off := math.Abs(float64(really - s.Bytes)); off > float64(really)/10 {
		d.t.Errorf("a step says %d bytes and moves %d: %+v", s.Bytes, really, s)
	}
	if really == 0 && !d.in.Fill {
		d.t.Errorf("a step moves nothing: %+v", s)
	}
	if most > 128*mib {
		d.t.Errorf("a bucket of %d bytes is moved: %+v", most, s)
	}
	d.moves++
	d.bytes += really
}

// split halves a segment.
func (d *day) split(s Step) {
	t := &d.tables[0]
	next := shardmap.Bucket(shardmap.BucketCount)
	for _, x := range t.Segments {
		next = max(next, x.Bucket+1)
	}
	for i := range t.Segments {
		if x := &t.Segments[i]; x.Bucket == s.First {
			x.Bytes, x.Documents = x.Bytes/2, x.Documents/2
			half := *x
			half.Bucket = next
			t.Segments = slices.Insert(t.Segments, i+1, half)
			return
		}
	}
}

// settled asserts that nothing moves any more, and that no two fragments differ by what begins a
// round except what cannot be divided.
func (d *day) settled() {
	d.t.Helper()
	for range 3 {
		if n := d.round(); n > 0 {
			d.t.Errorf("at rest there are still %d moves", n)
		}
	}
	held, lump := map[shardmap.FragmentID]int64{}, map[shardmap.FragmentID]int64{}
	obese := map[shardmap.FragmentID]int64{}
	for _, f := range d.in.Fragments {
		held[f.ID] = 0
	}
	for b, n := range d.size {
		f := d.in.Map.Lookup(shardmap.Bucket(b))
		held[f] += n
		if n > 128*mib {
			obese[f] += n
		} else {
			lump[f] = max(lump[f], n)
		}
	}
	for i := range d.tables {
		for _, x := range d.tables[i].Segments {
			held[x.Fragment] += x.Bytes
			lump[x.Fragment] = max(lump[x.Fragment], x.Bytes)
		}
	}
	for a, x := range held {
		for b, y := range held {
			diff := x - y
			if diff < 128*mib || float64(diff) <= 0.1*float64(x) { // of any two, twice what counts for neighbours
				continue
			}
			// What is left of the larger one besides its obese buckets, and one that would only
			// change places with the difference.
			if x-obese[a]-lump[a] > y || lump[a] < diff*3/4 && x-obese[a] > y {
				d.t.Errorf(
					"fragments %d and %d have %s and %s (%s of it obese, the largest other bucket %s)", a, b,
					sized(x), sized(y), sized(obese[a]), sized(lump[a]),
				)
			}
		}
	}
}

// TestDay has a database grow and shrink for 24 hours, with a look each minute. What is moved is
// bounded by what the data has changed, and at the end, when nothing changes any more, all is
// balanced and stays where it is.
func TestDay(t *testing.T) {
	const minutes = 24 * 60
	anywhere := func(d *day) uint32 { return d.r.Uint32N(shardmap.BucketCount) }
	for _, c := range []struct {
		name      string
		fragments int
		minute    func(d *day, m int)
		moves     int // at most
	}{
		{"one giant bucket beside small documents", 3, func(d *day, m int) {
			d.size[802667] += 2 * mib
			for range 200 {
				d.size[anywhere(d)] += 300
			}
		}, 40},
		{"one giant bucket beside data", 3, func(d *day, m int) {
			d.size[802667] += mib
			for range 2000 {
				d.size[anywhere(d)] += 4000
			}
		}, 200},
		{"Zipf", 5, func(d *day, m int) {
			for i := range 200 {
				b := uint32(i) * 2654435761 % shardmap.BucketCount
				d.size[b] += int64(4 * mib / (i + 1))
			}
		}, 300},
		{"a growing tenant in a few neighbouring buckets", 4, func(d *day, m int) {
			for b := range uint32(40) {
				d.size[500_000+b] += 128 << 10
			}
			for range 500 {
				d.size[anywhere(d)] += 2000
			}
		}, 300},
		{"shrinking", 4, func(d *day, m int) {
			if m == 0 {
				for b := range d.size {
					d.size[b] = 6000
				}
				for range 300 {
					d.size[anywhere(d)] = 30 * mib
				}
			}
			for range 800 { // the lower half is emptied, and large buckets with it
				d.size[d.r.Uint32N(shardmap.BucketCount/2)] = 0
			}
		}, 400},
		{"segments of a range table", 4, func(d *day, m int) {
			if m == 0 {
				d.tables = []Table{
					{ID: 7, Name: "t", Segments: []Segment{{Bucket: shardmap.BucketCount, Fragment: 1, Documents: 10}}},
				}
			}
			x := &d.tables[0].Segments[len(d.tables[0].Segments)-1] // keys rise
			x.Bytes, x.Documents = x.Bytes+4*mib, x.Documents+4000
		}, 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDay(t, c.fragments, 11)
			for m := range minutes {
				c.minute(d, m)
				if m%5 == 0 || m < 60 || m > minutes-60 {
					d.round()
				}
				if t.Failed() {
					t.Fatalf("in minute %d", m)
				}
			}
			for n := 0; d.round() > 0; n++ {
				if n > 20 {
					t.Fatal("it does not come to rest")
				}
			}
			before := d.moves
			d.settled()
			t.Logf("%d moves of %s, %d ranges", before, sized(d.bytes), len(d.in.Map.Ranges()))
			if before > c.moves {
				t.Errorf("%d moves in a day", before)
			}
		})
	}
}
