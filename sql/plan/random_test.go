package plan_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/types"
)

// generator makes small queries over the test's tables. A query without LIMIT has one answer,
// however the rows lie.
type generator struct{ *rand.Rand }

func (g generator) pick(s ...string) string { return s[g.IntN(len(s))] }

// joinableTable is a table with expressions to tie it by and conditions on it; # is the alias.
type joinableTable struct {
	name        string
	ties, conds []string
}

var joinable = []joinableTable{
	{"orders", []string{"#.id", "#.doc ->> 'Customer'", "#.doc ->> 'State'"},
		[]string{"#.doc ->> 'Customer' = 'customers/3-A'",
			"#.id = 'orders/7-A$customers/7-A'", "#.doc ->> 'State' IN ('S1', 'S2')", "#.id > 'orders/3'",
			"#.doc ->> 'Customer' IN ('customers/1-A', 'customers/2-A')"}},
	{
		"invoices", []string{"#.id", "#.doc ->> 'Customer'"},
		[]string{"#.doc @> '{\"Customer\": \"customers/3-A\"}'", "(#.doc ->> 'Sum')::int > 10", "#.id IS NULL"},
	},
	{
		"wide", []string{"#.id", "#.doc ->> 'Customer'"},
		[]string{"#.doc ->> 'Customer' = 'customers/3-A'", "(#.doc ->> 'Sum')::int < 9"},
	},
	{
		"customers", []string{"#.id", "#.doc ->> 'City'"},
		[]string{"#.id = 'customers/3-A'", "#.n > 4", "#.n IS NULL", "#.id IN ('customers/3-A', 'customers/5-A')"},
	},
	{
		"lines", []string{"#.order_id", "#.order_id"},
		[]string{"#.no = 2", "#.qty > 10", "#.order_id = 'orders/7-A$customers/7-A' AND #.no = 1"},
	},
}

// table returns a table as an item of FROM: by its name, or as a subquery.
func (g generator) table(t joinableTable) string {
	at := func(e string) string { return strings.ReplaceAll(e, "#", "s") }
	switch other := joinable[g.IntN(len(joinable))]; g.IntN(6) {
	case 0:
		return fmt.Sprintf("(SELECT * FROM %s s)", t.name)
	case 1:
		return fmt.Sprintf("(SELECT * FROM (SELECT * FROM %s s WHERE %s) s WHERE %s)", t.name,
			at(g.pick(t.conds...)), at(g.pick(t.conds...)))
	case 2:
		return fmt.Sprintf("(SELECT s.* FROM %s s %s JOIN %s o ON %s = %s WHERE %s)", t.name, g.pick("", "LEFT", "FULL"),
			g.table(other), at(g.pick(t.ties...)), strings.ReplaceAll(g.pick(other.ties...), "#", "o"),
			at(g.pick(t.conds...)))
	}
	return t.name
}

// scalar returns a subquery whose value is a text, for rows of a table a, about those of another.
func (g generator) scalar(a, of joinableTable) string {
	at := func(e, alias string) string { return strings.ReplaceAll(e, "#", alias) }
	value := g.pick("count(*)::text", "max(#)", "min(#)", "coalesce(max(#), 'none')", "count(DISTINCT #) || max(#)")
	text := fmt.Sprintf("(SELECT %s FROM %s s WHERE %s = %s", at(value, at(g.pick(of.ties...), "s")),
		g.table(of), at(g.pick(of.ties...), "s"), at(g.pick(a.ties...), "a"))
	if g.IntN(3) == 0 {
		text += " AND " + at(g.pick(of.conds...), "s")
	}
	switch g.IntN(6) {
	case 0:
		text += fmt.Sprintf(" AND %s %s %s", at(g.pick(of.ties...), "s"), g.pick("<", "<>"), at(g.pick(a.ties...), "a"))
	case 1:
		text += " HAVING count(*) > 1"
	}
	return text + ")"
}

// either returns a condition for rows of a table a that cannot be a join with another table: EXISTS
// or IN besides another condition, or in one that nulls decide.
func (g generator) either(a, of joinableTable) string {
	at := func(e, alias string) string { return strings.ReplaceAll(e, "#", alias) }
	where := ""
	if g.IntN(2) == 0 {
		where = " AND " + at(g.pick(of.conds...), "s")
	}
	tie := at(g.pick(of.ties...), "s") + " = " + at(g.pick(a.ties...), "a")
	also := ""
	if g.IntN(3) == 0 {
		also = fmt.Sprintf(" AND %s %s %s", at(g.pick(of.ties...), "s"), g.pick("=", "<", "<>"), at(g.pick(a.ties...), "a"))
	}
	sub := fmt.Sprintf("EXISTS (SELECT 1 FROM %s s WHERE %s%s%s)", g.table(of), tie, also, where)
	switch g.IntN(4) {
	case 0:
		sub = fmt.Sprintf("%s %sIN (SELECT %s FROM %s s WHERE %s%s)", at(g.pick(a.ties...), "a"), g.pick("", "NOT "),
			at(g.pick(of.ties...), "s"), g.table(of), tie, where)
	case 1:
		inner := joinable[g.IntN(len(joinable))]
		sub = fmt.Sprintf("EXISTS (SELECT 1 FROM %s s WHERE %s AND %sEXISTS (SELECT 1 FROM %s i WHERE %s = %s))",
			g.table(of), tie, g.pick("", "NOT "), g.table(inner), at(g.pick(inner.ties...), "i"),
			g.pick(at(g.pick(of.ties...), "s"), at(g.pick(a.ties...), "a")))
	}
	switch g.IntN(4) {
	case 0:
		return fmt.Sprintf("(%s) IS NOT TRUE", sub)
	case 1:
		return g.pick("", "NOT ") + sub
	}
	return fmt.Sprintf("(%s%s OR %s)", g.pick("", "NOT "), sub, at(g.pick(a.conds...), "a"))
}

func (g generator) query() string {
	joins := []string{"JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"}
	a, b, c := joinable[g.IntN(len(joinable))], joinable[g.IntN(len(joinable))], joinable[g.IntN(len(joinable))]
	at := func(e, alias string) string { return strings.ReplaceAll(e, "#", alias) }
	tie := func(l, r string, x, y []string) string { return at(g.pick(x...), l) + " = " + at(g.pick(y...), r) }
	kind, on := g.pick(joins...), tie("a", "b", a.ties, b.ties)
	if other := tie("a", "b", a.ties, b.ties); kind != "FULL JOIN" && g.IntN(3) == 0 {
		on = g.pick("("+on+" OR "+other+")", strings.Replace(on, "=", g.pick("<", ">="), 1)+" AND "+other)
	}
	from := fmt.Sprintf("%s a %s %s b ON %s", g.table(a), kind, g.table(b), on)
	if g.IntN(3) == 0 {
		from += " AND " + at(g.pick(b.conds...), "b")
	}
	if g.IntN(2) == 0 {
		from += fmt.Sprintf(" %s %s c ON %s", g.pick(joins...), g.table(c), tie("b", "c", b.ties, c.ties))
	}
	var where []string
	if g.IntN(2) == 0 {
		where = append(where, at(g.pick(a.conds...), "a"))
	}
	if g.IntN(4) == 0 {
		where = append(where, "("+at(g.pick(b.conds...), "b")+" OR "+at(g.pick(a.conds...), "a")+")")
	}
	if g.IntN(4) == 0 {
		where = append(where, "("+at(g.pick(a.conds...), "a")+" OR "+at(g.pick(a.conds...), "a")+")")
	}
	if g.IntN(3) == 0 {
		where = append(where, fmt.Sprintf("%sEXISTS (SELECT 1 FROM %s d WHERE %s)", g.pick("", "NOT "), g.table(c),
			tie("a", "d", a.ties, c.ties)))
	}
	if g.IntN(4) == 0 {
		where = append(where, fmt.Sprintf("%s %sIN (SELECT %s FROM %s d)", at(g.pick(a.ties...), "a"),
			g.pick("", "NOT "), at(g.pick(c.ties...), "d"), g.table(c)))
	}
	if g.IntN(4) == 0 {
		where = append(where, g.scalar(a, c)+g.pick(" > ", " = ", " IS DISTINCT FROM ")+
			g.pick(at(g.pick(a.ties...), "a"), "'customers/3-A'", g.scalar(a, b)))
	}
	if g.IntN(3) == 0 {
		where = append(where, g.either(a, c))
	}
	key := at(g.pick(a.ties...), "a")
	if g.IntN(4) == 0 {
		side := g.pick("CROSS JOIN", "LEFT JOIN")
		from += fmt.Sprintf(" %s LATERAL (SELECT %s AS x FROM %s d WHERE %s ORDER BY 1 %s LIMIT %d) e%s", side,
			at(g.pick(c.ties...), "d"), g.table(c), tie("a", "d", a.ties, c.ties), g.pick("", "DESC"), 1+g.IntN(3),
			map[bool]string{true: " ON true"}[side == "LEFT JOIN"])
		key = g.pick(key, "e.x")
	}
	if len(where) > 0 {
		from += " WHERE " + strings.Join(where, " AND ")
	}
	switch g.IntN(6) {
	case 5:
		return fmt.Sprintf("SELECT %s, %s, %s FROM %s", key, g.either(a, c), g.either(a, b), from)
	case 4:
		return fmt.Sprintf("SELECT %s, %s, CASE WHEN %s THEN %s END FROM %s", key, g.scalar(a, c),
			at(g.pick(a.conds...), "a"), g.scalar(a, b), from)
	case 0:
		return fmt.Sprintf("SELECT %s, count(*), count(b.*) FROM %s GROUP BY 1", key, from)
	case 1:
		return fmt.Sprintf("SELECT count(*), min(%s), max(%s) FROM %s", key, at(g.pick(b.ties...), "b"), from)
	case 2:
		return fmt.Sprintf("SELECT DISTINCT %s FROM %s", key, from)
	}
	return fmt.Sprintf("SELECT %s, %s FROM %s", key, at(g.pick(b.ties...), "b"), from)
}

// TestFragmentsDoNotShow runs random queries on 1, 3 and 8 fragments: the rows are the same, in
// whatever steps they were found.
func TestFragmentsDoNotShow(t *testing.T) {
	ctx := testContext(t)
	var dbs []*database
	for _, n := range []int{1, 3, 8} {
		dbs = append(dbs, loadedDatabase(t, ctx, n))
	}
	g := generator{rand.New(rand.NewPCG(7, 11))}
	postgres := loadedPostgres(t)
	for range 400 {
		text := g.query()
		want := sortedRows(t, dbs[0], ctx, text)
		if postgres != nil {
			if theirs := postgres(text); !slices.Equal(theirs, want) {
				t.Errorf("%s\n on one fragment: %d rows %.300q\n PostgreSQL: %d rows %.300q", text, len(want),
					want, len(theirs), theirs)
			}
		}
		for _, d := range dbs[1:] {
			if got := sortedRows(t, d, ctx, text); !slices.Equal(got, want) {
				t.Errorf("%s\n on %d fragments: %d rows %.300q\n on one: %d rows %.300q", text, len(d.replicas),
					len(got), got, len(want), want)
			}
		}
	}
}

// loadedDatabase is a database with the first rows of answers.sql.
func loadedDatabase(t *testing.T, ctx *analyze.Context, fragments int) *database {
	d := openDatabase(t, fragments)
	for _, text := range statementsOf(t, "testdata/answers.sql") {
		if !strings.HasPrefix(text, "INSERT INTO") {
			break
		}
		if a := d.answer(ctx, text); strings.HasPrefix(a, "ERROR") {
			t.Fatal(text, a)
		}
	}
	return d
}

// sortedRows runs a query by the plan that is best for some sizes of the tables.
func sortedRows(t *testing.T, d *database, ctx *analyze.Context, text string) []string {
	rnd := rand.New(rand.NewPCG(uint64(len(text)), uint64(len(d.replicas))))
	_, pl, err := build(ctx, text, withRows(func(string) (float64, bool) {
		return math.Pow(10, rnd.Float64()*7), rnd.IntN(5) > 0
	}))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	rows, _, err := d.execute(pl)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	var out []string
	for _, r := range rows {
		var b strings.Builder
		for i, c := range pl.Root.Output() {
			b.WriteString("|")
			if !r[i].IsNull() {
				b.WriteString(types.Output(c.Type, r[i], nil))
			}
		}
		out = append(out, b.String())
	}
	slices.Sort(out)
	return out
}

// loadedPostgres answers from a PostgreSQL with the same rows, where -oracle names one.
func loadedPostgres(t *testing.T) func(text string) []string {
	if *oracle == "" {
		return nil
	}
	ctx := context.Background()
	c, err := pgconn.Connect(ctx, *oracle)
	must(t, err)
	t.Cleanup(func() { _ = c.Close(ctx) })
	schema, err := os.ReadFile("testdata/schema.sql")
	must(t, err)
	_, err = c.Exec(ctx, string(schema)).ReadAll()
	must(t, err)
	for _, text := range statementsOf(t, "testdata/answers.sql") {
		if !strings.HasPrefix(text, "INSERT INTO") {
			break
		}
		_, err := c.Exec(ctx, text).ReadAll()
		must(t, err)
	}
	return func(text string) []string {
		results, err := c.Exec(ctx, text).ReadAll()
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		var out []string
		for _, row := range results[0].Rows {
			out = append(out, "|"+string(bytes.Join(row, []byte("|"))))
		}
		slices.Sort(out)
		return out
	}
}
