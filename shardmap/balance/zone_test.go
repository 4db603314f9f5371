package balance

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sherddb/sherd/shardmap"
)

// zoned adds rules to a cluster: an interval of length buckets at every multiple of every, which
// may be on at most most fragments.
func (c *cluster) zoned(r *rand.Rand, every, length uint32, most int) {
	for lo := uint32(1000); lo+length < shardmap.BucketCount; lo += every {
		rule := Rule{Interval: shardmap.Interval{Lo: lo, Hi: lo + length}, Why: fmt.Sprintf("zone %d", lo)}
		for range 1 + r.IntN(most) {
			f := shardmap.FragmentID(r.IntN(len(c.in.Fragments)) + 1)
			if !slices.Contains(rule.Fragments, f) {
				rule.Fragments = append(rule.Fragments, f)
			}
		}
		c.in.Rules = append(c.in.Rules, rule)
	}
}

// rulesOver returns the rules that parts of an interval are under.
func (c *cluster) rulesOver(v shardmap.Interval) (out []Rule) {
	for _, r := range c.in.Rules {
		if !r.Intersect(v).Empty() {
			out = append(out, r)
		}
	}
	return out
}

// obeyed makes sure that no step brings buckets to where they may not be, and carries the plan out.
func (c *cluster) obeyed(p Plan) {
	for _, s := range p.Steps {
		if s.Kind != MoveBuckets {
			continue
		}
		for _, r := range c.rulesOver(s.Interval) {
			if !slices.Contains(r.Fragments, s.To) {
				c.t.Fatalf("step %+v is against rule %+v", s, r)
			}
		}
	}
	c.apply(p)
}

// outside returns how many buckets are where a rule does not allow them.
func (c *cluster) outside() (n int) {
	for _, r := range c.in.Rules {
		for _, s := range c.in.Map.Split(shardmap.NewBucketSet(r.Interval)) {
			if !slices.Contains(r.Fragments, s.Fragment) {
				n += s.Buckets.Len()
			}
		}
	}
	return n
}

// TestZones: with rules over a part of the buckets, on skewed, growing and hot data, plans come to
// an end, what is outside goes inside with the first one, nothing ever leaves, and what no rule
// speaks of is still shared out. Zones of several fragments, which hold more than their shares,
// even out through each other, which takes more plans.
func TestZones(t *testing.T) {
	for _, set := range datasets {
		for _, most := range []int{1, 4} {
			for _, mode := range []Mode{Advise, Auto} {
				t.Run(fmt.Sprintf("%s, %s, %d", set.name, mode, most), func(t *testing.T) {
					r := rand.New(rand.NewPCG(3, 5))
					c := newCluster(t, 40, 256, set.fill(r))
					c.zoned(r, 20_000, 6_000, most)
					c.in.Mode = mode
					for range 3 {
						for i := range c.in.Cells { // it grows, and something else is hot
							c.in.Cells[i].Bytes = int64(float64(c.in.Cells[i].Bytes) * (1 + r.Float64()))
							c.in.Cells[i].Reads = 0
						}
						c.in.Cells[r.IntN(len(c.in.Cells))].Reads = 50_000
						c.settleZones(map[int]int{1: 12, 4: 300}[most])
					}
					c.shared()
				})
			}
		}
	}
}

// settleZones decides and carries out until buckets move no more; leaders are not played here.
func (c *cluster) settleZones(most int) {
	c.t.Helper()
	for plans := 0; ; plans++ {
		p := Decide(c.in)
		if !slices.ContainsFunc(p.Steps, func(s Step) bool { return s.Kind == MoveBuckets }) {
			return
		}
		if plans == most {
			c.t.Fatalf("after %d plans there is no end: %+v", plans, p.Steps[:min(len(p.Steps), 5)])
		}
		c.obeyed(p)
		if n := c.outside(); n > 0 {
			c.t.Fatalf("after plan %d, %d buckets are outside", plans, n)
		}
	}
}

// shared makes sure that fragments which have much have it by rules.
func (c *cluster) shared() {
	c.t.Helper()
	var total int64
	ruled := make([]int64, len(c.in.Fragments))
	for _, x := range c.in.Cells {
		if total += x.Bytes; len(c.rulesOver(x.Interval)) > 0 {
			ruled[c.in.Map.Lookup(shardmap.Bucket(x.Lo))-1] += x.Bytes
		}
	}
	share := total / int64(len(c.in.Fragments))
	for i, n := range c.bytes() {
		if n-ruled[i] > share*5/4 {
			c.t.Errorf(
				"fragment %d has %d MiB that no rule keeps there, where a share is %d", i+1, (n-ruled[i])/mib,
				share/mib,
			)
		}
	}
}

func TestCutAtRules(t *testing.T) {
	v := func(lo, hi uint32) shardmap.Interval { return shardmap.Interval{Lo: lo, Hi: hi} }
	cells := []Cell{
		{Interval: v(0, 10), Bytes: 100, Documents: 10}, {Interval: v(20, 30), Bytes: 50},
		{Interval: v(40, 41), Bytes: 7},
	}
	rules := []Rule{{Interval: v(2, 4)}, {Interval: v(4, 5)}, {Interval: v(15, 35)}, {Interval: v(40, 50)}}
	want := []Cell{
		{Interval: v(0, 2), Bytes: 20, Documents: 2}, {Interval: v(2, 4), Bytes: 20, Documents: 2},
		{Interval: v(4, 5), Bytes: 10, Documents: 1},
		{Interval: v(5, 10), Bytes: 50, Documents: 5}, {Interval: v(20, 30), Bytes: 50},
		{Interval: v(40, 41), Bytes: 7},
	}
	if got := cutAtRules(cells, rules); !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
	if got := cutAtRules(cells, nil); !slices.Equal(got, cells) {
		t.Errorf("without rules: %+v", got)
	}
}
