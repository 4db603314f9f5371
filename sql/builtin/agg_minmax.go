package builtin

import (
	"strconv"

	"github.com/sherddb/sherd/sql/types"
)

// minMaxAggregates are min and max for every ordered type.
var minMaxAggregates = makeMinMax()

func makeMinMax() map[string]*Agg {
	m := map[string]*Agg{}
	for _, t := range []uint32{
		types.Int2, types.Int4, types.Int8, types.Oid, types.Float4, types.Float8, types.Numeric, types.Text,
		types.BPChar,
		types.Date, types.Time, types.TimeTZ, types.Timestamp, types.TimestampTZ, types.Interval, types.AnyArray,
		types.Tid, types.AnyEnum,
	} {
		arg := "(" + strconv.Itoa(int(t)) + ")"
		m["min"+arg] = &Agg{New: newExtreme(-1), Strict: true}
		m["max"+arg] = &Agg{New: newExtreme(1), Strict: true}
	}
	return m
}

func newExtreme(sign int) func([]uint32, uint32) AggState {
	return func(argTypes []uint32, _ uint32) AggState {
		switch types.KindOf(argTypes[0]) {
		case types.KindInt, types.KindOid, types.KindDate, types.KindTime, types.KindTimestamp, types.KindTid:
			return &intExtreme{sign: sign}
		}
		return &extreme{sign: sign, compare: types.Comparer(argTypes[0]), first: argTypes[0] == types.BPChar}
	}
}

// intExtreme is min and max of types that compare by N.
type intExtreme struct {
	best types.Datum
	sign int
}

func (s *intExtreme) Step(_ *Ctx, a []types.Datum) error {
	d := a[0]
	if s.best.K == types.KindNull || (d.N > s.best.N) == (s.sign > 0) {
		s.best = d
	}
	return nil
}

func (s *intExtreme) Final(*Ctx) (types.Datum, error) { return s.best, nil }

func (s *intExtreme) Partial(*Ctx) (types.Datum, error) { return packExtreme(s.best) }

func (s *intExtreme) Combine(c *Ctx, partial types.Datum) error { return combineExtreme(c, s, partial) }

// extreme is min and max by the type's order. Of equal values it keeps the last (for char(n) the
// first), as PostgreSQL does.
type extreme struct {
	best    types.Datum
	sign    int
	compare func(a, b types.Datum) int
	first   bool
}

func (s *extreme) Step(_ *Ctx, a []types.Datum) error {
	d := a[0]
	if s.best.K != types.KindNull {
		n := s.compare(d, s.best) * s.sign
		if n < 0 || n == 0 && (s.first || d == s.best) {
			return nil
		}
	}
	s.best = d.Clone()
	return nil
}

func (s *extreme) Final(*Ctx) (types.Datum, error) { return s.best, nil }

func (s *extreme) Partial(*Ctx) (types.Datum, error) { return packExtreme(s.best) }

func (s *extreme) Combine(c *Ctx, partial types.Datum) error { return combineExtreme(c, s, partial) }

func packExtreme(best types.Datum) (types.Datum, error) {
	if best.IsNull() {
		return types.Null, nil
	}
	return pack(best), nil
}

func combineExtreme(c *Ctx, s AggState, partial types.Datum) error {
	if partial.IsNull() {
		return nil
	}
	parts, err := unpack(partial, 1)
	if err != nil {
		return err
	}
	return s.Step(c, parts)
}
