package integration

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// sherd runs the command and returns what it prints and its exit code.
func sherd(t *testing.T, args ...string) (out, messages string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// tableText is a table's rows, sorted by id, one a line.
func tableText(t *testing.T, conn *pgx.Conn, table string) string {
	t.Helper()
	return One[string](t, conn, fmt.Sprintf("SELECT coalesce(string_agg(id || ' ' || doc::text, E'\\n' ORDER BY id), '') FROM %s", table))
}

func TestImport(t *testing.T) {
	url := sharedURL(t)
	conn := Connect(t, url)
	file := writeFile(t, "orders.jsonl", `{"OrderId":"orders/1-A$","Customer":"customers/1-A","Total":1.10}
{"OrderId":"orders/2-A$","Customer":"customers/1-A","Note":"tab\t and \\ and é"}

{"OrderId":3,"Customer":"customers/6-A"}
`)
	for _, bad := range [][]string{{"import"}, {"import", file}, {"import", file, "--table", "t", "--on-conflict", "maybe"}, {"import", file, "--table", "t", "--nosuch"}} {
		if _, messages, code := sherd(t, append(bad, "--url", url)...); code != 2 {
			t.Errorf("sherd %s: exit code %d, %s", bad, code, messages)
		}
	}
	if _, messages, code := sherd(t, "import", file+"x", "--table", "imported", "--url", url); code != 1 || !strings.Contains(messages, "no such file") {
		t.Errorf("a file that is not there: exit code %d, %s", code, messages)
	}
	_, messages, code := sherd(t, "import", file, "--table", "imported", "--id", "OrderId", "--shard-by", "Customer", "--shard-range", "1000", "--url", url)
	if code != 1 || !strings.Contains(messages, file+":4: ") || !strings.Contains(messages, "23514") {
		t.Fatalf("an id outside its block: exit code %d\n%s", code, messages)
	}
	out, messages, code := sherd(t, "import", file, "--table", "imported", "--id", "OrderId", "--resume", "--max-errors", "1", "--json", "--url", url)
	var summary struct{ Documents, Rejected, Resumed int }
	if err := json.Unmarshal([]byte(out), &summary); err != nil || code != 0 {
		t.Fatalf("exit code %d: %s%s", code, out, messages)
	}
	if summary.Documents != 0 || summary.Rejected != 1 || summary.Resumed != 3 {
		t.Errorf("the resumed import: %s", out)
	}
	want := `orders/1-A$@982326 {"Total": 1.10, "Customer": "customers/1-A"}` + "\n" +
		`orders/2-A$@982716 {"Note": "tab\t and \\ and é", "Customer": "customers/1-A"}`
	if got := tableText(t, conn, "imported"); got != want {
		t.Errorf("the table has\n%s\nwant\n%s", got, want)
	}
}

func TestImportConflictsAndRejects(t *testing.T) {
	url := sharedURL(t)
	conn := Connect(t, url)
	first := writeFile(t, "first.jsonl", "{\"id\":\"a/1\",\"v\":1}\n{\"id\":\"a/2\",\"v\":1}\n")
	second := writeFile(t, "second.jsonl", "{\"id\":\"a/2\",\"v\":2}\n{\"id\":\"a/3\",\"v\":2}\n{\"v\":2}\n{\"id\":\"a/4\",\"v\":\"\\u0000\"}\n{\"id\":\"a/5\",\"v\":\"\xff\"}\n{\"id\":\"a/6\",\"v\":2}\n{\"id\":\"a/6\",\"v\":3}\n")
	if _, messages, code := sherd(t, "import", first, "--table", "conflicts", "--url", url); code != 0 {
		t.Fatal(messages)
	}
	if _, messages, code := sherd(t, "import", second, "--table", "conflicts", "--url", url); code != 1 || !strings.Contains(messages, second+":1: ") || !strings.Contains(messages, "23505") {
		t.Errorf("an id that is there: exit code %d, %s", code, messages)
	}
	for _, test := range []struct{ mode, a2, a6 string }{{"skip", "1", "2"}, {"update", "2", "3"}} {
		rejects := filepath.Join(t.TempDir(), "rejects")
		args := []string{"import", second, "--table", "conflicts", "--on-conflict", test.mode, "--url", url, "--batch", "3"}
		if _, messages, code := sherd(t, args...); code != 1 || !strings.Contains(messages, second+":3: no field") {
			t.Errorf("%s: exit code %d, %s", test.mode, code, messages)
		}
		out, messages, code := sherd(t, append(args, "--max-errors", "3", "--rejects", rejects)...)
		if code != 0 || !strings.Contains(out, "3 rejected") {
			t.Errorf("%s: exit code %d, %s%s", test.mode, code, out, messages)
		}
		for _, line := range []string{":3: no field", ":4: unsupported Unicode escape sequence (SQLSTATE 22P05)", ":5: invalid UTF-8"} {
			if !strings.Contains(messages, second+line) {
				t.Errorf("%s: no message %q in\n%s", test.mode, line, messages)
			}
		}
		if kept, err := os.ReadFile(rejects); err != nil || bytes.Count(kept, []byte("\n")) != 3 {
			t.Errorf("%s: rejected lines: %q, %v", test.mode, kept, err)
		}
		want := fmt.Sprintf("a/1 {\"v\": 1}\na/2 {\"v\": %s}\na/3 {\"v\": 2}\na/6 {\"v\": %s}", test.a2, test.a6)
		if got := tableText(t, conn, "conflicts"); got != want {
			t.Errorf("%s: the table has\n%s\nwant\n%s", test.mode, got, want)
		}
	}
}

func TestImportFromStandardInput(t *testing.T) {
	url := sharedURL(t)
	cmd := exec.CommandContext(t.Context(), binary, "import", "-", "--table", "from_input")
	cmd.Env = append(os.Environ(), "SHERD_URL="+url)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	fmt.Fprintln(z, `{"id":"a/1"}`)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	cmd.Stdin = &packed
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if got := tableText(t, Connect(t, url), "from_input"); got != "a/1 {}" {
		t.Errorf("the table has %s", got)
	}
}

// TestImportInterrupted kills the server while an import runs, and resumes it on the next one.
func TestImportInterrupted(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	p := StartT(t, binary, data)
	args := []string{"import", packagesFile, "--table", "packages", "--doc", "doc", "--batch", "1000", "--json"}
	cmd := exec.CommandContext(t.Context(), binary, append(args, "--url", p.URL)...)
	var messages bytes.Buffer
	cmd.Stderr = &messages
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	conn := Connect(t, p.URL)
	for { // until a part of it is there
		var n int
		if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM packages").Scan(&n); sqlState(err) != "42P01" && err != nil {
			t.Fatal(err)
		}
		if n >= 5000 {
			break
		}
	}
	p.Kill()
	if err := cmd.Wait(); err == nil {
		t.Fatal("the import was done before the server was killed")
	}
	if !strings.Contains(messages.String(), "--resume") {
		t.Errorf("the import says\n%s", &messages)
	}
	p = StartT(t, binary, data)
	conn = Connect(t, p.URL)
	there := One[int](t, conn, "SELECT count(*)::int FROM packages")
	out, errs, code := sherd(t, append(args, "--resume", "--url", p.URL)...)
	var summary struct{ Documents, Resumed int }
	if err := json.Unmarshal([]byte(out), &summary); err != nil || code != 0 {
		t.Fatalf("exit code %d: %s%s", code, out, errs)
	}
	if summary.Resumed != there || summary.Documents+summary.Resumed != 63666 || there%1000 != 0 {
		t.Errorf("%d documents were there; the resumed import says %s", there, out)
	}
	text, err := os.ReadFile("testdata/queries/18-everything.sql")
	if err != nil {
		t.Fatal(err)
	}
	checkGolden(t, "testdata/queries/18-everything.golden", answer(t.Context(), conn, string(text)))
}

// TestCopyThroughStaging loads the packages as one does without our import: COPY into a table of one jsonb column, and INSERT … SELECT from it.
func TestCopyThroughStaging(t *testing.T) {
	conn := Connect(t, withPackages(t))
	Exec(t, conn, "CREATE TABLE staging (line jsonb)")
	Exec(t, conn, "CREATE TABLE staged (id text PRIMARY KEY, doc jsonb NOT NULL)")
	f, err := os.Open(packagesFile)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	// As psql's \copy staging FROM PROGRAM 'zcat …' CSV QUOTE E'\x01' DELIMITER E'\x02': no byte of JSON is special then.
	tag, err := conn.PgConn().CopyFrom(t.Context(), z, `COPY staging FROM STDIN (FORMAT csv, QUOTE E'\x01', DELIMITER E'\x02')`)
	if err != nil || tag.RowsAffected() != 63666 {
		t.Fatalf("COPY: %v, %v", tag, err)
	}
	Exec(t, conn, "INSERT INTO staged SELECT line->>'id', line->'doc' FROM staging")
	const sum = "SELECT md5(string_agg(md5(id || doc::text), '' ORDER BY id)) FROM "
	if got, want := One[string](t, conn, sum+"staged"), One[string](t, conn, sum+"packages"); got != want {
		t.Errorf("the staged documents have the sum %s, the imported ones %s", got, want)
	}
	var out bytes.Buffer
	if _, err := conn.PgConn().CopyTo(t.Context(), &out, "COPY (SELECT doc->>'Package' FROM staged WHERE id LIKE 'packages/bas%' ORDER BY id) TO STDOUT"); err != nil {
		t.Fatal(err)
	}
	var want []string
	rows, err := conn.Query(t.Context(), "SELECT doc->>'Package' FROM packages WHERE id LIKE 'packages/bas%' ORDER BY id")
	if err == nil {
		want, err = pgx.CollectRows(rows, pgx.RowTo[string])
	}
	if err != nil || strings.TrimSpace(out.String()) != strings.Join(want, "\n") || len(want) < 5 {
		t.Errorf("COPY TO gives %q, SELECT %q, %v", out.String(), want, err)
	}
	Exec(t, conn, "DROP TABLE staging, staged")
}

// TestCopyIsAtomic breaks a COPY in its midst.
func TestCopyIsAtomic(t *testing.T) {
	conn := Connect(t, sharedURL(t))
	Exec(t, conn, "CREATE TABLE copied (id text PRIMARY KEY, doc jsonb NOT NULL)")
	var text strings.Builder
	for n := range 3000 {
		fmt.Fprintf(&text, "c/%d\t{\"n\": %d}\n", n, n)
	}
	for _, test := range []struct{ line, state, where string }{
		{"c/x\t{\"n\": \n", "22P02", "COPY copied, line 3001, column doc: "},
		{"c/x\n", "22P04", "COPY copied, line 3001: "},
		{"c/x\t{}\tmore\n", "22P04", "COPY copied, line 3001: "},
		{"c/7\t{}\n", "23505", ""}, // found when the rows are written, by then the line is not known
		{"c/x\t\\N\n", "23502", "COPY copied, line 3001: "},
		{"c/x\t\"\xff\"\n", "22021", "COPY copied, line 3001"},
	} {
		_, err := conn.PgConn().CopyFrom(t.Context(), strings.NewReader(text.String()+test.line), "COPY copied FROM STDIN")
		if sqlState(err) != test.state || !strings.Contains(errorWhere(err), test.where) {
			t.Errorf("%q: %v, where %q; want %s, where %q", test.line, err, errorWhere(err), test.state, test.where)
		}
	}
	_, err := conn.PgConn().CopyFrom(t.Context(), io.MultiReader(strings.NewReader(text.String()), brokenReader{}), "COPY copied FROM STDIN")
	if err == nil {
		t.Error("a client that gives up: no error")
	}
	if n := One[int](t, conn, "SELECT count(*)::int FROM copied"); n != 0 {
		t.Errorf("%d documents of failed COPYs are there", n)
	}
	if _, err := conn.PgConn().CopyFrom(t.Context(), strings.NewReader(text.String()), "COPY copied FROM STDIN"); err != nil {
		t.Error(err)
	}
	if n := One[int](t, conn, "SELECT count(*)::int FROM copied"); n != 3000 {
		t.Errorf("%d documents", n)
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("the client gives up") }
