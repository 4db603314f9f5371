package deparse

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// Expr returns the text of an expression on one line, as the catalog stores constraints and
// defaults, and as EXPLAIN shows them.
func Expr(e query.Expr) string { return Line(e, nil) }

// Rows returns the text of an expression over several rows, which have names: old.a. env and pretty are
// those of With.
func Rows(e query.Expr, env *types.Env, pretty bool, rows ...string) string {
	d := &deparser{env: env, pretty: pretty, rows: rows}
	d.expr(e, false)
	return string(d.buf)
}

// Line is Expr with constants as env prints them: reg* constants by name.
func Line(e query.Expr, env *types.Env) string {
	d := &deparser{env: env}
	d.expr(e, false)
	return string(d.buf)
}

// With returns the text of an expression as pg_get_expr does, with env's names for reg* constants.
// If pretty is set, it leaves out parentheses that are not needed, as pg_get_expr(…, true) does.
func With(e query.Expr, env *types.Env, pretty bool) string {
	d := &deparser{env: env, pretty: pretty, lines: true}
	d.expr(e, false)
	return string(d.buf)
}

// deparser works like ruleutils.c.
type deparser struct {
	buf    []byte
	env    *types.Env
	pretty bool
	lines  bool // clauses and CASE take several lines
	indent int  // indentation of these lines

	width   int      // beyond which lists continue on another line
	queries []*level // the query and those around it, the innermost last
	name    func(oid uint32, qualify bool) string
	params  []string
	routine string
	stored  bool     // in the form that the catalog keeps
	alone   bool     // only an expression of the query is written: its columns are not qualified
	rows    []string // names of the rows of variables outside of queries
}

// numbered reports whether types and attributes have their numbers as names, as in stored expressions.
func numbered(d *deparser) bool { return d.env == nil || d.env.TypeOut == nil }

func (d *deparser) put(parts ...string) {
	for _, p := range parts {
		d.buf = append(d.buf, p...)
	}
}

// open and close write parentheses that pretty text leaves out.
func (d *deparser) open() {
	if !d.pretty {
		d.put("(")
	}
}

func (d *deparser) close() {
	if !d.pretty {
		d.put(")")
	}
}

// nested writes an operand of parent, in parentheses if pretty text needs them.
func (d *deparser) nested(e query.Expr, implicitCasts bool, parent query.Expr) {
	if d.pretty && !simple(query.Unwritten(e), parent) {
		d.put("(")
		d.expr(e, implicitCasts)
		d.put(")")
		return
	}
	d.expr(e, implicitCasts)
}

func (d *deparser) list(es []query.Expr) {
	for i, e := range es {
		if i > 0 {
			d.put(", ")
		}
		d.expr(e, true)
	}
}

// expr writes e. If implicitCasts is set, implicit casts are written too.
func (d *deparser) expr(e query.Expr, implicitCasts bool) {
	switch v := e.(type) {
	case nil:
		d.put("NULL")
	case *query.Var:
		d.variable(v)
	case *query.Const:
		d.constant(v, 0)
	case *query.Param:
		if v.N <= len(d.params) && d.params[v.N-1] != "" {
			if slices.ContainsFunc(d.queries, func(l *level) bool { return len(l.q.Rels) > 0 }) {
				d.put(builtin.QuoteIdent(d.routine), ".")
			}
			d.put(builtin.QuoteIdent(d.params[v.N-1]))
			break
		}
		d.put("$", strconv.Itoa(v.N))
	case *query.Call:
		d.call(v, implicitCasts)
	case *query.Relabel:
		d.castOrArg(v, v.Arg, v.Cast != 'e', implicitCasts)
	case *query.CoerceIO:
		d.castOrArg(v, v.Arg, !v.Explicit, implicitCasts)
	case *query.RowCoerce:
		d.castOrArg(v, v.Arg, !v.Explicit, implicitCasts)
	case *query.CoerceToDomain:
		d.castOrArg(v, v.Arg, !v.Explicit, implicitCasts)
	case *query.Element:
		d.put("VALUE")
	case *query.ArrayCoerce:
		arg := v.Arg
		if inner, ok := arg.(*query.ArrayCoerce); ok && inner.OID == v.OID && inner.Mod == -1 {
			// the length is a cast of its own in the tree, but part of the same cast in the text
			arg = inner.Arg
		}
		d.castOrArg(v, arg, false, implicitCasts)
	case *query.And:
		d.logic(" AND ", v.Args, v)
	case *query.Or:
		d.logic(" OR ", v.Args, v)
	case *query.Not:
		d.open()
		d.put("NOT ")
		d.nested(v.Arg, false, v)
		d.close()
	default:
		d.test(e)
	}
}

// variable writes a column: with the name of its table inside a query.
func (d *deparser) variable(v *query.Var) {
	switch {
	case len(d.queries) > 0:
		d.column(v)
	case d.rows != nil && v.Col == query.ColWholeRow:
		d.put(d.rows[v.Rel], ".*")
	case d.rows != nil:
		d.put(d.rows[v.Rel], ".", quoteName(v.Name))
	case v.Col == query.ColWholeRow:
		d.put(builtin.QuoteIdent(v.Name), ".*")
	default:
		d.put(quoteName(v.Name))
	}
}

// quoteName quotes a column's name; names that plans generate are not quoted.
func quoteName(name string) string {
	if strings.HasPrefix(name, "(") {
		return name
	}
	return builtin.QuoteIdent(name)
}

func (d *deparser) logic(op string, args []query.Expr, parent query.Expr) {
	if d.stored {
		args = flat(args, parent)
	}
	d.open()
	for i, a := range args {
		if i > 0 {
			d.put(op)
		}
		d.nested(a, false, parent)
	}
	d.close()
}

// flat returns the arguments of AND or OR with those of the same kind among them replaced by theirs,
// as the parser does.
func flat(args []query.Expr, parent query.Expr) []query.Expr {
	var out []query.Expr
	for _, a := range args {
		x, and := a.(*query.And)
		_, inAnd := parent.(*query.And)
		y, or := a.(*query.Or)
		_, inOr := parent.(*query.Or)
		switch {
		case and && inAnd:
			out = append(out, flat(x.Args, x)...)
		case or && inOr:
			out = append(out, flat(y.Args, y)...)
		default:
			out = append(out, a)
		}
	}
	return out
}

// castOrArg writes a cast, or only its argument if the cast is implicit.
func (d *deparser) castOrArg(e, arg query.Expr, implicit, implicitCasts bool) {
	if implicit && !implicitCasts {
		d.nested(arg, false, e)
		return
	}
	d.cast(arg, e.Type(), e.Typmod(), e)
}

func (d *deparser) cast(arg query.Expr, t types.OID, mod int32, parent query.Expr) {
	c, ok := arg.(*query.Const)
	if ok && c.Type() == t && c.Typmod() == -1 {
		d.constant(c, -1)
	} else {
		d.open()
		d.nested(arg, false, parent)
		d.close()
	}
	d.put("::", d.castName(t, mod, ok && c.Type() == t && c.Typmod() == -1 && !c.Value.IsNull()))
}

// constant writes a literal. label is -1 to leave out the type, 0 to write it if it is needed.
func (d *deparser) constant(c *query.Const, label int) {
	name := d.castName(c.Type(), c.Typmod(), !c.Value.IsNull())
	if c.Value.IsNull() {
		d.put("NULL")
		if label >= 0 && c.Type() != types.Unknown {
			d.put("::", name)
		}
		return
	}
	text := types.Output(c.Type(), c.Value, d.env)
	needed := true
	switch c.Type() {
	case types.Int4:
		if needed = strings.HasPrefix(text, "-"); needed {
			text = "'" + text + "'"
		}
	case types.Numeric:
		if needed = text == "" || text[0] < '0' || text[0] > '9' || !strings.ContainsAny(text, "eE."); needed {
			text = "'" + text + "'"
		}
		needed = needed || c.Typmod() >= 0
	case types.Bool:
		needed = false
		text = map[bool]string{true: "true", false: "false"}[c.Value.Bool()]
	case types.Unknown:
		needed = false
		text = quote(text)
	default:
		text = quote(text)
	}
	d.put(text)
	if label >= 0 && needed {
		d.put("::", name)
	}
}

// quote returns a literal, in which a backslash means itself.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// call writes an operator, a cast by function or a function call.
func (d *deparser) call(c *query.Call, implicitCasts bool) {
	switch {
	case c.Op != "" && len(c.Args) == 2:
		d.open()
		d.nested(c.Args[0], true, c)
		d.put(" ", c.Op, " ")
		d.nested(c.Args[1], true, c)
		d.close()
	case c.Op != "" && len(c.Args) == 1:
		d.open()
		d.put(c.Op, " ")
		d.nested(c.Args[0], true, c)
		d.close()
	case c.Cast != 0:
		d.castOrArg(c, c.Args[0], c.Cast != 'e', implicitCasts)
	default:
		d.put(d.procName(c.Proc), "(")
		d.args(c)
		d.put(")")
	}
}

// args writes a function's arguments; a variadic array is written as separate arguments.
func (d *deparser) args(c *query.Call) {
	args := c.Args
	if c.Variadic && len(args) > 0 {
		d.list(args[:len(args)-1])
		if len(args) > 1 {
			d.put(", ")
		}
		d.put("VARIADIC ")
		d.expr(args[len(args)-1], true)
		return
	}
	if c.Proc.Variadic != 0 && c.Proc.Variadic != types.Any && len(args) > 0 {
		if a, ok := args[len(args)-1].(*query.Array); ok {
			args = append(append([]query.Expr(nil), args[:len(args)-1]...), a.Elems...)
		}
	}
	d.list(args)
}

// castName returns the name of a type so that a cast to it is read back as the same type: character
// would mean character(1). value is set for the type of a constant.
func (d *deparser) castName(t types.OID, mod int32, value bool) string {
	switch {
	case catalog.TypeNumber(t) == 0:
	case d.env != nil && d.env.TypeOut != nil:
		return d.env.TypeOut(t)
	case value: // the text of the constant has ranks
		return strings.Replace(pgcatalog.FormatType(t, -1), "sherd.type_", "sherd.value_", 1)
	}
	if mod == -1 {
		switch t {
		case types.BPChar:
			return "bpchar"
		case types.BPCharArray:
			return "bpchar[]"
		case types.Bit:
			return `"bit"`
		case types.BitArray:
			return `"bit"[]`
		}
	}
	return pgcatalog.FormatType(t, mod)
}

func (d *deparser) procName(p *query.Proc) string {
	switch {
	case p.Language == "":
	case d.env != nil && d.env.FunctionOut != nil:
		return d.env.FunctionOut(p.OID)
	default:
		return catalog.StoredFunctionName + strconv.FormatUint(uint64(p.OID), 10)
	}
	if p.Namespace != "" && p.Namespace != "pg_catalog" {
		return builtin.QuoteIdent(p.Namespace) + "." + builtin.QuoteIdent(p.Name)
	}
	return builtin.QuoteIdent(p.Name)
}
