package builtin

import (
	"strconv"

	"github.com/sherddb/sherd/sql/types"
)

// arrayShape has the functions that return an array's dimensions.
var arrayShape = map[string]Func{
	"array_ndims":       arrayNdims,
	"array_dims":        arrayDims,
	"array_length":      arrayLength,
	"array_lower":       arrayLower,
	"array_upper":       arrayUpper,
	"array_cardinality": arrayCardinality,
}

// arraySets has unnest and generate_subscripts.
var arraySets = map[string]SetFunc{
	"array_unnest": unnest, "generate_subscripts": generateSubscripts, "generate_subscripts_nodir": generateSubscripts,
	"_pg_expandarray(2277)": expandArray,
}

func arrayNdims(_ *Ctx, a []types.Datum) (types.Datum, error) {
	array, err := types.ArrayOf(a[0])
	if err != nil || array.NDim == 0 {
		return types.Null, err
	}
	return types.NewInt(int64(array.NDim)), nil
}

func arrayDims(_ *Ctx, a []types.Datum) (types.Datum, error) {
	array, err := types.ArrayOf(a[0])
	if err != nil || array.NDim == 0 {
		return types.Null, err
	}
	var b []byte
	for i := range array.NDim {
		b = strconv.AppendInt(append(b, '['), int64(array.Lower(i)), 10)
		b = strconv.AppendInt(append(b, ':'), int64(array.Upper(i)), 10)
		b = append(b, ']')
	}
	return types.NewText(string(b)), nil
}

// dimension returns the array and the dimension (from 0) that argument 1 selects; ok is false if
// the array does not have it.
func dimension(a []types.Datum) (array types.Array, dim int, ok bool, err error) {
	array, err = types.ArrayOf(a[0])
	return array, int(a[1].N) - 1, err == nil && a[1].N >= 1 && a[1].N <= int64(array.NDim), err
}

func arrayLength(_ *Ctx, a []types.Datum) (types.Datum, error) {
	array, dim, ok, err := dimension(a)
	if !ok {
		return types.Null, err
	}
	return types.NewInt(int64(array.Dim(dim))), nil
}

func arrayLower(_ *Ctx, a []types.Datum) (types.Datum, error) {
	array, dim, ok, err := dimension(a)
	if !ok {
		return types.Null, err
	}
	return types.NewInt(int64(array.Lower(dim))), nil
}

func arrayUpper(_ *Ctx, a []types.Datum) (types.Datum, error) {
	array, dim, ok, err := dimension(a)
	if !ok {
		return types.Null, err
	}
	return types.NewInt(int64(array.Upper(dim))), nil
}

func arrayCardinality(_ *Ctx, a []types.Datum) (types.Datum, error) {
	array, err := types.ArrayOf(a[0])
	return types.NewInt(int64(array.Len())), err
}

func unnest(_ *Ctx, a []types.Datum, emit func([]types.Datum) error) error {
	array, err := types.ArrayOf(a[0])
	if err != nil {
		return err
	}
	row := make([]types.Datum, 1)
	for i := 0; i < array.Len(); i++ {
		row[0] = array.At(i)
		if err := emit(row); err != nil {
			return err
		}
	}
	return nil
}

// expandArray is information_schema._pg_expandarray: it returns the elements of the first dimension
// with their numbers from 1.
func expandArray(_ *Ctx, a []types.Datum, emit func([]types.Datum) error) error {
	array, err := types.ArrayOf(a[0])
	if err != nil || array.NDim == 0 {
		return err
	}
	row := make([]types.Datum, 2)
	for i, s := int64(1), array.Lower(0); s <= array.Upper(0); i, s = i+1, s+1 {
		row[0], row[1] = array.Subscript(s), types.NewInt(i)
		if err := emit(row); err != nil {
			return err
		}
	}
	return nil
}

func generateSubscripts(_ *Ctx, a []types.Datum, emit func([]types.Datum) error) error {
	array, dim, ok, err := dimension(a)
	if !ok {
		return err
	}
	from, to, step := array.Lower(dim), array.Upper(dim), int32(1)
	if len(a) > 2 && a[2].Bool() {
		from, to, step = to, from, -1
	}
	row := make([]types.Datum, 1)
	for i := from; (i-to)*step <= 0; i += step {
		row[0] = types.NewInt(int64(i))
		if err := emit(row); err != nil {
			return err
		}
	}
	return nil
}
