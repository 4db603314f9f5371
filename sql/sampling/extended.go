package sampling

import (
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/statistics"
	"github.com/sherddb/sherd/sql/tablestats"
	"github.com/sherddb/sherd/sql/types"
)

// object is a statistics object that is computed, with its target.
type object struct {
	*catalog.ExtendedStatistics
	target int
}

// together adds the statistics objects of a table whose columns are sampled, with their expressions.
// Others are missed. An object without a target of its own has the largest one of its columns.
func (s *selection) together(t *catalog.Table) {
	for i := range t.Statistics {
		x := object{&t.Statistics[i], t.Statistics[i].StatisticsTarget()}
		known, largest := true, -1
		for _, n := range x.Columns {
			known = known && s.field(statistics.Key{Position: n}) != nil
			largest = max(largest, t.ColumnByNum(n).StatisticsTarget())
		}
		if !known {
			s.missed = append(s.missed, x.ExtendedStatistics)
			continue
		}
		if x.target < 0 {
			x.target = s.targetOf(largest)
		}
		if x.target == 0 {
			continue
		}
		s.largest = max(s.largest, x.target)
		for k, text := range x.Expressions {
			f := field{Key: statistics.Key{Index: x.OID, Position: int16(k + 1)}, where: -1, target: x.target}
			s.add(f, "("+text+")", true)
		}
		s.objects = append(s.objects, x)
	}
}

// field returns the field of a key, nil if it is not sampled.
func (s *selection) field(k statistics.Key) *field {
	i := slices.IndexFunc(s.fields, func(f field) bool { return f.Key == k })
	if i < 0 {
		return nil
	}
	return &s.fields[i]
}

// extended computes the statistics objects from a sample of a table with a number of rows.
func (s *selection) extended(sample [][]types.Datum, rows float64) (out []statistics.Extended) {
	for _, x := range s.objects {
		if len(x.Kinds) == 0 {
			continue // a single expression
		}
		var members []statistics.Member
		var at []int
		for _, k := range tablestats.Members(x.ExtendedStatistics) {
			f := s.field(k)
			members, at = append(members, statistics.Member{Key: k, Type: f.typ}), append(at, f.at)
		}
		values := make([][]types.Datum, len(sample))
		for i, row := range sample {
			values[i] = make([]types.Datum, len(at))
			for j, n := range at {
				values[i][j] = row[n]
			}
		}
		found := statistics.BuildExtended(x.OID, members, values, rows, statistics.Wanted{
			Combinations: x.Has(catalog.NDistinct), Dependencies: x.Has(catalog.Dependencies),
			Common: x.Has(catalog.CommonValues), Target: x.target,
		})
		if found != nil {
			out = append(out, *found)
		}
	}
	return out
}
