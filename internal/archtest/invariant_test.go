package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// invariantsPage lists every invariant. `go test ./internal/archtest -update` writes it.
const invariantsPage = "../../docs/design/invariants.md"

// stated is the head of a numbered invariant in a package comment.
var stated = regexp.MustCompile(`^\s*(?:- )?([A-Z]{1,2})([0-9]{1,2})[:.]? +(\S.*)$`)

// item is the head of any item of a list in a package comment, with the text of an invariant before.
var item = regexp.MustCompile(`^\s*- `)

// cited is a label in a comment or in a page. With a decimal behind it, it is something else: the
// M11.1.0 of a POSIX time zone.
var cited = regexp.MustCompile(`\b(([A-Z]{1,2})[0-9]{1,2})\b(\.[0-9])?`)

// anomalies are names of the literature that look like labels (Adya's G0, G1, G2).
var anomalies = regexp.MustCompile(`^G[0-2]$`)

// withdrawn are references to documents that are not in the repository.
var withdrawn = regexp.MustCompile(`\b(DESIGN|SPEC)\b`)

type invariant struct {
	dir, family string
	number      int
	text        string
}

func (i invariant) label() string { return i.family + strconv.Itoa(i.number) }

// TestInvariants holds that each label has one package comment that states it, that what comments
// and pages cite is stated, and that docs/design/invariants.md lists all of it.
func TestInvariants(t *testing.T) {
	all := invariants(t)
	labels, families := map[string]string{}, map[string]bool{}
	for _, i := range all {
		if at, ok := labels[i.label()]; ok {
			t.Errorf("%s: %s is stated in %s already", i.dir, i.label(), at)
		}
		labels[i.label()], families[i.family] = i.dir, true
	}
	if len(all) < 100 {
		t.Fatalf("only %d invariants were found", len(all))
	}
	check := func(path, text string) {
		if w := withdrawn.FindString(text); w != "" {
			t.Errorf("%s: %s is no page of the repository", path, w)
		}
		for _, c := range cited.FindAllStringSubmatch(text, -1) {
			if _, ok := labels[c[1]]; !ok && c[3] == "" && families[c[2]] && !anomalies.MatchString(c[1]) {
				t.Errorf("%s: no package comment states an invariant %s", path, c[1])
			}
		}
	}
	for _, f := range sources(t) {
		if ast.IsGenerated(f.syntax) {
			continue
		}
		for _, c := range comments(t, f.path) {
			check(f.path, c)
		}
	}
	for _, path := range pages(t) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		check(path, code.ReplaceAllString(string(text), ""))
	}
	compareInvariantsPage(t, page(all))
}

func compareInvariantsPage(t *testing.T, want string) {
	if *update {
		if err := os.WriteFile(invariantsPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(invariantsPage); err != nil || string(got) != want {
		t.Errorf("%s differs from the package comments (%v): run go test ./internal/archtest -update", invariantsPage, err)
	}
}

// invariants reads the package comments.
func invariants(t *testing.T) []invariant {
	var all []invariant
	for _, f := range sources(t) {
		if strings.HasSuffix(f.path, "_test.go") || ast.IsGenerated(f.syntax) {
			continue
		}
		fset := token.NewFileSet()
		syntax, err := parser.ParseFile(fset, filepath.Join("..", "..", f.path), nil, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			t.Fatal(err)
		}
		if syntax.Doc != nil {
			all = append(all, statements(t, f.dir, syntax.Doc.Text())...)
		}
	}
	return all
}

// statements cuts the invariants out of a package comment. One ends before the next, before any
// other item of the list, and at an empty line.
func statements(t *testing.T, dir, doc string) []invariant {
	var all []invariant
	open := false
	for line := range strings.Lines(doc) {
		line = strings.TrimRight(line, "\n")
		if m := stated.FindStringSubmatch(line); m != nil {
			n, err := strconv.Atoi(m[2])
			if err != nil {
				t.Fatal(err)
			}
			all, open = append(all, invariant{dir, m[1], n, m[3]}), true
			continue
		}
		if open = open && strings.TrimSpace(line) != "" && !item.MatchString(line); open {
			all[len(all)-1].text += " " + strings.TrimSpace(line)
		}
	}
	return all
}

// page is the text of invariantsPage.
func page(all []invariant) string {
	var b strings.Builder
	b.WriteString("# Invariants\n\n" +
		"What makes the program correct, by the labels that comments and pages cite. A label is unique, and one\n" +
		"package comment states it. This page is made of those comments, by\n" +
		"`go test ./internal/archtest -update`; change it there.\n")
	slices.SortStableFunc(all, func(a, b invariant) int {
		if c := strings.Compare(a.dir, b.dir); c != 0 {
			return c
		}
		if c := strings.Compare(a.family, b.family); c != 0 {
			return c
		}
		return a.number - b.number
	})
	escape := strings.NewReplacer("*", `\*`, "_", `\_`, "<", "&lt;", "[", `\[`)
	dir := ""
	for _, i := range all {
		if i.dir != dir {
			dir = i.dir
			b.WriteString("\n## [" + dir + "](../../" + dir + "/)\n\n")
		}
		wrap(&b, "- **"+i.label()+"** "+escape.Replace(i.text))
	}
	return b.String()
}

// wrap writes an item of a list in lines of at most 100 columns.
func wrap(b *strings.Builder, text string) {
	width := 0
	for n, word := range strings.Fields(text) {
		w := len([]rune(word))
		switch {
		case n == 0:
		case width+1+w > 100:
			b.WriteString("\n  ")
			width = 2
		default:
			b.WriteByte(' ')
			width++
		}
		b.WriteString(word)
		width += w
	}
	b.WriteByte('\n')
}

// code is what stands in backquotes, as a block or within a line.
var code = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")

// pages returns the paths of all pages of the repository.
func pages(t *testing.T) []string {
	var all []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		found, err := filepath.Glob(filepath.Join("..", "..", pattern))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	return all
}

// comments returns the texts of all comments of a source file.
func comments(t *testing.T, path string) []string {
	syntax, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "..", path), nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, c := range syntax.Comments {
		all = append(all, c.Text())
	}
	return all
}
