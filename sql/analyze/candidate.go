package analyze

import (
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// candidate is an overload that may be meant.
type candidate struct {
	args []types.OID // effective argument types: variadic ones expanded, defaults included, in the order given
	op   *pgcatalog.Operator
	proc *query.Proc

	variadic  int   // number of arguments that the variadic one takes, 0 is none
	defaults  int   // number of arguments taken from defaults
	positions []int // of named notation: parameter number of each given argument
}

// selectCandidate is func_select_candidate: the one overload that fits best, nil where that is not decided. All candidates can take the
// input types implicitly.
func selectCandidate(input []types.OID, list []candidate) *candidate {
	base := make([]types.OID, len(input))
	unknowns := 0
	for i, t := range input {
		base[i] = t
		if t == types.Unknown {
			unknowns++
		} else {
			base[i] = baseType(t)
		}
	}
	list = mostMatches(list, base, func(c *candidate, i int) bool { return c.args[i] == base[i] })
	if len(list) == 1 {
		return &list[0]
	}
	list = mostMatches(list, base, func(c *candidate, i int) bool {
		return c.args[i] == base[i] || preferred(category(base[i]), c.args[i])
	})
	if len(list) == 1 {
		return &list[0]
	}
	if unknowns == 0 {
		return nil
	}
	list = resolveUnknowns(base, list)
	if len(list) == 1 {
		return &list[0]
	}
	return allOneType(base, list)
}

// mostMatches keeps the candidates for which match is true of the most known arguments.
func mostMatches(list []candidate, base []types.OID, match func(c *candidate, i int) bool) []candidate {
	best := -1
	var kept []candidate
	for k := range list {
		n := 0
		for i, t := range base {
			if t != types.Unknown && match(&list[k], i) {
				n++
			}
		}
		if n > best {
			best, kept = n, kept[:0:0]
		}
		if n == best {
			kept = append(kept, list[k])
		}
	}
	return kept
}

// resolveUnknowns decides on a type category for each unknown argument, strings first, and keeps what accepts those.
func resolveUnknowns(base []types.OID, list []candidate) []candidate {
	categories := make([]byte, len(base))
	hasPreferred := make([]bool, len(base))
	for i, t := range base {
		if t != types.Unknown {
			continue
		}
		conflict := false
		for k := range list {
			arg := list[k].args[i]
			c, p := category(arg), preferred(categoryInvalid, arg)
			switch {
			case categories[i] == categoryInvalid:
				categories[i], hasPreferred[i] = c, p
			case c == categories[i]:
				hasPreferred[i] = hasPreferred[i] || p
			case c == categoryString:
				categories[i], hasPreferred[i] = c, p
			default:
				conflict = true
			}
		}
		if conflict && categories[i] != categoryString {
			return list
		}
	}
	var kept []candidate
	for k := range list {
		if acceptsCategories(&list[k], base, categories, hasPreferred) {
			kept = append(kept, list[k])
		}
	}
	if len(kept) == 0 {
		return list
	}
	return kept
}

func acceptsCategories(c *candidate, base []types.OID, categories []byte, hasPreferred []bool) bool {
	for i, t := range base {
		if t != types.Unknown {
			continue
		}
		if category(c.args[i]) != categories[i] || hasPreferred[i] && !preferred(categoryInvalid, c.args[i]) {
			return false
		}
	}
	return true
}

// allOneType takes unknown arguments for the type that all known ones have, if exactly one candidate accepts that.
func allOneType(base []types.OID, list []candidate) *candidate {
	known := types.OID(types.Unknown)
	for _, t := range base {
		if t == types.Unknown {
			continue
		}
		if known != types.Unknown && known != t {
			return nil
		}
		known = t
	}
	if known == types.Unknown {
		return nil
	}
	all := make([]types.OID, len(base))
	for i := range all {
		all[i] = known
	}
	var found *candidate
	for k := range list {
		if !canCoerce(all, list[k].args, implicit) {
			continue
		}
		if found != nil {
			return nil
		}
		found = &list[k]
	}
	return found
}
