package sql_test

import (
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/sherddb/sherd/internal/scenario"
	"github.com/sherddb/sherd/sql/literal"
	"github.com/sherddb/sherd/sql/parse/shape"
)

// otherTexts returns a function for stmt.Cache.Template that has the programs of shapes made from
// texts with other literals, and counts them.
func otherTexts(made *atomic.Int64) func(*shape.Text, literal.Fixed, func(string) bool) {
	return func(t *shape.Text, fixed literal.Fixed, try func(string) bool) {
		values := make([]string, len(t.Literals))
		for i, l := range t.Literals {
			values[i] = t.Source[l.Start:l.End]
		}
		for i, l := range t.Literals {
			if fixed[i] {
				continue
			}
			own := values[i]
			for _, other := range otherLiterals(l.Kind) {
				values[i] = other
				if other != own && try(withLiterals(t, values)) {
					made.Add(1)
					own = other
					break
				}
			}
			values[i] = own
		}
	}
}

// otherLiterals are literals of a kind, of which some text accepts at least one.
func otherLiterals(k shape.Kind) []string {
	switch k {
	case shape.Int4:
		return []string{"77", "78"}
	case shape.Int8:
		return []string{"7777777777", "7777777778"}
	case shape.Numeric:
		return []string{"7.25", "8.5e1"}
	}
	return []string{
		"'zz''z'", "'{\"zz\": [1]}'", "'2001-02-03 04:05:06'", "'77'", "'true'", "'77 minutes'", "'04:05'",
		"'0191f2a4-8f6e-4000-8000-0000000000aa'", "''",
	}
}

// withLiterals returns a text with other literals.
func withLiterals(t *shape.Text, values []string) string {
	var b strings.Builder
	at := 0
	for i, l := range t.Literals {
		b.WriteString(t.Source[at:l.Start])
		b.WriteString(values[i])
		at = l.End
	}
	return b.String() + t.Source[at:]
}

// TestScenariosShared plays all scenarios with programs that were made from other texts: each
// statement that can share a program runs by one of a text with other literals of its shape. The
// answers are those of the statements compiled by themselves.
func TestScenariosShared(t *testing.T) {
	var made atomic.Int64
	t.Run("all", func(t *testing.T) {
		datadriven.Walk(t, "testdata/scenarios", func(t *testing.T, path string) {
			t.Parallel()
			n, err := strconv.Atoi(slices.Max(fragmentsOf(t, path)))
			must(t, err)
			p := &served{t: t, w: newWorldOf(t, n)}
			p.w.server.Statements.Template = otherTexts(&made)
			scenario.Run(t, path, scenario.Config{URL: p.url, Directives: map[string]scenario.Directive{
				"cluster": func(*testing.T, *datadriven.TestData) string { return "" },
				"jobs":    p.jobs,
			}})
		})
	})
	if n := made.Load(); n < 500 {
		t.Errorf("only %d literals were others", n)
	}
}
