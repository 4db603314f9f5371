package builtin

import (
	"math"
	"slices"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// orderedAggregates are the ordered-set aggregates. The states sort the values themselves, so the
// caller need not, and partial states can be combined in any order.
var orderedAggregates = map[string]*Agg{
	"percentile_cont(701,701)":   {New: newPercentile(continuous), Direct: 1},
	"percentile_cont(1022,701)":  {New: newPercentile(continuous), Direct: 1},
	"percentile_cont(701,1186)":  {New: newPercentile(continuous), Direct: 1},
	"percentile_cont(1022,1186)": {New: newPercentile(continuous), Direct: 1},
	"percentile_disc(701,2283)":  {New: newPercentile(discrete), Direct: 1},
	"percentile_disc(1022,2283)": {New: newPercentile(discrete), Direct: 1},
	"mode(2283)": {New: func(argTypes []uint32,
		_ uint32) AggState {
		return &modeState{sorter: newSorter(argTypes[0])}
	}},
}

// sorter collects values to be sorted.
type sorter struct {
	vals    []types.Datum
	compare func(a, b types.Datum) int
}

func newSorter(typ uint32) sorter { return sorter{compare: types.Comparer(typ)} }

func (s *sorter) add(d types.Datum) {
	if !d.IsNull() {
		s.vals = append(s.vals, d.Clone())
	}
}

func (s *sorter) sort() { slices.SortStableFunc(s.vals, s.compare) }

// percentile is percentile_cont and percentile_disc: direct argument 0 is the fraction, or an array
// of them.
type percentile struct {
	sorter
	typ      uint32
	fraction types.Datum
	seen     bool
	at       func(p *percentile, fraction float64) (types.Datum, error)
}

func newPercentile(at func(*percentile, float64) (types.Datum, error)) func([]uint32, uint32) AggState {
	return func(argTypes []uint32, _ uint32) AggState {
		return &percentile{sorter: newSorter(argTypes[1]), typ: argTypes[1], at: at}
	}
}

func (p *percentile) Step(_ *Ctx, a []types.Datum) error {
	if !p.seen {
		p.seen, p.fraction = true, a[0].Clone()
	}
	p.add(a[1])
	return nil
}

func checkFraction(f float64) error {
	if f < 0 || f > 1 || math.IsNaN(f) {
		return pgerr.New(pgerr.NumericValueOutOfRange, "percentile value %s is not between 0 and 1",
			types.Output(types.Float8, types.NewFloat8(f), nil))
	}
	return nil
}

func (p *percentile) Final(*Ctx) (types.Datum, error) {
	if p.fraction.IsNull() {
		return types.Null, nil
	}
	if p.fraction.K != types.KindArray {
		if err := checkFraction(p.fraction.Float()); err != nil || len(p.vals) == 0 {
			return types.Null, err
		}
		p.sort()
		return p.at(p, p.fraction.Float())
	}
	fractions, err := types.ArrayOf(p.fraction)
	if err != nil || len(p.vals) == 0 {
		return types.Null, err
	}
	p.sort()
	out := fractions.Elems()
	for i, f := range out {
		if f.IsNull() {
			continue
		}
		if err := checkFraction(f.Float()); err != nil {
			return types.Null, err
		}
		if out[i], err = p.at(p, f.Float()); err != nil {
			return types.Null, err
		}
	}
	if fractions.NDim == 0 {
		return types.NewList(p.typ, nil), nil
	}
	return types.NewArray(p.typ, fractions.Dims(), fractions.Lowers(), out), nil
}

// discrete returns the first value whose position reaches the fraction.
func discrete(p *percentile, fraction float64) (types.Datum, error) {
	row := max(int(math.Ceil(fraction*float64(len(p.vals)))), 1)
	return p.vals[row-1], nil
}

// continuous interpolates between the two adjacent values.
func continuous(p *percentile, fraction float64) (types.Datum, error) {
	at := fraction * float64(len(p.vals)-1)
	first := p.vals[int(math.Floor(at))]
	second := p.vals[int(math.Ceil(at))]
	part := at - math.Floor(at)
	if part == 0 {
		return first, nil
	}
	if p.typ == types.Interval {
		diff, err := types.IntervalSub(second, first)
		if err != nil {
			return types.Null, err
		}
		if diff, err = types.IntervalMul(diff, part); err != nil {
			return types.Null, err
		}
		return types.IntervalAdd(diff, first)
	}
	low, high := first.Float(), second.Float()
	return types.NewFloat8(low + part*(high-low)), nil
}

func (p *percentile) Partial(*Ctx) (types.Datum, error) {
	if !p.seen {
		return types.Null, nil
	}
	return pack(append([]types.Datum{p.fraction}, p.vals...)...), nil
}

func (p *percentile) Combine(_ *Ctx, partial types.Datum) error {
	if partial.IsNull() {
		return nil
	}
	parts, err := unpack(partial, -1)
	if err != nil || len(parts) == 0 {
		return err
	}
	p.seen, p.fraction = true, parts[0]
	p.vals = append(p.vals, parts[1:]...)
	return nil
}

// modeState finds the most frequent value; of several, the smallest.
type modeState struct{ sorter }

func (s *modeState) Step(_ *Ctx, a []types.Datum) error {
	s.add(a[0])
	return nil
}

func (s *modeState) Final(*Ctx) (types.Datum, error) {
	s.sort()
	best, most := types.Null, 0
	for from := 0; from < len(s.vals); {
		to := from + 1
		for to < len(s.vals) && s.compare(s.vals[from], s.vals[to]) == 0 {
			to++
		}
		if to-from > most {
			best, most = s.vals[from], to-from
		}
		from = to
	}
	return best, nil
}

func (s *modeState) Partial(*Ctx) (types.Datum, error) {
	if len(s.vals) == 0 {
		return types.Null, nil
	}
	return pack(s.vals...), nil
}

func (s *modeState) Combine(_ *Ctx, partial types.Datum) error {
	if partial.IsNull() {
		return nil
	}
	vals, err := unpack(partial, -1)
	s.vals = append(s.vals, vals...)
	return err
}
