package sql_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
)

// Each case is a script of sessions; everything shares one cluster, each case has a table of its own.
func TestTransactions(t *testing.T) {
	w := newWorld(t)
	for name, run := range map[string]func(t *testing.T, a, b *client, table string){
		"statement over fragments is atomic": atomicStatement,
		"snapshot is stable":                 stableSnapshot,
		"first updater wins":                 firstUpdaterWins,
		"failed transaction":                 failedTransaction,
		"query strings":                      queryStrings,
		"copy failure leaves nothing":        copyFailure,
		"cursors":                            cursors,
		"timeouts":                           timeouts,
		"session end frees locks":            sessionEnd,
		"pipeline":                           pipeline,
	} {
		t.Run(name, func(t *testing.T) {
			a, b := w.connect(t), w.connect(t)
			table := strings.ReplaceAll(name, " ", "_")
			a.want("CREATE TABLE "+table+" (id int PRIMARY KEY, v int CHECK (v > 0))", "CREATE TABLE")
			a.want("INSERT INTO "+table+" SELECT g, g FROM generate_series(1, 9) g", "INSERT 0 9")
			run(t, a, b, table)
		})
	}
}

func atomicStatement(t *testing.T, a, b *client, table string) {
	a.answer("INSERT INTO " + table + " SELECT g, 300 - g FROM generate_series(100, 400) g") // v = 0 at 300
	a.want("SELECT count(*) FROM "+table, "9\nSELECT 1")
	a.answer("INSERT INTO " + table + " SELECT g, 1 FROM generate_series(5, 50) g") // 5 to 9 are there
	b.want("SELECT count(*), sum(v) FROM "+table, "9|45\nSELECT 1")
	a.answer("UPDATE " + table + " SET v = v - 5")
	b.want("SELECT count(*), sum(v) FROM "+table, "9|45\nSELECT 1")
}

func stableSnapshot(t *testing.T, a, b *client, table string) {
	a.want("BEGIN ISOLATION LEVEL REPEATABLE READ", "BEGIN")
	a.want("SELECT sum(v) FROM "+table, "45\nSELECT 1")
	b.want("UPDATE "+table+" SET v = v + 1", "UPDATE 9")
	b.want("DELETE FROM "+table+" WHERE id = 9", "DELETE 1")
	a.want("SELECT sum(v) FROM "+table, "45\nSELECT 1")
	a.want("INSERT INTO "+table+" VALUES (20, 5) RETURNING id", "20\nINSERT 0 1")
	a.want("SELECT sum(v) FROM "+table, "50\nSELECT 1")
	b.want("SELECT sum(v) FROM "+table, "44\nSELECT 1")
	a.want("COMMIT", "COMMIT")
	a.want("SELECT sum(v) FROM "+table, "49\nSELECT 1")
}

func firstUpdaterWins(t *testing.T, a, b *client, table string) {
	a.want("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT v FROM "+table+" WHERE id = 1", "BEGIN\n1\nSELECT 1")
	b.want("UPDATE "+table+" SET v = 10 WHERE id = 1", "UPDATE 1")
	if got := a.answer("UPDATE " + table + " SET v = v + 1 WHERE id = 1"); !strings.HasPrefix(got, "could not serialize access due to concurrent update (SQLSTATE 40001)") {
		t.Error(got)
	}
	a.want("COMMIT", "ROLLBACK")
	a.want("SELECT v FROM "+table+" WHERE id = 1", "10\nSELECT 1")
}

func failedTransaction(t *testing.T, a, b *client, table string) {
	const ignored = "current transaction is aborted, commands ignored until end of transaction block (SQLSTATE 25P02)"
	a.want("BEGIN; INSERT INTO "+table+" VALUES (30, 1)", "BEGIN\nINSERT 0 1")
	a.want("SELECT 1 / 0", "division by zero (SQLSTATE 22012)")
	a.want("SELECT 1", ignored)
	a.want("SET work_mem = '1MB'", ignored)
	if err := a.s.Parse(t.Context(), "", "SELECT 1", nil); !pgerr.Is(err, pgerr.InFailedSQLTransaction) {
		t.Errorf("Parse in a failed transaction: %v", err)
	}
	a.want("COMMIT", "ROLLBACK")
	b.want("INSERT INTO "+table+" VALUES (30, 2)", "INSERT 0 1")
}

func queryStrings(t *testing.T, a, b *client, table string) {
	one, two := "INSERT INTO "+table+" VALUES (60, 1); ", "INSERT INTO "+table+" VALUES (61, 1); "
	a.want(one+"SELECT 1 / 0", "INSERT 0 1\ndivision by zero (SQLSTATE 22012)")
	a.want(one+"ROLLBACK", "INSERT 0 1\nWARNING: there is no transaction in progress\nROLLBACK")
	b.want("SELECT count(*) FROM "+table, "9\nSELECT 1")
	a.answer(one + "COMMIT; " + two + "SELECT 1 / 0")
	b.want("SELECT count(*) FROM "+table, "10\nSELECT 1")
	a.want(two+"BEGIN", "INSERT 0 1\nBEGIN")
	b.want("SELECT count(*) FROM "+table, "10\nSELECT 1")
	a.want("ROLLBACK", "ROLLBACK")
	b.want("SELECT count(*) FROM "+table, "10\nSELECT 1")
}

func copyFailure(t *testing.T, a, b *client, table string) {
	r := &recorder{env: a.s.Env, lines: []string{"70\t1", "71\t1", "72\tx"}}
	if err := a.s.Simple(t.Context(), "COPY "+table+" FROM STDIN", r); !pgerr.Is(err, pgerr.InvalidTextRepresentation) {
		t.Errorf("COPY: %v", err)
	}
	b.want("SELECT count(*) FROM "+table, "9\nSELECT 1")
	r = &recorder{env: a.s.Env, lines: []string{"70\t1", "1\t1"}}
	if err := a.s.Simple(t.Context(), "COPY "+table+" FROM STDIN", r); !pgerr.Is(err, pgerr.UniqueViolation) {
		t.Errorf("COPY: %v", err)
	}
	b.want("SELECT count(*) FROM "+table, "9\nSELECT 1")
}

func cursors(t *testing.T, a, b *client, table string) {
	a.want("DECLARE c CURSOR FOR SELECT 1", "DECLARE CURSOR can only be used in transaction blocks (SQLSTATE 25P01)")
	a.want("BEGIN; DECLARE c CURSOR FOR SELECT v FROM "+table+" ORDER BY id", "BEGIN\nDECLARE CURSOR")
	a.want("FETCH 2 FROM c; MOVE 2 FROM c", "1\n2\nFETCH 2\nMOVE 2")
	a.want("UPDATE "+table+" SET v = 100", "UPDATE 9")
	a.want("FETCH ALL FROM c; FETCH c", "5\n6\n7\n8\n9\nFETCH 5\nFETCH 0")
	a.want("CLOSE c; FETCH c", "CLOSE CURSOR\ncursor \"c\" does not exist (SQLSTATE 34000)")
	a.want("ROLLBACK", "ROLLBACK")
}

func timeouts(t *testing.T, a, b *client, table string) {
	a.want("SET statement_timeout = '50ms'", "SET")
	a.want("SELECT count(*) FROM generate_series(1, 1000000000)", "canceling statement due to statement timeout (SQLSTATE 57014)")
	a.want("RESET statement_timeout; SELECT 1", "RESET\n1\nSELECT 1")
	b.want("BEGIN; UPDATE "+table+" SET v = 2 WHERE id = 1", "BEGIN\nUPDATE 1")
	a.want("SET lock_timeout = '20ms'", "SET")
	a.want("UPDATE "+table+" SET v = 3 WHERE id = 1", "canceling statement due to lock timeout (SQLSTATE 55P03)")
	b.want("COMMIT", "COMMIT")
	a.want("RESET lock_timeout; UPDATE "+table+" SET v = 3 WHERE id = 1", "RESET\nUPDATE 1")
}

func sessionEnd(t *testing.T, a, b *client, table string) {
	b.want("BEGIN; UPDATE "+table+" SET v = 2 WHERE id = 1; DECLARE c CURSOR FOR SELECT * FROM "+table+" ORDER BY id; FETCH 1 FROM c; SELECT 1 / 0",
		"BEGIN\nUPDATE 1\nDECLARE CURSOR\n1|2\nFETCH 1\ndivision by zero (SQLSTATE 22012)")
	a.want("SET statement_timeout = '60s'", "SET")
	a.want("UPDATE "+table+" SET v = 3 WHERE id = 1", "UPDATE 1")
	b.want("ROLLBACK; BEGIN; UPDATE "+table+" SET v = 2 WHERE id = 1", "ROLLBACK\nBEGIN\nUPDATE 1")
	b.s.Close()
	a.want("UPDATE "+table+" SET v = 3 WHERE id = 1", "UPDATE 1")
	a.want("DROP TABLE "+table, "DROP TABLE")
}

// pipeline: what precedes an error in a pipeline is undone with it, and named portals do not outlive Sync.
func pipeline(t *testing.T, a, b *client, table string) {
	ctx := t.Context()
	must(t, a.s.Parse(ctx, "ins", "INSERT INTO "+table+" VALUES (80, 1)", nil))
	must(t, a.s.Parse(ctx, "bad", "SELECT 1 / 0", nil))
	r := &recorder{env: a.s.Env}
	execute := func(statement string) error {
		if err := a.s.Bind(ctx, "p"+statement, statement, nil); err != nil {
			return err
		}
		_, err := a.s.Execute(ctx, "p"+statement, 0, r)
		return err
	}
	must(t, execute("ins"))
	if err := execute("bad"); !pgerr.Is(err, pgerr.DivisionByZero) {
		t.Errorf("pipeline: %v", err)
	}
	must(t, a.s.Sync(ctx))
	b.want("SELECT count(*) FROM "+table, "9\nSELECT 1")
	must(t, execute("ins"))
	must(t, a.s.Sync(ctx))
	b.want("SELECT count(*) FROM "+table, "10\nSELECT 1")
	if _, err := a.s.Execute(ctx, "pins", 0, r); !pgerr.Is(err, pgerr.InvalidCursorName) {
		t.Errorf("a portal after Sync: %v", err)
	}
}

// Autocommit increments are run again after a conflict; none is lost.
func TestCounter(t *testing.T) {
	const sessions, each = 4, 25
	w := newWorld(t)
	a := w.connect(t)
	a.want("CREATE TABLE n (id text PRIMARY KEY, v int)", "CREATE TABLE")
	a.want("INSERT INTO n VALUES ('x', 0)", "INSERT 0 1")
	start := time.Now()
	var wg sync.WaitGroup
	for range sessions {
		c := w.connect(t)
		wg.Go(func() {
			for range each {
				c.want("UPDATE n SET v = v + 1 WHERE id = 'x'", "UPDATE 1")
			}
		})
	}
	wg.Wait()
	t.Logf("%d increments in %v", sessions*each, time.Since(start))
	a.want("SELECT v FROM n", "100\nSELECT 1")
}
