package statistics

import "github.com/sherddb/sherd/sql/types"

// Join estimates a = b over all pairs of rows of two tables: the share of their product.
func Join(a, b Variable) float64 {
	if m, ok := matchCommon(a, b); ok {
		return m.inner(a, b)
	}
	return (1 - a.nullFrac()) * (1 - b.nullFrac()) / max(a.Distinct(), b.Distinct())
}

// SemiJoin estimates the share of rows of a for which b has at least one row with a = b.
func SemiJoin(a, b Variable) float64 {
	given := 1 - a.nullFrac()
	if !a.Known() || !b.Known() {
		return given / 2
	}
	nd1, nd2 := a.Distinct(), b.Distinct()
	m, ok := matchCommon(a, b)
	if !ok {
		return given * min(nd2/nd1, 1)
	}
	left := max(nd1-float64(m.n), 1)
	right := max(nd2-float64(m.n), 0)
	return share(m.fracA + share(given-m.fracA)*min(right/left, 1))
}

// matched is what the common values of two columns have in common.
type matched struct {
	n            int
	product      float64 // sum of the products of the shares of matching values
	fracA, fracB float64 // of matching values
}

// matchCommon compares the common values of two columns of types with the same values. It reports
// whether both have any.
func matchCommon(a, b Variable) (m matched, ok bool) {
	if a.Column == nil || b.Column == nil || len(a.Column.Common) == 0 || len(b.Column.Common) == 0 ||
		types.KindOf(a.Column.Type) != types.KindOf(b.Column.Type) {
		return m, false
	}
	oid := a.Column.Type
	compare := types.Comparer(oid)
	byHash := map[uint64][]Value{}
	for _, y := range b.Column.Common {
		h := types.Hash(oid, 0, y.Value)
		byHash[h] = append(byHash[h], y)
	}
	for _, x := range a.Column.Common {
		for _, y := range byHash[types.Hash(oid, 0, x.Value)] {
			if compare(x.Value, y.Value) == 0 {
				m.n++
				m.product += x.Frac * y.Frac
				m.fracA, m.fracB = m.fracA+x.Frac, m.fracB+y.Frac
				break
			}
		}
	}
	return m, true
}

// inner estimates an inner join: common values that match, then those of each side against the
// values of the other side that are not common, then the values that are common on neither side.
// The side with fewer values that are left decides, because each of them is assumed to match.
func (m matched) inner(a, b Variable) float64 {
	from := func(a, b Variable, matchA, matchB float64) float64 {
		loneA, loneB := share(a.commonFrac()-matchA), share(b.commonFrac()-matchB)
		otherA, otherB := share(1-a.nullFrac()-a.commonFrac()), share(1-b.nullFrac()-b.commonFrac())
		sel := m.product
		if nd := b.Distinct() - float64(len(b.Column.Common)); nd > 0 {
			sel += loneA * otherB / nd
		}
		if nd := b.Distinct() - float64(m.n); nd > 0 {
			sel += otherA * (otherB + loneB) / nd
		}
		return sel
	}
	return share(min(from(a, b, m.fracA, m.fracB), from(b, a, m.fracB, m.fracA)))
}
