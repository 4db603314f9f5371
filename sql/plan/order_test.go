package plan_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/types"
)

// orderedTables have rows with equal values and nulls. # is a number.
var orderedTables = []struct {
	name, insert string
	conds        []string
	extremes     string
	groups       []string // keys
	number       string   // a column
	orders       []string // each ends with the key, so that there is one answer
}{
	{
		"people", `INSERT INTO people (id, doc, mail, n, grp) VALUES ('people/%d', '{"Name": %s}', %s, %s, %s)`,
		[]string{
			"grp = #", "grp > #", "grp <= #", "grp IS NULL", "grp IS NOT NULL", "n > #", "grp IN (#, #)",
			"(grp, n) > (#, #)", "(n, grp) < (#, #)", "grp > # OR (grp = # AND n < #)", "grp BETWEEN # AND #",
			"doc ->> 'Name' > '#'", "doc ->> 'Name' LIKE '#%'", "id > 'people/#'", "id LIKE 'people/#%'",
			"(grp, id) > (#, 'people/#')", "grp > # OR (grp = # AND id > 'people/#')", "grp = 7", "mail IS NULL",
			"lower(mail) >= '#'", "grp = # OR doc ->> 'Name' = '#x'", "grp = # OR id = 'people/#' OR mail = '#M1'",
			"grp IN (#, #) OR doc ->> 'Name' LIKE '#%' OR grp = # AND n > #", "mail = '#M#' OR id IN ('people/#', 'people/1#')",
			"id < 'people/#' OR id > 'people/9#'", "(grp = # OR doc ->> 'Name' IS NULL) AND (id > 'people/#' OR grp = #)", "doc ->> 'Name' IS NULL", "doc ->> 'Name' ~ '^#x'", "id ~ '^people/#'",
		},
		"min(grp) max(grp) min(n) max(n) min(id) max(id) min(doc ->> 'Name') max(lower(mail))",
		[]string{"grp", "grp; n", "n; grp", "doc ->> 'Name'", "doc ->> 'Name'; grp", "lower(mail)", "n", "grp; mail; n", "id; grp"},
		"n",
		[]string{
			"id", "id DESC", "grp, n DESC, id", "grp DESC, n, id DESC", "grp, n, id", "grp NULLS FIRST, id",
			"grp DESC NULLS LAST, id", "n, id", "doc ->> 'Name', id", "doc ->> 'Name' DESC, id DESC", "lower(mail), id",
			"lower(mail) DESC, id", "grp, n DESC NULLS LAST, id", "n DESC, id", "grp DESC, n, id", "grp, mail DESC, id",
			"grp DESC, lower(mail), id DESC", "doc ->> 'Name', n NULLS FIRST, id",
		},
	},
	{
		"lines", `INSERT INTO lines (order_id, no, qty) VALUES (('o' || %[1]d %% 7), %[1]d, %[3]s)`,
		[]string{
			"order_id = 'o#'", "order_id > 'o#'", "(order_id, no) > ('o#', #)", "(order_id, no) <= ('o#', #)",
			"order_id > 'o#' OR (order_id = 'o#' AND no > #)", "order_id IN ('o#', 'o#')", "no > #",
			"order_id LIKE 'o#%'", "order_id = 'o#' OR order_id > 'o#' AND no > #", "(order_id, no) = ('o#', #) OR order_id ^@ 'o#'",
			"order_id = 'o#' AND no < #", "order_id < 'o#' OR (order_id = 'o#' AND no <= #)", "order_id ^@ 'o'",
		},
		"min(order_id) max(order_id) min(no) max(no)",
		[]string{"order_id", "order_id; no", "no; order_id", "qty", "order_id; qty"},
		"qty",
		[]string{
			"order_id, no", "order_id DESC, no DESC", "order_id, no DESC", "no, order_id", "order_id DESC, no, qty",
			"order_id, no, qty DESC",
		},
	},
}

func (g generator) number() string { return fmt.Sprint(g.IntN(10)) }

func (g generator) orNull(s string) string {
	if g.IntN(5) == 0 {
		return "NULL"
	}
	return s
}

func (g generator) numbered(text string) string {
	for strings.Contains(text, "#") {
		text = strings.Replace(text, "#", g.number(), 1)
	}
	return text
}

// fillOrdered adds rows to one of orderedTables.
func fillOrdered(t *testing.T, g generator, ctx *analyze.Context, dbs []*database, table, insert string) {
	t.Helper()
	for i := range 120 {
		name := g.orNull(`"` + g.number() + `x"`)
		text := fmt.Sprintf(insert, i, strings.ToLower(name), g.orNull(fmt.Sprintf("'%dM%d'", i%10, i)),
			g.orNull(g.number()), g.orNull(g.number()))
		if table == "lines" {
			text = fmt.Sprintf(insert, i, "", g.orNull(g.number()))
		}
		for _, d := range dbs {
			if a := d.answer(ctx, text); strings.HasPrefix(a, "ERROR") {
				t.Fatal(text, a)
			}
		}
	}
}

// TestOrderedPaths runs random queries with ORDER BY on 1 and 3 fragments: the rows are those that
// a sort of the whole table returns, in its order, whichever index they are read by.
func TestOrderedPaths(t *testing.T) {
	ctx := testContext(t)
	g := generator{rand.New(rand.NewPCG(3, 5))}
	dbs := []*database{openDatabase(t, 1), openDatabase(t, 3)}
	for _, table := range orderedTables {
		fillOrdered(t, g, ctx, dbs, table.name, table.insert)
	}
	for range 400 {
		table := orderedTables[g.IntN(len(orderedTables))]
		where := ""
		for _, word := range []string{" WHERE ", " AND "}[:g.IntN(3)] {
			where += word + "(" + g.numbered(g.pick(table.conds...)) + ")"
		}
		order := g.pick(table.orders...)
		limit := g.pick("", " LIMIT 1", " LIMIT 7", " LIMIT 5 OFFSET 3", " LIMIT 200")
		columns := g.pick("*", "*", "DISTINCT ON ("+strings.Fields(order)[0]+") *")
		if strings.HasPrefix(order, "doc") || strings.HasPrefix(order, "lower") {
			columns = "*"
		}
		columns = strings.Replace(columns, ",)", ")", 1)
		switch g.IntN(6) {
		case 0:
			g.extremes(t, dbs, ctx, table.name, table.extremes, where)
			continue
		case 1, 2:
			columns, rest := g.grouped(table.groups, table.number)
			sameRows(t, dbs, ctx, fmt.Sprintf("SELECT %s FROM %s%s%s%s", columns, table.name, where, rest, limit),
				fmt.Sprintf("SELECT %s FROM (SELECT * FROM %s OFFSET 0) s%s%s%s", columns, table.name, where, rest, limit))
			continue
		}
		text := fmt.Sprintf("SELECT %s FROM %s%s ORDER BY %s%s", columns, table.name, where, order, limit)
		sorted := fmt.Sprintf("SELECT %s FROM (SELECT * FROM %s OFFSET 0) s%s ORDER BY %s%s", columns,
			table.name, where, order, limit)
		sameRows(t, dbs, ctx, text, sorted)
	}
}

// grouped returns the columns of a query whose rows are groups, or differ, and its clauses from GROUP BY
// on, by which it has one answer.
func (g generator) grouped(groups []string, number string) (columns, rest string) {
	keys := strings.Split(g.pick(groups...), "; ")
	columns = strings.Join(keys, ", ")
	order := slices.Clone(keys)
	g.Shuffle(len(order), func(i, k int) {
		if g.IntN(2) == 0 {
			order[i], order[k] = order[k], order[i]
		}
	})
	for i := range order {
		order[i] += g.pick("", "", " DESC", " NULLS FIRST", " DESC NULLS LAST")
	}
	by := " ORDER BY " + strings.Join(order, ", ")
	if g.IntN(3) == 0 {
		return "DISTINCT " + columns, by
	}
	if g.IntN(4) == 0 {
		by = " HAVING count(*) > 1" + by
	}
	if g.IntN(4) == 0 {
		by = strings.Replace(by, " ORDER BY ", " ORDER BY count(*), ", 1)
	}
	more := g.pick("", ", count(DISTINCT #)", ", sum(#), max(#)")
	return columns + ", count(*)" + strings.ReplaceAll(more, "#", number), " GROUP BY " + columns + by
}

// drivenJoins are joins of a table p in whose order rows are wanted. Of those in one each row of p is
// joined with one row at most, whose column may be read.
var drivenJoins = struct{ one, many []string }{
	one: []string{
		"JOIN people q ON q.id = p.id", "LEFT JOIN people q ON q.id = p.id AND q.n > #",
		"JOIN people q ON q.id = 'people/' || p.n", "LEFT JOIN people q ON q.id = 'people/' || p.grp",
		"LEFT JOIN people q ON q.mail = p.mail AND q.grp < #",
		"LEFT JOIN lines q ON q.order_id = 'o' || p.n AND q.no = p.grp",
		"CROSS JOIN LATERAL (SELECT count(*) AS id FROM people r WHERE r.grp = p.n) q",
		"LEFT JOIN LATERAL (SELECT r.id FROM people r WHERE r.grp = p.n ORDER BY r.id LIMIT 1) q ON true",
		"CROSS JOIN LATERAL (SELECT max(r.no) AS id FROM lines r WHERE r.order_id = 'o' || p.grp) q",
	},
	many: []string{
		"JOIN people q ON q.grp = p.n", "LEFT JOIN people q ON q.grp = p.grp AND q.n = p.n",
		"LEFT JOIN people q ON q.grp = p.n JOIN lines r ON r.order_id = 'o' || p.grp",
		"LEFT JOIN people q ON q.id = p.id LEFT JOIN people r ON r.grp = q.n",
		"JOIN people q ON q.grp = p.n JOIN people r ON r.id = q.id",
		"JOIN LATERAL (SELECT * FROM people r WHERE r.grp = p.n AND r.n > p.grp) q ON true",
		"CROSS JOIN generate_series(1, p.grp) q", "JOIN lines q ON q.order_id = 'o' || p.n",
		"JOIN people q ON q.grp = p.n OR q.id = p.id", "LEFT JOIN people q ON q.grp > p.n AND q.grp < p.n + 3",
		"FULL JOIN people q ON q.id = p.id AND q.n > #", "RIGHT JOIN people q ON q.grp = p.n",
	},
}

// drivenJoin is a random join with ORDER BY and LIMIT that has one answer.
func (g generator) drivenJoin(conds, orders []string) (columns, from, order string) {
	columns, from = "p.id, p.grp", g.pick(drivenJoins.many...)
	if g.IntN(2) == 0 {
		if from = g.pick(drivenJoins.one...); !strings.Contains(from, " lines q") {
			columns += ", q.id"
		}
	}
	of := regexp.MustCompile(`\b(id|grp|n|doc|mail)\b`)
	from = "people p " + from + " WHERE p.id IS NOT NULL"
	if g.IntN(2) == 0 {
		from += " AND (" + of.ReplaceAllString(g.pick(conds...), "p.$1") + ")"
	}
	if g.IntN(4) == 0 {
		from += " AND " + g.pick("EXISTS (SELECT FROM lines e WHERE e.order_id = 'o' || p.n)",
			"NOT EXISTS (SELECT FROM people e WHERE e.grp = p.n AND e.n = #)",
			"p.n IN (SELECT e.grp FROM people e WHERE e.n > #)", "p.n <> (SELECT min(e.no) + # FROM lines e)")
	}
	order = of.ReplaceAllString(g.pick(orders...), "p.$1")
	if strings.Contains(columns, "q.id") && g.IntN(3) == 0 { // only the first key is of p
		order = strings.Replace(order, ", ", g.pick(", q.id, ", ", q.id DESC NULLS LAST, "), 1)
	}
	return columns, g.numbered(from), order
}

// TestDrivenJoins runs random joins with ORDER BY and LIMIT on 1 and 3 fragments: the rows are the
// first ones of the whole join, sorted.
func TestDrivenJoins(t *testing.T) {
	ctx := testContext(t)
	g := generator{rand.New(rand.NewPCG(4, 6))}
	dbs := []*database{openDatabase(t, 1), openDatabase(t, 3)}
	for _, table := range orderedTables {
		fillOrdered(t, g, ctx, dbs, table.name, table.insert)
	}
	people := orderedTables[0]
	driven := 0
	for range 300 {
		columns, from, order := g.drivenJoin(people.conds, people.orders)
		limit := g.pick("1", "7", "5 OFFSET 3", "40", "300", "0")
		text := fmt.Sprintf("SELECT %s FROM %s ORDER BY %s LIMIT %s", columns, from, order, limit)
		sorted := fmt.Sprintf("SELECT * FROM (SELECT %s, row_number() OVER (ORDER BY %s) AS at FROM %s OFFSET 0) x "+
			"ORDER BY at LIMIT %s", columns, order, from, limit)
		want := orderedRows(t, dbs[0], ctx, sorted)
		want = regexp.MustCompile(`(?m)\|\d+$`).ReplaceAllString(want, "")
		for _, d := range dbs {
			if got := orderedRows(t, d, ctx, text); got != want {
				t.Errorf("%s\n on %d fragments:\n%s\n sorted:\n%s", text, len(d.replicas), got, want)
			}
		}
		if _, pl, err := build(ctx, text); err == nil && !strings.Contains(strings.Join(described(pl), "\n"), "Sort Key") {
			driven++
		}
	}
	if driven < 60 {
		t.Errorf("%d joins are not sorted", driven)
	}
}

// sameRows runs a query whose rows may come from an index, and one that reads the whole table.
func sameRows(t *testing.T, dbs []*database, ctx *analyze.Context, text, whole string) {
	t.Helper()
	want := orderedRows(t, dbs[0], ctx, whole)
	for _, d := range dbs {
		if got := orderedRows(t, d, ctx, text); got != want {
			t.Errorf("%s\n on %d fragments:\n%s\n without an index:\n%s", text, len(d.replicas), got, want)
		}
	}
}

// extremes compares one or two of a table's minima and maxima.
func (g generator) extremes(t *testing.T, dbs []*database, ctx *analyze.Context, table, calls, where string) {
	t.Helper()
	list := strings.Split(strings.ReplaceAll(calls, ") m", ")|m"), "|")
	targets := g.pick(list...)
	if g.IntN(2) == 0 {
		targets += ", " + g.pick(list...)
	}
	sameRows(t, dbs, ctx, fmt.Sprintf("SELECT %s FROM %s%s", targets, table, where),
		fmt.Sprintf("SELECT %s FROM (SELECT * FROM %s OFFSET 0) s%s", targets, table, where))
}

// orderedRows is the rows of a query, one a line, in their order.
func orderedRows(t *testing.T, d *database, ctx *analyze.Context, text string) string {
	_, pl, err := build(ctx, text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	rows, _, err := d.execute(pl)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	var b strings.Builder
	for _, r := range rows {
		for i := range pl.Visible {
			b.WriteString("|")
			if !r[i].IsNull() {
				b.WriteString(types.Output(pl.Root.Output()[i].Type, r[i], nil))
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}
