package plan_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/plan/outline"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the golden plans; read them before they are kept")

// TestPlans compares what EXPLAIN says of every statement in testdata/*.plans with the lines below
// it: where it goes, and in which steps; costs.golden has the planner's estimates too. A line such as
// `# rows: orders 1000000, things 10` says how many rows tables have from there on.
func TestPlans(t *testing.T) {
	files, err := filepath.Glob("testdata/*.golden")
	must(t, err)
	ctx := testContext(t)
	for _, file := range files {
		if filepath.Base(file) == "answers.golden" {
			continue
		}
		raw, err := os.ReadFile(file)
		must(t, err)
		var out strings.Builder
		rows := map[string]float64{}
		for i, entry := range strings.Split(strings.TrimRight(string(raw), "\n"), "\n\n") {
			if i > 0 {
				out.WriteString("\n")
			}
			notes := outline.Notes{Route: routeText, Costs: filepath.Base(file) == "costs.golden"}
			fmt.Fprintln(&out, planned(t, ctx, entry, rows, notes))
		}
		if *rewrite {
			must(t, os.WriteFile(file, []byte(out.String()), 0o644))
			continue
		}
		compareLines(t, file, string(raw), out.String())
	}
}

// planned keeps the comments and the statement of an entry and adds its plan on three fragments.
func planned(
	t *testing.T, ctx *analyze.Context, entry string, rows map[string]float64, notes outline.Notes,
) string {
	var out []string
	for _, line := range strings.Split(entry, "\n") {
		if strings.HasPrefix(line, "#") {
			out = append(out, line)
			readRows(t, line, rows)
			continue
		}
		out = append(out, line)
		_, p, err := build(ctx, line, withRows(func(table string) (float64, bool) {
			n, ok := rows[table]
			return n, ok
		}))
		if err != nil {
			return strings.Join(append(out, "  "+describe(err)), "\n")
		}
		for _, l := range outline.Of(p, notes).Text() {
			out = append(out, "  "+l)
		}
		break
	}
	return strings.Join(out, "\n")
}

// readRows adds what a comment says of the rows of tables.
func readRows(t *testing.T, comment string, rows map[string]float64) {
	list, ok := strings.CutPrefix(comment, "# rows: ")
	if !ok {
		return
	}
	for _, one := range strings.Split(list, ", ") {
		var table string
		var n float64
		_, err := fmt.Sscan(one, &table, &n)
		must(t, err)
		rows[table] = n
	}
}

func routeText(r *plan.Route) string {
	m := initialMap(3)
	set, known, err := exec.RouteBuckets(&exec.Ctx{}, r)
	if err != nil || !known {
		return "fragments: by the row, of 3"
	}
	if set.IsEmpty() {
		return "fragments: none"
	}
	var names []string
	for _, s := range m.Split(set) {
		names = append(names, fmt.Sprint(s.Fragment-1))
	}
	buckets := "all"
	if !set.IsAll() {
		buckets = set.String()
	}
	return fmt.Sprintf("fragments: %s; buckets: %s", strings.Join(names, ", "), buckets)
}

func compareLines(t *testing.T, file, want, got string) {
	w, g := strings.Split(want, "\n\n"), strings.Split(got, "\n\n")
	for i := range max(len(w), len(g)) {
		a, b := "", ""
		if i < len(w) {
			a = strings.TrimRight(w[i], "\n")
		}
		if i < len(g) {
			b = strings.TrimRight(g[i], "\n")
		}
		if a != b {
			t.Errorf("%s:\n%s\n-- expected:\n%s", file, b, a)
		}
	}
}
