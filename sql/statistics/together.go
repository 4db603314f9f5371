package statistics

import (
	"math"
	"slices"

	"github.com/sherddb/sherd/sql/types"
)

// Term is a condition on a column or an expression, which other conditions hold with.
type Term struct {
	Variable
	Share float64 // of the rows, that meet it
	// Equal: it is an equality with a value, or with one of some values.
	Equal bool
	// Matches reports whether a value, which may be null, meets it; nil: that is not known yet.
	Matches func(types.Datum) bool
}

// Share returns the share of the rows that meet all conditions. As in PostgreSQL, the common rows of
// statistics objects count first, then dependencies; what is left is taken as independent.
func Share(terms []Term) float64 {
	var plain, left []Term
	for _, t := range terms {
		if len(t.Keys) == 0 || len(t.Together) == 0 {
			plain = append(plain, t)
		} else {
			left = append(left, t)
		}
	}
	out := product(plain)
	for len(left) > 1 {
		x := bestCommon(left)
		if x == nil {
			break
		}
		used := func(t Term) bool { return t.Matches != nil && x.member(t.Variable) >= 0 }
		covered := slices.DeleteFunc(slices.Clone(left), func(t Term) bool { return !used(t) })
		out *= x.commonShare(covered)
		left = slices.DeleteFunc(left, used)
	}
	return share(out * byDependencies(left))
}

func product(terms []Term) float64 {
	out := 1.0
	for _, t := range terms {
		out *= t.Share
	}
	return out
}

// member returns the position of a variable, -1 if it is no member.
func (x *Extended) member(v Variable) int {
	return slices.IndexFunc(x.Members, func(m Member) bool { return slices.Contains(v.Keys, m.Key) })
}

// covered returns the members that conditions are on.
func (x *Extended) covered(terms []Term, counts func(*Term) bool) (set Set) {
	for i := range terms {
		if at := x.member(terms[i].Variable); at >= 0 && counts(&terms[i]) {
			set |= 1 << at
		}
	}
	return set
}

// bestCommon returns the statistics object with common rows that covers the most variables of the
// conditions, at least two; of those with the same number, the one with fewer members.
func bestCommon(terms []Term) *Extended {
	var best *Extended
	most := 1
	for i := range terms[0].Together {
		x := &terms[0].Together[i]
		if len(x.Common) == 0 {
			continue
		}
		n := x.covered(terms, func(t *Term) bool { return t.Matches != nil }).Len()
		if n > most || n == most && best != nil && len(x.Members) < len(best.Members) {
			best, most = x, n
		}
	}
	return best
}

// commonShare estimates conditions on members: the common rows that meet them, and of the others what
// independent conditions would leave.
func (x *Extended) commonShare(terms []Term) float64 {
	met, base, all := 0.0, 0.0, 0.0
	for i := range x.Common {
		row := &x.Common[i]
		all += row.Frac
		if !slices.ContainsFunc(terms, func(t Term) bool { return !t.Matches(row.Values[x.member(t.Variable)]) }) {
			met, base = met+row.Frac, base+row.Base
		}
	}
	others := min(share(product(terms)-base), share(1-all))
	return share(met + others)
}

// link is a dependency between variables, by their numbers.
type link struct {
	from   []int
	to     int
	degree float64
}

// byDependencies estimates conditions: P(a and b) is P(a)·(d + (1 − d)·P(b)), where a decides b to the
// degree d.
func byDependencies(terms []Term) float64 {
	var vars []Variable // those with equalities
	var shares []float64
	out := 1.0
	for _, t := range terms {
		at := slices.IndexFunc(vars, func(v Variable) bool { return v.Keys[0] == t.Keys[0] })
		switch {
		case !t.Equal:
			out *= t.Share
		case at >= 0:
			shares[at] *= t.Share
		default:
			vars, shares = append(vars, t.Variable), append(shares, t.Share)
		}
	}
	for _, l := range slices.Backward(strongest(vars)) {
		from, to := 1.0, shares[l.to]
		for _, i := range l.from {
			from *= shares[i]
		}
		decided := 1.0 // the share of the other value in the rows where it is decided
		if from > to {
			decided = to / from
		}
		shares[l.to] = l.degree*decided + (1-l.degree)*to
	}
	for _, s := range shares {
		out *= s
	}
	return out
}

// strongest returns the dependencies to use between variables: the one between the most variables
// first, or with the highest degree; then, without the variable that it decides, the next.
func strongest(vars []Variable) (out []link) {
	if len(vars) < 2 {
		return nil
	}
	all := links(vars)
	for {
		var best *link
		for i := range all {
			l := &all[i]
			switch {
			case slices.ContainsFunc(out, func(o link) bool { return o.to == l.to || slices.Contains(l.from, o.to) }):
			case best == nil, len(l.from) > len(best.from),
				len(l.from) == len(best.from) && l.degree > best.degree:
				best = l
			}
		}
		if best == nil {
			return out
		}
		out = append(out, *best)
	}
}

// links returns the dependencies of all statistics objects that are between these variables.
func links(vars []Variable) (out []link) {
	for i := range vars[0].Together {
		x := &vars[0].Together[i]
		at := make([]int, len(x.Members)) // of the members, among vars
		for m, member := range x.Members {
			at[m] = slices.IndexFunc(vars, func(v Variable) bool { return slices.Contains(v.Keys, member.Key) })
		}
		for _, d := range x.Dependencies {
			l := link{to: at[d.To], degree: d.Degree}
			known := l.to >= 0
			for m := range x.Members {
				if d.From.Has(m) {
					l.from, known = append(l.from, at[m]), known && at[m] >= 0
				}
			}
			if known {
				out = append(out, l)
			}
		}
	}
	return out
}

// Grouping is a table with the variables of it that rows are grouped by.
type Grouping struct {
	Variables []Variable
	Rows      float64 // of the table
	Kept      float64 // of them, after conditions
}

// Groups estimates into how many groups rows fall, at most rows.
func Groups(tables []Grouping, rows float64) float64 {
	out := 1.0
	for _, t := range tables {
		out *= t.groups()
	}
	return max(min(math.Ceil(out), rows), 1)
}

// severalTogether is which share of a table's rows has different values of several variables at most:
// they often depend on each other.
const severalTogether = 0.1

// groups estimates the groups of one table, as PostgreSQL does.
func (g *Grouping) groups() float64 {
	n, most, factors := 1.0, 1.0, 0
	multiply := func(distinct float64) {
		n, most, factors = n*distinct, max(most, distinct), factors+1
	}
	left := slices.Clone(g.Variables)
	for {
		c, x := bestCombination(left)
		if x == nil {
			break
		}
		multiply(c.Distinct)
		left = slices.DeleteFunc(left, func(v Variable) bool {
			at := x.member(v)
			return at >= 0 && c.Members.Has(at)
		})
	}
	for _, v := range left {
		multiply(v.Distinct())
	}
	if g.Rows < 1 {
		return n
	}
	limit := g.Rows
	if factors > 1 {
		limit = min(max(limit*severalTogether, most), g.Rows)
	}
	n = min(n, limit)
	if g.Kept < g.Rows { // some values are in none of the rows
		n *= 1 - math.Pow((g.Rows-g.Kept)/g.Rows, g.Rows/n)
	}
	return max(math.Round(n), 1)
}

// bestCombination returns the combination that has the most of some variables, at least two, and its
// statistics object; nil if there is none.
func bestCombination(vars []Variable) (best Combination, of *Extended) {
	if len(vars) < 2 {
		return best, nil
	}
	for i := range vars[0].Together {
		x := &vars[0].Together[i]
		var set Set
		for _, v := range vars {
			if at := x.member(v); at >= 0 {
				set |= 1 << at
			}
		}
		for _, c := range x.Combinations {
			if c.Members == set && set.Len() > best.Members.Len() {
				best, of = c, x
			}
		}
	}
	return best, of
}
