package balance

import (
	"cmp"
	"slices"

	"github.com/sherddb/sherd/shardmap"
)

// cut takes up to n out of a's runs, for b: from an edge that touches b, else from another edge, else from behind a bucket that is too big (N3, N4).
// It gives nil where nothing fits.
func (p *picture) cut(a, b int, n int64) *run {
	runs := p.givable(a, b)
	for _, r := range runs {
		if r.next != nil && r.next.owner == b {
			if x := p.fromHigh(r, n); x != nil {
				return x
			}
		}
		if r.prev != nil && r.prev.owner == b {
			if x := p.fromLow(r, n); x != nil {
				return x
			}
		}
	}
	// Among edges that touch no neighbour the run with most comes first: the fewest pieces.
	slices.SortStableFunc(runs, func(x, y *run) int {
		if x.segment() && y.segment() {
			return cmp.Compare(y.size(p), x.size(p))
		}
		return y.Len() - x.Len()
	})
	for _, r := range runs {
		if x := p.fromHigh(r, n); x != nil {
			return x
		}
		if x := p.fromLow(r, n); x != nil {
			return x
		}
	}
	if !p.frags[a].hasBig {
		return nil
	}
	for _, r := range runs {
		if x := p.inside(r, n); x != nil {
			return x
		}
	}
	return nil
}

// givable gives the runs of a that b may have.
func (p *picture) givable(a, b int) (out []*run) {
	for _, r := range p.frags[a].runs {
		if r.owner == a && !r.arrived && !r.Empty() && (r.only == nil || slices.Contains(r.only, p.frags[b].ID)) {
			out = append(out, r)
		}
	}
	return out
}

// enough tells whether a piece is worth a move of its own: not a few documents where megabytes are to go.
func (p *picture) enough(got, wanted int64) bool {
	return got > 0 && (p.byBuckets || p.in.Fill || got >= min(wanted, p.th.SmallMove))
}

// big tells whether the cell's buckets are too big to be moved. A segment has its own limit, and is split at it.
func (p *picture) big(c *Cell) bool {
	return !p.byBuckets && c.Lo < shardmap.BucketCount && c.Bytes/int64(c.Len()) > p.th.BigBucket
}

// fits gives how many of a cell's buckets fit into n.
func (p *picture) fits(c *Cell, n int64) int {
	size := p.sizeOf(c)
	switch {
	case p.big(c):
		return 0
	case size <= n:
		return c.Len()
	}
	return int(float64(c.Len()) * float64(n) / float64(size))
}

// fromHigh cuts a piece off the upper edge.
func (p *picture) fromHigh(r *run, n int64) *run {
	got, at, i := int64(0), r.Hi, len(r.cells)-1
	for ; i >= 0; i-- {
		c := &r.cells[i]
		k := p.fits(c, n-got)
		if k > 0 {
			got += int64(float64(p.sizeOf(c)) * float64(k) / float64(c.Len()))
			at = c.Hi - uint32(k)
		}
		if k < c.Len() {
			break
		}
	}
	if !p.enough(got, n) {
		return nil
	}
	if i < 0 {
		at = r.Lo
	}
	return r.splitAt(p, at)
}

// fromLow cuts a piece off the lower edge.
func (p *picture) fromLow(r *run, n int64) *run {
	got, at, i := int64(0), r.Lo, 0
	for ; i < len(r.cells); i++ {
		c := &r.cells[i]
		k := p.fits(c, n-got)
		if k > 0 {
			got += int64(float64(p.sizeOf(c)) * float64(k) / float64(c.Len()))
			at = c.Lo + uint32(k)
		}
		if k < c.Len() {
			break
		}
	}
	if !p.enough(got, n) {
		return nil
	}
	if i == len(r.cells) {
		at = r.Hi
	}
	if at >= r.Hi {
		return r
	}
	upper := r.splitAt(p, at)
	// The lower part goes; the upper stays with its owner.
	p.frags[upper.owner].runs = append(p.frags[upper.owner].runs, upper)
	return r
}

// inside splits a run behind a bucket that is too big and cuts a piece off what lies beyond.
func (p *picture) inside(r *run, n int64) *run {
	for i := len(r.cells) - 1; i > 0; i-- {
		c := &r.cells[i]
		if !p.big(c) {
			continue
		}
		below := &run{Interval: shardmap.Interval{Lo: r.Lo, Hi: c.Lo}, cells: r.cells[:i]}
		probe := p.measureHigh(below, n)
		if !p.enough(probe, n) {
			continue
		}
		upper := r.splitAt(p, c.Lo)
		p.frags[upper.owner].runs = append(p.frags[upper.owner].runs, upper)
		return p.fromHigh(r, n)
	}
	return nil
}

// measureHigh is how much could be cut off the upper edge.
func (p *picture) measureHigh(r *run, n int64) (got int64) {
	for i := len(r.cells) - 1; i >= 0; i-- {
		c := &r.cells[i]
		k := p.fits(c, n-got)
		got += int64(float64(p.sizeOf(c)) * float64(k) / float64(c.Len()))
		if k < c.Len() {
			break
		}
	}
	return got
}

// splitAt cuts a run in two at a bucket and gives the upper one, which follows the lower in the list; the whole run where there is no lower part.
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
