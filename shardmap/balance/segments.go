package balance

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/sherddb/sherd/shardmap"
)

// Limits are the size and the writes above which a segment of a range table is split; 0 is no
// limit.
type Limits struct {
	Size   int64   // bytes
	Writes float64 // a second
}

// Segments are split above a limit and merged below a part of it, so that the load has to double or
// halve before a change is undone: a part of a split segment has half of the limit, and merged
// segments have less than that together.
const mergeBelow = 0.5

// mostResegments bounds the splits, and the merges, of a table in one plan; mostMerged the segments
// that become one in a step.
const (
	mostResegments = 8
	mostMerged     = 32
)

// Table is a range table.
type Table struct {
	ID       uint32
	Name     string
	Segments []Segment // in the order of keys
}

// Segment is a segment as the balancer sees it.
type Segment struct {
	Bucket           shardmap.Bucket
	Fragment         shardmap.FragmentID
	Bytes, Documents int64
	Reads, Writes    float64 // a second, smoothed
	// Writes a second, over the last minutes (Watch); least is 0 and most infinite if they were not
	// watched for so long.
	Least, Most float64
	Kept        bool // a user asked for this split: it is not merged with the one before
	Pinned      bool // it is not merged, and parts of it could not go elsewhere
}

func (s *Segment) cell() Cell {
	return Cell{
		Interval: shardmap.OneBucket(s.Bucket), Bytes: s.Bytes, Documents: s.Documents, Reads: float32(s.Reads),
		Writes: float32(s.Writes),
	}
}

// laySegments adds one run for each segment: it touches no other run and moves as a whole.
func (p *picture) laySegments(last *run) {
	for i := range p.in.Tables {
		for k := range p.in.Tables[i].Segments {
			s := &p.in.Tables[i].Segments[k]
			owner, ok := p.place[s.Fragment]
			if !ok {
				continue
			}
			c := s.cell()
			x := &run{
				Interval: c.Interval, owner: owner, cells: []Cell{c}, only: p.ruled(c.Interval)[0].Fragments,
				prev: last,
			}
			if last == nil {
				p.first = x
			} else {
				last.next = x
			}
			last = x
			p.segments[s.Bucket] = x
			p.count(x)
		}
	}
}

// segment reports whether the run is a segment.
func (r *run) segment() bool { return r.Lo >= shardmap.BucketCount }

// touches reports whether two runs that follow each other are neighbours. Segments never are,
// because their numbers have no meaning.
func (r *run) touches(next *run) bool { return !next.segment() }

// resegment splits segments above the limits and merges those far below (N11). A segment that it
// splits or merges is not moved for another reason in the same plan.
func (p *picture) resegment() {
	if p.in.Mode == Off {
		return
	}
	for i := range p.in.Tables {
		p.splitSegments(&p.in.Tables[i])
		p.mergeSegments(&p.in.Tables[i])
	}
}

// free reports whether a segment may be split or merged now.
func (p *picture) free(s *Segment) bool {
	r := p.segments[s.Bucket]
	return r != nil && !r.arrived && !p.frags[r.owner].fixed && !p.frags[r.owner].Drains
}

// splitSegments splits the largest segments, and then those with the most writes.
func (p *picture) splitSegments(t *Table) {
	var large []*Segment
	for i := range t.Segments {
		if s := &t.Segments[i]; p.free(s) && s.Documents > 1 && (p.tooLarge(s) || p.tooHot(s)) {
			large = append(large, s)
		}
	}
	slices.SortStableFunc(large, func(a, b *Segment) int {
		if p.tooLarge(a) != p.tooLarge(b) {
			return map[bool]int{true: -1, false: 1}[p.tooLarge(a)]
		}
		switch d := b.Bytes - a.Bytes; {
		case d < 0:
			return -1
		case d > 0:
			return 1
		}
		return 0
	})
	for _, s := range large[:min(len(large), mostResegments)] {
		why := fmt.Sprintf(
			"a segment of %s has %s; sherd.segment_size is %s", t.Name, sized(s.Bytes), sized(p.in.Limits.Size),
		)
		if !p.tooLarge(s) {
			why = fmt.Sprintf(
				"%.0f writes a second go to a segment of %s; sherd.segment_writes is %.0f", s.Least, t.Name,
				p.in.Limits.Writes,
			)
		}
		p.resegmented(SplitSegment, t, s, s, 1, s.Bytes, s.Documents, why)
		p.plan.Steps[len(p.plan.Steps)-1].ByWrites = !p.tooLarge(s)
	}
}

func (p *picture) tooLarge(s *Segment) bool {
	return p.in.Limits.Size > 0 && s.Bytes > p.in.Limits.Size
}

// tooHot reports whether a segment should be split because of its writes. Parts help only if one of
// them can move to another fragment.
func (p *picture) tooHot(s *Segment) bool {
	if p.in.Limits.Writes <= 0 || s.Least <= p.in.Limits.Writes || s.Pinned {
		return false
	}
	takers := 0
	for i := range p.frags {
		if f := &p.frags[i]; !f.fixed && !f.Drains {
			takers++
		}
	}
	return takers > 1
}

// mergeSegments merges neighbours that are small and cold together. They first move to the fragment
// that has most of their bytes.
func (p *picture) mergeSegments(t *Table) {
	steps := 0
	for at := 0; at < len(t.Segments) && steps < mostResegments; {
		n := p.together(t.Segments[at:])
		if n > 1 {
			p.merge(t, t.Segments[at:at+n])
			steps++
		}
		at += n
	}
}

// together returns how many of the first segments of a list should be merged; 1 if the first stays
// as it is.
func (p *picture) together(list []Segment) int {
	if !p.mergeable(&list[0]) {
		return 1
	}
	bytes, most := float64(list[0].Bytes), list[0].Most
	n := 1
	for ; n < min(len(list), mostMerged); n++ {
		s := &list[n]
		if s.Kept || !p.mergeable(s) {
			break
		}
		bytes, most = bytes+float64(s.Bytes), most+s.Most
		if bytes >= mergeBelow*float64(p.in.Limits.Size) ||
			p.in.Limits.Writes > 0 && most >= mergeBelow*p.in.Limits.Writes {
			break
		}
	}
	return n
}

func (p *picture) mergeable(s *Segment) bool {
	return p.in.Limits.Size > 0 && p.free(s) && !s.Pinned && p.segments[s.Bucket].only == nil &&
		(p.in.Limits.Writes <= 0 || !math.IsInf(s.Most, 1))
}

func (p *picture) merge(t *Table, list []Segment) {
	held := map[int]int64{}
	to := p.segments[list[0].Bucket].owner
	var bytes, docs int64
	for i := range list {
		s := &list[i]
		at := p.segments[s.Bucket].owner
		held[at] += s.Bytes + 1 // of empty ones the number counts
		if held[at] > held[to] {
			to = at
		}
		bytes, docs = bytes+s.Bytes, docs+s.Documents
	}
	for i := range list {
		r := p.segments[list[i].Bucket]
		if r.owner != to {
			p.move(r, to, "it is to be one with its neighbour in "+t.Name)
			p.frags[to].runs = append(p.frags[to].runs, r)
		}
	}
	why := fmt.Sprintf(
		"%d neighbouring segments of %s have %s together; sherd.segment_size is %s", len(list), t.Name, sized(bytes),
		sized(p.in.Limits.Size),
	)
	p.resegmented(MergeSegments, t, &list[0], &list[len(list)-1], len(list), bytes, docs, why)
}

// resegmented adds a step that splits or merges count segments, from first to last.
func (p *picture) resegmented(kind Kind, t *Table, first, last *Segment, count int, bytes, docs int64, why string) {
	on := false
	for i := range t.Segments {
		s := &t.Segments[i]
		on = on || s == first
		if on {
			p.segments[s.Bucket].arrived = true
		}
		if s == last {
			break
		}
	}
	f := p.frags[p.segments[first.Bucket].owner].ID
	p.plan.Steps = append(p.plan.Steps, Step{
		Kind: kind, From: f, To: f, Table: t.ID, First: first.Bucket, Last: last.Bucket, Count: count, Bytes: bytes,
		Documents: docs,
		Seconds:   p.seconds(bytes), Reason: why,
	})
}

// evenLarge moves from the fragment furthest above its share to the one furthest below if they
// differ so much that a round would begin: a segment or a bucket that is larger than what should
// move, but brings the two nearer to each other.
func (p *picture) evenLarge() {
	for range 4 * len(p.frags) {
		least, most := p.extremes()
		if least == nil || !p.differ(most, least, 1) {
			return
		}
		d := most.over() - least.over()
		from, to := p.place[most.ID], p.place[least.ID]
		limit := min(3*d/4, least.room-least.size)
		best := p.nearestTo(d/2, limit, from, to)
		if r, at := p.nearestBucket(d/2, limit, from, to); r != nil &&
			(best == nil || far(r.cells[at].Bytes, d/2) < far(best.size(p), d/2)) {
			best = p.cutOut(r, at)
		}
		if best == nil {
			return
		}
		p.move(best, to, p.why(from, to))
		least.runs = append(least.runs, best)
	}
}

func far(a, b int64) int64 { return max(a-b, b-a) }

// nearestBucket finds the cell, of those that are moved as a whole, of a for b whose size is
// nearest to one, and no larger than most.
func (p *picture) nearestBucket(size, most int64, a, b int) (in *run, at int) {
	for _, r := range p.givable(p.stockOf(a).ranges, a, b) {
		for i := range r.cells {
			c := &r.cells[i]
			if n := p.sizeOf(c); !c.whole() || p.big(c) || n > most || n < p.th.SmallMove {
				continue
			}
			if in == nil || far(p.sizeOf(c), size) < far(p.sizeOf(&in.cells[at]), size) {
				in, at = r, i
			}
		}
	}
	return in, at
}

// cutOut makes a run of a cell of another one; the rest stays with its owner.
func (p *picture) cutOut(r *run, at int) *run {
	f, v := &p.frags[r.owner], r.cells[at].Interval
	if v.Hi < r.Hi {
		f.runs = append(f.runs, r.splitAt(p, v.Hi))
	}
	x := r.splitAt(p, v.Lo)
	if x != r {
		f.runs = append(f.runs, x)
	}
	return x
}

// spreadSegments evens out how many segments of a table the fragments have, where the table is so
// small that bytes say nothing (N10).
func (p *picture) spreadSegments() {
	for i := range p.in.Tables {
		t := &p.in.Tables[i]
		count, bytes := map[shardmap.FragmentID]int{}, int64(0)
		for k := range p.frags {
			if f := &p.frags[k]; !f.fixed && !f.Drains {
				count[f.ID] = 0
			}
		}
		for k := range t.Segments {
			if r := p.segments[t.Segments[k].Bucket]; r != nil {
				if f := p.frags[r.owner].ID; hasKey(count, f) {
					count[f]++
				}
			}
			bytes += t.Segments[k].Bytes
		}
		if bytes >= p.th.Floor && !p.byBuckets || p.merged(t) {
			continue
		}
		p.spreadTable(t, EvenSegments(count, p.in.Fill))
	}
}

func (p *picture) spreadTable(t *Table, moves []SegmentMove) {
	if len(moves) == 0 {
		return
	}
	bySize := p.bySize(t)
	for _, m := range moves {
		from := p.place[m.From]
		for len(bySize[from]) > 0 && bySize[from][0].arrived {
			bySize[from] = bySize[from][1:]
		}
		if !p.spreadOne(t, bySize[from], from, p.place[m.To]) {
			return
		}
	}
}

// bySize returns the segments of a table by the fragments that have them, the smallest first.
func (p *picture) bySize(t *Table) map[int][]*run {
	out := map[int][]*run{}
	for k := range t.Segments {
		if r := p.segments[t.Segments[k].Bucket]; r != nil && !r.arrived {
			out[r.owner] = append(out[r.owner], r)
		}
	}
	for _, list := range out {
		slices.SortStableFunc(list, func(x, y *run) int { return cmp.Compare(x.cells[0].Bytes, y.cells[0].Bytes) })
	}
	return out
}

// merged reports whether segments of a table are merged by the plan: how many there are is seen by
// the next.
func (p *picture) merged(t *Table) bool {
	return slices.ContainsFunc(p.plan.Steps, func(s Step) bool { return s.Kind == MergeSegments && s.Table == t.ID })
}

func hasKey(m map[shardmap.FragmentID]int, f shardmap.FragmentID) bool {
	_, ok := m[f]
	return ok
}

// spreadOne moves the smallest segment of a table, the first of those given, that may go from one
// fragment to another and does not make sizes uneven by that.
func (p *picture) spreadOne(t *Table, bySize []*run, from, to int) bool {
	var least *run
	if at := slices.IndexFunc(bySize, func(r *run) bool { return p.mayGo(r, from, to) }); at >= 0 {
		least = bySize[at]
	}
	if least == nil || !p.staysEven(from, to, least.size(p)) {
		return false
	}
	p.move(least, to, fmt.Sprintf("%s has more segments of %s than %s", p.frags[from].Name, t.Name, p.frags[to].Name))
	p.frags[to].runs = append(p.frags[to].runs, least)
	return true
}

// staysEven reports whether so much may go to another fragment without beginning a round, or for
// the better.
func (p *picture) staysEven(from, to int, size int64) bool {
	f, g := &p.frags[from], &p.frags[to]
	if p.byBuckets || g.over()+size <= f.over()-size {
		return true
	}
	if g.size+size > g.room {
		return false
	}
	least, most := p.extremes()
	return max(most.over(), g.over()+size)-min(least.over(), f.over()-size) < p.th.Floor
}
