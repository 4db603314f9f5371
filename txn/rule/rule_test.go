package rule

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAllRulesAreInForce(t *testing.T) {
	if off := Off(); off != nil {
		t.Skipf("built without %s", strings.Join(off, ", "))
	}
}

// TestEveryRuleHasASwitch keeps the list in the package comment and the files of the switches the same.
func TestEveryRuleHasASwitch(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*_off.go")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		name := strings.TrimSuffix(f, "_off.go")
		on, err := os.ReadFile(name + ".go")
		if err != nil {
			t.Fatal(err)
		}
		if tag := "sherd_no_" + name; !strings.Contains(string(on), "!"+tag+"\n") || !strings.Contains(string(doc), tag+" ") {
			t.Errorf("%s: tag %s is not in %s.go or not in doc.go", f, tag, name)
		}
	}
	if n := strings.Count(string(doc), "//\tsherd_no_"); n != len(files) {
		t.Errorf("doc.go lists %d tags, %d are there", n, len(files))
	}
}
