package types

import (
	"github.com/sherddb/sherd/internal/pgerr"
)

// ArraySlice returns array[l:u, …]; a nil bound is open. The result's lower bounds are 1. If there
// are fewer pairs than dimensions, the other dimensions are complete. A slice outside of the array
// is empty.
func ArraySlice(d Datum, lower, upper []*int32) (Datum, error) {
	a, err := ArrayOf(d)
	if err != nil {
		return Null, err
	}
	empty := NewArray(a.Elem, nil, nil, nil)
	if a.NDim == 0 || len(upper) > a.NDim {
		return empty, nil
	}
	from, dims := make([]int32, a.NDim), make([]int32, a.NDim)
	for i := range dims {
		lo, hi := a.Lower(i), a.Upper(i)
		if i < len(upper) {
			if lower[i] != nil {
				lo = max(lo, *lower[i])
			}
			if upper[i] != nil {
				hi = min(hi, *upper[i])
			}
		}
		if lo > hi {
			return empty, nil
		}
		from[i], dims[i] = lo-a.Lower(i), hi-lo+1
	}
	var vals []Datum
	var walk func(dim, base int)
	walk = func(dim, base int) {
		for k := int32(0); k < dims[dim]; k++ {
			at := base*int(a.Dim(dim)) + int(from[dim]+k)
			if dim == a.NDim-1 {
				vals = append(vals, a.At(at))
			} else {
				walk(dim+1, at)
			}
		}
	}
	walk(0, 0)
	return NewArray(a.Elem, dims, nil, vals), nil
}

// ArrayAppend returns array || element; a null array counts as empty.
func ArrayAppend(d Datum, elem OID, v Datum) (Datum, error) { return arrayPush(d, elem, v, false) }

// ArrayPrepend returns element || array.
func ArrayPrepend(d Datum, elem OID, v Datum) (Datum, error) { return arrayPush(d, elem, v, true) }

func arrayPush(d Datum, elem OID, v Datum, front bool) (Datum, error) {
	if d.IsNull() {
		return NewList(elem, []Datum{v}), nil
	}
	a, err := ArrayOf(d)
	if err != nil {
		return Null, err
	}
	if a.NDim == 0 {
		return NewList(elem, []Datum{v}), nil
	}
	if a.NDim > 1 {
		return Null, pgerr.New(pgerr.DataException, "argument must be empty or one-dimensional array")
	}
	lb := a.Lower(0)
	vals := make([]Datum, 0, a.Len()+1)
	if front {
		vals = append(append(vals, v), a.Elems()...)
	} else {
		vals = append(append(vals, a.Elems()...), v)
	}
	return NewArray(elem, []int32{int32(len(vals))}, []int32{lb}, vals), nil
}

// ArrayConcat returns a || b. Both have equal dimensions, or one has the dimensions of the other's
// elements.
func ArrayConcat(x, y Datum) (Datum, error) {
	switch {
	case x.IsNull():
		return y, nil
	case y.IsNull():
		return x, nil
	}
	a, err := ArrayOf(x)
	if err != nil {
		return Null, err
	}
	b, err := ArrayOf(y)
	if err != nil {
		return Null, err
	}
	if a.NDim == 0 {
		return y, nil
	}
	if b.NDim == 0 {
		return x, nil
	}
	dims, lbs, ok := concatDims(&a, &b)
	if !ok {
		return Null, concatError(&a, &b)
	}
	return NewArray(a.Elem, dims, lbs, append(a.Elems(), b.Elems()...)), nil
}

func concatDims(a, b *Array) (dims, lbs []int32, ok bool) {
	da, db := a.Dims(), b.Dims()
	switch {
	case len(da) == len(db):
		dims, lbs = da, a.Lowers()
		ok = sameDims(da[1:], db[1:])
		dims[0] += db[0]
	case len(da) == len(db)-1:
		ok = sameDims(da, db[1:])
		dims, lbs = db, b.Lowers()
		dims[0]++
	case len(da)-1 == len(db):
		ok = sameDims(da[1:], db)
		dims, lbs = da, a.Lowers()
		dims[0]++
	}
	return dims, lbs, ok
}

func sameDims(a, b []int32) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return len(a) == len(b)
}

func concatError(a, b *Array) error {
	e := pgerr.New(pgerr.ArraySubscriptError, "cannot concatenate incompatible arrays")
	switch d := a.NDim - b.NDim; {
	case d == 0:
		return e.WithDetail("Arrays with differing element dimensions are not compatible for concatenation.")
	case d == 1 || d == -1:
		return e.WithDetail("Arrays with differing dimensions are not compatible for concatenation.")
	}
	return e.WithDetail("Arrays of %d and %d dimensions are not compatible for concatenation.", a.NDim, b.NDim)
}

// ArraySet returns the array with one element replaced. An assignment beyond the bounds of a
// one-dimensional array extends it; the elements between are null.
func ArraySet(d Datum, elem OID, subs []int32, v Datum) (Datum, error) {
	if d.IsNull() {
		d = NewArray(elem, nil, nil, nil)
	}
	a, err := ArrayOf(d)
	if err != nil {
		return Null, err
	}
	if a.NDim == 0 {
		dims := make([]int32, len(subs))
		for i := range dims {
			dims[i] = 1
		}
		return NewArray(elem, dims, subs, []Datum{v}), nil
	}
	if len(subs) != a.NDim {
		return Null, pgerr.New(pgerr.ArraySubscriptError, "wrong number of array subscripts")
	}
	vals := a.Elems()
	if a.NDim == 1 {
		return setInList(&a, vals, subs[0], v)
	}
	pos := 0
	for i, s := range subs {
		if s < a.Lower(i) || s > a.Upper(i) {
			return Null, pgerr.New(pgerr.ArraySubscriptError, "array subscript out of range")
		}
		pos = pos*int(a.Dim(i)) + int(s-a.Lower(i))
	}
	vals[pos] = v
	return NewArray(elem, a.Dims(), a.Lowers(), vals), nil
}

func setInList(a *Array, vals []Datum, sub int32, v Datum) (Datum, error) {
	lb := a.Lower(0)
	at := int64(sub) - int64(lb)
	if at < -maxArrayItems || at > maxArrayItems {
		return Null, pgerr.New(pgerr.ProgramLimitExceeded, "array size exceeds the maximum allowed (%d)", maxArrayItems)
	}
	if at < 0 {
		vals = append(make([]Datum, -at), vals...)
		lb, at = sub, 0
	}
	for int64(len(vals)) <= at {
		vals = append(vals, Null)
	}
	vals[at] = v
	return NewArray(a.Elem, []int32{int32(len(vals))}, []int32{lb}, vals), nil
}
