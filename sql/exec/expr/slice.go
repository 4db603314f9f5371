package expr

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// assignSlice is SET base[l:u] = array: elements of the source replace the slice, in storage order.
// A one-dimensional array grows; a null source changes nothing.
func (s *subscript) assignSlice(c *Ctx, row types.Row) (types.Datum, error) {
	d, err := s.base(c, row)
	if err != nil {
		return types.Null, err
	}
	if d.IsNull() {
		d = types.NewList(s.elem, nil)
	}
	a, err := types.ArrayOf(d)
	if err != nil {
		return types.Null, err
	}
	if a.NDim > 0 && a.NDim < len(s.upper) {
		return types.Null, pgerr.New(pgerr.ArraySubscriptError, "wrong number of array subscripts")
	}
	lo, hi, err := s.sliceBounds(c, row, &a)
	if err != nil {
		return types.Null, err
	}
	v, err := s.assign(c, row)
	if err != nil || v.IsNull() {
		return d, err
	}
	source, err := types.ArrayOf(v)
	if err != nil {
		return types.Null, err
	}
	return assignBox(&a, s.elem, lo, hi, source.Elems())
}

// sliceBounds evaluates the bounds of a slice that is assigned to. Omitted bounds are those of the
// array, and an error if it is empty.
func (s *subscript) sliceBounds(c *Ctx, row types.Row, a *types.Array) (lo, hi []int32, err error) {
	lo, hi = make([]int32, max(a.NDim, len(s.upper))), make([]int32, max(a.NDim, len(s.upper)))
	for i := range lo {
		if i < a.NDim {
			lo[i], hi[i] = a.Lower(i), a.Upper(i)
		}
		if i >= len(s.upper) {
			continue
		}
		if a.NDim == 0 && (s.upper[i] == nil || i >= len(s.lower) || s.lower[i] == nil) {
			return nil, nil, pgerr.New(pgerr.ArraySubscriptError, "array slice subscript must provide both boundaries").
				WithDetail("When assigning to a slice of an empty array value, " +
					"slice boundaries must be fully specified.")
		}
		var null bool
		if lo[i], hi[i], null, err = s.bounds(c, row, i, lo[i], hi[i]); err != nil {
			return nil, nil, err
		}
		if null {
			return nil, nil, pgerr.New(pgerr.NullValueNotAllowed, "array subscript in assignment must not be null")
		}
		if lo[i] > hi[i] && (a.NDim > 0 || int64(hi[i]) < int64(lo[i])-1) {
			return nil, nil, pgerr.New(pgerr.ArraySubscriptError, "upper bound cannot be less than lower bound")
		}
	}
	return lo, hi, nil
}

func assignBox(a *types.Array, elem types.OID, lo, hi []int32, source []types.Datum) (types.Datum, error) {
	dims, total := make([]int32, len(lo)), int64(1)
	for i := range lo {
		n := int64(hi[i]) - int64(lo[i]) + 1
		if total *= n; total > maxArrayGrowth || n > maxArrayGrowth {
			return types.Null, pgerr.New(
				pgerr.ProgramLimitExceeded,
				"array size exceeds the maximum allowed (%d)",
				maxArrayGrowth,
			)
		}
		dims[i] = int32(n)
	}
	if int64(len(source)) < total {
		return types.Null, pgerr.New(pgerr.ArraySubscriptError, "source array too small")
	}
	source = source[:total]
	if a.NDim == 0 {
		return types.NewArray(elem, dims, lo, source), nil
	}
	elems, lowers := a.Elems(), a.Lowers()
	if a.NDim == 1 {
		for i, v := range []int32{lo[0], hi[0]} {
			grown, err := growTo(elems, &lowers[0], v)
			if err != nil {
				return types.Null, err
			}
			if elems = grown; i == 1 {
				copy(elems[lo[0]-lowers[0]:], source)
			}
		}
		return types.NewArray(a.Elem, []int32{int32(len(elems))}, lowers, elems), nil
	}
	for i := range lo {
		if lo[i] < a.Lower(i) || hi[i] > a.Upper(i) {
			return types.Null, pgerr.New(pgerr.ArraySubscriptError, "array subscript out of range")
		}
	}
	at := make([]int32, len(lo))
	for _, v := range source {
		pos := 0
		for i := range at {
			pos = pos*int(a.Dim(i)) + int(lo[i]-a.Lower(i)+at[i])
		}
		elems[pos] = v
		for i := len(at) - 1; i >= 0; i-- {
			if at[i]++; at[i] < dims[i] {
				break
			}
			at[i] = 0
		}
	}
	return types.NewArray(a.Elem, a.Dims(), lowers, elems), nil
}
