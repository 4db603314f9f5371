package main

import (
	"os"
	"testing"
	"time"
)

// TestLarge is the short form of make large: large transactions of several kinds in a process that stays within its --memory, and a kill in the
// midst of a commit.
func TestLarge(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts processes")
	}
	o := options{
		rows: 40_000, bytes: 16 << 20, memory: 512, rounds: 1, idle: time.Second, out: t.Output(), dir: t.TempDir(), binary: os.Getenv("SHERD_BINARY"),
		only: []string{"copy", "delete", "wide", "index-update", "deferred", "stronger", "prepared", "kill"},
	}
	if err := run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}
