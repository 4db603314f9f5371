package integration

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/pganalyze/pg_query_go/v6"
)

// answer is what a statement gave, as text: columns with their types, rows, command tag, or the error.
//
// Rows of a statement without ORDER BY are sorted, for there their order is the server's own affair.
func answer(ctx context.Context, conn *pgx.Conn, statement string) string {
	return answerWith(ctx, conn, statement, errorText)
}

// answerWith is answer with a text of errors.
func answerWith(ctx context.Context, conn *pgx.Conn, statement string, describe func(error) string) string {
	var out strings.Builder
	results := conn.PgConn().Exec(ctx, statement)
	var err error
	for results.NextResult() && err == nil {
		r := results.ResultReader()
		var header []string
		for _, f := range r.FieldDescriptions() {
			header = append(header, f.Name+":"+typeName(conn, f))
		}
		var rows []string
		for r.NextRow() {
			values := make([]string, len(header))
			for i, v := range r.Values() {
				values[i] = "NULL"
				if v != nil {
					values[i] = strings.NewReplacer("\\", `\\`, "\n", `\n`, "|", `\|`).Replace(string(v))
				}
			}
			rows = append(rows, strings.Join(values, "|"))
		}
		var tag pgconn.CommandTag
		if tag, err = r.Close(); err != nil {
			break
		}
		if header != nil {
			fmt.Fprintln(&out, strings.Join(header, "|"))
		}
		if !strings.Contains(strings.ToUpper(statement), "ORDER BY") {
			slices.Sort(rows)
		}
		for _, row := range rows {
			fmt.Fprintln(&out, row)
		}
		fmt.Fprintln(&out, "--", tag)
	}
	if cerr := results.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		out.WriteString(describe(err))
	}
	return out.String()
}

func typeName(conn *pgx.Conn, f pgconn.FieldDescription) string {
	name := fmt.Sprint(f.DataTypeOID)
	if t, ok := conn.TypeMap().TypeForOID(f.DataTypeOID); ok {
		name = t.Name
	}
	if f.TypeModifier >= 0 {
		name += fmt.Sprintf("(%d)", f.TypeModifier)
	}
	return name
}

func errorText(err error) string {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return fmt.Sprintf("-- BROKEN: %v\n", err)
	}
	text := fmt.Sprintf("-- %s %s: %s", pg.Severity, pg.Code, pg.Message)
	if pg.Position != 0 {
		text += fmt.Sprintf(" (at %d)", pg.Position)
	}
	text += "\n"
	for _, more := range [][2]string{{"DETAIL", pg.Detail}, {"HINT", pg.Hint}, {"CONSTRAINT", pg.ConstraintName}, {"COLUMN", pg.ColumnName}} {
		if more[1] != "" {
			text += fmt.Sprintf("-- %s: %s\n", more[0], strings.ReplaceAll(more[1], "\n", `\n`))
		}
	}
	return text
}

// comparing says whether the tests run against the server they are to be compared with.
func comparing() bool { return os.Getenv("SHERD_COMPARE_URL") != "" }

// checkGolden compares with a golden file, or writes it.
func checkGolden(t *testing.T, path, got string) {
	t.Helper()
	if *rewrite {
		if !comparing() {
			t.Fatal("-rewrite takes answers from PostgreSQL only: integration/compare -rewrite")
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s:\n%s", path, firstDifference(got, string(want)))
	}
}

// firstDifference shows where two texts part.
func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		if i >= len(g) || i >= len(w) || g[i] != w[i] {
			return fmt.Sprintf("line %d:\ngot  %s\nwant %s", i+1, strings.Join(g[min(i, len(g)):min(i+6, len(g))], "\n     "),
				strings.Join(w[min(i, len(w)):min(i+6, len(w))], "\n     "))
		}
	}
	return ""
}

// TestQueries runs what a user would ask of the packages.
func TestQueries(t *testing.T) {
	conn := Connect(t, withPackages(t))
	files, err := filepath.Glob("testdata/queries/*.sql")
	if err != nil || len(files) < 15 {
		t.Fatalf("%d queries, %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".sql")
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			checkGolden(t, strings.TrimSuffix(file, ".sql")+".golden", answer(t.Context(), conn, string(text)))
		})
	}
}

// script is a file of testdata/sql run in a schema of its own: its statements and their answers.
type scriptStep struct{ statement, answer string }

func (s scriptStep) text() string {
	return "> " + strings.ReplaceAll(s.statement, "\n", "\n> ") + "\n" + s.answer + "\n"
}

func runScript(t *testing.T, url, file string) []scriptStep {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	statements, err := pg_query.SplitWithScanner(string(text), true)
	if err != nil {
		t.Fatal(err)
	}
	conn := Connect(t, url)
	schema := "script_" + strings.TrimSuffix(filepath.Base(file), ".sql")
	Exec(t, conn, "CREATE SCHEMA "+schema)
	Exec(t, conn, "SET search_path = "+schema)
	var steps []scriptStep
	for _, s := range statements {
		steps = append(steps, scriptStep{s, answer(t.Context(), conn, s)})
		if conn.IsClosed() {
			t.Fatalf("%s: the connection broke", s)
		}
	}
	return steps
}

// TestScripts runs everyday statements and compares each answer with PostgreSQL's.
func TestScripts(t *testing.T) {
	url := sharedURL(t)
	files, err := filepath.Glob("testdata/sql/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d scripts, %v", len(files), err)
	}
	known := knownDifferences(t)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".sql")
		t.Run(name, func(t *testing.T) {
			var all strings.Builder
			steps := runScript(t, url, file)
			for _, s := range steps {
				all.WriteString(s.text())
			}
			golden := strings.TrimSuffix(file, ".sql") + ".golden"
			if comparing() {
				checkGolden(t, golden, all.String())
				return
			}
			compareSteps(t, name, golden, steps, known[name])
		})
	}
}

func compareSteps(t *testing.T, name, golden string, steps []scriptStep, known map[string]string) {
	text, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	rest := string(text)
	listed := map[string]bool{}
	for _, s := range steps {
		head := scriptStep{s.statement, ""}.text()
		head = head[:len(head)-1]
		after, ok := strings.CutPrefix(rest, head)
		if !ok {
			t.Fatalf("%s does not have the statements of the script: integration/compare -rewrite makes it anew; it parts at\n%s", golden, s.statement)
		}
		want, next, _ := strings.Cut(after, "\n> ")
		if rest = "> " + next; next == "" {
			want = strings.TrimSuffix(want, "\n")
		}
		want = strings.TrimSuffix(want, "\n") + "\n"
		key := oneLine(s.statement)
		kind, isKnown := known[key]
		listed[key] = true
		got := strings.TrimSuffix(s.answer, "\n") + "\n"
		switch {
		case got == want && isKnown:
			t.Errorf("%s agrees with PostgreSQL now: take it off testdata/sql/known-differences.txt", key)
		case got == want:
		case !isKnown:
			t.Errorf("%s\n%s", s.statement, firstDifference(got, want))
		case kind != "rows" && !strings.HasPrefix(got, "-- ERROR "+kind+":"):
			t.Errorf("%s: the known difference is error %s, the answer is\n%s", key, kind, got)
		}
	}
	for key := range known {
		if !listed[key] {
			t.Errorf("testdata/sql/known-differences.txt lists a statement that script %s does not have: %s", name, key)
		}
	}
}

func oneLine(statement string) string {
	var lines []string
	for line := range strings.Lines(statement) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "--") {
			lines = append(lines, line)
		}
	}
	return strings.Join(strings.Fields(strings.Join(lines, " ")), " ")
}

// knownDifferences reads testdata/sql/known-differences.txt: script, SQLSTATE that Sherd answers or "rows", statement.
func knownDifferences(t *testing.T) map[string]map[string]string {
	t.Helper()
	text, err := os.ReadFile("testdata/sql/known-differences.txt")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string]string{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.SplitN(line, " ", 3)
		if len(parts) != 3 {
			t.Fatalf("known-differences.txt: %q is not SCRIPT CODE STATEMENT", line)
		}
		if out[parts[0]] == nil {
			out[parts[0]] = map[string]string{}
		}
		out[parts[0]][parts[2]] = parts[1]
	}
	return out
}
