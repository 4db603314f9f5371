package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// recovers lists the functions that recover without logging a panic: what they call panics over
// damaged or hostile bytes, and they return an error.
var recovers = map[string]bool{
	"catalog/stopped.go:replay":            true,
	"storage/stopped.go:OpenStopped":       true,
	"storage/engine/tables.go:verifyTable": true,
	"storage/view.go:notClosed":            true, // panics again
	"raftgroup/walseal.go:loadMeta":        true,
	"pgwire/decode.go:decode":              true,

	"internal/regexrun/regexrun.go:Backtrack": true, // panics again
}

// TestRecoveredPanicsAreLogged holds all places that recover to the words that package testlog
// looks for.
func TestRecoveredPanicsAreLogged(t *testing.T) {
	for _, f := range sources(t) {
		if strings.HasSuffix(f.path, "_test.go") {
			continue
		}
		syntax, err := parser.ParseFile(
			token.NewFileSet(), filepath.Join("..", "..", f.path), nil, parser.SkipObjectResolution,
		)
		if err != nil {
			t.Fatal(err)
		}
		logs := fileLogsPanics(syntax)
		for _, d := range syntax.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || !callsRecover(fn) || logs || recovers[f.path+":"+fn.Name.Name] {
				continue
			}
			t.Errorf("%s: %s recovers, and the file logs no \"panic\" with its \"stack\"", f.path, fn.Name.Name)
		}
	}
}

func callsRecover(fn *ast.FuncDecl) (found bool) {
	ast.Inspect(fn, func(n ast.Node) bool {
		if c, ok := n.(*ast.CallExpr); ok {
			id, ok := c.Fun.(*ast.Ident)
			found = found || ok && id.Name == "recover"
		}
		return true
	})
	return found
}

func fileLogsPanics(f *ast.File) bool {
	seen := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if c, ok := n.(*ast.CallExpr); ok {
			if sel, ok := c.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Error" {
				for _, a := range c.Args {
					if lit, ok := a.(*ast.BasicLit); ok {
						seen[lit.Value] = true
					}
				}
			}
		}
		return true
	})
	return seen[`"panic"`] && seen[`"stack"`]
}
