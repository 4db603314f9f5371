package balance

import (
	"fmt"
	"slices"
)

// differ reports whether two fragments differ so much that a round begins (N1), or by a multiple of
// that. Fragments of equal weight are compared by their bytes, others by how far they are above
// their shares.
func (p *picture) differ(a, b *frag, times int64) bool {
	d := a.over() - b.over()
	if d < 0 {
		d, a, b = -d, b, a
	}
	if d < times*p.th.Floor {
		return false
	}
	return float64(d) > float64(times)*p.th.Share*float64(max(a.size, b.size)) || d > times*p.th.Large
}

// begins reports whether a round begins.
func (p *picture) begins() bool {
	if p.byBuckets {
		return false
	}
	for r := p.first; r != nil && r.next != nil; r = r.next {
		a, b := &p.frags[r.owner], &p.frags[r.next.owner]
		if r.owner != r.next.owner && r.touches(r.next) && !a.fixed && !b.fixed && p.differ(a, b, 1) {
			return true
		}
	}
	least, most := p.extremes()
	if least == nil {
		return false
	}
	// A fragment that owns nothing has no neighbours.
	return p.differ(most, least, 2) || len(least.runs) == 0 && p.differ(most, least, 1)
}

// extremes returns the fragments furthest below and above their shares.
func (p *picture) extremes() (least, most *frag) {
	for i := range p.frags {
		f := &p.frags[i]
		if f.fixed || f.Drains {
			continue
		}
		if least == nil || f.over() < least.over() {
			least = f
		}
		if most == nil || f.over() > most.over() {
			most = f
		}
	}
	return least, most
}

// band returns how far from its share a fragment may be when a round ends: a quarter of the
// difference that begins one, on each side (N2).
func (p *picture) band(f *frag) int64 {
	if p.in.Fill {
		return 0
	}
	b := int64(p.th.Share * float64(f.target) / 4)
	return min(max(b, p.th.Floor/4), p.th.Large/4)
}

// must returns how much a fragment has to lose, or to get, to be in the band around its share.
func (p *picture) must(f *frag) (give, take int64) {
	b := p.band(f)
	return max(f.over()-b, 0), max(-f.over()-b, 0)
}

func (p *picture) may(f *frag) (give, take int64) {
	b := p.band(f)
	return max(f.over()+b, 0), max(min(f.target+b, f.room)-f.size, 0)
}

// even plans a round: first between fragments that must shrink and fragments that must grow, then
// also with those that may, so that no more moves than necessary.
func (p *picture) even() {
	for _, amount := range []func(f, g *frag) int64{p.mutual, p.oneSided} {
		p.evenNeighbours(amount)
		p.evenFar(amount)
	}
}

// evenNeighbours moves from fragments that have too much to those that touch them and have too
// little, at the edge where they touch (N3).
func (p *picture) evenNeighbours(amount func(f, g *frag) int64) {
	for r := p.first; r != nil && r.next != nil; r = r.next {
		if r.owner == r.next.owner || !r.touches(r.next) {
			continue
		}
		a, b := r.owner, r.next.owner
		if p.frags[a].over() < p.frags[b].over() {
			a, b = b, a
		}
		p.transfer(a, b, p.amount(a, b, amount))
	}
}

// amount returns how much should move from a to b according to by.
func (p *picture) amount(a, b int, by func(f, g *frag) int64) int64 {
	f, g := &p.frags[a], &p.frags[b]
	if f.fixed || g.fixed || f.Drains || g.Drains {
		return 0
	}
	return by(f, g)
}

// mutual returns how much f must lose and g must get.
func (p *picture) mutual(f, g *frag) int64 {
	give, _ := p.must(f)
	_, take := p.must(g)
	return min(give, take)
}

// oneSided returns how much one of them must exchange, and both may.
func (p *picture) oneSided(f, g *frag) int64 {
	mustGive, _ := p.must(f)
	_, mustTake := p.must(g)
	mayGive, _ := p.may(f)
	_, mayTake := p.may(g)
	return min(max(mustGive, mustTake), mayGive, mayTake)
}

// evenFar moves from the largest to the smallest fragment until none must shrink or grow. It skips
// a fragment from which or to which nothing can move.
func (p *picture) evenFar(amount func(f, g *frag) int64) {
	left := make([]int, 0, len(p.frags))
	for i := range p.frags {
		if f := &p.frags[i]; !f.fixed && !f.Drains {
			left = append(left, i)
		}
	}
	slices.SortStableFunc(left, func(a, b int) int {
		x, y := p.frags[a].over(), p.frags[b].over()
		switch {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	stuck := make([]bool, len(p.frags))
	for range 4 * len(left) {
		a, b, n := p.furthest(left, stuck, amount)
		if n <= 0 {
			return
		}
		if p.transfer(a, b, n) == 0 {
			stuck[a] = true
		}
	}
}

// furthest returns the two fragments between which the most should move.
func (p *picture) furthest(among []int, stuck []bool, amount func(f, g *frag) int64) (from, to int, n int64) {
	from, to = -1, -1
	for _, i := range among {
		if !stuck[i] && (from < 0 || p.frags[i].over() > p.frags[from].over()) {
			from = i
		}
		if to < 0 || p.frags[i].over() < p.frags[to].over() {
			to = i
		}
	}
	if from < 0 || to < 0 || from == to {
		return 0, 0, 0
	}
	return from, to, p.amount(from, to, amount)
}

// transfer moves up to n from a to b, and returns how much it moved.
func (p *picture) transfer(a, b int, n int64) (moved int64) {
	if n <= 0 || !p.byBuckets && !p.in.Fill && n < p.th.SmallMove {
		return 0
	}
	why := p.why(a, b)
	near := min(n/16, p.th.Floor/8) // the last bit is not worth another range
	d := p.newDeal(a, b)
	for moved < n-near {
		r := d.cut(n - moved)
		if r == nil {
			return moved
		}
		moved += r.size(p)
		p.move(r, b, why)
		p.frags[b].runs = append(p.frags[b].runs, r)
		d.gone(r)
	}
	return moved
}

// why returns the reason of a move from a to b.
func (p *picture) why(a, b int) string {
	f, g := &p.frags[a], &p.frags[b]
	switch {
	case p.byBuckets:
		return fmt.Sprintf("%s owns more than its share of the buckets, %s less", f.Name, g.Name)
	case len(g.runs) == 0:
		return fmt.Sprintf("%s owns nothing yet; %s is the largest with %s", g.Name, f.Name, sized(f.bytes))
	}
	return fmt.Sprintf("%s has %s, %s more than %s", f.Name, sized(f.bytes), sized(f.bytes-g.bytes), g.Name)
}
