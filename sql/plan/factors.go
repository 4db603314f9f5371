package plan

import (
	"slices"

	"github.com/sherddb/sherd/sql/query"
)

// factored takes out of each OR the conditions that all its arms share: (p AND a) OR (p AND b)
// becomes p and a OR b. So an equality of two tables that is written in every arm joins them. An
// arm that has nothing else makes the rest true.
func factored(conds []query.Expr) []query.Expr {
	var out []query.Expr
	for _, c := range conds {
		or, ok := c.(*query.Or)
		if !ok {
			out = append(out, c)
			continue
		}
		out = append(out, factorsOf(or)...)
	}
	return out
}

func factorsOf(or *query.Or) []query.Expr {
	arms := make([][]query.Expr, len(or.Args))
	for i, arm := range or.Args {
		arms[i] = factored(conjuncts(arm))
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
		rest.Args = append(rest.Args, conjunction(left))
	}
	return append(common, rest)
}

func hasCond(list []query.Expr, c query.Expr) bool {
	return slices.ContainsFunc(list, func(x query.Expr) bool { return query.Equal(x, c) })
}
