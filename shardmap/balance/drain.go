package balance

import (
	"fmt"
	"slices"
)

// obeyRules moves buckets from fragments where a rule forbids them to fragments where they are
// allowed (N6).
func (p *picture) obeyRules() {
	if len(p.in.Rules) == 0 {
		return
	}
	for r := p.first; r != nil; r = r.next {
		f := &p.frags[r.owner]
		if r.only == nil || f.fixed || slices.Contains(r.only, f.ID) {
			continue
		}
		to := -1
		for _, id := range r.only {
			i, ok := p.place[id]
			if ok && !p.frags[i].fixed && !p.frags[i].Drains && (to < 0 || p.frags[i].over() < p.frags[to].over()) {
				to = i
			}
		}
		if to < 0 {
			p.plan.Advice = append(
				p.plan.Advice,
				Advice{"buckets " + r.Interval.String(), "the fragments on which they may be do not take them"},
			)
			continue
		}
		p.move(r, to, p.ruleOf(r)+" places these buckets on "+p.frags[to].Name)
		p.frags[to].runs = append(p.frags[to].runs, r)
	}
}

// ruleOf names the rule that applies to a run.
func (p *picture) ruleOf(r *run) string {
	for _, x := range p.in.Rules {
		if !x.Intersect(r.Interval).Empty() {
			if x.Why != "" {
				return x.Why
			}
		}
	}
	return "a rule"
}

// drain moves everything away from fragments that shall own nothing: first to the fragments that
// touch them, as far as their shares allow, then to the fragment with the most room. Buckets of any
// size move here.
func (p *picture) drain() {
	for i := range p.frags {
		f := &p.frags[i]
		if !f.Drains || f.fixed {
			continue
		}
		why := f.Name + " is being emptied"
		for _, r := range slices.Clone(f.runs) {
			for r != nil && r.owner == i {
				r = p.drainPiece(i, r, why)
			}
		}
	}
}

// drainPiece moves a piece of a run away, and returns the rest of the run.
func (p *picture) drainPiece(from int, r *run, why string) (rest *run) {
	to, low := p.takerOf(r)
	if to < 0 {
		p.plan.Advice = append(
			p.plan.Advice, Advice{p.frags[from].Name, "no fragment can take buckets " + r.Interval.String()},
		)
		return nil
	}
	room := p.frags[to].target - p.frags[to].size
	piece, rest := r, (*run)(nil)
	if r.size(p) > room {
		if low {
			if x := p.fromLow(r, room); x != nil && x.next != nil && x.next.owner == from && x.Hi == x.next.Lo {
				piece, rest = x, x.next
			}
		} else if x := p.fromHigh(r, room); x != nil && x != r {
			piece, rest = x, r
		}
		// the cell at the edge is larger than the room, and moves by itself
		if piece == r && rest == nil && room > 0 && len(r.cells) > 1 {
			piece, rest = r.offEdge(p, low)
			to = p.roomiest(piece)
		}
	}
	p.move(piece, to, why)
	p.frags[to].runs = append(p.frags[to].runs, piece)
	return rest
}

// takerOf returns the fragment that takes the next piece of a run, and the edge to cut it from.
func (p *picture) takerOf(r *run) (to int, low bool) {
	may := func(i int) bool { return p.mayTake(i, r) }
	worth := func(i int) bool { return p.frags[i].target-p.frags[i].size >= max(p.frags[i].target/64, 1) }
	if r.prev != nil && may(r.prev.owner) && worth(r.prev.owner) {
		return r.prev.owner, true
	}
	if r.next != nil && may(r.next.owner) && worth(r.next.owner) {
		return r.next.owner, false
	}
	return p.roomiest(r), false
}

// mayTake reports whether a fragment may take a run from a fragment that is being emptied.
func (p *picture) mayTake(i int, r *run) bool {
	f := &p.frags[i]
	return !f.fixed && !f.Drains && (r.only == nil || slices.Contains(r.only, f.ID)) && f.size < f.room
}

// roomiest returns the fragment furthest below its share that may take a run; -1 if none may.
func (p *picture) roomiest(r *run) int {
	to := -1
	for i := range p.frags {
		if p.mayTake(i, r) && (to < 0 || p.frags[i].over() < p.frags[to].over()) {
			to = i
		}
	}
	return to
}

// offEdge cuts the cell at an edge from a run that has several cells.
func (r *run) offEdge(p *picture, low bool) (piece, rest *run) {
	if low {
		rest = r.splitAt(p, r.cells[0].Hi)
		return r, rest
	}
	return r.splitAt(p, r.cells[len(r.cells)-1].Lo), r
}

// adviseBig adds advice about fragments that stay above the band because of buckets that are too
// big to be moved.
func (p *picture) adviseBig() {
	if p.byBuckets {
		return
	}
	for i := range p.frags {
		f := &p.frags[i]
		if f.fixed || f.Drains || f.over() < p.th.Floor {
			continue
		}
		n, bytes := 0, int64(0)
		for _, r := range f.runs {
			for k := range r.cells {
				if c := &r.cells[k]; r.owner == i && c.Len() == 1 && p.big(c) {
					n, bytes = n+1, bytes+c.Bytes
				}
			}
		}
		if n > 0 {
			p.plan.Advice = append(
				p.plan.Advice,
				Advice{
					f.Name,
					fmt.Sprintf(
						"%d buckets above %s hold %s and are not moved: see sherd.obese_buckets", n,
						sized(p.th.BigBucket), sized(bytes),
					),
				},
			)
		}
	}
}
