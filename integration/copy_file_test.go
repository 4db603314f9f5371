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
