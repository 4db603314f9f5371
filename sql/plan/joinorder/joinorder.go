// Package joinorder chooses the order in which relations are joined: the tree with the least cost
// of those that dynamic programming over all subsets finds, bushy ones included (Moerkotte and
// Neumann, VLDB 2006, on the size of that search), or above MaxExact relations a tree that joins
// the cheapest pair first.
//
// It is pure: it knows numbers of rows, selectivities and which relations must come before others.
// Costs are in units of one row that is read.
package joinorder

import (
	"math"
	"math/bits"
)

// MaxExact is the number of relations up to which all trees are compared.
const MaxExact = 10

// MaxRelations is the number of relations up to which an order is chosen at all.
const MaxRelations = 64

// Set is a set of relations, by their positions.
type Set uint64

// SetOf returns the set of some relations.
func SetOf(relations ...int) (s Set) {
	for _, r := range relations {
		s |= 1 << r
	}
	return s
}

// Has reports whether a relation is in the set.
func (s Set) Has(r int) bool { return s&(1<<r) != 0 }

// Members returns the relations of the set, in order.
func (s Set) Members() (out []int) {
	for ; s != 0; s &= s - 1 {
		out = append(out, s.first())
	}
	return out
}

func (s Set) covers(t Set) bool { return s&t == t }

func (s Set) first() int { return bits.TrailingZeros64(uint64(s)) }

func (s Set) single() bool { return s&(s-1) == 0 }

// Relation is one that is joined.
type Relation struct {
	Rows float64 // that it returns
	Cost float64 // of reading it whole
	// Local: its rows are in the fragments, and are sent unless they are joined there.
	Local bool
	// After are the relations whose rows it reads (LATERAL): it is joined alone, on their right.
	After Set
}

// Condition ties relations.
type Condition struct {
	Of          Set
	Selectivity float64
	// Classes are equalities of the condition that are not in Selectivity. Of those of a class that tie
	// two sets, one holds if another does, so that one of them counts.
	Classes []Class
	// Lookup has the relations of Of whose rows can be looked up by the values of the others, and the
	// cost of one look-up.
	Lookup map[int]float64
	// Local: rows that are joined are in the same fragment.
	Local bool
}

// Class is an equality of a class of values that are all equal.
type Class struct {
	ID          int // from 0 to MaxClasses - 1
	Selectivity float64
}

// MaxClasses is the number of classes that there may be.
const MaxClasses = 64

// Tree is a join of two trees, or a relation if Left and Right are nil.
type Tree struct {
	Left, Right *Tree
	Relation    int
	Rows        float64 // that it returns
}

// Costs, in rows that are read; integration/costs measures most of them.
const (
	CostLookup = 8.0 // of one look-up by key in a batch
	CostSend   = 0.5 // of a row that a fragment sends: less within a node, more between nodes
	CostBuild  = 1.0 // of a row that is put into a hash table
	CostProbe  = 0.3
	CostResult = 0.3 // of a row that a join returns
	CostPair   = 0.5 // of a pair that a nested loop compares
)

// Best returns the tree that joins all relations. Of trees that cost the same it returns the one
// that is nearest to the order of the relations.
func Best(relations []Relation, conditions []Condition) *Tree {
	o := &order{relations: relations, conditions: conditions, plans: map[Set]*join{}}
	for i, r := range relations {
		rows := max(r.Rows, 1)
		o.plans[SetOf(i)] = &join{
			tree: &Tree{Relation: i, Rows: rows}, set: SetOf(i), rows: rows, cost: r.Cost, local: r.Local,
		}
	}
	var out *join
	for _, set := range o.components() {
		next := o.component(set)
		if out != nil {
			next = o.pair(out, next, true)
		}
		out = next
	}
	return out.tree
}

// From returns a tree that begins with a relation and joins the others one by one, each looked up by
// the rows before it or reading them: the one first that leaves the fewest rows. nil: there is none.
func From(first int, relations []Relation, conditions []Condition) *Tree {
	out := &Tree{Relation: first, Rows: max(relations[first].Rows, 1)}
	for have := SetOf(first); len(have.Members()) < len(relations); {
		next := (*Tree)(nil)
		for i, r := range relations {
			if have.Has(i) || !have.covers(r.After) {
				continue
			}
			rows, found := out.Rows*max(r.Rows, 1), r.After != 0
			counted := uint64(0)
			for k := range conditions {
				if c := &conditions[k]; c.Of.Has(i) && (have | SetOf(i)).covers(c.Of) {
					rows *= c.selectivity(&counted)
					_, looked := c.Lookup[i]
					found = found || looked
				}
			}
			if rows = max(rows, 1); found && (next == nil || rows < next.Rows) {
				next = &Tree{Left: out, Right: &Tree{Relation: i, Rows: max(r.Rows, 1)}, Rows: rows}
			}
		}
		if next == nil {
			return nil
		}
		out, have = next, have|SetOf(next.Right.Relation)
	}
	return out
}

// join is a tree with its estimates.
type join struct {
	tree *Tree
	set  Set
	rows float64
	cost float64
	// local: it is computed in the fragments, and its rows are not sent yet.
	local bool
}

// sent is the cost with that of having the rows at the gateway.
func (j *join) sent() float64 {
	if j.local {
		return j.cost + j.rows*CostSend
	}
	return j.cost
}

type order struct {
	relations  []Relation
	conditions []Condition
	plans      map[Set]*join // the best of each set
}

// components returns the sets of relations that conditions tie, directly or through others.
func (o *order) components() (out []Set) {
	for i, r := range o.relations {
		out = unite(out, SetOf(i)|r.After)
	}
	for i := range o.conditions {
		out = unite(out, o.conditions[i].Of)
	}
	return out
}

// unite adds a set to disjoint ones, and makes one of those that it touches.
func unite(sets []Set, with Set) []Set {
	var out []Set
	at := -1
	for _, s := range sets {
		switch {
		case s&with == 0:
			out = append(out, s)
		case at < 0:
			at = len(out)
			out = append(out, s|with)
		default:
			out[at] |= s
		}
	}
	if at < 0 {
		out = append(out, with)
	}
	return out
}

// component joins a set of relations. A condition of three of them may need a product of two.
func (o *order) component(all Set) *join {
	best := o.greedy
	if bits.OnesCount64(uint64(all)) <= MaxExact {
		best = o.exact
	}
	if out := best(all, false); out != nil {
		return out
	}
	return best(all, true)
}

// exact finds the best tree of every part of a set from those of its parts.
func (o *order) exact(all Set, cross bool) *join {
	for set := all & -all; set != 0; set = (set - all) & all { // from small ones to all
		if !set.single() {
			if best := o.split(set, cross); best != nil {
				o.plans[set] = best
			}
		}
	}
	return o.plans[all]
}

// split finds the best tree of a set.
func (o *order) split(set Set, cross bool) (best *join) {
	try := func(right Set) {
		j := o.pair(o.plans[set&^right], o.plans[right], cross)
		if j != nil && (best == nil || j.sent() < best.sent()) {
			best = j
		}
	}
	for rest := set; rest != 0; { // the last relation on the right first: the order of FROM
		last := Set(1) << (bits.Len64(uint64(rest)) - 1)
		try(last)
		rest &^= last
	}
	for right := (set - 1) & set; right != 0; right = (right - 1) & set {
		if !right.single() {
			try(right)
		}
	}
	return best
}

// greedy joins, again and again, the two trees whose join costs least beyond them.
func (o *order) greedy(all Set, cross bool) *join {
	var trees []*join
	for s := all; s != 0; s &= s - 1 {
		trees = append(trees, o.plans[SetOf(s.first())])
	}
	for len(trees) > 1 {
		a, b, best := o.cheapest(trees, cross)
		if best == nil {
			return nil
		}
		trees[min(a, b)] = best
		trees = append(trees[:max(a, b)], trees[max(a, b)+1:]...)
	}
	return trees[0]
}

// cheapest returns the two trees whose join costs least beyond them, and that join.
func (o *order) cheapest(trees []*join, cross bool) (a, b int, best *join) {
	least := math.Inf(1)
	for i := range trees {
		for k := range trees {
			if i == k {
				continue
			}
			j := o.pair(trees[i], trees[k], cross)
			if j == nil {
				continue
			}
			if more := j.sent() - trees[i].sent() - trees[k].sent() + j.rows; more < least {
				a, b, best, least = i, k, j, more
			}
		}
	}
	return a, b, best
}

// pair joins two trees; nil if the right one may not come there, or if no condition ties them and
// no product is wanted.
func (o *order) pair(left, right *join, cross bool) *join {
	if left == nil || right == nil || !o.allowed(left.set, right.set) {
		return nil
	}
	selectivity, tied, lookup, local := o.tie(left.set, right.set)
	lateral := right.set.single() && o.relations[right.set.first()].After&left.set != 0
	if !tied && !lateral && !cross {
		return nil
	}
	rows := max(left.rows*right.rows*selectivity, 1)
	out := &join{
		tree: &Tree{Left: left.tree, Right: right.tree, Rows: rows}, set: left.set | right.set, rows: rows,
		local: local && left.local && right.local,
	}
	before, other := left.sent(), right.sent()
	if out.local {
		before, other = left.cost, right.cost
	}
	switch {
	case lateral:
		out.cost = before + left.rows*max(other, 1)
	case !tied:
		out.cost = before + other + left.rows*right.rows*CostPair
	default:
		build, probe := min(left.rows, right.rows), max(left.rows, right.rows)
		out.cost = before + other + build*CostBuild + probe*CostProbe
		out.cost = min(out.cost, before+left.rows*lookup)
	}
	out.cost += rows * CostResult
	return out
}

// allowed reports whether what the trees read of others is there.
func (o *order) allowed(left, right Set) bool {
	for s := left | right; s != 0; s &= s - 1 {
		r := s.first()
		after := o.relations[r].After
		switch {
		case after == 0, left.Has(r) && left.covers(after), right.Has(r) && right.covers(after):
		case right == SetOf(r) && left.covers(after):
		default:
			return false
		}
	}
	return true
}

// tie returns the selectivity of the conditions that a join of both sets can test and neither alone,
// whether one of them needs both, whether they look up the rows of the right one, and whether rows
// that they tie are in the same fragment.
func (o *order) tie(left, right Set) (
	selectivity float64, tied bool, lookup float64, local bool,
) {
	selectivity, lookup = 1, math.Inf(1)
	both, counted := left|right, uint64(0)
	for i := range o.conditions {
		c := &o.conditions[i]
		if !both.covers(c.Of) || left.covers(c.Of) || right.covers(c.Of) {
			continue
		}
		selectivity *= c.selectivity(&counted)
		tied = true
		if cost, ok := c.Lookup[right.first()]; ok && right.single() {
			lookup = min(lookup, cost)
		}
		local = local || c.Local
	}
	return selectivity, tied, lookup, local
}

// selectivity returns the share of pairs that meet the condition, without the classes that have been
// counted. It counts the others.
func (c *Condition) selectivity(counted *uint64) float64 {
	out := c.Selectivity
	for _, x := range c.Classes {
		if *counted&(1<<x.ID) == 0 {
			*counted |= 1 << x.ID
			out *= x.Selectivity
		}
	}
	return out
}
