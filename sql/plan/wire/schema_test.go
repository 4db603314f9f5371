package wire

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
)

// TestEveryKind holds the lists against the source: every type there that is a step or an
// expression has a message.
func TestEveryKind(t *testing.T) {
	notInPlans := []string{"SubLink", "Default"} // of queries that are not planned
	listed := map[string]bool{}
	for _, list := range [][]message{nodes, exprs} {
		for _, m := range list {
			listed[structOf(m.of).Name()] = true
		}
	}
	for _, name := range append(declared(t, "..", "Children", "Base"), declared(t, "../../query", "Type", "T")...) {
		if !listed[name] && !slices.Contains(notInPlans, name) {
			t.Errorf("%s has no message: give it the next number", name)
		}
	}
}

// declared lists the exported types of a package that have a method, or embed a type.
func declared(t *testing.T, dir, method, embeds string) []string {
	t.Helper()
	var out []string
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		syntax, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv != nil && n.Name.Name == method {
					out = append(out, baseName(n.Recv.List[0].Type))
				}
			case *ast.TypeSpec:
				if st, ok := n.Type.(*ast.StructType); ok &&
					slices.ContainsFunc(st.Fields.List, func(f *ast.Field) bool {
						return len(f.Names) == 0 && baseName(f.Type) == embeds
					}) {
					out = append(out, n.Name.Name)
				}
			}
			return true
		})
	}
	if len(out) < 20 {
		t.Fatalf("found %v in %s", out, dir)
	}
	return slices.DeleteFunc(out, func(name string) bool { return !ast.IsExported(name) || name == embeds })
}

func baseName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return baseName(e.X)
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// TestEveryField holds the lists against the structs: each field has a number.
func TestEveryField(t *testing.T) {
	for _, list := range [][]message{nodes, exprs, parts} {
		for _, m := range list {
			st := theSchema().structs[structOf(m.of)]
			if st == nil {
				t.Errorf("%T is in the lists and stands nowhere", m.of)
				continue
			}
			for _, f := range reflect.VisibleFields(st.typ) {
				if f.Anonymous {
					continue
				}
				if !slices.ContainsFunc(st.fields, func(g field) bool { return g.name == f.Name }) {
					t.Errorf("%s.%s has no number", st.typ, f.Name)
				}
			}
		}
	}
}

// TestEnumerations sees to it that the largest values are those of the source.
func TestEnumerations(t *testing.T) {
	for _, beyond := range []interface{ Output() []plan.Col }{
		&plan.HashJoin{Kind: query.Anti + 1, Left: &plan.Source{}, Right: &plan.Source{}},
	} {
		b, err := EncodeWhole(beyond.(plan.Node))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Decode(nil, b); err != ErrNewer {
			t.Errorf("a value beyond the largest: %v", err)
		}
	}
}
