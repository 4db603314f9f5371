package plan

import (
	"maps"
	"slices"

	"github.com/sherddb/sherd/sql/plan/joinorder"
	"github.com/sherddb/sherd/sql/plan/leak"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// secured returns the conditions of the scan of an entry, with those of its row security.
func (l *level) secured(n int, conds []query.Expr) []query.Expr {
	r := l.q.Rels[n]
	if len(r.Security) == 0 {
		return conds
	}
	guarded := l.guarded(conds)
	out := slices.Clone(r.Security)
	if len(guarded) != len(conds) || !slices.Equal(guarded, conds) {
		// Those that may reveal a row themselves are evaluated once, as part of the guarded condition.
		out = slices.DeleteFunc(out, func(e query.Expr) bool { return leak.May(e) || volatile(e) })
	}
	return append(out, guarded...)
}

// guarded returns conditions, with those that may reveal a row which row security hides evaluated
// only for the other rows.
func (l *level) guarded(conds []query.Expr) []query.Expr {
	var safe, tests, leaky []query.Expr
	for _, c := range conds {
		var security []query.Expr
		if slices.ContainsFunc(l.q.Rels, isSecured) && leak.May(c) {
			for n := range l.relsOf(c) {
				security = append(security, l.q.Rels[n].Security...)
			}
		}
		if len(security) == 0 {
			safe = append(safe, c)
			continue
		}
		leaky = append(leaky, c)
		for _, e := range security {
			if !slices.Contains(tests, e) {
				tests = append(tests, e)
			}
		}
	}
	if len(leaky) == 0 {
		return conds
	}
	t := query.Of(types.Bool)
	return append(safe, &query.Case{
		T: t, Whens: []query.When{{Cond: Conjunction(tests), Result: Conjunction(leaky)}},
		Else: &query.Const{T: t, Value: types.NewBool(false)},
	})
}

func isSecured(r *query.Rel) bool { return len(r.Security) > 0 }

// exposed returns a query in which conditions of row security that have subqueries are conditions of WHERE,
// where they can become joins. It does so only if no other condition may reveal a row.
func exposed(q *query.Query) *query.Query {
	if !slices.ContainsFunc(q.Rels, func(r *query.Rel) bool { return slices.ContainsFunc(r.Security, hasSubLink) }) {
		return q
	}
	conds := Conjuncts(q.Where)
	for _, it := range q.From {
		conds = append(conds, joinConditions(it)...)
	}
	reveals := func(r *query.Rel) bool {
		return r.Kind == query.RelFunction || r.Lateral || slices.ContainsFunc(r.Security, leak.May)
	}
	if slices.ContainsFunc(conds, leak.May) || slices.ContainsFunc(q.Rels, reveals) {
		return q
	}
	out := *q
	out.Rels = slices.Clone(q.Rels)
	for n, r := range q.Rels {
		at, ok := placeOf(q.From, n)
		if q.Command != query.Select && n == q.Result {
			at, ok = place{}, true
		}
		if !ok || at.filled || !isSecured(r) {
			continue
		}
		own := *r
		var moved []query.Expr
		moved, own.Security = split(r.Security, hasSubLink)
		out.Rels[n], out.Where = &own, Conjunction(slices.Concat(Conjuncts(out.Where), moved))
	}
	return &out
}

// factored takes out of each OR the conditions that all its arms share: (p AND a) OR (p AND b)
// becomes p and a OR b. So an equality of two tables that is written in every arm joins them. An
// arm that has nothing else makes the rest true.
func factored(conds []query.Expr) []query.Expr {
	var out []query.Expr
	for _, c := range conds {
		switch n := c.(type) {
		case *query.Or:
			out = append(out, factorsOf(n)...)
		case *query.BoolTest:
			out = append(out, tested(n)...)
		default:
			out = append(out, c)
		}
	}
	return out
}

// tested returns the conditions that hold where a test of a boolean as a condition does: `a IS TRUE`
// and `a IS FALSE` hold where `a` and `NOT a` do, which indexes know.
func tested(n *query.BoolTest) []query.Expr {
	switch {
	case n.Not || n.Value == 'u':
		return []query.Expr{n}
	case n.Value == 'f':
		return []query.Expr{&query.Not{Arg: n.Arg}}
	}
	return factored(Conjuncts(n.Arg))
}

// restrictions derives from each OR over several tables what it says of one of them alone, if each of
// its arms says something: from a.x = 1 AND b.y = 2 OR a.x = 3 AND b.y = 4 follows a.x = 1 OR a.x = 3.
// So fewer rows are joined.
func restrictions(l *level, conds []query.Expr) (out []query.Expr) {
	for _, c := range conds {
		or, ok := c.(*query.Or)
		if !ok || volatile(c) || hasSubLink(c) {
			continue
		}
		rels := l.relsOf(c)
		if len(rels) < 2 {
			continue
		}
		for _, rel := range slices.Sorted(maps.Keys(rels)) {
			if d := restriction(l, or, rel); d != nil {
				out = append(out, factored([]query.Expr{d})...)
			}
		}
	}
	return slices.DeleteFunc(out, func(d query.Expr) bool { return among(conds, d) })
}

// restriction returns what an OR says of an entry; nil if an arm says nothing.
func restriction(l *level, or *query.Or, rel int) query.Expr {
	out := &query.Or{}
	for _, arm := range or.Args {
		var own []query.Expr
		for _, c := range Conjuncts(arm) {
			if rels := l.relsOf(c); len(rels) == 1 && rels[rel] {
				own = append(own, c)
			} else if inner, ok := c.(*query.Or); ok && rels[rel] {
				if d := restriction(l, inner, rel); d != nil {
					own = append(own, d)
				}
			}
		}
		if len(own) == 0 {
			return nil
		}
		out.Args = append(out.Args, Conjunction(own))
	}
	return out
}

func factorsOf(or *query.Or) []query.Expr {
	arms := make([][]query.Expr, len(or.Args))
	for i, arm := range or.Args {
		arms[i] = factored(Conjuncts(arm))
	}
	var common []query.Expr
	for _, c := range arms[0] {
		if volatile(c) || hasSubLink(c) {
			continue // they are two in two arms
		}
		if !slices.ContainsFunc(arms[1:], func(arm []query.Expr) bool {
			return !hasCond(arm, c)
		}) && !hasCond(common, c) {
			common = append(common, c)
		}
	}
	if len(common) == 0 {
		return []query.Expr{or}
	}
	rest := &query.Or{}
	for _, arm := range arms {
		left := slices.DeleteFunc(slices.Clone(arm), func(c query.Expr) bool { return hasCond(common, c) })
		if len(left) == 0 {
			return common
		}
		rest.Args = append(rest.Args, Conjunction(left))
	}
	return append(common, rest)
}

func hasCond(list []query.Expr, c query.Expr) bool {
	return slices.ContainsFunc(list, func(x query.Expr) bool { return query.Equal(x, c) })
}

// maxImplied bounds the conditions that are derived for one join.
const maxImplied = 32

// implied derives conditions through equalities: from a.id = b.id and a.id = 'x' follows b.id =
// 'x', by which b can be routed too. All of conds hold together of every row that is kept, so what
// follows from them does.
func implied(l *level, conds []query.Expr) []query.Expr {
	var ties []equality
	for _, c := range conds {
		if a, b, nulls, ok := hashable(c); ok && !nulls && !hasSubLink(c) && a.Type() == b.Type() &&
			len(l.relsOf(a)) > 0 && len(l.relsOf(b)) > 0 {
			ties = append(ties, equality{left: a, right: b}, equality{left: b, right: a})
		}
	}
	var out []query.Expr
	if len(ties) == 0 {
		return nil
	}
	for i := 0; i < len(conds)+len(out) && len(out) < maxImplied; i++ {
		c := at(conds, out, i)
		for _, t := range ties {
			if d := l.carry(c, t); d != nil && !among(conds, d) && !among(out, d) {
				out = append(out, d)
			}
		}
	}
	return out
}

func at(a, b []query.Expr, i int) query.Expr {
	if i < len(a) {
		return a[i]
	}
	return b[i-len(a)]
}

func among(es []query.Expr, e query.Expr) bool {
	for _, x := range es {
		if query.Equal(x, e) {
			return true
		}
	}
	return false
}

// carry returns `right = v` for c, which is `left = v`, where v reads no column; likewise for `left
// = ANY (v)`.
func (l *level) carry(c query.Expr, t equality) query.Expr {
	switch n := c.(type) {
	case *query.Call:
		if n.Op != "=" || len(n.Args) != 2 {
			return nil
		}
		for i, side := range n.Args {
			if v := n.Args[1-i]; query.Equal(side, t.left) && l.constant(v) {
				d := *n
				d.Args = []query.Expr{t.right, v}
				if i == 1 {
					d.Args = []query.Expr{v, t.right}
				}
				return &d
			}
		}
	case *query.ArrayOp:
		if n.Op == "=" && !n.All && query.Equal(n.Left, t.left) && l.constant(n.Array) {
			d := *n
			d.Left = t.right
			return &d
		}
	}
	return nil
}

// constant reports whether e has one value during the statement, as far as this query goes.
func (l *level) constant(e query.Expr) bool {
	return len(l.relsOf(e)) == 0 && !hasSubLink(e) && !volatile(e)
}

// equalities derives the equalities of columns of two items that follow from those of others, so that
// the items may be joined before the others: from a.x = b.x and b.x = c.x follows a.x = c.x. It notes
// which are of one class.
func (j *joiner) equalities() (out []query.Expr) {
	item := map[int]int{} // the item of a range table entry
	for i, it := range j.items {
		for r := range fromRels(it) {
			item[r] = i
		}
	}
	var classes []*class
	for _, c := range j.conds {
		call, ok := c.(*query.Call)
		a, b, nulls, hashes := hashable(c)
		if !ok || !hashes || nulls || a.Type() != b.Type() || !isOwnColumn(a) || !isOwnColumn(b) {
			continue
		}
		x := &class{like: call}
		x.add(a)
		x.add(b)
		classes = slices.DeleteFunc(classes, func(y *class) bool {
			if !slices.ContainsFunc(x.columns, func(e query.Expr) bool { return among(y.columns, e) }) {
				return false
			}
			for _, e := range y.columns {
				x.add(e)
			}
			return true
		})
		classes = append(classes, x)
	}
	numbers := 0
	for _, x := range classes {
		n := len(x.columns)
		items := map[int]bool{}
		for _, e := range x.columns {
			items[item[bare(e).(*query.Var).Rel]] = true
		}
		// Two columns of one item are not equal before the item is joined.
		if n < 3 || len(items) < n || n*(n-1)/2 > maxImplied || numbers == joinorder.MaxClasses {
			continue
		}
		out = append(out, j.complete(x, numbers)...)
		numbers++
	}
	return out
}

// class is columns of one type that are all equal.
type class struct {
	like    *query.Call // one of the equalities
	columns []query.Expr
}

func (x *class) add(e query.Expr) {
	if !among(x.columns, e) {
		x.columns = append(x.columns, e)
	}
}

// complete notes the equalities of a class, and returns those that are not written.
func (j *joiner) complete(x *class, number int) (out []query.Expr) {
	for i, a := range x.columns {
		for _, b := range x.columns[:i] {
			written := false
			for _, c := range j.conds {
				if l, r, nulls, ok := hashable(c); ok && !nulls &&
					(query.Equal(l, a) && query.Equal(r, b) || query.Equal(l, b) && query.Equal(r, a)) {
					j.class[c], written = number, true
				}
			}
			if !written {
				d := *x.like
				d.Args = []query.Expr{b, a}
				j.class[&d] = number
				out = append(out, &d)
			}
		}
	}
	return out
}

// once leaves out the equalities of a join that follow from others of it: all columns of a class are
// equal on either side, so that one equality between the sides is enough.
func (j *joiner) once(conds []query.Expr) (out []query.Expr) {
	seen := map[int]bool{}
	for _, c := range conds {
		if class, ok := j.class[c]; ok {
			if seen[class] {
				continue
			}
			seen[class] = true
		}
		out = append(out, c)
	}
	return out
}

// isOwnColumn reports whether an expression is a column of a table of the query itself.
func isOwnColumn(e query.Expr) bool {
	v, ok := bare(e).(*query.Var)
	return ok && v.Up == 0 && v.Col >= 0
}
