package integration

import (
	"context"
	bin "encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// TestBadInput sends what must be refused: each with its SQLSTATE, and the same connection answers afterwards.
func TestBadInput(t *testing.T) {
	p := sharedProcess(t)
	conn := Connect(t, p.URL)
	Exec(t, conn, "CREATE TABLE plain (id text PRIMARY KEY, doc jsonb NOT NULL)")
	Exec(t, conn, "CREATE TABLE placed (id text PRIMARY KEY, doc jsonb NOT NULL) WITH (shard_by = 'Customer')")
	Exec(t, conn, `INSERT INTO placed VALUES ('orders/1-A$', '{"Customer": "customers/1-A"}')`)
	deep := func(open, closing string, n int) string {
		return strings.Repeat(open, n) + "1" + strings.Repeat(closing, n)
	}
	for _, test := range []struct {
		name, state, text string
		part              string // of the message
	}{
		{"placement without a policy", "22023", `INSERT INTO plain VALUES ('a$', '{}')`, `"a$"`},
		{"bucket too large", "22023", `INSERT INTO plain VALUES ('a$@1048576', '{}')`, "1048575"},
		{"bucket with leading zeros", "22023", `INSERT INTO plain VALUES ('a$@007', '{}')`, "007"},
		{"two dollars", "22023", `INSERT INTO plain VALUES ('a$$', '{}')`, "$$"},
		{"only a dollar", "22023", `INSERT INTO plain VALUES ('$', '{}')`, "$"},
		{"update to a placement id", "22023", `UPDATE placed SET id = 'orders/2-A$'`, "orders/2-A$"},
		{"policy violation by insert", "23514", `INSERT INTO placed VALUES ('orders/5-A', '{"Customer": "customers/1-A"}')`, `violates check constraint "sharding"`},
		{"policy violation by update", "23514", `UPDATE placed SET doc = '{"Customer": "customers/2-B"}'`, `violates check constraint "sharding"`},
		{"field missing", "23514", `INSERT INTO placed VALUES ('orders/5-A$', '{}')`, "Customer"},
		{"field is an array", "23514", `INSERT INTO placed VALUES ('orders/5-A$', '{"Customer": []}')`, "Customer"},
		{"invalid JSON", "22P02", `INSERT INTO plain VALUES ('a', '{"x": }')`, "invalid input syntax for type json"},
		{"JSON with NUL", "22P05", `INSERT INTO plain VALUES ('a', '"\u0000"')`, "unsupported Unicode escape sequence"},
		{"deep JSON", "54001", `INSERT INTO plain VALUES ('a', '` + deep("[", "]", 100_000) + `')`, "stack depth limit exceeded"},
		{"bad UTF-8", "22021", "SELECT '\xff'", `invalid byte sequence for encoding "UTF8": 0xff`},
		{"NUL by chr", "54000", "SELECT chr(0)", "null character not permitted"},
		{"chain of additions", "", "SELECT " + strings.Repeat("1+", 25_000) + "1", ""},
		{"deep parentheses", "54001", "SELECT " + deep("(", ")", 100_000), ""},
		{"deep function calls", "54001", "SELECT " + deep("abs(", ")", 50_000), ""},
		{"deep subqueries", "54001", "SELECT " + deep("(SELECT ", ")", 20_000), ""},
		{"chain of ANDs", "", "SELECT " + strings.Repeat("true AND ", 20_000) + "true", ""},
		{"chain of NOTs", "54001", "SELECT " + strings.Repeat("NOT ", 100_000) + "true", ""},
		{"chain of minuses", "54001", "SELECT " + strings.Repeat("- ", 100_000) + "1", ""},
		{"chain of casts", "54001", "SELECT 1" + strings.Repeat("::int", 100_000), ""},
		{"chain of unions", "", strings.Repeat("SELECT 1 UNION ALL ", 2_000) + "SELECT 1", ""},
		{"chain of CASE", "54001", "SELECT " + strings.Repeat("CASE WHEN true THEN ", 50_000) + "1" + strings.Repeat(" END", 50_000), ""},
		{"deep jsonpath", "54001", "SELECT '" + deep("(", ")", 100_000) + "'::jsonpath", ""},
		{"deep array", "54000", "SELECT '" + deep("{", "}", 100_000) + "'::int[]", ""},
		{"endless regular expression", "2201B", "SELECT 'a' ~ '" + strings.Repeat("(", 50_000) + "'", ""},
		{"long IN list", "", "SELECT 1 IN (" + strings.Repeat("1,", 20_000) + "2)", ""},
		{"unknown function", "42883", "SELECT nosuch(1, 'x')", "function nosuch(integer, unknown) does not exist"},
		{"unknown table", "42P01", "SELECT * FROM nosuch", `relation "nosuch" does not exist`},
		{"unknown setting of ours", "42704", "SET sherd.nosuch = 1", "sherd.nosuch"},
		{"open quote", "42601", "SELECT 'open", "unterminated quoted string"},
		{"open comment", "42601", "SELECT 1 /* open", "unterminated /* comment"},
		{"not SQL", "42601", "HELO example.org", `syntax error at or near "HELO"`},
		{"a column too large", "54000", "SELECT length(repeat(repeat('x', 1000000), 2000))", ""},
		{"much memory", "54000", "SELECT repeat('x', 2000000000)", "requested length too large"},
		{"too many columns", "54011", "CREATE TABLE wide (" + strings.Repeat("", 1) + columns(2000) + ")", "tables can have at most 1600 columns"},
		{"long name", "", "SELECT 1 AS " + strings.Repeat("n", 10_000), ""},
		{"dividing", "22012", "SELECT 1 / (random() * 0)::int", "division by zero"},
	} {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), readyTimeout)
			defer cancel()
			_, err := conn.PgConn().Exec(ctx, test.text).ReadAll()
			var pg *pgconn.PgError
			// A chain has no SQLSTATE that it must have: it is answered, or refused as too complex.
			if state := sqlState(err); state != test.state && (test.state != "" || state != "54001") {
				t.Errorf("got %v, want SQLSTATE %q", short(err), test.state)
			}
			if errors.As(err, &pg) && !strings.Contains(pg.Message+pg.Detail, test.part) {
				t.Errorf("the message %q (%s) does not have %q", pg.Message, pg.Detail, test.part)
			}
			if conn.IsClosed() {
				t.Errorf("the connection is gone: %s", short(err))
				conn = Connect(t, p.URL)
			}
			if One[int](t, conn, "SELECT 1") != 1 || p.Exited() {
				t.Fatalf("the server does not answer; its log:\n%s", p.Log())
			}
		})
	}
	if got := tableText(t, conn, "plain"); got != "" {
		t.Errorf("refused documents are there: %s", got)
	}
	if got := tableText(t, conn, "placed"); got != `orders/1-A$@982173 {"Customer": "customers/1-A"}` {
		t.Errorf("the documents are now %s", got)
	}
}

func short(err error) string {
	text := fmt.Sprint(err)
	return text[:min(len(text), 300)]
}

func columns(n int) string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("c%d int", i)
	}
	return strings.Join(out, ", ")
}

// TestBadParameters sends parameters that are not what they say.
func TestBadParameters(t *testing.T) {
	conn := Connect(t, sharedURL(t))
	for _, test := range []struct {
		state, text string
		value       []byte
		oid         uint32
		format      int16
	}{
		{"22021", "SELECT $1::text", []byte("a\x00b"), 25, 0},
		{"22021", "SELECT $1::text", []byte("a\xff"), 25, 0},
		{"22021", "SELECT $1::text", []byte("\xc3"), 25, 1},
		{"22P02", "SELECT $1::int", []byte("x"), 23, 0},
		{"22P03", "SELECT $1::int", []byte{1, 2, 3, 4, 5}, 23, 1},
		{"08P01", "SELECT $1::int", []byte{1}, 23, 1},
		{"22P02", "SELECT $1::jsonb", []byte("{"), 3802, 0},
		{"XX000", "SELECT $1::jsonb", []byte("\x09{}"), 3802, 1},
		{"54000", "SELECT $1::int[]", []byte{0, 0, 0, 200, 0, 0, 0, 0, 0, 0, 0, 23}, 1007, 1},
	} {
		_, err := conn.PgConn().ExecParams(t.Context(), test.text, [][]byte{test.value}, []uint32{test.oid}, []int16{test.format}, nil).Close()
		state := sqlState(err)
		if state == "" || conn.IsClosed() || state != test.state && !(strings.HasPrefix(state, "22P0") || state == "08P01") {
			t.Errorf("%s with %q (format %d): %v, want %s", test.text, test.value, test.format, err, test.state)
		}
	}
	if One[int](t, conn, "SELECT 1") != 1 {
		t.Error("the connection does not answer")
	}
}

// TestBadMessages sends bytes that are not the protocol, before and after the start of a session.
func TestBadMessages(t *testing.T) {
	p := sharedProcess(t)
	config, err := pgx.ParseConfig(p.URL)
	if err != nil {
		t.Fatal(err)
	}
	addr := net.JoinHostPort(config.Host, fmt.Sprint(config.Port))
	message := func(kind string, length uint32, body string) string {
		return kind + string(bin.BigEndian.AppendUint32(nil, length)) + body
	}
	startup := "\x00\x03\x00\x00user\x00postgres\x00database\x00postgres\x00\x00"
	start := message("", uint32(len(startup)+4), startup)
	for name, text := range map[string]string{
		"http":                   "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"nothing":                "",
		"zero length":            "\x00\x00\x00\x00",
		"huge start":             message("", 1<<30, "\x00\x03\x00\x00"),
		"short start":            message("", 7, "\x00\x03\x00"),
		"unknown version":        message("", 8, "\x00\x09\x00\x00"),
		"start without end":      message("", 20, "\x00\x03\x00\x00user\x00postgre"),
		"huge message":           start + message("Q", 1<<31-1, "SELECT"),
		"negative length":        start + message("Q", 1<<32-1, "SELECT"),
		"length of 3":            start + message("Q", 3, ""),
		"unknown kind":           start + message("!", 4, ""),
		"query without NUL":      start + message("Q", 12, "SELECT 1"),
		"bind without statement": start + message("B", 8, "\x00\x00\x00\x00"),
		"bind cut short":         start + message("P", 19, "\x00SELECT $1\x00\x00\x00\x00") + message("B", 12, "\x00\x00\x00\x01\x00\x00\x00\x05"),
		"copy data out of place": start + message("d", 8, "abcd") + message("Q", 13, "SELECT 1\x00"),
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			c, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if err := c.SetDeadline(time.Now().Add(readyTimeout)); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Write([]byte(text)); err != nil {
				t.Log(err)
			}
			if err := c.(*net.TCPConn).CloseWrite(); err != nil {
				t.Log(err)
			}
			if _, err := io.Copy(io.Discard, c); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Log(err) // a reset is an answer too
			} else if err != nil {
				t.Errorf("the server keeps the connection: %v", err)
			}
			if One[int](t, Connect(t, p.URL), "SELECT 1") != 1 {
				t.Error("the server does not answer")
			}
		})
	}
}

// TestOversized writes documents up to what is too large, by statement and by COPY.
func TestOversized(t *testing.T) {
	p := sharedProcess(t)
	conn := Connect(t, p.URL)
	Exec(t, conn, "CREATE TABLE large (id text PRIMARY KEY, doc jsonb NOT NULL)")
	Exec(t, conn, `INSERT INTO large VALUES ('a', jsonb_build_object('x', repeat('y', 4000000)))`)
	if n := One[int](t, conn, "SELECT length(doc->>'x') FROM large"); n != 4_000_000 {
		t.Errorf("a document of 4 MB comes back with %d characters", n)
	}
	for _, text := range []string{
		`INSERT INTO large VALUES (repeat('k', 100000), '{}')`,
		`INSERT INTO large VALUES ('b', jsonb_build_object('x', repeat('y', 300000000)))`,
	} {
		if _, err := conn.Exec(t.Context(), text); !strings.HasPrefix(sqlState(err), "54") {
			t.Errorf("%s: %v", text, short(err))
		}
	}
	if conn.IsClosed() {
		t.Fatal("the connection is gone")
	}
	if n := One[int](t, conn, "SELECT count(*)::int FROM large"); n != 1 {
		t.Errorf("%d documents", n)
	}
	Exec(t, conn, "DROP TABLE large")
}

// TestDiskFull fills a file system of 600 MB. Writes stop with 53100 and nothing that was acknowledged is lost; reads and deletes go on.
func TestDiskFull(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "disk")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=600m", "sherd-test", dir).CombinedOutput(); err != nil {
		t.Fatalf("this test needs a small file system and so the right to mount one (root): %v\n%s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", dir).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
	p := StartT(t, binary, filepath.Join(dir, "data"))
	conn := Connect(t, p.URL)
	Exec(t, conn, "CREATE TABLE full_disk (id text PRIMARY KEY, doc jsonb NOT NULL)")
	acknowledged := 0
	var failure error
	for n := 0; n < 1000; n++ { // random text, which no compression makes small
		_, failure = conn.Exec(t.Context(), `INSERT INTO full_disk SELECT 'd/' || $1::int || '/' || i,
			jsonb_build_object('x', (SELECT string_agg(md5(random()::text || i || j), '') FROM generate_series(1, 300) j)) FROM generate_series(1, 100) i`, n)
		if failure != nil {
			break
		}
		acknowledged += 100
	}
	if sqlState(failure) != "53100" || p.Exited() {
		t.Fatalf("after %d documents of 10 KB: %v; the process is gone: %v; its log:\n%s", acknowledged, failure, p.Exited(), p.Log())
	}
	check := func(when string) {
		t.Helper()
		if n := One[int](t, conn, "SELECT count(*)::int FROM full_disk WHERE length(doc->>'x') = 9600"); n != acknowledged {
			t.Errorf("%s: %d documents, %d were acknowledged", when, n, acknowledged)
		}
	}
	t.Logf("%d documents of 10 KB went in; then %v", acknowledged, failure)
	check("while the disk is full")
	p.Kill()
	p = StartT(t, binary, filepath.Join(dir, "data"))
	conn = Connect(t, p.URL)
	check("after a kill while the disk is full")
	// Some room is kept for what only deletes, also when its rows fall into several fragments.
	tag, err := conn.Exec(t.Context(), "DELETE FROM full_disk WHERE id LIKE 'd/0/%'")
	if err != nil || tag.RowsAffected() != 100 {
		t.Errorf("DELETE on a full disk: %v, %v", tag, err)
	}
	acknowledged -= 100
	check("after a DELETE")
	Exec(t, conn, "TRUNCATE full_disk")
	acknowledged = 0
	check("after TRUNCATE")
}
