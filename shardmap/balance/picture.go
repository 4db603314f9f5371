package balance

import (
	"math"
	"slices"
	"sort"

	"github.com/sherddb/sherd/shardmap"
)

// picture is the state of a plan in the making: the cluster as it will be after the steps so far.
type picture struct {
	th        Thresholds
	in        *Input
	byBuckets bool // sizes are numbers of buckets, because there are too few bytes
	frags     []frag
	place     map[shardmap.FragmentID]int
	first     *run                     // in the order of buckets, behind them segments
	segments  map[shardmap.Bucket]*run // of Input.Tables
	total     int64
	nodes     map[uint32]*Node
	plan      Plan
}

// frag is a fragment and its share.
type frag struct {
	Fragment
	size   int64 // by the picture's measure
	bytes  int64
	heat   float64
	weight float64
	target int64
	room   int64 // how large it may become
	fixed  bool  // nothing moves to or from it
	lump   int64 // its largest cell that moves as a whole; above all sizes if one is too big to move
	runs   []*run
	stock  stock
}

// run is a range of the map, or the part of one to which a rule applies, and its data.
type run struct {
	shardmap.Interval
	owner      int // place of the fragment
	cells      []Cell
	only       []shardmap.FragmentID // that may own it; nil: all
	place      int                   // index among the fragment's runs, set by stockOf
	arrived    bool                  // this plan moves it to its owner, where it stays
	prev, next *run
}

func newPicture(in Input) *picture {
	in.Cells = cutAtRules(in.Cells, in.Rules)
	p := &picture{
		th: in.Thresholds.filled(), in: &in, place: map[shardmap.FragmentID]int{}, nodes: map[uint32]*Node{},
		segments: map[shardmap.Bucket]*run{},
	}
	p.plan.Epoch = in.Map.Epoch()
	for i := range in.Nodes {
		p.nodes[in.Nodes[i].ID] = &in.Nodes[i]
	}
	for i, f := range in.Fragments {
		p.place[f.ID] = i
		p.frags = append(p.frags, frag{Fragment: f, fixed: f.Frozen || p.silent(f)})
	}
	p.measure()
	p.layRuns()
	p.weigh()
	p.aim()
	return p
}

func (p *picture) silent(f Fragment) bool {
	if len(f.Nodes) == 0 {
		return false
	}
	n := p.nodes[f.Nodes[0]]
	return n != nil && n.Silent
}

// measure chooses between bytes and buckets. If fragments have to be filled and there is almost no
// data, future data will follow the number of buckets.
func (p *picture) measure() {
	if !p.in.Fill && !p.drains() {
		return
	}
	var bytes int64
	for _, c := range p.in.Cells {
		bytes += c.Bytes
	}
	for i := range p.in.Tables {
		for k := range p.in.Tables[i].Segments {
			bytes += p.in.Tables[i].Segments[k].Bytes
		}
	}
	p.byBuckets = bytes < p.th.Floor*int64(max(len(p.frags), 1))
}

func (p *picture) drains() bool {
	return slices.ContainsFunc(p.in.Fragments, func(f Fragment) bool { return f.Drains })
}

// layRuns makes the list of runs, and adds up what each fragment has.
func (p *picture) layRuns() {
	cells := p.in.Cells
	var last *run
	for _, r := range p.in.Map.Hashed() {
		owner, ok := p.place[r.Fragment]
		if !ok {
			continue
		}
		n := sort.Search(len(cells), func(i int) bool { return cells[i].Lo >= r.Hi })
		mine := cells[:n]
		cells = cells[n:]
		for _, v := range p.ruled(r.Interval) {
			k := sort.Search(len(mine), func(i int) bool { return mine[i].Lo >= v.Hi })
			x := &run{Interval: v.Interval, owner: owner, cells: mine[:k:k], only: v.Fragments, prev: last}
			mine = mine[k:]
			if p.byBuckets {
				x.cells = covered(v.Interval, x.cells)
			}
			if last == nil {
				p.first = x
			} else {
				last.next = x
			}
			last = x
			p.count(x)
		}
	}
	p.laySegments(last)
}

// count adds a run to its owner.
func (p *picture) count(x *run) {
	f := &p.frags[x.owner]
	f.runs = append(f.runs, x)
	for i := range x.cells {
		c := &x.cells[i]
		f.bytes += c.Bytes
		f.heat += c.heat()
		switch {
		case p.big(c):
			f.lump = math.MaxInt64
		case c.whole():
			f.lump = max(f.lump, p.sizeOf(c))
		}
	}
	size := x.size(p)
	f.size += size
	p.total += size
}

// covered returns cells together with empty ones in their gaps, for the measure by buckets.
func covered(v shardmap.Interval, cells []Cell) []Cell {
	out := make([]Cell, 0, 2*len(cells)+1)
	for _, c := range cells {
		if v.Lo < c.Lo {
			out = append(out, Cell{Interval: shardmap.Interval{Lo: v.Lo, Hi: c.Lo}})
		}
		out, v.Lo = append(out, c), c.Hi
	}
	if !v.Empty() {
		out = append(out, Cell{Interval: v})
	}
	return out
}

// ruled cuts a range at the edges of the rules.
func (p *picture) ruled(v shardmap.Interval) (out []Rule) {
	if len(p.in.Rules) == 0 {
		return []Rule{{Interval: v}}
	}
	for _, r := range p.in.Rules {
		x := r.Interval.Intersect(v)
		if x.Empty() {
			continue
		}
		if v.Lo < x.Lo {
			out = append(out, Rule{Interval: shardmap.Interval{Lo: v.Lo, Hi: x.Lo}})
		}
		out = append(out, Rule{Interval: x, Fragments: r.Fragments, Why: r.Why})
		v.Lo = x.Hi
	}
	if !v.Empty() {
		out = append(out, Rule{Interval: v})
	}
	return out
}

// sizeOf returns a cell's size in the picture's measure.
func (p *picture) sizeOf(c *Cell) int64 {
	if p.byBuckets {
		return int64(c.Len())
	}
	return c.Bytes
}

func (r *run) size(p *picture) (n int64) {
	for i := range r.cells {
		n += p.sizeOf(&r.cells[i])
	}
	return n
}

// weigh sets each fragment's weight: the mean over its nodes of the node's weight, divided by the
// number of the database's fragments on that node.
func (p *picture) weigh() {
	held := map[uint32]int{}
	for _, f := range p.frags {
		if f.Drains {
			continue
		}
		for _, n := range f.Nodes {
			held[n]++
		}
	}
	for i := range p.frags {
		f := &p.frags[i]
		if f.Drains {
			continue
		}
		sum := 0.0
		for _, n := range f.Nodes {
			sum += p.weightOf(n) / float64(held[n])
		}
		if f.weight = 1; len(f.Nodes) > 0 {
			f.weight = sum / float64(len(f.Nodes))
		}
	}
}

func (p *picture) weightOf(node uint32) float64 {
	if n := p.nodes[node]; n != nil && n.Weight > 0 {
		return n.Weight
	}
	return 1
}

// roomOf returns how large a fragment may become within the limits of its nodes. The fragments of a
// node share what the node has left.
func (p *picture) roomOf(f *frag, held map[uint32]int) int64 {
	room := int64(math.MaxInt64)
	if f.fixed {
		return f.size
	}
	if p.byBuckets {
		return room
	}
	for _, id := range f.Nodes {
		n := p.nodes[id]
		if n == nil {
			continue
		}
		if n.MaxBytes > 0 {
			room = min(room, max(f.size+(n.MaxBytes-n.Used)/int64(held[id]), 0))
		}
		if n.Full {
			room = min(room, f.size)
		}
	}
	return room
}

// aim sets the target of each fragment: the total in proportion to the weights, but not above its
// room (N5). The data of fixed fragments, and data that rules keep on one fragment, is not shared.
func (p *picture) aim() {
	held := map[uint32]int{}
	for _, f := range p.frags {
		for _, n := range f.Nodes {
			held[n]++
		}
	}
	var open []int
	rest := p.total
	for i := range p.frags {
		f := &p.frags[i]
		f.room = p.roomOf(f, held)
		switch {
		case f.fixed:
			f.target = f.size
			rest -= f.size
		case f.Drains:
		default:
			open = append(open, i)
		}
	}
	open, rest = p.keepRuled(open, rest)
	by := func(i int) float64 { return float64(p.frags[i].room) / p.frags[i].weight }
	slices.SortStableFunc(open, func(a, b int) int {
		switch x, y := by(a), by(b); {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	weight := 0.0
	for _, i := range open {
		weight += p.frags[i].weight
	}
	for _, i := range open {
		f := &p.frags[i]
		f.target = min(int64(float64(rest)*f.weight/weight), f.room)
		rest, weight = rest-f.target, weight-f.weight
	}
	if slack := int64(len(open)); rest > slack && len(open) > 0 && !p.byBuckets {
		p.noRoom(rest)
	}
}

// noRoom handles limits that leave too little room: everything stays where it is.
func (p *picture) noRoom(over int64) {
	p.plan.Advice = append(
		p.plan.Advice,
		Advice{"nodes", "the limits of the nodes leave no room for " + sized(over) + ": raise them or add a node"},
	)
	for i := range p.frags {
		if f := &p.frags[i]; !f.Drains {
			f.target = f.size
		}
	}
}

// over returns by how much a fragment exceeds its share; it is negative below the share.
func (f *frag) over() int64 { return f.size - f.target }
