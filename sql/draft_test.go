package sql_test

import (
	"strings"
	"testing"
)

// Definitions belong to their transaction. Each case has its own pair of sessions; names do not meet.
func TestDefinitionsInTransactions(t *testing.T) {
	w := newWorld(t)
	for name, run := range map[string]func(t *testing.T, a, b *client){
		"nobody else sees a table before COMMIT":       draftIsHidden,
		"ROLLBACK leaves nothing":                      draftRolledBack,
		"savepoints":                                   draftSavepoints,
		"an error undoes the table and its rows":       draftFailed,
		"statements of one query string":               draftQueryString,
		"pipeline":                                     draftPipeline,
		"ids of a new collection":                      draftIDs,
		"TRUNCATE":                                     draftTruncate,
		"constraints hold for the transaction's rows":  draftConstraints,
		"the second of two that make one name waits":   draftSameName,
		"a changed table waits":                        draftLocks,
		"a statement that waited sees the new columns": draftReplans,
		"drafts circle":                                draftDeadlock,
		"plans of a draft are not kept":                draftPlans,
		"not in a block":                               draftForbidden,
		"another's change in between":                  draftRebase,
	} {
		t.Run(name, func(t *testing.T) { run(t, w.connect(t), w.connect(t)) })
	}
}

func draftIsHidden(t *testing.T, a, b *client) {
	a.want("BEGIN; CREATE TABLE h (id int PRIMARY KEY, v int); INSERT INTO h SELECT g, g FROM generate_series(1, 30) g", "BEGIN\nCREATE TABLE\nINSERT 0 30")
	a.want("SELECT count(*), sum(v) FROM h", "30|465\nSELECT 1")
	a.want("SELECT count(*) FROM pg_class WHERE relname = 'h'", "1\nSELECT 1")
	b.want("SELECT count(*) FROM pg_class WHERE relname = 'h'", "0\nSELECT 1")
	b.want("SELECT * FROM h", `relation "h" does not exist (SQLSTATE 42P01)`)
	a.want("COMMIT", "COMMIT")
	b.want("SELECT count(*), sum(v) FROM h", "30|465\nSELECT 1")
}

func draftRolledBack(t *testing.T, a, b *client) {
	a.want("BEGIN; CREATE SCHEMA rs; CREATE TABLE rs.r (id int PRIMARY KEY); INSERT INTO rs.r VALUES (1); CREATE ROLE rr; ALTER TABLE rs.r OWNER TO rr",
		"BEGIN\nCREATE SCHEMA\nCREATE TABLE\nINSERT 0 1\nCREATE ROLE\nALTER TABLE")
	a.want("ROLLBACK", "ROLLBACK")
	a.want("SELECT * FROM rs.r", `relation "rs.r" does not exist (SQLSTATE 42P01)`)
	b.want("CREATE SCHEMA rs; CREATE TABLE rs.r (k text PRIMARY KEY); SELECT * FROM rs.r", "CREATE SCHEMA\nCREATE TABLE\nSELECT 0")
	b.want("SELECT count(*) FROM pg_roles WHERE rolname = 'rr'", "0\nSELECT 1")
	a.want("BEGIN; DROP TABLE rs.r; ROLLBACK; SELECT * FROM rs.r", "BEGIN\nDROP TABLE\nROLLBACK\nSELECT 0")
}

func draftSavepoints(t *testing.T, a, b *client) {
	a.want("BEGIN; CREATE TABLE sp (id int PRIMARY KEY); INSERT INTO sp VALUES (1); SAVEPOINT s", "BEGIN\nCREATE TABLE\nINSERT 0 1\nSAVEPOINT")
	a.want("ALTER TABLE sp ADD COLUMN v int DEFAULT 7; INSERT INTO sp VALUES (2, 2); SELECT sum(v) FROM sp", "ALTER TABLE\nINSERT 0 1\n9\nSELECT 1")
	a.want("CREATE TABLE sp2 (id int PRIMARY KEY)", "CREATE TABLE")
	a.want("ROLLBACK TO s; SELECT * FROM sp", "ROLLBACK\n1\nSELECT 1")
	a.want("SELECT * FROM sp2", `relation "sp2" does not exist (SQLSTATE 42P01)`)
	a.want("ROLLBACK TO s; DROP TABLE sp; ROLLBACK TO s; COMMIT; SELECT * FROM sp", "ROLLBACK\nDROP TABLE\nROLLBACK\nCOMMIT\n1\nSELECT 1")
	b.want("SELECT * FROM sp", "1\nSELECT 1")
}

func draftFailed(t *testing.T, a, b *client) {
	a.want("BEGIN; CREATE TABLE fa (id int PRIMARY KEY); INSERT INTO fa VALUES (1); SELECT 1 / 0", "BEGIN\nCREATE TABLE\nINSERT 0 1\ndivision by zero (SQLSTATE 22012)")
	a.want("COMMIT; SELECT * FROM fa", "ROLLBACK\nrelation \"fa\" does not exist (SQLSTATE 42P01)")
}

func draftQueryString(t *testing.T, a, b *client) {
	a.want("CREATE TABLE qs (id int PRIMARY KEY); INSERT INTO qs VALUES (1); SELECT 1 / 0", "CREATE TABLE\nINSERT 0 1\ndivision by zero (SQLSTATE 22012)")
	b.want("SELECT * FROM qs", `relation "qs" does not exist (SQLSTATE 42P01)`)
	a.want("CREATE TABLE qs (id int PRIMARY KEY); INSERT INTO qs VALUES (1); SELECT * FROM qs", "CREATE TABLE\nINSERT 0 1\n1\nSELECT 1")
	b.want("SELECT * FROM qs", "1\nSELECT 1")
}

// draftPipeline sends what a driver sends in one go, and Sync only at the end.
func draftPipeline(t *testing.T, a, b *client) {
	send := func(text string) error {
		if err := a.s.Parse(t.Context(), "", text, nil); err != nil {
			return err
		}
		if err := a.s.Bind(t.Context(), "", "", nil); err != nil {
			return err
		}
		_, err := a.s.Execute(t.Context(), "", 0, &recorder{env: a.s.Env})
		return err
	}
	for _, last := range []string{"INSERT INTO pl VALUES (1)", "INSERT INTO pl VALUES (2)"} {
		for _, text := range []string{"CREATE TABLE pl (id int PRIMARY KEY)", "INSERT INTO pl VALUES (1)"} {
			if err := send(text); err != nil {
				t.Fatal(text, err)
			}
		}
		b.want("SELECT count(*) FROM pg_class WHERE relname = 'pl'", "0\nSELECT 1")
		_ = send(last)
		if err := a.s.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	b.want("SELECT * FROM pl ORDER BY id", "1\n2\nSELECT 2")
}

func draftIDs(t *testing.T, a, b *client) {
	a.want("BEGIN; CREATE TABLE ids (id text PRIMARY KEY, doc jsonb); INSERT INTO ids (doc) VALUES ('{}'), ('{}')", "BEGIN\nCREATE TABLE\nINSERT 0 2")
	a.want("SELECT id FROM ids ORDER BY id", "ids/1-A\nids/2-A\nSELECT 2")
	a.want("COMMIT", "COMMIT")
	b.want("INSERT INTO ids (doc) VALUES ('{}') RETURNING id", "ids/3-A\nINSERT 0 1")
}

func draftTruncate(t *testing.T, a, b *client) {
	a.want("CREATE TABLE tr (id int PRIMARY KEY); INSERT INTO tr VALUES (1), (2)", "CREATE TABLE\nINSERT 0 2")
	a.want("BEGIN; INSERT INTO tr VALUES (3); TRUNCATE tr; SELECT count(*) FROM tr; INSERT INTO tr VALUES (1)", "BEGIN\nINSERT 0 1\nTRUNCATE TABLE\n0\nSELECT 1\nINSERT 0 1")
	a.want("ROLLBACK; SELECT count(*) FROM tr", "ROLLBACK\n2\nSELECT 1")
	a.want("BEGIN; INSERT INTO tr VALUES (3); TRUNCATE tr; INSERT INTO tr VALUES (1); COMMIT; SELECT * FROM tr",
		"BEGIN\nINSERT 0 1\nTRUNCATE TABLE\nINSERT 0 1\nCOMMIT\n1\nSELECT 1")
	b.want("SELECT * FROM tr", "1\nSELECT 1")
}

func draftConstraints(t *testing.T, a, b *client) {
	a.want("CREATE TABLE co (id int PRIMARY KEY, v int)", "CREATE TABLE")
	a.want("BEGIN; INSERT INTO co VALUES (1, -1)", "BEGIN\nINSERT 0 1")
	a.want("ALTER TABLE co ADD CONSTRAINT pos CHECK (v > 0)", `check constraint "pos" of relation "co" is violated by some row (SQLSTATE 23514)`)
	a.want("ROLLBACK; BEGIN; INSERT INTO co VALUES (1, 1); ALTER TABLE co ADD CONSTRAINT pos CHECK (v > 0)", "ROLLBACK\nBEGIN\nINSERT 0 1\nALTER TABLE")
	if got := a.answer("INSERT INTO co VALUES (2, 0)"); !strings.Contains(got, "23514") {
		t.Error(got)
	}
	a.want("ROLLBACK; INSERT INTO co VALUES (2, 0)", "ROLLBACK\nINSERT 0 1")
	// Rows that others have committed since the transaction's snapshot are held against it too.
	a.want("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class WHERE relname = 'co'", "BEGIN\n1\nSELECT 1")
	b.want("INSERT INTO co VALUES (5, -5)", "INSERT 0 1")
	a.want("ALTER TABLE co ADD CONSTRAINT more CHECK (v > -5)", `check constraint "more" of relation "co" is violated by some row (SQLSTATE 23514)`)
	a.want("ROLLBACK", "ROLLBACK")
}

// later runs a statement that is to wait, and gives its answer when it comes.
func later(t *testing.T, c *client, text string) func() string {
	t.Helper()
	got := c.background(c.w, text)
	return func() string { return <-got }
}

func draftSameName(t *testing.T, a, b *client) {
	for _, end := range []string{"COMMIT", "ROLLBACK"} {
		want := map[string]string{"COMMIT": `relation "sn" already exists (SQLSTATE 42P07)`, "ROLLBACK": "CREATE TABLE"}[end]
		a.want("BEGIN; CREATE TABLE sn (id int PRIMARY KEY)", "BEGIN\nCREATE TABLE")
		wait := later(t, b, "CREATE TABLE sn (id int PRIMARY KEY, v int)")
		a.want(end, end)
		if got := wait(); got != want {
			t.Errorf("after %s: %s", end, got)
		}
		a.want("DROP TABLE sn", "DROP TABLE")
	}
	a.want("BEGIN; CREATE TABLE sn (id int PRIMARY KEY)", "BEGIN\nCREATE TABLE")
	wait := later(t, b, "CREATE TABLE IF NOT EXISTS sn (id int PRIMARY KEY)")
	a.want("COMMIT", "COMMIT")
	if got := wait(); got != "NOTICE: relation \"sn\" already exists, skipping\nCREATE TABLE" {
		t.Error(got)
	}
	a.want("CREATE SCHEMA sns", "CREATE SCHEMA")
	a.want("BEGIN; CREATE TABLE sns.x (id int PRIMARY KEY)", "BEGIN\nCREATE TABLE")
	wait = later(t, b, "DROP SCHEMA sns")
	a.want("COMMIT", "COMMIT")
	if got := wait(); !strings.HasPrefix(got, "cannot drop schema sns because other objects depend on it (SQLSTATE 2BP01)") {
		t.Error(got)
	}
}

func draftLocks(t *testing.T, a, b *client) {
	a.want("CREATE TABLE lo (id int PRIMARY KEY); INSERT INTO lo VALUES (1)", "CREATE TABLE\nINSERT 0 1")
	a.want("BEGIN; SELECT * FROM lo", "BEGIN\n1\nSELECT 1")
	wait := later(t, b, "DROP TABLE lo")
	a.want("COMMIT", "COMMIT")
	if got := wait(); got != "DROP TABLE" {
		t.Error(got)
	}
	a.want("CREATE TABLE lo (id int PRIMARY KEY)", "CREATE TABLE")
	a.want("BEGIN; COMMENT ON TABLE lo IS 'c'", "BEGIN\nCOMMENT")
	b.want("INSERT INTO lo VALUES (1)", "INSERT 0 1")
	a.want("COMMIT; SELECT obj_description('lo'::regclass)", "COMMIT\nc\nSELECT 1")
}

func draftReplans(t *testing.T, a, b *client) {
	a.want("CREATE TABLE re (id int PRIMARY KEY); INSERT INTO re VALUES (1)", "CREATE TABLE\nINSERT 0 1")
	a.want("BEGIN; ALTER TABLE re ADD COLUMN v int DEFAULT 5", "BEGIN\nALTER TABLE")
	wait := later(t, b, "SELECT * FROM re")
	a.want("COMMIT", "COMMIT")
	if got := wait(); got != "1|5\nSELECT 1" {
		t.Error(got)
	}
}

func draftDeadlock(t *testing.T, a, b *client) {
	a.want("BEGIN; CREATE TABLE d1 (id int PRIMARY KEY)", "BEGIN\nCREATE TABLE")
	b.want("BEGIN; CREATE TABLE d2 (id int PRIMARY KEY)", "BEGIN\nCREATE TABLE")
	wait := later(t, a, "CREATE TABLE d2 (id int PRIMARY KEY)")
	if got := b.answer("CREATE TABLE d1 (id int PRIMARY KEY)"); !strings.HasPrefix(got, "deadlock detected (SQLSTATE 40P01)") {
		t.Error(got)
	}
	if got := wait(); got != "CREATE TABLE" {
		t.Error(got)
	}
	a.want("ROLLBACK", "ROLLBACK")
	b.want("ROLLBACK", "ROLLBACK")
}

func draftPlans(t *testing.T, a, b *client) {
	const text = "SELECT * FROM pn ORDER BY 1"
	a.want("CREATE TABLE pn (id int PRIMARY KEY); INSERT INTO pn VALUES (1)", "CREATE TABLE\nINSERT 0 1")
	a.want(text, "1\nSELECT 1")
	a.want("PREPARE p AS INSERT INTO pn VALUES (2)", "PREPARE")
	a.want("BEGIN; ALTER TABLE pn ADD COLUMN v int DEFAULT 2; EXECUTE p", "BEGIN\nALTER TABLE\nINSERT 0 1")
	a.want(text, "1|2\n2|2\nSELECT 2")
	a.want("ROLLBACK", "ROLLBACK")
	a.want(text, "1\nSELECT 1")
	a.want("EXECUTE p", "INSERT 0 1")
	b.want("ALTER TABLE pn ADD COLUMN w text DEFAULT 'w'", "ALTER TABLE")
	a.want(text, "1|w\n2|w\nSELECT 2")
}

func draftForbidden(t *testing.T, a, b *client) {
	for _, s := range []string{"CREATE DATABASE no", "DROP DATABASE no", "VACUUM"} {
		name := strings.TrimSuffix(s, " no")
		a.want("BEGIN; "+s, "BEGIN\n"+name+" cannot run inside a transaction block (SQLSTATE 25001)")
		a.want("ROLLBACK", "ROLLBACK")
		a.want("SELECT 1; "+s, "1\nSELECT 1\n"+name+" cannot run inside a transaction block (SQLSTATE 25001)")
	}
	a.want("BEGIN READ ONLY; CREATE TABLE ro (id int PRIMARY KEY)", "BEGIN\ncannot execute CREATE TABLE in a read-only transaction (SQLSTATE 25006)")
	a.want("ROLLBACK", "ROLLBACK")
}

// draftRebase: what others commit meanwhile is seen beside the draft, and does not disturb its commit.
func draftRebase(t *testing.T, a, b *client) {
	a.want("BEGIN; CREATE TABLE rb1 (id int PRIMARY KEY); INSERT INTO rb1 VALUES (1)", "BEGIN\nCREATE TABLE\nINSERT 0 1")
	b.want("CREATE TABLE rb2 (id int PRIMARY KEY); INSERT INTO rb2 VALUES (2)", "CREATE TABLE\nINSERT 0 1")
	a.want("SELECT * FROM rb1, rb2", "1|2\nSELECT 1")
	a.want("ALTER TABLE rb2 RENAME TO rb3; COMMIT; SELECT * FROM rb1, rb3", "ALTER TABLE\nCOMMIT\n1|2\nSELECT 1")
	b.want("SELECT * FROM rb3", "2\nSELECT 1")
}
