package builtin

import (
	"github.com/sherddb/sherd/sql/types"
)

// aggregates has every aggregate, by name(declared argument type OIDs).
var aggregates = mergeAggregates(countAggregates, sumAggregates, minMaxAggregates, logicAggregates, floatAggregates,
	numericStatAggregates, collectAggregates, intervalAggregates,
	regrAggregates, orderedAggregates)

func mergeAggregates(families ...map[string]*Agg) map[string]*Agg {
	all := make(map[string]*Agg, 256)
	for _, f := range families {
		for name, a := range f {
			all[name] = a
		}
	}
	return all
}

var countAggregates = map[string]*Agg{
	"count()":     {New: func([]uint32, uint32) AggState { return new(countState) }},
	"count(2276)": {New: func([]uint32, uint32) AggState { return new(countState) }, Strict: true},
}

type countState struct{ n int64 }

func (s *countState) Step(*Ctx, []types.Datum) error { s.n++; return nil }

func (s *countState) Final(*Ctx) (types.Datum, error) { return types.NewInt(s.n), nil }

func (s *countState) Partial(*Ctx) (types.Datum, error) { return pack(types.NewInt(s.n)), nil }

func (s *countState) Combine(_ *Ctx, partial types.Datum) error {
	if partial.IsNull() {
		return nil
	}
	parts, err := unpack(partial, 1)
	if err == nil {
		s.n += parts[0].N
	}
	return err
}
