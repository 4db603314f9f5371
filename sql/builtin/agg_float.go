package builtin

import (
	"math"

	"github.com/sherddb/sherd/sql/types"
)

// floatAggregates are sum, avg and the variance family for floats.
var floatAggregates = makeFloatAggregates()

func makeFloatAggregates() map[string]*Agg {
	m := map[string]*Agg{
		"sum(700)": {New: newFold(float4pl), Strict: true},
		"sum(701)": {New: newFold(float8pl), Strict: true},
	}
	for name, final := range map[string]func(*floatMoments) (float64, bool){
		"avg": floatMean, "variance": floatVarSamp, "var_samp": floatVarSamp, "var_pop": floatVarPop,
		"stddev": floatStddevSamp, "stddev_samp": floatStddevSamp, "stddev_pop": floatStddevPop,
	} {
		a := &Agg{New: func([]uint32, uint32) AggState { return &floatMoments{final: final} }, Strict: true}
		m[name+"(700)"], m[name+"(701)"] = a, a
	}
	return m
}

// floatMoments has count, sum and the sum of squared deviations, computed by the Youngs-Cramer
// recurrence as in PostgreSQL.
type floatMoments struct {
	n, sum, dev float64
	final       func(*floatMoments) (float64, bool)
}

func (s *floatMoments) Step(_ *Ctx, a []types.Datum) error {
	x := a[0].Float()
	s.n++
	s.sum += x
	if s.n > 1 {
		t := x*s.n - s.sum
		s.dev += t * t / (s.n * (s.n - 1))
		if math.IsInf(s.sum, 0) || math.IsInf(s.dev, 0) {
			if !math.IsInf(s.sum-x, 0) && !math.IsInf(x, 0) {
				return floatOverflow()
			}
			s.dev = math.NaN()
		}
	} else if math.IsNaN(x) || math.IsInf(x, 0) {
		s.dev = math.NaN()
	}
	return nil
}

func (s *floatMoments) Final(*Ctx) (types.Datum, error) {
	if f, ok := s.final(s); ok {
		return types.NewFloat8(f), nil
	}
	return types.Null, nil
}

func (s *floatMoments) Partial(*Ctx) (types.Datum, error) {
	if s.n == 0 {
		return types.Null, nil
	}
	return pack(types.NewFloat8(s.n), types.NewFloat8(s.sum), types.NewFloat8(s.dev)), nil
}

func (s *floatMoments) Combine(_ *Ctx, partial types.Datum) error {
	if partial.IsNull() {
		return nil
	}
	p, err := unpack(partial, 3)
	if err != nil {
		return err
	}
	n, sum, dev := p[0].Float(), p[1].Float(), p[2].Float()
	if s.n == 0 {
		s.n, s.sum, s.dev = n, sum, dev
		return nil
	}
	t := s.sum/s.n - sum/n
	s.dev += dev + s.n*n*t*t/(s.n+n)
	s.n += n
	s.sum += sum
	return nil
}

func floatMean(s *floatMoments) (float64, bool) { return s.sum / s.n, s.n > 0 }

func floatVarPop(s *floatMoments) (float64, bool) { return s.dev / s.n, s.n > 0 }

func floatVarSamp(s *floatMoments) (float64, bool) { return s.dev / (s.n - 1), s.n > 1 }

func floatStddevPop(s *floatMoments) (float64, bool) { return math.Sqrt(s.dev / s.n), s.n > 0 }

func floatStddevSamp(s *floatMoments) (float64, bool) { return math.Sqrt(s.dev / (s.n - 1)), s.n > 1 }
