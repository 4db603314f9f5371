package plan_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

var oracle = flag.String("oracle", "",
	"connection string of a PostgreSQL 15 with an empty database: rewrites testdata/answers.golden")

const separator = "\n----\n"

// TestAnswers runs testdata/answers.sql on 1, 3 and 8 fragments: the rows must be those that
// PostgreSQL 15 gave, wherever they lie.
func TestAnswers(t *testing.T) {
	statements := statementsOf(t, "testdata/answers.sql")
	if *oracle != "" {
		writeAnswers(t, statements)
	}
	raw, err := os.ReadFile("testdata/answers.golden")
	must(t, err)
	want := strings.Split(string(raw), separator)
	ctx := testContext(t)
	for _, fragments := range []int{1, 3, 8} {
		d := openDatabase(t, fragments)
		for i, text := range statements {
			got := text + "\n" + d.answer(ctx, text)
			if i >= len(want) || strings.TrimSpace(want[i]) != strings.TrimSpace(got) {
				t.Errorf("on %d fragments:\n%s\n-- PostgreSQL:\n%s", fragments, got, want[min(i, len(want)-1)])
			}
		}
	}
}

// statementsOf reads one statement a line.
func statementsOf(t testing.TB, path string) []string {
	raw, err := os.ReadFile(path)
	must(t, err)
	var out []string
	for _, l := range strings.Split(string(raw), "\n") {
		if l = strings.TrimSpace(l); l != "" && !strings.HasPrefix(l, "--") {
			out = append(out, l)
		}
	}
	return out
}

// answer is the rows and, of a write, the number of rows; or the SQLSTATE and message.
func (d *database) answer(ctx *analyze.Context, text string, change ...func(*plan.Env)) string {
	q, pl, err := build(ctx, text, change...)
	if err != nil {
		return describe(err)
	}
	rows, affected, err := d.execute(pl)
	if err != nil {
		return describe(err)
	}
	var lines []string
	for _, r := range rows {
		fields := make([]string, len(pl.Root.Output()))
		for i, c := range pl.Root.Output() {
			fields[i] = "NULL"
			if !r[i].IsNull() {
				fields[i] = types.Output(c.Type, r[i], nil)
			}
		}
		lines = append(lines, strings.Join(fields, "|"))
	}
	return answerText(text, lines, affected, q.Command != query.Select)
}

var endsOrdered = regexp.MustCompile(`(?i)order by [^()]*(\([^()]*\)[^()]*)*$`)

// answerText prints an answer; rows without an order are sorted.
func answerText(text string, lines []string, affected int64, wrote bool) string {
	if !endsOrdered.MatchString(text) {
		slices.Sort(lines)
	}
	if wrote {
		lines = append(lines, fmt.Sprintf("(%d)", affected))
	}
	return strings.Join(lines, "\n")
}

func writeAnswers(t *testing.T, statements []string) {
	ctx := context.Background()
	c, err := pgconn.Connect(ctx, *oracle)
	must(t, err)
	defer func() { _ = c.Close(ctx) }()
	schema, err := os.ReadFile("testdata/schema.sql")
	must(t, err)
	_, err = c.Exec(ctx, string(schema)).ReadAll()
	must(t, err)
	var b strings.Builder
	for _, text := range statements {
		results, err := c.Exec(ctx, text).ReadAll()
		fmt.Fprintf(&b, "%s\n%s%s", text, postgresAnswer(text, results, err), separator)
	}
	must(t, os.WriteFile("testdata/answers.golden", []byte(b.String()), 0o644))
}

func postgresAnswer(text string, results []*pgconn.Result, err error) string {
	var pe *pgconn.PgError
	if errors.As(err, &pe) {
		return "ERROR " + pe.Code + " " + pe.Message
	}
	var lines []string
	for _, row := range results[0].Rows {
		fields := make([]string, len(row))
		for i, f := range row {
			fields[i] = "NULL"
			if f != nil {
				fields[i] = string(f)
			}
		}
		lines = append(lines, strings.Join(fields, "|"))
	}
	tag := results[0].CommandTag
	return answerText(text, lines, tag.RowsAffected(), !tag.Select())
}

// TestRuntimeFilters: the queries of the section "runtime filters" have some, but those in which a
// filter would change the answer.
func TestRuntimeFilters(t *testing.T) {
	raw, err := os.ReadFile("testdata/answers.sql")
	must(t, err)
	ctx, section := testContext(t), ""
	with, without := 0, 0
	for _, line := range strings.Split(string(raw), "\n") {
		if strings.HasPrefix(line, "-- ") {
			section = line
		}
		if section != "-- runtime filters" || !strings.HasPrefix(line, "SELECT") {
			continue
		}
		_, pl, err := build(ctx, line)
		must(t, err)
		filters := 0
		var visit func(n plan.Node)
		visit = func(n plan.Node) {
			if s, ok := n.(*plan.Scan); ok {
				filters += len(s.KeyFilters)
			}
			for _, c := range n.Children() {
				visit(c)
			}
		}
		visit(pl.Root)
		if filters > 0 {
			with++
		} else {
			t.Log("no filter:", line)
			without++
		}
	}
	if with < 10 || without < 2 {
		t.Errorf("%d queries have runtime filters, %d have none", with, without)
	}
}
