// Package explore looks at every state that a model can reach. It is for tests: with all rules of a
// model nothing is wrong, and without one of them something must be.
package explore

import (
	"fmt"
	"strings"
)

// Model is the model to explore. S is a whole state of it.
type Model[S comparable] struct {
	Start []S
	// Next calls do with every state to which one step leads, and with the text of the step.
	Next func(s S, do func(t S, format string, args ...uint8))
	// Wrong returns what is wrong in a state, "" if nothing is.
	Wrong func(s S) string
}

// Result is the result of an exploration.
type Result struct {
	States int
	Wrong  string   // "": nothing
	Way    []string // the shortest one to what is wrong, step by step
}

// String returns the way, a line for each step.
func (r Result) String() string {
	text := fmt.Sprintf("%d states", r.States)
	if r.Wrong == "" {
		return text
	}
	return text + ":\n\t" + strings.Join(append(r.Way, r.Wrong), "\n\t")
}

// step is how a state was first reached. Its text is formatted only if the step is reported.
type step[S comparable] struct {
	from   S
	format string
	args   [2]uint8
	n      uint8
}

// Run explores m, the states near the start first, until one is wrong.
func (m Model[S]) Run() Result {
	seen := map[S]step[S]{}
	var queue []S
	for _, s := range m.Start {
		seen[s] = step[S]{}
		queue = append(queue, s)
	}
	for ; len(queue) > 0; queue = queue[1:] {
		s := queue[0]
		if wrong := m.Wrong(s); wrong != "" {
			return Result{States: len(seen), Wrong: wrong, Way: way(seen, s)}
		}
		m.Next(s, func(t S, format string, args ...uint8) {
			if _, known := seen[t]; known {
				return
			}
			by := step[S]{from: s, format: format, n: uint8(len(args))}
			copy(by.args[:], args)
			seen[t] = by
			queue = append(queue, t)
		})
	}
	return Result{States: len(seen)}
}

func way[S comparable](seen map[S]step[S], s S) []string {
	var out []string
	for by := seen[s]; by.format != ""; by = seen[by.from] {
		args := make([]any, by.n)
		for i := range args {
			args[i] = by.args[i]
		}
		out = append([]string{fmt.Sprintf(by.format, args...)}, out...)
	}
	return out
}
