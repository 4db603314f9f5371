package gin

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/sherddb/sherd/jsonb"
	"github.com/sherddb/sherd/jsonb/jsonpath"
	"github.com/sherddb/sherd/sql/types"
)

var rewrite = flag.Bool("rewrite", false, "write the golden file")

func document(t *testing.T, text string) types.Datum {
	t.Helper()
	d, err := jsonb.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return types.Datum{K: types.KindJSONB, S: string(d)}
}

func mustParse(t *testing.T, oid types.OID, text string) types.Datum {
	t.Helper()
	d, err := types.Input(oid, -1, text, &types.Env{})
	if err != nil {
		t.Fatal(text, err)
	}
	return d
}

// TestTermsAreStable compares terms with those of the golden file (G1).
func TestTermsAreStable(t *testing.T) {
	var b strings.Builder
	show := func(c Column, name, text string, d types.Datum) {
		list, err := c.Append(nil, d)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %d %s\n", name, c.At, text)
		for _, x := range list {
			fmt.Fprintf(&b, "\t%016x\n", uint64(x))
		}
	}
	const text = `{"a": [1, 2.50, "x", null, {"b": true}], "c": {"d": "y", "e": {}}, "f": [], "g": -0.10}`
	for at := range 2 {
		show(Column{At: at, Type: types.JSONB, Class: JSONBOps}, "jsonb_ops", text, document(t, text))
		show(Column{At: at, Type: types.JSONB, Class: JSONBPathOps}, "jsonb_path_ops", text, document(t, text))
	}
	for _, doc := range []string{`"x"`, `1e2`, `null`, `[]`, `{}`} {
		show(Column{Type: types.JSONB, Class: JSONBOps}, "jsonb_ops", doc, document(t, doc))
		show(Column{Type: types.JSONB, Class: JSONBPathOps}, "jsonb_path_ops", doc, document(t, doc))
	}
	for _, a := range []struct {
		oid  types.OID
		text string
	}{
		{types.ArrayTypeOf(types.Int4), "{1,NULL}"}, {types.ArrayTypeOf(types.Int4), "{}"},
		{types.ArrayTypeOf(types.Text), "{a,b}"}, {types.ArrayTypeOf(types.Numeric), "{1.0,1}"},
	} {
		show(Column{Type: a.oid, Class: ArrayOps}, "array_ops", a.text, mustParse(t, a.oid, a.text))
	}
	const file = "testdata/terms.golden"
	if *rewrite {
		if err := os.WriteFile(file, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != b.String() {
		t.Errorf("terms changed:\n%s", b.String())
	}
}

// generator makes random documents and conditions of few different parts, so that many conditions
// are met.
type generator struct{ *rand.Rand }

var (
	someKeys    = []string{"a", "b", "c"}
	someScalars = []string{`"a"`, `"b"`, `1`, `1.0`, `2`, `true`, `false`, `null`, `""`, `-1`, `-1.00`}
)

func (g generator) of(list []string) string { return list[g.IntN(len(list))] }

func (g generator) doc(depth int) string {
	if depth == 0 || g.IntN(3) == 0 {
		return g.of(someScalars)
	}
	var parts []string
	object := g.IntN(2) == 0
	for range g.IntN(4) {
		part := g.doc(depth - 1)
		if object {
			part = `"` + g.of(someKeys) + `": ` + part
		}
		parts = append(parts, part)
	}
	if object {
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func (g generator) accessors() string {
	var b strings.Builder
	for range g.IntN(4) {
		switch g.IntN(9) {
		case 0:
			b.WriteString("[*]")
		case 1:
			b.WriteString("[0 to 2]")
		case 2:
			b.WriteString(".*")
		case 3:
			b.WriteString(".**")
		case 4:
			b.WriteString(" ? (" + g.predicate("@", 1) + ")")
		default:
			b.WriteString("." + g.of(someKeys))
		}
	}
	if g.IntN(20) == 0 {
		b.WriteString(".size()")
	}
	return b.String()
}

func (g generator) predicate(root string, depth int) string {
	if depth > 0 {
		switch g.IntN(6) {
		case 0:
			return "(" + g.predicate(root, depth-1) + " && " + g.predicate(root, depth-1) + ")"
		case 1:
			return "(" + g.predicate(root, depth-1) + " || " + g.predicate(root, depth-1) + ")"
		case 2:
			return "!(" + g.predicate(root, depth-1) + ")"
		case 3:
			return "exists(" + root + g.accessors() + ")"
		case 4:
			return "((" + g.predicate(root, depth-1) + ") is unknown)"
		}
	}
	from := root
	if g.IntN(5) == 0 {
		from = "$"
	}
	switch path := from + g.accessors(); g.IntN(6) {
	case 0:
		return path + " > " + g.of(someScalars)
	case 1:
		return g.of(someScalars) + " == " + path
	case 2:
		return path + " + 1 == 2"
	default:
		return path + " == " + g.of(someScalars)
	}
}

// condition returns a random condition, and what it says of a document.
func (g generator) condition(t *testing.T) (op string, value types.Datum, text string, holds func(jsonb.Doc) bool) {
	mode := []string{"", "strict "}[g.IntN(2)]
	switch g.IntN(6) {
	case 0:
		text = g.of(someKeys)
		return "?", types.NewText(text), text, func(d jsonb.Doc) bool { return d.Has(text) }
	case 1, 2:
		var keys []string
		for range g.IntN(3) {
			keys = append(keys, g.of(someKeys))
		}
		text = "{" + strings.Join(keys, ",") + "}"
		op, holds = "?|", func(d jsonb.Doc) bool { return d.HasAny(keys) }
		if g.IntN(2) == 0 {
			op, holds = "?&", func(d jsonb.Doc) bool { return d.HasAll(keys) }
		}
		return op, mustParse(t, types.ArrayTypeOf(types.Text), text), text, holds
	case 3:
		text = mode + "$" + g.accessors()
		if g.IntN(2) == 0 {
			text = mode + "$" + g.accessors() + " ? (" + g.predicate("@", 2) + ")" + g.accessors()
		}
	case 4:
		op, text = "@@", mode+g.predicate("$", 3)
	default:
		text = g.doc(3)
		value = document(t, text)
		return "@>", value, text, func(d jsonb.Doc) bool { return d.Contains(jsonb.Doc(value.S)) }
	}
	p, err := jsonpath.Parse(text)
	if err != nil {
		t.Fatal(text, err)
	}
	value, o := types.Datum{K: types.KindJSONPath, S: text}, jsonpath.Options{Silent: true}
	if op == "@@" {
		return op, value, text, func(d jsonb.Doc) bool { v, _, err := p.Match(d, o); return err == nil && v }
	}
	return "@?", value, text, func(d jsonb.Doc) bool { v, _, err := p.Exists(d, o); return err == nil && v }
}

// TestDocumentsAreFound has random documents and conditions: a document that meets a condition is
// found by it (G2), and most of the others are not.
func TestDocumentsAreFound(t *testing.T) {
	g := generator{rand.New(rand.NewPCG(1, 2))}
	var docs []string
	for range 400 {
		docs = append(docs, g.doc(4))
	}
	for _, class := range []Class{JSONBOps, JSONBPathOps} {
		c := Column{Type: types.JSONB, Class: class}
		terms := make([][]Term, len(docs))
		values := make([]jsonb.Doc, len(docs))
		for i, text := range docs {
			d := document(t, text)
			values[i] = jsonb.Doc(d.S)
			var err error
			if terms[i], err = c.Append(nil, d); err != nil {
				t.Fatal(err)
			}
		}
		met, found, all := 0, 0, 0
		for range 3000 {
			op, value, text, holds := g.condition(t)
			if !class.Searches(op) {
				continue
			}
			s, err := c.Search(op, value)
			if err != nil {
				t.Fatal(err)
			}
			if s.Kind == All {
				all++
				continue
			}
			for i, d := range values {
				finds, want := s.Finds(terms[i]), holds(d)
				if want && !finds {
					t.Fatalf("class %d: %s %s %s is not found by %+v", class, docs[i], op, text, s)
				}
				if want {
					met++
				}
				if finds {
					found++
				}
			}
		}
		t.Logf("class %d: %d searches of all documents; %d documents found, of which %d meet the condition", class, all, found, met)
		if all > 1800 || met < 1000 || found > 4*met {
			t.Errorf("class %d: %d searches find all documents, others %d documents, of which %d meet the condition",
				class, all, found, met)
		}
	}
}

// TestArraysAreFound is TestDocumentsAreFound for arrays. What the operators say is as in PostgreSQL.
func TestArraysAreFound(t *testing.T) {
	oid := types.ArrayTypeOf(types.Int4)
	c := Column{Type: oid, Class: ArrayOps}
	arrays := []string{"{}", "{1}", "{1,2}", "{2,1}", "{NULL}", "{1,NULL}", "{{1,2},{3,4}}", "{3}", "{1,1}"}
	for _, x := range []struct{ op, value, want string }{
		{"@>", "{}", "{}{1}{1,2}{2,1}{NULL}{1,NULL}{{1,2},{3,4}}{3}{1,1}"},
		{"@>", "{1}", "{1}{1,2}{2,1}{1,NULL}{{1,2},{3,4}}{1,1}"},
		{"@>", "{1,2}", "{1,2}{2,1}{{1,2},{3,4}}"},
		{"@>", "{NULL}", ""},
		{"@>", "{1,NULL}", ""},
		{"&&", "{1,NULL,3}", "{1}{1,2}{2,1}{1,NULL}{{1,2},{3,4}}{3}{1,1}"},
		{"&&", "{}", ""},
		{"&&", "{NULL}", ""},
		{"<@", "{}", "{}"},
		{"<@", "{3,NULL}", "{}{{1,2},{3,4}}{3}"},
		{"=", "{}", "{}"},
		{"=", "{NULL}", "{NULL}{1,NULL}"},
		{"=", "{2,1}", "{1,2}{2,1}{{1,2},{3,4}}"},
	} {
		s, err := c.Search(x.op, mustParse(t, oid, x.value))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, a := range arrays {
			terms, err := c.Append(nil, mustParse(t, oid, a))
			if err != nil {
				t.Fatal(err)
			}
			if s.Finds(terms) {
				got += a
			}
		}
		if got != x.want {
			t.Errorf("%s %s finds %s, want %s", x.op, x.value, got, x.want)
		}
	}
}
