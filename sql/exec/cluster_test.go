package exec_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/exec/operator"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/plan/wire"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

// database is real replicas in a temporary folder, one per fragment.
type database struct {
	t        testing.TB
	clock    *txn.Clock
	replicas map[shardmap.FragmentID]*storage.Replica
	bucketed *shardmap.Map
	limits   exec.Limits
	ids      int
}

func openDatabase(t testing.TB, fragments int) *database {
	t.Helper()
	d := &database{t: t, clock: txn.NewClock(nil, 0), replicas: map[shardmap.FragmentID]*storage.Replica{}, limits: exec.Limits{ExplicitBuckets: true}}
	dir, peers := t.TempDir(), txn.NewDetector()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var ids []shardmap.FragmentID
	for i := range fragments {
		id := shardmap.FragmentID(i + 1)
		r, err := storage.Open(storage.Config{Dir: filepath.Join(dir, fmt.Sprint(id)), Fragment: id, Clock: d.clock, Deadlock: peers,
			Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		})
		if err := r.Group.WaitReady(ctx); err != nil {
			t.Fatal(err)
		}
		d.replicas[id] = r
		ids = append(ids, id)
	}
	d.bucketed = shardmap.NewInitialMap(ids)
	return d
}

// transaction is a transaction of the test: each statement commits unless it is left open.
type transaction struct {
	d     *database
	id    txn.ID
	mu    sync.Mutex
	parts map[shardmap.FragmentID]*storage.Tx // guarded by mu while a statement runs
	t     txn.Timestamp                       // snapshot, 0 before the first read
}

type fragment struct{ tx *storage.Tx }

type stage struct{ *storage.Tx }

func (s stage) View(ctx context.Context, t txn.Timestamp) (exec.View, error) {
	v, err := s.Tx.View(ctx, t)
	return view{v}, err
}

func (s stage) Generation(shardmap.Bucket) (uint32, bool) { return 0, true }

type view struct{ *storage.View }

func (v view) Generation(shardmap.Bucket) (uint32, bool) { return 0, true }

// overTheWire sends the task's plan as to another node.
func overTheWire(task *exec.Task) (*exec.Task, error) {
	b, err := wire.EncodeWhole(task.Plan)
	if err != nil {
		return nil, err
	}
	n, err := wire.Decode(nil, b)
	if err != nil {
		return nil, err
	}
	return task.WithPlan(n), nil
}

// Here has tasks begin in the gateway's goroutine, but for those of one fragment.
func (f fragment) Here() bool { return f.tx.Fragment() != 2 }

func (f fragment) Run(ctx context.Context, task *exec.Task, emit exec.Emit) (exec.Result, error) {
	sent, err := overTheWire(task)
	if err != nil {
		return exec.Result{}, err
	}
	return exec.RunTask(ctx, stage{f.tx}, sent, emit)
}

func (d *database) begin() *transaction {
	return &transaction{d: d, id: txn.NewID(), parts: map[shardmap.FragmentID]*storage.Tx{}}
}

func (x *transaction) gateway() *exec.Gateway {
	return &exec.Gateway{
		Txn: x.id, Map: x.d.bucketed,
		Name: func(id shardmap.FragmentID) string { return fmt.Sprintf("test$%d", id-1) },
		Fragment: func(id shardmap.FragmentID) (exec.Fragment, error) {
			x.mu.Lock() // fragments are asked side by side
			defer x.mu.Unlock()
			if x.parts[id] == nil {
				x.parts[id] = x.d.replicas[id].Tx(x.id)
			}
			return fragment{x.parts[id]}, nil
		},
		Snapshot: func(ctx context.Context, shares []shardmap.Share) (txn.Timestamp, error) {
			if x.t != 0 {
				return x.t, nil
			}
			for _, s := range shares {
				t, err := x.d.replicas[s.Fragment].Snapshot(ctx)
				if err != nil {
					return 0, err
				}
				x.t = max(x.t, t)
			}
			return x.t, nil
		},
	}
}

// run executes a plan in the transaction.
func (x *transaction) run(n plan.Node, params ...types.Datum) ([]types.Row, int64, error) {
	p, err := exec.Compile(&plan.Plan{Root: n, Outers: 8})
	if err != nil {
		return nil, 0, err
	}
	c := x.ctx(params...)
	rows, err := collect(p, c)
	return rows, c.Affected, err
}

func (x *transaction) ctx(params ...types.Datum) *exec.Ctx {
	return &exec.Ctx{Execution: operator.Execution{Ctx: expr.Ctx{Context: context.Background(), Params: params}, Mem: memory.New(256 << 20)}, Gateway: x.gateway(), Limits: x.d.limits,
		Hooks: exec.Hooks{CompleteID: func(_ context.Context, t *catalog.Table, id string) (string, error) {
			x.d.ids++
			if id == "" {
				id = t.Name + "/"
			}
			return fmt.Sprintf("%s%d-A", id, x.d.ids), nil
		}}}
}

func (x *transaction) commit() error {
	var parts []txn.Participant
	for _, p := range x.parts {
		parts = append(parts, p)
	}
	c := txn.Coordinator{Clock: x.d.clock}
	_, err := c.Commit(context.Background(), x.id, x.t, parts)
	return err
}

func (x *transaction) rollback() {
	for _, p := range x.parts {
		p.Rollback()
	}
}

// exec runs a plan in a transaction of its own and commits.
func (d *database) exec(n plan.Node, params ...types.Datum) ([]types.Row, int64, error) {
	x := d.begin()
	rows, affected, err := x.run(n, params...)
	if err != nil {
		x.rollback()
		return nil, 0, err
	}
	return rows, affected, x.commit()
}

func (d *database) must(n plan.Node, params ...types.Datum) []types.Row {
	d.t.Helper()
	rows, _, err := d.exec(n, params...)
	if err != nil {
		d.t.Fatal(err)
	}
	return rows
}

// orders is a collection: id text, doc jsonb, n integer.
func orders(change ...func(*catalog.Table)) *catalog.Table {
	t := &catalog.Table{OID: 20000, StorageID: 20000, Name: "orders", Kind: catalog.KindTable, Anchors: true, Document: 2,
		Columns: []catalog.Column{
			{AttNum: 1, Name: "id", Type: types.Text, Typmod: -1, NotNull: true},
			{AttNum: 2, Name: "doc", Type: types.JSONB, Typmod: -1},
			{AttNum: 3, Name: "n", Type: types.Int4, Typmod: -1},
		},
		Constraints: []catalog.Constraint{{Name: "orders_pkey", Kind: catalog.PrimaryKey, Columns: []int16{1}}},
		Indexes:     []catalog.Index{{StorageID: 1, Columns: []int16{1}, Unique: true, Primary: true}},
	}
	for _, f := range change {
		f(t)
	}
	return t
}

var orderTypes = []types.OID{types.Text, types.JSONB, types.Int4}

// allOrders is all columns of all rows, in no order.
func allOrders(t *catalog.Table, filter query.Expr) *plan.Gather {
	s := &plan.Scan{Base: cols(orderTypes...), Table: t, Slots: []int{0, 1, 2}, Filter: filter}
	return &plan.Gather{Base: s.Base, Child: s, Route: plan.Route{Table: t}}
}

func sorted(n plan.Node, slot int) plan.Node {
	keys := []plan.SortKey{{Slot: slot, Type: n.Output()[slot].Type}}
	return &plan.Sort{Base: plan.Base{Cols: n.Output()}, Child: n, Keys: keys}
}

// insert inserts rows given as texts id|doc|n.
func insert(t testing.TB, table *catalog.Table, rows ...string) *plan.Modify {
	return &plan.Modify{Kind: plan.ModInsert, Table: table, Schema: "public", Child: values(t, orderTypes, rows...)}
}

func returning(m *plan.Modify, oids []types.OID, es ...query.Expr) *plan.Modify {
	m.Base, m.Returning = cols(oids...), es
	return m
}
