package shape

import (
	"slices"
	"strings"
	"testing"

	pg_query "github.com/pganalyze/pg_query_go/v6"
)

// TestSplit splits texts, and shows each literal in their shapes as its kind in braces.
func TestSplit(t *testing.T) {
	for _, c := range []struct{ text, shape, values string }{
		{"SELECT 1", "SELECT {i}", "1"},
		{"  select  a FROM t\tWHERE k=-5 ;\n", "select a FROM t WHERE k=-{i}", "5"},
		{"SELECT 2147483647, 2147483649, 9223372036854775809", "SELECT {i}, {l}, {n}",
			"2147483647|2147483649|9223372036854775809"},
		{"SELECT 1.5, 1., 1e5, 1.5E-3, 007", "SELECT {n}, {n}, {n}, {n}, {i}", "1.5|1.|1e5|1.5E-3|007"},
		{"VALUES ('it''s', '', 'żółw')", "VALUES ({s}, {s}, {s})", "it's||żółw"},
		{`VALUES (E'a\'b\\c\n''', e'x')`, "VALUES ({s}, {s})", "a'b\\c\n'|x"},
		{"SELECT $$a'b$$, $x1$ $$ $x1$", "SELECT {s}, {s}", "a'b| $$ "},
		{`UPDATE "T 1""'" SET a1$2 = a1 + 2`, `UPDATE "T 1""'" SET a1$2 = a1 + {i}`, "2"},
		{"SELECT 1 -- it's\n+ /* 'a /* b */ */ 2 -- end", "SELECT {i} + {i}", "1|2"},
		{"/* trace=7 */ INSERT INTO t VALUES (1); -- x", "INSERT INTO t VALUES ({i})", "1"},
		{"SELECT date'2020-01-01'", "SELECT date{s}", "2020-01-01"},
		{"SELECT a[1:2], 'x'::text", "SELECT a[{i}:{i}], {s}::text", "1|2|x"},
		{"SELECT doc->>'a' FROM t WHERE doc @> '{}'", "SELECT doc->>{s} FROM t WHERE doc @> {s}", "a|{}"},
	} {
		got, ok := Split(c.text)
		var values []string
		for _, l := range got.Literals {
			values = append(values, l.Value)
		}
		if s := visible(got.Shape); !ok || s != c.shape || strings.Join(values, "|") != c.values {
			t.Errorf("%q: %v %q %q", c.text, ok, s, values)
		}
	}
}

// visible returns a shape with its marks as braces.
func visible(shape string) string {
	for _, k := range []Kind{Int4, Int8, Numeric, String} {
		shape = strings.ReplaceAll(shape, string([]byte{mark, byte(k)}), "{"+string(rune(k))+"}")
	}
	return shape
}

// TestRefused lists texts that have no shape.
func TestRefused(t *testing.T) {
	for _, text := range []string{
		"", "SELECT a", "BEGIN", "SET a = 1", "EXPLAIN SELECT 1", "CREATE TABLE t AS SELECT 1", "SELECT 1; SELECT 2",
		"; SELECT 1", "SELECT $1", "SELECT $1 + 2", "SELECT 1a", "SELECT 1_000", "SELECT 0x1f", "SELECT .5", "SELECT 1..2",
		"SELECT 1e", "SELECT 1e+", "SELECT 2147483648", "SELECT 9223372036854775808", "SELECT 'a", "SELECT \"a, 1", "SELECT $$a",
		"SELECT $a$ $b$", "SELECT 'a' 'b'", "SELECT 'a'\n'b'", "SELECT 'a' -- c\n 'b'", "SELECT B'1'", "SELECT x'1f'",
		"SELECT N'a'", "SELECT U&'a'", `SELECT u&"a", 1`, `SELECT E'\x41'`, `SELECT E'\101'`, `SELECT E'\u0041'`, `SELECT E'a\`,
		"SELECT 1 /* /* */", "SELECT \xff, 1", "SELECT 1\x00", "SELECT '\x01'", "SELECT \\ 1", "SELECT \"\", 1", "SELECT 1\v",
		"SELECT '" + strings.Repeat("a", MaxText) + "'", "SELECT 1" + strings.Repeat(",1", MaxLiterals), "SELECT 1 ;; ",
	} {
		if got, ok := Split(text); ok {
			t.Errorf("%.40q: %+v", text, got)
		}
	}
}

// FuzzSplit compares the literals of texts with the tokens of PostgreSQL's lexer. Two texts of one
// shape have the same other tokens, so the shape with its literals in place has those of the text.
func FuzzSplit(f *testing.F) {
	for _, s := range []string{
		"1", "a -- b\n+1", "'a''b'", `E'\'a'`, "$a$ '$a$", "\"a\"\"b\" 1", "1.5e-3+.5", "/* /* */ */ 1", "a$1 $1", "1..2",
		"x'1'", "'a'\n'b'", "a@-1", "U&'a'", "1;", "::2", "'a'e'b'", "1--", "1/**/2", "1E5", "$$$$", "1.", "a.1", "1a", "1$",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, rest string) {
		text := "SELECT " + rest
		got, ok := Split(text)
		if !ok {
			return
		}
		found := literals(t, text)
		if found == nil {
			t.Fatalf("%q: PostgreSQL refuses it", text)
		}
		if !slices.EqualFunc(got.Literals, found, func(a, b Literal) bool {
			return a.Start == b.Start && a.End == b.End && (a.Kind == Int4) == (b.Kind == Int4) &&
				(a.Kind == String) == (b.Kind == String)
		}) {
			t.Fatalf("%q has %v, PostgreSQL finds %v", text, got.Literals, found)
		}
		again := filled(&got)
		if a, b := kinds(t, text[:got.End]), kinds(t, again); !slices.Equal(a, b) {
			t.Fatalf("%q has tokens %v, its shape %q has %v", text, a, again, b)
		}
	})
}

// filled returns the shape of a text with the literals of the text.
func filled(x *Text) string {
	out := x.Shape
	for _, l := range x.Literals {
		out = strings.Replace(out, string([]byte{mark, byte(l.Kind)}), x.Source[l.Start:l.End], 1)
	}
	return out
}

// literals returns the literals that PostgreSQL's lexer finds; nil: an error, or tokens that have no
// place in a text with a shape.
func literals(t *testing.T, text string) []Literal {
	t.Helper()
	r, err := pg_query.Scan(text)
	if err != nil {
		return nil
	}
	out := []Literal{}
	for _, x := range r.Tokens {
		l := Literal{Start: int(x.Start), End: int(x.End)}
		switch x.Token {
		case pg_query.Token_ICONST:
			l.Kind = Int4
		case pg_query.Token_FCONST:
			l.Kind = Numeric
		case pg_query.Token_SCONST:
			l.Kind = String
		case pg_query.Token_BCONST, pg_query.Token_XCONST, pg_query.Token_USCONST, pg_query.Token_UIDENT,
			pg_query.Token_PARAM:
			return nil
		default:
			continue
		}
		out = append(out, l)
	}
	return out
}

// kinds returns the tokens of a text without its comments.
func kinds(t *testing.T, text string) []pg_query.Token {
	t.Helper()
	r, err := pg_query.Scan(text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	var out []pg_query.Token
	for _, x := range r.Tokens {
		if x.Token != pg_query.Token_SQL_COMMENT && x.Token != pg_query.Token_C_COMMENT {
			out = append(out, x.Token)
		}
	}
	return out
}

func BenchmarkSplit(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := Split("UPDATE pgbench_accounts SET abalance = abalance + -1234 WHERE aid = 12345678;"); !ok {
			b.Fatal()
		}
	}
}
