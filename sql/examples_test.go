package sql_test

import (
	"os"
	"strings"
	"testing"

	pg_query "github.com/pganalyze/pg_query_go/v6"
)

// TestExamples runs the SQL of the pages for users, statement by statement, with a database for
// each page.
func TestExamples(t *testing.T) {
	for file, from := range map[string]string{"../docs/transactions.md": "# Transactions",
		"../README.md": "## Transactions"} {
		text, err := os.ReadFile(file)
		must(t, err)
		_, page, ok := strings.Cut(string(text), from)
		if !ok {
			t.Fatalf("%s has no %q", file, from)
		}
		if from[1] == '#' {
			page, _, _ = strings.Cut(page, "\n## ")
		}
		c := newWorld(t).connect(t)
		blocks := strings.Split(page, "```sql\n")[1:]
		for _, block := range blocks {
			block, _, _ = strings.Cut(block, "```")
			statements, err := pg_query.SplitWithScanner(block, true)
			must(t, err)
			for _, s := range statements {
				got := c.answer(s)
				// The tables of the test are younger than the past that is shown.
				if strings.Contains(got, "(SQLSTATE 72000)") && strings.Contains(block, "sherd.as_of") {
					continue
				}
				if strings.Contains(got, "SQLSTATE") {
					t.Errorf("%s: %s\n%s", file, s, got)
				}
			}
		}
		if len(blocks) == 0 {
			t.Errorf("%s has no examples", file)
		}
	}
}
