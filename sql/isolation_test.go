package sql_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
)

// script runs query strings on one session and compares what each answers.
func script(c *client, steps ...string) {
	c.t.Helper()
	for i := 0; i+1 < len(steps); i += 2 {
		c.want(steps[i], steps[i+1])
	}
}

const (
	aborted  = "current transaction is aborted, commands ignored until end of transaction block (SQLSTATE 25P02)"
	division = "division by zero (SQLSTATE 22012)"
)

// TestReadCommittedCounter: increments in transactions that wait for each other are all counted.
func TestReadCommittedCounter(t *testing.T) {
	w := newWorld(t)
	a := w.connect(t)
	a.want("CREATE TABLE r (id int PRIMARY KEY, v int)", "CREATE TABLE")
	a.want("INSERT INTO r VALUES (2, 3)", "INSERT 0 1")
	const sessions, each = 4, 20
	var wg sync.WaitGroup
	for range sessions {
		c := w.connect(t)
		wg.Go(func() {
			for range each {
				c.want("BEGIN; UPDATE r SET v = v + 1 WHERE id = 2; COMMIT", "BEGIN\nUPDATE 1\nCOMMIT")
			}
		})
	}
	wg.Wait()
	a.want("SELECT v - 3 FROM r WHERE id = 2", "80\nSELECT 1")
}

// In a failed transaction a client may end it, and describe statements that return no rows.
func TestFailedState(t *testing.T) {
	a := newWorld(t).connect(t)
	ctx := t.Context()
	must(t, a.s.Parse(ctx, "rows", "SELECT 1", nil))
	must(t, a.s.Parse(ctx, "end", "ROLLBACK", nil))
	a.want("BEGIN; SELECT 1 / 0", "BEGIN\n"+division)
	failed := func(what string, err error) {
		t.Helper()
		if !pgerr.Is(err, pgerr.InFailedSQLTransaction) {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := a.s.DescribeStatement(ctx, "rows")
	failed("Describe", err)
	failed("Parse", a.s.Parse(ctx, "", "SELECT 2", nil))
	failed("Bind", a.s.Bind(ctx, "", "rows", nil))
	if err := a.s.Parse(ctx, "", "SELEKT", nil); !pgerr.Is(err, pgerr.SyntaxError) {
		t.Errorf("Parse of nonsense: %v", err)
	}
	_, err = a.s.DescribeStatement(ctx, "end")
	must(t, err)
	must(t, a.s.Bind(ctx, "", "end", nil))
	r := &recorder{env: a.s.Env}
	_, err = a.s.Execute(ctx, "", 0, r)
	must(t, err)
	a.want("SELECT 1", "1\nSELECT 1")
}

// A write with RETURNING that is fetched in parts happens at once.
func TestReturningInParts(t *testing.T) {
	a := newWorld(t).connect(t)
	ctx := t.Context()
	a.want("CREATE TABLE q (id int PRIMARY KEY)", "CREATE TABLE")
	must(t, a.s.Parse(ctx, "ins", "INSERT INTO q SELECT generate_series(1, 3) RETURNING id", nil))
	must(t, a.s.Bind(ctx, "p", "ins", nil))
	columns, err := a.s.DescribePortal(ctx, "p")
	must(t, err)
	r := &recorder{env: a.s.Env, columns: columns.Columns}
	suspended, err := a.s.Execute(ctx, "p", 2, r)
	must(t, err)
	if !suspended {
		t.Error("all rows at once")
	}
	_, err = a.s.Execute(ctx, "p", 0, r)
	must(t, err)
	must(t, a.s.Sync(ctx))
	if got := r.out.String(); got != "1\n2\n3\nINSERT 0 3\n" {
		t.Errorf("got %q", got)
	}
	a.want("SELECT count(*) FROM q", "3\nSELECT 1")
}

// The rows of a locking statement over a join are held until all are locked, so that it can be run
// again without the client's notice.
func TestLockedJoinIsAnsweredWhole(t *testing.T) {
	w := newWorld(t)
	a, b := w.connect(t), w.connect(t)
	script(a,
		"CREATE TABLE lj (id int PRIMARY KEY, v int); CREATE TABLE rj (id int PRIMARY KEY, v int)",
		"CREATE TABLE\nCREATE TABLE",
		"INSERT INTO lj SELECT g, g FROM generate_series(1, 1000) g; INSERT INTO rj SELECT g, g "+
			"FROM generate_series(1, 1000) g", "INSERT 0 1000\nINSERT 0 1000",
	)
	for i, level := range []string{"READ COMMITTED", "REPEATABLE READ"} {
		a.want("BEGIN; UPDATE lj SET v = 0 WHERE id = 900", "BEGIN\nUPDATE 1")
		if i == 0 {
			b.want("BEGIN", "BEGIN")
		}
		b.want("SET default_transaction_isolation = '"+level+"'", "SET") // autocommit: it is run again at each level
		answer := later(t, b, "SELECT lj.id, lj.v FROM lj JOIN rj USING (id) ORDER BY lj.id FOR UPDATE OF lj")
		a.want("COMMIT", "COMMIT")
		lines := strings.Split(answer(), "\n")
		if len(lines) != 1001 || lines[0] != "1|1" || lines[899] != "900|0" || lines[1000] != "SELECT 1000" {
			t.Errorf("%s: %d lines, the last %q", level, len(lines), lines[len(lines)-1])
		}
		b.answer("ROLLBACK")
	}
}
