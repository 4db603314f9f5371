package deparse

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// test writes tests and constructs with their own syntax.
func (d *deparser) test(e query.Expr) {
	switch v := e.(type) {
	case *query.NullTest:
		d.suffixed(v.Arg, v, map[bool]string{false: " IS NULL", true: " IS NOT NULL"}[v.Not])
	case *query.BoolTest:
		not := map[bool]string{true: "NOT "}[v.Not]
		d.suffixed(v.Arg, v, " IS "+not+map[byte]string{'t': "TRUE", 'f': "FALSE", 'u': "UNKNOWN"}[v.Value])
	case *query.Distinct:
		if v.Not {
			d.open()
			d.put("NOT (")
		} else {
			d.open()
		}
		d.nested(v.Left, true, v)
		d.put(" IS DISTINCT FROM ")
		d.nested(v.Right, true, v)
		if v.Not {
			d.put(")")
		}
		d.close()
	case *query.NullIf:
		d.function("NULLIF", []query.Expr{v.Left, v.Right})
	case *query.Coalesce:
		d.function("COALESCE", v.Args)
	case *query.MinMax:
		d.function(map[bool]string{true: "LEAST", false: "GREATEST"}[v.Least], v.Args)
	case *query.ArrayOp:
		d.open()
		d.nested(v.Left, true, v)
		d.put(" ", v.Op, map[bool]string{true: " ALL (", false: " ANY ("}[v.All])
		d.nested(v.Array, true, v)
		if s, ok := v.Array.(*query.SubLink); ok && s.Kind == query.SubScalar && len(d.queries) > 0 {
			d.put("::", d.castName(s.Type(), s.Typmod(), false)) // or it would be read as ANY (SELECT …)
		}
		d.put(")")
		d.close()
	case *query.Case:
		d.caseExpr(v)
	case *query.Element:
		d.put("CASE_TEST_EXPR")
	case *query.Array:
		d.put("ARRAY[")
		d.list(v.Elems)
		d.put("]")
		if len(v.Elems) == 0 {
			d.put("::", d.castName(v.Type(), v.Typmod(), false))
		}
	case *query.Row:
		d.function("ROW", v.Fields)
		if v.OID != types.Record && (!v.Implicit || numbered(d)) {
			d.put("::", d.castName(v.OID, -1, false))
		}
	case *query.RowCompare:
		d.put("(")
		d.function("ROW", v.Left)
		d.put(" ", v.Op, " ")
		d.function("ROW", v.Right)
		d.put(")")
	default:
		d.rest(e)
	}
}

func (d *deparser) function(name string, args []query.Expr) {
	d.put(name, "(")
	d.list(args)
	d.put(")")
}

func (d *deparser) suffixed(arg, parent query.Expr, suffix string) {
	d.open()
	d.nested(arg, true, parent)
	d.put(suffix)
	d.close()
}

// keyword starts a line of CASE, or continues the line.
func (d *deparser) keyword(word string, first bool) {
	if !d.lines && !first {
		d.put(" ")
	}
	d.line(word, 0, 0, 0)
}

// line is appendContextKeyword: it starts a line with a word, plus more than the indentation, which
// changes by before and after.
func (d *deparser) line(word string, before, after, plus int) {
	if !d.lines {
		d.put(word)
		return
	}
	const limit = 40
	d.indent += before
	d.buf = bytes.TrimRight(d.buf, " ")
	amount := max(d.indent, 0)
	if d.indent >= limit {
		amount = (limit + (d.indent-limit)/(stepOut/2)) % limit
	}
	d.put("\n", strings.Repeat(" ", amount+plus), word)
	d.indent = max(d.indent+after, 0)
}

// Indentations of ruleutils.c.
const (
	stepOut  = 8 // of a clause
	stepJoin = 4
	stepItem = 4
)

func (d *deparser) caseExpr(c *query.Case) {
	d.keyword("CASE", true)
	d.indent += stepItem
	if c.Arg != nil {
		d.put(" ")
		d.expr(c.Arg, true)
	}
	for _, w := range c.Whens {
		d.keyword("WHEN ", false)
		if c.Arg != nil {
			d.whenValue(w.Cond)
		} else {
			d.expr(w.Cond, false)
		}
		d.put(" THEN ")
		d.expr(w.Result, true)
	}
	d.keyword("ELSE ", false)
	d.expr(c.Else, true)
	d.indent -= stepItem
	d.keyword("END", false)
}

// whenValue writes the value that a simple CASE compares its operand with.
func (d *deparser) whenValue(cond query.Expr) {
	if call, ok := cond.(*query.Call); ok && len(call.Args) == 2 {
		d.expr(call.Args[1], false)
		return
	}
	d.expr(cond, false)
}

// subscripted writes the operand of a subscript. The grammar accepts only a column or a field of a
// column without parentheses.
func (d *deparser) subscripted(v *query.Subscript) {
	switch v.Base.(type) {
	case *query.Var, *query.Field:
		d.nested(v.Base, true, v)
	default:
		d.put("(")
		d.expr(v.Base, true)
		d.put(")")
	}
}

func (d *deparser) rest(e query.Expr) {
	switch v := e.(type) {
	case *query.Subscript:
		d.subscripted(v)
		for i, u := range v.Upper {
			d.put("[")
			if v.Slice {
				if v.Lower[i] != nil {
					d.expr(v.Lower[i], false)
				}
				d.put(":")
			}
			if u != nil {
				d.expr(u, false)
			}
			d.put("]")
		}
		if v.Assign != nil {
			d.put(" := ")
			d.expr(v.Assign, false)
		}
	case *query.Field:
		writeField(d, v)
	case *query.SQLValue:
		d.put(strings.ToUpper(v.Name))
		if v.Typmod() >= 0 {
			d.put("(", strconv.Itoa(int(v.Typmod())), ")")
		}
	case *query.Agg:
		d.aggregate(v)
	case *query.WindowCall:
		writeWindowCall(d, v)
	case *query.Grouping:
		writeGrouping(d, v)
	case *query.Written:
		d.written(v)
	case *query.SubLink:
		d.subLink(v)
	case *query.SubColumn:
		d.put("$", strconv.Itoa(v.N))
	case *query.Default:
		d.put("DEFAULT")
	default:
		d.put("?")
	}
}

func (d *deparser) aggregate(a *query.Agg) {
	d.put(d.procName(a.Proc), "(")
	if a.Distinct {
		d.put("DISTINCT ")
	}
	if a.Star {
		d.put("*")
	}
	args := a.Args
	if n := len(a.Proc.ArgTypes); len(a.Direct) == 0 && a.Proc.Variadic == 0 && n < len(args) {
		args = args[:n]
	}
	if len(a.Direct) > 0 {
		d.list(a.Direct)
		d.put(") WITHIN GROUP (ORDER BY ")
		d.orders(a)
		d.put(")")
	} else {
		d.list(args)
		if len(a.Order) > 0 {
			d.put(" ORDER BY ")
			d.orders(a)
		}
		d.put(")")
	}
	d.filter(a.Filter)
}

func (d *deparser) orders(a *query.Agg) {
	for i, o := range a.Order {
		if i > 0 {
			d.put(", ")
		}
		if len(d.queries) > 0 {
			d.sortKey(a.Args[o.Arg])
		} else {
			d.expr(a.Args[o.Arg], false)
		}
		if o.Desc {
			d.put(" DESC")
		}
		if o.NullsFirst != o.Desc {
			d.put(map[bool]string{true: " NULLS FIRST", false: " NULLS LAST"}[o.NullsFirst])
		}
	}
}

func (d *deparser) filter(e query.Expr) {
	if e == nil {
		return
	}
	d.put(" FILTER (WHERE ")
	d.expr(e, false)
	d.put(")")
}

func (d *deparser) subLink(s *query.SubLink) {
	switch {
	case len(d.queries) > 0:
		d.subquery(s)
	case s.Kind == query.SubExists:
		d.put("EXISTS(SubPlan)")
	case s.Kind == query.SubArray:
		d.put("ARRAY(SubPlan)")
	default:
		d.put("(SubPlan)")
	}
}

// writeField writes a field of a row. An operand that is an element or a field itself needs no
// parentheses.
func writeField(d *deparser, v *query.Field) {
	_, element := v.Arg.(*query.Subscript)
	_, field := v.Arg.(*query.Field)
	if element || field {
		d.expr(v.Arg, true)
	} else {
		d.put("(")
		d.expr(v.Arg, true)
		d.put(")")
	}
	if t := types.BaseOf(v.Arg.Type()); numbered(d) && v.Attribute > 0 {
		d.put(`."#`, strconv.FormatUint(uint64(t), 10), ".", strconv.Itoa(v.Attribute), `"`)
		return
	}
	d.put(".", quoteName(v.Name))
}
