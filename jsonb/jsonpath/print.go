package jsonpath

import (
	"strconv"

	"github.com/sherddb/sherd/jsonb"
)

// String returns the path as jsonpath_out prints it.
func (p *Path) String() string {
	var dst []byte
	if p.strict {
		dst = append(dst, "strict "...)
	}
	return string(p.root.print(dst, false, true, false))
}

// Source returns the path as text that Parse reads back to the same path. It differs from String
// only for an operation before an accessor, such as (1 + 2).abs() inside of another, because
// PostgreSQL leaves out the parentheses there.
func (p *Path) Source() string {
	var dst []byte
	if p.strict {
		dst = append(dst, "strict "...)
	}
	return string(p.root.print(dst, false, true, true))
}

// priority returns how tightly an operation binds, for the parentheses of the text form.
func (n *node) priority() int {
	switch n.op {
	case opOr:
		return 0
	case opAnd:
		return 1
	case opEq, opNe, opLt, opLe, opGt, opGe, opStarts:
		return 2
	case opAdd, opSub:
		return 3
	case opMul, opDiv, opMod:
		return 4
	case opPlus, opMinus:
		return 5
	}
	return 6
}

// print writes the chain that starts at n. member reports whether it follows another item, exact
// whether the text has to parse to the same path.
func (n *node) print(dst []byte, member, brackets, exact bool) []byte {
	for ; n != nil; n = n.next {
		alone := exact && n.next != nil && (n.op == opNot || n.op == opExists || n.op == opUnknown)
		if alone {
			dst = append(dst, '(')
		}
		dst = n.printOne(dst, member, brackets || exact && n.next != nil, exact)
		if alone {
			dst = append(dst, ')')
		}
		member, brackets = true, true
	}
	return dst
}

func (n *node) printOne(dst []byte, member, brackets, exact bool) []byte {
	switch n.op {
	case opNumber:
		if n.next != nil {
			return append(n.value.AppendText(append(dst, '(')), ')')
		}
		return n.value.AppendText(dst)
	case opNull, opTrue, opFalse, opString:
		return n.value.AppendText(dst)
	case opVariable:
		return jsonb.AppendQuoted(append(dst, '$'), n.text)
	case opRoot:
		return append(dst, '$')
	case opCurrent:
		return append(dst, '@')
	case opLast:
		return append(dst, "last"...)
	case opKey:
		if member {
			dst = append(dst, '.')
		}
		return jsonb.AppendQuoted(dst, n.text)
	case opAnyKey:
		if member {
			dst = append(dst, '.')
		}
		return append(dst, '*')
	case opAnyArray:
		return append(dst, "[*]"...)
	case opAny:
		return n.printAny(dst, member)
	case opIndex:
		return n.printSubscripts(dst, exact)
	}
	if n.op >= opType && n.op <= opKeyvalue {
		dst = append(append(append(dst, '.'), symbols[n.op]...), '(')
		return append(n.left.print(dst, false, false, exact), ')')
	}
	return n.printOperation(dst, brackets, exact)
}

// printOperation writes an operation with operands.
func (n *node) printOperation(dst []byte, brackets, exact bool) []byte {
	wrapped := func(before string) []byte {
		return append(n.left.print(append(dst, before...), false, false, exact), ')')
	}
	switch n.op {
	case opFilter:
		return wrapped("?(")
	case opNot:
		return wrapped("!(")
	case opExists:
		return wrapped("exists (")
	case opUnknown:
		return append(wrapped("("), " is unknown"...)
	}
	if brackets {
		dst = append(dst, '(')
	}
	switch n.op {
	case opPlus, opMinus:
		dst = append(dst, symbols[n.op]...)
		dst = n.left.print(dst, false, n.left.priority() <= n.priority(), exact)
	case opRegex:
		dst = n.left.print(dst, false, n.left.priority() <= n.priority(), exact)
		dst = jsonb.AppendQuoted(append(dst, " like_regex "...), n.text)
		if n.flags != 0 {
			dst = append(append(append(dst, ` flag "`...), n.flags.String()...), '"')
		}
	default:
		dst = n.left.print(dst, false, n.left.priority() <= n.priority(), exact)
		dst = append(append(append(dst, ' '), symbols[n.op]...), ' ')
		dst = n.right.print(dst, false, n.right.priority() <= n.priority(), exact)
	}
	if brackets {
		dst = append(dst, ')')
	}
	return dst
}

func (n *node) printAny(dst []byte, member bool) []byte {
	if member {
		dst = append(dst, '.')
	}
	dst = append(dst, "**"...)
	if n.first == 0 && n.last == anyLevel {
		return dst
	}
	dst = appendLevel(append(dst, '{'), n.first)
	if n.last != n.first {
		dst = appendLevel(append(dst, " to "...), n.last)
	}
	return append(dst, '}')
}

func appendLevel(dst []byte, level uint32) []byte {
	if level == anyLevel {
		return append(dst, "last"...)
	}
	return strconv.AppendUint(dst, uint64(level), 10)
}

func (n *node) printSubscripts(dst []byte, exact bool) []byte {
	dst = append(dst, '[')
	for i, s := range n.subs {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = s.from.print(dst, false, false, exact)
		if s.to != nil {
			dst = s.to.print(append(dst, " to "...), false, false, exact)
		}
	}
	return append(dst, ']')
}
