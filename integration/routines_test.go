package integration

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/pganalyze/pg_query_go/v6"
)

// TestRoutines runs procedural code and compares each answer with PostgreSQL's: also messages, and the places and
// contexts of errors.
func TestRoutines(t *testing.T) {
	url := sharedURL(t)
	files, err := filepath.Glob("testdata/routines/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d scripts, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".sql"), func(t *testing.T) {
			checkGolden(t, strings.TrimSuffix(file, ".sql")+".golden", runRoutines(t, url, file))
		})
	}
}

// runRoutines runs a script in a schema of its own. It returns the statements with their messages and answers.
func runRoutines(t *testing.T, url, file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	statements, err := pg_query.SplitWithScanner(string(text), true)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		fmt.Fprintf(&out, "-- %s %s: %s\n", n.Severity, n.Code, n.Message)
	}
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	schema := "routines_" + strings.TrimSuffix(filepath.Base(file), ".sql")
	Exec(t, conn, "CREATE SCHEMA "+schema)
	Exec(t, conn, "SET search_path = "+schema)
	for _, s := range statements {
		out.WriteString("> " + strings.ReplaceAll(s, "\n", "\n> ") + "\n")
		answer := answerWith(t.Context(), conn, s, routineError)
		if conn.IsClosed() {
			t.Fatalf("%s: the connection broke", s)
		}
		out.WriteString(answer + "\n") // after the messages
	}
	return out.String()
}

// routineError is errorText with the place in the code.
func routineError(err error) string {
	text := errorText(err)
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return text
	}
	if pg.InternalQuery != "" {
		text += fmt.Sprintf("-- QUERY: %s (at %d)\n", pg.InternalQuery, pg.InternalPosition)
	}
	for line := range strings.SplitSeq(pg.Where, "\n") {
		if line != "" {
			text += "-- CONTEXT: " + line + "\n"
		}
	}
	return text
}
