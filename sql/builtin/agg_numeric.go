package builtin

import (
	"github.com/sherddb/sherd/sql/types"
)

// numericStatAggregates is the variance family for integers and numeric; the result is numeric.
var numericStatAggregates = makeNumericStats()

func makeNumericStats() map[string]*Agg {
	m := map[string]*Agg{}
	for name, kind := range map[string]numericStatKind{
		"variance": {sample: true}, "var_samp": {sample: true}, "var_pop": {},
		"stddev": {sample: true, root: true}, "stddev_samp": {sample: true, root: true}, "stddev_pop": {root: true},
	} {
		for _, arg := range []string{"(21)", "(23)", "(20)"} {
			m[name+arg] = &Agg{New: func([]uint32, uint32) AggState { return &numericMoments{kind: kind, ints: true} },
				Strict: true}
		}
		m[name+"(1700)"] = &Agg{New: func([]uint32, uint32) AggState { return &numericMoments{kind: kind} },
			Strict: true}
	}
	return m
}

// numericStatKind selects a function of the family: over the sample or the population, with or
// without square root.
type numericStatKind struct{ sample, root bool }

// numericMoments has the exact count, sum and sum of squares.
type numericMoments struct {
	n         int64
	sum, sum2 types.Datum
	kind      numericStatKind
	ints      bool // arguments are integers
}

func (s *numericMoments) Step(_ *Ctx, a []types.Datum) error {
	x := a[0]
	if s.ints {
		x = types.NumericFromInt(x.N)
	}
	x2, err := types.NumericMul(x, x)
	if err != nil {
		return err
	}
	return s.add(1, x.Clone(), x2)
}

func (s *numericMoments) add(n int64, sum, sum2 types.Datum) (err error) {
	if s.n == 0 {
		s.n, s.sum, s.sum2 = n, sum, sum2
		return nil
	}
	s.n += n
	if s.sum, err = types.NumericAdd(s.sum, sum); err != nil {
		return err
	}
	s.sum2, err = types.NumericAdd(s.sum2, sum2)
	return err
}

func (s *numericMoments) Partial(*Ctx) (types.Datum, error) {
	if s.n == 0 {
		return types.Null, nil
	}
	return pack(types.NewInt(s.n), s.sum, s.sum2), nil
}

func (s *numericMoments) Combine(_ *Ctx, partial types.Datum) error {
	if partial.IsNull() {
		return nil
	}
	p, err := unpack(partial, 3)
	if err != nil {
		return err
	}
	return s.add(p[0].N, p[1], p[2])
}

// Final returns (N·Σx² − (Σx)²) / (N·(N−1)), or N² for the population, with the scale of
// PostgreSQL's division.
func (s *numericMoments) Final(*Ctx) (types.Datum, error) {
	least := int64(1)
	if s.kind.sample {
		least = 2
	}
	if s.n < least {
		return types.Null, nil
	}
	if s.sum.IsNaN() || types.NumericInfSign(s.sum2) != 0 {
		return types.NumericNaN(), nil
	}
	n := types.NumericFromInt(s.n)
	product, err := types.NumericMul(n, s.sum2)
	if err != nil {
		return types.Null, err
	}
	square, err := types.NumericMul(s.sum, s.sum)
	if err != nil {
		return types.Null, err
	}
	dividend, err := types.NumericSub(product, square)
	if err != nil {
		return types.Null, err
	}
	if types.NumericSign(dividend) <= 0 {
		return types.NumericFromInt(0), nil
	}
	divisor, err := types.NumericMul(n, types.NumericFromInt(s.n-least+1))
	if err != nil {
		return types.Null, err
	}
	variance, err := types.NumericDiv(dividend, divisor)
	if err != nil || !s.kind.root {
		return variance, err
	}
	scale, _ := types.NumericScale(variance)
	return numericSqrtScale(variance, scale)
}
