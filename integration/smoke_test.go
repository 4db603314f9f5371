package integration

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sherddb/sherd/internal/sparse"
)

// endsWithin is what a process may take from SIGTERM to its end on a busy machine, with a client that does not end its transaction: it waits for that for 5 s.
const endsWithin = 30 * time.Second

func TestRestart(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	p := StartT(t, binary, data)
	conn := Connect(t, p.URL)
	Exec(t, conn, "CREATE TABLE orders (id text PRIMARY KEY, doc jsonb NOT NULL) WITH (shard_by = 'Customer')")
	Exec(t, conn, `INSERT INTO orders VALUES ('orders/1-A$', '{"Customer": "customers/1-A", "Total": 10.50}')`)
	check := func(want ...string) {
		t.Helper()
		conn := Connect(t, p.URL)
		got := One[string](t, conn, "SELECT string_agg(id || ' ' || (doc->>'Total'), ', ' ORDER BY id) FROM orders")
		if got != strings.Join(want, ", ") {
			t.Fatalf("found %q, want %q", got, want)
		}
		conn.Close(context.Background())
	}
	first, second := "orders/1-A$@982173 10.50", "orders/2-A$@982173 20"
	check(first)

	code, took, err := p.Terminate()
	if err != nil {
		t.Fatal(err)
	}
	if code != 0 || took > endsWithin {
		t.Errorf("SIGTERM: exit code %d after %v; log:\n%s", code, took, p.Log())
	}
	p = StartT(t, binary, data)
	check(first)
	conn = Connect(t, p.URL)
	Exec(t, conn, `INSERT INTO orders VALUES ('orders/2-A$', '{"Customer": "customers/1-A", "Total": 20}')`)
	p.Kill()

	p = StartT(t, binary, data)
	check(first, second)
	conn = Connect(t, p.URL)
	if _, err := conn.Exec(context.Background(), `INSERT INTO orders VALUES ('orders/2-A$', '{"Customer": "customers/1-A"}')`); sqlState(err) != "23505" {
		t.Errorf("the policy after restart: %v", err)
	}
}

func TestTerminateLetsStatementsFinish(t *testing.T) {
	p := StartT(t, binary, filepath.Join(t.TempDir(), "data"))
	conn := Connect(t, p.URL)
	Exec(t, conn, "CREATE TABLE t (id text PRIMARY KEY, doc jsonb NOT NULL)")
	idle := Connect(t, p.URL)
	Exec(t, idle, "BEGIN")
	code, took, err := p.Terminate()
	if err != nil {
		t.Fatal(err)
	}
	if code != 0 || took > endsWithin {
		t.Errorf("with an idle transaction open: exit code %d after %v; log:\n%s", code, took, p.Log())
	}
	if _, err := idle.Exec(context.Background(), "SELECT 1"); err == nil {
		t.Error("the connection still answers")
	}
}

// startFails runs `sherd start` where it must refuse, and returns what it says.
func startFails(t *testing.T, flags ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), readyTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, binary, append([]string{"start", "--node-addr", "127.0.0.1:0"}, flags...)...).CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() < 1 {
		t.Fatalf("sherd start %s: %v\n%s", flags, err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}

func TestStartRefuses(t *testing.T) {
	good := filepath.Join(t.TempDir(), "good")
	p := StartT(t, binary, good)
	Exec(t, Connect(t, p.URL), "CREATE TABLE t (id text PRIMARY KEY, doc jsonb NOT NULL)")
	if text := startFails(t, "--data", good, "--sql-addr", "127.0.0.1:0"); !strings.Contains(text, "in use") && !strings.Contains(text, "locked") {
		t.Errorf("a second process on the directory: %s", text)
	}
	if got := One[int](t, Connect(t, p.URL), "SELECT count(*)::int FROM t"); got != 0 {
		t.Errorf("the first process answers %d", got)
	}
	addr := strings.TrimSuffix(strings.TrimPrefix(p.URL, "postgres://postgres@"), "/postgres")
	if text := startFails(t, "--data", filepath.Join(t.TempDir(), "other"), "--sql-addr", addr); !strings.Contains(text, "in use") {
		t.Errorf("a port that is taken: %s", text)
	}
	p.Kill()

	foreign := t.TempDir()
	if err := os.WriteFile(filepath.Join(foreign, "PG_VERSION"), []byte("15\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text := startFails(t, "--data", foreign, "--sql-addr", "127.0.0.1:0"); !strings.Contains(text, foreign) {
		t.Errorf("a foreign directory: %s", text)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	startFails(t, "--data", file, "--sql-addr", "127.0.0.1:0")
	startFails(t)
	startFails(t, "--data", good, "--sql-addr", "0.0.0.0:0")
	startFails(t, "--data", good, "--sql-addr", "nonsense")
	startFails(t, "--data", good, "--fragments", "many")
}

// TestDamagedDirectory overwrites files of a data directory one kind at a time: the process must say so, or come up with all the data.
func TestDamagedDirectory(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	p := StartT(t, binary, data)
	conn := Connect(t, p.URL)
	Exec(t, conn, "CREATE TABLE t (id text PRIMARY KEY, doc jsonb NOT NULL)")
	Exec(t, conn, `INSERT INTO t SELECT 't/' || n, jsonb_build_object('n', n) FROM generate_series(1, 3000) n`)
	if code, _, err := p.Terminate(); code != 0 || err != nil {
		t.Fatal(code, err)
	}
	for _, file := range filesOf(t, data) {
		t.Run(strings.ReplaceAll(file, "/", "."), func(t *testing.T) {
			t.Parallel()
			damaged := filepath.Join(t.TempDir(), "data")
			if err := sparse.Dir(damaged, data); err != nil {
				t.Fatal(err)
			}
			damage(t, filepath.Join(damaged, file))
			p, err := Start(binary, damaged)
			if err != nil {
				if strings.Contains(err.Error(), "panic:") || strings.Contains(err.Error(), "goroutine ") {
					t.Fatalf("it panics: %v", err)
				}
				t.Logf("refused: %s", lastLine(err.Error()))
				return
			}
			defer p.Kill()
			conn := Connect(t, p.URL)
			var n, sum int
			err = conn.QueryRow(context.Background(), "SELECT count(*), sum((doc->>'n')::int) FROM t").Scan(&n, &sum)
			if err != nil {
				if sqlState(err) == "" || p.Exited() {
					t.Errorf("a query ends the connection: %v; log:\n%s", err, p.Log())
				}
				t.Logf("answers: %v", err)
				return
			}
			if n != 3000 || sum != 3000*3001/2 {
				t.Errorf("it starts and has %d documents, sum %d", n, sum)
			}
		})
	}
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// filesOf lists one file of each kind (fragments are alike, and so are numbered files).
func filesOf(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	seen := map[string]bool{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		kind := strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' {
				return -1
			}
			return r
		}, filepath.Base(rel)) + " " + strings.SplitN(rel, "/", 2)[0]
		if info.Size() == 0 || seen[kind] {
			return nil
		}
		seen[kind] = true
		out = append(out, rel)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// damage overwrites the middle of a file.
func damage(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	junk := []byte(strings.Repeat("\xa5\x5a\xff", 100))
	junk = junk[:min(int64(len(junk)), max(1, st.Size()/2))]
	if _, err := f.WriteAt(junk, st.Size()/4); err != nil {
		t.Fatal(err)
	}
}
