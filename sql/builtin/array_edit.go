package builtin

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// arrayEdit has the functions that return a changed array. Most accept nulls.
var arrayEdit = map[string]Func{
	"array_append": arrayAppend, "array_prepend": arrayPrepend, "array_cat": arrayCat,
	"array_remove": arrayRemove, "array_replace": arrayReplace, "trim_array": trimArray,
	"array_fill": arrayFill, "array_fill_with_lower_bounds": arrayFill,
}

// elemType returns the element type of the call's result.
func (c *Ctx) elemType(d types.Datum) uint32 {
	if !d.IsNull() {
		if a, err := types.ArrayOf(d); err == nil && a.Elem != 0 {
			return a.Elem
		}
	}
	return types.ElemOf(c.RetType)
}

// openOrEmpty opens an array; null counts as empty.
func openOrEmpty(d types.Datum, elem uint32) (types.Array, error) {
	if d.IsNull() {
		d = types.NewList(elem, nil)
	}
	return types.ArrayOf(d)
}

func arrayAppend(c *Ctx, a []types.Datum) (types.Datum, error) {
	elem := c.elemType(a[0])
	array, err := openOrEmpty(a[0], elem)
	if err != nil {
		return types.Null, err
	}
	return extend(array, elem, append(array.Elems(), a[1]))
}

func arrayPrepend(c *Ctx, a []types.Datum) (types.Datum, error) {
	elem := c.elemType(a[1])
	array, err := openOrEmpty(a[1], elem)
	if err != nil {
		return types.Null, err
	}
	return extend(array, elem, append([]types.Datum{a[0]}, array.Elems()...))
}

// extend returns a one-dimensional array of the elements with the lower bound of array.
func extend(array types.Array, elem uint32, elems []types.Datum) (types.Datum, error) {
	if array.NDim > 1 {
		return types.Null, pgerr.New(pgerr.DataException, "argument must be empty or one-dimensional array")
	}
	lower := int32(1)
	if array.NDim == 1 {
		lower = array.Lower(0)
	}
	return types.NewArray(elem, []int32{int32(len(elems))}, []int32{lower}, elems), nil
}

func incompatibleArrays(detail string) error {
	return pgerr.New(pgerr.ArraySubscriptError, "cannot concatenate incompatible arrays").WithDetail("%s", detail)
}

// arrayCat joins two arrays with the same number of dimensions along the first, or an array and
// another that could be its element.
func arrayCat(_ *Ctx, a []types.Datum) (types.Datum, error) {
	if a[0].IsNull() {
		return a[1], nil
	}
	if a[1].IsNull() {
		return a[0], nil
	}
	x, err := types.ArrayOf(a[0])
	if err != nil {
		return types.Null, err
	}
	y, err := types.ArrayOf(a[1])
	if err != nil {
		return types.Null, err
	}
	switch {
	case x.NDim == 0:
		return a[1], nil
	case y.NDim == 0:
		return a[0], nil
	case x.NDim != y.NDim && x.NDim != y.NDim+1 && x.NDim+1 != y.NDim:
		return types.Null, pgerr.New(pgerr.ArraySubscriptError, "cannot concatenate incompatible arrays").
			WithDetail("Arrays of %d and %d dimensions are not compatible for concatenation.", x.NDim, y.NDim)
	}
	elems := append(x.Elems(), y.Elems()...)
	dx, dy := x.Dims(), y.Dims()
	dims, lowers := dx, x.Lowers()
	inner, with := dx[1:], dy[1:]
	switch {
	case x.NDim > y.NDim:
		with = dy
		dims[0]++
	case x.NDim < y.NDim:
		dims, lowers = y.Dims(), y.Lowers()
		inner, with = dx, dy[1:]
		dims[0]++
	default:
		dims[0] += dy[0]
	}
	for i := range inner {
		if inner[i] != with[i] {
			if x.NDim == y.NDim {
				return types.Null, incompatibleArrays(
					"Arrays with differing element dimensions are not compatible for concatenation.")
			}
			return types.Null, incompatibleArrays(
				"Arrays with differing dimensions are not compatible for concatenation.")
		}
	}
	return types.NewArray(x.Elem, dims, lowers, elems), nil
}

func arrayRemove(_ *Ctx, a []types.Datum) (types.Datum, error) {
	if a[0].IsNull() {
		return types.Null, nil
	}
	array, err := types.ArrayOf(a[0])
	if err != nil {
		return types.Null, err
	}
	if array.NDim > 1 {
		return types.Null, pgerr.Unsupported("removing elements from multidimensional arrays is not supported")
	}
	compare := types.Comparer(array.Elem)
	elems := array.Elems()
	kept := make([]types.Datum, 0, len(elems))
	for _, e := range elems {
		if !sameOrNull(e, a[1], compare) {
			kept = append(kept, e)
		}
	}
	if len(kept) == len(elems) {
		return a[0], nil
	}
	if len(kept) == 0 {
		return types.NewList(array.Elem, nil), nil
	}
	return types.NewArray(array.Elem, []int32{int32(len(kept))}, array.Lowers(), kept), nil
}

func arrayReplace(_ *Ctx, a []types.Datum) (types.Datum, error) {
	if a[0].IsNull() {
		return types.Null, nil
	}
	array, err := types.ArrayOf(a[0])
	if err != nil || array.NDim == 0 {
		return a[0], err
	}
	compare := types.Comparer(array.Elem)
	elems := array.Elems()
	for i, e := range elems {
		if sameOrNull(e, a[1], compare) {
			elems[i] = a[2]
		}
	}
	return types.NewArray(array.Elem, array.Dims(), array.Lowers(), elems), nil
}

func trimArray(_ *Ctx, a []types.Datum) (types.Datum, error) {
	array, err := types.ArrayOf(a[0])
	if err != nil {
		return types.Null, err
	}
	size := int64(0)
	if array.NDim > 0 {
		size = int64(array.Dim(0))
	}
	if a[1].N < 0 || a[1].N > size {
		return types.Null, pgerr.New(pgerr.ArraySubscriptError, "number of elements to trim must be between 0 and %d",
			size)
	}
	if a[1].N == size {
		return types.NewList(array.Elem, nil), nil
	}
	dims, lowers := array.Dims(), array.Lowers()
	elems := array.Elems()
	dims[0] -= int32(a[1].N)
	for i := range lowers {
		lowers[i] = 1
	}
	return types.NewArray(array.Elem, dims, lowers, elems[:len(elems)/int(size)*int(dims[0])]), nil
}

// arrayFill is not strict: the value may be null.
func arrayFill(c *Ctx, a []types.Datum) (types.Datum, error) {
	if a[1].IsNull() || len(a) > 2 && a[2].IsNull() {
		return types.Null, pgerr.New(pgerr.NullValueNotAllowed, "dimension array or low bound array cannot be null")
	}
	dims, err := intVector(a[1])
	if err != nil {
		return types.Null, err
	}
	lowers := make([]int32, len(dims))
	for i := range lowers {
		lowers[i] = 1
	}
	if len(a) > 2 {
		if lowers, err = intVector(a[2]); err != nil {
			return types.Null, err
		}
		if len(lowers) != len(dims) {
			return types.Null, pgerr.New(pgerr.ArraySubscriptError, "wrong number of array subscripts").
				WithDetail("Low bound array has different size than dimensions array.")
		}
	}
	size := int64(1)
	for _, d := range dims {
		size *= int64(d)
		if d < 0 || size > 1<<27 {
			return types.Null, pgerr.New(pgerr.ProgramLimitExceeded, "array size exceeds the maximum allowed (%d)",
				1<<27-1)
		}
	}
	elem := types.ElemOf(c.RetType)
	if size == 0 || len(dims) == 0 {
		return types.NewList(elem, nil), nil
	}
	elems := make([]types.Datum, size)
	for i := range elems {
		elems[i] = a[0]
	}
	return types.NewArray(elem, dims, lowers, elems), nil
}

func intVector(d types.Datum) ([]int32, error) {
	array, err := types.ArrayOf(d)
	if err != nil {
		return nil, err
	}
	if array.NDim > 1 {
		return nil, pgerr.New(pgerr.ArraySubscriptError, "wrong number of array subscripts").
			WithDetail("Dimension array must be one dimensional.")
	}
	if array.HasNulls() {
		return nil, pgerr.New(pgerr.NullValueNotAllowed, "dimension values cannot be null")
	}
	out := make([]int32, array.Len())
	for i := range out {
		out[i] = int32(array.At(i).N)
	}
	return out, nil
}
