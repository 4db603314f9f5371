package composite

import (
	"reflect"
	"testing"
)

// TestSplit has texts that record_in of PostgreSQL reads, and those that it refuses.
func TestSplit(t *testing.T) {
	null, text := Field{Null: true}, func(s string) Field { return Field{Text: s} }
	for _, c := range []struct {
		in     string
		n      int
		want   []Field
		detail string
	}{
		{"(1,2)", 2, []Field{text("1"), text("2")}, ""},
		{" (1,) ", 2, []Field{text("1"), null}, ""},
		{"(,)", 2, []Field{null, null}, ""},
		{"()", 1, []Field{null}, ""},
		{"()", 0, nil, ""},
		{`("",x)`, 2, []Field{text(""), text("x")}, ""},
		{`("a ""b"" \\c",d\,e)`, 2, []Field{text(`a "b" \c`), text("d,e")}, ""},
		{`( a"b"c ,")(")`, 2, []Field{text(" abc "), text(")(")}, ""},
		{"1,2)", 2, nil, "Missing left parenthesis."},
		{"(1)", 2, nil, TooFew},
		{"(1,2,3)", 2, nil, "Too many columns."},
		{"( )", 0, nil, "Too many columns."},
		{"(1,2) x", 2, nil, "Junk after right parenthesis."},
		{"(1,2", 2, nil, endOfInput},
		{`(1,"2)`, 2, nil, endOfInput},
		{`(1,\`, 2, nil, endOfInput},
	} {
		got, detail := Split(c.in, c.n)
		if detail != c.detail || detail == "" && !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: %v, %q", c.in, got, detail)
		}
	}
}

// FuzzSplit checks that any text is split into the number of fields that was asked for, or refused.
func FuzzSplit(f *testing.F) {
	f.Add(`(1,"a ""b""",)`, 3)
	f.Add(`(\`, 1)
	f.Fuzz(func(t *testing.T, text string, n int) {
		if n < 0 || n > 1600 {
			return
		}
		fields, detail := Split(text, n)
		if detail == "" && len(fields) != n {
			t.Fatalf("%q: %d fields instead of %d", text, len(fields), n)
		}
	})
}
