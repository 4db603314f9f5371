package sql_test

import (
	"strings"
	"testing"
)

const clean = "SELECT count(*) FROM sherd.check() WHERE NOT ok"

// TestRestore: changes of a table that store its rows again leave the rows where they belong, with
// their index entries and rules.
func TestRestore(t *testing.T) {
	if testing.Short() {
		t.Skip("stores 9,000 rows ten times")
	}
	w := newWorld(t)
	for name, script := range map[string][][2]string{
		"keys": {
			{
				"CREATE TABLE k (a int, b text, c int); CREATE UNIQUE INDEX k_c ON k (c); CREATE INDEX k_b ON k (b)",
				"CREATE TABLE\nCREATE INDEX\nCREATE INDEX",
			},
			{"INSERT INTO k SELECT g, 'b' || g % 5, -g FROM generate_series(1, 9000) g", "INSERT 0 9000"},
			{"ALTER TABLE k ADD PRIMARY KEY (a)", "ALTER TABLE"},
			{"SELECT b FROM k WHERE a = 8999", "b4\nSELECT 1"},
			{"SELECT a FROM k WHERE c = -8999", "8999\nSELECT 1"},
			{"SELECT count(*) FROM k WHERE b = 'b3'", "1800\nSELECT 1"},
			{
				"INSERT INTO k VALUES (30000, '', -7)",
				`duplicate key value violates unique constraint "k_c" (SQLSTATE 23505): Key (c)=(-7) already exists.`,
			},
			{"ALTER TABLE k SET (pk_order = off)", "ALTER TABLE"},
			{"SELECT count(*) FROM k WHERE a BETWEEN 10 AND 19", "10\nSELECT 1"},
			{"ALTER TABLE k SET (pk_order = on)", "ALTER TABLE"},
			{"SELECT a FROM k ORDER BY a DESC LIMIT 2", "9000\n8999\nSELECT 2"},
			{"ALTER TABLE k DROP CONSTRAINT k_pkey, ADD PRIMARY KEY (c, b)", "ALTER TABLE"},
			{"SELECT a FROM k WHERE c = -5 AND b = 'b0'", "5\nSELECT 1"},
			{"ALTER TABLE k SET (shard_by = 'b')", "ALTER TABLE"},
			{"SELECT count(*) FROM k WHERE b = 'b1'", "1800\nSELECT 1"},
			{"ALTER TABLE k RESET (shard_by)", "ALTER TABLE"},
			{"ALTER TABLE k DROP CONSTRAINT k_pkey, ADD CONSTRAINT k_pkey PRIMARY KEY (c)", "ALTER TABLE"},
			{"UPDATE k SET c = -c WHERE a < 100", "UPDATE 99"},
			{"SELECT count(*), count(DISTINCT c), min(a) FILTER (WHERE c = 99) FROM k", "9000|9000|99\nSELECT 1"},
			{
				"ALTER TABLE k DROP CONSTRAINT k_pkey, ALTER b TYPE bytea USING b::bytea, ALTER c TYPE numeric(7,1)",
				"ALTER TABLE",
			},
			{"SELECT a, c FROM k WHERE c = -5000.0 AND b = 'b0'", "5000|-5000.0\nSELECT 1"},
		},
		"collections": {
			{"CREATE TABLE d (id text, doc jsonb)", "CREATE TABLE"},
			{
				`INSERT INTO d SELECT 'd/' || g || '$c' || g % 3, jsonb_build_object('c', 'c' || g % 3) ` +
					`FROM generate_series(1, 300) g`, "INSERT 0 300",
			},
			{"ALTER TABLE d ADD PRIMARY KEY (id), SET (shard_by = 'c')",
				"NOTICE: the sharding policy of \"d\" is not validated: queries do not route by its fields " +
					"yet\nALTER TABLE"},
			{"ALTER TABLE d VALIDATE CONSTRAINT sharding", "ALTER TABLE"},
			{"SELECT count(DISTINCT sherd.bucket(id)), count(*) FROM d WHERE doc->>'c' = 'c1'", "1|100\nSELECT 1"},
			{
				"ALTER TABLE d ADD COLUMN g text GENERATED ALWAYS AS (doc->>'c') STORED, " +
					"ADD COLUMN n float8 DEFAULT random()", "ALTER TABLE",
			},
			{"SELECT count(*), count(DISTINCT n) > 90 FROM d WHERE g = 'c2'", "100|t\nSELECT 1"},
			{
				"ALTER TABLE d SET (anchors = off)",
				`sharding field "c" is no column of the primary key of "d" (SQLSTATE 22023)`,
			},
			{"ALTER TABLE d RESET (shard_by), SET (anchors = off)", "ALTER TABLE"},
			{"SELECT count(DISTINCT sherd.bucket(id)) > 1, count(*) FROM d WHERE g = 'c1'", "f|100\nSELECT 1"},
			{"SELECT doc FROM d WHERE id = 'd/4$c1'", `{"c": "c1"}` + "\nSELECT 1"},
			{"ALTER TABLE d SET (anchors = on)", "ALTER TABLE"},
			{"SELECT doc FROM d WHERE id = 'd/4$c1'", `{"c": "c1"}` + "\nSELECT 1"},
			{"INSERT INTO d VALUES ('d/', '{}') RETURNING id LIKE 'd/%'", "t\nINSERT 0 1"},
			{"ALTER TABLE d DROP CONSTRAINT d_pkey", "ALTER TABLE"},
			{"INSERT INTO d VALUES ('d/', '{}'), ('x$', '{}')", "INSERT 0 2"},
			{"SELECT count(*) FROM d WHERE id = 'd/4$c1'", "1\nSELECT 1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := w.connect(t)
			for _, step := range script {
				c.want(step[0], step[1])
				if strings.HasPrefix(step[0], "ALTER") {
					c.want(clean, "0\nSELECT 1")
				}
			}
		})
	}
}

// TestRestoreBeside: other sessions wait while rows are stored again. Afterwards they find the rows
// in the new place, and cannot read older snapshots there. A rollback leaves no trace.
func TestRestoreBeside(t *testing.T) {
	w := newWorld(t)
	a, b, c := w.connect(t), w.connect(t), w.connect(t)
	a.want("CREATE TABLE r (id int, v text)", "CREATE TABLE")
	a.want("INSERT INTO r SELECT g, 'v' || g FROM generate_series(1, 100) g", "INSERT 0 100")

	c.want("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1", "BEGIN\n1\nSELECT 1")
	a.want("BEGIN; INSERT INTO r VALUES (101, 'own'); ALTER TABLE r ADD PRIMARY KEY (id)",
		"BEGIN\nINSERT 0 1\nALTER TABLE")
	a.want("SELECT count(*), max(v) FILTER (WHERE id = 101) FROM r", "101|own\nSELECT 1")
	a.want("SAVEPOINT s; ALTER TABLE r ALTER id TYPE text", "SAVEPOINT\nALTER TABLE")
	a.want("INSERT INTO r VALUES ('x', 'y'); SELECT max(id) FROM r", "INSERT 0 1\nx\nSELECT 1")
	a.want("ROLLBACK TO s; SELECT max(id) FROM r", "ROLLBACK\n101\nSELECT 1")
	waiting := later(t, b, "UPDATE r SET v = 'b' WHERE id = 7")
	a.want("COMMIT", "COMMIT")
	if got := waiting(); got != "UPDATE 1" {
		t.Error(got)
	}
	b.want("SELECT v FROM r WHERE id IN (7, 101) ORDER BY id", "b\nown\nSELECT 2")
	if got := c.answer("SELECT count(*) FROM r"); !strings.Contains(got, "SQLSTATE 40001") {
		t.Error(got)
	}
	c.want("ROLLBACK", "ROLLBACK")

	a.want("BEGIN; ALTER TABLE r ALTER v TYPE int USING id, DROP CONSTRAINT r_pkey; SELECT sum(v) FROM r",
		"BEGIN\nALTER TABLE\n5151\nSELECT 1")
	a.want("ROLLBACK; SELECT v FROM r WHERE id = 7", "ROLLBACK\nb\nSELECT 1")
	b.want("BEGIN; UPDATE r SET v = 'c' WHERE id = 7", "BEGIN\nUPDATE 1")
	column := later(t, a, "ALTER TABLE r ADD COLUMN u uuid DEFAULT gen_random_uuid()") // by steps first, then alone
	b.want("COMMIT", "COMMIT")
	if got := column(); got != "ALTER TABLE" {
		t.Error(got)
	}
	b.want("SELECT count(DISTINCT u), max(v) FILTER (WHERE id = 7) FROM r", "101|c\nSELECT 1")

	b.want("INSERT INTO r VALUES (102, 'v1')", "INSERT 0 1")
	b.want("ALTER TABLE r ADD UNIQUE (v)",
		`could not create unique index "r_v_key" (SQLSTATE 23505): Key (v)=(v1) is duplicated.`)
	b.want("ALTER TABLE r DROP CONSTRAINT r_pkey, ADD PRIMARY KEY (v)",
		`could not create unique index "r_pkey" (SQLSTATE 23505): Key (v)=(v1) is duplicated.`)
	b.want("UPDATE r SET v = NULL WHERE id = 102; ALTER TABLE r DROP CONSTRAINT r_pkey, ADD PRIMARY KEY (v)",
		"UPDATE 1\ncolumn \"v\" of relation \"r\" contains null values (SQLSTATE 23502)")
	b.want("SELECT count(*) FROM r WHERE id = 102", "1\nSELECT 1")

	// older versions have another type
	a.want("DELETE FROM r; ALTER TABLE r ALTER v TYPE date USING now()", "DELETE 102\nALTER TABLE")
	a.want("INSERT INTO r VALUES (1, '2024-01-01'); SELECT id, v FROM r", "INSERT 0 1\n1|2024-01-01\nSELECT 1")
	a.want(clean, "0\nSELECT 1")

	// Sherd cannot know that a table has no rows while other sessions may be at work.
	for _, column := range []string{"n int NOT NULL DEFAULT 7", "x float8 NOT NULL DEFAULT 7 + 0 * random()"} {
		a.want("CREATE TABLE e (id int PRIMARY KEY)", "CREATE TABLE")
		b.want("BEGIN; INSERT INTO e VALUES (1)", "BEGIN\nINSERT 0 1")
		column := later(t, a, "ALTER TABLE e ADD COLUMN "+column)
		b.want("COMMIT", "COMMIT")
		if got := column(); got != "ALTER TABLE" {
			t.Error(got)
		}
		b.want("SELECT * FROM e", "1|7\nSELECT 1")
		b.want(clean, "0\nSELECT 1")
		b.want("DROP TABLE e", "DROP TABLE")
	}
}
