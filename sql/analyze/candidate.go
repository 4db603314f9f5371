package analyze

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/function"
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

// candidates is FuncnameGetCandidates: it returns the functions of a name that accept the given
// number and names of arguments. Of those with the same effective arguments the first along the
// search path counts.
func (s *scope) candidates(schema, name string, input []types.OID, names []string, expand bool) []candidate {
	var out []candidate
	for _, p := range procsNamed(s.ctx, schema, name) {
		c, ok := candidateOf(p, len(input), names, expand)
		if !ok {
			continue
		}
		if i := slices.IndexFunc(out, func(o candidate) bool { return sameTypes(o.args, c.args) }); i >= 0 {
			if out[i].proc.Namespace == p.Namespace && rank(out[i]) > rank(c) {
				out[i] = c
			}
			continue
		}
		out = append(out, c)
	}
	return out
}

// procsNamed returns the functions that a name, qualified or not, may refer to, in the order of the
// search path.
func procsNamed(ctx *Context, schema, name string) []*query.Proc {
	if digits, ok := strings.CutPrefix(schema+"."+name, catalog.StoredFunctionName); ok {
		n, err := strconv.ParseUint(digits, 10, 32)
		if f := function.ByOID(ctx.Catalog, types.OID(n)); err == nil && f != nil && f.Language != "" {
			return []*query.Proc{f}
		}
	}
	path := []string{schema}
	if schema == "" {
		path = ctx.SearchPath
		if !slices.Contains(path, "pg_catalog") {
			path = append([]string{"pg_catalog"}, path...)
		}
	}
	builtIn := pgcatalog.ProcsByName(name)
	var out []*query.Proc
	for _, sch := range path {
		if schema == "" && catalog.IsTemporarySchema(sch) {
			continue // as in PostgreSQL, so that no function takes the place of another one by chance
		}
		for _, p := range builtIn {
			if p.Namespace == sch {
				out = append(out, p)
			}
		}
		out = append(out, function.Named(ctx.Catalog, ctx.Database, sch, name)...)
	}
	return out
}

// rank orders candidates with the same effective arguments: without defaults first, then with
// defaults, then variadic.
func rank(c candidate) int {
	switch {
	case c.variadic > 0:
		return 2
	case c.defaults > 0:
		return 1
	}
	return 0
}

func candidateOf(p *query.Proc, n int, names []string, expand bool) (candidate, bool) {
	c := candidate{proc: p}
	if len(names) > 0 {
		return namedCandidate(c, n, names)
	}
	declared := len(p.ArgTypes)
	switch {
	case expand && p.Variadic != 0 && n >= declared:
		c.variadic = n - declared + 1
		c.args = append(c.args, p.ArgTypes[:declared-1]...)
		for range c.variadic {
			c.args = append(c.args, variadicElement(p))
		}
		return c, true
	case n == declared && (expand || p.Variadic != 0):
		c.args = p.ArgTypes
		return c, true
	case n < declared && declared-n <= len(p.Defaults) && expand:
		c.args, c.defaults = p.ArgTypes[:n], declared-n
		return c, true
	}
	return c, false
}

// variadicElement returns the declared type of one variadic argument.
func variadicElement(p *query.Proc) types.OID { return p.Variadic }

// namedCandidate matches named arguments (MatchNamedCall).
func namedCandidate(c candidate, n int, names []string) (candidate, bool) {
	p := c.proc
	if p.Variadic != 0 {
		return c, false
	}
	declared := len(p.ArgTypes)
	if n > declared || declared-n > len(p.Defaults) {
		return c, false
	}
	known := inputNames(p)
	used := make([]bool, declared)
	for i := range n {
		at := i
		if k := i - (n - len(names)); k >= 0 {
			if at = slices.Index(known, names[k]); at < 0 {
				return c, false
			}
		}
		if used[at] {
			return c, false
		}
		used[at] = true
		c.positions = append(c.positions, at)
		c.args = append(c.args, p.ArgTypes[at])
	}
	for i, u := range used {
		if !u && i < declared-len(p.Defaults) {
			return c, false
		}
	}
	c.defaults = declared - n
	return c, true
}

// inputNames returns the names of a function's input arguments.
func inputNames(p *query.Proc) []string {
	if p.ArgModes == "" {
		return p.ArgNames
	}
	var out []string
	for i, mode := range p.ArgModes {
		if strings.ContainsRune("ibv", mode) && i < len(p.ArgNames) {
			out = append(out, p.ArgNames[i])
		}
	}
	return out
}
