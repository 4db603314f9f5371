package balance

import (
	"slices"
	"sort"

	"github.com/sherddb/sherd/shardmap"
)

// Mode says how much the balancer does.
type Mode string

// Modes: no plans; plans for operators to apply; plans that are applied, heat included.
const (
	Off    Mode = "off"
	Advise Mode = "advise"
	Auto   Mode = "auto"
)

const mib = 1 << 20

// Thresholds are the numbers of the rules; the zero value of a field stands for the default.
type Thresholds struct {
	Floor      int64   // bytes by which two must differ: 64 MiB
	Share      float64 // of the larger, by which they must differ: 0.05
	Large      int64   // bytes that are enough by themselves: 1 GiB
	BigBucket  int64   // larger buckets are not moved: 128 MiB
	SmallMove  int64   // smaller moves are not worth it: 1 MiB
	Rate       int64   // bytes a second that a move carries, for estimates: 16 MiB
	HeatFactor float64 // of its share of heat, from which a node or fragment is hot: 1.5
	HeatFloor  float64 // operations a second above its share, from which it is: 100
}

func (t Thresholds) filled() Thresholds {
	set := func(v *int64, d int64) {
		if *v == 0 {
			*v = d
		}
	}
	set(&t.Floor, 64*mib)
	set(&t.Large, 1024*mib)
	set(&t.BigBucket, 128*mib)
	set(&t.SmallMove, mib)
	set(&t.Rate, 16*mib)
	for v, d := range map[*float64]float64{&t.Share: 0.05, &t.HeatFactor: 1.5, &t.HeatFloor: 100} {
		if *v == 0 {
			*v = d
		}
	}
	return t
}

// Node is a node as the balancer sees it.
type Node struct {
	ID       uint32
	Weight   float64 // 0 is 1
	MaxBytes int64   // of all replicas together; 0 is no limit
	Used     int64   // bytes of all replicas, of all databases
	Full     bool    // its disk takes no more
	Silent   bool    // it does not answer: fragments that it leads are left as they are
}

// Fragment is a fragment of the database.
type Fragment struct {
	ID     shardmap.FragmentID
	Name   string
	Nodes  []uint32 // with its replicas, the one that leads first
	Drains bool     // its buckets have to move away
	Frozen bool     // it is left as it is, for instance during a move of its buckets
}

// Cell is the data of some buckets. Buckets in no cell are empty.
type Cell struct {
	shardmap.Interval
	Bytes, Documents int64
	Reads, Writes    float32 // a second, smoothed
	// Whole: the distribution of the bytes over the buckets is unknown, so the cell is moved as a
	// whole. Guessed: the bytes are an estimate for a part of a whole cell.
	Whole, Guessed bool
}

// whole reports whether the cell can only be moved as a whole.
func (c *Cell) whole() bool { return c.Whole || c.Len() == 1 }

// heat counts a write as two reads, because every replica executes it.
func (c Cell) heat() float64 { return float64(c.Reads) + 2*float64(c.Writes) }

// Rule restricts buckets to some fragments. With one fragment it is a pin.
type Rule struct {
	shardmap.Interval
	Fragments []shardmap.FragmentID
	Why       string
}

// Input is the picture of one database from which a plan is made.
type Input struct {
	Mode       Mode
	Map        *shardmap.Map
	Fragments  []Fragment
	Nodes      []Node  // of the fragments
	Cells      []Cell  // in order, each within one range of the map: see Clip
	Rules      []Rule  // in order; none overlaps another
	Tables     []Table // range tables
	Limits     Limits  // of their segments
	Fill       bool    // make shares even, however small: fragments were added or taken away
	Thresholds Thresholds
}

// Stat is a fragment's report about buckets from Lo to Hi. It may own only some of them.
type Stat struct {
	Fragment shardmap.FragmentID
	Cell
}

// Clip makes cells from the reports of fragments. Each report is limited to the ranges that its
// fragment owns; if these are several, it is divided by their lengths.
func Clip(m *shardmap.Map, stats []Stat) []Cell {
	ranges := m.Hashed()
	var out []Cell
	for _, s := range stats {
		first := sort.Search(len(ranges), func(i int) bool { return ranges[i].Hi > s.Lo })
		var parts []shardmap.Interval
		owned := 0
		for i := first; i < len(ranges) && ranges[i].Lo < s.Hi; i++ {
			if ranges[i].Fragment == s.Fragment {
				v := ranges[i].Interval.Intersect(s.Interval)
				parts, owned = append(parts, v), owned+v.Len()
			}
		}
		rest, left := s.Cell, owned
		for _, v := range parts {
			c := rest.part(v, left)
			out, rest, left = append(out, c), rest.minus(c), left-v.Len()
		}
	}
	slices.SortFunc(out, func(a, b Cell) int { return int(a.Lo) - int(b.Lo) })
	return merged(out)
}

// merged adds up the cells of the same buckets, which exist if several tables have rows there.
func merged(cells []Cell) []Cell {
	out := cells[:0]
	for _, c := range cells {
		if n := len(out); n > 0 && out[n-1].Interval == c.Interval {
			l := &out[n-1]
			l.Bytes, l.Documents, l.Reads, l.Writes =
				l.Bytes+c.Bytes, l.Documents+c.Documents, l.Reads+c.Reads, l.Writes+c.Writes
			l.Whole, l.Guessed = l.Whole || c.Whole, l.Guessed || c.Guessed
			continue
		}
		out = append(out, c)
	}
	return out
}

// part returns the part of a cell that is in the buckets v, if the cell is spread over n buckets.
func (c Cell) part(v shardmap.Interval, n int) Cell {
	if v.Len() == n {
		c.Interval = v
		return c
	}
	share := float64(v.Len()) / float64(n)
	return Cell{
		Interval: v, Bytes: int64(float64(c.Bytes) * share), Documents: int64(float64(c.Documents) * share),
		Reads: c.Reads * float32(share), Writes: c.Writes * float32(share), Whole: c.Whole,
		Guessed: c.Guessed || c.Whole && c.Bytes > 0,
	}
}

func (c Cell) minus(d Cell) Cell {
	c.Guessed = c.Guessed || d.Guessed
	c.Bytes, c.Documents, c.Reads, c.Writes =
		c.Bytes-d.Bytes, c.Documents-d.Documents, c.Reads-d.Reads, c.Writes-d.Writes
	return c
}
