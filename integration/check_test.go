package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// checkStopped has "sherd check" find a data directory whole.
func checkStopped(t *testing.T, data string) string {
	t.Helper()
	out, messages, code := sherd(t, "check", "--data", data)
	if code != 0 || messages != "" {
		t.Fatalf("sherd check: exit code %d\n%s%s", code, out, messages)
	}
	return out
}

// TestCheckCommand checks a server while it runs, when it was killed and when it has ended; and damage is told by the exit code.
func TestCheckCommand(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	p := StartT(t, binary, data)
	conn := Connect(t, p.URL)
	Exec(t, conn, "CREATE TABLE goods (id text PRIMARY KEY, name text UNIQUE, big text)")
	Exec(t, conn, "CREATE INDEX ON goods (name)")
	Exec(t, conn, "INSERT INTO goods SELECT 'g/' || i, 'name ' || i, repeat('x', CASE WHEN i < 3 THEN 600000 ELSE 10 END) FROM generate_series(1, 2000) i")
	Exec(t, conn, "DELETE FROM goods WHERE id LIKE 'g/7%'")
	Exec(t, conn, "CREATE DATABASE shop")
	want := fmt.Sprintf("%d rows", One[int](t, conn, "SELECT count(*)::int FROM goods"))
	if _, messages, code := sherd(t, "check", "--data", data); code != 1 || !strings.Contains(messages, "is in use by another process of Sherd") {
		t.Errorf("of a running node: exit code %d, %s", code, messages)
	}
	if out, messages, code := sherd(t, "check", "--url", p.URL); code != 0 || !strings.Contains(out, "rows          public.goods: "+want) {
		t.Errorf("exit code %d\n%s%s", code, out, messages)
	}
	p.Kill()
	if out := checkStopped(t, data); !strings.Contains(out, "rows          postgres.public.goods: "+want) || !strings.Contains(out, "storage       shop$0: 0 keys") {
		t.Errorf("after a kill:\n%s", out)
	}
	p = StartT(t, binary, data)
	if code, _, err := p.Terminate(); code != 0 || err != nil {
		t.Fatal(code, err)
	}
	if out := checkStopped(t, data); !strings.Contains(out, "rows          postgres.public.goods: "+want) {
		t.Errorf("after an end:\n%s", out)
	}
	tables, _ := filepath.Glob(filepath.Join(data, "fragments", "*", "data", "*.sst"))
	if len(tables) == 0 {
		t.Fatal("there are no tables")
	}
	b, err := os.ReadFile(tables[0])
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/3] ^= 1
	if err := os.WriteFile(tables[0], b, 0o600); err != nil {
		t.Fatal(err)
	}
	out, messages, code := sherd(t, "check", "--data", data, "--json")
	if code != 1 || messages != "sherd: the check has found something wrong\n" {
		t.Errorf("of a damaged table: exit code %d, %s", code, messages)
	}
	var wrong []string
	for line := range strings.Lines(out) {
		var row struct {
			Check, Subject, Detail string
			OK                     bool
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if !row.OK {
			wrong = append(wrong, row.Check+" "+row.Detail)
		}
	}
	if len(wrong) != 2 || !strings.HasPrefix(wrong[0], "storage data/"+filepath.Base(tables[0])+": ") {
		t.Errorf("%q", wrong)
	}
}
