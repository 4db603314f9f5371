package balance

import (
	"cmp"
	"slices"

	"github.com/sherddb/sherd/shardmap"
)

// cut takes a piece of up to n out of the runs of a, for b. It tries an edge that touches b first,
// then other edges, then the part behind a bucket that is too big for the piece (N3, N4). It
// returns nil if nothing fits.
func (d *deal) cut(n int64) *run {
	if x := d.fromEdge(n); x != nil {
		return x
	}
	// Of the edges that touch no neighbour, the largest run comes first, because that needs the
	// fewest pieces.
	p := d.p
	ranges := p.givable(p.stockOf(d.a).ranges, d.a, d.b)
	if r := p.widest(ranges, n); r != nil {
		if x := p.fromHigh(r, n); x != nil {
			return x
		}
		return p.fromLow(r, n)
	}
	if r := p.largest(d.a, d.b, n); r != nil {
		return r
	}
	if p.frags[d.a].lump <= n {
		return nil
	}
	slices.SortStableFunc(ranges, p.wider)
	for _, r := range ranges {
		if x := p.inside(r, n); x != nil {
			return x
		}
	}
	return nil
}

// wider orders runs by size: ranges by their length, segments by their bytes.
func (p *picture) wider(x, y *run) int {
	if x.segment() && y.segment() {
		return cmp.Compare(y.size(p), x.size(p))
	}
	return y.Len() - x.Len()
}

// widest returns the first of the widest runs with an edge from which a piece can be cut, nil if
// there is none.
func (p *picture) widest(runs []*run, n int64) (best *run) {
	for _, r := range runs {
		if (best == nil || p.wider(r, best) < 0) && p.hasEdge(r, n) {
			best = r
		}
	}
	return best
}

// hasEdge reports whether a piece can be cut from an edge.
func (p *picture) hasEdge(r *run, n int64) bool {
	_, high := p.high(r, n)
	if p.enough(high, n) {
		return true
	}
	_, low := p.low(r, n)
	return p.enough(low, n)
}

// givable returns the runs that a has and b may have.
func (p *picture) givable(runs []*run, a, b int) (out []*run) {
	for _, r := range runs {
		if p.mayGo(r, a, b) {
			out = append(out, r)
		}
	}
	return out
}

// mayGo reports whether a has a run that b may have.
func (p *picture) mayGo(r *run, a, b int) bool {
	return r.owner == a && !r.arrived && !r.Empty() && (r.only == nil || slices.Contains(r.only, p.frags[b].ID))
}

// enough reports whether a piece is worth a move of its own: not if it is a few documents of the
// megabytes that should move.
func (p *picture) enough(got, wanted int64) bool {
	return got > 0 && (p.byBuckets || p.in.Fill || got >= min(wanted, p.th.SmallMove))
}

// big reports whether the cell's buckets are too big to be moved, or one of them may be. A segment
// has its own limit, and is split at it.
func (p *picture) big(c *Cell) bool {
	if c.Lo >= shardmap.BucketCount {
		return false
	}
	return c.Bytes > p.th.BigBucket && (c.whole() || c.Bytes/int64(c.Len()) > p.th.BigBucket)
}

// fits returns how many of a cell's buckets fit into n.
func (p *picture) fits(c *Cell, n int64) int {
	size := p.sizeOf(c)
	switch {
	case p.big(c):
		return 0
	case size <= n:
		return c.Len()
	case c.whole():
		return 0
	}
	return int(float64(c.Len()) * float64(n) / float64(size))
}

// high returns where a piece of up to n at the upper edge begins, and the size of the piece.
func (p *picture) high(r *run, n int64) (at uint32, got int64) {
	at = r.Hi
	for i := len(r.cells) - 1; i >= 0; i-- {
		c := &r.cells[i]
		k := p.fits(c, n-got)
		if k > 0 {
			got += int64(float64(p.sizeOf(c)) * float64(k) / float64(c.Len()))
			at = c.Hi - uint32(k)
		}
		if k < c.Len() {
			return at, got
		}
	}
	return r.Lo, got
}

// low returns where a piece of up to n at the lower edge ends, and the size of the piece.
func (p *picture) low(r *run, n int64) (at uint32, got int64) {
	at = r.Lo
	for i := range r.cells {
		c := &r.cells[i]
		k := p.fits(c, n-got)
		if k > 0 {
			got += int64(float64(p.sizeOf(c)) * float64(k) / float64(c.Len()))
			at = c.Lo + uint32(k)
		}
		if k < c.Len() {
			return at, got
		}
	}
	return r.Hi, got
}

// fromHigh cuts a piece from the upper edge.
func (p *picture) fromHigh(r *run, n int64) *run {
	at, got := p.high(r, n)
	if !p.enough(got, n) {
		return nil
	}
	return r.splitAt(p, at)
}

// fromLow cuts a piece from the lower edge.
func (p *picture) fromLow(r *run, n int64) *run {
	at, got := p.low(r, n)
	switch {
	case !p.enough(got, n):
		return nil
	case at >= r.Hi:
		return r
	}
	upper := r.splitAt(p, at)
	// The lower part moves; the upper part stays with its owner.
	p.frags[upper.owner].runs = append(p.frags[upper.owner].runs, upper)
	return r
}

// inside splits a run behind a bucket that is too big for n, or for any move, and cuts a piece from
// the part behind it.
func (p *picture) inside(r *run, n int64) *run {
	for i := len(r.cells) - 1; i > 0; i-- {
		c := &r.cells[i]
		if p.fits(c, n) == c.Len() || p.fits(&r.cells[i-1], n) == 0 {
			continue
		}
		below := &run{Interval: shardmap.Interval{Lo: r.Lo, Hi: c.Lo}, cells: r.cells[:i]}
		if _, got := p.high(below, n); !p.enough(got, n) {
			continue
		}
		upper := r.splitAt(p, c.Lo)
		p.frags[upper.owner].runs = append(p.frags[upper.owner].runs, upper)
		return p.fromHigh(r, n)
	}
	return nil
}

// splitAt cuts a run in two at a bucket and returns the upper part, which follows the lower one in
// the list. It returns the whole run if there is no lower part.
func (r *run) splitAt(p *picture, at uint32) *run {
	if at <= r.Lo {
		return r
	}
	upper := &run{Interval: shardmap.Interval{Lo: at, Hi: r.Hi}, owner: r.owner, only: r.only, prev: r, next: r.next}
	k, _ := slices.BinarySearchFunc(r.cells, at, func(c Cell, at uint32) int { return int(c.Lo) - int(at) })
	upper.cells = r.cells[k:]
	lower := r.cells[:k:k]
	if k > 0 && r.cells[k-1].Hi > at { // in the middle of a cell
		c := r.cells[k-1]
		low := c.part(shardmap.Interval{Lo: c.Lo, Hi: at}, c.Len())
		high := c.minus(low)
		high.Interval = shardmap.Interval{Lo: at, Hi: c.Hi}
		lower = append(slices.Clone(lower[:k-1]), low)
		upper.cells = append([]Cell{high}, upper.cells...)
	}
	if r.next != nil {
		r.next.prev = upper
	}
	r.next, r.cells, r.Hi = upper, lower, at
	return upper
}
