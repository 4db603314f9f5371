package exec_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

var oracle = flag.String("oracle", "", "connection string of a PostgreSQL 15 with an empty database: rewrites testdata/script.golden")

// schema is the script's tables, for PostgreSQL; scriptTables are the same.
const schema = `DROP TABLE IF EXISTS orders, lines;
CREATE TABLE orders (id text PRIMARY KEY, doc jsonb, n integer);
CREATE TABLE lines (order_id text, no integer, qty numeric, PRIMARY KEY (order_id, no));`

func scriptTables(oid func() catalog.OID) []*catalog.Table {
	own := func(t *catalog.Table) {
		t.OID, t.StorageID = oid(), oid()
		t.Database, t.Schema, t.Owner, t.Version = catalog.PostgresDB, catalog.PostgresPublic, catalog.BootstrapRole, 1
		t.NextAttNum = int16(len(t.Columns) + 1)
		t.Constraints[0].OID, t.Indexes[0].OID = oid(), oid()
		t.Constraints[0].Index, t.Indexes[0].Name = t.Indexes[0].OID, t.Constraints[0].Name
	}
	lines := orders(func(t *catalog.Table) {
		t.Name, t.Anchors, t.Document = "lines", false, 0
		t.Columns = []catalog.Column{
			{AttNum: 1, Name: "order_id", Type: types.Text, Typmod: -1, NotNull: true},
			{AttNum: 2, Name: "no", Type: types.Int4, Typmod: -1, NotNull: true},
			{AttNum: 3, Name: "qty", Type: types.Numeric, Typmod: -1},
		}
		t.Constraints = []catalog.Constraint{{Name: "lines_pkey", Kind: catalog.PrimaryKey, Columns: []int16{1, 2}}}
		t.Indexes = []catalog.Index{{StorageID: 1, Columns: []int16{1, 2}, Unique: true, Primary: true}}
	}, own)
	return []*catalog.Table{orders(own), lines}
}

// scriptContext is a catalog with the script's tables.
func scriptContext(t testing.TB, more ...func(oid func() catalog.OID) *catalog.Table) *analyze.Context {
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
	if _, err := c.Bootstrap(ctx, catalog.BootstrapOptions{ClusterID: "test", Fragments: 1, Node: catalog.Node{ID: 1, Name: "n", Block: "A"}}); err != nil {
		t.Fatal(err)
	}
	oid := func() catalog.OID {
		n, err := c.NewOID(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	tables := scriptTables(oid)
	for _, f := range more {
		tables = append(tables, f(oid))
	}
	view, err := c.Update(ctx, func(_ *catalog.View, ch *catalog.Change) error {
		for _, tab := range tables {
			if err := ch.PutTable(tab); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return &analyze.Context{Catalog: view, Database: catalog.PostgresDB, SearchPath: []string{"public"}, Tables: analyze.NewTableCache()}
}

// TestScript runs testdata/script.sql on 1 and on 3 fragments and compares with what PostgreSQL 15
// answered.
func TestScript(t *testing.T) {
	raw, err := os.ReadFile("testdata/script.sql")
	if err != nil {
		t.Fatal(err)
	}
	statements := strings.Split(strings.TrimSpace(string(raw)), "\n")
	if *oracle != "" {
		writeOracle(t, statements)
	}
	golden, err := os.ReadFile("testdata/script.golden")
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(string(golden), separator)
	ctx := scriptContext(t)
	for _, fragments := range []int{1, 3} {
		d := openDatabase(t, fragments)
		for i, text := range statements {
			got := text + "\n" + scriptAnswer(d, ctx, text)
			if i >= len(want) || comparable(want[i]) != comparable(got) {
				t.Errorf("on %d fragments:\n%s\n-- PostgreSQL:\n%s", fragments, got, want[min(i, len(want)-1)])
			}
		}
	}
}

// comparable sorts the rows of UPDATE and DELETE: they come in the order in which the fragments
// answer.
func comparable(answer string) string {
	answer = strings.TrimSpace(answer)
	if !strings.HasPrefix(answer, "UPDATE") && !strings.HasPrefix(answer, "DELETE") {
		return answer
	}
	lines := strings.Split(answer, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// scriptAnswer is the rows, the number of rows written, or the SQLSTATE and message.
func scriptAnswer(d *database, ctx *analyze.Context, text string) string {
	stmts, err := parse.Parse(text)
	if err != nil {
		return describe(err)
	}
	own := *ctx
	own.Source = text
	q, _, err := analyze.Statement(&own, stmts[0].Node, nil)
	if err != nil {
		return describe(err)
	}
	pl, err := plan.Build(q, plan.Env{Fold: expr.EvalConst, OrderedIndexes: true})
	if err != nil {
		return describe(err)
	}
	p, err := exec.Compile(pl)
	if err != nil {
		return describe(err)
	}
	x := d.begin()
	c := x.ctx()
	rows, err := collect(p, c)
	if err == nil {
		err = x.commit()
	}
	if err != nil {
		x.rollback()
		return describe(err)
	}
	out := show(pl.Root, rows)
	if q.Command != query.Select {
		out = strings.TrimSpace(fmt.Sprintf("%s\n(%d)", out, c.Affected))
	}
	return out
}

func describe(err error) string {
	e := pgerr.From(err)
	return "ERROR " + e.Code + " " + e.Message + " " + e.Detail
}

// separator stands between the answers of the golden file.
const separator = "\n----\n"

func writeOracle(t *testing.T, statements []string) {
	ctx := context.Background()
	c, err := pgconn.Connect(ctx, *oracle)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(ctx) }()
	if _, err := c.Exec(ctx, schema).ReadAll(); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, text := range statements {
		results, err := c.Exec(ctx, text).ReadAll()
		fmt.Fprintf(&b, "%s\n%s%s", text, oracleAnswer(results, err), separator)
	}
	if err := os.WriteFile("testdata/script.golden", []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

func oracleAnswer(results []*pgconn.Result, err error) string {
	var pe *pgconn.PgError
	if err != nil {
		pe, _ = err.(*pgconn.PgError)
		return "ERROR " + pe.Code + " " + pe.Message + " " + pe.Detail
	}
	var lines []string
	for _, row := range results[0].Rows {
		fields := make([]string, len(row))
		for i, f := range row {
			fields[i] = "NULL"
			if f != nil {
				fields[i] = string(f)
			}
		}
		lines = append(lines, strings.Join(fields, "|"))
	}
	out := strings.Join(lines, "\n")
	if tag := results[0].CommandTag; !tag.Select() {
		out = strings.TrimSpace(fmt.Sprintf("%s\n(%d)", out, tag.RowsAffected()))
	}
	return out
}
