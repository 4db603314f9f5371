package rule

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"
)

// TestRulesAreInForce: the file of the switches has nothing but constants that are true, each with
// a comment. integration/broken relies on this form.
func TestRulesAreInForce(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "rule.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			t.Fatalf("rule.go has a declaration that is no constant: %T", d)
		}
		for _, s := range g.Specs {
			v := s.(*ast.ValueSpec)
			if len(v.Names) != 1 || len(v.Values) != 1 {
				t.Errorf("%v: one rule a line", v.Names)
				continue
			}
			name := v.Names[0].Name
			if value, ok := v.Values[0].(*ast.Ident); !ok || value.Name != "true" {
				t.Errorf("rule %s is not in force", name)
			}
			if v.Doc == nil {
				t.Errorf("rule %s has no comment", name)
			}
		}
	}
}
