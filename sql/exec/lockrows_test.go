package exec_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/txn"
)

// script is several transactions over one database, statement by statement. Each line is
// "transaction: statement" with the answer behind "→", rows divided by ";". A transaction keeps its
// first snapshot, at READ COMMITTED too, so that what others commit meanwhile is newer; "x: now"
// lets it take another. "x: commit" and "x: rollback" end it. Rows of a line with "~" come in any
// order.
func script(t *testing.T, fragments int, level txn.Isolation, text string) {
	t.Helper()
	ctx := scriptContext(t)
	d := openDatabase(t, fragments)
	d.limits.Isolation = level
	open := map[string]*transaction{}
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		step, want, _ := strings.Cut(line, " →")
		want = strings.TrimSpace(want)
		name, statement, _ := strings.Cut(step, ": ")
		x := open[name]
		if x == nil {
			x = d.begin()
			open[name] = x
		}
		got := ""
		switch statement {
		case "now":
			x.t = 0
		case "commit":
			if err := x.commit(); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			delete(open, name)
		case "rollback":
			x.rollback()
			delete(open, name)
		default:
			got = x.statement(ctx, statement)
		}
		if strings.HasPrefix(want, "~") {
			want, got = sortedLines(want[1:]), sortedLines(got)
		}
		if strings.HasPrefix(want, "ERROR") && strings.HasPrefix(got, want) {
			got = want
		}
		if got != want {
			t.Errorf("on %d fragments, %s\n%s\n got %s", fragments, level, line, got)
		}
	}
	for _, x := range open {
		x.rollback()
	}
}

func sortedLines(s string) string {
	lines := strings.Split(s, "; ")
	slices.Sort(lines)
	return strings.Join(lines, "; ")
}

// statement runs SQL in the transaction: its rows, or the number of rows written, or the error.
func (x *transaction) statement(ctx *analyze.Context, text string) string {
	rows, err := x.tryStatement(ctx, text)
	if err != nil {
		return describe(err)
	}
	return rows
}

func (x *transaction) tryStatement(ctx *analyze.Context, text string) (string, error) {
	stmts, err := parse.Parse(text)
	if err != nil {
		return "", err
	}
	own := *ctx
	own.Source = text
	q, _, err := analyze.Statement(&own, stmts[0].Node, nil)
	if err != nil {
		return "", err
	}
	pl, err := plan.Build(q, plan.Env{Fold: expr.EvalConst, OrderedIndexes: true})
	if err != nil {
		return "", err
	}
	p, err := exec.Compile(pl)
	if err != nil {
		return "", err
	}
	if x.t == 0 { // of all fragments, also where the statement reaches fewer
		if _, err := x.gateway().Snapshot(x.ctx().Context, x.d.bucketed.Split(shardmap.AllBuckets())); err != nil {
			return "", err
		}
	}
	c := x.ctx()
	rows, err := collect(p, c)
	if err != nil {
		return "", err
	}
	if q.Command != query.Select && !q.Returning {
		return fmt.Sprint(c.Affected), nil
	}
	return strings.ReplaceAll(show(pl.Root, rows), "\n", "; "), nil
}

// eachSize runs a script on 1, 3 and 8 fragments.
func eachSize(t *testing.T, level txn.Isolation, text string) {
	t.Helper()
	for _, n := range []int{1, 3, 8} {
		script(t, n, level, text)
	}
}

const fiveRows = `
	a: INSERT INTO orders SELECT 'o' || g, '{}', g FROM generate_series(1, 5) g → 5
	a: commit
`

// stale runs each statement in a transaction of its own whose snapshot is older than what y has
// done.
func stale(t *testing.T, fragments int, level txn.Isolation, statements []string) {
	t.Helper()
	var before, after strings.Builder
	for i, statement := range statements {
		fmt.Fprintf(&before, "x%d: SELECT count(*) FROM orders → 5\n", i)
		fmt.Fprintf(&after, "x%d: %s\nx%d: rollback\n", i, statement, i)
	}
	script(t, fragments, level, fiveRows+before.String()+`
	y: UPDATE orders SET n = n + 10 WHERE n IN (1, 2) → 2
	y: DELETE FROM orders WHERE id = 'o3' → 1
	y: INSERT INTO orders VALUES ('o6', '{}', 6) → 1
	y: commit
	`+after.String())
}

// A statement at READ COMMITTED goes on with the newest version of a row that changed after its
// snapshot, if it still meets the condition. If that cannot be decided in place, the caller runs the
// statement again.
func TestRecheck(t *testing.T) {
	for _, fragments := range []int{1, 3, 8} {
		stale(t, fragments, txn.ReadCommitted, []string{
			`UPDATE orders SET n = n + 100 WHERE n <> 12 RETURNING id, n → ~o1|111; o4|104; o5|105`,
			`UPDATE orders SET n = n + 100 WHERE id = 'o1' RETURNING id, n → o1|111`,
			`UPDATE orders SET n = n + 100 WHERE id = 'o3' RETURNING id, n →`,
			`DELETE FROM orders WHERE n <> 12 RETURNING id, n → ~o1|11; o4|4; o5|5`,
			`SELECT id, n FROM orders WHERE n <> 12 FOR UPDATE → ~o1|11; o4|4; o5|5`,
			`SELECT id, n FROM orders WHERE n <> 12 ORDER BY n DESC FOR UPDATE → o5|5; o4|4; o1|11`,
			`SELECT id, n, n + 1 FROM orders WHERE n <> 12 ORDER BY n + 1 LIMIT 2 FOR NO KEY UPDATE → o1|11|12; o4|4|5`,
			`SELECT id, n FROM orders WHERE n <> 12 ORDER BY id LIMIT 2 OFFSET 1 FOR SHARE → o4|4; o5|5`,
			`SELECT id, n FROM orders WHERE id = 'o2' LIMIT 1 FOR SHARE → o2|12`,
			`SELECT id, n FROM orders WHERE id = 'o2' LIMIT 1 FOR KEY SHARE → o2|2`, // the key has not changed
			`SELECT id, n FROM orders WHERE id = 'o3' FOR KEY SHARE →`,
			`SELECT sum(n) FROM (SELECT n FROM orders WHERE n <> 12 FOR UPDATE) s → 20`,
			`INSERT INTO orders VALUES ('o6', '{}', 1) ON CONFLICT (id) DO NOTHING → 0`,
			`INSERT INTO orders VALUES ('o6', '{}', 1) ON CONFLICT (id) DO UPDATE SET n = orders.n + 1 RETURNING n → 7`,
			`INSERT INTO orders VALUES ('o1', '{}', 1) ON CONFLICT (id) DO UPDATE SET n = orders.n + 1 RETURNING n → 12`,
			`INSERT INTO orders VALUES ('o3', '{}', 1) ON CONFLICT (id) DO UPDATE SET n = orders.n + 1 RETURNING n → 1`,
			`INSERT INTO orders VALUES ('o3', '{}', 1) → 1`,
			`SELECT o.id FROM orders o, orders p WHERE p.n = o.n FOR UPDATE OF o → ERROR 40001`,
			`UPDATE orders SET n = (SELECT max(n) FROM orders) WHERE id = 'o1' → ERROR 40001`,
			`UPDATE orders SET id = id, n = n + 100 WHERE n <> 12 → ERROR 40001`,
		})
	}
}

// Above READ COMMITTED the first updater wins.
func TestNoRecheck(t *testing.T) {
	for _, level := range []txn.Isolation{txn.RepeatableRead, txn.Serializable} {
		stale(t, 3, level, []string{
			`UPDATE orders SET n = n + 100 WHERE id = 'o1' → ERROR 40001 could not serialize access due to concurrent update Key (id)=(o1) of relation "orders" was changed by`,
			`DELETE FROM orders WHERE id = 'o3' → ERROR 40001 could not serialize access due to concurrent delete Key (id)=(o3) of relation "orders" was deleted by`,
			`SELECT id, n FROM orders WHERE id = 'o1' FOR UPDATE → ERROR 40001`,
			`SELECT id, n FROM orders ORDER BY n LIMIT 1 FOR SHARE SKIP LOCKED → ERROR 40001`,
			`INSERT INTO orders VALUES ('o6', '{}', 1) ON CONFLICT (id) DO NOTHING → ERROR 40001`,
			`INSERT INTO orders VALUES ('o6', '{}', 1) ON CONFLICT (id) DO UPDATE SET n = orders.n + 1 → ERROR 40001`,
			`INSERT INTO orders VALUES ('o4', '{}', 1) ON CONFLICT (id) DO NOTHING → 0`,
			`SELECT id, n FROM orders WHERE id = 'o4' FOR UPDATE → o4|4`,
			`UPDATE orders SET n = 0 WHERE id = 'o5' → 1`,
		})
	}
}

// Writes of the own transaction are no conflicts, and what it wrote is what it locks.
func TestRecheckOwnWrites(t *testing.T) {
	eachSize(t, txn.ReadCommitted, fiveRows+`
	x: UPDATE orders SET n = n + 10 → 5
	x: SELECT n FROM orders WHERE id = 'o1' FOR UPDATE → 11
	x: UPDATE orders SET n = n + 10 WHERE n > 11 → 4
	x: INSERT INTO orders VALUES ('o1', '{}', 7) ON CONFLICT (id) DO UPDATE SET n = orders.n + excluded.n RETURNING n → 18
	x: SELECT n FROM orders ORDER BY n FOR SHARE → 18; 22; 23; 24; 25
	x: DELETE FROM orders WHERE n > 18 → 4
	x: SELECT n FROM orders FOR UPDATE → 18
	x: commit
	z: SELECT id, n FROM orders → o1|18
	z: rollback
	`)
}

// SKIP LOCKED leaves out rows that others have locked, NOWAIT refuses, and LIMIT locks no more rows
// than it returns.
func TestLockedRows(t *testing.T) {
	const locked = `could not obtain lock on row in relation "orders" Key (id)=(o1) of relation "orders" is locked by another transaction.`
	for _, level := range []txn.Isolation{txn.ReadCommitted, txn.RepeatableRead} {
		for _, n := range []int{1, 3, 8} {
			script(t, n, level, fiveRows+`
			x: SELECT id FROM orders ORDER BY n LIMIT 1 FOR UPDATE SKIP LOCKED → o1
			y: SELECT id FROM orders ORDER BY n LIMIT 2 FOR UPDATE SKIP LOCKED → o2; o3
			z: SELECT id FROM orders ORDER BY n FOR UPDATE SKIP LOCKED → o4; o5
			z: rollback
			z: SELECT id FROM orders FOR SHARE SKIP LOCKED → ~o4; o5
			z: rollback
			z: SELECT id FROM orders WHERE id = 'o1' FOR UPDATE NOWAIT → ERROR 55P03 `+locked+`
			z: SELECT id FROM orders ORDER BY n FOR KEY SHARE NOWAIT → ERROR 55P03 `+locked+`
			x: rollback
			z: SELECT id FROM orders ORDER BY n LIMIT 1 FOR UPDATE NOWAIT → o1
			z: SELECT count(*) FROM orders → 5
			`)
		}
	}
}
