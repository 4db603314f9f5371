package sysview

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/privilege"
	"github.com/sherddb/sherd/sql/settings"
	"github.com/sherddb/sherd/sql/statistics"
	"github.com/sherddb/sherd/sql/tablestats"
	"github.com/sherddb/sherd/sql/types"
)

var update = flag.Bool("update", false, "write the golden files anew")

// testEnv is a database with the collection orders and the table app.lines.
func testEnv(t testing.TB) *Env {
	t.Helper()
	c, err := catalog.Open(catalog.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	ctx := context.Background()
	if err := c.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	node := catalog.Node{ID: 1, Name: "n1", Block: "A", SQLAddr: "127.0.0.1:5433",
		Labels: map[string]string{"zone": "a"}}
	if _, err := c.Bootstrap(ctx, catalog.BootstrapOptions{ClusterID: "test", Fragments: 3, Node: node}); err != nil {
		t.Fatal(err)
	}
	oid := func() catalog.OID {
		n, err := c.NewOID(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	app := &catalog.Schema{OID: oid(), Database: catalog.PostgresDB, Name: "app", Owner: catalog.BootstrapRole,
		Comment: "the application's"}
	orders, lines := ordersTable(t, oid), linesTable(app.OID, oid)
	for range 6 {
		if _, err := c.NewJobID(ctx); err != nil {
			t.Fatal(err)
		}
	}
	view, err := c.Update(ctx, func(_ *catalog.View, ch *catalog.Change) error {
		if err := ch.PutSchema(app); err != nil {
			return err
		}
		if err := ch.PutTable(orders); err != nil {
			return err
		}
		for _, s := range sequenceTables(lines, oid) {
			if err := ch.PutTable(s); err != nil {
				return err
			}
		}
		if err := ch.PutTable(lines); err != nil {
			return err
		}
		return putJobs(ch, orders)
	})
	if err != nil {
		t.Fatal(err)
	}
	return envOf(view, orders)
}

// putJobs adds jobs in several states.
func putJobs(ch *catalog.Change, orders *catalog.Table) error {
	at := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC).UnixMicro()
	running := catalog.NewBuildIndexJob(1, orders, &orders.Indexes[0], at)
	running.Done, running.Total = 100, 300
	split := &catalog.Move{Interval: shardmap.Interval{Lo: 1 << 20, Hi: 1<<20 + 9}, Target: 1,
		Resegment: &catalog.Resegment{
			Table: orders.OID, Old: []shardmap.Bucket{1 << 20, 1<<20 + 8}, New: shardmap.Segments{{Bucket: 1<<20 + 9}},
			What: "orders: merged at 7",
		}}
	plan := &catalog.Plan{Epoch: 1, Steps: []catalog.PlanStep{{Kind: catalog.LeaderStep, Fragment: 1, Node: 1},
		{Kind: catalog.LeaderStep, Fragment: 2, Node: 1, Done: true}}}
	failed := &catalog.Job{
		ID: 2, Kind: catalog.BuildIndexJob, State: catalog.JobFailed, Database: orders.Database, Table: orders.OID,
		Done: 7, Error: "it broke", StartedMicros: at, UpdatedMicros: at,
	}
	for _, j := range []*catalog.Job{
		running, failed, catalog.NewDropStorageJob(3, orders.Database, 99, at),
		catalog.NewDropStorageJob(4, 77, 99, at),
		catalog.NewMoveJob(5, orders.Database, split, at), catalog.NewPlanJob(6, orders.Database, plan, at),
	} {
		if err := ch.PutJob(j); err != nil {
			return err
		}
	}
	return nil
}

func envOf(view *catalog.View, orders *catalog.Table) *Env {
	start := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	e := &Env{
		Names: Names{View: view, Database: view.Database(catalog.PostgresDB), Path: []string{"postgres", "public"}},
		Role:  privilege.Of(view, catalog.PostgresDB, catalog.BootstrapRole), Types: &types.Env{Now: types.TimestampOf(start)}, Started: start,
		NodeName: "n1", Contents: Contents{
			Analyzed: analyzedOrders, Totals: func() ([]tablestats.Total, error) {
				return []tablestats.Total{{Fragment: 1, Storage: orders.StorageID, Size: tablestats.Size{Rows: 18}}}, nil
			},
		},
		Setting:       func(d *settings.Definition) (string, string) { return d.Default, "default" },
		SequenceValue: func(s *catalog.Table) (int64, bool, error) { return s.Sequence.Value, s.Sequence.Called, nil },
		Sessions: func() []Session {
			return []Session{{
				PID: 7, Database: catalog.PostgresDB, Role: catalog.BootstrapRole, Application: "psql",
				ClientHost: "127.0.0.1", ClientPort: 4000,
				Started: start, QueryStarted: start, State: "active", Query: "SELECT 1",
			}}
		},
		Replicas: func() (out []Replica) {
			for i := range view.Database(catalog.PostgresDB).Fragments {
				f := view.Database(catalog.PostgresDB).Fragments[i].ID
				if i == 1 {
					continue // this fragment has no leader
				}
				out = append(out, Replica{Fragment: f, Node: 1, Leads: true, Voter: true, Term: 3},
					Replica{Fragment: f, Node: 2, Lag: 70})
			}
			return out
		},
		CatalogRoles: func() (uint32, []uint32) { return 1, []uint32{1} },
		Health: func() []Health {
			return []Health{{Node: 2, Alive: true, LastSeen: start, Ahead: -time.Millisecond,
				RTT: 300 * time.Microsecond}}
		},
		Prepared: func() []Prepared {
			return []Prepared{{Name: "p", Text: "PREPARE p AS SELECT $1", At: start, Params: []types.OID{types.Int4},
				FromSQL: true}}
		},
		Cursors: func() []Cursor { return []Cursor{{Name: "c", Text: "SELECT 1", At: start}} },
		PreparedTransactions: func() ([]PreparedTransaction, error) {
			return []PreparedTransaction{{XID: 77, GID: "order 5", At: start, Role: 10, Database: 5}}, nil
		},
	}
	first := e.Database.Fragments[0].ID
	e.Locks = func() ([]Lock, error) {
		mine := Lock{Database: catalog.PostgresDB, Txn: "0a", TxnXID: 77, PID: 7, Granted: true}
		add := func(change func(l *Lock)) Lock {
			l := mine
			change(&l)
			return l
		}
		return []Lock{
			add(func(l *Lock) { l.Type, l.Mode = "virtualxid", "ExclusiveLock" }),
			add(func(l *Lock) { l.Type, l.Mode, l.XID = "transactionid", "ExclusiveLock", 77 }),
			add(func(l *Lock) { l.Type, l.Mode, l.Relation = "relation", "RowExclusiveLock", orders.OID }),
			add(func(l *Lock) { l.Type, l.Mode, l.Class, l.Object, l.Sub = "advisory", "ShareLock", 1, 2, 2 }),
			add(func(l *Lock) {
				l.Type, l.Mode, l.Relation, l.Key, l.Fragment, l.PID = "row", "UPDATE", orders.OID, "orders/1-A", first,
					0
			}),
			add(func(l *Lock) {
				l.Type, l.Mode, l.Relation, l.Key, l.Fragment = "row", "KEY SHARE", orders.OID, "orders/1-A", first
				l.Granted, l.Since, l.Blockers = false, start, []uint32{0}
			}),
			add(func(l *Lock) {
				l.Type, l.Mode, l.XID, l.Granted, l.Since = "transactionid", "ShareLock", 78, false, start
			}),
		}, nil
	}
	e.Transactions = func() ([]Transaction, error) {
		return []Transaction{{
			Database: catalog.PostgresDB, Txn: "0a", XID: 77, PID: 7, State: "active", Isolation: "read committed",
			Began: start, Fragments: []uint32{first}, Writes: 2, Bytes: 300, Locks: 3,
		}, {
			Database: catalog.PostgresDB, Txn: "0b", XID: 78, State: "prepared", Began: start,
			Fragments: []uint32{first}, Writes: 1, Bytes: 90,
			Locks: 1, Prepared: true, CommitAt: "2026-11-21 08:00:00.000Z+1", Coordinator: first, GID: "g",
		}}, nil
	}
	e.Counters = func() (out []Counters) {
		for d := range e.View.Databases() { // on two nodes
			out = append(out, Counters{d.OID, 2, 2, 0}, Counters{d.OID, 3, 0, 1})
		}
		return out
	}
	e.Heat = func() []Heat {
		return []Heat{{Fragment: first, Bucket: -1, Reads: 10, Writes: 10},
			{Fragment: first, Bucket: 7, Reads: 5, Writes: 2.5}}
	}
	e.Stats = func(d *catalog.Database, storageID uint32) ([]Stat, map[uint32]bool, error) {
		if storageID != 0 && storageID != orders.StorageID {
			return nil, nil, nil
		}
		return []Stat{
			{Fragment: first, Table: orders.StorageID, From: 0, To: 256, Documents: 10, Bytes: 5000},
			{Fragment: first, Table: orders.StorageID, From: 256, To: 512, Documents: 1, Bytes: 100},
		}, nil, nil
	}
	e.Types.RegOut = func(dst []byte, reg types.OID, value uint32) []byte {
		if name, ok := e.RegName(reg, value); ok {
			return append(dst, name...)
		}
		return fmt.Appendf(dst, "%d", value)
	}
	return e
}

func ordersTable(t testing.TB, oid func() catalog.OID) *catalog.Table {
	policy, err := shardmap.ParseOptions(shardmap.Options{By: "Customer", Range: "1000"})
	if err != nil {
		t.Fatal(err)
	}
	index := oid()
	return &catalog.Table{
		OID: oid(), Database: catalog.PostgresDB, Schema: catalog.PostgresPublic, Name: "orders",
		Owner: catalog.BootstrapRole,
		Kind:  catalog.KindTable, Version: 1, StorageID: oid(), Anchors: true, Document: 2, Policy: policy,
		Comment: "what was ordered", Options: map[string]string{"shard_by": "Customer", "shard_range": "1000"},
		ColumnComments: map[int16]string{2: "the document"},
		Columns: []catalog.Column{
			{AttNum: 1, Name: "id", Type: types.Text, Typmod: -1, NotNull: true},
			{AttNum: 2, Name: "doc", Type: types.JSONB, Typmod: -1},
			{AttNum: 3, Name: "old", Type: types.Int4, Typmod: -1, Dropped: true},
			{AttNum: 4, Name: "At", Type: types.TimestampTZ, Typmod: 3, Default: "now()"},
		},
		NextAttNum: 5,
		Constraints: []catalog.Constraint{
			{OID: oid(), Name: "orders_pkey", Kind: catalog.PrimaryKey, Columns: []int16{1}, Valid: true, Index: index},
		},
		Indexes: []catalog.Index{{OID: index, Name: "orders_pkey", StorageID: 1, Columns: []int16{1}, Unique: true,
			Primary: true}},
	}
}

// analyzedOrders returns what ANALYZE has found in the table orders.
func analyzedOrders(t *catalog.Table) *statistics.Table {
	if t.Name != "orders" {
		return nil
	}
	at := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	texts := func(list ...string) (out []types.Datum) {
		for _, s := range list {
			out = append(out, types.NewText(s))
		}
		return out
	}
	return &statistics.Table{
		Rows: 11, Analyzed: at, AnalyzedRows: 11, Manual: statistics.Runs{Count: 2, Last: at.Add(-time.Hour)},
		Automatic: statistics.Runs{Count: 1, Last: at},
		Columns: []statistics.Column{
			{Key: statistics.Key{Position: 1}, Type: types.Text, Width: 8, Distinct: -1, Ordered: true,
				Correlation: -0.25, Bounds: texts("orders/1-A", "orders/5-A", "orders/9-A")},
			{Key: statistics.Key{Position: 2}, Type: types.JSONB, NullFrac: 0.5, Width: 400},
			{Key: statistics.Key{Position: 4}, Type: types.TimestampTZ, Distinct: 2, Common: []statistics.Value{
				{Value: types.NewTimestamp(types.TimestampOf(at)), Frac: 0.75},
			}},
		},
	}
}

// sequenceTables returns the sequence of the table's identity column, and a sequence that no table
// owns.
func sequenceTables(lines *catalog.Table, oid func() catalog.OID) []*catalog.Table {
	own := catalog.NewSequenceTable(oid(), oid(), catalog.Sequence{
		Type: types.Int4, Start: 1, Increment: 1, Min: 1, Max: 2147483647, Cache: 1, Table: lines.OID, Column: 2,
		Internal: true, Value: 1,
	})
	free := catalog.NewSequenceTable(oid(), oid(), catalog.Sequence{
		Type: types.Int8, Start: 10, Increment: -5, Min: -100, Max: 10, Cache: 20, Cycle: true, Value: 5, Called: true,
	})
	own.Name, free.Name, free.Comment = "lines_no_seq", "numbers", "counts down"
	lines.Columns[1].Sequence = own.OID
	for _, s := range []*catalog.Table{own, free} {
		s.Database, s.Schema, s.Owner = lines.Database, lines.Schema, lines.Owner
	}
	return []*catalog.Table{own, free}
}

func linesTable(schema catalog.OID, oid func() catalog.OID) *catalog.Table {
	index := oid()
	return &catalog.Table{
		OID: oid(), Database: catalog.PostgresDB, Schema: schema, Name: "lines", Owner: catalog.BootstrapRole,
		Kind: catalog.KindTable, Version: 1, StorageID: oid(),
		Columns: []catalog.Column{
			{AttNum: 1, Name: "order", Type: types.Int8, Typmod: -1, NotNull: true},
			{AttNum: 2, Name: "no", Type: types.Int4, Typmod: -1, NotNull: true, Identity: 'a'},
			{AttNum: 3, Name: "price", Type: types.Numeric, Typmod: types.NumericTypmod(10, 2), Default: "1.5"},
			{AttNum: 4, Name: "tags", Type: types.TextArray, Typmod: -1},
			{AttNum: 5, Name: "code", Type: types.VarChar, Typmod: types.VarcharTypmod(20)},
			{AttNum: 6, Name: "size", Type: types.Int4, Typmod: -1, Generated: "length((code)::text)"},
		},
		NextAttNum: 7,
		Constraints: []catalog.Constraint{
			{OID: oid(), Name: "lines_pkey", Kind: catalog.PrimaryKey, Columns: []int16{1, 2}, Valid: true,
				Index: index},
			{OID: oid(), Name: "lines_price_check", Kind: catalog.Check, Columns: []int16{3},
				Check: "(price > (0)::numeric)", Valid: false},
		},
		Indexes: []catalog.Index{{OID: index, Name: "lines_pkey", StorageID: 1, Columns: []int16{1, 2}, Unique: true,
			Primary: true}},
	}
}

// golden compares text with a file of testdata.
func golden(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if text != string(want) {
		t.Errorf("%s differs; run go test -update and look at what changed\ngot:\n%s", file, text)
	}
}

// printed returns a row as name=value, without nulls.
func printed(rel *pgcatalog.Relation, row Row, env *types.Env) string {
	var parts []string
	for i, d := range row {
		if !d.IsNull() {
			parts = append(parts, rel.Columns[i].Name+"="+types.Output(rel.Columns[i].Type, d, env))
		}
	}
	return strings.Join(parts, " ")
}

// TestRows compares the rows of user objects: those that a database without tables does not have.
func TestRows(t *testing.T) {
	env := testEnv(t)
	bare := *env
	bare.Names.Database = &catalog.Database{OID: 1, Name: "postgres", Owner: catalog.BootstrapRole,
		Map: env.Database.Map, Fragments: env.Database.Fragments}
	var out strings.Builder
	for _, rel := range pgcatalog.Relations() {
		name := rel.Schema + "." + rel.Name
		if rel.Kind == 'i' || !Supported(rel.Schema, rel.Name) || name == "pg_catalog.pg_settings" ||
			name == "pg_catalog.pg_timezone_names" {
			continue
		}
		system := map[string]int{}
		if err := Rows(name, &bare, func(row Row) error {
			system[printed(rel, row, env.Types)]++
			return nil
		}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var rows []string
		err := Rows(name, env, func(row Row) error {
			if len(row) != len(rel.Columns) {
				t.Fatalf("%s: row of %d columns, not %d", name, len(row), len(rel.Columns))
			}
			checkKinds(t, rel, row)
			text := printed(rel, row, env.Types)
			if system[text]--; system[text] < 0 || rel.Schema == "sherd" {
				rows = append(rows, text)
			}
			return nil
		})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(rows) > 0 {
			fmt.Fprintf(&out, "%s\n  %s\n", name, strings.Join(rows, "\n  "))
		}
	}
	golden(t, "rows.golden", out.String())
}

// checkKinds reports values that do not have their column's kind, and nulls in columns without
// nulls.
func checkKinds(t *testing.T, rel *pgcatalog.Relation, row Row) {
	t.Helper()
	for i, c := range rel.Columns {
		typ := c.Type
		if p := pgcatalog.TypeByOID(typ); p != nil && p.Kind == 'd' {
			typ = p.BaseType
		}
		want := types.KindOf(typ)
		switch {
		case row[i].IsNull():
			if c.NotNull {
				t.Errorf("%s.%s: column %s is null", rel.Schema, rel.Name, c.Name)
			}
		case want != types.KindNull && row[i].K != want:
			t.Errorf("%s.%s: column %s has kind %d, not %d", rel.Schema, rel.Name, c.Name, row[i].K, want)
		}
	}
}

// TestUnsupported checks the list of relations that return 0A000, so that no relation is empty only
// because it was forgotten.
func TestUnsupported(t *testing.T) {
	env := testEnv(t)
	var names []string
	for _, rel := range pgcatalog.Relations() {
		if rel.Kind == 'i' || Supported(rel.Schema, rel.Name) {
			continue
		}
		name := rel.Schema + "." + rel.Name
		if err := Rows(name, env, func(Row) error { return nil }); !pgerr.Is(err, pgerr.FeatureNotSupported) {
			t.Errorf("%s: %v", name, err)
		}
		names = append(names, name)
	}
	sort.Strings(names)
	golden(t, "unsupported.golden", strings.Join(names, "\n")+"\n")
}

func TestNames(t *testing.T) {
	n := &testEnv(t).Names
	orders := n.FindRelation([]string{"orders"})
	for _, c := range []struct {
		kind builtin.ObjectKind
		text string
		want string // the output of its reg* type, or ""
		reg  types.OID
	}{
		{builtin.ObjRelation, "orders", "orders", types.RegClass},
		{builtin.ObjRelation, "ORDERS", "orders", types.RegClass},
		{builtin.ObjRelation, `"ORDERS"`, "", types.RegClass},
		{builtin.ObjRelation, "public . orders", "orders", types.RegClass},
		{builtin.ObjRelation, "postgres.public.orders", "orders", types.RegClass},
		{builtin.ObjRelation, "orders_pkey", "orders_pkey", types.RegClass},
		{builtin.ObjRelation, "lines", "", types.RegClass},
		{builtin.ObjRelation, "app.lines", "app.lines", types.RegClass},
		{builtin.ObjRelation, "pg_class", "pg_class", types.RegClass},
		{builtin.ObjRelation, "sherd.nodes", "sherd.nodes", types.RegClass},
		{builtin.ObjRelation, "information_schema.tables", "information_schema.tables", types.RegClass},
		{builtin.ObjType, "int", "integer", types.RegType},
		{builtin.ObjType, "_text", "text[]", types.RegType},
		{builtin.ObjType, "timestamp with time zone[]", "timestamp with time zone[]", types.RegType},
		{builtin.ObjType, "varchar(10)", "character varying", types.RegType},
		{builtin.ObjType, "orders[]", "orders[]", types.RegType},
		{builtin.ObjType, "app.lines", "app.lines", types.RegType},
		{builtin.ObjType, "nosuch", "", types.RegType},
		{builtin.ObjFunction, "now", "now", types.RegProc},
		{builtin.ObjFunction, "lower", "", types.RegProc},
		{builtin.ObjProcedure, "lower(text)", "lower(text)", types.RegProcedure},
		{builtin.ObjProcedure, "sherd.bucket(text)", "sherd.bucket(text)", types.RegProcedure},
		{builtin.ObjOperator, "+(integer,int8)", "+(integer,bigint)", types.RegOperator},
		{builtin.ObjOperator, "-(NONE, int8)", "-(NONE,bigint)", types.RegOperator},
		{builtin.ObjOperator, "||/", "||/", types.RegOper},
		{builtin.ObjSchema, "app", "app", types.RegNamespace},
		{builtin.ObjRole, "postgres", "postgres", types.RegRole},
		{builtin.ObjCollation, `"C"`, `"C"`, types.RegCollation},
	} {
		oid, ok, err := n.Find(c.kind, c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		got, _ := n.RegName(c.reg, oid)
		if !ok {
			got = ""
		}
		if got != c.want {
			t.Errorf("%s is %q, not %q", c.text, got, c.want)
		}
	}
	if visible, ok := n.Visible(builtin.ObjRelation, orders); !visible || !ok {
		t.Error("orders is not visible")
	}
	if table, array, ok := tableOfType(ArrayType(orders)); table != orders || !array || !ok {
		t.Error("array type of orders is not taken apart")
	}
	if table, column, ok := partOf(partOID(orders, 4)); table != orders || column != 4 || !ok {
		t.Error("default's OID is not taken apart")
	}
	for _, bad := range []string{"", "a.", `"a`, "a b", ".a"} {
		if _, err := SplitName(bad); !pgerr.Is(err, pgerr.InvalidName) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestDefinitions(t *testing.T) {
	n := &testEnv(t).Names
	var out []string
	for _, name := range [][]string{{"orders"}, {"app", "lines"}} {
		table := n.View.Table(n.FindRelation(name))
		for _, c := range n.constraints(table) {
			text, _ := n.ConstraintDef(c.OID, false)
			out = append(out, c.Name+": "+text)
		}
		for _, ix := range table.Indexes {
			for _, pretty := range []bool{false, true} {
				text, _ := n.IndexDef(ix.OID, 0, pretty)
				out = append(out, text)
			}
		}
	}
	for _, name := range []string{"pg_class_relname_nsp_index", "pg_am_oid_index"} {
		text, _ := n.IndexDef(n.FindRelation([]string{name}), 0, false)
		out = append(out, text)
	}
	for _, signature := range []string{"rpad(text,int4)", "generate_series(int4,int4)", "json_each(json)",
		"sherd.bucket(text)", "make_interval(int,int,int,int,int,int,float8)",
		"percentile_disc(float8,anyelement)", "concat_ws(text,\"any\")", "unnest(anyarray)", "rank()",
		"sherd.check()"} {
		oid, count, err := n.FindProc(signature)
		if err != nil || count != 1 {
			t.Fatalf("%s: %d found, %v", signature, count, err)
		}
		arguments, _ := n.FunctionArguments(oid)
		result, _ := n.FunctionResult(oid)
		def, _ := n.FunctionDef(oid)
		out = append(out, signature+": ("+arguments+") "+result, def)
	}
	golden(t, "definitions.golden", strings.Join(out, "\n")+"\n")
}

func BenchmarkAttributes(b *testing.B) {
	env := testEnv(b)
	for b.Loop() {
		if err := Rows("pg_catalog.pg_attribute", env, func(Row) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}
