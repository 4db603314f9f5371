package query_test

import (
	"reflect"
	"testing"

	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// TestRewriteAll: parameters in every clause of a query, and in the queries within it, are replaced.
// The query itself stays as it is, and a recursive query of the copy reads itself.
func TestRewriteAll(t *testing.T) {
	param := func() query.Expr { return &query.Param{T: query.Of(types.Int4), N: 1} }
	one := func() *query.Query { return &query.Query{Where: param()} }
	cte := &query.CTE{Name: "r", Recursive: true}
	cte.Query = &query.Query{Rels: []*query.Rel{{Kind: query.RelCTE, CTE: cte}}, Where: param()}
	full := func() *query.Query {
		return &query.Query{
			CTEs: []*query.CTE{cte},
			Rels: []*query.Rel{
				{Kind: query.RelSubquery, Subquery: one()}, {Kind: query.RelCTE, CTE: cte},
				{Kind: query.RelFunction, Functions: []query.FuncItem{{Call: param()}}},
			},
			From:    []query.From{&query.FromJoin{Left: &query.FromRel{}, Right: &query.FromRel{Rel: 1}, On: param()}},
			Where:   &query.SubLink{Query: one(), Test: param(), Left: []query.Expr{param()}},
			Targets: []query.Target{{Expr: &query.Call{Args: []query.Expr{param()}}}},
			GroupBy: []query.Expr{param()}, Having: param(),
			Bounds: query.Bounds{Limit: param(), Offset: param(), WithTies: param()},
			Windows: []query.Window{{
				Partition: []query.Expr{param()}, Order: []query.WindowOrder{{Expr: param()}},
				Frame: query.Frame{Start: param(), End: param()},
			}},
			SetOp:  &query.SetOp{Left: one(), Right: one()},
			Values: [][]query.Expr{{param()}}, Assign: []query.Assignment{{Expr: param()}}, Source: one(),
			Choices: query.Choices{
				OnConflict: &query.OnConflict{Assign: []query.Assignment{{Expr: param()}}, Where: param()},
				Merge:      []query.MergeAction{{Cond: param(), Assign: []query.Assignment{{Expr: param()}}}},
			},
		}
	}
	params := func(q *query.Query) (n int) {
		query.WalkQuery(q, func(e query.Expr, _ int) {
			if _, ok := e.(*query.Param); ok {
				n++
			}
		})
		return n
	}
	q, same := full(), full()
	out := query.RewriteAll(q, func(e query.Expr, _ int) (query.Expr, bool) {
		if _, ok := e.(*query.Param); ok {
			return &query.Const{T: query.Of(types.Int4), Value: types.NewInt(7)}, true
		}
		return nil, false
	})
	if n := params(out); n != 0 {
		t.Errorf("%d parameters are left", n)
	}
	if n := params(q); n != 26 || !reflect.DeepEqual(q, same) {
		t.Errorf("the query has changed; it has %d parameters", n)
	}
	own := out.CTEs[0]
	if own == cte || out.Rels[1].CTE != own || own.Query.Rels[0].CTE != own {
		t.Error("the copy reads WITH queries that are not its own")
	}
}
