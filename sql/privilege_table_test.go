package sql_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

var privilegeOracle = flag.String("privileges", "",
	"connection string of a PostgreSQL 15 with an empty database: rewrites testdata/privileges.golden")

// privilegeSetup makes the objects of the table, and roles: priv_u has the rights, priv_o owns the views.
var privilegeSetup = []string{
	"CREATE ROLE priv_u", "CREATE ROLE priv_o", "CREATE ROLE priv_w", "CREATE ROLE priv_m",
	"GRANT priv_m TO priv_u",
	"CREATE SCHEMA s",
	"CREATE TABLE t (a int PRIMARY KEY, b int, c text DEFAULT 'x')",
	"CREATE TABLE r (a int PRIMARY KEY, b int)", "CREATE TABLE s.q (a int)",
	"CREATE SEQUENCE sq", "CREATE TYPE mood AS ENUM ('sad', 'ok')", "CREATE DOMAIN dom AS int",
	"CREATE FUNCTION f(int) RETURNS int LANGUAGE sql AS 'SELECT $1 + 1'",
	"CREATE FUNCTION g() RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN 7; END'",
	"CREATE FUNCTION s.h() RETURNS int LANGUAGE sql AS 'SELECT 3'",
	"CREATE FUNCTION d() RETURNS bigint LANGUAGE sql SECURITY DEFINER AS 'SELECT count(*) FROM t'",
	"CREATE PROCEDURE p() LANGUAGE plpgsql AS 'BEGIN END'",
	"CREATE VIEW v AS SELECT a, b FROM t WHERE b > 0", "CREATE VIEW w AS SELECT a, b FROM v",
	"CREATE VIEW vi WITH (security_invoker) AS SELECT a, b FROM t",
	"ALTER VIEW v OWNER TO priv_o", "GRANT SELECT, INSERT, UPDATE (a), DELETE ON t TO priv_o",
	"INSERT INTO t VALUES (1, 2, 'x'), (2, 3, 'y')", "INSERT INTO r VALUES (1, 1)",
	"REVOKE EXECUTE ON FUNCTION f(int), g(), s.h(), d() FROM PUBLIC", "REVOKE EXECUTE ON PROCEDURE p FROM PUBLIC",
	"CREATE SCHEMA x", "GRANT USAGE, CREATE ON SCHEMA x TO priv_u", "REVOKE USAGE ON TYPE mood FROM PUBLIC", "REVOKE USAGE ON DOMAIN dom FROM PUBLIC",
}

// privilegeObjects has, for each object, rights on it and statements that use it. Each statement runs
// without a right, with each of the rights alone, and with all of them.
var privilegeObjects = []struct {
	name       string
	rights     []string
	statements []string
}{
	{"table", []string{
		"SELECT ON t", "INSERT ON t", "UPDATE ON t", "DELETE ON t", "TRUNCATE ON t", "REFERENCES ON t", "TRIGGER ON t",
		"SELECT (a) ON t", "SELECT (b) ON t", "INSERT (a) ON t", "INSERT (a, b) ON t", "UPDATE (b) ON t",
		"REFERENCES (a) ON t", "pg_read_all_data", "pg_write_all_data",
	}, []string{
		"SELECT * FROM t", "SELECT a FROM t", "SELECT b FROM t WHERE a = 1", "SELECT t FROM t", "SELECT count(*) FROM t",
		"SELECT 1 FROM t", "SELECT tableoid FROM t", "SELECT x.b FROM t x JOIN t y USING (a)",
		"SELECT (SELECT max(b) FROM t)", "SELECT a FROM t ORDER BY b", "SELECT sum(a) FROM t GROUP BY b",
		"SELECT a FROM t FOR UPDATE", "SELECT a FROM t FOR SHARE", "WITH q AS (SELECT a FROM t) SELECT * FROM q",
		"SELECT 1 WHERE EXISTS (SELECT b FROM t WHERE a = 5)", "TABLE t",
		"INSERT INTO t VALUES (5, 6, 'z')", "INSERT INTO t (a) VALUES (5)", "INSERT INTO t (a, b) VALUES (5, 6)",
		"INSERT INTO t (a) VALUES (5) RETURNING a", "INSERT INTO t (a) VALUES (5) RETURNING b",
		"INSERT INTO t (a) SELECT b + 10 FROM t", "INSERT INTO t (a) VALUES (1) ON CONFLICT DO NOTHING",
		"INSERT INTO t (a) VALUES (1) ON CONFLICT (a) DO NOTHING",
		"INSERT INTO t (a) VALUES (1) ON CONFLICT ON CONSTRAINT t_pkey DO NOTHING",
		"INSERT INTO t (a) VALUES (1) ON CONFLICT (a) DO UPDATE SET b = 1",
		"INSERT INTO t (a) VALUES (1) ON CONFLICT (a) DO UPDATE SET b = excluded.a",
		"INSERT INTO t (a) VALUES (1) ON CONFLICT (a) DO UPDATE SET b = t.b + 1",
		"UPDATE t SET b = 5", "UPDATE t SET b = b + 1", "UPDATE t SET b = 5 WHERE a = 1", "UPDATE t SET a = 9 WHERE a = 1",
		"UPDATE t SET b = 5 RETURNING a", "UPDATE t SET c = DEFAULT", "UPDATE t SET (b, c) = (1, 'q')",
		"UPDATE t SET b = r.b FROM r", "DELETE FROM t", "DELETE FROM t WHERE a = 1", "DELETE FROM t RETURNING b",
		"DELETE FROM t USING t u WHERE t.a = u.a",
		"MERGE INTO t USING (SELECT 1) s ON true WHEN MATCHED THEN DO NOTHING",
		"MERGE INTO t USING (SELECT 1 AS a) s ON false WHEN NOT MATCHED THEN INSERT (a) VALUES (a + 20)",
		"MERGE INTO t USING (SELECT 1 AS a) s ON t.a = s.a WHEN MATCHED THEN UPDATE SET b = 5",
		"MERGE INTO t USING (SELECT 1 AS a) s ON t.a = s.a WHEN MATCHED AND b = 2 THEN DELETE",
		"MERGE INTO t USING (SELECT 1 AS a) s ON t.a = s.a WHEN MATCHED THEN DELETE " +
			"WHEN NOT MATCHED THEN INSERT (a, b) VALUES (1, 2)",
		"MERGE INTO r USING t ON false WHEN MATCHED THEN DO NOTHING",
		"TRUNCATE t", "LOCK TABLE t IN ACCESS SHARE MODE",
		"LOCK TABLE t IN ROW EXCLUSIVE MODE", "LOCK TABLE t", "CREATE TABLE x.x (a int REFERENCES t)",
		"EXPLAIN (COSTS off) SELECT b FROM t", "EXPLAIN (COSTS off) DELETE FROM t", "COPY t TO STDOUT",
		"COPY t (a) TO STDOUT", "COPY (SELECT b FROM t) TO STDOUT", "SELECT * FROM vi", "SELECT a FROM vi",
		"CREATE INDEX ON t (b)", "ALTER TABLE t ADD d int", "DROP TABLE t", "COMMENT ON TABLE t IS 'x'",
		"ANALYZE t", "GRANT SELECT ON t TO priv_w", "GRANT SELECT (a) ON t TO priv_w", "GRANT ALL ON t TO priv_w",
		"REVOKE SELECT ON t FROM priv_w", "DECLARE cu CURSOR FOR SELECT b FROM t",
		"CREATE TABLE x.y AS SELECT a FROM t", "CREATE VIEW x.z AS SELECT b FROM t",
		"DO 'BEGIN PERFORM b FROM t; END'", "SELECT has_table_privilege('t', 'SELECT')",
		"SELECT has_column_privilege('t', 'a', 'SELECT'), has_any_column_privilege('t', 'UPDATE')",
	}},
	{"view", []string{
		"SELECT ON v", "INSERT ON v", "UPDATE ON v", "DELETE ON v", "SELECT (a) ON v", "UPDATE (a) ON v", "UPDATE (b) ON v",
		"INSERT (a) ON v", "SELECT ON t", "SELECT ON w",
	}, []string{
		"SELECT * FROM v", "SELECT a FROM v", "SELECT count(*) FROM v", "SELECT v FROM v", "SELECT a FROM v WHERE b = 2",
		"SELECT a FROM w", "SELECT a FROM v FOR UPDATE", "INSERT INTO v VALUES (7, 7)", "INSERT INTO v (a) VALUES (7)",
		"UPDATE v SET a = 8 WHERE a = 1", "UPDATE v SET a = 8", "UPDATE v SET b = 8", "UPDATE v SET a = b + 10",
		"DELETE FROM v", "DELETE FROM v WHERE a = 1", "DELETE FROM w", "UPDATE w SET a = 8", "TRUNCATE v",
		"LOCK TABLE v IN ACCESS SHARE MODE", "CREATE OR REPLACE VIEW v AS SELECT 1 AS a, 2 AS b", "DROP VIEW v",
		"GRANT SELECT ON v TO priv_w",
	}},
	{"sequence", []string{"USAGE ON SEQUENCE sq", "SELECT ON SEQUENCE sq", "UPDATE ON SEQUENCE sq"}, []string{
		"SELECT nextval('sq')", "SELECT setval('sq', 5)", "SELECT last_value FROM sq", "ALTER SEQUENCE sq RESTART",
		"SELECT last_value FROM pg_sequences WHERE sequencename = 'sq'", "DROP SEQUENCE sq",
		"GRANT USAGE ON SEQUENCE sq TO priv_w", "SELECT has_sequence_privilege('sq', 'USAGE')",
	}},
	{"schema", []string{"USAGE ON SCHEMA s", "CREATE ON SCHEMA s", "SELECT ON s.q", "EXECUTE ON FUNCTION s.h()"}, []string{
		"SELECT * FROM s.q", "SELECT s.h()", "CREATE TABLE s.n (a int)", "CREATE VIEW s.n AS SELECT 1 AS a",
		"CREATE SEQUENCE s.n", "CREATE FUNCTION s.n() RETURNS int LANGUAGE sql AS 'SELECT 1'",
		"CREATE TYPE s.n AS ENUM ()", "CREATE DOMAIN s.n AS int", "SELECT 's.q'::regclass", "DROP TABLE s.q",
		"ALTER SCHEMA s RENAME TO z", "DROP SCHEMA s", "GRANT USAGE ON SCHEMA s TO priv_w",
		"SELECT has_schema_privilege('s', 'USAGE'), has_schema_privilege('s', 'CREATE')",
	}},
	{"routine", []string{
		"EXECUTE ON FUNCTION f(int)", "EXECUTE ON FUNCTION g()", "EXECUTE ON FUNCTION d()", "EXECUTE ON PROCEDURE p",
		"EXECUTE ON ALL FUNCTIONS IN SCHEMA public", "EXECUTE ON ALL ROUTINES IN SCHEMA public",
	}, []string{
		"SELECT f(1)", "SELECT g()", "SELECT d()", "CALL p()", "SELECT * FROM f(1)", "SELECT * FROM g()",
		"SELECT 1 WHERE f(1) = 2", "DO 'BEGIN PERFORM g(); END'", "DROP FUNCTION g()", "ALTER FUNCTION g() STABLE",
		"GRANT EXECUTE ON FUNCTION g() TO priv_w", "SELECT has_function_privilege('g()', 'EXECUTE')",
		"CREATE OR REPLACE FUNCTION g() RETURNS int LANGUAGE sql AS 'SELECT 1'",
	}},
	{"type", []string{"USAGE ON TYPE mood", "USAGE ON DOMAIN dom"}, []string{
		"SELECT 'sad'::mood", "SELECT 1::dom", "CREATE TABLE x.n (a mood)", "CREATE TABLE x.n (a dom)",
		"CREATE FUNCTION x.n(mood) RETURNS int LANGUAGE sql AS 'SELECT 1'", "CREATE DOMAIN x.n AS dom",
		"ALTER TYPE mood ADD VALUE 'x'", "DROP TYPE mood", "SELECT has_type_privilege('mood', 'USAGE')",
		"GRANT USAGE ON TYPE mood TO priv_w",
	}},
	{"role", []string{"priv_o", "priv_o TO priv_m", "priv_m TO priv_w"}, []string{
		"SET ROLE priv_o", "SET ROLE priv_m", "SET ROLE priv_w", "SET SESSION AUTHORIZATION priv_o",
		"ALTER VIEW v RENAME TO vv", "DROP VIEW v CASCADE", "CREATE ROLE priv_n", "ALTER ROLE priv_w LOGIN",
		"DROP ROLE priv_w", "GRANT priv_o TO priv_w", "REVOKE priv_m FROM priv_u", "ALTER TABLE t OWNER TO priv_u",
		"ALTER VIEW v OWNER TO priv_u", "CREATE SCHEMA AUTHORIZATION priv_o",
		"SELECT pg_has_role('priv_o', 'USAGE'), pg_has_role('priv_o', 'MEMBER')",
	}},
	{"database", nil, []string{
		"CREATE SCHEMA n", "ALTER SYSTEM SET work_mem = '8MB'", "SET log_statement = 'all'",
		"SELECT rolpassword FROM pg_authid", "SELECT passwd FROM pg_shadow", "SELECT count(*) FROM pg_statistic",
		"CREATE TABLE n (a int)", "SELECT current_user, session_user = current_user",
	}},
}

// TestPrivilegeTable runs every kind of statement on objects of every kind without a right, with one,
// and with all of them. The answers are those of PostgreSQL.
func TestPrivilegeTable(t *testing.T) {
	const path = "testdata/privileges.golden"
	url := *privilegeOracle
	if url == "" {
		url = strings.Replace((&served{t: t, w: newWorld(t)}).url(""), "://", "://postgres@", 1)
	}
	c, err := pgx.Connect(t.Context(), url)
	must(t, err)
	defer func() { _ = c.Close(context.WithoutCancel(t.Context())) }()
	for _, s := range privilegeSetup {
		if _, err := c.Exec(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	var out strings.Builder
	var database string
	must(t, c.QueryRow(t.Context(), "SELECT current_database()").Scan(&database))
	for _, o := range privilegeObjects {
		for _, s := range o.statements {
			fmt.Fprintf(&out, "%s: %s\n", o.name, s)
			rights := append([]string{""}, o.rights...)
			if len(o.rights) > 1 {
				rights = append(rights, strings.Join(o.rights, "; "))
			}
			answers := map[string][]string{}
			var order []string
			for i, r := range rights {
				answer := strings.ReplaceAll(withRight(t, c, r, s), "database "+database, "database d")
				if i == len(rights)-1 && i > 1 {
					r = "all"
				}
				if answers[answer] == nil {
					order = append(order, answer)
				}
				answers[answer] = append(answers[answer], "["+r+"]")
			}
			for _, answer := range order {
				fmt.Fprintf(&out, "  %s <- %s\n", answer, strings.Join(answers[answer], " "))
			}
		}
	}
	if *privilegeOracle != "" {
		must(t, os.WriteFile(path, []byte(out.String()), 0o644))
		return
	}
	want, err := os.ReadFile(path)
	must(t, err)
	got, expected := blocks(out.String()), blocks(string(want))
	for statement, answers := range expected {
		if got[statement] != answers {
			t.Errorf("%s\n got\n%swant\n%s", statement, got[statement], answers)
		}
	}
	if len(got) != len(expected) {
		t.Errorf("%d statements, want %d", len(got), len(expected))
	}
}

// blocks returns the answers to each statement in a table.
func blocks(text string) map[string]string {
	out, statement := map[string]string{}, ""
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "  ") {
			out[statement] += line
		} else {
			statement = line
		}
	}
	return out
}

// withRight runs a statement as priv_u with a right, and undoes everything.
func withRight(t *testing.T, c *pgx.Conn, rights, statement string) string {
	t.Helper()
	do := func(text string) {
		if _, err := c.Exec(t.Context(), text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	do("BEGIN")
	defer do("ROLLBACK")
	for _, r := range strings.Split(rights, "; ") {
		switch {
		case r == "":
		case strings.Contains(r, " TO "):
			do("GRANT " + r)
		default:
			do("GRANT " + r + " TO priv_u")
		}
	}
	do("SET LOCAL ROLE priv_u")
	results, err := c.PgConn().Exec(t.Context(), statement).ReadAll()
	if err != nil {
		var e *pgconn.PgError
		if !errors.As(err, &e) {
			t.Fatalf("%s: %v", statement, err)
		}
		return e.Code + " " + e.Message
	}
	answer := "ok"
	for _, r := range results {
		if strings.HasPrefix(statement, "SELECT has_") || strings.HasPrefix(statement, "SELECT pg_has") {
			for _, row := range r.Rows {
				for _, v := range row {
					answer += " " + string(v)
				}
			}
		}
		if tag := r.CommandTag.String(); !strings.HasPrefix(tag, "EXPLAIN") {
			answer += " " + tag
		}
	}
	return answer
}
