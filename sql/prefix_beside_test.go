package sql_test

import (
	"sync"
	"testing"
)

// TestPrefixBesideMapChanges: a client that creates and drops rules for prefixes sees no error if
// the database's map changes at the same time, by the simple or the extended protocol.
func TestPrefixBesideMapChanges(t *testing.T) {
	w := newWorld(t)
	c, other := w.connect(t), w.connect(t)
	c.want("CREATE TABLE customers (id text PRIMARY KEY, doc jsonb)", "CREATE TABLE")
	begins := make(chan bool)
	end := sync.OnceFunc(func() { close(begins) })
	defer end()
	var changes sync.WaitGroup
	changes.Go(func() {
		for range begins {
			other.want("SELECT sherd.split_range('postgres', 1000)", "\nSELECT 1")
			other.want("SELECT sherd.merge_ranges('postgres', 1000)", "\nSELECT 1")
		}
	})
	for n := range 40 {
		run := c.answer
		if n%2 == 1 {
			run = c.sentPlain
		}
		begins <- true
		if got := run("SELECT sherd.set_prefix('eu/', '{postgres$0}', buckets => 8)"); got != "0\nSELECT 1" {
			t.Fatalf("round %d: %s", n, got)
		}
		begins <- true
		if got := run("SELECT sherd.drop_prefix('eu/')"); got != "\nSELECT 1" {
			t.Fatalf("round %d: %s", n, got)
		}
	}
	end()
	changes.Wait()
}
