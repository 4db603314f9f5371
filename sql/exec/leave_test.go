package exec_test

import (
	"context"
	"testing"

	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query/querytest"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// chooser is a fragment that takes the timestamps that are left to it.
type chooser struct {
	d      *database
	id     shardmap.FragmentID
	inner  exec.Fragment
	chosen *[]txn.Timestamp // of all tasks: what they read at
	own    *int             // how many left it to the fragment
}

func (f chooser) Run(ctx context.Context, task *exec.Task, emit exec.Emit) (exec.Result, error) {
	if task.T == 0 {
		T, err := f.d.replicas[f.id].Snapshot(ctx)
		if err != nil {
			return exec.Result{}, err
		}
		*f.own++
		task.T = max(T, task.Floor)
		task.Start(task.T)
	}
	*f.chosen = append(*f.chosen, task.T)
	return f.inner.Run(ctx, task, emit)
}

// TestTimestampLeftToFragment: what reads one fragment, and nothing else, has the fragment take the
// timestamp, once for the statement.
func TestTimestampLeftToFragment(t *testing.T) {
	d := openDatabase(t, 3)
	table := orders()
	fill(d, table, 20)
	key := func() *plan.Gather { return point(t, table, querytest.Lit(t, types.Text, "orders/7-A")) }
	again := &plan.NestLoop{Base: cols(append([]types.OID{types.Text}, orderTypes...)...), Left: values(t, []types.OID{types.Text}, "a", "b", "c"), Right: key()}
	twice := &plan.NestLoop{Base: cols(append(append([]types.OID{}, orderTypes...), orderTypes...)...), Left: key(), Right: key()}
	for _, x := range []struct {
		name       string
		node       plan.Node
		asked, own int
		rows       int
	}{
		{"one row", key(), 0, 1, 1},
		{"one row, again and again", again, 0, 1, 3},
		{"the same row twice", twice, 1, 0, 1},
		{"all fragments", allOrders(table, nil), 1, 0, 20},
	} {
		var chosen, told []txn.Timestamp
		own, asked := 0, 0
		p, err := exec.Compile(&plan.Plan{Root: x.node, Outers: 8})
		if err != nil {
			t.Fatal(err)
		}
		c := d.begin().ctx()
		g := *c.Gateway
		floor := d.clock.Now()
		fragment, snapshot := g.Fragment, g.Snapshot
		g.Fragment = func(id shardmap.FragmentID) (exec.Fragment, error) {
			f, err := fragment(id)
			return chooser{d, id, f, &chosen, &own}, err
		}
		g.Snapshot = func(ctx context.Context, s []shardmap.Share) (txn.Timestamp, error) {
			asked++
			return snapshot(ctx, s)
		}
		g.Leave = func() (txn.Timestamp, bool) { return floor, true }
		g.Took = func(T txn.Timestamp) { told = append(told, T) }
		if c.Gateway = &g; x.name == "all fragments" {
			g.Fragment = fragment // they run in parallel
		}
		rows, err := collect(p, c)
		if err != nil || len(rows) != x.rows || asked != x.asked || own != x.own || len(told) != x.own {
			t.Errorf("%s: %d rows, asked %d times, left to the fragment %d times, told of %v, %v", x.name, len(rows), asked, own, told, err)
		}
		for _, T := range chosen {
			if own > 0 && (T != told[0] || T < floor) {
				t.Errorf("%s: read at %v, though told of %v", x.name, chosen, told)
			}
		}
	}
}
