package analyze

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// aExpr analyzes an operator expression of any kind.
func (s *scope) aExpr(a *pg_query.A_Expr) (query.Expr, error) {
	name := nodeStrings(a.Name)
	switch a.Kind {
	case pg_query.A_Expr_Kind_AEXPR_OP, pg_query.A_Expr_Kind_AEXPR_LIKE, pg_query.A_Expr_Kind_AEXPR_ILIKE,
		pg_query.A_Expr_Kind_AEXPR_SIMILAR:
		return s.binary(name, a.Lexpr, a.Rexpr, a.Location)
	case pg_query.A_Expr_Kind_AEXPR_OP_ANY, pg_query.A_Expr_Kind_AEXPR_OP_ALL:
		left, right, err := s.pair(a.Lexpr, a.Rexpr)
		if err != nil {
			return nil, err
		}
		return s.arrayOp(name, a.Kind == pg_query.A_Expr_Kind_AEXPR_OP_ALL, left, right, a.Location)
	case pg_query.A_Expr_Kind_AEXPR_DISTINCT, pg_query.A_Expr_Kind_AEXPR_NOT_DISTINCT:
		return s.distinct(a)
	case pg_query.A_Expr_Kind_AEXPR_NULLIF:
		return s.nullIf(a)
	case pg_query.A_Expr_Kind_AEXPR_IN:
		return s.in(a, name)
	}
	return s.between(a)
}

func (s *scope) pair(l, r *pg_query.Node) (left, right query.Expr, err error) {
	if left, err = s.expr(l); err != nil {
		return nil, nil, err
	}
	right, err = s.expr(r)
	return left, right, err
}

// binary is left op right, also for rows and row subqueries; left is nil for a prefix operator.
func (s *scope) binary(name []string, l, r *pg_query.Node, loc int32) (query.Expr, error) {
	if r == nil {
		return nil, s.errorf(loc, pgerr.SyntaxError, "postfix operators are not supported")
	}
	lrow, rrow := l.GetRowExpr(), r.GetRowExpr()
	if lrow != nil {
		if sub := r.GetSubLink(); sub != nil && sub.SubLinkType == pg_query.SubLinkType_EXPR_SUBLINK {
			return s.rowSubLink(name, l, sub, loc)
		}
		if rrow != nil {
			left, err := s.items(lrow.Args)
			if err != nil {
				return nil, err
			}
			right, err := s.items(rrow.Args)
			if err != nil {
				return nil, err
			}
			return s.rowOp(name, exprsOf(left), exprsOf(right), loc)
		}
	}
	var left query.Expr
	var err error
	if l != nil {
		if left, err = s.expr(l); err != nil {
			return nil, err
		}
	}
	right, err := s.expr(r)
	if err != nil {
		return nil, err
	}
	return s.opCall(name, left, right, loc)
}

// rowOp is make_row_comparison_op.
func (s *scope) rowOp(name []string, left, right []query.Expr, loc int32) (query.Expr, error) {
	if len(left) != len(right) {
		return nil, s.errorf(loc, pgerr.SyntaxError, "unequal number of entries in row expressions")
	}
	if len(left) == 0 {
		return nil, s.unsupported(loc, "cannot compare rows of zero length")
	}
	op := name[len(name)-1]
	calls := make([]*query.Call, len(left))
	for i := range left {
		e, err := s.opCall(name, left[i], right[i], loc)
		if err != nil {
			return nil, err
		}
		call := e.(*query.Call)
		if call.Type() != types.Bool {
			return nil, s.errorf(loc, pgerr.DatatypeMismatch,
				"row comparison operator must yield type boolean, not type %s", s.ctx.name(call.Type()))
		}
		calls[i] = call
	}
	if len(calls) == 1 {
		return calls[0], nil
	}
	switch op {
	case "=", "<>", "!=":
		args := make([]query.Expr, len(calls))
		for i, c := range calls {
			args[i] = c
		}
		if op == "=" {
			return &query.And{Args: args}, nil
		}
		return &query.Or{Args: args}, nil
	case "<", "<=", ">", ">=":
		return s.rowOrder(op, calls, loc)
	}
	return nil, s.unsupported(loc, "could not determine interpretation of row comparison operator %s", op).
		WithHint("Row comparison operators must be associated with btree operator families.")
}

// rowOrder is a lexicographic comparison; for each column it needs the strict operator and
// equality.
func (s *scope) rowOrder(op string, calls []*query.Call, loc int32) (query.Expr, error) {
	out := &query.RowCompare{T: query.Of(types.Bool), Op: op}
	for _, c := range calls {
		l, r := c.Args[0], c.Args[1]
		strict, err := s.opCall([]string{op[:1]}, l, r, loc)
		if err != nil {
			return nil, err
		}
		equal, err := s.opCall([]string{"="}, l, r, loc)
		if err != nil {
			return nil, err
		}
		out.Lt = append(out.Lt, strict.(*query.Call).Proc)
		out.Eq = append(out.Eq, equal.(*query.Call).Proc)
		out.Left = append(out.Left, l)
		out.Right = append(out.Right, r)
	}
	return out, nil
}

// distinct is IS [NOT] DISTINCT FROM.
func (s *scope) distinct(a *pg_query.A_Expr) (query.Expr, error) {
	not := a.Kind == pg_query.A_Expr_Kind_AEXPR_NOT_DISTINCT
	if isNullNode(a.Rexpr) {
		return s.nullTestOf(a.Lexpr, !not)
	}
	if isNullNode(a.Lexpr) {
		return s.nullTestOf(a.Rexpr, !not)
	}
	if l, r := a.Lexpr.GetRowExpr(), a.Rexpr.GetRowExpr(); l != nil && r != nil {
		return s.rowDistinct(l, r, not, a.Location)
	}
	left, right, err := s.pair(a.Lexpr, a.Rexpr)
	if err != nil {
		return nil, err
	}
	return s.distinctOf(left, right, not, a.Location)
}

func (s *scope) distinctOf(left, right query.Expr, not bool, loc int32) (query.Expr, error) {
	eq, err := s.equality(left, right, "IS DISTINCT FROM", loc)
	if err != nil {
		return nil, err
	}
	return &query.Distinct{T: query.Of(types.Bool), Equal: eq.Proc, Left: eq.Args[0], Right: eq.Args[1], Not: not}, nil
}

// rowDistinct compares rows column by column.
func (s *scope) rowDistinct(l, r *pg_query.RowExpr, not bool, loc int32) (query.Expr, error) {
	if len(l.Args) != len(r.Args) {
		return nil, s.errorf(loc, pgerr.SyntaxError, "unequal number of entries in row expressions")
	}
	args := make([]query.Expr, 0, len(l.Args))
	for i := range l.Args {
		left, right, err := s.pair(l.Args[i], r.Args[i])
		if err != nil {
			return nil, err
		}
		e, err := s.distinctOf(left, right, not, loc)
		if err != nil {
			return nil, err
		}
		args = append(args, e)
	}
	switch {
	case len(args) == 0:
		return boolConst(not), nil
	case len(args) == 1:
		return args[0], nil
	case not:
		return &query.And{Args: args}, nil
	}
	return &query.Or{Args: args}, nil
}

func isNullNode(n *pg_query.Node) bool {
	c := n.GetAConst()
	return c != nil && c.Isnull
}

func (s *scope) nullIf(a *pg_query.A_Expr) (query.Expr, error) {
	left, right, err := s.pair(a.Lexpr, a.Rexpr)
	if err != nil {
		return nil, err
	}
	eq, err := s.equality(left, right, "NULLIF", a.Location)
	if err != nil {
		return nil, err
	}
	l := eq.Args[0]
	return &query.NullIf{T: query.T{OID: l.Type(), Mod: l.Typmod()}, Equal: eq.Proc, Left: l, Right: eq.Args[1]}, nil
}

// in is [NOT] IN (list): an array comparison for the values without variables, and one comparison
// for each other value.
func (s *scope) in(a *pg_query.A_Expr, name []string) (query.Expr, error) {
	negated := name[len(name)-1] == "<>"
	nodes := a.Rexpr.GetList().GetItems()
	left, err := s.expr(a.Lexpr)
	if err != nil {
		return nil, err
	}
	right, err := s.items(nodes)
	if err != nil {
		return nil, err
	}
	var plain, rest []item
	for i, it := range right {
		if hasOwnVars(it.expr) || nodes[i].GetRowExpr() != nil {
			rest = append(rest, it)
		} else {
			plain = append(plain, it)
		}
	}
	var tests []query.Expr
	if len(plain) > 1 && a.Lexpr.GetRowExpr() == nil {
		test, err := s.inArray(name, negated, item{left, location(a.Lexpr)}, plain, a.Location)
		if err != nil {
			return nil, err
		}
		if test != nil {
			tests, plain = append(tests, test), nil
		}
	}
	if plain != nil {
		rest = right
	}
	for _, it := range rest {
		test, err := s.inOne(name, left, it.expr, a.Location)
		if err != nil {
			return nil, err
		}
		tests = append(tests, test)
	}
	switch {
	case len(tests) == 1:
		return tests[0], nil
	case negated:
		return &query.And{Args: tests}, nil
	}
	return &query.Or{Args: tests}, nil
}

func (s *scope) inOne(name []string, left, right query.Expr, loc int32) (query.Expr, error) {
	l, lok := left.(*query.Row)
	r, rok := right.(*query.Row)
	var e query.Expr
	var err error
	if lok && rok {
		e, err = s.rowOp(name, l.Fields, r.Fields, loc)
	} else {
		e, err = s.opCall(name, left, right, loc)
	}
	if err != nil {
		return nil, err
	}
	return s.coerceBool(e, "IN", loc)
}

// inArray compares with all values at once if they have a common type, else it returns nil.
func (s *scope) inArray(name []string, all bool, left item, values []item, loc int32) (query.Expr, error) {
	t, err := s.commonType(append([]item{left}, values...), "")
	if err != nil {
		return nil, err
	}
	if t == 0 || t == types.Record {
		return nil, nil
	}
	arrayType := arrayTypeOf(t)
	if arrayType == 0 {
		return nil, nil
	}
	elems, err := s.coerceAll(values, t, "IN")
	if err != nil {
		return nil, err
	}
	array := &query.Array{T: query.Of(arrayType), Elem: t, Elems: elems}
	return s.arrayOp(name, all, left.expr, array, loc)
}

// between is [NOT] BETWEEN [SYMMETRIC], expanded into comparisons as in PostgreSQL.
func (s *scope) between(a *pg_query.A_Expr) (query.Expr, error) {
	bounds := a.Rexpr.GetList().GetItems()
	if len(bounds) != 2 {
		return nil, s.unsupported(a.Location, "this kind of operator expression is not supported")
	}
	b, c := bounds[0], bounds[1]
	test := func(op1, op2 string, b, c *pg_query.Node, and bool) (query.Expr, error) {
		lo, err := s.binary([]string{op1}, a.Lexpr, b, a.Location)
		if err != nil {
			return nil, err
		}
		hi, err := s.binary([]string{op2}, a.Lexpr, c, a.Location)
		if err != nil {
			return nil, err
		}
		if and {
			return &query.And{Args: []query.Expr{lo, hi}}, nil
		}
		return &query.Or{Args: []query.Expr{lo, hi}}, nil
	}
	both := func(op1, op2 string, and bool) (query.Expr, error) {
		x, err := test(op1, op2, b, c, and)
		if err != nil {
			return nil, err
		}
		y, err := test(op1, op2, c, b, and)
		if err != nil {
			return nil, err
		}
		if and {
			return &query.Or{Args: []query.Expr{x, y}}, nil
		}
		return &query.And{Args: []query.Expr{x, y}}, nil
	}
	switch a.Kind {
	case pg_query.A_Expr_Kind_AEXPR_BETWEEN:
		return test(">=", "<=", b, c, true)
	case pg_query.A_Expr_Kind_AEXPR_NOT_BETWEEN:
		return test("<", ">", b, c, false)
	case pg_query.A_Expr_Kind_AEXPR_BETWEEN_SYM:
		return both(">=", "<=", true)
	case pg_query.A_Expr_Kind_AEXPR_NOT_BETWEEN_SYM:
		return both("<", ">", false)
	}
	return nil, s.unsupported(a.Location, "this kind of operator expression is not supported")
}

// boolExpr is AND, OR, NOT.
func (s *scope) boolExpr(b *pg_query.BoolExpr) (query.Expr, error) {
	name := map[pg_query.BoolExprType]string{
		pg_query.BoolExprType_AND_EXPR: "AND",
		pg_query.BoolExprType_OR_EXPR:  "OR",
		pg_query.BoolExprType_NOT_EXPR: "NOT",
	}[b.Boolop]
	args := make([]query.Expr, len(b.Args))
	for i, n := range b.Args {
		e, err := s.expr(n)
		if err != nil {
			return nil, err
		}
		if args[i], err = s.coerceBool(e, name, location(n)); err != nil {
			return nil, err
		}
	}
	switch name {
	case "AND":
		return &query.And{Args: args}, nil
	case "OR":
		return &query.Or{Args: args}, nil
	}
	return &query.Not{Arg: args[0]}, nil
}

func (s *scope) nullTest(n *pg_query.NullTest) (query.Expr, error) {
	return s.nullTestOf(n.Arg, n.Nulltesttype == pg_query.NullTestType_IS_NOT_NULL)
}

func (s *scope) nullTestOf(arg *pg_query.Node, not bool) (query.Expr, error) {
	e, err := s.expr(arg)
	if err != nil {
		return nil, err
	}
	return &query.NullTest{T: query.Of(types.Bool), Arg: e, Not: not, Row: isComposite(e.Type())}, nil
}

func (s *scope) booleanTest(b *pg_query.BooleanTest) (query.Expr, error) {
	e, err := s.expr(b.Arg)
	if err != nil {
		return nil, err
	}
	test := map[pg_query.BoolTestType]struct {
		name  string
		value byte
		not   bool
	}{
		pg_query.BoolTestType_IS_TRUE:        {"IS TRUE", 't', false},
		pg_query.BoolTestType_IS_NOT_TRUE:    {"IS NOT TRUE", 't', true},
		pg_query.BoolTestType_IS_FALSE:       {"IS FALSE", 'f', false},
		pg_query.BoolTestType_IS_NOT_FALSE:   {"IS NOT FALSE", 'f', true},
		pg_query.BoolTestType_IS_UNKNOWN:     {"IS UNKNOWN", 'u', false},
		pg_query.BoolTestType_IS_NOT_UNKNOWN: {"IS NOT UNKNOWN", 'u', true},
	}[b.Booltesttype]
	if e, err = s.coerceBool(e, test.name, location(b.Arg)); err != nil {
		return nil, err
	}
	return &query.BoolTest{T: query.Of(types.Bool), Arg: e, Value: test.value, Not: test.not}, nil
}
