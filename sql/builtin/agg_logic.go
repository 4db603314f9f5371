package builtin

import (
	"github.com/sherddb/sherd/sql/types"
)

// logicAggregates are bool_and, bool_or, every, and the bitwise aggregates of integers. They fold
// values with a commutative and associative operator, so a partial state is the value itself.
var logicAggregates = map[string]*Agg{
	"bool_and(16)": {New: newFold(intAndBool), Strict: true},
	"every(16)":    {New: newFold(intAndBool), Strict: true},
	"bool_or(16)":  {New: newFold(intOrBool), Strict: true},
	"bit_and(21)":  {New: newFold(intAnd), Strict: true},
	"bit_and(23)":  {New: newFold(intAnd), Strict: true},
	"bit_and(20)":  {New: newFold(intAnd), Strict: true},
	"bit_or(21)":   {New: newFold(intOr), Strict: true},
	"bit_or(23)":   {New: newFold(intOr), Strict: true},
	"bit_or(20)":   {New: newFold(intOr), Strict: true},
	"bit_xor(21)":  {New: newFold(intXor), Strict: true},
	"bit_xor(23)":  {New: newFold(intXor), Strict: true},
	"bit_xor(20)":  {New: newFold(intXor), Strict: true},

	"bit_and(1560)": {New: newFold(bitStrings["bit_and"]), Strict: true},
	"bit_or(1560)":  {New: newFold(bitStrings["bit_or"]), Strict: true},
	"bit_xor(1560)": {New: newFold(bitStrings["bitxor"]), Strict: true},
}

// fold combines values with a function of two arguments.
type fold struct {
	value types.Datum
	pair  [2]types.Datum // arguments of f, here so that a step does not allocate
	f     Func
}

func newFold(f Func) func([]uint32, uint32) AggState {
	return func([]uint32, uint32) AggState { return &fold{f: f} }
}

func (s *fold) Step(c *Ctx, a []types.Datum) error {
	if s.value.IsNull() {
		s.value = a[0].Clone()
		return nil
	}
	s.pair[0], s.pair[1] = s.value, a[0]
	v, err := s.f(c, s.pair[:])
	if err == nil {
		s.value = v
	}
	return err
}

func (s *fold) Final(*Ctx) (types.Datum, error) { return s.value, nil }

func (s *fold) Partial(*Ctx) (types.Datum, error) { return packExtreme(s.value) }

func (s *fold) Combine(c *Ctx, partial types.Datum) error { return combineExtreme(c, s, partial) }
