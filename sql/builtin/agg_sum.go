package builtin

import (
	"math/big"
	"math/bits"

	"github.com/sherddb/sherd/sql/types"
)

var sumAggregates = map[string]*Agg{
	"sum(21)":   {New: newIntSum(sumInt8), Strict: true},
	"sum(23)":   {New: newIntSum(sumInt8), Strict: true},
	"sum(20)":   {New: newIntSum(sumNumeric), Strict: true},
	"avg(21)":   {New: newIntSum(average), Strict: true},
	"avg(23)":   {New: newIntSum(average), Strict: true},
	"avg(20)":   {New: newIntSum(average), Strict: true},
	"sum(1700)": {New: func([]uint32, uint32) AggState { return &numericSum{} }, Strict: true},
	"avg(1700)": {New: func([]uint32, uint32) AggState { return &numericSum{average: true} }, Strict: true},
}

// intSumResult is the kind of result of an intSum.
type intSumResult uint8

const (
	sumInt8 intSumResult = iota
	sumNumeric
	average
)

// intSum sums integers in 128 bits.
type intSum struct {
	count  int64
	hi     int64
	lo     uint64
	result intSumResult
}

func newIntSum(r intSumResult) func([]uint32, uint32) AggState {
	return func([]uint32, uint32) AggState { return &intSum{result: r} }
}

func (s *intSum) Step(_ *Ctx, a []types.Datum) error {
	n := a[0].N
	s.count++
	s.add(n>>63, uint64(n))
	return nil
}

func (s *intSum) add(hi int64, lo uint64) {
	var carry uint64
	s.lo, carry = bits.Add64(s.lo, lo, 0)
	s.hi += hi + int64(carry)
}

func (s *intSum) Final(*Ctx) (types.Datum, error) {
	if s.count == 0 {
		return types.Null, nil
	}
	if s.result == sumInt8 {
		return types.NewInt(int64(s.lo)), nil
	}
	sum, err := s.numeric()
	if err != nil || s.result == sumNumeric {
		return sum, err
	}
	return types.NumericDiv(sum, types.NumericFromInt(s.count))
}

func (s *intSum) numeric() (types.Datum, error) {
	if s.hi == int64(s.lo)>>63 {
		return types.NumericFromInt(int64(s.lo)), nil
	}
	n := new(big.Int).Lsh(big.NewInt(s.hi), 64)
	n.Add(n, new(big.Int).SetUint64(s.lo))
	return types.ParseNumeric(n.String())
}

func (s *intSum) Partial(*Ctx) (types.Datum, error) {
	if s.count == 0 {
		return types.Null, nil
	}
	return pack(types.NewInt(s.count), types.NewInt(s.hi), types.NewInt(int64(s.lo))), nil
}

func (s *intSum) Combine(_ *Ctx, partial types.Datum) error {
	if partial.IsNull() {
		return nil
	}
	parts, err := unpack(partial, 3)
	if err != nil {
		return err
	}
	s.count += parts[0].N
	s.add(parts[1].N, uint64(parts[2].N))
	return nil
}

// numericSum is sum and avg of numeric.
type numericSum struct {
	count   int64
	sum     types.Datum
	average bool
}

func (s *numericSum) Step(_ *Ctx, a []types.Datum) error { return s.add(1, a[0]) }

func (s *numericSum) add(count int64, d types.Datum) error {
	if s.count == 0 {
		s.count, s.sum = count, d.Clone()
		return nil
	}
	sum, err := types.NumericAdd(s.sum, d)
	if err == nil {
		s.count += count
		s.sum = sum
	}
	return err
}

func (s *numericSum) Final(*Ctx) (types.Datum, error) {
	if s.count == 0 || !s.average {
		return s.sum, nil
	}
	return types.NumericDiv(s.sum, types.NumericFromInt(s.count))
}

func (s *numericSum) Partial(*Ctx) (types.Datum, error) {
	if s.count == 0 {
		return types.Null, nil
	}
	return pack(types.NewInt(s.count), s.sum), nil
}

func (s *numericSum) Combine(_ *Ctx, partial types.Datum) error {
	if partial.IsNull() {
		return nil
	}
	parts, err := unpack(partial, 2)
	if err != nil {
		return err
	}
	return s.add(parts[0].N, parts[1])
}
