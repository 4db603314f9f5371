package sql_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

var rowSecurityOracle = flag.String("rowsecurity", "",
	"connection string of a PostgreSQL 15 with an empty database: rewrites testdata/rowsecurity.golden")

var rowSecuritySetup = []string{
	"CREATE ROLE rls_u", "CREATE ROLE rls_o", "CREATE ROLE rls_b BYPASSRLS", "CREATE ROLE rls_m",
	"CREATE TABLE t (a int PRIMARY KEY, tenant text, b int NOT NULL UNIQUE, c text DEFAULT 'x' CHECK (c <> 'bad'))",
	"CREATE TABLE m (name text, member text)", "CREATE TABLE k (a int REFERENCES t, d text)",
	"INSERT INTO t VALUES (1, 'x', 1, 'p'), (2, 'x', 2, 'q'), (3, 'y', 3, 'r'), (4, 'y', 4, 's'), (5, 'z', 5, 'u')",
	"INSERT INTO m VALUES ('x', 'rls_u'), ('y', 'rls_o'), ('y', 'rls_u'), ('z', 'rls_o')",
	"INSERT INTO k VALUES (1, 'one')",
	"ALTER TABLE t OWNER TO rls_o", "GRANT ALL ON t TO rls_u, rls_b", "GRANT ALL ON m, k TO rls_u, rls_o, rls_b",
	"CREATE VIEW v AS SELECT a, tenant, b FROM t", "ALTER VIEW v OWNER TO rls_o",
	"CREATE VIEW vu AS SELECT a, tenant, b FROM t", "ALTER VIEW vu OWNER TO rls_u",
	"CREATE VIEW vi WITH (security_invoker) AS SELECT a, tenant, b FROM t WHERE b > 1",
	"CREATE VIEW vb WITH (security_barrier) AS SELECT a, tenant, b FROM t WHERE b > 1",
	"ALTER VIEW vb OWNER TO rls_u", "GRANT ALL ON v, vu, vi, vb TO rls_u, rls_o, rls_b",
	"CREATE FUNCTION seen() RETURNS bigint LANGUAGE sql SECURITY DEFINER AS 'SELECT count(*) FROM t'",
	"ALTER FUNCTION seen() OWNER TO rls_u",
	"ALTER TABLE t ENABLE ROW LEVEL SECURITY",
}

var rowSecurityPolicies = []struct{ name, policies string }{
	{"no policy", ""},
	{"all", "CREATE POLICY p ON t USING (tenant = 'x')"},
	{"check", "CREATE POLICY p ON t USING (tenant = 'x') WITH CHECK (b < 10)"},
	{"restrictive", "CREATE POLICY p ON t USING (true); CREATE POLICY r ON t AS RESTRICTIVE USING (tenant = 'x')"},
	{"restrictive only", "CREATE POLICY r ON t AS RESTRICTIVE USING (tenant = 'x')"},
	{"select", "CREATE POLICY p ON t FOR SELECT USING (tenant = 'x')"},
	{"insert", "CREATE POLICY p ON t FOR INSERT WITH CHECK (tenant = 'x')"},
	{"update", "CREATE POLICY p ON t FOR UPDATE USING (tenant = 'x')"},
	{"commands", "CREATE POLICY s ON t FOR SELECT USING (tenant <> 'z'); CREATE POLICY i ON t FOR INSERT WITH CHECK (b < 10);" +
		"CREATE POLICY u ON t FOR UPDATE USING (tenant = 'x') WITH CHECK (b < 20);" +
		"CREATE POLICY d ON t FOR DELETE USING (b >= 2)"},
	{"roles", "CREATE POLICY p ON t TO rls_m USING (true); CREATE POLICY q ON t TO rls_u, rls_b USING (tenant = 'x')"},
	{"current_user", "CREATE POLICY p ON t USING (current_user = 'rls_u' AND tenant = 'x' OR tenant = 'z')"},
	{"subquery", "CREATE POLICY p ON t USING (tenant IN (SELECT name FROM m WHERE member = current_user))"},
	{"correlated", "CREATE POLICY p ON t USING (EXISTS (SELECT 1 FROM m WHERE m.name = t.tenant AND member = 'rls_u'));" +
		"CREATE POLICY r ON t AS RESTRICTIVE FOR UPDATE USING (b <> 2) WITH CHECK (c <> 'no')"},
	{"null", "CREATE POLICY p ON t USING (NULL)"},
	{"recursive", "CREATE POLICY p ON t USING (a IN (SELECT a FROM t))"},
}

var rowSecurityStatements = []string{
	"SELECT * FROM t", "SELECT count(*) FROM t", "SELECT a FROM t WHERE a = 3", "SELECT t FROM t WHERE b < 4",
	"SELECT x.a, y.a FROM t x JOIN t y USING (tenant)", "SELECT m.name, t.a FROM m LEFT JOIN t ON t.tenant = m.name",
	"SELECT m.name, t.a FROM t RIGHT JOIN m ON t.tenant = m.name", "SELECT m.name, t.a FROM t FULL JOIN m ON t.tenant = m.name",
	"SELECT tableoid::regclass, a FROM t", "SELECT (SELECT max(b) FROM t)", "SELECT 1 WHERE EXISTS (SELECT FROM t WHERE a = 5)",
	"WITH q AS (SELECT a FROM t) SELECT * FROM q", "SELECT a FROM t UNION ALL SELECT a FROM t", "TABLE t",
	"SELECT a FROM t FOR UPDATE", "SELECT a FROM t FOR SHARE", "SELECT a FROM t WHERE 10 / (b - 5) < 0",
	"SELECT tenant, sum(b) FROM t GROUP BY tenant", "SELECT a, row_number() OVER (ORDER BY a) FROM t",
	"SELECT m.* FROM m WHERE m.name IN (SELECT tenant FROM t)", "SELECT m.* FROM m WHERE m.name NOT IN (SELECT tenant FROM t)",
	"SELECT seen()", "SELECT * FROM v", "SELECT * FROM vu", "SELECT * FROM vi", "SELECT a FROM vb WHERE 10 / (b - 5) < 0",
	"SELECT k.d, t.tenant FROM k JOIN t USING (a)", "COPY t TO STDOUT", "COPY (SELECT a FROM t) TO STDOUT",
	"DO 'BEGIN PERFORM FROM t WHERE a = 1; IF NOT found THEN RAISE ''hidden''; END IF; END'",
	"INSERT INTO t VALUES (6, 'x', 6)", "INSERT INTO t VALUES (6, 'y', 6)", "INSERT INTO t VALUES (6, 'x', 12)",
	"INSERT INTO t VALUES (6, 'x', 6) RETURNING a", "INSERT INTO t VALUES (6, 'z', 6) RETURNING a",
	"INSERT INTO t VALUES (6, 'z', 6) RETURNING 1", "INSERT INTO t VALUES (6, 'x', NULL)", "INSERT INTO t VALUES (6, 'y', NULL)",
	"INSERT INTO t VALUES (6, 'x', 6, 'bad')", "INSERT INTO t VALUES (3, 'x', 9)", "INSERT INTO t VALUES (6, 'x', 5)",
	"INSERT INTO t SELECT a + 10, tenant, b + 10 FROM t", "INSERT INTO t VALUES (6, 'x', 6), (7, 'y', 7)",
	"INSERT INTO t VALUES (1, 'x', 9) ON CONFLICT DO NOTHING", "INSERT INTO t VALUES (3, 'x', 9) ON CONFLICT DO NOTHING",
	"INSERT INTO t VALUES (3, 'x', 9) ON CONFLICT (a) DO NOTHING", "INSERT INTO t VALUES (3, 'y', 9) ON CONFLICT (a) DO NOTHING",
	"INSERT INTO t VALUES (1, 'x', 9) ON CONFLICT (a) DO UPDATE SET c = 'new'",
	"INSERT INTO t VALUES (1, 'x', 9) ON CONFLICT (a) DO UPDATE SET tenant = 'y'",
	"INSERT INTO t VALUES (1, 'x', 9) ON CONFLICT (a) DO UPDATE SET c = 'no' RETURNING *",
	"INSERT INTO t VALUES (2, 'x', 9) ON CONFLICT (a) DO UPDATE SET c = 'new' RETURNING *",
	"INSERT INTO t VALUES (3, 'x', 9) ON CONFLICT (a) DO UPDATE SET c = 'new'",
	"INSERT INTO t VALUES (3, 'x', 9) ON CONFLICT (a) DO UPDATE SET c = 'new' WHERE t.c = 'none'",
	"INSERT INTO t VALUES (3, 'y', 9) ON CONFLICT (a) DO UPDATE SET c = 'new'",
	"INSERT INTO t VALUES (9, 'x', 3) ON CONFLICT (b) DO UPDATE SET c = 'new'",
	"INSERT INTO t VALUES (9, 'x', 1) ON CONFLICT (b) DO UPDATE SET c = 'new', b = 15 RETURNING a, b, c",
	"INSERT INTO t VALUES (9, 'x', 1) ON CONFLICT (b) DO UPDATE SET b = 25",
	"INSERT INTO t VALUES (9, 'x', 9) ON CONFLICT (a) DO UPDATE SET c = 'new' RETURNING a",
	"INSERT INTO t VALUES (1, 'x', 9) ON CONFLICT ON CONSTRAINT t_pkey DO UPDATE SET c = excluded.tenant",
	"UPDATE t SET c = 'new'", "UPDATE t SET c = c || 'w'", "UPDATE t SET c = 'new' WHERE a = 3", "UPDATE t SET c = 'new' WHERE a = 1",
	"UPDATE t SET c = 'new' RETURNING a", "UPDATE t SET tenant = 'y'", "UPDATE t SET tenant = 'z' WHERE a = 1",
	"UPDATE t SET b = b + 18", "UPDATE t SET a = a + 10", "UPDATE t SET c = 'no' WHERE a = 1", "UPDATE t SET c = 'bad' WHERE a = 1",
	"UPDATE t SET b = NULL WHERE a = 1", "UPDATE t SET b = 5 WHERE a = 1",
	"UPDATE t SET c = m.name FROM m WHERE m.name = t.tenant AND m.member = 'rls_u'", "UPDATE t SET b = 20 + (SELECT max(b) FROM t) WHERE a = 1",
	"UPDATE k SET d = t.tenant FROM t WHERE t.a = k.a", "UPDATE v SET b = b + 10", "UPDATE vu SET b = b + 10",
	"UPDATE vi SET b = b WHERE 10 / (b - 5) < 0", "UPDATE vb SET b = 30 WHERE 10 / (b - 5) = -3",
	"DELETE FROM t WHERE a > 1", "DELETE FROM t WHERE tenant = 'y' RETURNING a", "DELETE FROM k; DELETE FROM t",
	"DELETE FROM t USING m WHERE m.name = t.tenant AND m.member = 'rls_o'", "DELETE FROM vu WHERE a = 2",
	"WITH d AS (DELETE FROM t WHERE a = 2 RETURNING a) SELECT * FROM d",
	"INSERT INTO v VALUES (6, 'y', 6)", "INSERT INTO vu VALUES (6, 'y', 6)", "INSERT INTO vi VALUES (6, 'x', 6) RETURNING a",
	"INSERT INTO k VALUES (5, 'five')", "TRUNCATE k; SELECT 1", "SELECT row_security_active('t'), row_security_active('k')",
	"SET row_security = off; SELECT count(*) FROM t", "SET row_security = off; INSERT INTO t VALUES (6, 'x', 6)",
	"SET row_security = off; SELECT count(*) FROM k",
	"DECLARE cu CURSOR FOR SELECT a FROM t WHERE a = 1 FOR UPDATE; FETCH cu; UPDATE t SET c = 'new' WHERE CURRENT OF cu",
	"PREPARE ps AS SELECT a FROM t; EXECUTE ps; SET ROLE rls_b; EXECUTE ps; SET ROLE rls_u; EXECUTE ps; DEALLOCATE ps",
	"CREATE TEMPORARY TABLE made AS SELECT a FROM t; SELECT * FROM made",
}

// TestRowSecurityTable runs every kind of statement under policies of every kind as each kind of role. The
// answers are those of PostgreSQL.
func TestRowSecurityTable(t *testing.T) {
	const path = "testdata/rowsecurity.golden"
	url := *rowSecurityOracle
	if url == "" {
		url = strings.Replace((&served{t: t, w: newWorld(t)}).url(""), "://", "://postgres@", 1)
	}
	c, err := pgx.Connect(t.Context(), url)
	must(t, err)
	defer func() { _ = c.Close(context.WithoutCancel(t.Context())) }()
	for _, s := range rowSecuritySetup {
		if _, err := c.Exec(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	var out strings.Builder
	for _, p := range rowSecurityPolicies {
		for _, s := range rowSecurityStatements {
			fmt.Fprintf(&out, "%s: %s\n", p.name, s)
			answers := map[string][]string{}
			var order []string
			for _, role := range []string{"other", "owner", "forced owner", "bypass"} {
				answer := underPolicies(t, c, p.policies, role, s)
				if answers[answer] == nil {
					order = append(order, answer)
				}
				answers[answer] = append(answers[answer], "["+role+"]")
			}
			for _, answer := range order {
				fmt.Fprintf(&out, "  %s <- %s\n", answer, strings.Join(answers[answer], " "))
			}
		}
	}
	if *rowSecurityOracle != "" {
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

// underPolicies runs a statement as a role, and undoes everything. It returns what the statement returns,
// and the rows of the table after it, if they have changed.
func underPolicies(t *testing.T, c *pgx.Conn, policies, role, statement string) string {
	t.Helper()
	do := func(text string) string {
		out, err := rowsOf(c.PgConn().Exec(t.Context(), text).ReadAll())
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return out
	}
	const content = "SELECT * FROM t"
	do("BEGIN")
	defer do("ROLLBACK; DEALLOCATE ALL")
	if policies != "" {
		do(policies)
	}
	name := map[string]string{"other": "rls_u", "bypass": "rls_b"}[role]
	if name == "" {
		name = "rls_o"
	}
	if role == "forced owner" {
		do("ALTER TABLE t FORCE ROW LEVEL SECURITY")
	}
	before := do(content)
	do("SET LOCAL ROLE " + name)
	out, err := rowsOf(c.PgConn().Exec(t.Context(), statement).ReadAll())
	if err != nil {
		var e *pgconn.PgError
		if !errors.As(err, &e) {
			t.Fatalf("%s: %v", statement, err)
		}
		return strings.Join([]string{e.Code, e.Message, e.Detail, e.Hint}, " | ")
	}
	do("RESET ROLE")
	do("RESET row_security")
	if after := do(content); after != before {
		out += " => " + after
	}
	return out
}

// rowsOf writes results on one line, rows in order.
func rowsOf(results []*pgconn.Result, err error) (string, error) {
	var parts []string
	for _, r := range results {
		var rows []string
		for _, row := range r.Rows {
			var values []string
			for _, v := range row {
				if v == nil {
					v = []byte("-")
				}
				values = append(values, string(v))
			}
			rows = append(rows, strings.Join(values, ","))
		}
		slices.Sort(rows)
		parts = append(parts, r.CommandTag.String()+" "+strings.Join(rows, " "))
	}
	return strings.Join(parts, "; "), err
}
