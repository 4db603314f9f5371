// Package selectivity estimates which share of a table's rows meets conditions, from what is known
// of its columns. Conditions on different columns are taken as independent, as PostgreSQL takes
// them, unless a statistics object has those columns together.
//
// It is pure. It knows expressions and statistics, and nothing of plans: its caller says what an
// expression is a column of.
package selectivity

import (
	"slices"

	"github.com/sherddb/sherd/sql/plan/pattern"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/statistics"
	"github.com/sherddb/sherd/sql/types"
)

// Of conditions about which nothing is known, as PostgreSQL guesses. One bound that is a parameter
// is likely a narrow one: statements with parameters look for something.
const (
	unknownCondition = 1.0 / 3
	unknownEqual     = 0.005
	unknownBound     = 0.05
	unknownRange     = 0.005 // between two
	unknownPrefix    = 0.01
)

// Columns says what an expression is a column of; ok is false if it is none.
type Columns func(query.Expr) (v statistics.Variable, ok bool)

// Of returns the share of rows that meet all conditions.
func (of Columns) Of(conds []query.Expr) float64 {
	e := estimate{of: of, share: 1}
	for _, c := range conds {
		e.add(c)
	}
	for _, r := range e.ranges {
		e.terms = append(e.terms, statistics.Term{Variable: r.column, Share: r.share(), Matches: r.matches()})
	}
	return min(max(e.share*statistics.Share(e.terms), 0), 1)
}

// estimate is made condition by condition.
type estimate struct {
	of     Columns
	share  float64 // of conditions on no column
	terms  []statistics.Term
	ranges []bounds
}

// term adds a condition on a column.
func (e *estimate) term(v statistics.Variable, share float64, matches func(types.Datum) bool) {
	e.terms = append(e.terms, statistics.Term{Variable: v, Share: share, Matches: matches})
}

// equality adds that a column has one of some values; nil: they are not known yet.
func (e *estimate) equality(v statistics.Variable, share float64, values []types.Datum) {
	t := statistics.Term{Variable: v, Share: share, Equal: true}
	if values != nil && takes(v, values...) {
		t.Matches = func(d types.Datum) bool { return equalsAny(v, d, values) }
	}
	e.terms = append(e.terms, t)
}

// alternatives returns the column of `column = value OR column = value`, and the values; nil if one is
// not known yet. ok is false if the condition is another one.
func (e *estimate) alternatives(or *query.Or) (v statistics.Variable, values []types.Datum, ok bool) {
	var column query.Expr
	unknown := false
	for _, arm := range or.Args {
		n, isCall := arm.(*query.Call)
		if !isCall || n.Op != "=" || len(n.Args) != 2 {
			return v, nil, false
		}
		side, value := n.Args[0], n.Args[1]
		if _, ok := e.of(side); !ok {
			side, value = value, side
		}
		if column != nil && !query.Equal(side, column) {
			return v, nil, false
		}
		if column = side; !e.isColumn(side) || e.isColumn(value) {
			return v, nil, false
		}
		d, isConstant := constant(value)
		values, unknown = append(values, d), unknown || !isConstant
	}
	if column == nil {
		return v, nil, false
	}
	if unknown {
		values = nil
	}
	v, ok = e.of(column)
	return v, values, ok
}

func (e *estimate) isColumn(x query.Expr) bool {
	_, ok := e.of(x)
	return ok
}

// takes reports whether values can be compared with the known ones of a column.
func takes(v statistics.Variable, values ...types.Datum) bool {
	return v.Column != nil && !slices.ContainsFunc(values, func(d types.Datum) bool {
		return !d.IsNull() && d.K != types.KindOf(v.Column.Type)
	})
}

// equalsAny reports whether a value equals one of some values.
func equalsAny(v statistics.Variable, d types.Datum, values []types.Datum) bool {
	compare := types.Comparer(v.Column.Type)
	return !d.IsNull() && slices.ContainsFunc(values, func(x types.Datum) bool {
		return !x.IsNull() && compare(d, x) == 0
	})
}

// bounds are those that several conditions set to one expression.
type bounds struct {
	expr   query.Expr
	column statistics.Variable
	lo, hi *statistics.Bound
}

func (b *bounds) share() float64 {
	lo, hi, all := b.lo, b.hi, 1.0
	if lo != nil && hi != nil && lo.Unknown && hi.Unknown {
		return unknownRange
	}
	if lo != nil && lo.Unknown {
		lo, all = nil, all*unknownBound
	}
	if hi != nil && hi.Unknown {
		hi, all = nil, all*unknownBound
	}
	if lo != nil || hi != nil {
		all *= b.column.Range(lo, hi)
	}
	return all
}

// matches returns a function that reports whether a value is within the bounds; nil if they are not
// known yet.
func (b *bounds) matches() func(types.Datum) bool {
	for _, x := range []*statistics.Bound{b.lo, b.hi} {
		if x != nil && (x.Unknown || !takes(b.column, x.Value)) {
			return nil
		}
	}
	if b.column.Column == nil {
		return nil
	}
	compare := types.Comparer(b.column.Column.Type)
	beyond := func(x *statistics.Bound, d types.Datum, sign int) bool {
		if x == nil {
			return false
		}
		if x.Value.IsNull() {
			return true
		}
		n := compare(d, x.Value) * sign
		return n > 0 || n == 0 && !x.Inclusive
	}
	return func(d types.Datum) bool { return !d.IsNull() && !beyond(b.lo, d, -1) && !beyond(b.hi, d, 1) }
}

func (e *estimate) add(c query.Expr) {
	switch n := c.(type) {
	case *query.Call:
		if len(n.Args) == 2 && e.comparison(n) {
			return
		}
		e.share *= unknownCondition
	case *query.RowCompare: // the first column decides for most rows
		first := &query.Call{Op: n.Op, Args: []query.Expr{n.Left[0], n.Right[0]}}
		if !e.comparison(first) {
			e.share *= unknownBound
		}
	case *query.And:
		for _, a := range n.Args {
			e.add(a)
		}
	case *query.NullTest:
		v, ok := e.of(n.Arg)
		if !ok || n.Row {
			e.share *= unknownCondition
			return
		}
		share := v.IsNull()
		if n.Not {
			share = 1 - share
		}
		e.term(v, share, func(d types.Datum) bool { return d.IsNull() != n.Not })
	case *query.ArrayOp:
		e.elements(n)
	case *query.Or:
		if v, values, ok := e.alternatives(n); ok {
			e.equality(v, e.of.one(n), values)
			return
		}
		e.share *= e.of.one(n)
	case *query.Not:
		if v, ok := e.of(n.Arg); ok && n.Arg.Type() == types.Bool {
			e.equality(v, e.of.one(n), []types.Datum{types.NewBool(false)})
			return
		}
		e.share *= e.of.one(n)
	default:
		if v, ok := e.of(c); ok && c.Type() == types.Bool {
			yes := types.NewBool(true)
			e.equality(v, v.Equal(yes), []types.Datum{yes})
			return
		}
		e.share *= e.of.one(c)
	}
}

// comparison adds `column op value`, and reports whether it is one.
func (e *estimate) comparison(n *query.Call) bool {
	op, side, value := n.Op, n.Args[0], n.Args[1]
	v, ok := e.of(side)
	if !ok {
		if v, ok = e.of(value); !ok {
			if guess, ok := ofContents(op, value); ok {
				e.share *= guess
			} else {
				e.share *= ofOperator(op)
			}
			return true
		}
		op, side, value = flipped(op), value, side
	}
	d, constant := constant(value)
	op, d = alike(v, op, d)
	switch op {
	case "=":
		if constant {
			e.equality(v, v.Equal(d), []types.Datum{d})
		} else {
			e.equality(v, v.EqualUnknown(), nil)
		}
	case "<>":
		switch {
		case !constant:
			e.term(v, 1-v.EqualUnknown(), nil)
		case !takes(v, d):
			e.term(v, v.NotEqual(d), nil)
		default:
			e.term(v, v.NotEqual(d), func(x types.Datum) bool {
				return !x.IsNull() && !d.IsNull() && !equalsAny(v, x, []types.Datum{d})
			})
		}
	case "<", "<=", ">", ">=":
		e.bound(side, v, op, &statistics.Bound{Value: d, Inclusive: len(op) == 2, Unknown: !constant})
	case "~~", "^@", "~":
		e.term(v, beginning(v, op, d, constant), nil)
	default:
		return e.contents(op, v, value)
	}
	return true
}

// alike returns a comparison with a value of a column's type that means the same as one with a date or
// a timestamp. A date is before a timestamp within its day.
func alike(v statistics.Variable, op string, d types.Datum) (string, types.Datum) {
	switch {
	case v.Column == nil:
	case d.K == types.KindDate && types.KindOf(v.Column.Type) == types.KindTimestamp:
		if at, err := types.DateToTimestamp(d.N, nil); err == nil {
			return op, types.NewTimestamp(at)
		}
	case d.K == types.KindTimestamp && v.Column.Type == types.Date:
		day := types.TimestampToDate(d.N, nil)
		at, err := types.DateToTimestamp(day, nil)
		if at != d.N || err != nil {
			switch op {
			case "<":
				op = "<="
			case ">=":
				op = ">"
			case "=", "<>":
				return op, d // no date
			}
		}
		return op, types.NewDate(day)
	}
	return op, d
}

// beginning returns the share of values that begin as a pattern, or a text, says.
func beginning(v statistics.Variable, op string, d types.Datum, constant bool) float64 {
	if !constant || d.IsNull() {
		return unknownPrefix
	}
	prefix := d.S
	switch op {
	case "~~":
		prefix = pattern.LikePrefix(prefix)
	case "~":
		prefix = pattern.RegexPrefix(prefix)
	}
	if prefix == "" {
		return unknownCondition
	}
	return v.Prefix(prefix)
}

func ofOperator(op string) float64 {
	switch op {
	case "=":
		return unknownEqual
	case "<>":
		return 1 - unknownEqual
	}
	return unknownCondition
}

func flipped(op string) string {
	switch op {
	case "<":
		return ">"
	case "<=":
		return ">="
	case ">":
		return "<"
	case ">=":
		return "<="
	case "@>":
		return "<@"
	case "<@":
		return "@>"
	}
	return op
}

// bound adds a bound of a column to those that other conditions set.
func (e *estimate) bound(side query.Expr, v statistics.Variable, op string, b *statistics.Bound) {
	at := -1
	for i := range e.ranges {
		if query.Equal(e.ranges[i].expr, side) {
			at = i
		}
	}
	if at < 0 {
		at = len(e.ranges)
		e.ranges = append(e.ranges, bounds{expr: side, column: v})
	}
	if op[0] == '>' {
		e.ranges[at].lo = b
	} else {
		e.ranges[at].hi = b
	}
}

// one returns the share of rows that meet a condition that is no comparison.
func (of Columns) one(c query.Expr) float64 {
	switch n := c.(type) {
	case *query.Const:
		if !n.Value.IsNull() && n.Value.N != 0 {
			return 1
		}
		return 0
	case *query.Or:
		none := 1.0
		for _, a := range n.Args {
			none *= 1 - of.Of([]query.Expr{a})
		}
		return 1 - none
	case *query.Not:
		return 1 - of.Of([]query.Expr{n.Arg})
	}
	return unknownCondition
}

// elements adds `column = ANY (array)` or `column <> ALL (array)`.
func (e *estimate) elements(n *query.ArrayOp) {
	v, ok := e.of(n.Left)
	if !ok || !(n.Op == "=" && !n.All || n.Op == "<>" && n.All) {
		e.share *= unknownCondition
		return
	}
	share := v.InUnknown(guessElements)
	var values []types.Datum
	if a, isList := n.Array.(*query.Array); isList {
		share = v.InUnknown(len(a.Elems))
	}
	if d, known := constant(n.Array); known && !d.IsNull() {
		if a, err := types.ArrayOf(d); err == nil {
			values = a.Elems()
			share = v.In(values)
		}
	}
	switch {
	case !n.All:
		e.equality(v, share, values)
	case values == nil || !takes(v, values...) || slices.ContainsFunc(values, types.Datum.IsNull):
		e.term(v, 1-share, nil)
	default:
		e.term(v, 1-share, func(d types.Datum) bool { return !d.IsNull() && !equalsAny(v, d, values) })
	}
}

// guessElements is how many elements an array has that is a parameter.
const guessElements = 10

func constant(e query.Expr) (types.Datum, bool) {
	for {
		switch n := e.(type) {
		case *query.Const:
			return n.Value, true
		case *query.Relabel:
			e = n.Arg
		default:
			return types.Null, false
		}
	}
}
