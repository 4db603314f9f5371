package builtin

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// arraySearch has containment and search functions. The position functions are not strict, because
// they can search for null.
var arraySearch = map[string]Func{
	"arraycontains": arrayContains, "arraycontained": arrayContained, "arrayoverlap": arrayOverlap,
	"array_position": arrayPosition, "array_position_start": arrayPosition, "array_positions": arrayPositions,
	"width_bucket_array": widthBucketArray,
}

// twoArrays opens both arguments.
func twoArrays(a []types.Datum) (x, y types.Array, err error) {
	if x, err = types.ArrayOf(a[0]); err != nil {
		return x, y, err
	}
	y, err = types.ArrayOf(a[1])
	if err == nil && x.Elem != y.Elem && types.KindOf(x.Elem) != types.KindOf(y.Elem) {
		err = pgerr.New(pgerr.DatatypeMismatch, "cannot compare arrays of different element types")
	}
	return x, y, err
}

// containsElem reports whether an array has an element equal to d, which is not null.
func containsElem(elems []types.Datum, d types.Datum, compare func(a, b types.Datum) int) bool {
	for _, e := range elems {
		if !e.IsNull() && compare(e, d) == 0 {
			return true
		}
	}
	return false
}

// containsAll reports whether every element of y is in x; null is never contained.
func containsAll(x, y types.Array) bool {
	compare, elems := types.Comparer(x.Elem), x.Elems()
	for i := 0; i < y.Len(); i++ {
		if d := y.At(i); d.IsNull() || !containsElem(elems, d, compare) {
			return false
		}
	}
	return true
}

func arrayContains(_ *Ctx, a []types.Datum) (types.Datum, error) {
	x, y, err := twoArrays(a)
	if err != nil {
		return types.Null, err
	}
	return types.NewBool(containsAll(x, y)), nil
}

func arrayContained(_ *Ctx, a []types.Datum) (types.Datum, error) {
	x, y, err := twoArrays(a)
	if err != nil {
		return types.Null, err
	}
	return types.NewBool(containsAll(y, x)), nil
}

func arrayOverlap(_ *Ctx, a []types.Datum) (types.Datum, error) {
	x, y, err := twoArrays(a)
	if err != nil {
		return types.Null, err
	}
	compare, elems := types.Comparer(x.Elem), x.Elems()
	for i := 0; i < y.Len(); i++ {
		if d := y.At(i); !d.IsNull() && containsElem(elems, d, compare) {
			return types.NewBool(true), nil
		}
	}
	return types.NewBool(false), nil
}

// sameOrNull is IS NOT DISTINCT FROM.
func sameOrNull(a, b types.Datum, compare func(a, b types.Datum) int) bool {
	if a.IsNull() || b.IsNull() {
		return a.IsNull() && b.IsNull()
	}
	return compare(a, b) == 0
}

func searchable(a types.Datum) (types.Array, error) {
	array, err := types.ArrayOf(a)
	if err == nil && array.NDim > 1 {
		return array, pgerr.Unsupported("searching for elements in multidimensional arrays is not supported")
	}
	return array, err
}

func arrayPosition(_ *Ctx, a []types.Datum) (types.Datum, error) {
	if a[0].IsNull() {
		return types.Null, nil
	}
	array, err := searchable(a[0])
	if err != nil || array.NDim == 0 {
		return types.Null, err
	}
	lower, from := int64(array.Lower(0)), int64(0)
	if len(a) > 2 {
		if a[2].IsNull() {
			return types.Null, pgerr.New(pgerr.NullValueNotAllowed, "initial position must not be null")
		}
		from = max(a[2].N-lower, 0)
	}
	compare := types.Comparer(array.Elem)
	for i := from; i < int64(array.Len()); i++ {
		if sameOrNull(array.At(int(i)), a[1], compare) {
			return types.NewInt(lower + i), nil
		}
	}
	return types.Null, nil
}

func arrayPositions(_ *Ctx, a []types.Datum) (types.Datum, error) {
	if a[0].IsNull() {
		return types.Null, nil
	}
	array, err := searchable(a[0])
	if err != nil {
		return types.Null, err
	}
	var found []types.Datum
	compare := types.Comparer(array.Elem)
	for i := 0; i < array.Len(); i++ {
		if sameOrNull(array.At(i), a[1], compare) {
			found = append(found, types.NewInt(int64(array.Lower(0))+int64(i)))
		}
	}
	return types.NewList(types.Int4, found), nil
}

// widthBucketArray returns how many of the ascending thresholds are not above the operand.
func widthBucketArray(_ *Ctx, a []types.Datum) (types.Datum, error) {
	array, err := types.ArrayOf(a[1])
	if err != nil {
		return types.Null, err
	}
	if array.NDim > 1 {
		return types.Null, pgerr.New(pgerr.ArraySubscriptError, "thresholds must be one-dimensional array")
	}
	if array.HasNulls() {
		return types.Null, pgerr.New(pgerr.NullValueNotAllowed, "thresholds array must not contain NULLs")
	}
	compare := types.Comparer(array.Elem)
	low, high := 0, array.Len()
	for low < high {
		mid := (low + high) / 2
		if compare(a[0], array.At(mid)) < 0 {
			high = mid
		} else {
			low = mid + 1
		}
	}
	return types.NewInt(int64(low)), nil
}

// textElements returns the elements of a text[]; ok is false if one is null.
func textElements(d types.Datum) (elems []string, ok bool) {
	a, err := types.ArrayOf(d)
	if err != nil {
		return nil, false
	}
	elems = make([]string, a.Len())
	for i := range elems {
		e := a.At(i)
		if e.IsNull() {
			return nil, false
		}
		elems[i] = e.S
	}
	return elems, true
}

// nonNullTexts returns the elements of a text[] without nulls.
func nonNullTexts(d types.Datum) []string {
	a, err := types.ArrayOf(d)
	if err != nil {
		return nil
	}
	elems := make([]string, 0, a.Len())
	for i := 0; i < a.Len(); i++ {
		if e := a.At(i); !e.IsNull() {
			elems = append(elems, e.S)
		}
	}
	return elems
}
