package plan_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/exec/operator"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/plan/batch"
	"github.com/sherddb/sherd/sql/plan/runtimefilter"
	"github.com/sherddb/sherd/sql/plan/wire"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/statistics"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

// policyJSON is the sharding policies of the test's tables. The tables themselves are
// testdata/schema.sql, for PostgreSQL too.
var policyJSON = map[string]string{
	"orders":   `{"Fields":["Customer"],"Range":1}`,
	"invoices": `{"Fields":["Customer"],"Range":1}`,
	"wide":     `{"Fields":["Customer"],"Range":1000}`,
	"fresh":    `{"Fields":["Customer"],"Range":1}`,
	"loose":    `{"Fields":["Customer"],"Range":1,"Mutable":true}`,
	"places":   `{"Fields":["Address.State","Address.City"],"Range":1}`,
	"fleet":    `{"Fields":["cust"],"Range":1}`,
	"readings": `{"Fields":["device"],"Range":1}`,

	"counts":  `{"Fields":["numeric(n)"]}`,
	"blocks":  `{"Fields":["numeric(n)"],"Range":1000}`,
	"daily":   `{"Fields":["day(at)"]}`,
	"hourly":  `{"Fields":["hour(at)"]}`,
	"monthly": `{"Fields":["month(at)"]}`,
	"ticking": `{"Fields":["ticks(at)"]}`,
	"visits":  `{"Fields":["Customer","day(at)"]}`,
	"own":     `{"Fields":["id()"]}`,
	"meters":  `{"Fields":["numeric(n)"]}`,
	"dialled": `{"Fields":["numeric(n)"]}`,
	"logged":  `{"Fields":["day(at)"]}`,
	"stamped": `{"Fields":["month(at)"]}`,
	"dated":   `{"Fields":["day(at)"]}`,
	"texted":  `{"Fields":["day(at)"]}`,
}

type columnDef struct {
	name string
	oid  types.OID
}

func column(name string, oid types.OID) columnDef { return columnDef{name, oid} }

// testTables are the tables of testdata/schema.sql.
func testTables(t testing.TB, oid func() catalog.OID) []*catalog.Table {
	id, doc := column("id", types.Text), column("doc", types.JSONB)
	var out []*catalog.Table
	add := func(name string, key int, columns ...columnDef) {
		out = append(out, tableOf(t, oid, name, key, columns))
	}
	for _, name := range []string{"orders", "invoices", "wide", "fresh", "loose", "places"} {
		add(name, 1, id, doc)
	}
	add("customers", 1, id, doc, column("n", types.Int4))
	add("lines", 2, column("order_id", types.Text), column("no", types.Int4), column("qty", types.Numeric))
	add("things", 1, column("id", types.Int4), column("name", types.VarChar), column("grp", types.Int4),
		column("big", types.Int8))
	add("readings", 2, column("device", types.Text), column("at", types.Int4), column("v", types.Float8))
	add("notes", 0, column("k", types.Int4), column("t", types.Text))
	add("people", 1, id, doc, column("mail", types.Text), column("n", types.Int4), column("grp", types.Int4))
	people := out[len(out)-1]
	for _, x := range []catalog.Index{
		{Name: "people_mail_key", Columns: []int16{3}, Unique: true, Global: true},
		{Name: "people_doc", Columns: []int16{0}, Expressions: []string{"(doc ->> 'Name'::text)"}},
		{
			Name: "people_grp_n", Columns: []int16{5, 4},
			Order: []catalog.KeyOrder{0, catalog.KeyDesc | catalog.KeyNullsFirst},
		},
		{Name: "people_n", Columns: []int16{4}, Predicate: "(grp = 7)"},
		{Name: "people_lower", Columns: []int16{0}, Expressions: []string{"lower(mail)"}, Global: true},
		{Name: "people_new", Columns: []int16{4}, State: catalog.IndexBuilding},
		{Name: "people_terms", Columns: []int16{2}, Method: catalog.GIN},
	} {
		x.OID, x.StorageID = oid(), oid()
		people.Indexes = append(people.Indexes, x)
	}
	add("family", 1, column("id", types.Int4), column("i2", types.Int2), column("i8", types.Int8),
		column("f8", types.Float8), column("d", types.Date),
		column("ts", types.Timestamp), column("tz", types.TimestampTZ), column("t", types.Text),
		column("vc", types.VarChar))
	family := out[len(out)-1]
	for i, name := range []string{"i2", "i8", "f8", "d", "ts", "tz", "t"} {
		family.Indexes = append(family.Indexes, catalog.Index{
			OID: oid(), StorageID: oid(), Name: "family_" + name, Columns: []int16{int16(i + 2)},
		})
	}
	family.Indexes = append(family.Indexes,
		catalog.Index{OID: oid(), StorageID: oid(), Name: "family_lower", Columns: []int16{0},
			Expressions: []string{"lower((vc)::text)"}},
		catalog.Index{OID: oid(), StorageID: oid(), Name: "family_big", Columns: []int16{9}, Predicate: "(i8 > 50)"})
	add("small", 1, column("id", types.Int2), column("v", types.Int4))
	add("days", 1, column("d", types.Date), column("v", types.Int4))
	add("moments", 1, column("ts", types.Timestamp), column("v", types.Int4))
	add("instants", 1, column("tz", types.TimestampTZ), column("v", types.Int4))
	for _, name := range []string{"counts", "blocks", "daily", "hourly", "monthly", "ticking", "visits", "own"} {
		add(name, 1, id, doc)
	}
	add("meters", 2, column("n", types.Numeric), column("k", types.Int4), column("v", types.Int4))
	add("dialled", 2, column("n", types.Int4), column("k", types.Int4), column("v", types.Int4))
	add("logged", 2, column("at", types.TimestampTZ), column("k", types.Int4), column("v", types.Int4))
	add("stamped", 2, column("at", types.Timestamp), column("k", types.Int4), column("v", types.Int4))
	add("dated", 2, column("at", types.Date), column("k", types.Int4), column("v", types.Int4))
	add("texted", 2, column("at", types.Text), column("k", types.Int4), column("v", types.Int4))
	add("fleet", 2, column("cust", types.Int4), column("seq", types.Int2), column("v", types.Int4))
	return out
}

func tableOf(t testing.TB, oid func() catalog.OID, name string, key int, columns []columnDef) *catalog.Table {
	tab := &catalog.Table{OID: oid(), StorageID: oid(), Name: name, Kind: catalog.KindTable, Version: 1,
		Database: catalog.PostgresDB,
		Schema:   catalog.PostgresPublic, Owner: catalog.BootstrapRole, NextAttNum: int16(len(columns) + 1)}
	var atts []int16
	for i, c := range columns {
		att := int16(i + 1)
		tab.Columns = append(tab.Columns, catalog.Column{
			AttNum: att, Name: c.name, Type: c.oid, Typmod: -1, NotNull: i < key,
		})
		if i < key {
			atts = append(atts, att)
		}
		if c.oid == types.JSONB {
			tab.Document, tab.Anchors = att, true
		}
	}
	if key > 0 {
		index := oid()
		tab.Constraints = []catalog.Constraint{{
			OID: oid(), Name: name + "_pkey", Kind: catalog.PrimaryKey, Columns: atts, Valid: true, Index: index,
		}}
		tab.Indexes = []catalog.Index{{
			OID: index, Name: name + "_pkey", StorageID: 1, Columns: atts, Unique: true, Primary: true,
		}}
	}
	if text, ok := policyJSON[name]; ok {
		p, err := shardmap.ParsePolicyJSON(text)
		if err != nil {
			t.Fatal(err)
		}
		tab.Policy, tab.PolicyValidated = p, name != "fresh"
	}
	return tab
}

// testContext is a catalog with the test's tables.
func testContext(t testing.TB) *analyze.Context {
	t.Helper()
	c, err := catalog.Open(catalog.Options{Dir: t.TempDir()})
	must(t, err)
	t.Cleanup(func() { _ = c.Close() })
	ctx := context.Background()
	must(t, c.WaitReady(ctx))
	_, err = c.Bootstrap(ctx, catalog.BootstrapOptions{
		ClusterID: "test", Fragments: 1, Node: catalog.Node{ID: 1, Name: "n", Block: "A"},
	})
	must(t, err)
	tables := testTables(t, func() catalog.OID {
		n, err := c.NewOID(ctx)
		must(t, err)
		return n
	})
	view, err := c.Update(ctx, func(_ *catalog.View, ch *catalog.Change) error {
		for _, tab := range tables {
			if err := ch.PutTable(tab); err != nil {
				return err
			}
		}
		return nil
	})
	must(t, err)
	return &analyze.Context{
		Catalog: view, Database: catalog.PostgresDB, SearchPath: []string{"public"}, Tables: analyze.NewTableCache(),
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// build analyses and plans a statement.
func build(ctx *analyze.Context, text string, change ...func(*plan.Env)) (*query.Query, *plan.Plan, error) {
	stmts, err := parse.Parse(text)
	if err != nil {
		return nil, nil, err
	}
	own := *ctx
	own.Source = text
	q, _, err := analyze.Statement(&own, stmts[0].Node, nil)
	if err != nil {
		return nil, nil, err
	}
	env := plan.Env{Fold: expr.EvalConst, OrderedIndexes: true, RuntimeFilters: true}
	for _, c := range change {
		c(&env)
	}
	p, err := plan.Build(q, env)
	if err == nil && !env.Off.Batch {
		batch.Plan(p)
	}
	if err == nil && !env.Off.RuntimeFilter {
		runtimefilter.Plan(p)
	}
	return q, p, err
}

// withRows has the planner know how many rows tables have.
func withRows(of func(table string) (rows float64, known bool)) func(*plan.Env) {
	return func(env *plan.Env) {
		env.Statistics = func(t *catalog.Table) *statistics.Table {
			rows, ok := of(t.Name)
			if !ok {
				return nil
			}
			return &statistics.Table{Rows: rows}
		}
	}
}

// database is real replicas in a temporary folder, one per fragment.
type database struct {
	clock    *txn.Clock
	replicas map[shardmap.FragmentID]*storage.Replica
	bucketed *shardmap.Map
	memory   memory.Limits // of a statement
	tasks    atomic.Int64  // that fragments have run
}

func initialMap(fragments int) *shardmap.Map {
	var ids []shardmap.FragmentID
	for i := range fragments {
		ids = append(ids, shardmap.FragmentID(i+1))
	}
	return shardmap.NewInitialMap(ids)
}

func openDatabase(t testing.TB, fragments int) *database {
	t.Helper()
	d := &database{
		clock: txn.NewClock(nil, 0), replicas: map[shardmap.FragmentID]*storage.Replica{},
		bucketed: initialMap(fragments), memory: memory.Limits{Query: 256 << 20, Files: -1},
	}
	dir, peers := t.TempDir(), txn.NewDetector()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for _, id := range d.bucketed.Fragments() {
		r, err := storage.Open(storage.Config{Dir: filepath.Join(dir, fmt.Sprint(id)), Fragment: id,
			Clock: d.clock, Deadlock: peers,
			Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
		must(t, err)
		t.Cleanup(func() { must(t, r.Close()) })
		must(t, r.Group.WaitReady(ctx))
		d.replicas[id] = r
	}
	return d
}

type fragment struct {
	tx    *storage.Tx
	tasks *atomic.Int64
}

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

// Here has tasks begin in the gateway's goroutine.
func (f fragment) Here() bool { return true }

func (f fragment) Run(ctx context.Context, task *exec.Task, emit exec.Emit) (exec.Result, error) {
	f.tasks.Add(1)
	sent, err := overTheWire(task)
	if err != nil {
		return exec.Result{}, err
	}
	return exec.RunTask(ctx, stage{f.tx}, sent, emit)
}

// execute runs one statement in a transaction of its own.
func (d *database) execute(pl *plan.Plan, params ...types.Datum) (rows []types.Row, affected int64, err error) {
	p, err := exec.Compile(pl)
	if err != nil {
		return nil, 0, err
	}
	id, parts := txn.NewID(), map[shardmap.FragmentID]*storage.Tx{}
	var snapshot txn.Timestamp
	var joining sync.Mutex // fragments are written to side by side
	c := &exec.Ctx{
		Execution: operator.Execution{Ctx: expr.Ctx{Context: context.Background(), Params: params},
			Mem: memory.Limited(d.memory)}, Limits: exec.Limits{ExplicitBuckets: true},
	}
	c.Gateway = &exec.Gateway{
		Txn: id, Map: d.bucketed,
		Name: func(id shardmap.FragmentID) string { return fmt.Sprintf("test$%d", id-1) },
		Fragment: func(f shardmap.FragmentID) (exec.Fragment, error) {
			joining.Lock()
			defer joining.Unlock()
			if parts[f] == nil {
				parts[f] = d.replicas[f].Tx(id)
			}
			return fragment{parts[f], &d.tasks}, nil
		},
		Snapshot: func(ctx context.Context, shares []shardmap.Share) (txn.Timestamp, error) {
			for _, s := range shares {
				t, err := d.replicas[s.Fragment].Snapshot(ctx)
				if err != nil {
					return 0, err
				}
				snapshot = max(snapshot, t)
			}
			return snapshot, nil
		},
	}
	err = p.Run(c, func(row types.Row) error {
		kept := make(types.Row, len(row))
		for i, v := range row {
			kept[i] = v.Clone()
		}
		rows = append(rows, kept)
		return nil
	})
	if err != nil {
		for _, p := range parts {
			p.Rollback()
		}
		return nil, 0, err
	}
	var all []txn.Participant
	for _, p := range parts {
		all = append(all, p)
	}
	_, err = (&txn.Coordinator{Clock: d.clock}).Commit(context.Background(), id, snapshot, all)
	return rows, c.Affected, err
}

func describe(err error) string {
	e := pgerr.From(err)
	return "ERROR " + e.Code + " " + e.Message
}
