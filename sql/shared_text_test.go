package sql_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/sherddb/sherd/internal/pgerr"
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

// full returns the answer to a text with everything that a client sees of it: columns, and where an
// error is. Rows without an order are sorted.
func (c *client) full(text string) string {
	r := &recorder{env: c.s.Env}
	err := c.s.Simple(c.t.Context(), text, r)
	lines := strings.Split(r.out.String(), "\n")
	if !strings.Contains(strings.ToLower(text), "order by") {
		slices.Sort(lines)
	}
	out := fmt.Sprintf("%+v\n%s", r.columns, strings.Join(lines, "\n"))
	if err != nil {
		e := pgerr.From(err)
		out += fmt.Sprintf("%s %s at %d, detail %q, hint %q", e.Code, e.Message, e.Position, e.Detail, e.Hint)
	}
	return out
}

// TestSharedAnswers compares the answers to the statements of package plan, which other tests hold
// to PostgreSQL's, with those by programs that were made from other texts.
func TestSharedAnswers(t *testing.T) {
	schema, err := os.ReadFile("plan/testdata/schema.sql")
	must(t, err)
	statements, err := os.ReadFile("plan/testdata/answers.sql")
	must(t, err)
	var made atomic.Int64
	shares := newWorldOf(t, 3)
	shares.server.Statements.Template = otherTexts(&made)
	a, b := newWorldOf(t, 3).connect(t), shares.connect(t)
	for line := range strings.Lines(string(schema)) {
		a.answer(line)
		b.answer(line)
	}
	for text := range strings.Lines(string(statements)) {
		if text = strings.TrimSpace(text); text == "" || strings.HasPrefix(text, "--") {
			continue
		}
		want := a.full(text)
		for range 2 {
			if got := b.full(text); got != want && !writes(text) {
				t.Errorf("%s\ngot:  %s\nwant: %s", text, got, want)
			}
			if writes(text) {
				break
			}
		}
	}
	if n := made.Load(); n < 500 {
		t.Errorf("only %d literals were others", n)
	}
}

func writes(text string) bool {
	first, _, _ := strings.Cut(text, " ")
	return !slices.Contains([]string{"SELECT", "VALUES", "TABLE", "(SELECT"}, first)
}

// TestSharedTexts runs texts of one shape one after the other: each is answered as if it were alone,
// also if a literal is bad, and after a change of the definitions.
func TestSharedTexts(t *testing.T) {
	c := newWorld(t).connect(t)
	c.want("CREATE TABLE t (k bigint PRIMARY KEY, s varchar(3), n smallint, d date, f numeric(5, 2))", "CREATE TABLE")
	for i := range 5 {
		c.want(fmt.Sprintf("INSERT INTO t VALUES (%d, 's%d', %d, '2020-01-0%d', %d.5)", i, i, -i, i+1, i), "INSERT 0 1")
	}
	c.want("INSERT INTO t VALUES (5, 's', 1, '2020-01-09', 1e2);", "INSERT 0 1")
	for _, x := range []struct{ text, want string }{
		{
			"INSERT INTO t VALUES (6, 'long', -6, '2020-01-07', 6.5)",
			"value too long for type character varying(3) (SQLSTATE 22001)",
		},
		{"INSERT INTO t VALUES (6, 's6', -66666, '2020-01-07', 6.5)", "smallint out of range (SQLSTATE 22003)"},
		{
			"INSERT INTO t VALUES (6, 's6', -6, '2020-13-07', 6.5)",
			`date/time field value out of range: "2020-13-07" (SQLSTATE 22008)`,
		},
		{
			"INSERT INTO t VALUES (6, 's6', -6, '2020-01-07', 6666.5)",
			"numeric field overflow (SQLSTATE 22003): " +
				"A field with precision 5, scale 2 must round to an absolute value less than 10^3.",
		},
		{
			"INSERT INTO t VALUES (4, 's6', -6, '2020-01-07', 6.5)",
			`duplicate key value violates unique constraint "t_pkey" (SQLSTATE 23505): Key (k)=(4) already exists.`,
		},
		{"INSERT INTO t VALUES (6, 's6', -6, 'today', 6.5) RETURNING d = current_date", "t\nINSERT 0 1"},
		{"INSERT INTO t VALUES (77777777777, 's7', -7, '2020-01-08', 7.125)", "INSERT 0 1"},
		{"INSERT INTO t VALUES (8.4, 's8', '-8', '2020-01-09', 8)", "INSERT 0 1"},
	} {
		if got := c.answer(x.text); got != x.want {
			t.Errorf("%s\ngot  %s\nwant %s", x.text, got, x.want)
		}
	}
	c.want("SELECT * FROM t WHERE k >= 4 ORDER BY k",
		"4|s4|-4|2020-01-05|4.50\n5|s|1|2020-01-09|100.00\n6|s6|-6|"+today(c)+"|6.50\n8|s8|-8|2020-01-09|8.00\n"+
			"77777777777|s7|-7|2020-01-08|7.13\nSELECT 5")
	for i := range 5 {
		c.want(fmt.Sprintf("SELECT n AS x FROM t WHERE k = %d AND s = 's%d'", i, i), fmt.Sprintf("%d\nSELECT 1", -i))
		c.want(fmt.Sprintf("UPDATE t SET n = n - %d WHERE k = %d RETURNING n", i, i), fmt.Sprintf("%d\nUPDATE 1", -2*i))
	}
	c.want("SELECT n AS x FROM t WHERE k = 3 AND s = 'x'", "SELECT 0")
	for _, bad := range []string{"'x'", "'3 '"} { // the second one can be read
		e := pgerr.From(c.s.Simple(t.Context(), "SELECT n FROM t WHERE   k = "+bad, &recorder{env: c.s.Env}))
		if bad == "'x'" && (e == nil || e.Position != 29 || e.Code != pgerr.InvalidTextRepresentation) {
			t.Errorf("%s: %+v", bad, e)
		}
	}
	c.want("ALTER TABLE t ALTER COLUMN n TYPE text USING 'n' || n", "ALTER TABLE")
	c.want("SELECT n AS x FROM t WHERE k = 2 AND s = 's2'", "n-4\nSELECT 1")
	c.want("BEGIN; SAVEPOINT a; DROP TABLE t; CREATE TABLE t (k bigint PRIMARY KEY, s text, n int)",
		"BEGIN\nSAVEPOINT\nDROP TABLE\nCREATE TABLE")
	c.want("SELECT n AS x FROM t WHERE k = 2 AND s = 's2'", "SELECT 0")
	c.want("ROLLBACK", "ROLLBACK")
	c.want("SELECT n AS x FROM t WHERE k = 2 AND s = 's2'", "n-4\nSELECT 1")
	c.want("BEGIN; SELECT 1/0", "BEGIN\ndivision by zero (SQLSTATE 22012)")
	c.want("SELECT n AS x FROM t WHERE k = 2 AND s = 's2'",
		"current transaction is aborted, commands ignored until end of transaction block (SQLSTATE 25P02)")
	c.want("ROLLBACK", "ROLLBACK")
}

func today(c *client) string {
	return strings.TrimSuffix(c.answer("SELECT current_date"), "\nSELECT 1")
}

// TestSharedConcurrently runs texts of the same shapes in several sessions at once.
func TestSharedConcurrently(t *testing.T) {
	w := newWorldOf(t, 1)
	w.connect(t).want("CREATE TABLE t (k bigint PRIMARY KEY, s varchar(20))", "CREATE TABLE")
	var all sync.WaitGroup
	for i := range 4 {
		c := w.connect(t)
		all.Go(func() {
			for j := range 50 {
				k := i*1000 + j
				c.want(fmt.Sprintf("INSERT INTO t VALUES (%d, 'text %d')", k, k), "INSERT 0 1")
				c.want(fmt.Sprintf("SELECT s FROM t WHERE k = %d", k), fmt.Sprintf("text %d\nSELECT 1", k))
				c.want(fmt.Sprintf("SELECT k FROM t WHERE s = 'text %d'", k), fmt.Sprintf("%d\nSELECT 1", k))
			}
		})
	}
	all.Wait()
}
