package balance

import (
	"slices"

	"github.com/sherddb/sherd/shardmap"
)

// cutAtRules returns the cells, cut at the edges of the rules: a cell across an edge is assumed to
// be even, as everywhere. Fragments count by groups of buckets, and rules begin and end within
// them.
func cutAtRules(cells []Cell, rules []Rule) []Cell {
	if len(rules) == 0 {
		return cells
	}
	edges := make([]uint32, 0, 2*len(rules))
	for _, r := range rules {
		edges = append(edges, r.Lo, r.Hi)
	}
	out := make([]Cell, 0, len(cells)+len(edges))
	at := 0
	for _, c := range cells {
		for at < len(edges) && edges[at] <= c.Lo {
			at++
		}
		for ; at < len(edges) && edges[at] < c.Hi; at++ {
			if edges[at] == c.Lo { // two rules touch
				continue
			}
			low := c.part(shardmap.Interval{Lo: c.Lo, Hi: edges[at]}, c.Len())
			rest := c.minus(low)
			rest.Interval = shardmap.Interval{Lo: edges[at], Hi: c.Hi}
			out, c = append(out, low), rest
		}
		out = append(out, c)
	}
	return out
}

// keepRuled sets the target of a fragment on which rules keep more than its share to what it has,
// and returns the other fragments and what is left for them. Otherwise the others would exchange
// buckets in every round, although no move can bring them to their shares.
func (p *picture) keepRuled(open []int, rest int64) ([]int, int64) {
	ruled := map[int]int64{}
	for r := p.first; r != nil; r = r.next {
		if len(r.only) == 1 {
			if i, ok := p.place[r.only[0]]; ok {
				ruled[i] += r.size(p)
			}
		}
	}
	for more := len(ruled) > 0; more; {
		weight := 0.0
		for _, i := range open {
			weight += p.frags[i].weight
		}
		more = false
		open = slices.DeleteFunc(open, func(i int) bool {
			f := &p.frags[i]
			if float64(ruled[i]) <= float64(rest)*f.weight/weight {
				return false
			}
			f.target, more = ruled[i], true
			rest, weight = rest-f.target, weight-f.weight
			return true
		})
	}
	return open, max(rest, 0)
}
