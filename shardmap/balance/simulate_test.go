package balance

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sherddb/sherd/shardmap"
)

// cluster is a simulated database: the true size and heat of every bucket, and who owns it.
type cluster struct {
	t     testing.TB
	in    Input
	moved int64
	width uint32 // of cells
}

// newCluster makes a database of n fragments, each led by a node of its own, with cells of width
// buckets filled by fill.
func newCluster(t testing.TB, n int, width uint32, fill func(bucket uint32) Cell) *cluster {
	ids := make([]shardmap.FragmentID, n)
	c := &cluster{t: t, width: width}
	for i := range ids {
		ids[i] = shardmap.FragmentID(i + 1)
		node := func(k int) uint32 { return uint32((i+k)%n + 1) }
		c.in.Fragments = append(
			c.in.Fragments,
			Fragment{ID: ids[i], Name: fmt.Sprintf("db$%d", i), Nodes: []uint32{node(0), node(1), node(2)}[:min(n, 3)]},
		)
		c.in.Nodes = append(c.in.Nodes, Node{ID: uint32(i + 1)})
	}
	c.in.Mode, c.in.Map = Advise, shardmap.NewInitialMap(ids)
	var stats []Cell
	for b := uint32(0); b < shardmap.BucketCount; b += width {
		x := fill(b)
		x.Interval = shardmap.Interval{Lo: b, Hi: b + width}
		stats = append(stats, x)
	}
	c.in.Cells = c.clip(stats)
	return c
}

// clip makes cells lie within ranges of the map.
func (c *cluster) clip(cells []Cell) []Cell {
	if c.width == 1 {
		return cells
	}
	var stats []Stat
	for _, x := range cells {
		for _, s := range c.in.Map.Split(shardmap.NewBucketSet(x.Interval)) {
			for _, v := range s.Buckets.Intervals() {
				stats = append(stats, Stat{s.Fragment, x.part(v, x.Len())})
			}
		}
	}
	return Clip(c.in.Map, stats)
}

// bytes returns what each fragment holds.
func (c *cluster) bytes() []int64 {
	out := make([]int64, len(c.in.Fragments))
	for _, x := range c.in.Cells {
		out[c.in.Map.Lookup(shardmap.Bucket(x.Lo))-1] += x.Bytes
	}
	return out
}

// perfect is what a plan moves that makes all equal and moves nothing twice.
func (c *cluster) perfect() (n int64) {
	b := c.bytes()
	var total int64
	for _, x := range b {
		total += x
	}
	for _, x := range b {
		n += max(x-total/int64(len(b)), 0)
	}
	return n
}

// apply carries a plan out.
func (c *cluster) apply(p Plan) {
	for _, s := range p.Steps {
		if s.Kind != MoveBuckets {
			continue
		}
		next, err := c.in.Map.Reassign(s.Interval, s.To)
		if err != nil {
			c.t.Fatal(err)
		}
		c.in.Map = next
		c.moved += s.Bytes
	}
	c.in.Cells = c.clip(c.in.Cells)
}

// settle decides and applies until there is nothing to do, and returns how many plans that took.
func (c *cluster) settle(most int) (rounds int) {
	for ; ; rounds++ {
		p := Decide(c.in)
		if len(p.Steps) == 0 {
			return rounds
		}
		if rounds == most {
			c.t.Fatalf("after %d plans there is still something to do: %+v", rounds, p.Steps[:min(len(p.Steps), 5)])
		}
		c.apply(p)
	}
}

// spread is by how much the largest exceeds the mean.
func (c *cluster) spread() float64 {
	b := c.bytes()
	var total, most int64
	for _, x := range b {
		total += x
		most = max(most, x)
	}
	return float64(most) * float64(len(b)) / float64(total)
}

// datasets are shapes of data over all buckets, about 10 MiB each.
var datasets = []struct {
	name string
	fill func(r *rand.Rand) func(b uint32) Cell
}{
	{"lognormal buckets", func(r *rand.Rand) func(b uint32) Cell {
		return func(uint32) Cell { return Cell{Bytes: int64(4 * mib * math.Exp(r.NormFloat64())), Documents: 1000} }
	}},
	{"a slope", func(*rand.Rand) func(b uint32) Cell {
		return func(b uint32) Cell { return Cell{Bytes: int64(b) * 20, Documents: int64(b) / 1000} }
	}},
	{"a tenth has nine tenths", func(r *rand.Rand) func(b uint32) Cell {
		return func(b uint32) Cell {
			if b < shardmap.BucketCount/10 {
				return Cell{Bytes: 90 * mib, Documents: 9000}
			}
			return Cell{Bytes: mib, Documents: 100}
		}
	}},
	{"tenants: heavy tail up to obese", func(r *rand.Rand) func(b uint32) Cell {
		return func(uint32) Cell {
			return Cell{Bytes: int64(min(math.Pow(r.Float64(), -0.9)*mib, 512*mib)), Documents: 10}
		}
	}},
	{"waves", func(*rand.Rand) func(b uint32) Cell {
		return func(b uint32) Cell {
			return Cell{Bytes: int64((1 + math.Sin(float64(b)/4000)) * 8 * mib), Documents: 5}
		}
	}},
}

// Skewed data over 1,000 nodes: one plan, at most a second one, and all is even; what moved is at
// most 1.25 times what a perfect plan moves.
func TestSkewed(t *testing.T) {
	for _, d := range datasets {
		t.Run(d.name, func(t *testing.T) {
			c := newCluster(t, 1000, 1, d.fill(rand.New(rand.NewPCG(1, 2))))
			perfect := c.perfect()
			rounds := c.settle(3)
			ratio := float64(c.moved) / float64(perfect)
			t.Logf(
				"%d plans, %s moved, %.3f of a perfect plan; largest is %.3f of the mean, %d ranges", rounds,
				sized(c.moved), ratio, c.spread(), len(c.in.Map.Ranges()),
			)
			if ratio > 1.25 {
				t.Errorf("moved %.3f times what a perfect plan moves", ratio)
			}
			if c.spread() > 1.06 {
				t.Errorf("the largest fragment is %.3f of the mean", c.spread())
			}
		})
	}
}

// Data that grows and shrinks at places that wander: what moves is bounded by what each change made
// uneven.
func TestGrowingAndShrinking(t *testing.T) {
	for _, grow := range []float64{1.5, 0.5} {
		t.Run(fmt.Sprint(grow), func(t *testing.T) {
			c := newCluster(t, 100, 16, func(uint32) Cell { return Cell{Bytes: 160 * mib, Documents: 1600} })
			r := rand.New(rand.NewPCG(3, 4))
			var perfect int64
			for range 20 {
				lo := r.Uint32N(shardmap.BucketCount)
				hi := lo + shardmap.BucketCount/20
				for i := range c.in.Cells {
					if x := &c.in.Cells[i]; x.Lo >= lo && x.Lo < hi {
						x.Bytes = int64(float64(x.Bytes) * grow)
					}
				}
				perfect += c.perfect()
				c.settle(4)
			}
			ratio := float64(c.moved) / float64(perfect)
			t.Logf(
				"%s moved, %.3f of perfect plans; largest is %.3f of the mean, %d ranges", sized(c.moved), ratio,
				c.spread(), len(c.in.Map.Ranges()),
			)
			if ratio > 1.25 || c.spread() > 1.06 {
				t.Errorf("moved %.3f times what perfect plans move, largest %.3f of the mean", ratio, c.spread())
			}
		})
	}
}

// Sizes that tremble by some percent begin no round once all is even: nothing goes to and fro.
func TestNoOscillation(t *testing.T) {
	c := newCluster(t, 50, 1, func(b uint32) Cell { return Cell{Bytes: int64(b) * 20} })
	c.settle(3)
	before := c.moved
	r := rand.New(rand.NewPCG(5, 6))
	base := append([]Cell(nil), c.in.Cells...)
	for range 30 {
		for i := range c.in.Cells {
			c.in.Cells[i].Bytes = int64(float64(base[i].Bytes) * (0.95 + 0.1*r.Float64()))
		}
		c.settle(1)
	}
	if c.moved != before {
		t.Errorf("%s moved though nothing changed in the long run", sized(c.moved-before))
	}
}

// In auto heat is spread as well, and comes to rest; sizes stay within what begins no round.
func TestHot(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	c := newCluster(t, 100, 1, func(b uint32) Cell {
		x := Cell{Bytes: 4 * mib, Reads: 1}
		if b < 20000 {
			x.Reads, x.Writes = 30*r.Float32(), 5*r.Float32()
		}
		return x
	})
	c.in.Mode = Auto
	rounds := c.settle(20)
	heat, total := make([]float64, len(c.in.Fragments)), 0.0
	for _, x := range c.in.Cells {
		heat[c.in.Map.Lookup(shardmap.Bucket(x.Lo))-1] += x.heat()
		total += x.heat()
	}
	most := slices.Max(heat) * float64(len(heat)) / total
	t.Logf("at rest after %d plans, %s moved, the hottest has %.2f of the mean", rounds, sized(c.moved), most)
	if most > 1.5 {
		t.Errorf("the hottest fragment has %.2f of the mean", most)
	}
	c.in.Mode = Advise
	if p := Decide(c.in); len(p.Steps) > 0 {
		t.Errorf("heat has made sizes uneven: %+v", p.Steps[0])
	}
}

// Where leadership alone cools a node, nothing else moves.
func TestHotLeaders(t *testing.T) {
	c := newCluster(t, 12, 256, func(b uint32) Cell { return Cell{Bytes: 400 * mib, Reads: 5} })
	c.in.Mode = Auto
	for _, f := range []shardmap.FragmentID{1, 2, 3} { // all have a replica on node 3
		c.lead(f, 3)
	}
	p := Decide(c.in)
	if len(p.Steps) != 2 {
		t.Fatalf("steps: %+v", p.Steps)
	}
	for _, s := range p.Steps {
		if s.Kind != MoveLeader {
			t.Errorf("step: %+v", s)
		}
		c.lead(s.Fragment, s.Node)
	}
	if p := Decide(c.in); len(p.Steps) > 0 {
		t.Errorf("still: %+v", p.Steps)
	}
	c.in.Mode = Advise
	c.lead(1, 3)
	if p := Decide(c.in); len(p.Steps) > 0 {
		t.Errorf("heat counts in advise: %+v", p.Steps)
	}
}

func (c *cluster) lead(f shardmap.FragmentID, node uint32) {
	for i := range c.in.Fragments {
		if x := &c.in.Fragments[i]; x.ID == f {
			nodes := []uint32{node}
			for _, n := range x.Nodes {
				if n != node {
					nodes = append(nodes, n)
				}
			}
			x.Nodes = nodes
		}
	}
}

func BenchmarkDecide(b *testing.B) {
	for _, d := range datasets {
		b.Run(d.name, func(b *testing.B) {
			c := newCluster(b, 1000, 1, d.fill(rand.New(rand.NewPCG(1, 2))))
			c.in.Mode = Auto
			for b.Loop() {
				Decide(c.in)
			}
		})
	}
	b.Run("even already", func(b *testing.B) {
		c := newCluster(b, 1000, 1, func(uint32) Cell { return Cell{Bytes: 10 * mib} })
		for b.Loop() {
			Decide(c.in)
		}
	})
}
