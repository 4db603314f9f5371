package analyze

import (
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// candidate is an overload that a call may refer to.
type candidate struct {
	// effective argument types in call order: variadic ones expanded, defaults included
	args []types.OID
	op   *pgcatalog.Operator
	proc *query.Proc

	variadic  int   // number of arguments for the variadic parameter; 0 if none
	defaults  int   // number of arguments taken from defaults
	positions []int // of named notation: the parameter number of each argument
}

// selectCandidate is func_select_candidate: it returns the best overload, nil if the choice is
// ambiguous. All candidates accept the input types implicitly.
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

// mostMatches returns the candidates for which match is true for the largest number of known
// arguments.
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

// resolveUnknowns chooses a type category for each unknown argument, preferring strings, and
// returns the candidates that accept it.
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

// allOneType assumes that unknown arguments have the type of all known ones. It returns the
// candidate that accepts this, if there is exactly one.
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
