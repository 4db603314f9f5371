package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// lifePages follow a statement through the code. They name packages by their folders, and functions,
// types and fields as package.Name or package.Type.Name.
var lifePages = []string{"life-of-a-select.md", "life-of-a-commit.md"}

// maxSteps is how many steps a page may have: more is not read to the end.
const maxSteps = 12

var (
	fenced   = regexp.MustCompile("(?s)```.*?```")
	codeSpan = regexp.MustCompile("`([^`]+)`")
	step     = regexp.MustCompile(`(?m)^[0-9]+\. `)
)

// TestLifePagesNameWhatExists checks each code span of the pages. One with a space is SQL, and one
// that begins with "sherd." is a function of SQL; every other one must be a file, a folder or a Go
// name of the repository.
func TestLifePagesNameWhatExists(t *testing.T) {
	known := goNames(t)
	for _, page := range lifePages {
		b, err := os.ReadFile(filepath.Join("..", "..", "docs", page))
		if err != nil {
			t.Fatal(err)
		}
		text := fenced.ReplaceAllString(string(b), "")
		if n := len(step.FindAllString(text, -1)); n == 0 || n > maxSteps {
			t.Errorf("docs/%s has %d steps, it should have 1 to %d", page, n, maxSteps)
		}
		spans := codeSpan.FindAllStringSubmatch(text, -1)
		if len(spans) < 20 {
			t.Errorf("docs/%s names only %d pieces of code", page, len(spans))
		}
		for _, m := range spans {
			if name := m[1]; !strings.Contains(name, " ") && !strings.HasPrefix(name, "sherd.") && !known[name] {
				t.Errorf("docs/%s names %s, which does not exist", page, name)
			}
		}
	}
}

func TestGoNames(t *testing.T) {
	known := goNames(t)
	for name, want := range map[string]bool{
		"internal/archtest":                   true,
		"internal/archtest/life_test.go":      true,
		"sql/exec.Compile":                    true, // a function
		"storage.View.Get":                    true, // a method
		"sql/exec.Gateway.Snapshot":           true, // a field
		"exec.Compile":                        false,
		"storage.Get":                         false,
		"internal/archtest.TestNamesOfNoTest": false,
		"internal":                            false, // no Go files of its own
	} {
		if known[name] != want {
			t.Errorf("%s: %t", name, !want)
		}
	}
}

// goNames returns the folders with Go files, the files, and what these declare outside of functions.
func goNames(t *testing.T) map[string]bool {
	known := map[string]bool{}
	for _, f := range sources(t) {
		known[f.dir], known[f.path] = true, true
		if strings.HasSuffix(f.path, "_test.go") {
			continue
		}
		syntax, err := parser.ParseFile(
			token.NewFileSet(), filepath.Join("..", "..", f.path), nil, parser.SkipObjectResolution,
		)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range syntax.Decls {
			for _, name := range declared(d) {
				known[f.dir+"."+name] = true
			}
		}
	}
	return known
}

// declared returns the names of a declaration: Name, Type.Method, Type.Field.
func declared(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			return []string{d.Name.Name}
		}
		return []string{typeName(d.Recv.List[0].Type) + "." + d.Name.Name}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				names = append(append(names, s.Name.Name), members(s)...)
			case *ast.ValueSpec:
				for _, n := range s.Names {
					names = append(names, n.Name)
				}
			}
		}
	}
	return names
}

// members returns the fields of a struct and the methods of an interface, as Type.Name.
func members(s *ast.TypeSpec) (names []string) {
	var fields *ast.FieldList
	switch x := s.Type.(type) {
	case *ast.StructType:
		fields = x.Fields
	case *ast.InterfaceType:
		fields = x.Methods
	default:
		return nil
	}
	for _, f := range fields.List {
		for _, n := range f.Names {
			names = append(names, s.Name.Name+"."+n.Name)
		}
	}
	return names
}
