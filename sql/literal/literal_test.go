package literal

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/parse/shape"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// newContext returns the context of a cluster without tables.
func newContext(t *testing.T) *analyze.Context {
	t.Helper()
	c, err := catalog.Open(catalog.Options{
		Dir: filepath.Join(t.TempDir(), "catalog"), Logger: slog.New(slog.DiscardHandler),
	})
	if err == nil {
		t.Cleanup(func() { _ = c.Close() })
		err = c.WaitReady(t.Context())
	}
	if err == nil {
		_, err = c.Bootstrap(context.WithoutCancel(t.Context()), catalog.BootstrapOptions{
			ClusterID: "0191f2a4-8f6e-4000-8000-00000000002a", Fragments: 1,
			Node: catalog.Node{ID: 1, Name: "n1", Block: "A"},
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return &analyze.Context{Catalog: c.View(), Database: catalog.PostgresDB}
}

// analyzed analyzes a text.
func analyzed(t *testing.T, ctx *analyze.Context, text string) *Analyzed {
	t.Helper()
	x, ok := shape.Split(text)
	list, err := parse.Parse(text)
	if err != nil || !ok {
		t.Fatalf("%s: %v %v", text, ok, err)
	}
	own := *ctx
	own.Source = text
	q, found, err := analyze.WithLiterals(&own, list[0].Node)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return &Analyzed{Text: &x, Query: q, Literals: found}
}

// TestPlaces shows which literals become parameters. The texts have them in brackets here.
func TestPlaces(t *testing.T) {
	ctx := newContext(t)
	for _, marked := range []string{
		"SELECT 1, 'a', relname FROM pg_class WHERE relname = «'x'» AND relpages > -«5»",
		"SELECT 1 FROM pg_class WHERE relpages BETWEEN «1» AND «2» OR «3.5» < reltuples OR NOT relnatts <> «'7'»",
		"SELECT 1 FROM pg_class WHERE relpages BETWEEN SYMMETRIC «1» AND «2»",
		"SELECT 1 FROM pg_class WHERE relpages IN («1», «2», «3»)",
		"SELECT 1 FROM pg_class WHERE (relpages, relnatts) > («1», «2»)",
		"SELECT 1 FROM pg_class WHERE (relpages, relname) = («1», «'b'»)",
		"SELECT 1 FROM pg_class WHERE relpages + 1 = «2» AND upper(relname || 'a') = «'B'»",
		"SELECT 1 FROM pg_class WHERE 1 = 1 AND 2 > length('a')",
		"SELECT 1 FROM pg_class WHERE relpages = 1 + 2 AND relpages < abs(-3)",
		"SELECT 1 FROM pg_class WHERE relname LIKE «'a%'» AND relname ~ «'b'» AND relname NOT LIKE 'c' ESCAPE 'd'",
		"SELECT 1 FROM pg_class WHERE to_jsonb(relname) @> «'{}'» AND to_jsonb(relname) ->> 'a' = «'b'»",
		"SELECT 1 FROM pg_class WHERE relpages = «5»::bigint::int",
		"SELECT 1 FROM pg_class WHERE relpages = ANY ('{1,2}') OR relpages IS NOT DISTINCT FROM «3»",
		"SELECT 1 FROM pg_class WHERE CASE WHEN relpages > 1 THEN true ELSE false END",
		"SELECT relpages + 1 FROM pg_class WHERE relnatts > «2» GROUP BY relpages + 1 HAVING count(*) > 3",
		"SELECT relname FROM pg_class WHERE relpages > «1» ORDER BY 1 LIMIT 10 OFFSET 20",
		"SELECT relname FROM pg_class WHERE relpages > «1» ORDER BY relpages + 2",
		"SELECT 1 FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > «0» WHERE c.relname = «'x'»",
		"SELECT 1 FROM pg_class WHERE EXISTS (SELECT 1 FROM pg_attribute WHERE attrelid = pg_class.oid AND attnum = «5»)",
		"SELECT 1 FROM (SELECT relname FROM pg_class WHERE relpages = «1») x WHERE relname = «'a'»",
		"WITH x AS (SELECT oid FROM pg_class WHERE relname = «'a'») SELECT 1 FROM x WHERE oid > «7»",
		"SELECT 1 FROM pg_class WHERE relpages = «1» UNION ALL SELECT 2 FROM pg_class WHERE relpages = «2»",
		"SELECT (SELECT 1 FROM pg_attribute WHERE attnum = 2) FROM pg_class WHERE relpages = «3»",
		"SELECT 1 FROM generate_series(1, 10) g WHERE g > «5»",
		"SELECT 1 FROM pg_class WHERE relpages = - «5» AND relnatts = -  «6»",
		"SELECT count(*) FILTER (WHERE relpages > 1) FROM pg_class",
		"SELECT now() - interval '1' day FROM pg_class WHERE relpages::numeric(5,2) = «1»",
		"SELECT 1 FROM pg_stat_activity WHERE query_start > 'yesterday' AND backend_start > «'2020-01-01'»",
		"SELECT 1 FROM pg_class WHERE relname::xml::text = 'x'::xml::text AND relname = «'x'»::varchar(20)",
		"SELECT 1 FROM pg_class WHERE true = (relpages = 1)",
	} {
		text := strings.NewReplacer("«", "", "»", "").Replace(marked)
		a := analyzed(t, ctx, text)
		x, err := Parameterize(a, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := markedOf(a.Text, x.Fixed); got != marked {
			t.Errorf("got  %s\nwant %s", got, marked)
		}
	}
}

// markedOf returns a text with its parameters in brackets.
func markedOf(t *shape.Text, fixed Fixed) string {
	var b strings.Builder
	at := 0
	for i, l := range t.Literals {
		b.WriteString(t.Source[at:l.Start])
		if at = l.End; fixed[i] {
			b.WriteString(t.Source[l.Start:l.End])
		} else {
			b.WriteString("«" + t.Source[l.Start:l.End] + "»")
		}
	}
	return b.String() + t.Source[at:]
}

// TestArguments makes arguments from other texts of a shape.
func TestArguments(t *testing.T) {
	ctx := newContext(t)
	a := analyzed(t, ctx, "SELECT 1 FROM pg_class WHERE relpages = -1 AND relname = 'a' AND reltuples < 1.5 AND relnatts = '7'")
	x, err := Parameterize(a, nil)
	if err != nil || len(x.Params) != 4 {
		t.Fatal(x, err)
	}
	params := 0
	query.WalkQuery(x.Query, func(e query.Expr, _ int) {
		if p, ok := e.(*query.Param); ok {
			params++
			if p.N > len(x.Params) || p.OID != x.Params[p.N-1] {
				t.Errorf("%+v of %v", p, x.Params)
			}
		}
	})
	if params != 4 {
		t.Errorf("the query has %d parameters", params)
	}
	for text, want := range map[string]string{
		"SELECT 1 FROM pg_class WHERE relpages = -22 AND relname = $$b'$$ AND reltuples < 2.50 AND relnatts = '-8'": "-22|b'|2.5|-8",
		"SELECT 1 FROM pg_class WHERE relpages = -22 AND relname = '' AND reltuples < 2.50 AND relnatts = 'x'":      "",
		"SELECT 1 FROM pg_class WHERE relpages = -22 AND relname = '' AND reltuples < 1e3 AND relnatts = '99999'":   "",
	} {
		other, _ := shape.Split(text)
		if other.Shape != a.Text.Shape || x.Fixed.Key(&other) != x.Fixed.Key(a.Text) {
			t.Errorf("%s has another key", text)
		}
		args, ok := x.Arguments.Of(&other, nil)
		var got []string
		for i, d := range args {
			got = append(got, types.Output(x.Params[i], d, nil))
		}
		if ok != (want != "") || strings.Join(got, "|") != want {
			t.Errorf("%s: %v %q", text, ok, got)
		}
	}
}

// TestFixedKey: texts with other fixed literals have other keys.
func TestFixedKey(t *testing.T) {
	ctx := newContext(t)
	a := analyzed(t, ctx, "SELECT 1 FROM pg_class WHERE relpages = 1 LIMIT 5")
	x, err := Parameterize(a, nil)
	if err != nil {
		t.Fatal(err)
	}
	other, _ := shape.Split("SELECT 1 FROM pg_class WHERE relpages = 1 LIMIT 6")
	if x.Fixed.Key(&other) == x.Fixed.Key(a.Text) {
		t.Error("LIMIT is not in the key")
	}
	if y, err := Parameterize(a, Fixed{true, true, true}); err != nil || !y.Fixed.All() || len(y.Params) > 0 {
		t.Error(y, err)
	}
}
