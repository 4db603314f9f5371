package counters

import (
	"slices"

	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// document recognises additions to counters in a document, in the ways in which they are commonly
// written:
//
//	doc = jsonb_set(doc, '{Likes}', to_jsonb((doc->>'Likes')::int + 1))
//	doc = jsonb_set(doc, '{Likes}', ((doc->>'Likes')::int + 1)::text::jsonb)
//	doc = doc || jsonb_build_object('Likes', (doc->>'Likes')::int + 1)
//	doc['Likes'] = to_jsonb(doc['Likes']::int + 1)
//
// with int, bigint or numeric, #>> instead of ->>, COALESCE(…, 0), and jsonb_set within jsonb_set
// for several counters.
func (m *matcher) document(column int, e query.Expr) []addition {
	if m.def.Columns[column].Type != types.JSONB || m.isColumn(e, column) {
		return nil
	}
	var inner query.Expr
	var path []string
	var value query.Expr
	switch n := e.(type) {
	case *query.Subscript:
		inner, value = n.Base, n.Assign
		path = constants(n.Upper)
		if n.Slice || n.Assign == nil {
			return nil
		}
	case *query.Call:
		switch {
		case n.Proc.Name == "jsonb_set" && len(n.Args) >= 3:
			inner, value = n.Args[0], n.Args[2]
			path = constantPath(n.Args[1])
		case n.Op == "||" && len(n.Args) == 2:
			inner = n.Args[0]
			path, value = oneField(n.Args[1])
		}
	}
	if inner == nil || path == nil || value == nil {
		return nil
	}
	counter := m.counter(column, path)
	if counter < 0 {
		return nil
	}
	a, ok := m.sum(asNumber(value), func(e query.Expr) (types.OID, bool) { return m.field(e, column, path) })
	if !ok {
		return nil
	}
	a.counter, a.whole = counter, true
	if m.isColumn(inner, column) {
		return []addition{a}
	}
	more := m.document(column, inner)
	if more == nil {
		return nil
	}
	return append(more, a)
}

// asNumber removes the conversion of a number to jsonb.
func asNumber(e query.Expr) query.Expr {
	for {
		switch n := e.(type) {
		case *query.CoerceIO: // x::text, and text::jsonb
			if n.Type() != types.JSONB && n.Type() != types.Text {
				return e
			}
			e = n.Arg
		case *query.Call:
			if n.Proc.Name != "to_jsonb" || len(n.Args) != 1 {
				return e
			}
			e = n.Args[0]
		default:
			return e
		}
	}
}

// field reports whether an expression is a field of the document as a number, and its type.
func (m *matcher) field(e query.Expr, column int, path []string) (types.OID, bool) {
	oid := e.Type()
	if !isInteger(oid) && oid != types.Numeric || e.Typmod() >= 0 {
		return 0, false
	}
	var arg query.Expr
	switch n := e.(type) {
	case *query.CoerceIO: // of text
		arg = n.Arg
	case *query.Call: // of jsonb
		if n.Cast == 0 || len(n.Args) != 1 {
			return 0, false
		}
		arg = n.Args[0]
		if isInteger(arg.Type()) || arg.Type() == types.Numeric {
			inner, ok := m.field(arg, column, path)
			return narrower(inner, oid), ok && isInteger(arg.Type()) && isInteger(oid)
		}
	default:
		return 0, false
	}
	arg = unCoalesced(arg)
	return oid, (arg.Type() == types.Text || arg.Type() == types.JSONB) && m.at(arg, column, path)
}

// at reports whether an expression is the value at a path of the document.
func (m *matcher) at(e query.Expr, column int, path []string) bool {
	if len(path) == 0 {
		return m.isColumn(e, column)
	}
	last := len(path) - 1
	switch n := e.(type) {
	case *query.Subscript:
		steps := constants(n.Upper)
		return !n.Slice && n.Assign == nil && len(steps) > 0 && len(steps) <= len(path) &&
			slices.Equal(steps, path[len(path)-len(steps):]) && m.at(n.Base, column, path[:len(path)-len(steps)])
	case *query.Call:
		if len(n.Args) != 2 {
			return false
		}
		switch n.Op {
		case "->", "->>":
			step := constants(n.Args[1:])
			return n.Args[1].Type() == types.Text && slices.Equal(step, path[last:]) &&
				m.at(n.Args[0], column, path[:last])
		case "#>", "#>>":
			return slices.Equal(constantPath(n.Args[1]), path) && m.isColumn(n.Args[0], column)
		}
	}
	return false
}

// constants returns constant texts, nil if one is not constant.
func constants(es []query.Expr) []string {
	var out []string
	for _, e := range es {
		c, ok := e.(*query.Const)
		if !ok || c.Value.IsNull() || c.Value.K != types.KindText {
			return nil
		}
		out = append(out, c.Value.S)
	}
	return out
}

// constantPath returns a constant of type text[], nil if it is not constant.
func constantPath(e query.Expr) []string {
	if a, ok := e.(*query.Array); ok {
		return constants(a.Elems)
	}
	c, ok := e.(*query.Const)
	if !ok || c.Value.IsNull() || c.Value.K != types.KindArray {
		return nil
	}
	a, err := types.ArrayOf(c.Value)
	if err != nil {
		return nil
	}
	var out []string
	for i := range a.Len() {
		if a.At(i).IsNull() {
			return nil
		}
		out = append(out, a.At(i).S)
	}
	return out
}

// oneField reads jsonb_build_object('field', value).
func oneField(e query.Expr) ([]string, query.Expr) {
	c, ok := e.(*query.Call)
	if !ok || c.Proc.Name != "jsonb_build_object" || c.Variadic {
		return nil, nil
	}
	args := c.Args
	if len(args) == 1 {
		if a, ok := args[0].(*query.Array); ok {
			args = a.Elems
		}
	}
	if len(args) != 2 {
		return nil, nil
	}
	return constants(args[:1]), args[1]
}
