package sql_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sherddb/sherd/sql"
)

var (
	stamps   = regexp.MustCompile(`(at|of) [-0-9:.TZ+ ]*\d`)
	ordinals = regexp.MustCompile(`ransaction \d+`)
)

// masked leaves numbers of transactions and times out of an answer.
func masked(s string) string {
	return ordinals.ReplaceAllString(stamps.ReplaceAllString(s, "$1 TIME"), "ransaction N")
}

const (
	dependencies = "could not serialize access due to read/write dependencies among transactions (SQLSTATE 40001): "
	byOther      = ", which this transaction has read or looked for, was changed by transaction N, which committed at TIME, after this transaction's snapshot of TIME."
)

// TestConflictAtCommit: 40001 at COMMIT says which key it was in the words of SQL, and whose change.
func TestConflictAtCommit(t *testing.T) {
	w := newWorld(t)
	a, b := w.connect(t), w.connect(t)
	script(a,
		"CREATE TABLE seats (hall text, n int, taken bool, email text, PRIMARY KEY (hall, n))", "CREATE TABLE",
		"CREATE INDEX seats_email ON seats (email DESC); CREATE INDEX seats_far ON seats (email) WITH (scope = global)", "CREATE INDEX\nCREATE INDEX",
		"CREATE INDEX seats_lower ON seats (lower(email))", "CREATE INDEX",
		"CREATE TABLE log (n int)", "CREATE TABLE",
		"INSERT INTO seats SELECT 'big', g, false, 'u' || g FROM generate_series(1, 300) g", "INSERT 0 300",
	)
	for _, c := range []struct{ read, write, want string }{
		{"SELECT taken FROM seats WHERE hall = 'big' AND n = 1", "UPDATE seats SET taken = true WHERE n = 1",
			`Key (hall, n)=(big, 1) of relation "seats"`},
		{"SELECT count(*) FROM seats WHERE taken", "INSERT INTO seats VALUES ('small', 7, true, null)",
			`Key (hall, n)=(small, 7) of relation "seats"`},
		{"SELECT n FROM seats WHERE email = 'nobody'", "INSERT INTO seats VALUES ('small', 8, true, 'nobody')",
			`Key (email)=(nobody) of index "seats_far"`},
		{"SELECT n FROM seats WHERE lower(email) = 'somebody'", "INSERT INTO seats VALUES ('small', 9, true, 'Somebody')",
			`An entry of index "seats_lower"`},
	} {
		a.want("BEGIN ISOLATION LEVEL SERIALIZABLE", "BEGIN")
		a.answer(c.read)
		a.want("INSERT INTO log VALUES (1)", "INSERT 0 1")
		b.answer(c.write)
		if got, want := masked(a.answer("COMMIT")), dependencies+c.want+byOther; got != want {
			t.Errorf("%s\ngot  %s\nwant %s", c.read, got, want)
		}
	}
}

// TestTakenBy: 23505 names the transaction that was waited for, whatever index says so, and nobody who had committed before.
func TestTakenBy(t *testing.T) {
	w := newWorld(t)
	a, b := w.connect(t), w.connect(t)
	script(a,
		"CREATE TABLE taken (k text PRIMARY KEY, near text, far text)", "CREATE TABLE",
		"CREATE UNIQUE INDEX taken_far ON taken (far) WITH (scope = global)", "CREATE INDEX",
		"CREATE TABLE near (hall text, n int, seat int, PRIMARY KEY (hall, n))", "CREATE TABLE",
		"SELECT sherd.set_policy('near', '{\"Fields\": [\"hall\"], \"Range\": 1}')", "\nSELECT 1",
		"CREATE UNIQUE INDEX near_seat ON near (hall, seat) WITH (scope = local)", "CREATE INDEX",
	)
	const by = " Transaction N wrote it, which committed at TIME, while this one waited for it."
	for _, c := range []struct{ first, then, key string }{
		{"INSERT INTO taken VALUES ('a')", "INSERT INTO taken VALUES ('a')", `"taken_pkey" (SQLSTATE 23505): Key (k)=(a) already exists.`},
		{"INSERT INTO taken VALUES ('b', 'x', 'y')", "INSERT INTO taken VALUES ('c', 'x', 'y')", `"taken_far" (SQLSTATE 23505): Key (far)=(y) already exists.`},
		{"INSERT INTO taken VALUES ('d', 'x', 'z')", "UPDATE taken SET far = 'z' WHERE k = 'a'", `"taken_far" (SQLSTATE 23505): Key (far)=(z) already exists.`},
		{"INSERT INTO near VALUES ('h', 1, 8)", "INSERT INTO near VALUES ('h', 2, 8)", `"near_seat" (SQLSTATE 23505): Key (hall, seat)=(h, 8) already exists.`},
		{"INSERT INTO near VALUES ('h', 3, 9)", "UPDATE near SET seat = 9 WHERE n = 1", `"near_seat" (SQLSTATE 23505): Key (hall, seat)=(h, 9) already exists.`},
	} {
		a.answer("BEGIN")
		a.answer(c.first)
		done := b.background(w, c.then)
		a.want("COMMIT", "COMMIT")
		const says = "duplicate key value violates unique constraint "
		if got := masked(<-done); got != says+c.key+by {
			t.Errorf("%s\ngot  %s\nwant %s", c.then, got, says+c.key+by)
		}
		b.want(c.then, says+c.key)
	}
}

// TestOnConflictInSnapshot: ON CONFLICT above READ COMMITTED decides by no row that the transaction cannot see. Answers are PostgreSQL's.
func TestOnConflictInSnapshot(t *testing.T) {
	w := newWorld(t)
	a, b := w.connect(t), w.connect(t)
	a.want("CREATE TABLE oc (id int PRIMARY KEY, v int, u int UNIQUE)", "CREATE TABLE")
	const refused = "could not serialize access due to concurrent update (SQLSTATE 40001)"
	for _, c := range []struct{ other, do, want, left string }{
		{"UPDATE oc SET v = 2", "(1, 5, 5) ON CONFLICT DO NOTHING", refused, "1|2|1"},
		{"UPDATE oc SET v = 2", "(1, 5, 5) ON CONFLICT (id) DO NOTHING", refused, "1|2|1"},
		{"INSERT INTO oc VALUES (2, 2, 2)", "(2, 5, 5) ON CONFLICT DO NOTHING", refused, "1|1|1\n2|2|2"},
		{"DELETE FROM oc", "(1, 5, 5) ON CONFLICT DO NOTHING", "INSERT 0 1", "1|5|5"},
		{"DELETE FROM oc", "(1, 5, 5) ON CONFLICT (id) DO UPDATE SET v = 9", "INSERT 0 1", "1|5|5"},
		{"UPDATE oc SET v = 2", "(3, 3, 1) ON CONFLICT (u) DO NOTHING", refused, "1|2|1"},
		{"INSERT INTO oc VALUES (2, 2, 2)", "(3, 3, 2) ON CONFLICT (u) DO NOTHING", refused, "1|1|1\n2|2|2"},
		{"DELETE FROM oc", "(3, 3, 1) ON CONFLICT (u) DO NOTHING", "INSERT 0 1", "3|3|1"},
		{"DELETE FROM oc", "(3, 3, 1) ON CONFLICT (u) DO UPDATE SET v = 9", "INSERT 0 1", "3|3|1"},
		{"DELETE FROM oc; INSERT INTO oc VALUES (7, 7, 7)", "(1, 1, 1); UPDATE oc SET v = v + 1 WHERE id = 1", "INSERT 0 1\nUPDATE 1", "1|2|1\n7|7|7"},
		{"INSERT INTO oc VALUES (4, 4, 4)", "(1, 6, 6) ON CONFLICT DO NOTHING", "INSERT 0 0", "1|1|1\n4|4|4"},
		{"INSERT INTO oc VALUES (4, 4, 4)", "(5, 5, 5), (1, 1, 6), (6, 6, 1), (5, 5, 7) ON CONFLICT DO NOTHING", "INSERT 0 1", "1|1|1\n4|4|4\n5|5|5"},
	} {
		a.answer("DELETE FROM oc")
		a.want("INSERT INTO oc VALUES (1, 1, 1)", "INSERT 0 1")
		a.want("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT id FROM oc", "BEGIN\n1\nSELECT 1")
		b.answer(c.other)
		got, _, _ := strings.Cut(a.answer("INSERT INTO oc VALUES "+c.do), ": ")
		a.answer("COMMIT")
		rows := a.answer("SELECT * FROM oc ORDER BY id")
		left, _, _ := strings.Cut(rows, "\nSELECT")
		if got != c.want || left != c.left {
			t.Errorf("%s | %s\ngot  %s, left %s\nwant %s, left %s", c.other, c.do, got, left, c.want, c.left)
		}
	}
	a.checked()
}

// TestLogLockWaits: a wait for a row that lasts deadlock_timeout is in the log, and its end too, where log_lock_waits is on.
func TestLogLockWaits(t *testing.T) {
	w := newWorld(t)
	a, b := w.connect(t), w.connect(t)
	a.want("CREATE TABLE lw (id int PRIMARY KEY, v int); INSERT INTO lw VALUES (1, 1)", "CREATE TABLE\nINSERT 0 1")
	b.want("SET log_lock_waits = on; SET deadlock_timeout = '1ms'", "SET\nSET")
	a.want("BEGIN; UPDATE lw SET v = 2", "BEGIN\nUPDATE 1")
	done := b.background(w, "UPDATE lw SET v = 3")
	for !strings.Contains(w.log.String(), "still waiting for a lock") {
		time.Sleep(time.Millisecond)
	}
	a.want("COMMIT", "COMMIT")
	answers(t, done, "UPDATE 1")
	const row = `lock=row object="updating key (id)=(1) of relation \"lw\""`
	log := w.log.String()
	for _, want := range []string{`msg="still waiting for a lock" pid=2 ` + row, `blocked_by=[1]`, `msg="the wait for a lock is over" pid=2 ` + row} {
		if !strings.Contains(log, want) {
			t.Errorf("no %s in\n%s", want, log)
		}
	}
	before := len(log)
	a.want("BEGIN; UPDATE lw SET v = 2", "BEGIN\nUPDATE 1")
	b.want("SET log_lock_waits = off; SET lock_timeout = '20ms'; UPDATE lw SET v = 3",
		"SET\nSET\ncanceling statement due to lock timeout (SQLSTATE 55P03)")
	a.want("COMMIT", "COMMIT")
	if after := w.log.String()[before:]; strings.Contains(after, "lock") {
		t.Errorf("logged: %s", after)
	}
}

// TestDropDatabaseHeld: a database is not dropped under a prepared transaction, by force neither. Texts are PostgreSQL's.
func TestDropDatabaseHeld(t *testing.T) {
	w := newWorld(t)
	a := w.connect(t)
	a.want("CREATE DATABASE held", "CREATE DATABASE")
	s, err := w.server.NewSession(t.Context(), sql.StartupParams{User: "postgres", Database: "held", PID: 99})
	must(t, err)
	b := &client{t: t, s: s}
	b.want("CREATE TABLE h (id int PRIMARY KEY)", "CREATE TABLE")
	b.want("BEGIN; INSERT INTO h VALUES (1); PREPARE TRANSACTION 'one'", "BEGIN\nINSERT 0 1\nPREPARE TRANSACTION")
	s.Close()
	const one = " (SQLSTATE 55006): There is 1 prepared transaction using the database."
	script(a,
		"DROP DATABASE held", `database "held" is being accessed by other users`+one,
		"DROP DATABASE held WITH (FORCE)", `database "held" is being used by prepared transactions`+one,
		"ROLLBACK PREPARED 'one'", "prepared transaction belongs to another database (SQLSTATE 0A000)",
	)
	s, err = w.server.NewSession(t.Context(), sql.StartupParams{User: "postgres", Database: "held", PID: 100})
	must(t, err)
	b.s = s
	b.want("ROLLBACK PREPARED 'one'", "ROLLBACK PREPARED")
	s.Close()
	a.want("DROP DATABASE held", "DROP DATABASE")
}
