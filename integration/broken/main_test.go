package main

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestClaims: each rule has a claim, each claim and each row of docs/testing.md a rule.
func TestClaims(t *testing.T) {
	text, err := os.ReadFile("../../" + ruleFile)
	if err != nil {
		t.Fatal(err)
	}
	rules, err := rulesOf(text)
	if err != nil {
		t.Fatal(err)
	}
	docs, err := os.ReadFile("../../docs/testing.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rules {
		if !slices.ContainsFunc(claims, func(c claim) bool { return c.rule == r }) {
			t.Errorf("no test is claimed to fail without %s", r)
		}
		if !strings.Contains(string(docs), "| `"+r+"` |") {
			t.Errorf("docs/testing.md does not say what goes wrong without %s", r)
		}
	}
	for _, c := range claims {
		if !slices.Contains(rules, c.rule) {
			t.Errorf("%s is claimed for a rule %s that does not exist", c.test, c.rule)
		}
	}
	for _, h := range histories {
		if !slices.Contains(rules, h) {
			t.Errorf("the histories are claimed for a rule %s that does not exist", h)
		}
	}
}

// TestBreakRule: the overlay has the text of the rules with one of them off.
func TestBreakRule(t *testing.T) {
	t.Chdir("../..")
	text, err := os.ReadFile(ruleFile)
	if err != nil {
		t.Fatal(err)
	}
	b, err := breakRule(t.TempDir(), text, "T4Locks")
	if err != nil {
		t.Fatal(err)
	}
	changed, err := os.ReadFile(strings.TrimSuffix(b.overlay, ".json") + ".go")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(changed), " = false\n"); n != 1 || !strings.Contains(string(changed), "\tT4Locks = false\n") {
		t.Errorf("%d rules are off", n)
	}
	if _, err := breakRule(t.TempDir(), text, "T4"); err == nil {
		t.Error("a rule that does not exist was broken")
	}
}
