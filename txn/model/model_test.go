package model

import (
	"strings"
	"testing"
)

// explore looks at every state and gives the shortest way to a wrong one, nil if there is none.
func (m *model) explore() (states int, way []string) {
	type from struct {
		s  state
		by step
	}
	first := m.start()
	seen := map[state]from{first: {}}
	for queue := []state{first}; len(queue) > 0; queue = queue[1:] {
		s := queue[0]
		what := m.wrong(&s)
		if r := m.recovered(s); what == "" && r.undecided() > 0 {
			what = "recovery leaves it undecided"
		} else if w := m.wrong(&r); what == "" && w != "" {
			what = "after recovery: " + w
		}
		if what != "" {
			way = []string{what}
			for s != first {
				f := seen[s]
				way, s = append(way, f.by.String()), f.s
			}
			return len(seen), way
		}
		m.next(s, func(by step, t state) {
			if _, known := seen[t]; !known {
				seen[t] = from{s, by}
				queue = append(queue, t)
			}
		})
	}
	return len(seen), nil
}

func report(way []string) string {
	var b strings.Builder
	for i := len(way) - 1; i >= 0; i-- {
		b.WriteString("\n\t" + way[i])
	}
	return b.String()
}

func TestOneRound(t *testing.T) {
	m := model{writers: 2}
	states, way := m.explore()
	if way != nil {
		t.Fatalf("after %d states:%s", states, report(way))
	}
	t.Logf("%d states", states)
}

func TestEveryRuleIsNeeded(t *testing.T) {
	for name, r := range map[string]rules{
		"bar":                {noBar: true},
		"abort's attempt":    {abortAnyAttempt: true},
		"resolve's attempt":  {resolveAnyAttempt: true},
		"abort unasked":      {abortUnasked: true},
		"decide first":       {resolveFirst: true},
		"anchor's word":      {abortCounts: true},
		"unknown is unknown": {unknownIsNo: true},
		"bar's attempt":      {barAnyAttempt: true},
		"no checked reader":  {checkedReader: true},
		"record":             {noRecord: true},
		"late no":            {lateNoIsNo: true},
	} {
		t.Run(name, func(t *testing.T) {
			m := model{rules: r, writers: 2}
			states, way := m.explore()
			if way == nil {
				t.Fatal("nothing goes wrong without the rule")
			}
			t.Logf("%d states:%s", states, report(way))
		})
	}
}
