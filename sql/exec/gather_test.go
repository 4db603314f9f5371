package exec_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/query/querytest"
	"github.com/sherddb/sherd/sql/types"
)

// TestGatherEndsEarly: a limit, an error in a fragment, an error of the receiver and a cancelled
// statement end all fragments.
func TestGatherEndsEarly(t *testing.T) {
	d := openDatabase(t, 3)
	table := orders()
	fill(d, table, 3000)
	for _, merge := range [][]plan.SortKey{nil, {{Slot: 0, Type: types.Text}}} {
		g := allOrders(table, nil)
		g.Merge = merge
		if merge != nil {
			g.Child.(*plan.Scan).Access = plan.ScanOrdered
		}
		if rows := d.must(&plan.Limit{Base: g.Base, Child: g, Count: querytest.Lit(t, types.Int8, "7")}); len(rows) != 7 {
			t.Errorf("limit gives %d rows", len(rows))
		}
		bad := querytest.Op(t, "/", querytest.Lit(t, types.Int4, "1"), querytest.Op(t, "-", querytest.Slot(2, types.Int4), querytest.Lit(t, types.Int4, "2900")))
		failing := *g
		failing.Child = &plan.Project{Base: cols(types.Int4), Child: g.Child, Exprs: []query.Expr{bad}}
		failing.Base, failing.Merge = cols(types.Int4), nil
		if _, _, err := d.exec(&failing); !pgerr.Is(err, pgerr.DivisionByZero) {
			t.Errorf("a fragment's error arrives as %v", err)
		}
		p, err := exec.Compile(&plan.Plan{Root: g})
		if err != nil {
			t.Fatal(err)
		}
		own := errors.New("the client is gone")
		if err := p.Run(d.begin().ctx(), func(types.Row) error { return own }); err != own {
			t.Errorf("the receiver's error comes back as %v", err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		c := d.begin().ctx()
		c.Context = ctx
		n := 0
		err = p.Run(c, func(types.Row) error {
			if n++; n == 3 {
				cancel()
			}
			return nil
		})
		if !pgerr.Is(err, pgerr.QueryCanceled) {
			t.Errorf("cancelled after %d rows: %v", n, err)
		}
		if rows := d.must(g); len(rows) != 3000 {
			t.Errorf("%d rows afterwards", len(rows))
		}
	}
}

// TestLateralGather reads one table by the other's rows: routes hang on outer values.
func TestLateralGather(t *testing.T) {
	d := openDatabase(t, 3)
	table := orders()
	fill(d, table, 20)
	left := &plan.Values{Base: cols(types.Text)}
	for i := range 5 {
		left.Rows = append(left.Rows, []query.Expr{querytest.Lit(t, types.Text, fmt.Sprintf("orders/%d-A", i*3))})
	}
	inner := point(t, table, &query.Outer{T: query.Of(types.Text), N: 2})
	n := &plan.NestLoop{Base: cols(append([]types.OID{types.Text}, orderTypes...)...), Left: left, Right: inner,
		Binds: []plan.Bind{{Param: 2, Expr: querytest.Slot(0, types.Text)}}}
	rows := d.must(n)
	if len(rows) != 5 || rows[4][3].Int() != 12 {
		t.Errorf("rows are\n%s", show(n, rows))
	}
}

// watchedFragment reports when tasks begin and end, and their rows.
type watchedFragment struct {
	exec.Fragment
	began, row, ended func()
}

func (watchedFragment) Here() bool { return true }

func (f watchedFragment) Run(ctx context.Context, task *exec.Task, emit exec.Emit) (exec.Result, error) {
	f.began()
	defer f.ended()
	return f.Fragment.Run(ctx, task, func(row types.Row) error {
		f.row()
		return emit(row)
	})
}

// TestTasksInTurn: short tasks of this node run one after the other, and the others begin while a
// long one runs. Each gets its rows to the gateway, merged or not.
func TestTasksInTurn(t *testing.T) {
	for _, merge := range [][]plan.SortKey{nil, {{Slot: 0, Type: types.Text}}} {
		for _, n := range []int{30, 3000} {
			d := openDatabase(t, 3)
			table := orders()
			fill(d, table, n)
			g := allOrders(table, nil)
			if g.Merge = merge; merge != nil {
				g.Child.(*plan.Scan).Access = plan.ScanOrdered
			}
			p, err := exec.Compile(&plan.Plan{Root: g})
			if err != nil {
				t.Fatal(err)
			}
			c := d.begin().ctx()
			var mu sync.Mutex
			began, most, running := make(chan bool, 9), 0, 0
			change := func(by int) {
				mu.Lock()
				defer mu.Unlock()
				running += by
				most = max(most, running)
			}
			whole := c.Gateway.Fragment
			c.Gateway.Fragment = func(id shardmap.FragmentID) (exec.Fragment, error) {
				f, err := whole(id)
				rows := 0
				return watchedFragment{
					Fragment: f,
					began:    func() { began <- true; change(1) },
					ended:    func() { change(-1) },
					row: func() {
						if rows++; rows != 200 {
							return
						}
						for range 2 { // its own beginning, and that of another one
							select {
							case <-began:
							case <-time.After(30 * time.Second):
								t.Error("a long task runs alone")
							}
						}
						began <- true
						began <- true
					},
				}, err
			}
			got := 0
			if err := p.Run(c, func(types.Row) error { got++; return nil }); err != nil || got != n {
				t.Errorf("%d rows of %d, %v", got, n, err)
			}
			if alone := most == 1; alone != (n == 30) {
				t.Errorf("%d tasks of %d rows ran at a time", most, n)
			}
		}
	}
}
