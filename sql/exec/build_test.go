package exec_test

import (
	"strings"
	"testing"

	"github.com/sherddb/sherd/jsonb"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/exec/operator"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/query/querytest"
	"github.com/sherddb/sherd/sql/types"
)

// This file builds expressions and plans by hand, as the planner would.

// agg calls an aggregate by name and argument types.
func agg(t testing.TB, name string, args ...query.Expr) *query.Agg {
	t.Helper()
	for _, p := range pgcatalog.ProcsByName(name) {
		if p.Kind != 'a' || len(p.ArgTypes) != len(args) {
			continue
		}
		same := true
		for i, a := range args {
			same = same && (p.ArgTypes[i] == a.Type() || p.ArgTypes[i] == types.Any || p.ArgTypes[i] == types.AnyElement)
		}
		if same {
			return &query.Agg{T: query.Of(p.RetType), Proc: p, Args: args, Star: len(args) == 0}
		}
	}
	t.Fatalf("no aggregate %s", name)
	return nil
}

func param(n int, oid types.OID) *query.Param { return &query.Param{T: query.Of(oid), N: n} }

func cols(oids ...types.OID) plan.Base {
	var b plan.Base
	for _, o := range oids {
		b.Cols = append(b.Cols, plan.Col{Type: o, Typmod: -1})
	}
	return b
}

// values makes constant rows of texts; the types are those of the columns.
func values(t testing.TB, oids []types.OID, rows ...string) *plan.Values {
	v := &plan.Values{Base: cols(oids...)}
	for _, r := range rows {
		var es []query.Expr
		for i, f := range strings.Split(r, "|") {
			es = append(es, querytest.Lit(t, oids[i], f))
		}
		v.Rows = append(v.Rows, es)
	}
	return v
}

// show prints rows, fields separated by |.
func show(n plan.Node, rows []types.Row) string {
	var b strings.Builder
	for _, r := range rows {
		for i, c := range n.Output() {
			if i > 0 {
				b.WriteByte('|')
			}
			if r[i].IsNull() {
				b.WriteString("NULL")
				continue
			}
			b.WriteString(types.Output(c.Type, r[i], nil))
		}
		b.WriteByte('\n')
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// run executes a plan without fragments.
func run(t testing.TB, n plan.Node, params ...types.Datum) ([]types.Row, error) {
	t.Helper()
	p, err := exec.Compile(&plan.Plan{Root: n, Outers: 8})
	if err != nil {
		return nil, err
	}
	return collect(p, &exec.Ctx{Execution: operator.Execution{Ctx: expr.Ctx{Params: params}, Mem: memory.New(64 << 20)}})
}

func collect(p *exec.Program, c *exec.Ctx) ([]types.Row, error) {
	var rows []types.Row
	err := p.Run(c, func(row types.Row) error {
		kept := make(types.Row, len(row))
		for i, d := range row {
			kept[i] = d.Clone()
		}
		rows = append(rows, kept)
		return nil
	})
	return rows, err
}

func doc(t testing.TB, text string) types.Datum {
	t.Helper()
	d, err := jsonb.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return types.NewJSONB(string(d))
}

func procsByWindow(t testing.TB, name string, args int) *pgcatalog.Proc {
	t.Helper()
	for _, p := range pgcatalog.ProcsByName(name) {
		if p.Kind == 'w' && len(p.ArgTypes) == args {
			return p
		}
	}
	t.Fatalf("no window function %s", name)
	return nil
}
