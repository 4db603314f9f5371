package integration

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// TestCopyFile: a superuser copies to and from files of the node, in all formats; the errors are
// PostgreSQL's, and other roles are refused.
func TestCopyFile(t *testing.T) {
	url, dir := sharedURL(t), t.TempDir()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	Exec(t, conn, "CREATE TABLE copied_file (a int PRIMARY KEY, b text)")
	Exec(t, conn, "INSERT INTO copied_file SELECT g, 'row ' || g FROM generate_series(1, 3000) g")
	for _, format := range []string{"text", "csv", "binary"} {
		file, options := filepath.Join(dir, format), " (FORMAT "+format+")"
		Exec(t, conn, "COPY copied_file TO '"+file+"'"+options)
		Exec(t, conn, "TRUNCATE copied_file")
		Exec(t, conn, "COPY copied_file FROM '"+file+"'"+options)
		var n, sum int
		err := conn.QueryRow(t.Context(), "SELECT count(*), sum(length(b)) FROM copied_file").Scan(&n, &sum)
		if err != nil || n != 3000 || sum != 22893 {
			t.Errorf("%s: %d rows of %d characters, %v", format, n, sum, err)
		}
	}
	Exec(t, conn, "COPY (SELECT 1, NULL) TO '"+filepath.Join(dir, "text")+"'")
	if data, err := os.ReadFile(filepath.Join(dir, "text")); string(data) != "1\t\\N\n" || err != nil {
		t.Errorf("%q, %v", data, err)
	}
	for _, x := range []struct{ statement, code string }{
		{"COPY copied_file FROM '" + filepath.Join(dir, "nosuch") + "'", "58P01"},
		{"COPY copied_file FROM '" + dir + "'", "42809"},
		{"COPY copied_file TO '" + dir + "'", "42809"},
		{"COPY copied_file TO 'relative'", "42602"},
		{"COPY copied_file FROM '" + filepath.Join(dir, "csv") + "' (FORMAT csv)", "23505"},
		{"COPY copied_file FROM PROGRAM 'true'", "0A000"},
	} {
		wantCode(t, conn, x.statement, x.code)
	}
	Exec(t, conn, "CREATE ROLE copies_no_files LOGIN PASSWORD 'x'")
	defer Exec(t, conn, "DROP ROLE copies_no_files")
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	config.User, config.Password = "copies_no_files", "x"
	other, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close(t.Context())
	wantCode(t, other, "COPY (SELECT 1) TO '"+filepath.Join(dir, "mine")+"'", "42501")
	wantCode(t, other, "COPY copied_file FROM '"+filepath.Join(dir, "csv")+"'", "42501")
	Exec(t, conn, "GRANT pg_write_server_files TO copies_no_files")
	Exec(t, other, "COPY (SELECT 1) TO '"+filepath.Join(dir, "mine")+"'")
	wantCode(t, other, "COPY copied_file FROM '"+filepath.Join(dir, "csv")+"'", "42501")
}

// wantCode runs a statement that must fail.
func wantCode(t *testing.T, conn *pgx.Conn, statement, code string) {
	t.Helper()
	_, err := conn.Exec(t.Context(), statement)
	var e *pgconn.PgError
	if !errors.As(err, &e) || e.Code != code {
		t.Errorf("%s: %v, want %s", statement, err, code)
	}
}

// TestCopyWhere: only rows that meet the condition are inserted, and the condition may use the columns
// that are copied and those that are null.
func TestCopyWhere(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rows")
	if err := os.WriteFile(file, []byte("1\tx\n2\ty\n3\t\\N\n4\tz\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), sharedURL(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	Exec(t, conn, "CREATE TABLE copied_where (a int PRIMARY KEY, b text, c int DEFAULT 7, d int, "+
		"g int GENERATED ALWAYS AS (a * 2) STORED)")
	from := "COPY copied_where (a, b) FROM '" + file + "' WHERE "
	for _, x := range []struct {
		where string
		sum   int
	}{
		{"a > 1 AND b IS NOT NULL", 6}, {"d IS NULL AND a % 2 = 1", 4}, {"d > 0 OR a / (a - 1) = 99", -1}, {"false", 0},
	} {
		Exec(t, conn, "TRUNCATE copied_where")
		if x.sum < 0 {
			wantCode(t, conn, from+x.where, "22012")
			continue
		}
		Exec(t, conn, from+x.where)
		var sum int
		if err := conn.QueryRow(t.Context(), "SELECT coalesce(sum(a), 0) FROM copied_where").Scan(&sum); err != nil ||
			sum != x.sum {
			t.Errorf("WHERE %s: %d, %v", x.where, sum, err)
		}
	}
	for where, code := range map[string]string{
		"a IN (SELECT 1)": "0A000", "count(*) > 1": "42803", "generate_series(1, 2) > 1": "0A000", "a": "42804",
		"row_number() OVER () > 1": "42P20", "g > 1": "42P10", "nosuch > 1": "42703", "c > 1": "0A000",
	} {
		wantCode(t, conn, from+where, code)
	}
	wantCode(t, conn, "COPY copied_where TO STDOUT WHERE a > 1", "42601")
}
