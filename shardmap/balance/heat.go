package balance

import (
	"fmt"
	"math"
	"time"

	"github.com/sherddb/sherd/shardmap"
)

// SmoothOver is the time over which reads and writes are smoothed.
const SmoothOver = 10 * time.Minute

// Smooth returns the smoothed rate after a period in which the rate was now. Anything older than
// SmoothOver has little weight.
func Smooth(before, now float64, passed time.Duration) float64 {
	if passed <= 0 {
		return before
	}
	keep := math.Exp(-float64(passed) / float64(SmoothOver))
	return before*keep + now*(1-keep)
}

// mostLeaders bounds the changes of leaders in one plan.
const mostLeaders = 16

// cool spreads heat: by moving leadership first, then data (N7).
func (p *picture) cool() {
	load, share := p.load()
	if share <= 0 {
		return
	}
	for range mostLeaders {
		if !p.moveLeader(load, share) {
			break
		}
	}
	for i := range p.frags {
		if len(p.frags[i].Nodes) > 0 && p.isHot(load, share, p.frags[i].Nodes[0]) {
			p.spreadHeat(i)
		}
	}
}

// load returns the heat of each node from the fragments that it leads, and the share of a node of
// weight 1.
func (p *picture) load() (load map[uint32]float64, share float64) {
	load = map[uint32]float64{}
	weight := 0.0
	for id := range p.nodes {
		weight += p.weightOf(id)
	}
	total := 0.0
	for _, f := range p.frags {
		total += f.heat
		if len(f.Nodes) > 0 {
			load[f.Nodes[0]] += f.heat
		}
	}
	if weight == 0 {
		return load, 0
	}
	return load, total / weight
}

func (p *picture) isHot(load map[uint32]float64, share float64, node uint32) bool {
	mine := share * p.weightOf(node)
	return load[node] > mine*p.th.HeatFactor && load[node]-mine >= p.th.HeatFloor
}

// moveLeader moves the leadership of a fragment from the hottest node to another, if that makes the
// hotter of the two cooler by a tenth.
func (p *picture) moveLeader(load map[uint32]float64, share float64) bool {
	hottest, ok := uint32(0), false
	for _, n := range p.in.Nodes {
		if p.isHot(load, share, n.ID) && (!ok || load[n.ID]/p.weightOf(n.ID) > load[hottest]/p.weightOf(hottest)) {
			hottest, ok = n.ID, true
		}
	}
	if !ok {
		return false
	}
	best, to := -1, uint32(0)
	least := 0.9 * load[hottest] / p.weightOf(hottest)
	for i, f := range p.frags {
		if f.fixed || len(f.Nodes) < 2 || f.Nodes[0] != hottest || f.heat <= 0 {
			continue
		}
		for _, n := range f.Nodes[1:] {
			if x := p.nodes[n]; x == nil || x.Silent {
				continue
			}
			after := math.Max((load[hottest]-f.heat)/p.weightOf(hottest), (load[n]+f.heat)/p.weightOf(n))
			if after < least {
				best, to, least = i, n, after
			}
		}
	}
	if best < 0 {
		return false
	}
	f := &p.frags[best]
	p.plan.Steps = append(p.plan.Steps, Step{
		Kind: MoveLeader, Fragment: f.ID, Node: to,
		Reason: fmt.Sprintf(
			"node %d leads %.0f operations a second, its share is %.0f; %s has %.0f of them", hottest, load[hottest],
			share*p.weightOf(hottest), f.Name, f.heat,
		),
	})
	load[hottest], load[to] = load[hottest]-f.heat, load[to]+f.heat
	nodes := []uint32{to}
	for _, n := range f.Nodes {
		if n != to {
			nodes = append(nodes, n)
		}
	}
	f.Nodes = nodes
	return true
}

// mostPieces bounds the pieces that leave a hot fragment in one plan.
const mostPieces = 8

// spreadHeat moves hot buckets of a fragment to cooler ones, in exchange for as many bytes of
// cooler buckets.
func (p *picture) spreadHeat(from int) {
	mean := 0.0
	for _, f := range p.frags {
		mean += f.heat / float64(len(p.frags))
	}
	f := &p.frags[from]
	if f.fixed || p.byBuckets || f.heat <= mean*p.th.HeatFactor || f.heat-mean < p.th.HeatFloor {
		return
	}
	for n := 0; n < mostPieces && f.heat > mean*(1+p.th.HeatFactor)/2; n++ {
		to := p.coolerOf(from, mean)
		if to < 0 {
			return
		}
		if !p.tradeHeat(from, to, mean) {
			if n == 0 {
				p.plan.Advice = append(
					p.plan.Advice,
					Advice{
						f.Name,
						"a few buckets have most of its reads and writes, " +
							"and moving them would only move the heat: see sherd.hot_buckets",
					},
				)
			}
			return
		}
	}
}

// tradeHeat moves a hot piece of one fragment to another, and cooler pieces of about as many bytes
// back.
func (p *picture) tradeHeat(from, to int, mean float64) bool {
	f, g := &p.frags[from], &p.frags[to]
	r := p.hotPiece(from, to, math.Min(f.heat-mean, 1.2*mean-g.heat))
	if r == nil {
		return false
	}
	why := fmt.Sprintf("%s serves %.0f operations a second, %s %.0f", f.Name, f.heat, g.Name, g.heat)
	before := g.size
	p.move(r, to, why)
	g.runs = append(g.runs, r)
	back := min(g.size-before, g.over())
	p.transfer(to, from, back)
	return true
}

// coolerOf returns the coolest fragment that is on another node, touches the given one and is below
// the mean; if there is none, the coolest of all.
func (p *picture) coolerOf(from int, mean float64) int {
	best := -1
	f := &p.frags[from]
	better := func(i int) bool {
		g := &p.frags[i]
		return i != from && !g.fixed && !g.Drains && g.heat < mean && len(g.Nodes) > 0 && g.Nodes[0] != f.Nodes[0] &&
			(best < 0 || g.heat < p.frags[best].heat)
	}
	for _, r := range f.runs {
		for _, x := range []*run{r.prev, r.next} {
			if r.owner == from && x != nil && better(x.owner) {
				best = x.owner
			}
		}
	}
	if best >= 0 {
		return best
	}
	for i := range p.frags {
		if better(i) {
			best = i
		}
	}
	return best
}

// hotPiece cuts a piece with heat up to amount, if its bytes are hotter than those of the other
// fragment. Moving a piece of average heat would move bytes, but no heat.
func (p *picture) hotPiece(from, to int, amount float64) *run {
	f, g := &p.frags[from], &p.frags[to]
	usual := g.heat / float64(max(g.bytes, 1))
	for _, r := range p.givable(f.runs, from, to) {
		high, most := p.hotEnd(r, amount, g.room-g.size, usual, true)
		if low, h := p.hotEnd(r, amount, g.room-g.size, usual, false); h > most {
			high, most = low, h
		}
		if most == 0 {
			continue
		}
		if high.Hi < r.Hi {
			f.runs = append(f.runs, r.splitAt(p, high.Hi))
		}
		return r.splitAt(p, high.Lo)
	}
	return nil
}

// hotEnd returns the piece next to an end of a run, without the cool cells, that has between a
// quarter of the amount of heat and all of it, and at most so many bytes; and the heat of the
// piece. The heat is 0 if no piece has bytes at least twice as hot as usual.
func (p *picture) hotEnd(
	r *run, amount float64, bytes int64, usual float64, upper bool,
) (v shardmap.Interval, heat float64) {
	var size int64
	for i := range r.cells {
		c := &r.cells[i]
		if upper {
			c = &r.cells[len(r.cells)-1-i]
		}
		if v.Empty() && (p.big(c) || c.heat() <= 2*usual*float64(c.Bytes)) {
			continue
		}
		if heat+c.heat() > amount || size+c.Bytes > bytes || p.big(c) {
			break
		}
		if v.Empty() {
			v = c.Interval
		}
		heat, size = heat+c.heat(), size+c.Bytes
		v.Lo, v.Hi = min(v.Lo, c.Lo), max(v.Hi, c.Hi)
	}
	if heat < amount/4 || heat < 2*usual*float64(size) {
		return v, 0
	}
	return v, heat
}
