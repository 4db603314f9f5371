package jsonpath

import (
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/jsonb"
)

func FuzzParse(f *testing.F) {
	for _, s := range []string{`$.a[*] ? (@.b > 1 && exists(@.c)).d`, `strict $.**{2 to last}.type()`, `-(1 + $"x y" * 2.5e3) % 7`,
		`$ ? (@ like_regex "^[[:alpha:]\\d-]+$" flag "im")`, `$[last - 1, 0 to 2]`, `"\u{1F600}\x41" starts with $v`} {
		f.Add(s)
	}
	doc, _ := jsonb.Parse(`{"a":[{"b":2,"c":null,"d":"x"},3],"v":"y"}`)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse(text)
		if err != nil {
			if pgerr.Code(err) == pgerr.InternalError {
				t.Fatal(err)
			}
			return
		}
		_, _ = p.Query(doc, Options{Vars: doc})
		again, err := Parse(p.Source())
		if err != nil || again.Source() != p.Source() || again.String() != p.String() {
			t.Fatalf("%q: %s is not read back: %v", text, p.Source(), err)
		}
	})
}

// FuzzDamaged evaluates on damaged documents: nonsense, but no panic and no endless walk.
func FuzzDamaged(f *testing.F) {
	var paths []*Path
	for _, text := range []string{
		`$.**.keyvalue()`, `strict $.a[last].b + 1`, `$.*[*] ? (@ > 1 || @ like_regex "a").double()`,
		`-$[0 to 1].floor()`,
	} {
		p, err := Parse(text)
		if err != nil {
			f.Fatal(err)
		}
		paths = append(paths, p)
	}
	doc, _ := jsonb.Parse(`{"a":[{"b":2,"c":null,"d":"x"},3.5],"v":"y"}`)
	f.Add([]byte(doc))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, p := range paths {
			_, _ = p.QueryArray(jsonb.FromBytes(b), Options{Silent: true})
		}
	})
}

func TestDepth(t *testing.T) {
	long := func(unit string, n int) string {
		b := make([]byte, 0, n*len(unit))
		for range n {
			b = append(b, unit...)
		}
		return string(b)
	}
	const n = 200_000
	for name, text := range map[string]string{
		"parentheses": long("(", n),
		"signs":       long("- ", n) + "$",
		"sum":         "1" + long("+1", n),
		"keys":        "$" + long(".a", n),
		"filters":     "$" + long("?(@", n),
		"subscripts":  "$" + long("[$", n),
		"conditions":  "1==1" + long("&&1==1", n),
		"negations":   long("!(", n),
	} {
		if _, err := Parse(text); !pgerr.Is(err, pgerr.StatementTooComplex) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, text := range []string{
		"1" + long(" + $", maxDepth-2), "1 == 1" + long(" && 1 == 1", maxDepth-3),
		long("-(1 + ", maxDepth/2-2) + "$" + long(")", maxDepth/2-2),
	} {
		p, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := Parse(p.Source()); err != nil || again.String() != p.String() {
			t.Errorf("%.20s…: the longest path does not read back: %v", text, err)
		}
	}
	deep, err := jsonb.Parse(long("[", jsonb.MaxDepth) + long("]", jsonb.MaxDepth))
	if err != nil {
		t.Fatal(err)
	}
	p, err := Parse("$.**")
	if err != nil {
		t.Fatal(err)
	}
	if found, err := p.Query(deep, Options{}); err != nil || len(found) == 0 {
		t.Error(len(found), err)
	}
}

func BenchmarkFilter(b *testing.B) {
	doc, _ := jsonb.Parse(`{"lines":[{"sku":"a","qty":1},{"sku":"b","qty":20},{"sku":"c","qty":3}],"total":12.5}`)
	p, err := Parse(`$.lines[*] ? (@.qty > 10).sku`)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		_, _, _ = p.Exists(doc, Options{Silent: true})
	}
}
