package analyze

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/deparse"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

var oracle = flag.String("oracle", "",
	"connection string of a PostgreSQL 15 with an empty database: rewrites what it answers")

// answerOf returns the result of analyzing a statement: the types of parameters and columns, or an
// error.
func answerOf(ctx *Context, text string) string {
	stmts, err := parse.Parse(text)
	if err != nil {
		return describeError(err)
	}
	own := *ctx
	own.Source = text
	q, params, err := Statement(&own, stmts[0].Node, nil)
	if err != nil {
		return describeError(err)
	}
	var b strings.Builder
	describeParams(&b, params)
	if q.Command == query.Select || q.Returning {
		for _, t := range visible(q) {
			describeColumn(&b, t.Name, t.Expr.Type(), t.Expr.Typmod())
		}
	}
	return strings.TrimSpace(b.String())
}

func describeParams(b *strings.Builder, params []types.OID) {
	for i, p := range params {
		fmt.Fprintf(b, "$%d %s; ", i+1, pgcatalog.FormatType(p, -1))
	}
}

func describeColumn(b *strings.Builder, name string, t types.OID, mod int32) {
	fmt.Fprintf(b, "%s %s; ", name, pgcatalog.FormatType(t, mod))
}

func describeError(err error) string {
	e := pgerr.From(err)
	s := fmt.Sprintf("%s %s @%d", e.Code, e.Message, e.Position)
	if e.Detail != "" {
		s += " | " + e.Detail
	}
	if e.Hint != "" {
		s += " | " + e.Hint
	}
	return s
}

// postgresAnswer returns PostgreSQL's result of preparing the statement.
func postgresAnswer(t *testing.T, c *pgconn.PgConn, text string) string {
	d, err := c.Prepare(context.Background(), "", text, nil)
	var pe *pgconn.PgError
	if errors.As(err, &pe) {
		return describeError(&pgerr.Error{Code: pe.Code, Message: pe.Message, Position: int(pe.Position),
			Detail: pe.Detail, Hint: pe.Hint})
	}
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	var b strings.Builder
	describeParams(&b, d.ParamOIDs)
	for _, f := range d.Fields {
		describeColumn(&b, f.Name, f.DataTypeOID, f.TypeModifier)
	}
	return strings.TrimSpace(b.String())
}

// TestAgainstPostgres compares the result of every statement with PostgreSQL 15's. Where they
// differ on purpose, the golden file has a line that begins with "ours:"; review it before
// accepting it.
func TestAgainstPostgres(t *testing.T) {
	statements := lines(t, "testdata/statements.sql")
	if *oracle != "" {
		writeOracle(t, statements)
	}
	ctx := testContext(t)
	want := golden(t, "testdata/postgres.golden")
	ours := golden(t, "testdata/differences.golden")
	for _, text := range statements {
		got := answerOf(ctx, text)
		expected, ok := want[text]
		if !ok {
			t.Errorf("no answer of PostgreSQL is kept for: %s", text)
			continue
		}
		if other, ok := ours[text]; ok {
			if got != other {
				t.Errorf("%s\n got      %s\n expected %s (a known difference)", text, got, other)
			}
			if got == expected {
				t.Errorf("%s\n agrees with PostgreSQL now: take it out of differences.golden", text)
			}
			continue
		}
		if got != expected {
			t.Errorf("%s\n got      %s\n postgres %s", text, got, expected)
		}
	}
}

func lines(t *testing.T, path string) []string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, l := range strings.Split(string(raw), "\n") {
		if l != "" {
			out = append(out, l)
		}
	}
	return out
}

// golden reads pairs of a statement and the indented result below it.
func golden(t *testing.T, path string) map[string]string {
	t.Helper()
	out := map[string]string{}
	all := lines(t, path)
	for i := 0; i+1 < len(all); i += 2 {
		out[all[i]] = strings.TrimSpace(all[i+1])
	}
	return out
}

func writeOracle(t *testing.T, statements []string) {
	c, err := pgconn.Connect(context.Background(), *oracle)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.Background()) }()
	schema, err := os.ReadFile("testdata/schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Exec(context.Background(), "DROP TABLE IF EXISTS orders, items, pairs;"+string(schema)).
		Close(); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, text := range statements {
		fmt.Fprintf(&b, "%s\n  %s\n", text, postgresAnswer(t, c, text))
	}
	if err := os.WriteFile("testdata/postgres.golden", []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// testContext returns a catalog with the tables of testdata/schema.sql.
func testContext(t testing.TB) *Context {
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
	if _, err := c.Bootstrap(ctx, catalog.BootstrapOptions{ClusterID: "test", Fragments: 1,
		Node: catalog.Node{ID: 1, Name: "n", Block: "A"}}); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile("testdata/schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	stmts, err := parse.Parse(string(raw))
	if err != nil {
		t.Fatal(err)
	}
	oid := func() catalog.OID {
		n, err := c.NewOID(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	var tables []*catalog.Table
	for _, s := range stmts {
		tables = append(tables, tableOf(t, s, oid))
	}
	view, err := c.Update(ctx, func(v *catalog.View, ch *catalog.Change) error {
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
	env := &types.Env{RegIn: func(oid types.OID, text string) (uint32, error) { return 1259, nil }}
	return &Context{Catalog: view, Database: catalog.PostgresDB, SearchPath: []string{"public"},
		Tables: NewTableCache(), Env: env, lenient: true}
}

// tableOf returns the descriptor of a table from its CREATE TABLE, as far as the test schema needs
// it.
func tableOf(t testing.TB, s parse.Statement, oid func() catalog.OID) *catalog.Table {
	create := s.Node.GetCreateStmt()
	tab := &catalog.Table{OID: oid(), Database: catalog.PostgresDB, Schema: catalog.PostgresPublic,
		Name:  create.Relation.Relname,
		Owner: catalog.BootstrapRole, Kind: catalog.KindTable, Version: 1, StorageID: oid()}
	key := func(columns ...int16) {
		index := oid()
		tab.Constraints = append(tab.Constraints, catalog.Constraint{OID: oid(), Name: tab.Name + "_pkey",
			Kind: catalog.PrimaryKey, Columns: columns, Valid: true, Index: index})
		tab.Indexes = append(tab.Indexes, catalog.Index{OID: index, Name: tab.Name + "_pkey", StorageID: 1,
			Columns: columns, Unique: true, Primary: true})
	}
	for _, n := range create.TableElts {
		if con := n.GetConstraint(); con != nil {
			if len(con.Keys) > 0 {
				key(1, 2)
			}
			continue
		}
		d := n.GetColumnDef()
		typ, mod, err := TypeName(&Context{}, s.Source, d.TypeName)
		if err != nil {
			t.Fatal(err)
		}
		col := catalog.Column{AttNum: int16(len(tab.Columns) + 1), Name: d.Colname, Type: typ, Typmod: mod}
		for _, x := range d.Constraints {
			switch con := x.GetConstraint(); con.Contype.String() {
			case "CONSTR_PRIMARY":
				key(col.AttNum)
				col.NotNull = true
			case "CONSTR_NOTNULL":
				col.NotNull = true
			case "CONSTR_DEFAULT":
				e, err := Default(&Context{lenient: true}, Source{s.Source, con.RawExpr},
					query.Column{Name: d.Colname, Type: typ, Typmod: mod})
				if err != nil {
					t.Fatal(err)
				}
				col.Default = deparse.Expr(e)
			}
		}
		tab.Columns = append(tab.Columns, col)
	}
	tab.NextAttNum = int16(len(tab.Columns) + 1)
	return tab
}
