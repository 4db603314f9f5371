package analyze

import (
	"slices"
	"strings"

	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// candidates is FuncnameGetCandidates: it returns the functions of a name that accept the given
// number and names of arguments.
func (s *scope) candidates(schema, name string, input []types.OID, names []string, expand bool) []candidate {
	var out []candidate
	for _, p := range pgcatalog.ProcsByName(name) {
		if !s.visible(schema, p.Namespace) {
			continue
		}
		c, ok := candidateOf(p, len(input), names, expand)
		if !ok {
			continue
		}
		if i := slices.IndexFunc(out, func(o candidate) bool { return sameTypes(o.args, c.args) }); i >= 0 {
			if rank(out[i]) > rank(c) {
				out[i] = c
			}
			continue
		}
		out = append(out, c)
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

// visible reports whether a name, qualified or not, can refer to an object of a schema.
func (s *scope) visible(asked, schema string) bool {
	if asked != "" {
		return asked == schema
	}
	return schema == "pg_catalog" || slices.Contains(s.ctx.SearchPath, schema)
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
