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
	tooLate  = "SET TRANSACTION ISOLATION LEVEL must be called before any query (SQLSTATE 25001)"
	noBlock  = " can only be used in transaction blocks (SQLSTATE 25P01)"
	division = "division by zero (SQLSTATE 22012)"
)

// Answers are PostgreSQL's.
func TestModes(t *testing.T) {
	a := newWorld(t).connect(t)
	script(a,
		"SHOW transaction_isolation", "read committed\nSHOW",
		"BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE", "BEGIN",
		"SHOW transaction_isolation; SHOW transaction_deferrable", "serializable\nSHOW\non\nSHOW",
		"COMMIT AND CHAIN; SHOW transaction_read_only; ROLLBACK", "COMMIT\non\nSHOW\nROLLBACK",
		"BEGIN; SELECT 1; SET TRANSACTION ISOLATION LEVEL SERIALIZABLE", "BEGIN\n1\nSELECT 1\n"+tooLate,
		"SELECT 1", aborted,
		"COMMIT AND CHAIN; SHOW transaction_isolation; ROLLBACK", "ROLLBACK\nread committed\nSHOW\nROLLBACK",
		"BEGIN; SET transaction_isolation = 'serializable'; SHOW transaction_isolation; ROLLBACK", "BEGIN\nSET\nserializable\nSHOW\nROLLBACK",
		"BEGIN; SAVEPOINT a; SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
		"BEGIN\nSAVEPOINT\nSET TRANSACTION ISOLATION LEVEL must not be called in a subtransaction (SQLSTATE 25001)",
		"ROLLBACK; BEGIN READ ONLY; SELECT 1; SET TRANSACTION READ WRITE",
		"ROLLBACK\nBEGIN\n1\nSELECT 1\ntransaction read-write mode must be set before any query (SQLSTATE 25001)",
		"ROLLBACK; BEGIN; SAVEPOINT a; SET TRANSACTION READ ONLY; RELEASE a; SHOW transaction_read_only; ROLLBACK",
		"ROLLBACK\nBEGIN\nSAVEPOINT\nSET\nRELEASE\noff\nSHOW\nROLLBACK",
		"SELECT set_config('transaction_isolation', 'serializable', true)", tooLate,
		"SELECT 1; BEGIN ISOLATION LEVEL SERIALIZABLE", "1\nSELECT 1\n"+tooLate,
		"SET TRANSACTION READ ONLY", "WARNING: SET TRANSACTION can only be used in transaction blocks\nSET",
		"SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY", "SET",
		"SHOW default_transaction_isolation; SHOW transaction_read_only", "repeatable read\nSHOW\non\nSHOW",
		"CREATE TABLE n (id int PRIMARY KEY)", "cannot execute CREATE TABLE in a read-only transaction (SQLSTATE 25006)",
		"RESET default_transaction_isolation; RESET default_transaction_read_only", "RESET\nRESET",
		"COMMIT AND CHAIN", "COMMIT AND CHAIN"+noBlock,
		"SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED; SHOW transaction_isolation", "SET\nread uncommitted\nSHOW",
	)
}

func TestSavepoints(t *testing.T) {
	a := newWorld(t).connect(t)
	script(a,
		"CREATE TABLE s (id int PRIMARY KEY, v int)", "CREATE TABLE",
		"SAVEPOINT x", "SAVEPOINT"+noBlock,
		"SELECT 1; SAVEPOINT x", "1\nSELECT 1\nSAVEPOINT"+noBlock,
		"ROLLBACK TO x", "ROLLBACK TO SAVEPOINT"+noBlock,
		"BEGIN; RELEASE x", "BEGIN\nsavepoint \"x\" does not exist (SQLSTATE 3B001)",
		"ROLLBACK", "ROLLBACK",
		"BEGIN; INSERT INTO s VALUES (1, 1); SAVEPOINT x; INSERT INTO s VALUES (2, 1); SAVEPOINT x; INSERT INTO s VALUES (3, 1)",
		"BEGIN\nINSERT 0 1\nSAVEPOINT\nINSERT 0 1\nSAVEPOINT\nINSERT 0 1",
		"ROLLBACK TO x; SELECT count(*) FROM s", "ROLLBACK\n2\nSELECT 1",
		"INSERT INTO s VALUES (1, 1)", `duplicate key value violates unique constraint "s_pkey" (SQLSTATE 23505): Key (id)=(1) already exists.`,
		"RELEASE x", aborted,
		"ROLLBACK TO x; RELEASE x; ROLLBACK TO x; SELECT count(*) FROM s", "ROLLBACK\nRELEASE\nROLLBACK\n1\nSELECT 1",
		"SAVEPOINT y; DELETE FROM s; RELEASE y; COMMIT", "SAVEPOINT\nDELETE 1\nRELEASE\nCOMMIT",
		"SELECT count(*) FROM s", "0\nSELECT 1",
	)
}

// What PostgreSQL 15 answers too.
func TestSettingsFollowSavepoints(t *testing.T) {
	a := newWorld(t).connect(t)
	script(a,
		"SET work_mem = '5MB'; BEGIN; SET work_mem = '6MB'; SAVEPOINT a; SET work_mem = '7MB'; ROLLBACK TO a; SHOW work_mem", "SET\nBEGIN\nSET\nSAVEPOINT\nSET\nROLLBACK\n6MB\nSHOW",
		"SET LOCAL work_mem = '8MB'; RELEASE a; SHOW work_mem; COMMIT; SHOW work_mem", "SET\nRELEASE\n8MB\nSHOW\nCOMMIT\n6MB\nSHOW",
		"BEGIN; SET LOCAL work_mem = '9MB'; SAVEPOINT a; SET work_mem = '10MB'; COMMIT; SHOW work_mem", "BEGIN\nSET\nSAVEPOINT\nSET\nCOMMIT\n10MB\nSHOW",
		"SET work_mem = '11MB'; SELECT 1 / 0", "SET\n"+division,
		"SHOW work_mem", "10MB\nSHOW",
		"BEGIN; SET my.own = 'x'; ROLLBACK; SHOW my.own", "BEGIN\nSET\nROLLBACK\n\nSHOW",
		"RESET my.own; SHOW my.own", "RESET\n\nSHOW",
		"SHOW my.other", `unrecognized configuration parameter "my.other" (SQLSTATE 42704)`,
	)
}

func TestReadCommitted(t *testing.T) {
	w := newWorld(t)
	a, b := w.connect(t), w.connect(t)
	a.want("CREATE TABLE r (id int PRIMARY KEY, v int)", "CREATE TABLE")
	a.want("INSERT INTO r SELECT g, g FROM generate_series(1, 9) g", "INSERT 0 9")
	a.want("BEGIN; SELECT sum(v) FROM r", "BEGIN\n45\nSELECT 1")
	a.want("DECLARE c CURSOR FOR SELECT sum(v) FROM r", "DECLARE CURSOR")
	b.want("UPDATE r SET v = v + 1", "UPDATE 9")
	a.want("SELECT sum(v) FROM r", "54\nSELECT 1") // a fuzzy read is allowed here
	a.want("FETCH c", "45\nFETCH 1")               // the cursor shows what was there when it was declared
	a.want("UPDATE r SET v = v + 1 WHERE id = 1; COMMIT", "UPDATE 1\nCOMMIT")
	a.want("SELECT v FROM r WHERE id = 1", "3\nSELECT 1")

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

func TestSerializable(t *testing.T) {
	w := newWorld(t)
	a, b := w.connect(t), w.connect(t)
	a.want("CREATE TABLE d (id int PRIMARY KEY, on_call bool)", "CREATE TABLE")
	for _, level := range []string{"REPEATABLE READ", "SERIALIZABLE"} {
		a.answer("DELETE FROM d")
		a.want("INSERT INTO d VALUES (1, true), (2, true)", "INSERT 0 2")
		a.want("BEGIN ISOLATION LEVEL "+level+"; SELECT count(*) FROM d WHERE on_call", "BEGIN\n2\nSELECT 1")
		b.want("BEGIN ISOLATION LEVEL "+level+"; SELECT count(*) FROM d WHERE on_call", "BEGIN\n2\nSELECT 1")
		a.want("UPDATE d SET on_call = false WHERE id = 1; COMMIT", "UPDATE 1\nCOMMIT")
		got := b.answer("UPDATE d SET on_call = false WHERE id = 2; COMMIT")
		if skew := got == "UPDATE 1\nCOMMIT"; skew != (level == "REPEATABLE READ") {
			t.Errorf("write skew at %s: %s", level, got)
		}
		b.answer("ROLLBACK")
	}
}

func TestCursorsHold(t *testing.T) {
	a := newWorld(t).connect(t)
	a.want("CREATE TABLE h (id int PRIMARY KEY)", "CREATE TABLE")
	a.want("INSERT INTO h SELECT generate_series(1, 5)", "INSERT 0 5")
	script(a,
		"BEGIN; DECLARE h CURSOR WITH HOLD FOR SELECT id FROM h ORDER BY id; FETCH 2 h; DELETE FROM h WHERE id = 3; COMMIT",
		"BEGIN\nDECLARE CURSOR\n1\n2\nFETCH 2\nDELETE 1\nCOMMIT",
		"DELETE FROM h; FETCH h", "DELETE 4\n3\nFETCH 1",
		"BEGIN; SELECT 1 / 0", "BEGIN\n"+division,
		"FETCH h", aborted,
		"ROLLBACK; FETCH ALL h; CLOSE h", "ROLLBACK\n4\n5\nFETCH 2\nCLOSE CURSOR",
		"BEGIN; DECLARE g CURSOR WITH HOLD FOR SELECT 1; ROLLBACK; FETCH g", "BEGIN\nDECLARE CURSOR\nROLLBACK\ncursor \"g\" does not exist (SQLSTATE 34000)",
		"BEGIN; DECLARE o CURSOR FOR SELECT generate_series(1, 3); FETCH o; SAVEPOINT s; FETCH o; DECLARE i CURSOR FOR SELECT 1; ROLLBACK TO s; FETCH o",
		"BEGIN\nDECLARE CURSOR\n1\nFETCH 1\nSAVEPOINT\n2\nFETCH 1\nDECLARE CURSOR\nROLLBACK\n3\nFETCH 1",
		"FETCH i", "cursor \"i\" does not exist (SQLSTATE 34000)",
	)
}

func TestSnapshots(t *testing.T) {
	w := newWorld(t)
	a, b := w.connect(t), w.connect(t)
	a.want("CREATE TABLE n (id int PRIMARY KEY)", "CREATE TABLE")
	a.want("INSERT INTO n VALUES (1)", "INSERT 0 1")
	a.want("BEGIN ISOLATION LEVEL REPEATABLE READ", "BEGIN")
	id, _, _ := strings.Cut(a.answer("SELECT pg_export_snapshot()"), "\n")
	b.want("INSERT INTO n VALUES (2)", "INSERT 0 1")
	set := "SET TRANSACTION SNAPSHOT '" + id + "'"
	script(b,
		"BEGIN ISOLATION LEVEL REPEATABLE READ; "+set+"; SELECT count(*) FROM n; COMMIT", "BEGIN\nSET\n1\nSELECT 1\nCOMMIT",
		"BEGIN; "+set, "BEGIN\na snapshot-importing transaction must have isolation level SERIALIZABLE or REPEATABLE READ (SQLSTATE 0A000)",
		"ROLLBACK; BEGIN ISOLATION LEVEL SERIALIZABLE; "+set,
		"ROLLBACK\nBEGIN\na serializable transaction cannot import a snapshot from a non-serializable transaction (SQLSTATE 0A000)",
		"ROLLBACK; BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1; "+set,
		"ROLLBACK\nBEGIN\n1\nSELECT 1\nSET TRANSACTION SNAPSHOT must be called before any query (SQLSTATE 25001)",
	)
	a.want("COMMIT", "COMMIT")
	b.want("ROLLBACK; BEGIN ISOLATION LEVEL REPEATABLE READ; "+set, "ROLLBACK\nBEGIN\ninvalid snapshot identifier: \""+id+"\" (SQLSTATE 22023)")
	b.want("ROLLBACK", "ROLLBACK")

	a.want("BEGIN", "BEGIN") // READ COMMITTED has a snapshot to export too
	id, _, _ = strings.Cut(a.answer("SELECT pg_export_snapshot()"), "\n")
	b.want("INSERT INTO n VALUES (3)", "INSERT 0 1")
	b.want(imports("REPEATABLE READ", id)+"; SELECT count(*) FROM n; ROLLBACK", "BEGIN\nSET\n2\nSELECT 1\nROLLBACK")
	a.want("COMMIT; BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY", "COMMIT\nBEGIN")
	id, _, _ = strings.Cut(a.answer("SELECT pg_export_snapshot()"), "\n")
	script(b,
		imports("SERIALIZABLE", id), "BEGIN\na non-read-only serializable transaction cannot import a snapshot from a read-only transaction (SQLSTATE 0A000)",
		"ROLLBACK; "+imports("SERIALIZABLE READ ONLY DEFERRABLE", id),
		"ROLLBACK\nBEGIN\na snapshot-importing transaction must not be READ ONLY DEFERRABLE (SQLSTATE 0A000)",
		"ROLLBACK; "+imports("REPEATABLE READ READ ONLY DEFERRABLE", id), "ROLLBACK\nBEGIN\nSET",
		"ROLLBACK; "+imports("SERIALIZABLE READ ONLY", id)+"; SELECT count(*) FROM n; ROLLBACK", "ROLLBACK\nBEGIN\nSET\n3\nSELECT 1\nROLLBACK",
	)
}

func imports(modes, id string) string {
	return "BEGIN ISOLATION LEVEL " + modes + "; SET TRANSACTION SNAPSHOT '" + id + "'"
}

// TestSnapshotOfThePast: an exported snapshot of the past is the past for the importing transaction too.
func TestSnapshotOfThePast(t *testing.T) {
	w := newWorld(t)
	a, b := w.connect(t), w.connect(t)
	a.want("CREATE TABLE p (id int PRIMARY KEY)", "CREATE TABLE")
	a.want("INSERT INTO p VALUES (1)", "INSERT 0 1")
	before, _, _ := strings.Cut(a.answer("SELECT clock_timestamp() FROM pg_sleep(0.01)"), "\n")
	a.want("SELECT pg_sleep(0.01)", "\nSELECT 1")
	a.want("INSERT INTO p VALUES (2)", "INSERT 0 1")
	a.want("BEGIN; SET LOCAL sherd.as_of = '"+before+"'", "BEGIN\nSET")
	id, _, _ := strings.Cut(a.answer("SELECT pg_export_snapshot()"), "\n")
	b.want(imports("REPEATABLE READ", id)+"; SELECT count(*) FROM p; INSERT INTO p VALUES (3)",
		"BEGIN\nSET\n1\nSELECT 1\ncannot execute INSERT in a read-only transaction (SQLSTATE 25006)")
}

func TestAsOf(t *testing.T) {
	w := newWorld(t)
	a := w.connect(t)
	a.want("CREATE TABLE p (id int PRIMARY KEY)", "CREATE TABLE")
	a.want("INSERT INTO p VALUES (1)", "INSERT 0 1")
	before, _, _ := strings.Cut(a.answer("SELECT clock_timestamp() FROM pg_sleep(0.01)"), "\n")
	a.want("SELECT pg_sleep(0.01)", "\nSELECT 1")
	a.want("INSERT INTO p VALUES (2)", "INSERT 0 1")
	const readOnly = "cannot execute INSERT in a read-only transaction (SQLSTATE 25006)"
	script(a,
		"BEGIN; SET LOCAL sherd.as_of = '"+before+"'; SELECT count(*) FROM p; INSERT INTO p VALUES (3)", "BEGIN\nSET\n1\nSELECT 1\n"+readOnly,
		"ROLLBACK; SELECT count(*) FROM p", "ROLLBACK\n2\nSELECT 1",
		"BEGIN ISOLATION LEVEL REPEATABLE READ; SET TRANSACTION SNAPSHOT 'as of "+before+"'; SELECT count(*) FROM p; COMMIT", "BEGIN\nSET\n1\nSELECT 1\nCOMMIT",
		"BEGIN; SELECT 1; SET sherd.as_of = '-1s'", "BEGIN\n1\nSELECT 1\nsherd.as_of must be set before any query (SQLSTATE 25001)",
		"ROLLBACK; BEGIN; SAVEPOINT s; SET sherd.as_of = '"+before+"'; SELECT count(*) FROM p; ROLLBACK TO s; INSERT INTO p VALUES (3)",
		"ROLLBACK\nBEGIN\nSAVEPOINT\nSET\n1\nSELECT 1\nROLLBACK\n"+readOnly,
		"ROLLBACK; SET sherd.as_of = '2099-01-01'", "ROLLBACK\ncannot read as of 2099-01-01, which is in the future (SQLSTATE 22023)",
		"SELECT * FROM p AS OF SYSTEM TIME '-10s'", "AS OF SYSTEM TIME is not supported (SQLSTATE 0A000)",
	)
}

// A snapshot from before TRUNCATE is refused, where PostgreSQL shows an empty table.
func TestSnapshotBeforeTruncate(t *testing.T) {
	w := newWorld(t)
	a, b := w.connect(t), w.connect(t)
	script(a, "CREATE TABLE p (id int PRIMARY KEY)", "CREATE TABLE", "INSERT INTO p VALUES (1)", "INSERT 0 1")
	before, _, _ := strings.Cut(a.answer("SELECT clock_timestamp() FROM pg_sleep(0.01)"), "\n")
	b.want("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1; CREATE TABLE own (id int PRIMARY KEY); SELECT * FROM own", "BEGIN\n1\nSELECT 1\nCREATE TABLE\nSELECT 0")
	a.want("TRUNCATE p", "TRUNCATE TABLE")
	if got := b.answer("SELECT * FROM p"); !strings.Contains(got, "(SQLSTATE 40001)") {
		t.Error(got)
	}
	a.want("BEGIN; SET LOCAL sherd.as_of = '"+before+"'", "BEGIN\nSET")
	if got := a.answer("SELECT * FROM p"); !strings.HasPrefix(got, "snapshot too old (SQLSTATE 72000)") {
		t.Error(got)
	}
	a.want("ROLLBACK", "ROLLBACK")
	b.want("ROLLBACK; BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT * FROM p; ROLLBACK", "ROLLBACK\nBEGIN\nSELECT 0\nROLLBACK")
}

func TestScope(t *testing.T) {
	a := newWorld(t).connect(t)
	const refused = "transaction writes to more than one bucket (SQLSTATE 25000): sherd.txn_scope is \"bucket\"."
	script(a,
		"CREATE TABLE k (id text PRIMARY KEY, v int)", "CREATE TABLE",
		"SET sherd.txn_scope = 'bucket'; INSERT INTO k VALUES ('a', 1)", "SET\nINSERT 0 1",
		"INSERT INTO k VALUES ('b', 1), ('c', 1)", refused,
		"BEGIN; UPDATE k SET v = 2 WHERE id = 'a'; INSERT INTO k VALUES ('b', 1)", "BEGIN\nUPDATE 1\n"+refused,
		"ROLLBACK; BEGIN; SAVEPOINT s; INSERT INTO k VALUES ('b', 1); ROLLBACK TO s; INSERT INTO k VALUES ('c', 1); COMMIT",
		"ROLLBACK\nBEGIN\nSAVEPOINT\nINSERT 0 1\nROLLBACK\nINSERT 0 1\nCOMMIT",
		"SET sherd.txn_scope = 'fragment'; INSERT INTO k SELECT 'x' || g FROM generate_series(1, 50) g", "SET\ntransaction writes to more than one fragment (SQLSTATE 25000): sherd.txn_scope is \"fragment\".",
		"RESET sherd.txn_scope; BEGIN; INSERT INTO k SELECT 'x' || g FROM generate_series(1, 50) g; SET LOCAL sherd.txn_scope = 'bucket'; DELETE FROM k",
		"RESET\nBEGIN\nINSERT 0 50\nSET\n"+refused,
		"ROLLBACK", "ROLLBACK",
	)
}

// In a failed transaction a client may end it, and ask about statements that return no rows.
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

// The first query of a transaction with one snapshot takes it, whether it reads rows or not; what only sets the transaction up does not.
func TestFirstQueryTakesSnapshot(t *testing.T) {
	w := newWorld(t)
	a, b := w.connect(t), w.connect(t)
	a.want("CREATE TABLE f (id int PRIMARY KEY)", "CREATE TABLE")
	for _, first := range []struct {
		statements, answer string
		fixes              bool
	}{
		{"SELECT 1", "1\nSELECT 1", true},
		{"INSERT INTO f VALUES (1000)", "INSERT 0 1", true},
		{"SELECT id FROM f WHERE false", "SELECT 0", true},
		{"DELETE FROM f WHERE id = 0", "DELETE 0", true},
		{"PREPARE p AS SELECT id FROM f; DEALLOCATE p", "PREPARE\nDEALLOCATE", true},
		{"CREATE TABLE g (id int PRIMARY KEY)", "CREATE TABLE", true},
		{"SHOW transaction_isolation", "repeatable read\nSHOW", false},
		{"SET LOCAL work_mem = '8MB'", "SET", false},
		{"SAVEPOINT a", "SAVEPOINT", false},
		{"LOCK TABLE f IN ROW SHARE MODE", "LOCK TABLE", false},
	} {
		b.answer("TRUNCATE f")
		a.want("BEGIN ISOLATION LEVEL REPEATABLE READ", "BEGIN")
		a.want(first.statements, first.answer)
		b.want("INSERT INTO f VALUES (1)", "INSERT 0 1")
		want := "1\nSELECT 1"
		if first.fixes {
			want = "0\nSELECT 1"
		}
		if got := a.answer("SELECT count(*) FROM f WHERE id = 1"); got != want {
			t.Errorf("after %s: %s, want %s", first.statements, got, want)
		}
		a.want("ROLLBACK", "ROLLBACK")
	}
}

// What was defined before a snapshot is none of its conflicts, whoever has looked at it since.
func TestSnapshotAfterDefinitions(t *testing.T) {
	w := newWorld(t)
	a, b := w.connect(t), w.connect(t)
	script(b,
		"CREATE TABLE one (id int PRIMARY KEY, v int); CREATE TABLE two (id int PRIMARY KEY, v int)", "CREATE TABLE\nCREATE TABLE",
		"INSERT INTO two VALUES (1, 1)", "INSERT 0 1",
		"CREATE INDEX ON two (v)", "CREATE INDEX",
		"TRUNCATE one", "TRUNCATE TABLE",
	)
	script(a,
		"BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1", "BEGIN\n1\nSELECT 1",
		"SELECT count(*) FROM one; SELECT count(*) FROM two; COMMIT", "0\nSELECT 1\n1\nSELECT 1\nCOMMIT",
	)
}

// A long answer to a statement that locks rows after a join is held until all are locked, so that it can be run again without the client knowing.
func TestLockedJoinIsAnsweredWhole(t *testing.T) {
	w := newWorld(t)
	a, b := w.connect(t), w.connect(t)
	script(a,
		"CREATE TABLE lj (id int PRIMARY KEY, v int); CREATE TABLE rj (id int PRIMARY KEY, v int)", "CREATE TABLE\nCREATE TABLE",
		"INSERT INTO lj SELECT g, g FROM generate_series(1, 1000) g; INSERT INTO rj SELECT g, g FROM generate_series(1, 1000) g", "INSERT 0 1000\nINSERT 0 1000",
	)
	for i, level := range []string{"READ COMMITTED", "REPEATABLE READ"} {
		a.want("BEGIN; UPDATE lj SET v = 0 WHERE id = 900", "BEGIN\nUPDATE 1")
		if i == 0 {
			b.want("BEGIN", "BEGIN")
		}
		b.want("SET default_transaction_isolation = '"+level+"'", "SET") // alone it is run again at each level
		answer := later(t, b, "SELECT lj.id, lj.v FROM lj JOIN rj USING (id) ORDER BY lj.id FOR UPDATE OF lj")
		a.want("COMMIT", "COMMIT")
		lines := strings.Split(answer(), "\n")
		if len(lines) != 1001 || lines[0] != "1|1" || lines[899] != "900|0" || lines[1000] != "SELECT 1000" {
			t.Errorf("%s: %d lines, the last %q", level, len(lines), lines[len(lines)-1])
		}
		b.answer("ROLLBACK")
	}
}
