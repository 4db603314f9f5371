package comparison

import (
	"bufio"
	"strings"
	"testing"
	"testing/fstest"
)

func TestReadCases(t *testing.T) {
	files := fstest.MapFS{"cases/keys.txt": {Data: []byte(`# Keys.

case one
SELECT a
FROM t WHERE a = $1 AND b = ANY ($2) AND c = $3
$1 int8: 17
$2 int4[]: {3..5}
$3 text: NULL
----
Gather
  ->  Seq Scan on t

write two
DELETE FROM t
----

write three
DELETE FROM u
----
`)}}
	cases, err := ReadCases(files, "cases/*.txt")
	if err != nil || len(cases) != 3 {
		t.Fatal(cases, err)
	}
	one, two := cases[0], cases[1]
	if one.Theme != "keys" || one.Name != "one" || one.Writes ||
		one.Text != "SELECT a\nFROM t WHERE a = $1 AND b = ANY ($2) AND c = $3" {
		t.Errorf("%+v", one)
	}
	if p := one.Params; len(p) != 3 || p[0].Type != "int8" || *p[0].Value != "17" || *p[1].Value != "{3,4,5}" ||
		p[2].Value != nil {
		t.Errorf("%+v", p)
	}
	if two.Name != "two" || !two.Writes || two.Text != "DELETE FROM t" || two.Params != nil {
		t.Errorf("%+v", two)
	}
}

func TestReadCasesErrors(t *testing.T) {
	for text, want := range map[string]string{
		"case a\nSELECT 1\n":                                     "case a has no line ----",
		"exec a\nSELECT 1\n----\n":                               "is not `case NAME`",
		"case a\n----\n":                                         "a has no statement",
		"case a\nSELECT $1\n$1 money: 1\n----\n":                 "type money of $1 is unknown",
		"case a\nSELECT $1\n$2 int4: 1\n----\n":                  "parameter $2 is not in order",
		"case a\nSELECT 1\n----\n\ncase a\nSELECT 2\n----\n\n\n": "two cases are named a",
	} {
		_, err := ReadCases(fstest.MapFS{"a.txt": {Data: []byte(text)}}, "*.txt")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestOrdered(t *testing.T) {
	for text, want := range map[string]bool{
		"SELECT a FROM t ORDER BY a LIMIT 1":                   true,
		"SELECT a FROM t\norder by a":                          true,
		"SELECT rank() OVER (ORDER BY a) FROM t":               false,
		"SELECT * FROM (SELECT a FROM t ORDER BY a) x":         false,
		"(SELECT a FROM t) UNION (SELECT b FROM u) ORDER BY 1": true,
	} {
		if got := (&Case{Text: text}).Ordered(); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}

// answer makes an answer of columns of types text and float8; rows are separated by spaces and
// values by commas.
func answer(text string) *Answer {
	a := &Answer{Tag: "SELECT", Types: []uint32{25, 701}}
	for row := range strings.FieldsSeq(text) {
		name, value, _ := strings.Cut(row, ",")
		values := [][]byte{[]byte(name), []byte(value)}
		if value == "NULL" {
			values[1] = nil
		}
		a.Rows = append(a.Rows, values)
	}
	return a
}

func TestDifference(t *testing.T) {
	for _, x := range []struct {
		want, got string
		ordered   bool
		result    string
	}{
		{"a,1 b,2", "b,2 a,1", false, ""},
		{"a,1 b,2", "b,2 a,1", true, "order: row 1 is (b, 2), not (a, 1)"},
		{"a,0.1", "a,0.10000000000000001", true, ""},
		{"a,0.30000000000000004 a,0.1", "a,0.1 a,0.3", false, ""},
		{"a,0.1", "a,0.1000001", true, "row (a, 0.1000001), not (a, 0.1)"},
		{"a,NULL", "a,0", true, "row (a, 0), not (a, NULL)"},
		{"a,1 a,1 b,1", "a,1 b,1 b,1", false, "row (b, 1), not (a, 1)"},
		{"a,1", "a,1 a,1", false, "2 rows, not 1"},
		{"a,NaN", "a,NaN", true, ""},
	} {
		if got := difference(answer(x.want), answer(x.got), x.ordered); got != x.result {
			t.Errorf("%s, %s: %s, want %s", x.want, x.got, got, x.result)
		}
	}
	a, b := answer("a,1"), answer("a,1")
	b.Tag = "UPDATE 1"
	if got := difference(a, b, false); got != "tag UPDATE 1, not SELECT" {
		t.Error(got)
	}
	b = answer("a,1")
	b.Types[0] = 23
	if got := difference(a, b, false); got != "types of columns [23 701], not [25 701]" {
		t.Error(got)
	}
}

func TestScript(t *testing.T) {
	const text = "CREATE TABLE t (a int) /* sherd: WITH (shard_by = 'a') */;\n"
	for _, x := range []struct {
		plain, sherd bool
		want         string
	}{
		{false, false, text},
		{true, true, text},
		{false, true, "CREATE TABLE t (a int) WITH (shard_by = 'a');\n"},
	} {
		if got := (&Data{Plain: x.plain}).Script(text, x.sherd); got != x.want {
			t.Errorf("%+v: %s", x, got)
		}
	}
}

func TestSummary(t *testing.T) {
	var b strings.Builder
	r := &report{out: &b}
	for _, o := range []*outcome{
		{Case: &Case{Theme: "keys", Name: "a"}, postgres: 1e6, sherd: 4e6},
		{Case: &Case{Theme: "keys", Name: "b"}, postgres: 1e6, sherd: 1e6, wrong: "1 rows, not 2"},
		{Case: &Case{Theme: "order", Name: "c"}, postgres: 1e6, sherd: 16e6},
		{Case: &Case{Theme: "order", Name: "d"}, problem: "Sherd takes more than 20s"},
	} {
		r.add(o)
	}
	r.summary()
	lines := bufio.NewScanner(strings.NewReader(b.String()))
	var got []string
	for lines.Scan() {
		got = append(got, strings.Join(strings.Fields(lines.Text()), " "))
	}
	want := []string{
		"a 1.000 ms 4.000 ms 4.00 equal", "b 1.000 ms 1.000 ms 1.00 WRONG: 1 rows, not 2",
		"c 1.000 ms 16.000 ms 16.00 equal", "d - - - Sherd takes more than 20s", "",
		"theme cases wrong no ratio > 2x > 10x geometric worst", "keys 2 1 0 1 0 2.00 4.00",
		"order 2 0 1 1 1 16.00 16.00", "all 4 1 1 2 1 4.00 16.00",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if w := r.wrong(); len(w) != 1 || w[0] != "b" {
		t.Error(w)
	}
}
