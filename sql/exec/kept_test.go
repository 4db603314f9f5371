package exec_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"runtime"
	"strings"
	"testing"
	"weak"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/plan/batch"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/query/querytest"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// keptStatements reach every operator. Each has a source s of rows with a text w: few wide ones, so
// that a single value that is kept shows, or many.
var keptStatements = []string{
	`VALUES ($1::text), ($1 || 'x')`,
	`SELECT w || 'x', ARRAY[w, w], ROW(w, i), NULLIF(w, 'a'), concat(w, i, w), CASE w WHEN 'a' THEN 'b' ELSE w END, i::text || w FROM s WHERE w <> 'a'`,
	`SELECT i FROM s WHERE w = ANY(ARRAY[w, 'b']) AND w IS DISTINCT FROM $1 AND (w, i) < (w, i + 1) AND w LIKE '%' || i AND w::varchar = w`,
	`SELECT unnest(ARRAY[w, 'b']), generate_series(1, 2) FROM s`,
	`SELECT * FROM ROWS FROM (generate_series(1, 3), unnest(ARRAY[$1, 'b'])) WITH ORDINALITY`,
	`SELECT w, i FROM s ORDER BY w DESC`,
	`SELECT w, i FROM s ORDER BY w DESC LIMIT 3 OFFSET 1`,
	`SELECT w FROM s LIMIT 3`,
	`SELECT DISTINCT w FROM s`,
	`SELECT DISTINCT ON (w) w, i FROM s ORDER BY w`,
	`SELECT w, count(*), max(w) FROM s GROUP BY w`,
	`SELECT max(w), min(w) FILTER (WHERE w <> 'a'), count(DISTINCT w), array_agg(w ORDER BY w DESC) FROM s WHERE i < 100`,
	`SELECT w, i, max(w) FROM s GROUP BY GROUPING SETS ((w), (i), ())`,
	`SELECT lag(w) OVER (ORDER BY w), max(w) OVER (PARTITION BY i % 2 ORDER BY i ROWS 1 PRECEDING) FROM s`,
	`SELECT count(*) FROM s JOIN s AS o ON o.w = s.w`,
	`SELECT s.w, o.w FROM s LEFT JOIN s AS o ON o.w || 'x' = s.w`,
	`SELECT count(*) FROM s JOIN (SELECT * FROM s LIMIT 3) AS o ON o.w < s.w`,
	`SELECT l.x FROM s, LATERAL (SELECT s.w || 'x' AS x LIMIT 1) l`,
	`SELECT w FROM s UNION SELECT w || 'x' FROM s`,
	`SELECT w FROM s UNION ALL SELECT w FROM s`,
	`SELECT w FROM s INTERSECT SELECT w FROM s`,
	`SELECT w FROM s EXCEPT ALL SELECT w || 'x' FROM s`,
	`WITH c AS MATERIALIZED (SELECT * FROM s) SELECT a.w FROM c a JOIN c b USING (i)`,
	`WITH RECURSIVE r AS (SELECT 1 AS n, $1::text AS w UNION SELECT n + 1, w || 'x' FROM r WHERE n < 4) SELECT * FROM r`,
	`SELECT count(*) FROM s WHERE w IN (SELECT w FROM s)`,
	`SELECT count(*) FROM s WHERE w IN (SELECT w FROM s) OR i = 0`,
	`SELECT w >= ALL (SELECT w FROM s LIMIT 9) FROM s`,
	`SELECT (SELECT max(w) FROM s), ARRAY(SELECT w FROM s LIMIT 9), EXISTS (SELECT FROM s WHERE w = 'a') FROM s LIMIT 2`,
	`SELECT (SELECT o.w || s.w FROM (VALUES ('x')) o (w) WHERE s.i > 0) FROM s`,
	`SELECT s.w, o.w FROM s, LATERAL (SELECT o.w FROM wide o WHERE o.grp = s.i % 2 ORDER BY id LIMIT 1) o`,
	`SELECT s.w, (SELECT max(o.w) FROM wide o WHERE o.grp = s.i % 2 AND o.w <> s.w) FROM s`,
	`SELECT (w, i) = (SELECT w, i FROM s LIMIT 1) FROM s LIMIT 5`,
	`SELECT relname FROM pg_catalog.pg_class`,

	`SELECT id, w FROM wide WHERE w <> 'a'`,
	`SELECT w FROM wide WHERE id = 2`,
	`SELECT w FROM wide WHERE id IN (1, 3)`,
	`SELECT w FROM wide WHERE id = ANY(ARRAY[1, $2]::int[])`,
	`SELECT w FROM wide WHERE id > 2 ORDER BY id`,
	`SELECT w FROM wide WHERE grp = 1`,
	`SELECT w FROM wide WHERE k = 'k2'`,
	`SELECT max(w) FROM wide GROUP BY grp`,
	`SELECT o.w FROM s JOIN wide o ON o.id = s.i`,
	`SELECT w FROM wide WHERE id = 1 FOR UPDATE`,
	`SELECT w FROM wide ORDER BY w LIMIT 2 FOR UPDATE`,
	`INSERT INTO wide SELECT -i, 7, 'n' || i, w FROM s ORDER BY i LIMIT 9 RETURNING w`,
	`INSERT INTO wide SELECT 1, 7, 'm', $1 ON CONFLICT (id) DO UPDATE SET w = excluded.w || wide.w RETURNING w`,
	`UPDATE wide SET w = w || 'x' RETURNING w`,
	`UPDATE wide SET w = o.w FROM s o WHERE o.i = wide.id RETURNING wide.w`,
	`UPDATE wide SET id = 100 - id, w = w || 'x' WHERE id < 3 RETURNING w`,
	`DELETE FROM wide WHERE w <> 'a' RETURNING w`,
	`MERGE INTO wide USING (SELECT i, max(w) AS w FROM s WHERE i < 9 GROUP BY i) o ON o.i = wide.id AND o.w > 'a' WHEN MATCHED AND i = 1 THEN DELETE WHEN MATCHED THEN UPDATE SET w = o.w || 'x', id = wide.id + 100 WHEN NOT MATCHED THEN INSERT VALUES (-o.i - 50, 7, 'q' || o.i, o.w)`,
}

// keptSources are what s stands for.
var keptSources = map[string]string{
	"wide rows": `(SELECT i::int, repeat(md5(i::text), 16384) AS w FROM generate_series(1, 5) i)`,
	"many rows": `(SELECT i::int, md5(i::text) AS w FROM generate_series(1, 100000) i)`,
}

// keptBytes is less than one wide value takes, and more than an empty program does.
const keptBytes = 256 << 10

// endings are how an execution ends: emit is called with the number of the row.
var endings = map[string]func(cancel func(), n int) error{
	"at the last row":   func(func(), int) error { return nil },
	"by an error":       func(_ func(), n int) error { return errors.New("enough") },
	"by a cancellation": func(cancel func(), n int) error { cancel(); return nil },
	"by a panic":        func(func(), int) error { panic("test") },
}

// TestProgramsKeepNoRows runs every operator, ends it in every way, and looks at what the program
// keeps.
func TestProgramsKeepNoRows(t *testing.T) {
	ctx, wide := keptContext(t)
	d := openDatabase(t, 2)
	x := d.begin()
	fillWide(t, ctx, x)
	seen := map[string]bool{"Source": true, "Stage": true, "Find": false, "LockKeys": true}
	for name, source := range keptSources {
		for _, text := range keptStatements {
			if name == "many rows" && strings.Contains(text, " wide") {
				continue
			}
			pl := keptPlan(t, ctx, text, source)
			operatorsOf(pl.Root, seen)
			for ending, end := range endings {
				if name == "many rows" && ending != "at the last row" {
					continue
				}
				p, err := exec.Compile(pl)
				if err != nil {
					t.Fatalf("%s: %v", text, err)
				}
				session, err := runKept(x, p, end)
				if ending == "at the last row" && err != nil {
					t.Errorf("%s: %v", text, err)
				}
				if n := keptBy(&p); n > keptBytes {
					t.Errorf("%s of %s, ended %s: the program keeps %d bytes", text, name, ending, n)
				}
				if session.Value() != nil {
					t.Errorf("%s of %s, ended %s: the program keeps the session's memory account", text, name, ending)
				}
			}
		}
	}
	keptFill(t, x, wide, seen)
	for _, op := range compiledOperators(t) {
		if !seen[op] {
			t.Errorf("no statement of the test runs plan.%s", op)
		}
	}
}

// keptContext has a table of wide rows with a local and a global index.
func keptContext(t *testing.T) (ctx *analyze.Context, wide *catalog.Table) {
	ctx = scriptContext(t, func(oid func() catalog.OID) *catalog.Table {
		wide = orders(func(t *catalog.Table) {
			t.OID, t.StorageID, t.Name, t.Anchors, t.Document = oid(), oid(), "wide", false, 0
			t.Database, t.Schema, t.Owner, t.Version = catalog.PostgresDB, catalog.PostgresPublic, catalog.BootstrapRole, 1
			t.Columns = []catalog.Column{
				{AttNum: 1, Name: "id", Type: types.Int4, Typmod: -1, NotNull: true},
				{AttNum: 2, Name: "grp", Type: types.Int4, Typmod: -1},
				{AttNum: 3, Name: "k", Type: types.Text, Typmod: -1},
				{AttNum: 4, Name: "w", Type: types.Text, Typmod: -1},
			}
			t.NextAttNum = 5
			t.Indexes = []catalog.Index{
				{OID: oid(), StorageID: 1, Name: "wide_pkey", Columns: []int16{1}, Unique: true, Primary: true},
				{OID: oid(), StorageID: 2, Name: "wide_grp", Columns: []int16{2}},
				{OID: oid(), StorageID: 3, Name: "wide_k", Columns: []int16{3}, Global: true},
			}
			t.Constraints = []catalog.Constraint{{OID: oid(), Name: "wide_pkey", Kind: catalog.PrimaryKey, Columns: []int16{1}, Index: t.Indexes[0].OID}}
		})
		return wide
	})
	return ctx, wide
}

func keptPlan(t *testing.T, ctx *analyze.Context, text, source string) *plan.Plan {
	t.Helper()
	text = strings.ReplaceAll(text, "FROM s AS", "FROM "+source+" AS")
	text = strings.ReplaceAll(text, "JOIN s AS", "JOIN "+source+" AS")
	text = strings.ReplaceAll(text, "FROM s o", "FROM "+source+" o")
	text = strings.ReplaceAll(text+" ", "FROM s ", "FROM "+source+" AS s ")
	text = strings.ReplaceAll(text, "FROM s)", "FROM "+source+" AS s)")
	text = strings.ReplaceAll(text, "FROM s,", "FROM "+source+" AS s,")
	stmts, err := parse.Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	own := *ctx
	own.Source = text
	q, _, err := analyze.Statement(&own, stmts[0].Node, []types.OID{types.Text, types.Int4})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	pl, err := plan.Build(q, plan.Env{Fold: expr.EvalConst, OrderedIndexes: true})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	batch.Plan(pl)
	return pl
}

// fillWide inserts the wide rows. Nothing of the test is committed.
func fillWide(t *testing.T, ctx *analyze.Context, x *transaction) {
	text := `INSERT INTO wide SELECT i, i % 2, 'k' || i, repeat(md5(i::text), 16384) FROM generate_series(1, 5) i`
	if _, _, err := x.run(keptPlan(t, ctx, text, "").Root); err != nil {
		t.Fatal(err)
	}
}

// inProcess runs tasks with the compiled plan that the gateway sends along, as on the gateway's own
// node.
type inProcess struct{ fragment }

func (f inProcess) Run(ctx context.Context, task *exec.Task, emit exec.Emit) (exec.Result, error) {
	return exec.RunTask(ctx, stage{f.tx}, task, emit)
}

// runKept runs a program once and takes back what it wrote.
func runKept(x *transaction, p *exec.Program, end func(cancel func(), n int) error) (mem weak.Pointer[memory.Account], err error) {
	marks := txn.Marks{}
	for id, tx := range x.parts {
		marks[id] = tx.Mark()
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	wideText := types.NewText(strings.Repeat("p", 2<<20))
	c := x.ctx(wideText, types.NewInt(2))
	c.Context = ctx
	fragments := c.Gateway.Fragment
	c.Gateway.Fragment = func(id shardmap.FragmentID) (exec.Fragment, error) {
		f, err := fragments(id)
		if err != nil {
			return nil, err
		}
		return inProcess{f.(fragment)}, nil
	}
	c.Hooks.System = func(_ string, emit exec.Emit) error {
		row := make(types.Row, 64)
		for i := range row {
			row[i] = wideText
		}
		return emit(row)
	}
	c.Mem = memory.New(1 << 30)
	mem = weak.Make(c.Mem)
	defer func() {
		if e := recover(); e != nil && err == nil {
			err = fmt.Errorf("panic: %v", e)
		}
		for id, tx := range x.parts {
			tx.RollbackTo(marks[id])
		}
	}()
	n := 0
	err = p.Run(c, func(types.Row) error { n++; return end(cancel, n) })
	return mem, err
}

// keptBy is how much memory becomes free with the program.
func keptBy(p **exec.Program) int64 {
	with := liveHeap()
	runtime.KeepAlive(*p)
	*p = nil
	return with - liveHeap()
}

func liveHeap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// keptFill runs plan.Fill, which only CREATE INDEX makes.
func keptFill(t *testing.T, x *transaction, wide *catalog.Table, seen map[string]bool) {
	seen["Fill"] = true
	p, err := exec.CompileTask(&plan.Fill{Table: wide, Index: query.Index{Def: &wide.Indexes[2], Keys: []query.Expr{querytest.Slot(2, types.Text)}}, Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	for _, tx := range x.parts {
		task := (&exec.Task{Txn: x.id, T: x.t, Buckets: shardmap.AllBuckets(), Mem: memory.New(0)}).WithProgram(p)
		if _, err := exec.RunTask(context.Background(), stage{tx}, task, func(types.Row) error { return nil }); err != nil {
			t.Error(err)
		}
	}
	if n := keptBy(&p); n > keptBytes {
		t.Errorf("Fill: the program keeps %d bytes", n)
	}
}

// operatorsOf notes the types of a plan's nodes.
func operatorsOf(n plan.Node, seen map[string]bool) {
	seen[strings.TrimPrefix(strings.TrimPrefix(fmt.Sprintf("%T", n), "*"), "plan.")] = true
	if g, ok := n.(*plan.Gather); ok && g.Route.Index != nil {
		seen["Find"] = true
	}
	for _, c := range n.Children() {
		operatorsOf(c, seen)
	}
}

// compiledOperators lists the nodes that compile.go has operators for.
func compiledOperators(t *testing.T) (names []string) {
	for _, file := range []string{"compile.go", "operator/compile.go"} {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if c, ok := n.(*ast.CaseClause); ok {
				for _, e := range c.List {
					if star, ok := e.(*ast.StarExpr); ok {
						e = star.X
					}
					if s, ok := e.(*ast.SelectorExpr); ok {
						names = append(names, s.Sel.Name)
					}
				}
			}
			return true
		})
	}
	if len(names) < 20 {
		t.Fatalf("found only %v", names)
	}
	return names
}
