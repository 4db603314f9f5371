package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/sherddb/sherd/"

// mayImport reads testdata/imports.txt: for each folder, the folders of ours that it may import.
func mayImport(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("testdata/imports.txt")
	if err != nil {
		t.Fatal(err)
	}
	rules, dir := map[string][]string{}, ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		name, imported := strings.CutPrefix(line, "\t")
		switch {
		case strings.HasPrefix(line, "#"):
		case imported:
			if slices.Contains(rules[dir], name) {
				t.Errorf("testdata/imports.txt: %s lists %s twice", dir, name)
			}
			rules[dir] = append(rules[dir], name)
		default:
			if _, again := rules[name]; again {
				t.Errorf("testdata/imports.txt lists %s twice", name)
			}
			dir, rules[name] = name, nil
		}
	}
	return rules
}

// TestNothingBelowSQLImportsIt checks the layers: SQL stands on fragments, which know no SQL.
func TestNothingBelowSQLImportsIt(t *testing.T) {
	below := []string{"catalog", "cluster", "fragment", "kv", "raftgroup", "raftlog", "rebalance", "shardmap", "storage", "txn"}
	for dir, allowed := range mayImport(t) {
		if top, _, _ := strings.Cut(dir, "/"); !slices.Contains(below, top) && dir != "node/store" {
			continue
		}
		for _, name := range allowed {
			if name == "sql" || strings.HasPrefix(name, "sql/") {
				t.Errorf("%s may import %s, which stands above it", dir, name)
			}
		}
	}
}

// file is a Go source file of the project.
type file struct {
	path   string // from the root, with slashes
	dir    string
	syntax *ast.File
	lines  int
}

func sources(t *testing.T) []file {
	t.Helper()
	root := filepath.Join("..", "..")
	var out []file
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && (name == "testdata" || name == "node_modules" || path != root && strings.HasPrefix(name, ".")) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		syntax, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		out = append(out, file{rel, strings.TrimSuffix(filepath.ToSlash(filepath.Dir(rel)), "/"), syntax, strings.Count(string(text), "\n")})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 50 {
		t.Fatalf("found %d files: not the project's root", len(out))
	}
	return out
}

// TestImports checks who imports whom, and that testdata/imports.txt allows nothing that is not used.
func TestImports(t *testing.T) {
	rules, used := mayImport(t), map[string]bool{}
	for _, f := range sources(t) {
		allowed, listed := rules[f.dir]
		if strings.HasSuffix(f.path, "_test.go") || slices.Contains(allowed, "*") {
			continue
		}
		for _, imp := range f.syntax.Imports {
			name, ours := strings.CutPrefix(strings.Trim(imp.Path.Value, `"`), module)
			if !ours || name == "internal/pgerr" || strings.HasPrefix(name, f.dir+"/internal") {
				continue
			}
			used[f.dir+"\t"+name] = true
			switch {
			case strings.HasPrefix(f.dir, "internal/"), strings.Contains(f.dir, "/internal/"):
			case !listed:
				t.Errorf("%s: folder %s is not in testdata/imports.txt", f.path, f.dir)
			case !slices.Contains(allowed, name):
				t.Errorf("%s: %s may not import %s", f.path, f.dir, name)
			}
		}
	}
	for dir, allowed := range rules {
		for _, name := range allowed {
			if name != "*" && !used[dir+"\t"+name] {
				t.Errorf("testdata/imports.txt: %s does not import %s any more", dir, name)
			}
		}
	}
}

func TestPackageComments(t *testing.T) {
	documented := map[string]bool{}
	for _, f := range sources(t) {
		documented[f.dir] = documented[f.dir] || f.syntax.Doc != nil
	}
	for dir, ok := range documented {
		if !ok {
			t.Errorf("package in %s has no comment", dir)
		}
	}
}

// maxLines is the length at which a file has outgrown its noun.
const maxLines = 600

func TestFileLengths(t *testing.T) {
	for _, f := range sources(t) {
		if f.lines > maxLines && !strings.HasSuffix(f.path, "_test.go") && !strings.HasSuffix(f.path, ".pb.go") && !strings.HasSuffix(f.path, "_table.go") {
			t.Errorf("%s has %d lines; look for the noun that wants out", f.path, f.lines)
		}
	}
}

// TestDirectoriesAreDurable: what keeps a node's data makes its directories by dirsync, so that a power loss
// does not take them away with all that was acknowledged in them.
func TestDirectoriesAreDurable(t *testing.T) {
	scratch := []string{"storage/scratch/scratch.go", "storage/stopped.go"} // removed at the next start
	for _, f := range sources(t) {
		top, _, _ := strings.Cut(f.dir, "/")
		if !slices.Contains([]string{"catalog", "cluster", "fragment", "kv", "node", "raftgroup", "raftlog", "rebalance", "storage"}, top) {
			continue
		}
		if strings.HasSuffix(f.path, "_test.go") || slices.Contains(scratch, f.path) {
			continue
		}
		text, err := os.ReadFile(filepath.Join("..", "..", f.path))
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range []string{"os.Mkdir(", "os.MkdirAll("} {
			if strings.Contains(string(text), call) {
				t.Errorf("%s: %s…) where dirsync.Make is to be used", f.path, call)
			}
		}
	}
}
