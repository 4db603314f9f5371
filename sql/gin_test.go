package sql_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

var ginOracle = flag.String("oracle", "",
	"connection string of a PostgreSQL 15 with an empty database, which TestRandomTerms asks too")

// termGenerator makes random documents, arrays and conditions on them. Their parts are few, so that
// conditions are met by some rows.
type termGenerator struct{ *rand.Rand }

func (g termGenerator) pick(s ...string) string { return s[g.IntN(len(s))] }

func (g termGenerator) key() string { return g.pick("a", "b", "c", "d") }

func (g termGenerator) scalar() string {
	return g.pick(`"a"`, `"b"`, `"it''s"`, `""`, "1", "1.0", "2", "-3.50", "true", "false", "null")
}

func (g termGenerator) doc(depth int) string {
	if depth == 0 || g.IntN(4) == 0 {
		return g.scalar()
	}
	var parts []string
	object := g.IntN(3) > 0
	for range g.IntN(5) {
		part := g.doc(depth - 1)
		if object {
			part = `"` + g.key() + `": ` + part
		}
		parts = append(parts, part)
	}
	if object {
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// values returns what a row has, as a list of VALUES without the id.
func (g termGenerator) values() string {
	doc := "'" + g.doc(4) + "'"
	if g.IntN(20) == 0 {
		doc = "NULL"
	}
	return doc + ", " + g.array("text") + ", " + g.array("numeric")
}

func (g termGenerator) array(of string) string {
	if g.IntN(20) == 0 {
		return "NULL"
	}
	var elems []string
	for range g.IntN(4) {
		switch of {
		case "keys":
			elems = append(elems, g.pick("a", "b", "c", "d", "NULL"))
		case "text":
			elems = append(elems, g.pick("x", "y", "z", "NULL", `"NULL"`, `""`))
		default:
			elems = append(elems, g.pick("1", "1.00", "2", "3.5", "NaN", "NULL"))
		}
	}
	return "'{" + strings.Join(elems, ",") + "}'::" + strings.Replace(of, "keys", "text", 1) + "[]"
}

func (g termGenerator) path(root string) string {
	var b strings.Builder
	b.WriteString(root)
	for range g.IntN(4) {
		if g.IntN(8) == 0 {
			b.WriteString(" ? (" + g.predicate("@", 1) + ")")
		} else {
			b.WriteString(g.pick("[*]", ".*", ".**", "[0]", ".a", ".b", ".c", ".d"))
		}
	}
	return b.String()
}

func (g termGenerator) predicate(root string, depth int) string {
	if depth > 0 {
		switch g.IntN(5) {
		case 0:
			return "(" + g.predicate(root, depth-1) + g.pick(" && ", " || ") + g.predicate(root, depth-1) + ")"
		case 1:
			return "!(" + g.predicate(root, depth-1) + ")"
		case 2:
			return "exists(" + g.path(root) + ")"
		}
	}
	return g.path(root) + g.pick(" == ", " == ", " == ", " > ") + g.scalar()
}

func (g termGenerator) condition() string {
	doc := g.pick("doc", "doc", "doc", "(doc -> 'a')")
	mode := g.pick("", "strict ")
	switch g.IntN(9) {
	case 0:
		return doc + " ? '" + g.key() + "'"
	case 1:
		return doc + g.pick(" ?| ", " ?& ") + g.array("keys")
	case 2:
		return fmt.Sprintf("%s @? '%s'", doc, mode+g.path("$"))
	case 3:
		return fmt.Sprintf("%s @@ '%s'", doc, mode+g.predicate("$", 2))
	case 4:
		return "tags" + g.pick(" @> ", " && ", " <@ ", " = ") + g.array("text")
	case 5:
		return g.array("numeric") + g.pick(" @> ", " && ", " <@ ", " = ") + "nums"
	case 6:
		return fmt.Sprintf("'%s' <@ %s", g.doc(2), doc)
	}
	return fmt.Sprintf("%s @> '%s'", doc, g.doc(2))
}

func (g termGenerator) where() string {
	switch text := g.condition(); g.IntN(5) {
	case 0:
		return text + " AND " + g.condition()
	case 1:
		return text + " OR " + g.condition()
	case 2:
		return text + " AND id > 100"
	default:
		return text
	}
}

func (g termGenerator) write() string {
	switch g.IntN(6) {
	case 0:
		return "DELETE FROM r WHERE id % 17 = " + fmt.Sprint(g.IntN(17)) + " AND " + g.condition()
	case 1, 2:
		return fmt.Sprintf("UPDATE r SET (doc, tags, nums) = (%s) WHERE id = %d", g.values(), g.IntN(300))
	case 3:
		return "UPDATE r SET doc = doc || '{\"" + g.key() + "\": " + g.scalar() + "}' WHERE jsonb_typeof(doc) = 'object' AND " +
			g.condition()
	case 4:
		return fmt.Sprintf("INSERT INTO r VALUES (%d, %s) ON CONFLICT (id) DO UPDATE SET doc = EXCLUDED.doc",
			g.IntN(300), g.values())
	}
	return fmt.Sprintf("INSERT INTO r VALUES (%d, %s) ON CONFLICT DO NOTHING", g.IntN(300), g.values())
}

// TestRandomTerms has random documents, arrays, changes and conditions: scans by GIN indexes find the
// rows that scans of the whole table find, also before the commit of what they find, in an older
// snapshot and while buckets move.
func TestRandomTerms(t *testing.T) {
	w := newWorld(t)
	g := termGenerator{rand.New(rand.NewPCG(3, 5))}
	c, plain, past := w.connect(t), w.connect(t), w.connect(t)
	var postgres *pgconn.PgConn
	if *ginOracle != "" {
		var err error
		if postgres, err = pgconn.Connect(t.Context(), *ginOracle); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = postgres.Close(context.Background()) }()
	}
	do := func(text string) {
		t.Helper()
		got := c.answer(text)
		if strings.HasPrefix(got, "ERROR") {
			t.Fatalf("%s: %s", text, got)
		}
		if postgres != nil {
			if _, err := postgres.Exec(t.Context(), text).ReadAll(); err != nil {
				t.Fatal(text, err)
			}
		}
	}
	do("CREATE TABLE r (id int PRIMARY KEY, doc jsonb, tags text[], nums numeric[])")
	for i := range 200 {
		do(fmt.Sprintf("INSERT INTO r VALUES (%d, %s)", i, g.values()))
	}
	for _, key := range []string{
		"(doc)", "(doc jsonb_path_ops)", "((doc -> 'a'))", "(tags)", "(nums, tags)", "(doc, tags) WHERE id > 100",
	} {
		do("CREATE INDEX ON r USING gin " + key)
	}
	c.answer("SET enable_seqscan = off")
	plain.answer("SET enable_bitmapscan = off")
	past.answer("SET enable_seqscan = off")
	past.want("BEGIN ISOLATION LEVEL REPEATABLE READ", "BEGIN")
	frozen, byIndex := map[string]string{}, 0
	for round := range 12 {
		for range 40 {
			text := "SELECT count(*), sum(id) FROM r WHERE " + g.where()
			want := plain.answer(text)
			if got := c.answer(text); got != want {
				t.Errorf("%s: %s, without an index %s", text, got, want)
			}
			if postgres != nil {
				if theirs := postgresRow(t, postgres, text); theirs != strings.TrimSuffix(want, "\nSELECT 1") {
					t.Errorf("%s: %s, PostgreSQL has %s", text, want, theirs)
				}
			}
			if strings.Contains(c.answer("EXPLAIN "+text), "Bitmap Index Scan") {
				byIndex++
			}
			if round == 0 {
				frozen[text] = want
				past.want(text, want)
			}
		}
		do("BEGIN")
		for range 15 {
			do(g.write())
		}
		for range 10 {
			text := "SELECT count(*), sum(id) FROM r WHERE " + g.where()
			got := c.answer(text)
			c.answer("SET enable_bitmapscan = off; SET enable_seqscan = on")
			if want := c.answer(text); got != want {
				t.Errorf("in a transaction: %s: %s, without an index %s", text, got, want)
			}
			c.answer("SET enable_bitmapscan = on; SET enable_seqscan = off")
		}
		do([]string{"COMMIT", "COMMIT", "ROLLBACK"}[round%3])
		if round%4 == 1 {
			c.answer(fmt.Sprintf("SELECT sherd.move_buckets('postgres', 0, %s, 'postgres$%d', wait => true)",
				quarter, []int{2, 0, 1}[round/4]))
		}
		for text, want := range frozen {
			past.want(text, want)
		}
	}
	if byIndex < 250 {
		t.Errorf("only %d of 480 queries read an index", byIndex)
	}
	c.want("SELECT * FROM sherd.check() WHERE NOT ok", "SELECT 0")
}

// postgresRow returns the only row of a query on PostgreSQL as answers are printed.
func postgresRow(t *testing.T, c *pgconn.PgConn, text string) string {
	t.Helper()
	results, err := c.Exec(t.Context(), text).ReadAll()
	if err != nil {
		t.Fatal(text, err)
	}
	var fields []string
	for _, f := range results[0].Rows[0] {
		if f == nil {
			fields = append(fields, "null")
		} else {
			fields = append(fields, string(f))
		}
	}
	return strings.Join(fields, "|")
}
