package expr

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/jsonb"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// subscript compiles base[…], slices, and the assignment forms of both arrays and jsonb.
func (k *Compiler) subscript(n *query.Subscript) (Eval, error) {
	s := &subscript{elem: n.Elem}
	var err error
	if s.base, err = k.Expr(n.Base); err != nil {
		return nil, err
	}
	if s.upper, err = k.subscripts(n.Upper); err != nil {
		return nil, err
	}
	if s.lower, err = k.subscripts(n.Lower); err != nil {
		return nil, err
	}
	if s.assign, err = k.Optional(n.Assign); err != nil {
		return nil, err
	}
	if n.Base.Type() == types.JSONB {
		s.ints = make([]bool, len(n.Upper))
		for i, e := range n.Upper {
			s.ints[i] = e != nil && types.KindOf(e.Type()) == types.KindInt
		}
		if s.assign != nil {
			return s.assignJSON, nil
		}
		return s.getJSON, nil
	}
	switch {
	case n.Base.Type() == types.Name && s.assign == nil:
		return s.getByte, nil
	case n.Slice && s.assign != nil:
		return s.assignSlice, nil
	case s.assign != nil:
		return s.assignArray, nil
	case n.Slice:
		return s.slice, nil
	}
	return s.get, nil
}

type subscript struct {
	base         Eval
	upper, lower []Eval // nil elements are open
	ints         []bool // of jsonb: the subscript is an integer
	assign       Eval
	elem         types.OID
}

func (k *Compiler) subscripts(es []query.Expr) ([]Eval, error) {
	out := make([]Eval, len(es))
	for i, e := range es {
		var err error
		if out[i], err = k.Optional(e); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// indexes evaluates plain subscripts; ok is false if one is null.
func (s *subscript) indexes(c *Ctx, row types.Row) (subs []int32, ok bool, err error) {
	subs = make([]int32, len(s.upper))
	for i, f := range s.upper {
		d, err := f(c, row)
		if err != nil || d.IsNull() {
			return nil, false, err
		}
		subs[i] = int32(d.N)
	}
	return subs, true, nil
}

func (s *subscript) get(c *Ctx, row types.Row) (types.Datum, error) {
	d, err := s.base(c, row)
	if err != nil || d.IsNull() {
		return types.Null, err
	}
	subs, ok, err := s.indexes(c, row)
	if err != nil || !ok {
		return types.Null, err
	}
	a, err := types.ArrayOf(d)
	if err != nil {
		return types.Null, err
	}
	return a.Subscript(subs...), nil
}

// nameBytes is the size of a name, which ends at its first zero byte.
const nameBytes = 64

// getByte returns a byte of a name as "char".
func (s *subscript) getByte(c *Ctx, row types.Row) (types.Datum, error) {
	d, err := s.base(c, row)
	if err != nil || d.IsNull() {
		return types.Null, err
	}
	subs, ok, err := s.indexes(c, row)
	if err != nil || !ok || len(subs) != 1 || subs[0] < 0 || subs[0] >= nameBytes {
		return types.Null, err
	}
	if int(subs[0]) >= len(d.S) {
		return types.NewInt(0), nil
	}
	return types.NewInt(int64(int8(d.S[subs[0]]))), nil
}

// slice is base[l:u]…: a plain subscript among slices means 1:n, missing dimensions are complete,
// and the result is numbered from 1.
func (s *subscript) slice(c *Ctx, row types.Row) (types.Datum, error) {
	d, err := s.base(c, row)
	if err != nil || d.IsNull() {
		return types.Null, err
	}
	a, err := types.ArrayOf(d)
	if err != nil {
		return types.Null, err
	}
	if a.NDim == 0 || len(s.upper) > a.NDim {
		return types.NewList(a.Elem, nil), nil
	}
	from, dims := make([]int32, a.NDim), make([]int32, a.NDim)
	for i := range a.NDim {
		lo, hi := a.Lower(i), a.Upper(i)
		if i < len(s.upper) {
			var null bool
			if lo, hi, null, err = s.bounds(c, row, i, lo, hi); err != nil || null {
				return types.Null, err
			}
		}
		lo, hi = max(lo, a.Lower(i)), min(hi, a.Upper(i))
		if lo > hi {
			return types.NewList(a.Elem, nil), nil
		}
		from[i], dims[i] = lo-a.Lower(i), hi-lo+1
	}
	return types.NewArray(a.Elem, dims, nil, cut(&a, from, dims)), nil
}

// bounds evaluates the bounds of dimension i; lo and hi are the bounds of the array.
func (s *subscript) bounds(c *Ctx, row types.Row, i int, lo, hi int32) (int32, int32, bool, error) {
	if s.upper[i] != nil {
		d, err := s.upper[i](c, row)
		if err != nil || d.IsNull() {
			return 0, 0, true, err
		}
		hi = int32(d.N)
	}
	if i < len(s.lower) && s.lower[i] != nil {
		d, err := s.lower[i](c, row)
		if err != nil || d.IsNull() {
			return 0, 0, true, err
		}
		lo = int32(d.N)
	}
	return lo, hi, false, nil
}

// cut returns the elements of a sub-box in storage order.
func cut(a *types.Array, from, dims []int32) []types.Datum {
	total := 1
	for _, n := range dims {
		total *= int(n)
	}
	out := make([]types.Datum, 0, total)
	at := make([]int32, len(dims))
	for range total {
		pos := 0
		for i := range dims {
			pos = pos*int(a.Dim(i)) + int(from[i]+at[i])
		}
		out = append(out, a.At(pos))
		for i := len(dims) - 1; i >= 0; i-- {
			if at[i]++; at[i] < dims[i] {
				break
			}
			at[i] = 0
		}
	}
	return out
}

// assignArray is SET a[i] = v: a copy of the array with one element changed. A one-dimensional
// array is extended with nulls.
func (s *subscript) assignArray(c *Ctx, row types.Row) (types.Datum, error) {
	d, err := s.base(c, row)
	if err != nil {
		return types.Null, err
	}
	subs, ok, err := s.indexes(c, row)
	if err != nil {
		return types.Null, err
	}
	if !ok {
		return types.Null, pgerr.New(pgerr.NullValueNotAllowed, "array subscript in assignment must not be null")
	}
	v, err := s.assign(c, row)
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
	if a.NDim == 0 {
		dims := make([]int32, len(subs))
		for i := range dims {
			dims[i] = 1
		}
		return types.NewArray(s.elem, dims, subs, []types.Datum{v}), nil
	}
	return assignElement(&a, subs, v)
}

func assignElement(a *types.Array, subs []int32, v types.Datum) (types.Datum, error) {
	elems, dims, lowers := a.Elems(), a.Dims(), a.Lowers()
	if len(subs) != a.NDim {
		return types.Null, pgerr.New(pgerr.ArraySubscriptError, "wrong number of array subscripts")
	}
	if a.NDim == 1 {
		grown, err := growTo(elems, &lowers[0], subs[0])
		if err != nil {
			return types.Null, err
		}
		elems, dims[0] = grown, int32(len(grown))
	}
	pos := 0
	for i, sub := range subs {
		at := sub - lowers[i]
		if at < 0 || at >= dims[i] {
			return types.Null, pgerr.New(pgerr.ArraySubscriptError, "array subscript out of range")
		}
		pos = pos*int(dims[i]) + int(at)
	}
	elems[pos] = v
	return types.NewArray(a.Elem, dims, lowers, elems), nil
}

// maxArrayGrowth limits the nulls that an assignment beyond an array's end may add, as PostgreSQL's
// limit on the size of arrays does.
const maxArrayGrowth = 1 << 27

// growTo adds nulls before or after a list until it contains sub.
func growTo(elems []types.Datum, lower *int32, sub int32) ([]types.Datum, error) {
	before, after := int64(*lower)-int64(sub), int64(sub)-int64(*lower)-int64(len(elems))+1
	if max(before, after)+int64(len(elems)) > maxArrayGrowth {
		return nil, pgerr.New(pgerr.ProgramLimitExceeded, "array size exceeds the maximum allowed (%d)", maxArrayGrowth)
	}
	if before > 0 {
		*lower = sub
		return append(make([]types.Datum, before), elems...), nil
	}
	if after > 0 {
		return append(elems, make([]types.Datum, after)...), nil
	}
	return elems, nil
}

// path evaluates jsonb subscripts as texts.
func (s *subscript) path(c *Ctx, row types.Row) (path []string, ok bool, err error) {
	path = make([]string, len(s.upper))
	for i, f := range s.upper {
		d, err := f(c, row)
		if err != nil || d.IsNull() {
			return nil, false, err
		}
		path[i] = d.S
		if s.ints[i] {
			path[i] = string(types.AppendInt(nil, d.N))
		}
	}
	return path, true, nil
}

func (s *subscript) getJSON(c *Ctx, row types.Row) (types.Datum, error) {
	d, err := s.base(c, row)
	if err != nil || d.IsNull() {
		return types.Null, err
	}
	path, ok, err := s.path(c, row)
	if err != nil || !ok {
		return types.Null, err
	}
	v, found := jsonb.Doc(d.S).Path(path...)
	if !found {
		return types.Null, nil
	}
	return types.NewJSONB(string(v)), nil
}

func (s *subscript) assignJSON(c *Ctx, row types.Row) (types.Datum, error) {
	d, err := s.base(c, row)
	if err != nil {
		return types.Null, err
	}
	path, ok, err := s.path(c, row)
	if err != nil {
		return types.Null, err
	}
	if !ok {
		return types.Null, pgerr.New(pgerr.NullValueNotAllowed, "jsonb subscript in assignment must not be null")
	}
	v, err := s.assign(c, row)
	if err != nil {
		return types.Null, err
	}
	doc := jsonb.NullDoc
	if !v.IsNull() {
		doc = jsonb.Doc(v.S)
	}
	out, err := jsonb.Doc(d.S).Assign(path, s.ints[0], doc)
	return types.NewJSONB(string(out)), err
}
