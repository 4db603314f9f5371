package jsonpath

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/sherddb/sherd/jsonb"
	"github.com/sherddb/sherd/jsonb/internal/oracle"
)

var rewrite = flag.Bool(
	"rewrite", false, "ask the PostgreSQL 15 that PGHOST, PGPORT … name for the answers of testdata/oracle",
)

var operations = map[string]oracle.Operation{
	"path": {SQL: "$1::jsonpath::text", Run: func(a []string) (string, error) {
		p, err := Parse(a[0])
		if err != nil {
			return "", err
		}
		again, err := Parse(p.Source())
		if err == nil && (again.Source() != p.Source() || again.String() != p.String()) {
			err = fmt.Errorf("%s is read back as %s", p.Source(), again.Source())
		}
		return p.String(), err
	}},
	"query":  {SQL: "(select string_agg(x::text, ' ; ') from jsonb_path_query($1, $2, $3) x)", Run: query(false)},
	"silent": {SQL: "(select string_agg(x::text, ' ; ') from jsonb_path_query($1, $2, $3, true) x)", Run: query(true)},
	"array": {SQL: "jsonb_path_query_array($1, $2, $3)::text", Run: func(a []string) (string, error) {
		p, err := Parse(a[1])
		if err != nil {
			return "", err
		}
		d, err := p.QueryArray(doc(a[0]), Options{Vars: doc(a[2])})
		return d.Text(), err
	}},
	"first": {SQL: "jsonb_path_query_first($1, $2)::text", Run: func(a []string) (string, error) {
		p, err := Parse(a[1])
		if err != nil {
			return "", err
		}
		d, ok, err := p.First(doc(a[0]), Options{Vars: jsonb.EmptyObject})
		if !ok {
			return "NULL", err
		}
		return d.Text(), err
	}},
	"exists": {SQL: "jsonb_path_exists($1, $2)::text",
		Run: predicate((*Path).Exists, Options{Vars: jsonb.EmptyObject})},
	"match": {SQL: "jsonb_path_match($1, $2)::text", Run: predicate((*Path).Match, Options{Vars: jsonb.EmptyObject})},
	"@?":    {SQL: "($1::jsonb @? $2)::text", Run: predicate((*Path).Exists, Options{Silent: true})},
	"@@":    {SQL: "($1::jsonb @@ $2)::text", Run: predicate((*Path).Match, Options{Silent: true})},
	"tz": {SQL: "(select string_agg(x::text, ' ; ') from jsonb_path_query_tz($1, $2) x)", Run: func(a []string) (string, error) {
		return run(a[0], a[1], Options{Vars: jsonb.EmptyObject, Zone: func(int64) int { return 0 }})
	}},
}

func doc(s string) jsonb.Doc {
	d, err := jsonb.Parse(s)
	if err != nil {
		panic(s + ": " + err.Error())
	}
	return d
}

func run(text, path string, o Options) (string, error) {
	p, err := Parse(path)
	if err != nil {
		return "", err
	}
	docs, err := p.Query(doc(text), o)
	if err != nil || len(docs) == 0 {
		return "NULL", err
	}
	out := make([]string, len(docs))
	for i, d := range docs {
		out[i] = d.Text()
	}
	return strings.Join(out, " ; "), nil
}

func query(silent bool) func([]string) (string, error) {
	return func(a []string) (string, error) { return run(a[0], a[1], Options{Vars: doc(a[2]), Silent: silent}) }
}

func predicate(f func(*Path, jsonb.Doc, Options) (bool, bool, error), o Options) func([]string) (string, error) {
	return func(a []string) (string, error) {
		p, err := Parse(a[1])
		if err != nil {
			return "", err
		}
		v, null, err := f(p, doc(a[0]), o)
		if null {
			return "NULL", err
		}
		return fmt.Sprint(v), err
	}
}

// TestOracle compares with what PostgreSQL 15 answered.
func TestOracle(t *testing.T) { oracle.Compare(t, "testdata/oracle/*.tsv", operations, *rewrite) }
