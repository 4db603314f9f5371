package archtest

import (
	"bufio"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "lower the figures of testdata/exceptions.txt to what is measured")

// Limits of a shape that can be read. What is above one is listed in testdata/exceptions.txt, and may
// only get smaller.
var limits = map[string]int{
	"files":      30, // of a package, tables and generated files apart
	"methods":    60, // of a type
	"fields":     25, // of a struct
	"lines":      70, // of a function
	"parameters": 6,  // of a function
	"wide":       0,  // lines of code above 120 columns, of a package
	"words":      0,  // banned words in comments, of a package
}

const exceptionsFile = "testdata/exceptions.txt"

// measures holds figures by kind and subject: measures["methods"]["storage.Replica"].
type measures map[string]map[string]int

func (m measures) add(kind, subject string, n int) {
	if m[kind] == nil {
		m[kind] = map[string]int{}
	}
	m[kind][subject] += n
}

// bannedWords are the words of a private register; the project writes plain technical English: returns,
// reports whether, if, the client.
var bannedWords = regexp.MustCompile(
	`(?i)\b(gives?|tells? (whether|what|how|who)|who(ever)?|(no|some|any)body|anew|lets? go|of which|its kin` +
		`|in earnest|said aloud|patience|tenures?|doors?|staged|unhold|held transactions?)\b`)

func TestRatchets(t *testing.T) {
	got := measure(t)
	want := exceptions(t)
	for kind, limit := range limits {
		for subject, n := range got[kind] {
			allowed, listed := want[kind][subject]
			switch {
			case n > limit && !listed:
				t.Errorf("%s: %d %s, at most %d are allowed", subject, n, kind, limit)
			case n > limit && n > allowed:
				t.Errorf("%s: %d %s, there were %d: a figure may only fall", subject, n, kind, allowed)
			}
		}
		for subject, n := range want[kind] {
			if now := got[kind][subject]; now < n && !*update && kind != "words" && kind != "wide" {
				t.Errorf("%s: %d %s, %s says %d: run go test ./internal/archtest -update", subject, now, kind, exceptionsFile, n)
			}
		}
	}
	if *update && !t.Failed() {
		writeExceptions(t, got)
	}
}

// measure takes the figures of all production files.
func measure(t *testing.T) measures {
	m := measures{}
	for _, f := range sources(t) {
		if strings.HasSuffix(f.path, "_test.go") || ast.IsGenerated(f.syntax) {
			continue
		}
		path := filepath.Join("..", "..", f.path)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		fset := token.NewFileSet()
		syntax, err := parser.ParseFile(fset, path, text, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(f.path, "_table.go") {
			m.add("files", f.dir, 1)
		}
		measureDecls(m, f, fset, syntax)
		measureText(m, f.dir, string(text), syntax)
	}
	return m
}

func measureDecls(m measures, f file, fset *token.FileSet, syntax *ast.File) {
	for _, d := range syntax.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name := f.dir + "." + d.Name.Name
			if d.Recv != nil {
				receiver := f.dir + "." + typeName(d.Recv.List[0].Type)
				m.add("methods", receiver, 1)
				name = receiver + "." + d.Name.Name
			}
			if d.Name.Name == "init" || d.Name.Name == "_" {
				continue
			}
			m.add("lines", name, fset.Position(d.End()).Line-fset.Position(d.Pos()).Line+1)
			m.add("parameters", name, d.Type.Params.NumFields())
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if ts, ok := s.(*ast.TypeSpec); ok {
					if st, ok := ts.Type.(*ast.StructType); ok {
						m.add("fields", f.dir+"."+ts.Name.Name, st.Fields.NumFields())
					}
				}
			}
		}
	}
}

func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.IndexExpr:
		return typeName(e.X)
	case *ast.IndexListExpr:
		return typeName(e.X)
	case *ast.Ident:
		return e.Name
	}
	return fmt.Sprintf("%T", e)
}

func measureText(m measures, dir, text string, syntax *ast.File) {
	for line := range strings.Lines(text) {
		if code := strings.TrimSpace(line); !strings.HasPrefix(code, "//") && columns(line) > 120 {
			m.add("wide", dir, 1)
		}
	}
	for _, c := range syntax.Comments {
		m.add("words", dir, len(bannedWords.FindAllString(c.Text(), -1)))
	}
}

// columns is the width of a line with tabs of four columns.
func columns(line string) int {
	line = strings.TrimRight(line, "\r\n")
	return len([]rune(line)) + 3*strings.Count(line, "\t")
}

// exceptions reads what may be above a limit, and up to which figure.
func exceptions(t *testing.T) measures {
	m := measures{}
	f, err := os.Open(exceptionsFile)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	for s.Scan() {
		if s.Text() == "" || strings.HasPrefix(s.Text(), "#") {
			continue
		}
		var kind, subject string
		var n int
		if _, err := fmt.Sscan(s.Text(), &kind, &subject, &n); err != nil {
			t.Fatalf("%s: %q: %v", exceptionsFile, s.Text(), err)
		}
		if limit, ok := limits[kind]; !ok || n <= limit {
			t.Errorf("%s: %q is no exception", exceptionsFile, s.Text())
		}
		m.add(kind, subject, n)
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	return m
}

func writeExceptions(t *testing.T, m measures) {
	var out []string
	for kind, limit := range limits {
		for subject, n := range m[kind] {
			if n > limit {
				out = append(out, fmt.Sprintf("%-10s %s %d\n", kind, subject, n))
			}
		}
	}
	sort.Strings(out)
	head := "# What is above a limit of ratchet_test.go, and its figure. A figure may only fall:\n" +
		"# go test ./internal/archtest -update lowers them.\n"
	if err := os.WriteFile(exceptionsFile, []byte(head+strings.Join(out, "")), 0o644); err != nil {
		t.Fatal(err)
	}
}
