// Package oracle compares with answers that PostgreSQL 15 gave: tables of testdata, each line an
// operation, its arguments, "=>" and the answer, with tabs between and backslashes escaping as in
// Go. A line "define NAME VALUE" lets the lines below it say NAME for an argument. With rewrite it
// asks the server that PGHOST, PGPORT … name for the answers again, through psql. It serves tests
// only.
package oracle

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
)

// Operation is the first column of the tables: the expression PostgreSQL computed, $1 … standing
// for the arguments, and what computes it here.
type Operation struct {
	SQL string
	Run func(args []string) (string, error)
}

// Compare checks all tables that match the pattern.
func Compare(t *testing.T, pattern string, operations map[string]Operation, rewrite bool) {
	files, err := filepath.Glob(pattern)
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
			if rewrite {
				lines = askPostgres(t, lines, operations)
				if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			for i, line := range substitute(lines) {
				checkLine(t, fmt.Sprintf("%s:%d", file, i+1), line, operations)
			}
		})
	}
}

// substitute puts values for names and empties the lines that define them.
func substitute(lines []string) []string {
	defined := map[string]string{}
	out := make([]string, len(lines))
	for i, line := range lines {
		f := strings.Split(line, "\t")
		if f[0] == "define" && len(f) == 3 {
			defined[f[1]] = f[2]
			continue
		}
		for j := range f {
			if v, ok := defined[f[j]]; ok {
				f[j] = v
			}
		}
		out[i] = strings.Join(f, "\t")
	}
	return out
}

func checkLine(t *testing.T, at, line string, operations map[string]Operation) {
	if line == "" {
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
	got, err := op.Run(args)
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

const setup = `
set client_min_messages = error;
create function pg_temp.ask(q text) returns text language plpgsql as $f$
declare r text; c text; m text; d text; h text; w text;
begin
  execute q into r;
  return coalesce(r, 'NULL');
exception when others then
  get stacked diagnostics c = returned_sqlstate, m = message_text, d = pg_exception_detail, ` +
	`h = pg_exception_hint, w = pg_exception_context;
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
func askPostgres(t *testing.T, lines []string, operations map[string]Operation) []string {
	var script strings.Builder
	script.WriteString(setup)
	const mark = "\x01"
	for _, line := range substitute(lines) {
		f := strings.Split(line, "\t")
		op, ok := operations[f[0]]
		if !ok {
			continue
		}
		sql := "select " + op.SQL
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
