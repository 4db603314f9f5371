package syntax

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
)

// outline prints statements with their lines, one in a line, nested by indentation.
func outline(list []Stmt, indent string, out *strings.Builder) {
	for _, s := range list {
		fmt.Fprintf(out, "%s%d %s\n", indent, s.At(), s.What())
		v := reflect.ValueOf(s).Elem()
		for i := range v.NumField() {
			switch x := v.Field(i).Interface().(type) {
			case []Stmt:
				outline(x, indent+"  ", out)
			case []Arm:
				for _, a := range x {
					fmt.Fprintf(out, "%s  when %s\n", indent, a.When.Text)
					outline(a.Then, indent+"    ", out)
				}
			case []Handler:
				for _, h := range x {
					fmt.Fprintf(out, "%s  on %q\n", indent, h.Conditions)
					outline(h.Body, indent+"    ", out)
				}
			case *SQL:
				if x != nil {
					fmt.Fprintf(out, "%s  %s: %s\n", indent, strings.ToLower(v.Type().Field(i).Name), x.Text)
				}
			}
		}
	}
}

func parseBody(source string) (*Body, error) {
	return Parse(Routine{Source: source, Returns: Returns{Nothing: true}})
}

func TestParse(t *testing.T) {
	const source = `
DECLARE
  x int := 1; r record; c CURSOR (k int) FOR SELECT k;
BEGIN
  x := x + 1;
  IF x > 1 THEN NULL; ELSIF x = 0 THEN r.a := 2; ELSE RETURN; END IF;
  <<outer>> FOR i IN REVERSE 10..1 BY 2 LOOP EXIT outer WHEN i = x; END LOOP outer;
  FOR r IN c(1) LOOP CONTINUE; END LOOP;
  INSERT INTO t (a) VALUES (x) RETURNING a INTO STRICT x;
  CASE x WHEN 1, 2 THEN NULL; END CASE;
  BEGIN PERFORM f(x); EXCEPTION WHEN unique_violation OR SQLSTATE '22012' THEN RAISE; WHEN OTHERS THEN NULL; END;
END`
	const want = `5 assignment
  value: x := x + 1
6 IF
  when x > 1
    6 NULL
  when x = 0
    6 assignment
      value: r.a := 2
  6 RETURN
7 FOR with integer loop variable
  from: 10
  to: 1
  step: 2
  7 EXIT
    when: i = x
8 FOR over cursor
  8 CONTINUE
9 SQL statement
  query: INSERT INTO t (a) VALUES (x) RETURNING a
10 CASE
  test: x
  when "__Case__Variable_7__" IN (1, 2)
    10 NULL
11 statement block
  11 PERFORM
    query: SELECT f(x)
  on ["23505" "22012"]
    11 RAISE
  on [""]
    11 NULL
`
	b, err := parseBody(source)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	outline(b.Block.Body, "", &got)
	if got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
}

// TestErrors checks messages and the text at their positions, as PostgreSQL 15 has them.
func TestErrors(t *testing.T) {
	for _, c := range []struct{ source, message, at string }{
		{"BEGIN retur 1; END", `syntax error at or near "retur"`, "retur"},
		{"BEGIN x := 1; END", `"x" is not a known variable`, "x"},
		{"DECLARE x int; BEGIN x := 1 +; END", `syntax error at end of input`, ";"},
		{"DECLARE x int; x text; BEGIN END", `duplicate declaration at or near "x"`, "x text"},
		{"DECLARE x CONSTANT int := 1; BEGIN x := 2; END", `variable "x" is declared CONSTANT`, "x := 2"},
		{"BEGIN IF true THEN NULL; END LOOP; END", `syntax error at or near "LOOP"`, "LOOP"},
		{"BEGIN EXIT; END", `EXIT cannot be used outside a loop, unless it has a label`, "EXIT"},
		{"BEGIN <<a>> LOOP CONTINUE b; END LOOP; END",
			`there is no label "b" attached to any block or loop enclosing this statement`, "b;"},
		{"BEGIN <<a>> LOOP NULL; END LOOP b; END", `end label "b" differs from block's label "a"`, "b;"},
		{"DECLARE x int; BEGIN SELECT 1 INTO x INTO x; END", `INTO specified more than once at or near "INTO"`, "INTO x;"},
		{"BEGIN RETURN 1; END", `RETURN cannot have a parameter in function returning void`, "1"},
		{"BEGIN FOR i IN 1..2 LOOP NULL; END LOOP", `syntax error at end of input`, ""},
		{"BEGIN IF (1 THEN NULL; END IF; END", `mismatched parentheses at or near ";"`, "; END IF"},
		{"BEGIN RAISE 'a' USING foo = 1; END", `unrecognized RAISE statement option at or near "foo"`, "foo"},
		{"BEGIN NULL; END; x", `syntax error at or near "x"`, "x"},
		{"BEGIN 'a", `unterminated quoted string`, "'a"},
		{"", "syntax error at end of input", ""},
	} {
		_, err := parseBody(c.source)
		e := pgerr.From(err)
		if e == nil || !strings.HasPrefix(e.Message, c.message) {
			t.Errorf("%s: %v, want %s", c.source, err, c.message)
			continue
		}
		if rest := string([]rune(c.source)[e.InnerPosition-1:]); !strings.HasPrefix(rest, c.at) {
			t.Errorf("%s: the error is at %q, want at %q", c.source, rest, c.at)
		}
	}
	for source, line := range map[string]int{
		"BEGIN\nRAISE 'a %';\nEND": 2, "BEGIN\n\nRAISE nosuch;\nEND": 3,
	} {
		_, err := parseBody(source)
		if e, ok := err.(*LineError); !ok || e.Line != line {
			t.Errorf("%q: %v, want an error in line %d", source, err, line)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("DECLARE x int := 1; c CURSOR (k int) FOR SELECT k; BEGIN x[1].a := 2; OPEN c(1); FETCH c INTO x; END")
	f.Add("#variable_conflict error\n<<l>> DECLARE a ALIAS FOR $1; BEGIN FOREACH a SLICE 1 IN ARRAY b LOOP EXIT l; END LOOP; END l")
	f.Add("BEGIN GET STACKED DIAGNOSTICS x = MESSAGE_TEXT; RAISE NOTICE '%', x USING HINT = 'a'; COMMIT AND CHAIN; END")
	f.Add("BEGIN CASE 1 WHEN 2 THEN EXECUTE 'a' INTO x USING 1; ELSE RETURN QUERY EXECUTE 'b'; END CASE; END")
	f.Fuzz(func(t *testing.T, source string) {
		returns := Returns{Set: len(source)%2 == 0}
		b, err := Parse(Routine{Source: source, Returns: returns, Parameters: []Parameter{{Name: "x"}, {Type: Type{Record: true}}}})
		if err == nil && b.Block == nil {
			t.Error("no block")
		}
		if e := pgerr.From(err); e != nil && e.InnerPosition > len([]rune(source))+1 {
			t.Errorf("position %d in a text of %d characters", e.InnerPosition, len([]rune(source)))
		}
	})
}
