package main

import (
	"errors"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"strings"
)

const (
	module    = "github.com/sherddb/sherd/"
	planPath  = module + "sql/plan"
	queryPath = module + "sql/query"
)

// goTypes are the packages whose types plans consist of.
type goTypes struct {
	plan, query *types.Package
	node, expr  *types.Interface
}

// loadTypes reads the packages as the compiler has exported them.
func loadTypes() (*goTypes, error) {
	list := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", planPath, queryPath)
	out, err := list.Output()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		return nil, fmt.Errorf("go list: %s", failed.Stderr)
	}
	if err != nil {
		return nil, err
	}
	exported := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		exported[path] = file
	}
	imports := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exported[path])
	})
	g := &goTypes{}
	if g.plan, err = imports.Import(planPath); err != nil {
		return nil, err
	}
	if g.query, err = imports.Import(queryPath); err != nil {
		return nil, err
	}
	g.node = g.plan.Scope().Lookup("Node").Type().Underlying().(*types.Interface)
	g.expr = g.query.Scope().Lookup("Expr").Type().Underlying().(*types.Interface)
	return g, nil
}

// lookup returns the struct of a name, of package query or plan.
func (g *goTypes) lookup(name string, in ...*types.Package) *types.Named {
	for _, p := range in {
		if t, ok := p.Scope().Lookup(name).(*types.TypeName); ok {
			if named, ok := t.Type().(*types.Named); ok {
				return named
			}
		}
	}
	return nil
}

// implementing lists the exported structs that are of an interface type, themselves or by pointer.
func (g *goTypes) implementing(i *types.Interface) []*types.Named {
	var out []*types.Named
	for _, p := range []*types.Package{g.plan, g.query} {
		for _, name := range p.Scope().Names() {
			t := g.lookup(name, p)
			if t == nil || !token.IsExported(name) || types.IsInterface(t) {
				continue
			}
			if types.Implements(types.NewPointer(t), i) {
				out = append(out, t)
			}
		}
	}
	return out
}

// constants returns the values of an enumeration by name.
func constants(t *types.Named) map[string]string {
	out := map[string]string{}
	scope := t.Obj().Pkg().Scope()
	for _, name := range scope.Names() {
		if c, ok := scope.Lookup(name).(*types.Const); ok && types.Identical(c.Type(), t) {
			out[name] = c.Val().ExactString()
		}
	}
	return out
}

// fieldsOf lists the fields of a struct, those of embedded structs in their place.
func fieldsOf(t types.Type) []*types.Var {
	var out []*types.Var
	s, _ := t.Underlying().(*types.Struct)
	for i := range s.NumFields() {
		if f := s.Field(i); f.Embedded() {
			out = append(out, fieldsOf(f.Type())...)
		} else {
			out = append(out, f)
		}
	}
	return out
}
