package builtin

import (
	"math"

	"github.com/sherddb/sherd/sql/types"
)

// regrAggregates are the aggregates over pairs (Y, X): correlation, covariance, linear regression.
var regrAggregates = makeRegr()

func makeRegr() map[string]*Agg {
	m := map[string]*Agg{
		"regr_count(701,701)": {New: func([]uint32, uint32) AggState { return &regrState{count: true} }, Strict: true},
	}
	for name, final := range map[string]func(*regrState) (float64, bool){
		"regr_sxx":   func(s *regrState) (float64, bool) { return s.sxx, s.n >= 1 },
		"regr_syy":   func(s *regrState) (float64, bool) { return s.syy, s.n >= 1 },
		"regr_sxy":   func(s *regrState) (float64, bool) { return s.sxy, s.n >= 1 },
		"regr_avgx":  func(s *regrState) (float64, bool) { return s.sx / s.n, s.n >= 1 },
		"regr_avgy":  func(s *regrState) (float64, bool) { return s.sy / s.n, s.n >= 1 },
		"covar_pop":  func(s *regrState) (float64, bool) { return s.sxy / s.n, s.n >= 1 },
		"covar_samp": func(s *regrState) (float64, bool) { return s.sxy / (s.n - 1), s.n >= 2 },
		"corr": func(s *regrState) (float64, bool) {
			return s.sxy / math.Sqrt(s.sxx*s.syy), s.n >= 1 && s.sxx != 0 && s.syy != 0
		},
		"regr_r2": func(s *regrState) (float64, bool) {
			if s.syy == 0 {
				return 1, s.n >= 1 && s.sxx != 0
			}
			return s.sxy * s.sxy / (s.sxx * s.syy), s.n >= 1 && s.sxx != 0
		},
		"regr_slope": func(s *regrState) (float64, bool) { return s.sxy / s.sxx, s.n >= 1 && s.sxx != 0 },
		"regr_intercept": func(s *regrState) (float64, bool) {
			return (s.sy - s.sx*s.sxy/s.sxx) / s.n, s.n >= 1 && s.sxx != 0
		},
	} {
		m[name+"(701,701)"] = &Agg{New: func([]uint32, uint32) AggState { return &regrState{final: final} },
			Strict: true}
	}
	return m
}

// regrState has count, sums and sums of products of deviations, computed by the Youngs-Cramer
// recurrence.
type regrState struct {
	n, sx, sxx, sy, syy, sxy float64
	final                    func(*regrState) (float64, bool)
	count                    bool
}

func (s *regrState) Step(_ *Ctx, a []types.Datum) error {
	y, x := a[0].Float(), a[1].Float()
	n := s.n
	s.n++
	s.sx += x
	s.sy += y
	if n == 0 {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			s.sxx, s.sxy = math.NaN(), math.NaN()
		}
		if math.IsNaN(y) || math.IsInf(y, 0) {
			s.syy, s.sxy = math.NaN(), math.NaN()
		}
		return nil
	}
	tx, ty := x*s.n-s.sx, y*s.n-s.sy
	scale := 1 / (s.n * n)
	s.sxx += tx * tx * scale
	s.syy += ty * ty * scale
	s.sxy += tx * ty * scale
	if math.IsInf(s.sx, 0) || math.IsInf(s.sxx, 0) || math.IsInf(s.sy, 0) || math.IsInf(s.syy, 0) ||
		math.IsInf(s.sxy, 0) {
		if !math.IsInf(x, 0) && !math.IsInf(y, 0) && !math.IsInf(s.sx-x, 0) && !math.IsInf(s.sy-y, 0) {
			return floatOverflow()
		}
	}
	return nil
}

func (s *regrState) Final(*Ctx) (types.Datum, error) {
	if s.count {
		return types.NewInt(int64(s.n)), nil
	}
	if f, ok := s.final(s); ok {
		return types.NewFloat8(f), nil
	}
	return types.Null, nil
}

func (s *regrState) Partial(*Ctx) (types.Datum, error) {
	if s.n == 0 {
		return types.Null, nil
	}
	var parts []types.Datum
	for _, f := range []float64{s.n, s.sx, s.sxx, s.sy, s.syy, s.sxy} {
		parts = append(parts, types.NewFloat8(f))
	}
	return pack(parts...), nil
}

func (s *regrState) Combine(_ *Ctx, partial types.Datum) error {
	if partial.IsNull() {
		return nil
	}
	p, err := unpack(partial, 6)
	if err != nil {
		return err
	}
	o := regrState{n: p[0].Float(), sx: p[1].Float(), sxx: p[2].Float(), sy: p[3].Float(), syy: p[4].Float(),
		sxy: p[5].Float()}
	if s.n == 0 {
		s.n, s.sx, s.sxx, s.sy, s.syy, s.sxy = o.n, o.sx, o.sxx, o.sy, o.syy, o.sxy
		return nil
	}
	n := s.n + o.n
	tx, ty := s.sx/s.n-o.sx/o.n, s.sy/s.n-o.sy/o.n
	weight := s.n * o.n / n
	s.sxx += o.sxx + weight*tx*tx
	s.syy += o.syy + weight*ty*ty
	s.sxy += o.sxy + weight*tx*ty
	s.n, s.sx, s.sy = n, s.sx+o.sx, s.sy+o.sy
	return nil
}
