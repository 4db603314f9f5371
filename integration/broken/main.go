package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const ruleFile = "txn/rule/rule.go" // from the root of the repository

func main() {
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: go run ./integration/broken [-histories duration] [rule ...]")
		flag.PrintDefaults()
	}
	length := flag.Duration("histories", 0, "run the random histories for so long on each build "+
		"that they are claimed to catch")
	flag.Parse()
	ok, err := run(flag.Args(), *length)
	if err != nil {
		fmt.Fprintln(os.Stderr, "broken:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

// run checks the rules named, or all, and reports whether each of them was caught.
func run(wanted []string, length time.Duration) (bool, error) {
	text, err := os.ReadFile(ruleFile)
	if err != nil {
		return false, fmt.Errorf("%w: run this in the root of the repository", err)
	}
	rules, err := rulesOf(text)
	if err != nil {
		return false, err
	}
	for _, w := range wanted {
		if !slices.Contains(rules, w) {
			return false, fmt.Errorf("%s has no rule %q", ruleFile, w)
		}
	}
	dir, err := os.MkdirTemp("", "broken")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	ok := len(wanted) > 0 || unbroken()
	for _, r := range rules {
		if len(wanted) > 0 && !slices.Contains(wanted, r) {
			continue
		}
		b, err := breakRule(dir, text, r)
		if err != nil {
			return false, err
		}
		ok = b.check(length) && ok
	}
	return ok, nil
}

// rulesOf returns the names of the rules in their order.
func rulesOf(text []byte) ([]string, error) {
	f, err := parser.ParseFile(token.NewFileSet(), ruleFile, text, 0)
	if err != nil {
		return nil, err
	}
	var names []string
	ast.Inspect(f, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok {
			names = append(names, v.Names[0].Name)
		}
		return true
	})
	if len(names) == 0 {
		return nil, fmt.Errorf("%s has no rules", ruleFile)
	}
	return names, nil
}

// unbroken runs all claimed tests on the ordinary build, and reports whether they pass.
func unbroken() bool {
	var packages, tests []string
	for _, c := range claims {
		packages, tests = append(packages, c.pkg), append(tests, c.test)
	}
	args := []string{"test", "-count=1", "-timeout=20m", "-run=^(" + strings.Join(tests, "|") + ")$"}
	slices.Sort(packages)
	out, err := exec.Command("go", append(args, slices.Compact(packages)...)...).CombinedOutput()
	if err != nil {
		fmt.Printf("%s\nthe unbroken build FAILS\n", out)
	}
	return err == nil
}

// build is the program without one rule.
type build struct {
	rule    string
	overlay string // file for the go command
}

// breakRule writes the files of a build without a rule to dir.
func breakRule(dir string, text []byte, rule string) (*build, error) {
	on, off := "\t"+rule+" = true\n", "\t"+rule+" = false\n"
	if strings.Count(string(text), on) != 1 {
		return nil, fmt.Errorf("%s does not have the line %q", ruleFile, on)
	}
	path, err := filepath.Abs(ruleFile)
	if err != nil {
		return nil, err
	}
	changed := filepath.Join(dir, rule+".go")
	if err := os.WriteFile(changed, []byte(strings.Replace(string(text), on, off, 1)), 0o600); err != nil {
		return nil, err
	}
	list, err := json.Marshal(map[string]map[string]string{"Replace": {path: changed}})
	if err != nil {
		return nil, err
	}
	b := &build{rule, filepath.Join(dir, rule+".json")}
	return b, os.WriteFile(b.overlay, list, 0o600)
}

// check runs the tests that should fail on the build, and reports whether all of them fail.
func (b *build) check(length time.Duration) bool {
	ok, claimed := true, false
	for _, c := range claims {
		if c.rule == b.rule {
			claimed = true
			args := []string{"test", "-vet=off", "-count=1", "-timeout=5m", "-overlay=" + b.overlay,
				"-run=^" + c.test + "$", c.pkg}
			ok = b.verdict(c.test, exec.Command("go", args...)) && ok
		}
	}
	if !claimed {
		b.report("-", "no test is CLAIMED")
		return false
	}
	if length == 0 || !slices.Contains(histories, b.rule) {
		return ok
	}
	return b.histories(length) && ok
}

// histories runs the random histories against a binary of the build.
func (b *build) histories(length time.Duration) bool {
	binary := strings.TrimSuffix(b.overlay, ".json") + ".sherd"
	if out, err := exec.Command("go", "build", "-overlay="+b.overlay, "-o", binary, "./cmd/sherd").
		CombinedOutput(); err != nil {
		b.report("-", fmt.Sprintf("does not BUILD: %s", out))
		return false
	}
	defer os.Remove(binary)
	cmd := exec.Command("go", "test", "-count=1", "-timeout=20m", "-run=^TestHistories$", "./integration")
	cmd.Env = append(os.Environ(), "SHERD_BINARY="+binary, "SHERD_HISTORY="+length.String())
	return b.verdict("TestHistories", cmd)
}

// verdict runs a test, and reports whether it fails as a test does.
func (b *build) verdict(test string, cmd *exec.Cmd) bool {
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil:
		b.report(test, "PASSES without the rule")
		return false
	case !strings.Contains(string(out), "--- FAIL: "+test):
		b.report(test, fmt.Sprintf("does not end with a VERDICT of the test:\n%s", out))
		return false
	}
	b.report(test, "caught")
	return true
}

func (b *build) report(test, result string) { fmt.Printf("%-13s %-36s %s\n", b.rule, test, result) }
