package archtest

import (
	"go/ast"
	"regexp"
	"testing"
)

// replacedNames are parts of names that the glossary has replaced by the field's terms, as lock
// owner for party. Words that are right elsewhere are not listed.
var replacedNames = regexp.MustCompile(
	`(?i)patience|tenure|presence|promised|unhold|[a-z]door$|^door|doors?[A-Z]|heldtxn|stagedsince|anchorof|impliedcommit`)

// TestNames checks the names that production files declare, fields included.
func TestNames(t *testing.T) {
	for _, f := range sources(t) {
		if ast.IsGenerated(f.syntax) {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			var names []*ast.Ident
			switch n := n.(type) {
			case *ast.FuncDecl:
				names = []*ast.Ident{n.Name}
			case *ast.TypeSpec:
				names = []*ast.Ident{n.Name}
			case *ast.ValueSpec:
				names = n.Names
			case *ast.Field:
				names = n.Names
			}
			for _, x := range names {
				if replacedNames.MatchString(x.Name) {
					t.Errorf("%s declares %s: docs/glossary.md has the field's term", f.path, x.Name)
				}
			}
			return true
		})
	}
}
