package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// goFile matches a code span that names a Go file of the repository by its path.
var goFile = regexp.MustCompile("`([a-z][a-z0-9_/*-]*/[a-z0-9_*-]+\\.go)`")

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
