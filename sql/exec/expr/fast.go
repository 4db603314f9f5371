package expr

import (
	"cmp"
	"math"
	"math/bits"
	"strings"

	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// outcomes is the set of comparison results (-1, 0, 1 as bits 0, 1, 2) for which an operator is true.
type outcomes uint8

const (
	isLess    outcomes = 1
	isEqual   outcomes = 2
	isGreater outcomes = 4
)

func (o outcomes) datum(c int) types.Datum {
	return types.Datum{K: types.KindBool, N: int64(o>>uint(c+1)) & 1}
}

var comparisonSuffixes = []struct {
	name string
	set  outcomes
}{
	{"eq", isEqual}, {"ne", isLess | isGreater}, {"lt", isLess}, {"le", isLess | isEqual},
	{"gt", isGreater}, {"ge", isGreater | isEqual},
}

// cutComparison splits int84lt into int84 and the meaning of lt. An underscore in between is
// dropped.
func cutComparison(src string) (string, outcomes) {
	for _, s := range comparisonSuffixes {
		if prefix, ok := strings.CutSuffix(src, s.name); ok {
			return strings.TrimSuffix(prefix, "_"), s.set
		}
	}
	return "", 0
}

// compareKind returns the comparison for the types whose comparison functions begin with prefix;
// nil means the function itself.
func compareKind(prefix string) func(a, b *types.Datum) int {
	switch prefix {
	case "int2", "int4", "int8", "int24", "int42", "int28", "int82", "int48", "int84", "oid", "bool",
		"date", "timestamp", "timestamptz", "time":
		return func(a, b *types.Datum) int { return cmp.Compare(a.N, b.N) }
	case "text", "name", "uuid":
		return func(a, b *types.Datum) int { return strings.Compare(a.S, b.S) }
	case "float4", "float8", "float48", "float84":
		return func(a, b *types.Datum) int { return compareFloats(a.Float(), b.Float()) }
	case "numeric":
		numeric := types.Comparer(types.Numeric)
		return func(a, b *types.Datum) int { return numeric(*a, *b) }
	}
	return nil
}

// compareFloats orders NaN above everything and equal to itself.
func compareFloats(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	case a == b || math.IsNaN(a) && math.IsNaN(b):
		return 0
	case math.IsNaN(a):
		return 1
	}
	return -1
}

// fastCompare compiles comparisons of the everyday types without a call through an argument list.
func (k *Compiler) fastCompare(n *query.Call) (Eval, bool, error) {
	if len(n.Args) != 2 || n.Type() != types.Bool {
		return nil, false, nil
	}
	prefix, set := cutComparison(n.Proc.Src)
	if prefix == "" {
		return nil, false, nil
	}
	compare := compareKind(prefix)
	if compare == nil {
		return nil, false, nil
	}
	if f := compareSlotConst(n, prefix, set); f != nil {
		return f, true, nil
	}
	a, err := k.Expr(n.Args[0])
	if err != nil {
		return nil, false, err
	}
	b, err := k.Expr(n.Args[1])
	if err != nil {
		return nil, false, err
	}
	if set == isEqual && (prefix == "text" || prefix == "name") {
		return textEqual(a, b), true, nil
	}
	return func(c *Ctx, row types.Row) (types.Datum, error) {
		x, err := a(c, row)
		if err != nil {
			return types.Null, err
		}
		y, err := b(c, row)
		if err != nil || x.K == types.KindNull || y.K == types.KindNull {
			return types.Null, err
		}
		return set.datum(compare(&x, &y)), nil
	}, true, nil
}

func textEqual(a, b Eval) Eval {
	return func(c *Ctx, row types.Row) (types.Datum, error) {
		x, err := a(c, row)
		if err != nil {
			return types.Null, err
		}
		y, err := b(c, row)
		if err != nil || x.K == types.KindNull || y.K == types.KindNull {
			return types.Null, err
		}
		return types.NewBool(x.S == y.S), nil
	}
}

// compareSlotConst compiles column op constant over integers and text; it returns nil for other
// expressions.
func compareSlotConst(n *query.Call, prefix string, set outcomes) Eval {
	s, ok := n.Args[0].(*query.Slot)
	v, isConst := n.Args[1].(*query.Const)
	if !ok || !isConst || v.Value.IsNull() {
		return nil
	}
	i, d := s.N, v.Value
	switch {
	case strings.HasPrefix(prefix, "int"):
		return func(_ *Ctx, row types.Row) (types.Datum, error) {
			x := &row[i]
			if x.K == types.KindNull {
				return types.Null, nil
			}
			return set.datum(cmp.Compare(x.N, d.N)), nil
		}
	case prefix == "text" && set == isEqual:
		return func(_ *Ctx, row types.Row) (types.Datum, error) {
			x := &row[i]
			if x.K == types.KindNull {
				return types.Null, nil
			}
			return types.NewBool(x.S == d.S), nil
		}
	}
	return nil
}

// fastArith compiles +, - and * of integers.
func (k *Compiler) fastArith(n *query.Call) (Eval, bool, error) {
	if len(n.Args) != 2 {
		return nil, false, nil
	}
	op, ok := intArith(n.Proc.Src)
	if !ok {
		return nil, false, nil
	}
	a, err := k.Expr(n.Args[0])
	if err != nil {
		return nil, false, err
	}
	b, err := k.Expr(n.Args[1])
	if err != nil {
		return nil, false, err
	}
	ret := n.Type()
	lo, hi := intRange(ret)
	return func(c *Ctx, row types.Row) (types.Datum, error) {
		x, err := a(c, row)
		if err != nil {
			return types.Null, err
		}
		y, err := b(c, row)
		if err != nil || x.K == types.KindNull || y.K == types.KindNull {
			return types.Null, err
		}
		v, ok := op(x.N, y.N)
		if !ok || v < lo || v > hi {
			return types.Null, types.IntRangeError(ret)
		}
		return types.NewInt(v), nil
	}, true, nil
}

func intRange(oid types.OID) (lo, hi int64) {
	switch oid {
	case types.Int2:
		return math.MinInt16, math.MaxInt16
	case types.Int4:
		return math.MinInt32, math.MaxInt32
	}
	return math.MinInt64, math.MaxInt64
}

func intArith(src string) (op func(a, b int64) (int64, bool), ok bool) {
	ops := map[string]func(a, b int64) (int64, bool){"pl": types.AddInt, "mi": types.SubInt, "mul": mulInt}
	for suffix, f := range ops {
		prefix, cut := strings.CutSuffix(src, suffix)
		if !cut {
			continue
		}
		switch prefix {
		case "int2", "int4", "int8", "int24", "int42", "int28", "int82", "int48", "int84":
			return f, true
		}
	}
	return nil, false
}

func mulInt(a, b int64) (int64, bool) {
	neg := (a < 0) != (b < 0)
	hi, lo := bits.Mul64(magnitude(a), magnitude(b))
	switch {
	case hi != 0 || lo > 1<<63 || !neg && lo == 1<<63:
		return 0, false
	case neg:
		return -int64(lo), true
	}
	return int64(lo), true
}

func magnitude(v int64) uint64 {
	if v < 0 {
		return -uint64(v)
	}
	return uint64(v)
}

// fastLike compiles LIKE with a constant pattern that has % at its ends only.
func (k *Compiler) fastLike(n *query.Call) (Eval, bool, error) {
	src := n.Proc.Src
	if src != "textlike" && src != "textnlike" || len(n.Args) != 2 {
		return nil, false, nil
	}
	v, ok := n.Args[1].(*query.Const)
	if !ok || v.Value.IsNull() {
		return nil, false, nil
	}
	match := plainPattern(v.Value.S)
	if match == nil {
		return nil, false, nil
	}
	a, err := k.Expr(n.Args[0])
	if err != nil {
		return nil, false, err
	}
	want := src == "textlike"
	return func(c *Ctx, row types.Row) (types.Datum, error) {
		x, err := a(c, row)
		if err != nil || x.K == types.KindNull {
			return types.Null, err
		}
		return types.NewBool(match(x.S) == want), nil
	}, true, nil
}

// plainPattern returns the matcher for text, text%, %text and %text%; nil for other patterns.
func plainPattern(p string) func(s string) bool {
	body := strings.TrimSuffix(p, "%")
	tail := len(body) < len(p)
	inner := strings.TrimPrefix(body, "%")
	head := len(inner) < len(body)
	switch {
	case strings.ContainsAny(inner, `%_\`):
		return nil
	case head && tail:
		return func(s string) bool { return strings.Contains(s, inner) }
	case tail:
		return func(s string) bool { return strings.HasPrefix(s, inner) }
	case head:
		return func(s string) bool { return strings.HasSuffix(s, inner) }
	}
	return func(s string) bool { return s == inner }
}
