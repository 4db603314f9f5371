package statistics

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/sherddb/sherd/sql/types"
)

// Extended has the statistics of several columns and expressions of a table together, as an object
// of CREATE STATISTICS asks for them.
type Extended struct {
	Object  uint32   // OID of the statistics object
	Members []Member // at most 8
	// Combinations has how many different rows there are of each two and more members, Dependencies
	// which members decide others, and Common the most common rows, the most frequent first.
	Combinations []Combination
	Dependencies []Dependency
	Common       []CommonRow
}

// Member is a column or an expression of a statistics object.
type Member struct {
	Key
	Type types.OID
}

// Set is a set of members, by their positions.
type Set uint8

// Has reports whether a member is in the set.
func (s Set) Has(i int) bool { return s&(1<<i) != 0 }

// Len returns the number of members in the set.
func (s Set) Len() int { return bits.OnesCount8(uint8(s)) }

// Combination is a number of different rows of some members. Nulls are equal.
type Combination struct {
	Members  Set
	Distinct float64
}

// Dependency says in which share of the rows the values of some members decide the value of another.
type Dependency struct {
	From   Set
	To     int
	Degree float64
}

// CommonRow is a row of values of all members, which may be null, the share of the rows that have
// them, and the share that they would have if the members were independent.
type CommonRow struct {
	Values     []types.Datum
	Frac, Base float64
}

// Wanted says what to compute of a statistics object.
type Wanted struct {
	Combinations, Dependencies, Common bool
	Target                             int // how many common rows are kept
}

// BuildExtended computes the statistics of members from their values in a sample of a table with a
// number of rows. It returns nil if the sample is empty.
func BuildExtended(object uint32, members []Member, sample [][]types.Datum, rows float64, want Wanted) *Extended {
	if len(sample) == 0 {
		return nil
	}
	b := builder{
		out: &Extended{Object: object, Members: members}, want: want, sample: float64(len(sample)),
		rows: max(rows, float64(len(sample))),
	}
	for i, m := range members {
		b.columns = append(b.columns, rankColumn(m.Type, sample, i))
	}
	n := len(sample)
	all := groups{ids: make([]uint32, n), counts: []int{n}, wide: make([]bool, n)}
	b.extend(0, 0, all)
	slices.SortFunc(b.out.Combinations, func(x, y Combination) int { return compareSets(x.Members, y.Members) })
	slices.SortFunc(b.out.Dependencies, func(x, y Dependency) int {
		return cmp.Or(compareSets(x.From, y.From), x.To-y.To)
	})
	if want.Common {
		b.common(sample)
	}
	return b.out
}

func tooWide(d types.Datum) bool {
	return !d.IsNull() && (d.K == types.KindVoid || widthOf(d) > MaxWidth)
}

// compareSets orders sets by their size, then by their members.
func compareSets(a, b Set) int {
	return cmp.Or(a.Len()-b.Len(), cmp.Compare(bits.Reverse8(uint8(b)), bits.Reverse8(uint8(a))))
}

// groups divides the rows of a sample: the number of the group of each row, and the rows in each group.
type groups struct {
	ids    []uint32
	counts []int
	wide   []bool // rows with a value that is too wide to be compared; each has a group of its own
}

// rankColumn divides rows by the value of one member. Groups are in the order of their values, then
// null, then wide values.
func rankColumn(oid types.OID, rows [][]types.Datum, column int) groups {
	out := groups{ids: make([]uint32, len(rows)), wide: make([]bool, len(rows))}
	order := make([]int, len(rows))
	for i := range order {
		order[i], out.wide[i] = i, tooWide(rows[i][column])
	}
	compare := types.Comparer(oid)
	values := func(a, b int) int {
		x, y := rows[a][column], rows[b][column]
		switch {
		case out.wide[a] && out.wide[b]:
			return a - b
		case out.wide[a]:
			return 1
		case out.wide[b]:
			return -1
		case x.IsNull() && y.IsNull():
			return 0
		case x.IsNull():
			return 1
		case y.IsNull():
			return -1
		}
		return compare(x, y)
	}
	slices.SortFunc(order, values)
	for i, at := range order {
		if i == 0 || values(order[i-1], at) != 0 {
			out.counts = append(out.counts, 0)
		}
		out.ids[at] = uint32(len(out.counts) - 1)
		out.counts[len(out.counts)-1]++
	}
	return out
}

// and divides the groups further.
func (g groups) and(by groups) groups {
	out := groups{ids: make([]uint32, len(g.ids)), wide: make([]bool, len(g.ids))}
	known := map[[2]uint32]uint32{}
	for i, id := range g.ids {
		key := [2]uint32{id, by.ids[i]}
		n, ok := known[key]
		if !ok {
			n = uint32(len(out.counts))
			known[key] = n
			out.counts = append(out.counts, 0)
		}
		out.ids[i], out.wide[i] = n, g.wide[i] || by.wide[i]
		out.counts[n]++
	}
	return out
}

// decided returns how many rows are in groups all of whose rows are in one group of another division.
// Rows with wide values do not count.
func (g groups) decided(by groups) (rows int) {
	type group struct {
		first uint32
		rows  int
		mixed bool
	}
	list := make([]group, len(g.counts))
	for i, id := range g.ids {
		x := &list[id]
		switch {
		case g.wide[i] || by.wide[i]:
			continue
		case x.rows == 0:
			x.first = by.ids[i]
		case x.first != by.ids[i]:
			x.mixed = true
		}
		x.rows++
	}
	for _, x := range list {
		if !x.mixed {
			rows += x.rows
		}
	}
	return rows
}

// builder computes the statistics of a statistics object.
type builder struct {
	out          *Extended
	want         Wanted
	columns      []groups
	sample, rows float64
}

// extend computes the statistics of a set of members, and of those with members from a position on
// besides.
func (b *builder) extend(set Set, from int, g groups) {
	if b.want.Combinations && set.Len() > 1 {
		b.out.Combinations = append(b.out.Combinations, Combination{set, b.distinct(g)})
	}
	for to := range b.columns {
		if !b.want.Dependencies || set == 0 || set.Has(to) {
			continue
		}
		if n := g.decided(b.columns[to]); n > 0 {
			b.out.Dependencies = append(b.out.Dependencies, Dependency{set, to, float64(n) / b.sample})
		}
	}
	for next := from; next < len(b.columns); next++ {
		b.extend(set|1<<next, next+1, g.and(b.columns[next]))
	}
}

// distinct estimates how many groups the table has, by the estimator of duj1.
func (b *builder) distinct(g groups) float64 {
	d, once := float64(len(g.counts)), 0.0
	for _, n := range g.counts {
		if n == 1 {
			once++
		}
	}
	n := float64(len(g.ids))
	e := n * d / (n - once + once*n/b.rows)
	return math.Floor(min(max(e, d), b.rows) + 0.5)
}

// common lists the most common rows, without those with wide values. All are kept that the sample has
// often enough for their share to be known, common or not: what matters is how far it is from that of
// independent members.
func (b *builder) common(rows [][]types.Datum) {
	g := b.columns[0]
	for _, c := range b.columns[1:] {
		g = g.and(c)
	}
	first := make([]int, len(g.counts)) // a row of each group
	counts := make([][]int, len(b.columns))
	for k, c := range b.columns {
		counts[k] = make([]int, len(c.counts))
	}
	var order []int // of the groups
	seen := make([]bool, len(g.counts))
	for i, id := range g.ids {
		if g.wide[i] {
			continue
		}
		if !seen[id] {
			seen[id], first[id], order = true, i, append(order, int(id))
		}
		for k, c := range b.columns {
			counts[k][c.ids[i]]++
		}
	}
	slices.SortFunc(order, func(x, y int) int {
		if n := g.counts[y] - g.counts[x]; n != 0 {
			return n
		}
		for _, c := range b.columns {
			if n := cmp.Compare(c.ids[first[x]], c.ids[first[y]]); n != 0 {
				return n
			}
		}
		return 0
	})
	least := leastCount(b.sample, b.rows)
	for _, at := range order[:min(len(order), b.want.Target)] {
		if float64(g.counts[at]) < least {
			break
		}
		row := CommonRow{Values: rows[first[at]], Frac: float64(g.counts[at]) / b.sample, Base: 1}
		for k, c := range b.columns {
			row.Base *= float64(counts[k][c.ids[first[at]]]) / b.sample
		}
		b.out.Common = append(b.out.Common, row)
	}
}

// leastCount returns how often a sample must have a row for its share to be known with a relative
// error of 20 %, by the variance of the hypergeometric distribution. It is 0 if all rows are sampled.
func leastCount(sample, rows float64) float64 {
	least := sample * (rows - sample) / (rows - sample + 0.04*sample*(rows-1))
	if math.IsNaN(least) { // one row
		return 0
	}
	return least
}

// shrink drops the less common half of the common rows, then all that is of several members. It
// reports whether that left anything out.
func (x *Extended) shrink() bool {
	switch {
	case len(x.Common) > 0:
		x.Common = slices.Clone(x.Common[:len(x.Common)/2])
	case len(x.Combinations)+len(x.Dependencies) > 0:
		x.Combinations, x.Dependencies = nil, nil
	default:
		return false
	}
	return true
}

// Extended returns the statistics of a statistics object, nil if there are none. t may be nil.
func (t *Table) Extended(object uint32) *Extended {
	if t == nil {
		return nil
	}
	i, ok := slices.BinarySearchFunc(t.Together, object, func(x Extended, object uint32) int {
		return cmp.Compare(x.Object, object)
	})
	if !ok {
		return nil
	}
	return &t.Together[i]
}
