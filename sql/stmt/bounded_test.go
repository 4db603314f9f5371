package stmt

import (
	"math"
	"testing"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/statistics"
	"github.com/sherddb/sherd/sql/types"
)

// TestReach: the rows that plans read at most follow from keys, and from the most common values.
func TestReach(t *testing.T) {
	table := &catalog.Table{Columns: []catalog.Column{{Name: "a", AttNum: 1}, {Name: "b", AttNum: 2}}}
	stats := &statistics.Table{Rows: 1e6, Columns: []statistics.Column{
		{Key: statistics.Key{Position: 1}, Distinct: 100, Common: []statistics.Value{{Frac: 0.9}}},
		{Key: statistics.Key{Position: 2}, Distinct: -0.5},
	}}
	known := func(*catalog.Table) *statistics.Table { return stats }
	value := []query.Expr{&query.Param{N: 1}}
	index := func(unique bool, columns ...int) *plan.Scan {
		x := &plan.IndexScan{Table: table, Index: query.Index{Def: &catalog.Index{Unique: unique}}}
		for _, col := range columns {
			x.Index.Keys = append(x.Index.Keys, &query.Var{Col: col})
			x.Equal, x.Arrays = append(x.Equal, value), append(x.Arrays, nil)
		}
		return &plan.Scan{Table: table, Access: plan.ScanIndex, Index: x}
	}
	keys := func(n int) *plan.Scan {
		return &plan.Scan{Table: table, Access: plan.ScanKeys, Keys: make([][]query.Expr, n)}
	}
	array := index(false, 1)
	array.Index.Arrays[0] = &query.Param{N: 1, T: query.Of(types.Int4Array)}
	for i, x := range []struct {
		plan  plan.Node
		known func(*catalog.Table) *statistics.Table
		want  float64
	}{
		{&plan.Gather{Child: &plan.Scan{Table: table}}, known, 1e6},
		{&plan.Scan{Table: table}, nil, math.Inf(1)},
		{keys(2), nil, 2},
		{&plan.Scan{Table: table, Access: plan.ScanKeys, KeyArray: &query.Array{Elems: make([]query.Expr, 3)}}, nil, 3},
		{&plan.Scan{Table: table, Access: plan.ScanKeys, KeyArray: &query.Param{}}, nil, math.Inf(1)},
		{index(true, 0), nil, 1},
		{index(false, 0), nil, math.Inf(1)},
		{index(false, 0), known, 9e5},
		{index(false, 1), known, 8},
		{index(false, 0, 1), known, 8},
		{array, known, 1e6},
		{&plan.Modify{Child: &plan.Values{Rows: make([][]query.Expr, 4)}}, nil, 4},
		{&plan.NestLoop{Left: keys(3), Right: keys(2)}, nil, 9},
		{&plan.HashJoin{Left: keys(3), Right: index(false, 1)}, known, 35},
		{&plan.FunctionScan{}, known, math.Inf(1)},
	} {
		if got := (reach{x.known}).rows(x.plan); got != x.want {
			t.Errorf("plan %d reads at most %v rows, want %v", i, got, x.want)
		}
	}
}
