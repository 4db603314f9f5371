package exec_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/exec/operator"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/query/querytest"
	"github.com/sherddb/sherd/sql/types"
)

// benchOrders fills a collection with n documents of about 250 bytes through the source of COPY.
func benchOrders(b testing.TB, d *database, table *catalog.Table, n int) {
	b.Helper()
	p, err := exec.Compile(&plan.Plan{Root: &plan.Modify{Kind: plan.ModInsert, Table: table, Child: &plan.Source{Base: cols(orderTypes...)}}})
	if err != nil {
		b.Fatal(err)
	}
	x := d.begin()
	c := x.ctx()
	pad := strings.Repeat("x", 130)
	c.Hooks.Source = func(emit exec.Emit) error {
		for i := range n {
			row := types.Row{
				types.NewText(fmt.Sprintf("orders/%d-A", i)),
				doc(b, fmt.Sprintf(`{"Customer":"customers/%d-A","State":"S%d","City":"C%d","Total":%d.25,"Note":"%s"}`, i%1000, i%50, i%7, i%900, pad)),
				types.NewInt(int64(i)),
			}
			if err := emit(row); err != nil {
				return err
			}
		}
		return nil
	}
	if err := p.Run(c, nil); err != nil {
		b.Fatal(err)
	}
	if err := x.commit(); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkPointRead(b *testing.B) {
	d := openDatabase(b, 3)
	table := orders()
	benchOrders(b, d, table, 1000)
	p, err := exec.Compile(&plan.Plan{Root: point(b, table, param(1, types.Text))})
	if err != nil {
		b.Fatal(err)
	}
	params := types.Row{types.NewText("orders/17-A")}
	x := d.begin()
	gw := x.gateway()
	b.ReportAllocs()
	for b.Loop() {
		x.t = 0
		c := exec.Ctx{Execution: operator.Execution{Ctx: expr.Ctx{Context: context.Background(), Params: params}}, Gateway: gw}
		n := 0
		if err := p.Run(&c, func(types.Row) error { n++; return nil }); err != nil || n != 1 {
			b.Fatal(n, err)
		}
	}
}

// BenchmarkPointReadInProcess is BenchmarkPointRead where the fragment's side uses the gateway's
// compiled plan.
func BenchmarkPointReadInProcess(b *testing.B) {
	d := openDatabase(b, 3)
	table := orders()
	benchOrders(b, d, table, 1000)
	p, err := exec.Compile(&plan.Plan{Root: point(b, table, param(1, types.Text))})
	if err != nil {
		b.Fatal(err)
	}
	params := types.Row{types.NewText("orders/17-A")}
	x := d.begin()
	gw := x.gateway()
	fragments := gw.Fragment
	gw.Fragment = func(id shardmap.FragmentID) (exec.Fragment, error) {
		f, err := fragments(id)
		if err != nil {
			return nil, err
		}
		return inProcess{f.(fragment)}, nil
	}
	b.ReportAllocs()
	for b.Loop() {
		x.t = 0
		c := exec.Ctx{Execution: operator.Execution{Ctx: expr.Ctx{Context: context.Background(), Params: params}}, Gateway: gw}
		n := 0
		if err := p.Run(&c, func(types.Row) error { n++; return nil }); err != nil || n != 1 {
			b.Fatal(n, err)
		}
	}
}

func BenchmarkGroupBy(b *testing.B) {
	d := openDatabase(b, 3)
	table := orders()
	benchOrders(b, d, table, 100_000)
	field := func(name string) query.Expr {
		return querytest.Op(b, "->>", querytest.Slot(0, types.JSONB), querytest.Lit(b, types.Text, name))
	}
	total := &query.CoerceIO{T: query.Of(types.Numeric), Arg: field("Total")}
	whole := &plan.Aggregate{Base: cols(types.Text, types.Text, types.Int8, types.Numeric), Keys: []query.Expr{field("State"), field("City")},
		Aggs: []*query.Agg{agg(b, "count"), agg(b, "sum", total)}}
	part := *whole
	part.Mode, part.Child = plan.AggPartial, &plan.Scan{Base: cols(types.JSONB), Table: table, Slots: []int{1}}
	final := *whole
	final.Mode, final.Child = plan.AggFinal, &plan.Gather{Base: whole.Base, Child: &part, Route: plan.Route{Table: table}}
	p, err := exec.Compile(&plan.Plan{Root: &final})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		x := d.begin()
		n := 0
		if err := p.Run(x.ctx(), func(types.Row) error { n++; return nil }); err != nil || n != 350 {
			b.Fatal(n, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100_000, "ns/row")
}

func BenchmarkInsert(b *testing.B) {
	d := openDatabase(b, 3)
	table := orders()
	b.ReportAllocs()
	for b.Loop() {
		table.StorageID++
		benchOrders(b, d, table, 20_000)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/20_000, "ns/row")
}
