package plan_test

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/plan/wire"
)

// TestPlansSent sends every plan of the golden files, and those of the statements of answers.sql,
// as to another node: EXPLAIN says the same of what comes out, and its bytes are the same again.
func TestPlansSent(t *testing.T) {
	ctx, sent := testContext(t), 0
	for _, text := range goldenStatements(t) {
		_, p, err := build(ctx, text)
		if err != nil {
			continue
		}
		b, err := wire.Encode(p.Root)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		n, err := wire.Decode(ctx.Catalog, b)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		sent++
		want := plan.Explain(p, plan.Notes{Route: routeText})
		if got := plan.Explain(
			&plan.Plan{Root: n, Outers: p.Outers}, plan.Notes{Route: routeText},
		); !slices.Equal(got, want) {
			t.Errorf("%s:\n%s\n-- sent as\n%s", text, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if again, err := wire.Encode(n); err != nil || !bytes.Equal(again, b) {
			t.Errorf("%s: sent again it is another plan (%v)", text, err)
		}
	}
	if sent < 200 {
		t.Errorf("only %d plans were sent", sent)
	}
}

// goldenEntries are the statements of a file of golden plans.
func goldenEntries(t *testing.T, file string) []string {
	raw, err := os.ReadFile(file)
	must(t, err)
	var out []string
	for _, entry := range strings.Split(string(raw), "\n\n") {
		for _, line := range strings.Split(entry, "\n") {
			if !strings.HasPrefix(line, "#") {
				out = append(out, line)
				break
			}
		}
	}
	return out
}
