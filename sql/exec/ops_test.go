package exec_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/exec/operator"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/query/querytest"
	"github.com/sherddb/sherd/sql/types"
)

var intText = []types.OID{types.Int4, types.Text}

func check(t *testing.T, n plan.Node, want ...string) {
	t.Helper()
	rows, err := run(t, n)
	if err != nil {
		t.Fatal(err)
	}
	if got := show(n, rows); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

func TestSort(t *testing.T) {
	in := values(t, intText, "3|c", "1|a", "NULL|n", "2|b", "1|z")
	by := func(desc, nullsFirst bool) []plan.SortKey {
		return []plan.SortKey{{Slot: 0, Type: types.Int4, Desc: desc, NullsFirst: nullsFirst}}
	}
	check(t, &plan.Sort{Base: in.Base, Child: in, Keys: by(false, false)}, "1|a", "1|z", "2|b", "3|c", "NULL|n")
	check(t, &plan.Sort{Base: in.Base, Child: in, Keys: by(true, true)}, "NULL|n", "3|c", "2|b", "1|a", "1|z")
	check(t, &plan.Sort{Base: in.Base, Child: in, Keys: by(false, false), Limit: querytest.Lit(t, types.Int8, "2"), Offset: querytest.Lit(t, types.Int8, "1")},
		"1|a", "1|z", "2|b")
	check(t, &plan.Limit{Base: in.Base, Child: in, Count: querytest.Lit(t, types.Int8, "2"), Offset: querytest.Lit(t, types.Int8, "1")}, "1|a", "NULL|n")
	if _, err := run(t, &plan.Limit{Base: in.Base, Child: in, Count: querytest.Lit(t, types.Int8, "-1")}); !pgerr.Is(err, "2201W") {
		t.Errorf("negative limit: %v", err)
	}
}

// TestIncrementalSort sorts rows in groups: they are those of a whole sort, and no more input is read
// than up to the end of the group that completes the limit.
func TestIncrementalSort(t *testing.T) {
	in := values(t, intText, "1|c", "1|a", "1|c", "2|b", "3|z", "3|NULL", "3|a", "4|q", "NULL|b", "NULL|a")
	keys := []plan.SortKey{{Slot: 0, Type: types.Int4}, {Slot: 1, Type: types.Text, Desc: true, NullsFirst: true}}
	all := []string{"1|c", "1|c", "1|a", "2|b", "3|NULL", "3|z", "3|a", "4|q", "NULL|b", "NULL|a"}
	count := func(n int) query.Expr { return querytest.Lit(t, types.Int8, fmt.Sprint(n)) }
	sorted := func(child plan.Node, limit, offset query.Expr) *plan.Sort {
		return &plan.Sort{Base: in.Base, Child: child, Keys: keys, Presorted: 1, Limit: limit, Offset: offset}
	}
	check(t, sorted(in, nil, nil), all...)
	check(t, sorted(in, querytest.Lit(t, types.Int8, "9223372036854775807"), count(1)), all...)
	whole := sorted(in, querytest.Lit(t, types.Int8, "9223372036854775807"), count(1))
	whole.Presorted = 0
	check(t, whole, all...)
	for n := range len(all) + 2 {
		want := all[:min(n, len(all))]
		check(t, sorted(in, count(n), nil), want...)
		check(t, sorted(in, count(n-n/2), count(n/2)), want...)
	}
	// The row of 4 cannot be computed.
	fails := &plan.Project{Base: in.Base, Child: in, Exprs: []query.Expr{
		querytest.Op(t, "-", querytest.Slot(0, types.Int4),
			querytest.Op(t, "/", querytest.Lit(t, types.Int4, "0"),
				querytest.Op(t, "-", querytest.Lit(t, types.Int4, "4"), querytest.Slot(0, types.Int4)))),
		querytest.Slot(1, types.Text),
	}}
	check(t, sorted(fails, count(4), nil), all[:4]...)
	if _, err := run(t, sorted(fails, count(8), nil)); !pgerr.Is(err, pgerr.DivisionByZero) {
		t.Errorf("behind the third group: %v", err)
	}
}

func TestAggregate(t *testing.T) {
	in := values(t, intText, "1|a", "2|b", "1|c", "NULL|d", "1|a", "NULL|e")
	key := []query.Expr{querytest.Slot(0, types.Int4)}
	count, sum := agg(t, "count"), agg(t, "sum", querytest.Slot(0, types.Int4))
	distinct := agg(t, "count", querytest.Slot(1, types.Text))
	distinct.Distinct = true
	filtered := agg(t, "count")
	filtered.Filter = querytest.Op(t, "=", querytest.Slot(1, types.Text), querytest.Lit(t, types.Text, "a"))
	n := &plan.Aggregate{Base: cols(types.Int4, types.Int8, types.Int8, types.Int8, types.Int8), Child: in, Keys: key,
		Aggs: []*query.Agg{count, sum, distinct, filtered}}
	check(t, n, "1|3|3|2|2", "2|1|2|1|0", "NULL|2|NULL|2|0")

	empty := &plan.Filter{Base: in.Base, Child: in, Cond: querytest.Lit(t, types.Bool, "f")}
	check(t, &plan.Aggregate{Base: cols(types.Int8, types.Int8), Child: empty, Aggs: []*query.Agg{count, sum}}, "0|NULL")
	check(t, &plan.Aggregate{Base: cols(types.Int4, types.Int8), Child: empty, Keys: key, Aggs: []*query.Agg{count}})

	sets := &plan.Aggregate{Base: cols(types.Int4, types.Text, types.Int8, types.Int4), Child: in,
		Keys: []query.Expr{querytest.Slot(0, types.Int4), querytest.Slot(1, types.Text)}, Sets: [][]int{{}, {0}}, Aggs: []*query.Agg{count}}
	check(t, sets, "NULL|NULL|6|0", "1|NULL|3|1", "2|NULL|1|1", "NULL|NULL|2|1")
}

// TestAggregateSplit computes in two halves what one computes whole.
func TestAggregateSplit(t *testing.T) {
	in := values(t, intText, "1|a", "2|b", "1|c", "NULL|d", "7|a")
	aggs := []*query.Agg{agg(t, "count"), agg(t, "sum", querytest.Slot(0, types.Int4)), agg(t, "avg", querytest.Slot(0, types.Int4)),
		agg(t, "min", querytest.Slot(1, types.Text)), agg(t, "max", querytest.Slot(0, types.Int4))}
	for _, sets := range [][][]int{nil, {{}, {0}}} {
		outs := []types.OID{types.Text, types.Int8, types.Int8, types.Numeric, types.Text, types.Int4}
		if sets != nil {
			outs = append(outs, types.Int4)
		}
		whole := &plan.Aggregate{Base: cols(outs...), Child: in, Keys: []query.Expr{querytest.Slot(1, types.Text)}, Sets: sets, Aggs: aggs}
		part := *whole
		part.Mode = plan.AggPartial
		final := *whole
		final.Mode, final.Child = plan.AggFinal, &part
		want, err := run(t, whole)
		if err != nil {
			t.Fatal(err)
		}
		got, err := run(t, &final)
		if err != nil {
			t.Fatal(err)
		}
		if show(whole, got) != show(whole, want) {
			t.Errorf("split\n%s\nwhole\n%s", show(whole, got), show(whole, want))
		}
	}
}

func TestDistinctAndSetOperations(t *testing.T) {
	a := values(t, intText, "1|a", "1|a", "2|b", "NULL|x", "NULL|x")
	b := values(t, intText, "1|a", "3|c", "NULL|x")
	check(t, &plan.Distinct{Base: a.Base, Child: a}, "1|a", "2|b", "NULL|x")
	check(t, &plan.Distinct{Base: a.Base, Child: a, Keys: []int{0}, Sorted: true}, "1|a", "2|b", "NULL|x")
	for _, c := range []struct {
		kind query.SetOpKind
		all  bool
		want []string
	}{
		{query.Union, false, []string{"1|a", "2|b", "NULL|x", "3|c"}},
		{query.Intersect, false, []string{"1|a", "NULL|x"}},
		{query.Intersect, true, []string{"1|a", "NULL|x"}},
		{query.Except, false, []string{"2|b"}},
		{query.Except, true, []string{"1|a", "2|b", "NULL|x"}},
	} {
		check(t, &plan.SetOperation{Base: a.Base, Kind: c.kind, All: c.all, Left: a, Right: b}, c.want...)
	}
}

func TestJoins(t *testing.T) {
	l := values(t, intText, "1|a", "2|b", "NULL|n", "2|bb")
	r := values(t, intText, "2|x", "2|y", "3|z", "NULL|m")
	both := cols(types.Int4, types.Text, types.Int4, types.Text)
	on := querytest.Op(t, "=", querytest.Slot(0, types.Int4), querytest.Slot(2, types.Int4))
	wants := map[query.JoinKind][]string{
		query.Inner: {"2|b|2|x", "2|b|2|y", "2|bb|2|x", "2|bb|2|y"},
		query.Left:  {"1|a|NULL|NULL", "2|b|2|x", "2|b|2|y", "NULL|n|NULL|NULL", "2|bb|2|x", "2|bb|2|y"},
		query.Right: {"2|b|2|x", "2|b|2|y", "2|bb|2|x", "2|bb|2|y", "NULL|NULL|3|z", "NULL|NULL|NULL|m"},
		query.Full: {"1|a|NULL|NULL", "2|b|2|x", "2|b|2|y", "NULL|n|NULL|NULL", "2|bb|2|x", "2|bb|2|y", "NULL|NULL|3|z",
			"NULL|NULL|NULL|m"},
		query.Semi:      {"2|b", "2|bb"},
		query.Anti:      {"1|a", "NULL|n"},
		query.RightSemi: {"2|x", "2|y"},
		query.RightAnti: {"3|z", "NULL|m"},
	}
	for kind, want := range wants {
		t.Run(fmt.Sprint(kind), func(t *testing.T) {
			out := both
			if kind >= query.Semi {
				out = l.Base
			}
			k := []query.Expr{querytest.Slot(0, types.Int4)}
			check(t, &plan.HashJoin{Base: out, Kind: kind, Left: l, Right: r, LeftKeys: k, RightKeys: k, KeyTypes: []types.OID{types.Int4}}, want...)
			if kind <= query.Anti {
				check(t, &plan.NestLoop{Base: out, Kind: kind, Left: l, Right: r, On: on}, want...)
			}
		})
	}
	k := []query.Expr{querytest.Slot(0, types.Int4)}
	check(t, &plan.HashJoin{Base: both, Left: l, Right: r, LeftKeys: k, RightKeys: k, KeyTypes: []types.OID{types.Int4}, NullsEqual: []bool{true},
		On: querytest.Op(t, "<>", querytest.Slot(3, types.Text), querytest.Lit(t, types.Text, "x"))}, "2|b|2|y", "NULL|n|NULL|m", "2|bb|2|y")
}

func TestLateral(t *testing.T) {
	l := values(t, intText, "1|a", "3|b")
	r := &plan.Values{Base: cols(types.Int4), Rows: [][]query.Expr{{querytest.Op(t, "+", &query.Outer{T: query.Of(types.Int4), N: 0}, querytest.Lit(t, types.Int4, "1"))}}}
	check(t, &plan.NestLoop{Base: cols(types.Int4, types.Text, types.Int4), Left: l, Right: r,
		Binds: []plan.Bind{{Param: 0, Expr: querytest.Slot(0, types.Int4)}}}, "1|a|2", "3|b|4")
}

func TestRecursive(t *testing.T) {
	one := []types.OID{types.Int4}
	work := &plan.CTEScan{Base: cols(one...), ID: 0, Work: true}
	step := &plan.Project{Base: cols(one...), Exprs: []query.Expr{querytest.Op(t, "+", querytest.Slot(0, types.Int4), querytest.Lit(t, types.Int4, "1"))},
		Child: &plan.Filter{Base: cols(one...), Child: work, Cond: querytest.Op(t, "<", querytest.Slot(0, types.Int4), querytest.Lit(t, types.Int4, "4"))}}
	scan := &plan.CTEScan{Base: cols(one...), ID: 0}
	check(t, &plan.With{Base: cols(one...), CTEs: []plan.CTEPlan{{ID: 0, Plan: values(t, one, "1"), Step: step}}, Child: scan}, "1", "2", "3", "4")
	same := &plan.Project{Base: cols(one...), Exprs: []query.Expr{querytest.Slot(0, types.Int4)}, Child: work}
	check(t, &plan.With{Base: cols(one...), CTEs: []plan.CTEPlan{{ID: 0, Plan: values(t, one, "1", "1"), Step: same, Distinct: true}}, Child: scan}, "1")
}

func TestSubPlans(t *testing.T) {
	in := values(t, []types.OID{types.Int4}, "1", "2", "NULL")
	sub := func(rows ...string) *plan.Values { return values(t, []types.OID{types.Int4}, rows...) }
	test := querytest.Op(t, "=", querytest.Slot(0, types.Int4), &query.SubColumn{T: query.Of(types.Int4)})
	project := func(s *plan.SubPlan) plan.Node {
		return &plan.Project{Base: cols(s.OID), Child: in, Exprs: []query.Expr{s}}
	}
	hash := []query.Expr{querytest.Slot(0, types.Int4)}
	bool := query.Of(types.Bool)
	for _, left := range [][]query.Expr{nil, hash} {
		check(t, project(&plan.SubPlan{T: bool, Kind: query.SubAny, Plan: sub("1", "5"), Test: test, HashLeft: left}), "t", "f", "NULL")
		check(t, project(&plan.SubPlan{T: bool, Kind: query.SubAny, Plan: sub("1", "NULL"), Test: test, HashLeft: left}), "t", "NULL", "NULL")
		check(t, project(&plan.SubPlan{T: bool, Kind: query.SubAny, Plan: sub(), Test: test, HashLeft: left}), "f", "f", "f")
	}
	ne := querytest.Op(t, "<>", querytest.Slot(0, types.Int4), &query.SubColumn{T: query.Of(types.Int4)})
	check(t, project(&plan.SubPlan{T: bool, Kind: query.SubAll, Plan: sub("1", "NULL"), Test: ne}), "f", "NULL", "NULL")
	check(t, project(&plan.SubPlan{T: query.Of(types.Int4), Kind: query.SubScalar, Plan: sub("9")}), "9", "9", "9")
	check(t, project(&plan.SubPlan{T: query.Of(types.Int4), Kind: query.SubScalar, Plan: sub()}), "NULL", "NULL", "NULL")
	check(t, project(&plan.SubPlan{T: query.Of(types.Int4Array), Kind: query.SubArray, Plan: sub("9", "NULL")}), "{9,NULL}", "{9,NULL}", "{9,NULL}")
	if _, err := run(t, project(&plan.SubPlan{T: query.Of(types.Int4), Kind: query.SubScalar, Plan: sub("1", "2")})); !pgerr.Is(err, "21000") {
		t.Errorf("two rows: %v", err)
	}
	outer := &query.Outer{T: query.Of(types.Int4), N: 0}
	inner := &plan.Filter{Base: cols(types.Int4), Child: sub("1", "3"), Cond: querytest.Op(t, "=", querytest.Slot(0, types.Int4), outer)}
	check(t, project(&plan.SubPlan{T: bool, Kind: query.SubExists, Plan: inner, Binds: []plan.Bind{{Param: 0, Expr: querytest.Slot(0, types.Int4)}}}), "t", "f", "f")
	exists := func(rows ...string) *plan.SubPlan {
		return &plan.SubPlan{T: bool, Kind: query.SubExists, Plan: sub(rows...), HashLeft: hash}
	}
	check(t, project(exists("1", "5", "NULL", "1")), "t", "f", "f")
	check(t, project(exists()), "f", "f", "f")
	// What reads a WITH query that is computed for each row is not kept between rows.
	with := func(read *plan.SubPlan) plan.Node {
		own := &plan.Project{Base: cols(types.Int4), Child: &plan.Values{Rows: [][]query.Expr{{}}},
			Exprs: []query.Expr{&query.Outer{T: query.Of(types.Int4), N: 0}}}
		read.Plan = &plan.CTEScan{Base: cols(types.Int4), ID: 0}
		two := values(t, []types.OID{types.Int4}, "2")
		return &plan.NestLoop{Base: cols(types.Int4, types.Bool), Kind: query.Inner, Left: in,
			Binds: []plan.Bind{{Param: 0, Expr: querytest.Slot(0, types.Int4)}},
			Right: &plan.With{Base: cols(types.Bool), CTEs: []plan.CTEPlan{{ID: 0, Plan: own}},
				Child: &plan.Project{Base: cols(types.Bool), Child: two, Exprs: []query.Expr{read}}}}
	}
	check(t, with(exists()), "1|f", "2|t", "NULL|f")
	check(t, with(&plan.SubPlan{T: bool, Kind: query.SubAny, Test: test, HashLeft: hash}), "1|f", "2|t", "NULL|NULL")
	check(t, with(&plan.SubPlan{T: query.Of(types.Int4), Kind: query.SubScalar}), "1|1", "2|2", "NULL|NULL")
	// A subquery without binds that reads a parameter of the one around it is not kept between
	// rows.
	nested := &plan.Project{Base: cols(types.Bool), Child: &plan.Values{Rows: [][]query.Expr{{}}},
		Exprs: []query.Expr{&plan.SubPlan{T: bool, Kind: query.SubExists, Plan: inner}}}
	check(t, project(&plan.SubPlan{T: bool, Kind: query.SubScalar, Plan: nested, Binds: []plan.Bind{{Param: 0, Expr: querytest.Slot(0, types.Int4)}}}), "t", "f", "f")
}

func TestWindow(t *testing.T) {
	in := values(t, []types.OID{types.Text, types.Int4}, "a|1", "b|5", "a|2", "a|2", "b|6")
	order := []query.WindowOrder{{Expr: querytest.Slot(1, types.Int4)}}
	part := []query.Expr{querytest.Slot(0, types.Text)}
	call := func(name string, w int, args ...query.Expr) *query.WindowCall {
		a := fnOrAgg(t, name, args...)
		a.Window = w
		return a
	}
	const rows, between, startPrec, endFoll = 0x4, 0x10, 0x800, 0x4000
	n := &plan.Window{Base: cols(types.Text, types.Int4, types.Int8, types.Int8, types.Int8, types.Int8, types.Int4), Child: in,
		Specs: []query.Window{
			{Partition: part, Order: order},
			{Partition: part, Order: order, Frame: query.Frame{Options: rows | between | startPrec | endFoll,
				Start: querytest.Lit(t, types.Int8, "1"), End: querytest.Lit(t, types.Int8, "1")}},
		},
		Calls: []*query.WindowCall{call("row_number", 0), call("rank", 0), call("sum", 0, querytest.Slot(1, types.Int4)), call("sum", 1, querytest.Slot(1, types.Int4)),
			call("lag", 0, querytest.Slot(1, types.Int4))}}
	check(t, n, "a|1|1|1|1|3|NULL", "a|2|2|2|5|5|1", "a|2|3|2|5|4|2", "b|5|1|1|5|11|NULL", "b|6|2|2|11|11|5")
}

func fnOrAgg(t *testing.T, name string, args ...query.Expr) *query.WindowCall {
	t.Helper()
	if name == "sum" {
		a := agg(t, name, args...)
		return &query.WindowCall{T: a.T, Proc: a.Proc, Args: args}
	}
	p := procsByWindow(t, name, len(args))
	out := query.Of(p.RetType)
	if len(args) > 0 {
		out = query.Of(args[0].Type())
	}
	return &query.WindowCall{T: out, Proc: p, Args: args}
}

func TestMemoryLimit(t *testing.T) {
	in := values(t, intText, "1|a", "2|"+strings.Repeat("b", 1<<20))
	n := &plan.Sort{Base: in.Base, Child: in, Keys: []plan.SortKey{{Slot: 0, Type: types.Int4}}}
	p, err := exec.Compile(&plan.Plan{Root: n})
	if err != nil {
		t.Fatal(err)
	}
	mem := memory.New(1 << 20)
	if _, err := collect(p, &exec.Ctx{Execution: operator.Execution{Mem: mem}}); !pgerr.Is(err, pgerr.OutOfMemory) || pgerr.From(err).Hint == "" {
		t.Errorf("got %v", err)
	}
	if mem.Used() != 0 {
		t.Errorf("%d bytes are still counted", mem.Used())
	}
}
