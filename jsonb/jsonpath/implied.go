package jsonpath

import "github.com/sherddb/sherd/jsonb"

// Implied is what a document must have for a path to find something in it: equalities of a scalar
// with what a chain of accessors reaches, as PostgreSQL's GIN indexes extract them.
type Implied struct {
	Kind  ImpliedKind
	Args  []*Implied    // of ImpliedAnd and ImpliedOr
	Path  []ImpliedStep // of ImpliedEqual, from the root
	Value jsonb.Doc     // of ImpliedEqual, a scalar
}

// ImpliedKind is the kind of an Implied.
type ImpliedKind uint8

// The kinds of Implied.
const (
	ImpliedEqual ImpliedKind = iota
	ImpliedAnd
	ImpliedOr
)

// ImpliedStep is an accessor.
type ImpliedStep struct {
	Kind StepKind
	Key  string
}

// StepKind is the kind of an ImpliedStep.
type StepKind uint8

// The kinds of ImpliedStep.
const (
	StepKey     StepKind = iota // .key
	StepElement                 // elements of an array
	StepAny                     // .* or .**
)

// Implies returns what follows from a document if the path finds an item in it (exists: the operator
// @?), or if the path is true (@@). nil: nothing follows.
func (p *Path) Implies(exists bool) *Implied {
	if exists {
		return impliedBy(p.root, nil, "")
	}
	return impliedIf(p.root, nil, false)
}

// allOf returns what follows if all of a list do.
func allOf(list []*Implied) *Implied {
	switch len(list) {
	case 0:
		return nil
	case 1:
		return list[0]
	}
	return &Implied{Kind: ImpliedAnd, Args: list}
}

// impliedBy returns what follows if a chain of accessors, behind those of at, reaches an item; with a
// value, if it reaches an item that is equal to it.
func impliedBy(n *node, at []ImpliedStep, value jsonb.Doc) *Implied {
	var out []*Implied
	at = at[:len(at):len(at)]
	for ; n != nil; n = n.next {
		switch n.op {
		case opRoot:
			at = nil
		case opCurrent:
		case opKey:
			at = append(at, ImpliedStep{Kind: StepKey, Key: n.text})
		case opIndex, opAnyArray:
			at = append(at, ImpliedStep{Kind: StepElement})
		case opAnyKey, opAny:
			at = append(at, ImpliedStep{Kind: StepAny})
		case opFilter:
			if x := impliedIf(n.left, at, false); x != nil {
				out = append(out, x)
			}
		default: // the items behind it are not those of the document
			return allOf(out)
		}
	}
	if value != "" {
		out = append(out, &Implied{Kind: ImpliedEqual, Path: at, Value: value})
	}
	return allOf(out)
}

// impliedIf returns what follows if a predicate is true; with not, if it is false. @ is at a place.
func impliedIf(n *node, at []ImpliedStep, not bool) *Implied {
	if n.next != nil {
		return nil
	}
	switch n.op {
	case opAnd, opOr:
		var list []*Implied
		for _, arg := range []*node{n.left, n.right} {
			if x := impliedIf(arg, at, not); x != nil {
				list = append(list, x)
			}
		}
		if (n.op == opAnd) != not {
			return allOf(list)
		}
		if len(list) < 2 {
			return nil
		}
		return &Implied{Kind: ImpliedOr, Args: list}
	case opNot:
		return impliedIf(n.left, at, !not)
	case opExists:
		if !not {
			return impliedBy(n.left, at, "")
		}
	case opEq:
		if not {
			return nil
		}
		if v, ok := scalarOf(n.left); ok {
			return impliedBy(n.right, at, v)
		}
		if v, ok := scalarOf(n.right); ok {
			return impliedBy(n.left, at, v)
		}
	}
	return nil
}

// scalarOf returns the value of a literal.
func scalarOf(n *node) (jsonb.Doc, bool) {
	if n.next != nil {
		return "", false
	}
	switch n.op {
	case opNull:
		return jsonb.NullDoc, true
	case opTrue:
		return jsonb.TrueDoc, true
	case opFalse:
		return jsonb.FalseDoc, true
	case opNumber, opString:
		return n.value, n.value != ""
	}
	return "", false
}
