package sql_test

import (
	"strings"
	"testing"
	"time"
)

// TestVersionsKept changes how long old versions are kept while the fragments are open. It waits
// until a read of the past is refused.
func TestVersionsKept(t *testing.T) {
	w := newWorld(t)
	c := w.connect(t)
	c.want("CREATE TABLE kept (id text PRIMARY KEY, n int); INSERT INTO kept VALUES ('a', 1)",
		"CREATE TABLE\nINSERT 0 1")
	const wanted = "BEGIN\nSET\n1\nSELECT 1\nCOMMIT"
	deadline := time.Now().Add(2 * time.Minute)
	var read string
	// The clock of commits may be some milliseconds ahead of the system's.
	for answer := ""; answer != wanted; {
		past := strings.TrimSuffix(c.answer("SELECT clock_timestamp()"), "\nSELECT 1")
		read = "BEGIN; SET LOCAL sherd.as_of = '" + past + "'; SELECT n FROM kept; COMMIT"
		if answer = c.answer(read); answer != wanted {
			c.answer("ROLLBACK")
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %q", read, answer)
		}
	}
	c.want("ALTER SYSTEM SET sherd.gc_ttl = '1s'", "ALTER SYSTEM")
	c.want("SHOW sherd.gc_ttl", "1s\nSHOW")
	for ; ; time.Sleep(20 * time.Millisecond) {
		c.answer("UPDATE kept SET n = n + 1") // an idle fragment has nothing to forget; 72000 if it takes a second
		answer := c.answer(read)
		c.answer("ROLLBACK")
		if strings.Contains(answer, "72000") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the past is still there: %s", answer)
		}
	}
	c.want("ALTER SYSTEM RESET sherd.gc_ttl", "ALTER SYSTEM")
	c.want("SELECT n > 1 FROM kept", "t\nSELECT 1")
}
