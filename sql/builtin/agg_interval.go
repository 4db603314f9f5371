package builtin

import "github.com/sherddb/sherd/sql/types"

var intervalAggregates = map[string]*Agg{
	"sum(1186)": {New: func([]uint32, uint32) AggState { return &intervalSum{} }, Strict: true},
	"avg(1186)": {New: func([]uint32, uint32) AggState { return &intervalSum{average: true} }, Strict: true},
}

// intervalSum is sum and avg of intervals.
type intervalSum struct {
	count   int64
	sum     types.Datum
	average bool
}

func (s *intervalSum) Step(_ *Ctx, a []types.Datum) error { return s.add(1, a[0]) }

func (s *intervalSum) add(count int64, d types.Datum) (err error) {
	if s.count == 0 {
		s.sum = d.Clone()
	} else if s.sum, err = types.IntervalAdd(s.sum, d); err != nil {
		return err
	}
	s.count += count
	return nil
}

func (s *intervalSum) Final(*Ctx) (types.Datum, error) {
	if s.count == 0 || !s.average {
		return s.sum, nil
	}
	return types.IntervalDiv(s.sum, float64(s.count))
}

func (s *intervalSum) Partial(*Ctx) (types.Datum, error) {
	if s.count == 0 {
		return types.Null, nil
	}
	return pack(types.NewInt(s.count), s.sum), nil
}

func (s *intervalSum) Combine(_ *Ctx, partial types.Datum) error {
	if partial.IsNull() {
		return nil
	}
	parts, err := unpack(partial, 2)
	if err != nil {
		return err
	}
	return s.add(parts[0].N, parts[1])
}
