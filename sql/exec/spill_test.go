package exec_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/exec/operator"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/query/querytest"
	"github.com/sherddb/sherd/sql/types"
)

// spillCase is a plan whose operator writes files if its share is small.
type spillCase struct {
	name    string
	node    plan.Node
	ordered bool // the order of the rows is part of the answer
}

// randomRows are rows (int4, text) with nulls, duplicates, and some texts that are larger than a
// small share.
func randomRows(rng *rand.Rand, n, keys int) *plan.Values {
	v := &plan.Values{Base: cols(intText...)}
	for range n {
		k, text := types.NewInt(int64(rng.IntN(keys))), types.Null
		if rng.IntN(20) == 0 {
			k = types.Null
		}
		switch rng.IntN(200) {
		case 0:
			text = types.NewText(strings.Repeat(fmt.Sprint(rng.IntN(keys)), 5_000))
		case 1, 2, 3, 4, 5, 6, 7, 8, 9:
		default:
			text = types.NewText(fmt.Sprintf("text %d", rng.IntN(keys)))
		}
		v.Rows = append(v.Rows, []query.Expr{
			&query.Const{T: query.Of(types.Int4), Value: k}, &query.Const{T: query.Of(types.Text), Value: text},
		})
	}
	return v
}

func sortCases(t *testing.T, rng *rand.Rand) []spillCase {
	in := randomRows(rng, 2000, 300)
	asc := []plan.SortKey{{Slot: 0, Type: types.Int4}}
	both := []plan.SortKey{{Slot: 1, Type: types.Text, Desc: true, NullsFirst: true}, {Slot: 0, Type: types.Int4}}
	count := func(n int) query.Expr { return querytest.Lit(t, types.Int8, fmt.Sprint(n)) }
	groups := func(limit, offset query.Expr) plan.Node { // of ten numbers, each sorted by text
		few := randomRows(rand.New(rand.NewPCG(8, 8)), 2000, 10)
		first := &plan.Sort{Base: few.Base, Child: few, Keys: asc}
		return &plan.Sort{
			Base: few.Base, Child: first, Keys: []plan.SortKey{asc[0], both[0]}, Presorted: 1, Limit: limit, Offset: offset,
		}
	}
	return []spillCase{
		{"incremental sort", groups(nil, nil), true},
		{"incremental sort of the first rows", groups(count(1500), count(10)), true},
		{"sort", &plan.Sort{Base: in.Base, Child: in, Keys: asc}, true},
		{"sort by two", &plan.Sort{Base: in.Base, Child: in, Keys: both}, true},
		{"top rows", &plan.Sort{Base: in.Base, Child: in, Keys: asc, Limit: count(1500), Offset: count(10)}, true},
		{"sort of a sort", &plan.Sort{Base: in.Base, Keys: asc, Child: &plan.Sort{Base: in.Base, Child: in, Keys: both}}, true},
	}
}

func groupCases(t *testing.T, rng *rand.Rand) []spillCase {
	in, few := randomRows(rng, 1500, 700), randomRows(rng, 400, 700)
	number, text := querytest.Slot(0, types.Int4), querytest.Slot(1, types.Text)
	aggs := []*query.Agg{agg(t, "count"), agg(t, "sum", number), agg(t, "min", text)}
	group := func(sets [][]int, keys ...query.Expr) *plan.Aggregate {
		oids := append(query.TypesOf(keys), types.Int8, types.Int8, types.Text)
		if sets != nil {
			oids = append(oids, types.Int4)
		}
		return &plan.Aggregate{Base: cols(oids...), Child: in, Keys: keys, Sets: sets, Aggs: aggs}
	}
	// two computes in two halves what one aggregate computes.
	two := func(whole *plan.Aggregate) *plan.Aggregate {
		part, final := *whole, *whole
		part.Mode = plan.AggPartial
		final.Mode, final.Child = plan.AggFinal, &part
		return &final
	}
	sets := [][]int{{0, 1}, {}, {1}, {0}}
	cases := []spillCase{
		{name: "group by a number", node: group(nil, number)},
		{name: "group by a text", node: group(nil, text)},
		{name: "group by two", node: group(nil, number, text)},
		{name: "grouping sets", node: group(sets, number, text)},
		{name: "group by two in halves", node: two(group(nil, number, text))},
		{name: "grouping sets in halves", node: two(group(sets, number, text))},
		{name: "distinct", node: &plan.Distinct{Base: in.Base, Child: in}},
		{name: "distinct numbers", node: &plan.Project{Base: cols(types.Int4), Exprs: []query.Expr{number},
			Child: &plan.Distinct{Base: in.Base, Child: in, Keys: []int{0}}}},
	}
	for kind, name := range map[query.SetOpKind]string{query.Union: "union", query.Intersect: "intersect", query.Except: "except"} {
		for _, all := range []bool{false, true} {
			if kind == query.Union && all {
				continue // it keeps nothing
			}
			n := &plan.SetOperation{Base: in.Base, Kind: kind, All: all, Left: in, Right: few}
			back := *n
			back.Left, back.Right = few, in
			cases = append(cases, spillCase{name: fmt.Sprint(name, all), node: n}, spillCase{name: fmt.Sprint(name, " back", all), node: &back})
		}
	}
	return cases
}

func joinCases(t *testing.T, rng *rand.Rand) (cases []spillCase) {
	l, r := randomRows(rng, 600, 400), randomRows(rng, 1000, 400)
	skewed := randomRows(rng, 800, 40)
	for i := range skewed.Rows {
		if i%3 > 0 {
			skewed.Rows[i][0] = querytest.Lit(t, types.Int4, "7")
		}
	}
	few := &plan.Limit{Base: l.Base, Child: l, Count: querytest.Lit(t, types.Int8, "90")}
	on := querytest.Op(t, "<>", querytest.Slot(1, types.Text), querytest.Slot(3, types.Text))
	key, oids := []query.Expr{querytest.Slot(0, types.Int4)}, []types.OID{types.Int4}
	for kind := query.Inner; kind <= query.RightAnti; kind++ {
		out := cols(types.Int4, types.Text, types.Int4, types.Text)
		if kind >= query.Semi {
			out = l.Base
		}
		join := plan.HashJoin{Base: out, Kind: kind, Left: l, Right: r, LeftKeys: key, RightKeys: key, KeyTypes: oids}
		nulls, cond, skew := join, join, join
		nulls.NullsEqual = []bool{true}
		cond.On = on
		skew.Left, skew.Right, skew.On = few, skewed, on
		cases = append(cases,
			spillCase{name: fmt.Sprint("join ", kind), node: &join}, spillCase{name: fmt.Sprint("join with nulls ", kind), node: &nulls},
			spillCase{name: fmt.Sprint("join on ", kind), node: &cond}, spillCase{name: fmt.Sprint("skewed join ", kind), node: &skew})
	}
	return cases
}

// keptCases are aggregates that sort or deduplicate their rows first.
func keptCases(t *testing.T, rng *rand.Rand) (cases []spillCase) {
	in := randomRows(rng, 1500, 60)
	number, text := querytest.Slot(0, types.Int4), querytest.Slot(1, types.Text)
	distinct, sorted, both := agg(t, "count", text), agg(t, "string_agg", text, querytest.Lit(t, types.Text, ",")), agg(t, "max", text)
	distinct.Distinct = true
	sorted.Args = append(sorted.Args, number)
	sorted.Order = []query.AggOrder{{Arg: 2, Desc: true}}
	both.Distinct, both.Order = true, []query.AggOrder{{Arg: 0}}
	aggs := []*query.Agg{distinct, sorted, agg(t, "count"), both}
	outs := []types.OID{types.Int8, types.Text, types.Int8, types.Text}
	half := querytest.Op(t, "%", number, querytest.Lit(t, types.Int4, "2"))
	for name, keys := range map[string][]query.Expr{"one group": nil, "few groups": {half}, "many groups": {number}, "more groups": {text}} {
		cases = append(cases, spillCase{name: "kept rows, " + name, node: &plan.Aggregate{
			Base: cols(append(query.TypesOf(keys), outs...)...), Child: in, Keys: keys, Aggs: aggs,
		}})
	}
	return cases
}

func listCases(t *testing.T, rng *rand.Rand) (cases []spillCase) {
	l, r := randomRows(rng, 150, 90), randomRows(rng, 500, 90)
	on := querytest.Op(t, "=", querytest.Slot(0, types.Int4), querytest.Slot(2, types.Int4))
	for _, kind := range []query.JoinKind{query.Inner, query.Left, query.Right, query.Full, query.Semi, query.Anti} {
		out := cols(types.Int4, types.Text, types.Int4, types.Text)
		if kind == query.Semi || kind == query.Anti {
			out = l.Base
		}
		cases = append(cases, spillCase{name: fmt.Sprint("nested loop ", kind), node: &plan.NestLoop{Base: out, Kind: kind, Left: l, Right: r, On: on}})
	}
	scan := func() plan.Node { return &plan.CTEScan{Base: r.Base, ID: 0} }
	cases = append(cases, spillCase{"expression read twice", &plan.With{Base: r.Base, CTEs: []plan.CTEPlan{{ID: 0, Plan: r}},
		Child: &plan.Append{Base: r.Base, Inputs: []plan.Node{scan(), scan()}}}, true})
	next := []query.Expr{
		querytest.Op(t, "+", querytest.Slot(0, types.Int4), querytest.Lit(t, types.Int4, "1")),
		querytest.Op(t, "||", querytest.Slot(1, types.Text), querytest.Lit(t, types.Text, "x")),
	}
	step := &plan.Project{Base: r.Base, Exprs: next, Child: &plan.Filter{Base: r.Base, Child: &plan.CTEScan{Base: r.Base, ID: 0, Work: true},
		Cond: querytest.Op(t, "<", querytest.Slot(0, types.Int4), querytest.Lit(t, types.Int4, "95"))}}
	cases = append(cases, spillCase{"recursion", &plan.With{Base: r.Base, CTEs: []plan.CTEPlan{{ID: 0, Plan: l, Step: step}}, Child: scan()}, true})

	any := &plan.SubPlan{T: query.Of(types.Bool), Kind: query.SubAny, Plan: r,
		Test: querytest.Op(t, "=", querytest.Slot(1, types.Text), &query.SubColumn{T: query.Of(types.Text), N: 1})}
	hashed := *any
	hashed.Plan = &plan.Project{Base: cols(types.Text, types.Int4), Child: r, Exprs: []query.Expr{querytest.Slot(1, types.Text), querytest.Slot(0, types.Int4)}}
	hashed.Test = querytest.Op(t, "=", querytest.Slot(1, types.Text), &query.SubColumn{T: query.Of(types.Text)})
	hashed.HashLeft = []query.Expr{querytest.Slot(1, types.Text)}
	for name, sub := range map[string]*plan.SubPlan{"any": any, "hashed any": &hashed} {
		cases = append(cases, spillCase{name, &plan.Project{Base: cols(types.Int4, types.Bool), Child: l,
			Exprs: []query.Expr{querytest.Slot(0, types.Int4), sub}}, true})
	}
	return cases
}

// lookupCases are look-up joins: they keep the order of the left rows.
func lookupCases(t *testing.T, rng *rand.Rand) (cases []spillCase) {
	l, r := randomRows(rng, 300, 90), randomRows(rng, 1000, 90)
	key := querytest.Slot(0, types.Int4)
	values := &query.Outer{T: query.Of(types.ArrayTypeOf(types.Int4))}
	some := &query.ArrayOp{
		T: query.Of(types.Bool), Proc: querytest.Op(t, "=", key, key).Proc, Op: "=", Left: key, Array: values,
	}
	for _, kind := range []query.JoinKind{query.Inner, query.Left, query.Semi, query.Anti} {
		join := &plan.HashJoin{
			Base: cols(types.Int4, types.Text, types.Int4, types.Text), Kind: kind, Left: l,
			Right:    &plan.Filter{Base: r.Base, Child: r, Cond: some},
			LeftKeys: []query.Expr{key}, RightKeys: []query.Expr{key}, KeyTypes: []types.OID{types.Int4},
		}
		if kind == query.Semi || kind == query.Anti {
			join.Base = l.Base
		}
		n := &plan.LookupJoin{Join: join, Values: plan.Bind{Expr: key}}
		left := &plan.Project{Base: l.Base, Child: n, Exprs: []query.Expr{key, querytest.Slot(1, types.Text)}}
		cases = append(cases, spillCase{name: fmt.Sprint("look-up join ", kind), node: n},
			spillCase{fmt.Sprint("order of look-up join ", kind), left, true})
	}
	return cases
}

func windowCases(t *testing.T, rng *rand.Rand) (cases []spillCase) {
	in := randomRows(rng, 1200, 200)
	number, text := querytest.Slot(0, types.Int4), querytest.Slot(1, types.Text)
	call := func(name string, w int, args ...query.Expr) *query.WindowCall {
		c := fnOrAgg(t, name, args...)
		c.Window = w
		return c
	}
	by := func(es ...query.Expr) (order []query.WindowOrder) {
		for _, e := range es {
			order = append(order, query.WindowOrder{Expr: e})
		}
		return order
	}
	two := querytest.Lit(t, types.Int8, "2")
	// Bits of the options: parsenodes.h of PostgreSQL.
	frames := map[string]query.Frame{
		"of groups":               {Options: 0x8 | 0x10 | 0x800 | 0x4000, Start: two, End: two},
		"of rows":                 {Options: 0x4 | 0x10 | 0x800 | 0x4000, Start: two, End: two},
		"of range":                {Options: 0x2 | 0x10 | 0x800 | 0x4000, Start: two, End: two},
		"to the end without ties": {Options: 0x2 | 0x10 | 0x200 | 0x100 | 0x20000},
	}
	for name, f := range frames {
		cases = append(cases, spillCase{"window of all rows, frame " + name, &plan.Window{
			Base: cols(types.Int4, types.Text, types.Int8, types.Text, types.Text), Child: in,
			Specs: []query.Window{{Order: by(number), Frame: f}},
			Calls: []*query.WindowCall{call("sum", 0, number), call("first_value", 0, text), call("last_value", 0, text)},
		}, true})
	}
	return append(cases, spillCase{"windows", &plan.Window{
		Base:  cols(types.Int4, types.Text, types.Int8, types.Int8, types.Text, types.Text, types.Int8),
		Child: in,
		Specs: []query.Window{
			{Partition: []query.Expr{number}, Order: by(text)}, {Order: by(number, text)}, {Partition: []query.Expr{text}},
		},
		Calls: []*query.WindowCall{
			call("rank", 0), call("sum", 1, number), call("lag", 0, text), call("first_value", 1, text), call("row_number", 2),
		},
	}, true})
}

func spillCases(t *testing.T, rng *rand.Rand) []spillCase {
	return slices.Concat(sortCases(t, rng), groupCases(t, rng), joinCases(t, rng), keptCases(t, rng), listCases(t, rng),
		lookupCases(t, rng), windowCases(t, rng))
}

// budgets are shares of operations: some hold many rows, some not one of the large ones.
var budgets = []int64{16 << 10, 100 << 10}

func within(mem *memory.Account) *exec.Ctx {
	return &exec.Ctx{Execution: operator.Execution{Ctx: expr.Ctx{Context: context.Background()}, Mem: mem}}
}

// account returns an account with shares of a size, whose files are in an empty directory.
func account(t *testing.T, share int64) (mem *memory.Account, done func()) {
	dir := t.TempDir()
	mem = memory.Limited(memory.Limits{Query: 64 << 20, Work: share, Hash: share, Files: -1}).WithFiles(dir)
	return mem, func() {
		t.Helper()
		if n := mem.Used(); n != 0 {
			t.Errorf("%d bytes are still counted", n)
		}
		if n := mem.Files(); n != 0 {
			t.Errorf("%d bytes of files are still counted", n)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Error(left, err)
		}
		if n := openFiles(t, dir); n > 0 {
			t.Errorf("%d files are still open", n)
		}
	}
}

// openFiles counts the open files in a directory, which have no name any more.
func openFiles(t *testing.T, dir string) (n int) {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if name, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && strings.HasPrefix(name, dir) {
			n++
		}
	}
	return n
}

func compile(t *testing.T, n plan.Node) *exec.Program {
	t.Helper()
	p, err := exec.Compile(&plan.Plan{Root: n, Outers: 8})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func shown(c spillCase, rows []types.Row) []string {
	lines := make([]string, len(rows))
	for i, r := range rows {
		lines[i] = show(c.node, []types.Row{r})
	}
	if !c.ordered {
		slices.Sort(lines)
	}
	return lines
}

// TestSpill runs operators with small shares, and without a limit: the rows are the same.
func TestSpill(t *testing.T) {
	for seed := range uint64(2) {
		for _, c := range spillCases(t, rand.New(rand.NewPCG(seed, 1))) {
			p := compile(t, c.node)
			rows, err := collect(p, within(memory.New(0)))
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			want := shown(c, rows)
			for _, share := range budgets {
				mem, done := account(t, share)
				rows, err := collect(p, within(mem))
				if err != nil {
					t.Fatalf("%s, seed %d, %d bytes: %v", c.name, seed, share, err)
				}
				if got := shown(c, rows); !slices.Equal(got, want) {
					t.Errorf("%s, seed %d, %d bytes: %s", c.name, seed, share, difference(got, want))
				}
				done()
			}
		}
	}
}

func difference(got, want []string) string {
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			return fmt.Sprintf("row %d of %d is %.60q, not %.60q of %d", i, len(got), got[i], want[i], len(want))
		}
	}
	return fmt.Sprintf("%d rows, not %d", len(got), len(want))
}

// TestSpillEnds ends operators that have written files early: no file remains, and nothing stays
// counted.
func TestSpillEnds(t *testing.T) {
	for _, c := range spillCases(t, rand.New(rand.NewPCG(7, 7))) {
		p := compile(t, c.node)
		limit := compile(t, &plan.Limit{
			Base: plan.Base{Cols: c.node.Output()}, Child: c.node, Count: querytest.Lit(t, types.Int8, "2"),
		})
		mem, done := account(t, 16<<10)
		if rows, err := collect(limit, within(mem)); err != nil || len(rows) > 2 {
			t.Errorf("%s, LIMIT 2: %d rows, %v", c.name, len(rows), err)
		}
		done()

		failure := errors.New("no more")
		for _, at := range []int{1, 100} {
			n := 0
			err := p.Run(within(mem), func(types.Row) error {
				if n++; n == at {
					return failure
				}
				return nil
			})
			if err != failure && !(err == nil && n < at) {
				t.Errorf("%s, error at row %d: %v", c.name, at, err)
			}
			done()
		}

		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		x := within(mem)
		x.Context = ctx
		if err := p.Run(x, func(types.Row) error { return nil }); !pgerr.Is(err, pgerr.QueryCanceled) {
			t.Errorf("%s, cancelled: %v", c.name, err)
		}
		done()

		few := memory.Limited(memory.Limits{Query: 64 << 20, Work: 16 << 10, Hash: 16 << 10, Files: 10 << 10})
		err := p.Run(within(few), func(types.Row) error { return nil })
		if !pgerr.Is(err, pgerr.ConfigurationLimitExceeded) || few.Used() != 0 || few.Files() != 0 {
			t.Errorf("%s, temp_file_limit: %v, %d bytes are still counted", c.name, err, few.Used())
		}
	}
}
