package protocol_test

import (
	"testing"

	"github.com/sherddb/sherd/internal/explore"
	"github.com/sherddb/sherd/txn/protocol"
)

// The model is the smallest that has all races: one transaction with two writers, the first of which
// is the coordinator fragment, two attempts at a commit time, and at most one reader that is checked.
// Messages may arrive late, twice, in any order, or never; leaders change, the coordinator stops
// between any two steps or takes an answer for lost, and recoveries start at any moment, any number
// of them. An entry of a log is an atomic step. Clocks are not modelled, nor other reads.
//
// After every step the model checks: all or nothing, one commit time, and a true answer to the
// client. From every state, recovery alone leads to one where nothing is undecided.

func (m *model) explore() explore.Result {
	return explore.Model[state]{Start: []state{m.start()}, Next: m.next, Wrong: m.wrongAfterAll}.Run()
}

// wrongAfterAll says what is wrong in s, or in what recovery makes of it.
func (m *model) wrongAfterAll(s state) string {
	if what := m.wrong(&s); what != "" {
		return what
	}
	r := m.recovered(s)
	if r.undecided() > 0 {
		return "recovery leaves it undecided"
	}
	if what := m.wrong(&r); what != "" {
		return "after recovery: " + what
	}
	return ""
}

// TestCommit explores a commit in one round, and one in two rounds with a checked reader.
func TestCommit(t *testing.T) {
	for name, v := range map[string]variant{
		"one round": {}, "two rounds": {two: true}, "with a reader": {two: true, reader: true},
	} {
		t.Run(name, func(t *testing.T) {
			m := model{variant: v, writers: 2}
			got := m.explore()
			if got.Wrong != "" {
				t.Fatal(got)
			}
			t.Log(got)
		})
	}
}

func TestEveryRuleIsNeeded(t *testing.T) {
	for name, v := range map[string]variant{
		"bar":                         {dropped: "bar"},
		"record":                      {dropped: "record"},
		"abort's attempt":             {without: protocol.AbortLater},
		"resolve's attempt":           {without: protocol.ResolveLater},
		"abort unasked":               {without: protocol.Asked},
		"decide first":                {without: protocol.First},
		"prepared":                    {without: protocol.Decide},
		"prepared, explicit":          {without: protocol.Decide, two: true},
		"coordinator fragment's word": {without: protocol.CoordinatorFragmentDecides},
		"unknown is unknown":          {without: protocol.LostIsUnknown},
		"late no":                     {without: protocol.LateIsUnknown},
		"bar's attempt":               {without: protocol.BarAttempt},
		"no checked reader":           {reader: true},
	} {
		t.Run(name, func(t *testing.T) {
			m := model{variant: v, writers: 2}
			got := m.explore()
			if got.Wrong == "" {
				t.Fatal("nothing goes wrong without the rule")
			}
			t.Log(got)
		})
	}
}
