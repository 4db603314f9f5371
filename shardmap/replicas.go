package shardmap

import "slices"

// Site is a node as the placement of replicas sees it.
type Site struct {
	ID     uint32
	Zone   string // label zone; "" is none
	Labels map[string]string
	Holds  bool // it may have replicas
	Silent bool // it does not answer now: nothing is assigned to it
	Dead   bool // it was silent for so long that its replicas have to be replaced
	Drains bool // its replicas are moved to other nodes
}

// ReplicaSet has the nodes of a fragment's replicas.
type ReplicaSet struct {
	Fragment FragmentID
	Want     int
	On       []uint32 // the only nodes that may have a replica; none: any may
	Labels   LabelRule
	Nodes    []uint32 // the first should lead
	Joining  []uint32 // of Nodes
	Leaving  []uint32 // of Nodes
}

// maxPlacing is how many fragments may have replicas under way at a time.
const maxPlacing = 4

// NextPlacement returns a fragment's replicas as they should be next. It returns false if
// everything is as it should be, or enough is under way. It looks for, in this order: replicas
// under way to a node that is gone; fragments with too few replicas or with lost ones; fragments
// with too many; two replicas in a zone while another zone has none; nodes with more replicas than
// others; and nodes with more leaders than others.
func NextPlacement(sites []Site, sets []ReplicaSet) (ReplicaSet, bool) {
	p := newPlacing(sites, sets)
	for _, s := range sets {
		if next, ok := p.cancel(s); ok {
			return next, true
		}
	}
	if p.busy < maxPlacing && !p.mostSilent() {
		for _, step := range []func(ReplicaSet) (ReplicaSet, bool){p.mend, p.shrink, p.spread, p.even} {
			for _, s := range sets {
				if len(s.Joining)+len(s.Leaving) > 0 || p.replacing && p.lost(s) {
					continue
				}
				if next, ok := step(s); ok {
					return next, true
				}
			}
		}
	}
	for _, s := range sets {
		if next, ok := p.lead(s); ok {
			return next, true
		}
	}
	return ReplicaSet{}, false
}

// FirstPlacement returns the nodes of a new fragment, chosen from the nodes that a rule allows,
// with the future leader first; load is how much each node has already.
func FirstPlacement(sites []Site, sets []ReplicaSet, want int, labels LabelRule) []uint32 {
	p := newPlacing(sites, sets)
	var out []uint32
	for len(out) < max(want, 1) {
		n, ok := p.best(ReplicaSet{Nodes: out, Labels: labels})
		if !ok {
			break
		}
		out = append(out, n)
	}
	slices.SortStableFunc(out, func(a, b uint32) int { return p.leaders[a] - p.leaders[b] })
	return out
}

// placing is a decision under way.
type placing struct {
	sites     map[uint32]Site
	order     []uint32
	replicas  map[uint32]int // by node, those that leave left out
	leaders   map[uint32]int // by node, of those that should lead
	busy      int
	replacing bool // a replica of a node that is gone is being replaced
}

func newPlacing(sites []Site, sets []ReplicaSet) *placing {
	p := &placing{sites: map[uint32]Site{}, replicas: map[uint32]int{}, leaders: map[uint32]int{}}
	for _, s := range sites {
		p.sites[s.ID] = s
		p.order = append(p.order, s.ID)
	}
	slices.Sort(p.order)
	for _, s := range sets {
		for _, n := range s.staying() {
			p.replicas[n]++
		}
		if len(s.Nodes) > 0 {
			p.leaders[s.Nodes[0]]++
		}
		if len(s.Joining)+len(s.Leaving) > 0 && !p.leaderless(s) {
			p.busy++
			p.replacing = p.replacing || p.lost(s)
		}
	}
	return p
}

// mostSilent reports whether a majority of the nodes does not answer. Then nothing is replaced,
// because the network, or this node, is probably slow. Nodes that an operator drains do not count:
// after unsafe recovery most nodes are dead, and draining them shows that they will not come back.
func (p *placing) mostSilent() bool {
	silent, staying := 0, 0
	for _, s := range p.sites {
		if s.Drains {
			continue
		}
		if staying++; s.Silent || s.Dead {
			silent++
		}
	}
	return 2*silent > staying
}

// staying returns the nodes that do not leave.
func (s ReplicaSet) staying() (out []uint32) {
	for _, n := range s.Nodes {
		if !slices.Contains(s.Leaving, n) {
			out = append(out, n)
		}
	}
	return out
}

func (s ReplicaSet) with(node uint32) ReplicaSet {
	s.Nodes, s.Joining = append(slices.Clone(s.Nodes), node), append(slices.Clone(s.Joining), node)
	return s
}

func (s ReplicaSet) without(node uint32) ReplicaSet {
	s.Leaving = append(slices.Clone(s.Leaving), node)
	return s
}

// gone reports whether a node's replicas have to be replaced. An unknown node is gone.
func (p *placing) gone(n uint32) bool {
	s, ok := p.sites[n]
	return !ok || s.Dead || s.Drains || !s.Holds
}

// takes reports whether a node may get a replica.
func (p *placing) takes(n uint32) bool { return !p.gone(n) && !p.sites[n].Silent }

func (p *placing) lost(s ReplicaSet) bool { return slices.ContainsFunc(s.Nodes, p.gone) }

// leaderless reports whether so many voters do not answer that the others are no majority. A
// decision about such a fragment is not carried out before they answer, and no other fragment waits
// for it.
func (p *placing) leaderless(s ReplicaSet) bool {
	voters, silent := 0, 0
	for _, n := range s.Nodes {
		if slices.Contains(s.Joining, n) {
			continue
		}
		voters++
		if x, ok := p.sites[n]; !ok || x.Silent || x.Dead {
			silent++
		}
	}
	return voters > 0 && 2*silent >= voters
}

// silent reports whether a replica does not answer now. Then no healthy replica is moved just for
// balance: while it joins elsewhere the group has one more member, and needs all that answer for a
// majority.
func (p *placing) silent(s ReplicaSet) bool {
	return slices.ContainsFunc(s.Nodes, func(n uint32) bool { return p.sites[n].Silent || p.sites[n].Dead })
}

// allows reports whether a node may have a replica of the fragment.
func (p *placing) allows(s ReplicaSet, n uint32) bool {
	return (len(s.On) == 0 || slices.Contains(s.On, n)) && s.Labels.Allows(p.sites[n].Labels)
}

// away reports whether the replica on a node has to be replaced, because the node is gone or may
// not have one.
func (p *placing) away(s ReplicaSet, n uint32) bool { return p.gone(n) || !p.allows(s, n) }

// best returns the node for another replica of s: in the zone with the fewest replicas of s, the
// node with the fewest replicas.
func (p *placing) best(s ReplicaSet) (uint32, bool) {
	found, node := false, uint32(0)
	for _, n := range p.order {
		if !p.takes(n) || !p.allows(s, n) || slices.Contains(s.Nodes, n) {
			continue
		}
		if !found || p.better(n, node, s.Nodes) {
			found, node = true, n
		}
	}
	return node, found
}

func (p *placing) better(a, b uint32, have []uint32) bool {
	if x, y := p.inZone(a, have), p.inZone(b, have); x != y {
		return x < y
	}
	return p.replicas[a] < p.replicas[b]
}

// inZone counts the nodes of a node's zone among some.
func (p *placing) inZone(node uint32, among []uint32) (n int) {
	zone := p.sites[node].Zone
	if zone == "" {
		return 0
	}
	for _, o := range among {
		if o != node && p.sites[o].Zone == zone {
			n++
		}
	}
	return n
}

// cancel abandons a replica that is being filled on a node that is gone.
func (p *placing) cancel(s ReplicaSet) (ReplicaSet, bool) {
	i := slices.IndexFunc(s.Joining, func(n uint32) bool { return p.away(s, n) })
	if i < 0 {
		return s, false
	}
	n := s.Joining[i]
	is := func(x uint32) bool { return x == n }
	s.Joining, s.Nodes = slices.DeleteFunc(slices.Clone(s.Joining), is), slices.DeleteFunc(slices.Clone(s.Nodes), is)
	if len(s.Nodes) == len(s.Leaving) { // the replica that it was to replace stays
		s.Leaving = nil
	}
	return s, true
}

// mend replaces a replica that is gone, or adds one that is missing.
func (p *placing) mend(s ReplicaSet) (ReplicaSet, bool) {
	live := 0
	for _, n := range s.Nodes {
		if !p.away(s, n) {
			live++
		}
	}
	i := p.worst(s, func(n uint32) bool { return p.away(s, n) })
	node, ok := p.best(s)
	switch {
	case live < s.Want && ok && i >= 0:
		return s.with(node).without(s.Nodes[i]), true
	case live < s.Want && ok:
		return s.with(node), true
	case live >= s.Want && live > 0 && i >= 0:
		return s.without(s.Nodes[i]), true
	}
	// If no node can take its place, a replica on a node that an operator drains, or that a rule
	// excludes, is removed if others are left: fewer replicas are better than some in the wrong
	// place. One on a dead node stays, because the node may come back, unless an operator drains
	// the node.
	i = p.worst(s, func(n uint32) bool { return p.away(s, n) && (!p.sites[n].Dead || p.sites[n].Drains) })
	if i >= 0 && live > 0 && !ok {
		return s.without(s.Nodes[i]), true
	}
	return s, false
}

// worst returns the position of the replica to remove first among those for which is reports true,
// or -1 if there is none: lost replicas come before healthy ones.
func (p *placing) worst(s ReplicaSet, is func(uint32) bool) int {
	if i := slices.IndexFunc(s.Nodes, func(n uint32) bool { return is(n) && p.sites[n].Silent }); i >= 0 {
		return i
	}
	return slices.IndexFunc(s.Nodes, is)
}

// shrink removes a replica if there are too many: one that does not answer, otherwise one in the
// zone and on the node with the most.
func (p *placing) shrink(s ReplicaSet) (ReplicaSet, bool) {
	if len(s.Nodes) <= s.Want {
		return s, false
	}
	if i := slices.IndexFunc(s.Nodes, func(n uint32) bool { return p.sites[n].Silent || p.sites[n].Dead }); i >= 0 {
		return s.without(s.Nodes[i]), true
	}
	worst := s.Nodes[0]
	for _, n := range s.Nodes[1:] {
		if !p.better(n, worst, s.Nodes) {
			worst = n
		}
	}
	return s.without(worst), true
}

// spread moves a replica from a zone that has two to a zone that has none.
func (p *placing) spread(s ReplicaSet) (ReplicaSet, bool) {
	if p.silent(s) {
		return s, false
	}
	for _, n := range s.Nodes {
		if p.inZone(n, s.Nodes) == 0 {
			continue
		}
		rest := slices.DeleteFunc(slices.Clone(s.Nodes), func(x uint32) bool { return x == n })
		if to, ok := p.best(s); ok && p.inZone(to, rest) == 0 {
			return s.with(to).without(n), true
		}
	}
	return s, false
}

// even moves a replica from the node with the most to the node with the fewest, if they differ by
// two.
func (p *placing) even(s ReplicaSet) (ReplicaSet, bool) {
	if p.silent(s) {
		return s, false
	}
	from := uint32(0)
	for _, n := range s.Nodes {
		if from == 0 || p.replicas[n] > p.replicas[from] {
			from = n
		}
	}
	if from == 0 {
		return s, false
	}
	rest := slices.DeleteFunc(slices.Clone(s.Nodes), func(x uint32) bool { return x == from })
	for _, to := range p.order {
		if !p.takes(to) || !p.allows(s, to) || slices.Contains(s.Nodes, to) || p.replicas[from]-p.replicas[to] < 2 {
			continue
		}
		if p.inZone(to, rest) <= p.inZone(from, rest) {
			return s.with(to).without(from), true
		}
	}
	return s, false
}

// lead makes another replica the desired leader if the present one cannot lead, or its node leads
// two more than the other.
func (p *placing) lead(s ReplicaSet) (ReplicaSet, bool) {
	if len(s.Nodes) == 0 {
		return s, false
	}
	first := s.Nodes[0]
	may := func(n uint32) bool {
		return p.takes(n) && !slices.Contains(s.Leaving, n) && !slices.Contains(s.Joining, n)
	}
	best := uint32(0)
	for _, n := range s.Nodes[1:] {
		if may(n) && (best == 0 || p.leaders[n] < p.leaders[best]) {
			best = n
		}
	}
	if best == 0 || may(first) && (len(s.Joining)+len(s.Leaving) > 0 || p.leaders[first]-p.leaders[best] < 2) {
		return s, false
	}
	nodes := []uint32{best}
	for _, n := range s.Nodes {
		if n != best {
			nodes = append(nodes, n)
		}
	}
	s.Nodes = nodes
	return s, true
}
