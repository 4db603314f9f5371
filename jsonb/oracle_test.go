package jsonb

import (
	"cmp"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/sherddb/sherd/jsonb/internal/oracle"
)

var rewrite = flag.Bool(
	"rewrite", false, "ask the PostgreSQL 15 that PGHOST, PGPORT … name for the answers of testdata/oracle",
)

var operations = map[string]oracle.Operation{
	"in": {SQL: "$1::jsonb::text", Run: func(a []string) (string, error) {
		d, err := Parse(a[0])
		return d.Text(), err
	}},
	"json":   {SQL: "$1::json::text", Run: func(a []string) (string, error) { return a[0], ValidateJSON(a[0]) }},
	"pretty": {SQL: "jsonb_pretty($1)", Run: unary(func(d Doc) (string, error) { return d.Pretty(nil) })},
	"typeof": {SQL: "jsonb_typeof($1)", Run: unary(func(d Doc) (string, error) {
		return d.Kind().String(), nil
	})},
	"array_length": {SQL: "jsonb_array_length($1)::text", Run: unary(func(d Doc) (string, error) {
		n, err := d.ArrayLength()
		return strconv.Itoa(n), err
	})},
	"strip_nulls": {SQL: "jsonb_strip_nulls($1)::text", Run: unary(func(d Doc) (string, error) {
		return text(d.StripNulls())
	})},
	"->": {SQL: "($1::jsonb -> $2::text)::text", Run: unary1(func(d Doc, a string) (string, error) {
		return found(d.Get(a))
	})},
	"->>": {SQL: "$1::jsonb ->> $2::text", Run: unary1(func(d Doc, a string) (string, error) {
		return orNull(d.GetText(a))
	})},
	"->i": {SQL: "($1::jsonb -> $2::int)::text", Run: unary1(func(d Doc, a string) (string, error) {
		return found(d.Index(integer(a)))
	})},
	"->>i": {SQL: "$1::jsonb ->> $2::int", Run: unary1(func(d Doc, a string) (string, error) {
		return orNull(d.IndexText(integer(a)))
	})},
	"#>": {SQL: "($1::jsonb #> $2::text[])::text", Run: unary1(func(d Doc, a string) (string, error) {
		return found(d.Path(texts(a)...))
	})},
	"#>>": {SQL: "$1::jsonb #>> $2::text[]", Run: unary1(func(d Doc, a string) (string, error) {
		return orNull(d.PathText(texts(a)...))
	})},
	"cmp": {SQL: "case when $1::jsonb < $2::jsonb then -1 when $1::jsonb = $2::jsonb then 0 when $1::jsonb > $2::jsonb then 1 end::text", Run: binary(func(a, b Doc) (string, error) {
		return strconv.Itoa(Compare(a, b)), nil
	})},
	"@>": {SQL: "($1::jsonb @> $2::jsonb)::text", Run: binary(func(a, b Doc) (string, error) {
		return fmt.Sprint(a.Contains(b)), nil
	})},
	"||": {SQL: "($1::jsonb || $2::jsonb)::text", Run: binary(func(a, b Doc) (string, error) {
		return text(Concat(a, b))
	})},
	"?": {SQL: "($1::jsonb ? $2)::text", Run: unary1(func(d Doc, a string) (string, error) {
		return fmt.Sprint(d.Has(a)), nil
	})},
	"?|": {SQL: "($1::jsonb ?| $2)::text", Run: unary1(func(d Doc, a string) (string, error) {
		return fmt.Sprint(d.HasAny(texts(a))), nil
	})},
	"?&": {SQL: "($1::jsonb ?& $2)::text", Run: unary1(func(d Doc, a string) (string, error) {
		return fmt.Sprint(d.HasAll(texts(a))), nil
	})},
	"-": {SQL: "($1::jsonb - $2::text)::text", Run: unary1(func(d Doc, a string) (string, error) {
		return text(d.DeleteKey(a))
	})},
	"-[]": {SQL: "($1::jsonb - $2::text[])::text", Run: unary1(func(d Doc, a string) (string, error) {
		return text(d.DeleteKeys(texts(a)))
	})},
	"-i": {SQL: "($1::jsonb - $2::int)::text", Run: unary1(func(d Doc, a string) (string, error) {
		return text(d.DeleteIndex(integer(a)))
	})},
	"#-": {SQL: "($1::jsonb #- $2::text[])::text", Run: unary1(func(d Doc, a string) (string, error) {
		return text(d.DeletePath(steps(a)))
	})},
	"set": {SQL: "jsonb_set($1, $2::text[], $3, $4)::text", Run: unary1(func(d Doc, a string) (string, error) {
		p := strings.SplitN(a, "\t", 3)
		return text(d.Set(steps(p[0]), doc(p[1]), p[2] == "true"))
	})},
	"insert": {SQL: "jsonb_insert($1, $2::text[], $3, $4)::text", Run: unary1(func(d Doc, a string) (string, error) {
		p := strings.SplitN(a, "\t", 3)
		return text(d.Insert(steps(p[0]), doc(p[1]), p[2] == "true"))
	})},
	"set_lax": {SQL: "jsonb_set_lax($1, $2::text[], null, $3, $4)::text", Run: unary1(func(d Doc, a string) (string, error) {
		p := strings.SplitN(a, "\t", 3)
		return text(d.SetLax(steps(p[0]), nil, p[1] == "true", p[2]))
	})},
	"assign": {SQL: "pg_temp.assign($1, $2::text[], $3)", Run: unary1(func(d Doc, a string) (string, error) {
		p := strings.SplitN(a, "\t", 2)
		path := texts(p[0])
		_, err := strconv.Atoi(path[0])
		if d.IsNull() {
			d = ""
		}
		return text(d.Assign(path, err == nil, doc(p[1])))
	})},
}

func unary(f func(Doc) (string, error)) func([]string) (string, error) {
	return func(a []string) (string, error) { return f(doc(a[0])) }
}

// unary1 joins the arguments after the document by tabs.
func unary1(f func(Doc, string) (string, error)) func([]string) (string, error) {
	return func(a []string) (string, error) { return f(doc(a[0]), strings.Join(a[1:], "\t")) }
}

func binary(f func(a, b Doc) (string, error)) func([]string) (string, error) {
	return func(a []string) (string, error) { return f(doc(a[0]), doc(a[1])) }
}

func doc(s string) Doc {
	d, err := Parse(s)
	if err != nil {
		panic(s + ": " + err.Error())
	}
	return d
}

func integer(s string) int { n, _ := strconv.Atoi(s); return n }

// texts reads a one-dimensional text[] literal without quoting.
func texts(s string) []string {
	s = strings.Trim(s, "{}")
	if s == "" {
		return nil
	}
	var out []string
	for _, p := range strings.Split(s, ",") {
		if p != "NULL" {
			out = append(out, p)
		}
	}
	return out
}

func steps(s string) []Step {
	s = strings.Trim(s, "{}")
	if s == "" {
		return nil
	}
	var out []Step
	for _, p := range strings.Split(s, ",") {
		out = append(out, Step{Text: p, Null: p == "NULL"})
	}
	return out
}

func text(d Doc, err error) (string, error) { return d.Text(), err }

func orNull(s string, ok bool) (string, error) {
	if !ok {
		return "NULL", nil
	}
	return s, nil
}

func found(d Doc, ok bool) (string, error) { return orNull(d.Text(), ok) }

// TestOracle compares with what PostgreSQL 15 answered.
func TestOracle(t *testing.T) { oracle.Compare(t, "testdata/oracle/*.tsv", operations, *rewrite) }

// TestHashAgrees checks that Compare is an order and that equal values hash alike, over all pairs
// of a set.
func TestHashAgrees(t *testing.T) {
	var docs []Doc
	for _, s := range []string{
		`null`, `1`, `1.0`, `1e0`, `-1`, `0`, `-0.0`, `10`, `9.99`, `"1"`, `""`, `true`, `[]`, `[1]`, `[1.00]`,
		`[[]]`, `{}`, `{"a":1}`, `{"a":1.0}`, `{"b":1}`, `{"aa":0}`,
	} {
		docs = append(docs, mustParse(t, s))
	}
	for _, a := range docs {
		for _, b := range docs {
			if c := Compare(a, b); c != -Compare(b, a) || (c == 0) != Equal(a, b) || c == 0 && a.Hash() != b.Hash() {
				t.Errorf("%s, %s: %d, %v", a.Text(), b.Text(), c, Equal(a, b))
			}
			for _, c := range docs {
				if Compare(a, b) < 0 && Compare(b, c) < 0 && cmp.Compare(Compare(a, c), 0) >= 0 {
					t.Errorf("%s < %s < %s, but not the first and last", a.Text(), b.Text(), c.Text())
				}
			}
		}
	}
}
