package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const wire = "../.." // the folder of plan.proto

// theTypes are loaded once: the go command takes seconds.
var theTypes = sync.OnceValues(loadTypes)

func loaded(t *testing.T) *goTypes {
	t.Helper()
	g, err := theTypes()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestGenerated: the generated files are those of plan.proto and of the Go types as they are now.
func TestGenerated(t *testing.T) {
	files, err := generate(filepath.Join(wire, "plan.proto"), loaded(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(wire, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is older than plan.proto or the Go types: run go generate ./sql/plan/wire", name)
		}
	}
}

// TestDifferences: whatever is in plan.proto or in the Go types only is an error that names it.
func TestDifferences(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(wire, "plan.proto"))
	if err != nil {
		t.Fatal(err)
	}
	g := loaded(t)
	for _, c := range []struct{ old, new, want string }{
		{"    Limit limit = 10;\n", "", "plan.Limit is no kind of Node in plan.proto"},
		{"    Coalesce coalesce = 22;\n", "", "query.Coalesce is no kind of Expr in plan.proto"},
		{"    bool one_by_one = 6;\n", "", "plan.LockRows.OneByOne is not in plan.proto"},
		{"  string under_end = 12;\n", "", "plan.Route.UnderEnd is not in plan.proto"},
		{"  SUB_ROW = 5;\n", "", "SubRow is not in plan.proto"},
		{"  SUB_ROW = 5;\n", "  SUB_ROW = 5;\n  SUB_MORE = 6;\n", "SUB_MORE is no value"},
		{"  FULL = 3;\n", "  FULL = 9;\n", "FULL is no value"},
		{"string alias = 2;", "string alias = 2; bool more = 9;", "more is no field of"},
		{"sint64 n = 3;", "uint64 n = 3;", "n is uint64; int should be sint64"},
		{"repeated sint64 slots = 5;", "sint64 slots = 5;", "slots is sint64; []int should be message"},
		{"optional Expr count = 3;", "repeated Expr count = 3;", "count is a list, but not in Go"},
		{"repeated Expr hash_left = 7;", "repeated Node hash_left = 7;", "query.Expr should be Expr"},
		{"message Col {", "message Other {}\nmessage Col {", "Other is part of no step"},
		{"    Window window = 18;", "    Window windows = 7;", "same tag"},
	} {
		if strings.Count(string(text), c.old) < 1 {
			t.Errorf("plan.proto has no %q", c.old)
			continue
		}
		path := filepath.Join(t.TempDir(), "plan.proto")
		changed := strings.Replace(string(text), c.old, c.new, 1)
		if err := os.WriteFile(path, []byte(changed), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := generate(path, g); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v", c.new, err)
		}
	}
}
