package main

import (
	"fmt"
	"os"
	"strings"
)

// count is how many statements of a script pass.
type count struct {
	Script     string
	Passed, Of int
}

// counts are those of all scripts, in the order in which they are replayed.
type counts []count

// readCounts reads a file with a line for each script: its name, how many statements pass, and of
// how many.
func readCounts(path string) (out counts, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for n, line := range strings.Split(string(text), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		var c count
		if _, err := fmt.Sscan(line, &c.Script, &c.Passed, &c.Of); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n+1, err)
		}
		out = append(out, c)
	}
	return out, nil
}

const countsHead = `# Statements of PostgreSQL 15's regression scripts that have PostgreSQL's answer on Sherd.
# A count may only rise: go run ./integration/pgregress -rewrite
`

func (s counts) write(path string) error {
	var b strings.Builder
	b.WriteString(countsHead)
	for _, c := range s {
		fmt.Fprintf(&b, "%-20s %6d %6d\n", c.Script, c.Passed, c.Of)
	}
	return os.WriteFile(path, []byte(b.String()), 0o644)
}

// tally counts the statements of a script by how they ended.
type tally struct {
	Script     string
	Passed, Of int
	misses     [verdicts]int
}

func (t *tally) count(v verdict) {
	t.Of++
	if v == passed {
		t.Passed++
		return
	}
	t.misses[v]++
}

func (t *tally) add(x *tally) {
	t.Passed += x.Passed
	t.Of += x.Of
	for i, n := range x.misses {
		t.misses[i] += n
	}
}

func (t *tally) String() string {
	var b strings.Builder
	share := 0.0
	if t.Of > 0 {
		share = 100 * float64(t.Passed) / float64(t.Of)
	}
	fmt.Fprintf(&b, "%-20s %5d of %5d %5.1f %%", t.Script, t.Passed, t.Of, share)
	for v, n := range t.misses {
		if n > 0 {
			fmt.Fprintf(&b, "  %s %d", verdict(v), n)
		}
	}
	return b.String()
}
