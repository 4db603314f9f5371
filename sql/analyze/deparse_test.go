package analyze

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sherddb/sherd/sql/deparse"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// writeChecks asks PostgreSQL for the text of constraints, plain and pretty-printed.
func writeChecks(t *testing.T, exprs []string) {
	ctx := context.Background()
	c, err := pgconn.Connect(ctx, *oracle)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(ctx) }()
	var b strings.Builder
	for _, e := range exprs {
		text := fmt.Sprintf("BEGIN; ALTER TABLE items ADD CONSTRAINT deparsed CHECK (%s);"+
			"SELECT pg_get_expr(conbin, conrelid) || '   ' || pg_get_expr(conbin, conrelid, true) FROM "+
			"pg_constraint WHERE conname = 'deparsed'; ROLLBACK", e)
		results, err := c.Exec(ctx, text).ReadAll()
		if err != nil {
			t.Fatalf("%s: %v", e, err)
		}
		fmt.Fprintf(&b, "%s\n  %s\n", e, strings.ReplaceAll(string(results[2].Rows[0][0]), "\n", `\n`))
	}
	if err := os.WriteFile("testdata/checks.golden", []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestDeparse compares the text of constraints with PostgreSQL's, and reads it back.
func TestDeparse(t *testing.T) {
	exprs := lines(t, "testdata/checks.sql")
	if *oracle != "" {
		writeChecks(t, exprs)
	}
	ctx := testContext(t)
	table := ctx.Catalog.FindTable(ctx.Database, "public", "items")
	over := columnsOfTable(table)
	want := golden(t, "testdata/checks.golden")
	for _, text := range exprs {
		e := checkOf(t, ctx, text, over)
		if e == nil {
			continue
		}
		plain := deparse.Expr(e)
		if got := strings.ReplaceAll(deparse.With(e, nil, false)+"   "+deparse.With(e, nil, true), "\n",
			`\n`); got != want[text] {
			t.Errorf("%s\n got      %s\n postgres %s", text, got, want[text])
		}
		// Reading it back changes it once: casts of array elements move into the array, as in
		// PostgreSQL.
		again := checkOf(t, ctx, plain, over)
		if again == nil {
			continue
		}
		if third := checkOf(t, ctx, deparse.Expr(again), over); third != nil && deparse.Expr(third) != deparse.Expr(again) {
			t.Errorf("%s: %s is read back as %s", text, deparse.Expr(again), deparse.Expr(third))
		}
	}
}

func checkOf(t *testing.T, ctx *Context, text string, over []query.Column) query.Expr {
	t.Helper()
	src, err := ParseExpression(text)
	if err != nil {
		t.Errorf("%s: %v", text, err)
		return nil
	}
	e, err := Check(ctx, src, "items", over)
	if err != nil {
		t.Errorf("%s: %v", text, err)
		return nil
	}
	return e
}

func TestDefaults(t *testing.T) {
	ctx := &Context{lenient: true}
	for _, c := range []struct {
		text string
		typ  types.OID
		mod  int32
		want string
	}{
		{"0", types.Numeric, 655366, "0"}, {"'x'", types.VarChar, 24, "'x'::character varying"},
		{"now()", types.TimestampTZ, -1, "now()"},
		{"'{}'", types.JSONB, -1, "'{}'::jsonb"}, {"1 + 1", types.Int8, -1, "(1 + 1)"},
		{"true", types.Bool, -1, "true"},
		{"'-1'", types.Int4, -1, "'-1'::integer"}, {"-1", types.Int4, -1, "'-1'::integer"},
		{"current_timestamp", types.TimestampTZ, -1, "CURRENT_TIMESTAMP"},
		{"NULL", types.Text, -1, "NULL::text"}, {"'{}'", types.TextArray, -1, "'{}'::text[]"},
		{"1.5", types.Numeric, -1, "1.5"},
	} {
		src, err := ParseExpression(c.text)
		if err != nil {
			t.Fatal(err)
		}
		e, err := Default(ctx, src, query.Column{Name: "x", Type: c.typ, Typmod: c.mod})
		if err != nil || deparse.Expr(e) != c.want {
			t.Errorf("%s: %s %v, want %s", c.text, deparse.Expr(e), err, c.want)
		}
	}
}

// FuzzStatement checks that analysis returns a query or an error for any text.
func FuzzStatement(f *testing.F) {
	raw, err := os.ReadFile("testdata/statements.sql")
	if err != nil {
		f.Fatal(err)
	}
	for _, text := range strings.Split(string(raw), "\n") {
		f.Add(text)
	}
	ctx := testContext(f)
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<12 {
			return
		}
		stmts, err := parse.Parse(text)
		if err != nil {
			return
		}
		for _, s := range stmts {
			if !parse.IsQuery(s.Node) {
				continue
			}
			own := *ctx
			own.Source = text
			q, _, err := Statement(&own, s.Node, nil)
			if err == nil {
				query.WalkQuery(q, func(e query.Expr, _ int) { _ = deparse.Expr(e) })
			}
		}
	})
}

func BenchmarkPoint(b *testing.B) {
	ctx := testContext(b)
	stmts, err := parse.Parse("SELECT doc FROM orders WHERE id = $1")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := Statement(ctx, stmts[0].Node, nil); err != nil {
			b.Fatal(err)
		}
	}
}
