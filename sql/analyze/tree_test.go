package analyze

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

var rewrite = flag.Bool("rewrite", false, "rewrite testdata/trees.golden; read the difference before it is committed")

// TestTrees compares the whole analyzed tree of some statements with golden text.
func TestTrees(t *testing.T) {
	const path = "testdata/trees.golden"
	ctx := testContext(t)
	var b strings.Builder
	for _, text := range lines(t, "testdata/trees.sql") {
		stmts, err := parse.Parse(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		q, _, err := Statement(ctx, stmts[0].Node, nil)
		fmt.Fprintf(&b, "-- %s\n", text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		p := printer{b: &b}
		p.value(reflect.ValueOf(q), 0)
		b.WriteString("\n")
	}
	if *rewrite {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("the trees differ from %s:\n%s", path, firstDifference(string(want), b.String()))
	}
}

func firstDifference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	statement := ""
	for i := range min(len(x), len(y)) {
		if strings.HasPrefix(x[i], "-- ") {
			statement = x[i]
		}
		if x[i] != y[i] {
			return statement + "\n want " + x[i] + "\n got  " + y[i]
		}
	}
	return "one is longer"
}

// printer writes a tree without its zero values.
type printer struct{ b *strings.Builder }

// value prints v; its first line continues the current line.
func (p printer) value(v reflect.Value, depth int) {
	if v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer {
		switch x := v.Interface().(type) {
		case *catalog.Table:
			p.b.WriteString(x.Name + "\n")
			return
		case *pgcatalog.Proc:
			p.b.WriteString(procSignature(x) + "\n")
			return
		case *query.CTE:
			if depth > 4 {
				p.b.WriteString(x.Name + "\n")
				return
			}
		}
		p.value(v.Elem(), depth)
		return
	}
	switch x := v.Interface().(type) {
	case types.Datum:
		fmt.Fprintf(p.b, "%d %d %d %q\n", x.K, x.A, x.N, x.S)
		return
	case query.T:
		fmt.Fprintf(p.b, "%s\n", pgcatalog.FormatType(x.OID, x.Mod))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		p.b.WriteString(v.Type().Name() + "\n")
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if v.Field(i).IsZero() || f.Name == "Pos" || f.Name == "Columns" || f.Name == "Checks" && depth > 0 {
				continue
			}
			p.indent(depth+1, f.Name+" ")
			p.value(v.Field(i), depth+1)
		}
	case reflect.Slice:
		p.b.WriteString("\n")
		for i := range v.Len() {
			p.indent(depth+1, "- ")
			p.value(v.Index(i), depth+1)
		}
	default:
		fmt.Fprintf(p.b, "%v\n", v.Interface())
	}
}

func (p printer) indent(depth int, head string) {
	p.b.WriteString(strings.Repeat("  ", depth) + head)
}
