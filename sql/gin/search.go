package gin

import (
	"slices"

	"github.com/sherddb/sherd/jsonb/jsonpath"
	"github.com/sherddb/sherd/sql/types"
)

// SearchKind says what a Search finds.
type SearchKind uint8

// Kinds of searches.
const (
	All  SearchKind = iota // any row may meet the condition: terms say nothing about it
	Some                   // rows with Term
	And                    // rows that all Args find; there are two at least
	Or                     // rows that one of Args finds; without Args no row meets the condition
)

// Search is a condition over the terms of a row.
type Search struct {
	Kind SearchKind
	Term Term
	Args []Search
}

// nothing finds no row.
var nothing = Search{Kind: Or}

// Both returns the search of rows that meet several conditions.
func Both(list ...Search) Search {
	var args []Search
	for _, s := range list {
		switch {
		case s.Kind == Or && len(s.Args) == 0:
			return nothing
		case s.Kind == And:
			args = append(args, s.Args...)
		case s.Kind != All:
			args = append(args, s)
		}
	}
	switch len(args) {
	case 0:
		return Search{}
	case 1:
		return args[0]
	}
	return Search{Kind: And, Args: args}
}

// Either returns the search of rows that meet one of some conditions.
func Either(list ...Search) Search {
	var args []Search
	for _, s := range list {
		switch s.Kind {
		case All:
			return s
		case Or:
			args = append(args, s.Args...)
		default:
			args = append(args, s)
		}
	}
	if len(args) == 1 {
		return args[0]
	}
	return Search{Kind: Or, Args: args}
}

// having returns the search of rows with terms, of each one.
func having(terms []Term) []Search {
	terms = Distinct(terms)
	out := make([]Search, len(terms))
	for i, t := range terms {
		out[i] = Search{Kind: Some, Term: t}
	}
	return out
}

// Search returns what a condition between the key column and a value finds (Class.Searches).
func (c *Column) Search(op string, value types.Datum) (Search, error) {
	switch {
	case value.IsNull():
		return nothing, nil
	case c.Class == ArrayOps:
		return c.searchArray(op, value)
	}
	switch op {
	case "@>":
		terms, err := c.Append(nil, value)
		return Both(having(terms)...), err
	case "?":
		return Search{Kind: Some, Term: c.term(ofKey, value.S)}, nil
	case "?|", "?&":
		return c.searchKeys(op, value)
	case "@?", "@@":
		p, err := jsonpath.Parse(value.S)
		if err != nil {
			return Search{}, err
		}
		return c.searchPath(p.Implies(op == "@?")), nil
	}
	return Search{}, nil
}

// searchKeys is Search for ?| and ?&. Null keys do not count.
func (c *Column) searchKeys(op string, value types.Datum) (Search, error) {
	a, err := types.ArrayOf(value)
	if err != nil {
		return Search{}, err
	}
	var terms []Term
	for i := range a.Len() {
		if d := a.At(i); !d.IsNull() {
			terms = append(terms, c.term(ofKey, d.S))
		}
	}
	if op == "?|" {
		return Either(having(terms)...), nil
	}
	return Both(having(terms)...), nil
}

// searchArray is Search for arrays. A null element is contained in nothing and overlaps with nothing,
// but equals another one.
func (c *Column) searchArray(op string, value types.Datum) (Search, error) {
	a, err := types.ArrayOf(value)
	if err != nil {
		return Search{}, err
	}
	var terms []Term
	for i := range a.Len() {
		d := a.At(i)
		switch {
		case !d.IsNull() || op == "=":
			terms = append(terms, c.element(d))
		case op == "@>":
			return nothing, nil
		}
	}
	switch op {
	case "@>":
		return Both(having(terms)...), nil
	case "&&":
		return Either(having(terms)...), nil
	case "<@":
		return Either(having(append(terms, c.term(ofEmpty, "")))...), nil
	case "=":
		if len(terms) == 0 {
			terms = append(terms, c.term(ofEmpty, ""))
		}
		return Both(having(terms)...), nil
	}
	return Search{}, nil
}

// searchPath returns the search of what a jsonpath implies.
func (c *Column) searchPath(x *jsonpath.Implied) Search {
	if x == nil {
		return Search{}
	}
	list := make([]Search, len(x.Args))
	for i, a := range x.Args {
		list[i] = c.searchPath(a)
	}
	switch x.Kind {
	case jsonpath.ImpliedAnd:
		return Both(list...)
	case jsonpath.ImpliedOr:
		return Either(list...)
	}
	if c.Class == JSONBPathOps {
		return c.searchLeaf(x)
	}
	for _, s := range x.Path {
		if s.Kind == jsonpath.StepKey {
			list = append(list, Search{Kind: Some, Term: c.term(ofKey, s.Key)})
		}
	}
	value := Search{Kind: Some, Term: c.scalar(x.Value)}
	if s, ok := x.Value.Str(); ok { // a value, or an element of an array
		value = Either(value, Search{Kind: Some, Term: c.term(ofKey, s)})
	}
	return Both(append(list, value)...)
}

// searchLeaf is searchPath of a value at a path, in jsonb_path_ops.
func (c *Column) searchLeaf(x *jsonpath.Implied) Search {
	p := c.root()
	for _, s := range x.Path {
		switch s.Kind {
		case jsonpath.StepKey:
			p = c.below(p, ofKey, s.Key)
		case jsonpath.StepAny:
			return Search{}
		}
	}
	return Search{Kind: Some, Term: c.leaf(p, x.Value)}
}

// Terms returns how many terms a search names.
func (s *Search) Terms() int {
	if s.Kind == Some {
		return 1
	}
	n := 0
	for i := range s.Args {
		n += s.Args[i].Terms()
	}
	return n
}

// Finds reports whether a search finds a row with terms.
func (s *Search) Finds(terms []Term) bool {
	switch s.Kind {
	case Some:
		return slices.Contains(terms, s.Term)
	case And:
		return !slices.ContainsFunc(s.Args, func(a Search) bool { return !a.Finds(terms) })
	case Or:
		return slices.ContainsFunc(s.Args, func(a Search) bool { return a.Finds(terms) })
	}
	return true
}
