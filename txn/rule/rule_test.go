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

// TestEveryRuleIsClaimed: integration/broken names what fails without each rule.
func TestEveryRuleIsClaimed(t *testing.T) {
	script, err := os.ReadFile("../../integration/broken")
	if err != nil {
		t.Fatal(err)
	}
	_, claims, _ := strings.Cut(string(script), "claims='\n")
	claims, _, _ = strings.Cut(claims, "'\n")
	claimed := map[string]bool{}
	for line := range strings.Lines(claims) {
		if f := strings.Fields(line); len(f) == 3 {
			claimed[f[0]] = true
		} else {
			t.Errorf("claim %q", line)
		}
	}
	files, err := filepath.Glob("*_off.go")
	if err != nil || len(files) != len(claimed) {
		t.Errorf("%d rules, %d are claimed: %v", len(files), len(claimed), err)
	}
	for _, f := range files {
		if name := strings.TrimSuffix(f, "_off.go"); !claimed[name] {
			t.Errorf("nothing is claimed to fail without %s", name)
		}
	}
}
