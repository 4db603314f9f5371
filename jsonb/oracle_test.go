package jsonb

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
)

var rewrite = flag.Bool("rewrite", false, "ask the PostgreSQL 15 that PGHOST, PGPORT … name for the answers of testdata/oracle")

// operation is a column of the tables: the statement PostgreSQL ran for it, $1 … standing for the arguments, and ours.
type operation struct {
	sql string
	run func(a []string) (string, error)
}

var operations = map[string]operation{
	"in":           {"$1::jsonb::text", func(a []string) (string, error) { d, err := Parse(a[0]); return d.Text(), err }},
	"json":         {"$1::json::text", func(a []string) (string, error) { return a[0], ValidateJSON(a[0]) }},
	"pretty":       {"jsonb_pretty($1)", unary(func(d Doc) (string, error) { return d.Pretty(), nil })},
	"typeof":       {"jsonb_typeof($1)", unary(func(d Doc) (string, error) { return d.Kind().String(), nil })},
	"array_length": {"jsonb_array_length($1)::text", unary(func(d Doc) (string, error) { n, err := d.ArrayLength(); return strconv.Itoa(n), err })},
	"strip_nulls":  {"jsonb_strip_nulls($1)::text", unary(func(d Doc) (string, error) { return text(d.StripNulls()) })},
	"->":           {"($1::jsonb -> $2::text)::text", unary1(func(d Doc, a string) (string, error) { return found(d.Get(a)) })},
	"->>":          {"$1::jsonb ->> $2::text", unary1(func(d Doc, a string) (string, error) { return orNull(d.GetText(a)) })},
	"->i":          {"($1::jsonb -> $2::int)::text", unary1(func(d Doc, a string) (string, error) { return found(d.Index(integer(a))) })},
	"->>i":         {"$1::jsonb ->> $2::int", unary1(func(d Doc, a string) (string, error) { return orNull(d.IndexText(integer(a))) })},
	"#>":           {"($1::jsonb #> $2::text[])::text", unary1(func(d Doc, a string) (string, error) { return found(d.Path(texts(a)...)) })},
	"#>>":          {"$1::jsonb #>> $2::text[]", unary1(func(d Doc, a string) (string, error) { return orNull(d.PathText(texts(a)...)) })},
	"cmp":          {"case when $1::jsonb < $2::jsonb then -1 when $1::jsonb = $2::jsonb then 0 when $1::jsonb > $2::jsonb then 1 end::text", binary(func(a, b Doc) (string, error) { return strconv.Itoa(Compare(a, b)), nil })},
	"@>":           {"($1::jsonb @> $2::jsonb)::text", binary(func(a, b Doc) (string, error) { return fmt.Sprint(a.Contains(b)), nil })},
	"||":           {"($1::jsonb || $2::jsonb)::text", binary(func(a, b Doc) (string, error) { return text(Concat(a, b)) })},
	"?":            {"($1::jsonb ? $2)::text", unary1(func(d Doc, a string) (string, error) { return fmt.Sprint(d.Has(a)), nil })},
	"?|":           {"($1::jsonb ?| $2)::text", unary1(func(d Doc, a string) (string, error) { return fmt.Sprint(d.HasAny(texts(a))), nil })},
	"?&":           {"($1::jsonb ?& $2)::text", unary1(func(d Doc, a string) (string, error) { return fmt.Sprint(d.HasAll(texts(a))), nil })},
	"-":            {"($1::jsonb - $2::text)::text", unary1(func(d Doc, a string) (string, error) { return text(d.DeleteKey(a)) })},
	"-[]":          {"($1::jsonb - $2::text[])::text", unary1(func(d Doc, a string) (string, error) { return text(d.DeleteKeys(texts(a))) })},
	"-i":           {"($1::jsonb - $2::int)::text", unary1(func(d Doc, a string) (string, error) { return text(d.DeleteIndex(integer(a))) })},
	"#-":           {"($1::jsonb #- $2::text[])::text", unary1(func(d Doc, a string) (string, error) { return text(d.DeletePath(steps(a))) })},
	"set": {"jsonb_set($1, $2::text[], $3, $4)::text", unary1(func(d Doc, a string) (string, error) {
		p := strings.SplitN(a, "\t", 3)
		return text(d.Set(steps(p[0]), doc(p[1]), p[2] == "true"))
	})},
	"insert": {"jsonb_insert($1, $2::text[], $3, $4)::text", unary1(func(d Doc, a string) (string, error) {
		p := strings.SplitN(a, "\t", 3)
		return text(d.Insert(steps(p[0]), doc(p[1]), p[2] == "true"))
	})},
	"set_lax": {"jsonb_set_lax($1, $2::text[], null, $3, $4)::text", unary1(func(d Doc, a string) (string, error) {
		p := strings.SplitN(a, "\t", 3)
		return text(d.SetLax(steps(p[0]), nil, p[1] == "true", p[2]))
	})},
	"assign": {"pg_temp.assign($1, $2::text[], $3)", unary1(func(d Doc, a string) (string, error) {
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

// TestOracle compares with what PostgreSQL 15 answered. A line of a table is: operation, arguments, "=>", answer, with
// tabs between and backslashes escaping as in Go.
func TestOracle(t *testing.T) {
	files, err := filepath.Glob("testdata/oracle/*.tsv")
	if err != nil || len(files) == 0 {
		t.Fatal("no tables", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".tsv"), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n")
			if *rewrite {
				lines = askPostgres(t, lines)
				if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			for i, line := range lines {
				checkLine(t, fmt.Sprintf("%s:%d", file, i+1), line)
			}
		})
	}
}

func checkLine(t *testing.T, at, line string) {
	if line == "" || line[0] == ' ' {
		return
	}
	f := strings.Split(line, "\t")
	op, ok := operations[f[0]]
	if !ok || len(f) < 4 || f[len(f)-2] != "=>" {
		t.Errorf("%s: no table line: %s", at, line)
		return
	}
	args := f[1 : len(f)-2]
	for i := range args {
		args[i] = unescape(args[i])
	}
	got, err := op.run(args)
	if err != nil {
		e := pgerr.From(err)
		got = fmt.Sprintf("ERROR %s %s|%s|%s", e.Code, e.Message, e.Detail, e.Hint)
		if strings.HasPrefix(e.Where, "JSON data") {
			got += "|" + e.Where
		}
	}
	if want := unescape(f[len(f)-1]); got != want {
		t.Errorf("%s: %s\n got %s\nwant %s", at, strings.Join(f[:len(f)-2], " "), got, want)
	}
}

func unescape(s string) string {
	return strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t", `\r`, "\r").Replace(s)
}

func escape(s string) string {
	return strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\t", `\t`, "\r", `\r`).Replace(s)
}

const oracleSetup = `
set client_min_messages = error;
create function pg_temp.ask(q text) returns text language plpgsql as $f$
declare r text; c text; m text; d text; h text; w text;
begin
  execute q into r;
  return coalesce(r, 'NULL');
exception when others then
  get stacked diagnostics c = returned_sqlstate, m = message_text, d = pg_exception_detail, h = pg_exception_hint, w = pg_exception_context;
  w := split_part(w, E'\nPL/pgSQL', 1);
  return format('ERROR %s %s|%s|%s', c, m, d, h) || case when w like 'JSON data%' then '|' || w else '' end;
end $f$;
create temp table holder (doc jsonb);
create function pg_temp.assign(d jsonb, p text[], v jsonb) returns text language plpgsql as $f$
declare r text; s text := ''; e text;
begin
  foreach e in array p loop
    s := s || '[' || case when e ~ '^-?[0-9]+$' then e else quote_literal(e) end || ']';
  end loop;
  delete from holder;
  insert into holder values (nullif(d, 'null'));
  execute 'update holder set doc' || s || ' = ' || quote_literal(v) || ' returning doc::text' into r;
  return r;
end $f$;
\pset format unaligned
\pset tuples_only on
`

// askPostgres runs the statements of the lines and puts the answers in.
func askPostgres(t *testing.T, lines []string) []string {
	var script strings.Builder
	script.WriteString(oracleSetup)
	const mark = "\x01"
	for _, line := range lines {
		f := strings.Split(line, "\t")
		op, ok := operations[f[0]]
		if !ok {
			continue
		}
		sql := "select " + op.sql
		args := f[1:]
		for i, a := range f {
			if a == "=>" {
				args = f[1:i]
			}
		}
		for i, a := range args {
			sql = strings.ReplaceAll(sql, fmt.Sprintf("$%d", i+1), quote(unescape(a)))
		}
		fmt.Fprintf(&script, "select pg_temp.ask(%s) || e'\\x01';\n", quote(sql))
	}
	cmd := exec.Command("psql", "-X", "-q", "-v", "ON_ERROR_STOP=1")
	cmd.Stdin = strings.NewReader(script.String())
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err, stderr.String())
	}
	answers := strings.Split(string(out), mark+"\n")
	for i, line := range lines {
		f := strings.Split(line, "\t")
		if _, ok := operations[f[0]]; !ok {
			continue
		}
		if f[len(f)-1] != "=>" && len(f) > 2 && f[len(f)-2] == "=>" {
			f = f[:len(f)-2]
		}
		lines[i] = strings.Join(f, "\t") + "\t=>\t" + escape(answers[0])
		answers = answers[1:]
	}
	return lines
}

func quote(s string) string {
	return "e'" + strings.ReplaceAll(strings.ReplaceAll(s, `\`, `\\`), "'", "''") + "'"
}

// TestHashAgrees checks that Compare is an order and that equal values hash alike, over all pairs of a set.
func TestHashAgrees(t *testing.T) {
	var docs []Doc
	for _, s := range []string{`null`, `1`, `1.0`, `1e0`, `-1`, `0`, `-0.0`, `10`, `9.99`, `"1"`, `""`, `true`, `[]`, `[1]`, `[1.00]`, `[[]]`, `{}`, `{"a":1}`, `{"a":1.0}`, `{"b":1}`, `{"aa":0}`} {
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
