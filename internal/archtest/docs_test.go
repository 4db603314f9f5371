package archtest

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// goFile matches a code span that names a Go file of the repository by its path.
var goFile = regexp.MustCompile("`([a-z][a-z0-9_/*-]*/[a-z0-9_*-]+\\.go)`")

// qualified matches a code span that can be a Go name: Type.Member, package.Name or package.Type.Member.
var qualified = regexp.MustCompile("`\\*?((?:[a-z][a-z0-9/]*\\.)?[A-Za-z]\\w*\\.[A-Za-z]\\w*)`")

// TestGuidesNameWhatExists checks the Go names on pages that say where code is. The path of a package may
// be shortened to its last folder, and left out before a type and its member.
func TestGuidesNameWhatExists(t *testing.T) {
	known := map[string]bool{}
	for name := range goNames(t) {
		_, short, _ := strings.Cut(path.Base(name), ".")
		known[name], known[path.Base(name)], known[short] = true, true, true
	}
	files := regexp.MustCompile(`\.(go|md|proto|txt|golden|yml)$`)
	for _, page := range []string{
		"README.md", "CONTRIBUTING.md", "docs/architecture.md", "docs/glossary.md", "docs/testing.md",
	} {
		b, err := os.ReadFile(filepath.Join("..", "..", page))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range qualified.FindAllStringSubmatch(fenced.ReplaceAllString(string(b), ""), -1) {
			name := m[1]
			if !files.MatchString(name) && !strings.HasPrefix(name, "sherd.") && !known[name] {
				t.Errorf("%s names %s, which does not exist", page, name)
			}
		}
	}
}

// TestDocsNameFilesThatExist checks the Go files that README, CONTRIBUTING and docs/ name by their
// paths. A path may have a *.
func TestDocsNameFilesThatExist(t *testing.T) {
	root := filepath.Join("..", "..")
	pages := []string{filepath.Join(root, "README.md"), filepath.Join(root, "CONTRIBUTING.md")}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".md") {
			pages = append(pages, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, page := range pages {
		b, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range goFile.FindAllStringSubmatch(string(b), -1) {
			named++
			if found, err := filepath.Glob(filepath.Join(root, m[1])); err != nil || len(found) == 0 {
				t.Errorf("%s names %s, which does not exist", page, m[1])
			}
		}
	}
	if named == 0 {
		t.Error("no page names a file")
	}
}
