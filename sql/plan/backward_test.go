package plan_test

import (
	"os"
	"strings"
	"testing"

	"github.com/sherddb/sherd/sql/plan"
)

// TestBackward compares the queries of testdata/backward.txt with what PostgreSQL answers to a
// backward fetch from a cursor over them.
func TestBackward(t *testing.T) {
	text, err := os.ReadFile("testdata/backward.txt")
	must(t, err)
	ctx := testContext(t)
	for line := range strings.Lines(string(text)) {
		want, sql, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok || line[0] == '#' {
			continue
		}
		q, _, err := build(ctx, sql)
		must(t, err)
		if got := plan.Backward(q); got != (want == "both") {
			t.Errorf("%s: got %v, want %s", sql, got, want)
		}
	}
}
