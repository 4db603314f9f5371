package exec_test

import (
	"testing"

	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/query/querytest"
	"github.com/sherddb/sherd/sql/types"
)

// BenchmarkPointUpdate changes one row by its id and rolls back: all of an UPDATE but the log.
func BenchmarkPointUpdate(b *testing.B) {
	d := openDatabase(b, 1)
	table := orders()
	fill(d, table, 1000)
	u := update(b, table, nil, 2, querytest.Op(b, "+", querytest.Slot(2, types.Int4), querytest.Lit(b, types.Int4, "1")))
	s := u.Child.(*plan.Modify).Child.(*plan.Scan)
	u.Route.Keys = [][]query.Expr{{querytest.Lit(b, types.Text, "orders/7-A")}}
	s.Access, s.Keys = plan.ScanKeys, u.Route.Keys
	p, err := exec.Compile(&plan.Plan{Root: u})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		x := d.begin()
		c := x.ctx()
		if _, err := collect(p, c); err != nil || c.Affected != 1 {
			b.Fatal(c.Affected, err)
		}
		x.rollback()
	}
}
