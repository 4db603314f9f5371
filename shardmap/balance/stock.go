package balance

import (
	"cmp"
	"iter"
	"slices"
	"sort"
)

// stock is what a fragment has at the beginning and may hand over. It may have thousands of
// segments and hand over most of them, so the next one is found without a search through all: a
// segment moves as a whole and keeps its size.
type stock struct {
	seen     int    // runs of the fragment that have been looked at
	ranges   []*run // of hashed buckets, in the order of the fragment's runs
	segments []*run // the largest first, of one size in that order
	left     []int  // by index in segments: all from there up to this one have moved away
}

// stockOf returns a fragment's stock as it is now.
func (p *picture) stockOf(a int) *stock {
	f := &p.frags[a]
	s, before := &f.stock, len(f.stock.segments)
	for ; s.seen < len(f.runs); s.seen++ {
		r := f.runs[s.seen]
		if r.owner != a || r.arrived {
			continue
		}
		if r.place = s.seen; r.segment() {
			s.segments = append(s.segments, r)
		} else {
			s.ranges = append(s.ranges, r)
		}
	}
	if len(s.segments) > before {
		slices.SortStableFunc(s.segments, p.wider)
		s.left = make([]int, len(s.segments)+1)
		for i := range s.left {
			s.left[i] = i
		}
	}
	return s
}

// from returns the index of the first segment at or after i that has not moved away, as far as is
// known.
func (s *stock) from(i int) int {
	to := i
	for s.left[to] != to {
		to = s.left[to]
	}
	for s.left[i] != to {
		s.left[i], i = to, s.left[i]
	}
	return to
}

// upTo returns the segments of a that b may have and that are no larger than n, the largest first.
func (p *picture) upTo(a, b int, n int64) iter.Seq[*run] {
	return func(yield func(*run) bool) {
		s := p.stockOf(a)
		i := sort.Search(len(s.segments), func(i int) bool { return s.segments[i].size(p) <= n })
		for ; i < len(s.segments); i++ {
			if i = s.from(i); i == len(s.segments) {
				return
			}
			r := s.segments[i]
			if r.owner != a || r.arrived {
				s.left[i] = i + 1
			} else if p.mayGo(r, a, b) && !yield(r) {
				return
			}
		}
	}
}

// largest returns the largest segment of a for b that is no larger than n; nil if none is worth a
// move.
func (p *picture) largest(a, b int, n int64) *run {
	for r := range p.upTo(a, b, n) {
		if !p.enough(r.size(p), n) {
			return nil
		}
		return r
	}
	return nil
}

// nearestTo returns the segment of a for b whose size is nearest to one, and no larger than most;
// nil if none is worth a move.
func (p *picture) nearestTo(size, most int64, a, b int) (best *run) {
	off := func(r *run) int64 { return max(r.size(p)-size, size-r.size(p)) }
	for r := range p.upTo(a, b, most) {
		if n := r.size(p); n < p.th.SmallMove || best != nil && n < size && off(r) > off(best) {
			break
		}
		if best == nil || cmp.Or(cmp.Compare(off(r), off(best)), byPlace(r, best)) < 0 {
			best = r
		}
	}
	return best
}

// deal is a transfer from a to b under way, with those runs of a that touch b, in order.
type deal struct {
	p     *picture
	a, b  int
	edges []*run
}

func (p *picture) newDeal(a, b int) *deal {
	d := &deal{p: p, a: a, b: b}
	p.stockOf(a)
	for _, r := range p.frags[b].runs {
		if r.owner == b {
			d.edges = append(d.edges, d.beside(r)...)
		}
	}
	slices.SortFunc(d.edges, byPlace)
	d.edges = slices.Compact(d.edges)
	return d
}

func byPlace(x, y *run) int { return x.place - y.place }

// beside returns the neighbours of a run that may go.
func (d *deal) beside(r *run) (out []*run) {
	for _, x := range [...]*run{r.prev, r.next} {
		if x != nil && d.p.mayGo(x, d.a, d.b) {
			out = append(out, x)
		}
	}
	return out
}

// gone takes note that a run has gone to b.
func (d *deal) gone(r *run) {
	d.p.stockOf(d.a) // what was cut off is in it too
	for _, x := range d.beside(r) {
		if at, found := slices.BinarySearchFunc(d.edges, x, byPlace); !found {
			d.edges = slices.Insert(d.edges, at, x)
		}
	}
}

// fromEdge cuts up to n off the first run that touches b and from which it can be cut; nil if there
// is none. Edges from which nothing can be cut now are forgotten, for n only falls.
func (d *deal) fromEdge(n int64) (x *run) {
	kept := d.edges[:0]
	for i, r := range d.edges {
		if !d.p.mayGo(r, d.a, d.b) {
			continue
		}
		var most int64
		if r.next != nil && r.next.owner == d.b {
			_, most = d.p.high(r, n)
			x = d.p.fromHigh(r, n)
		}
		if x == nil && r.prev != nil && r.prev.owner == d.b {
			_, got := d.p.low(r, n)
			most = max(most, got)
			x = d.p.fromLow(r, n)
		}
		if most > 0 {
			kept = append(kept, r)
		}
		if x != nil {
			kept = append(kept, d.edges[i+1:]...)
			break
		}
	}
	d.edges = kept
	return x
}
