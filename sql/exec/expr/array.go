package expr

import (
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// pathSteps reads a constant text[] as the steps of #>.
func pathSteps(d types.Datum) ([]jsonStep, bool) {
	a, err := types.ArrayOf(d)
	if err != nil || a.HasNulls() {
		return nil, false
	}
	steps := make([]jsonStep, a.Len())
	for i := range steps {
		steps[i] = jsonStep{key: strings.Clone(a.At(i).S), kind: stepAny}
	}
	return steps, true
}

// array is ARRAY[…].
func (k *Compiler) array(n *query.Array) (Eval, error) {
	fs, err := k.Exprs(n.Elems)
	if err != nil {
		return nil, err
	}
	vals, elem := k.Space(len(fs)), n.Elem
	if n.Multi {
		return asVector(func(c *Ctx, row types.Row) (types.Datum, error) {
			if err := EvalInto(c, vals, fs, row); err != nil {
				return types.Null, err
			}
			return stackArrays(elem, vals)
		}, n.Type()), nil
	}
	return asVector(func(c *Ctx, row types.Row) (types.Datum, error) {
		if err := EvalInto(c, vals, fs, row); err != nil {
			return types.Null, err
		}
		return types.NewList(elem, vals), nil
	}, n.Type()), nil
}

// asVector adds the checks of int2vector and oidvector to an expression of one of these types.
func asVector(f Eval, oid types.OID) Eval {
	if oid == types.OidVector || oid == types.Int2Vector {
		return toVector(f, oid)
	}
	return f
}

// stackArrays builds an array with one more dimension. All parts must have the same shape.
func stackArrays(elem types.OID, parts []types.Datum) (types.Datum, error) {
	var dims, lowers []int32
	var elems []types.Datum
	empty := 0
	for i, p := range parts {
		if p.IsNull() {
			empty++
			continue
		}
		a, err := types.ArrayOf(p)
		if err != nil {
			return types.Null, err
		}
		if a.NDim == 0 {
			empty++
			continue
		}
		if dims == nil {
			dims, lowers = a.Dims(), a.Lowers()
		} else if !sameShape(&a, dims, lowers) || empty > 0 && i > 0 && len(elems) == 0 {
			return types.Null, shapeError()
		}
		elems = append(elems, a.Elems()...)
	}
	switch {
	case len(elems) == 0:
		return types.NewList(elem, nil), nil
	case empty > 0:
		return types.Null, shapeError()
	case len(dims)+1 > types.MaxDims:
		return types.Null, types.ArrayDimError(len(dims) + 1)
	}
	dims = append([]int32{int32(len(parts))}, dims...)
	lowers = append([]int32{1}, lowers...)
	return types.NewArray(elem, dims, lowers, elems), nil
}

func shapeError() error {
	return pgerr.New(
		pgerr.ArraySubscriptError,
		"multidimensional arrays must have array expressions with matching dimensions",
	)
}

func sameShape(a *types.Array, dims, lowers []int32) bool {
	if a.NDim != len(dims) {
		return false
	}
	for i := range dims {
		if a.Dim(i) != dims[i] || a.Lower(i) != lowers[i] {
			return false
		}
	}
	return true
}

// arrayOp is left op ANY|ALL (array), and IN lists.
func (k *Compiler) arrayOp(n *query.ArrayOp) (Eval, error) {
	left, err := k.Expr(n.Left)
	if err != nil {
		return nil, err
	}
	if set, ok := constSet(n); ok {
		return set.eval(left), nil
	}
	array, err := k.Expr(n.Array)
	if err != nil {
		return nil, err
	}
	impl, err := implOf(n.Proc)
	if err != nil {
		return nil, err
	}
	o := &arrayOp{left: left, array: array, fn: impl.Func, all: n.All, strict: n.Proc.Strict, args: make(types.Row, 2)}
	o.site = k.Site(&builtin.Ctx{RetType: types.Bool, ArgTypes: []uint32{n.Left.Type(), types.ElemOf(n.Array.Type())}})
	k.Own(o)
	if p, ok := n.Array.(*query.Param); ok {
		return o.overParam(n, p), nil
	}
	return o.eval, nil
}

type arrayOp struct {
	left, array Eval
	fn          builtin.Func
	site        *builtin.Ctx
	all, strict bool
	args        types.Row
	run         uint64 // execution that test is of
	test        Eval   // by the array of a parameter
}

func (o *arrayOp) eval(c *Ctx, row types.Row) (types.Datum, error) {
	x, err := o.left(c, row)
	if err != nil {
		return types.Null, err
	}
	d, err := o.array(c, row)
	if err != nil || d.IsNull() {
		return types.Null, err
	}
	a, err := types.ArrayOf(d)
	if err != nil {
		return types.Null, err
	}
	if a.Len() > 0 && x.IsNull() && o.strict {
		return types.Null, nil
	}
	c.Enter(o.site)
	null := false
	for i := range a.Len() {
		e := a.At(i)
		if e.IsNull() && o.strict {
			null = true
			continue
		}
		o.args[0], o.args[1] = x, e
		r, err := o.fn(o.site, o.args)
		switch {
		case err != nil:
			return types.Null, err
		case r.IsNull():
			null = true
		case r.Bool() != o.all:
			return r, nil
		}
	}
	if null {
		return types.Null, nil
	}
	return types.NewBool(o.all), nil
}

// inSet is an IN list of constants as a set.
type inSet struct {
	ints  map[int64]struct{}
	texts map[string]struct{}
	null  bool
	found types.Datum // the result if the operand is in the set
}

// constSet builds a set for `= ANY` and `<> ALL` over a constant array.
func constSet(n *query.ArrayOp) (*inSet, bool) {
	v, ok := n.Array.(*query.Const)
	if !ok || v.Value.IsNull() {
		return nil, false
	}
	return setOf(n, v.Value)
}

// setOf builds a set of the elements of an array, for `= ANY` and `<> ALL`, if equality of the type
// is equality of N or S.
func setOf(n *query.ArrayOp, array types.Datum) (*inSet, bool) {
	prefix, set := cutComparison(n.Proc.Src)
	if set != isEqual && set != isLess|isGreater || (set == isEqual) == n.All {
		return nil, false
	}
	a, err := types.ArrayOf(array)
	if err != nil || a.Len() == 0 {
		return nil, false
	}
	s := &inSet{found: types.NewBool(!n.All), null: a.HasNulls()}
	switch prefix {
	case "int2", "int4", "int8", "int24", "int42", "int28", "int82", "int48", "int84", "oid", "date", "timestamp":
		s.ints = map[int64]struct{}{}
	case "text", "name", "uuid":
		s.texts = map[string]struct{}{}
	default:
		return nil, false
	}
	for _, e := range a.Elems() {
		switch {
		case e.IsNull():
		case s.ints != nil:
			s.ints[e.N] = struct{}{}
		default:
			s.texts[strings.Clone(e.S)] = struct{}{}
		}
	}
	return s, true
}

// setSize is the length from which on the array of a parameter is worth a set.
const setSize = 16

// overParam tests against the array of a parameter. For a long array it builds a set, once per
// execution.
func (o *arrayOp) overParam(n *query.ArrayOp, p *query.Param) Eval {
	return func(c *Ctx, row types.Row) (types.Datum, error) {
		if o.test == nil || o.run != c.Run {
			o.run, o.test = c.Run, o.eval
			if d, err := c.param(p.N); err == nil && !d.IsNull() {
				if a, err := types.ArrayOf(d); err == nil && a.Len() >= setSize {
					if set, ok := setOf(n, d); ok {
						o.test = set.eval(o.left)
					}
				}
			}
		}
		return o.test(c, row)
	}
}

func (s *inSet) eval(left Eval) Eval {
	return func(c *Ctx, row types.Row) (types.Datum, error) {
		x, err := left(c, row)
		if err != nil || x.K == types.KindNull {
			return types.Null, err
		}
		var in bool
		if s.ints != nil {
			_, in = s.ints[x.N]
		} else {
			_, in = s.texts[x.S]
		}
		switch {
		case in:
			return s.found, nil
		case s.null:
			return types.Null, nil
		}
		return types.NewBool(!s.found.Bool()), nil
	}
}
