package explore

import (
	"slices"
	"testing"
)

// jugs of three and five litres: four litres are measured in six steps.
type jugs struct{ three, five uint8 }

func next(s jugs, do func(t jugs, format string, args ...uint8)) {
	do(jugs{3, s.five}, "fill 3")
	do(jugs{s.three, 5}, "fill 5")
	do(jugs{0, s.five}, "empty 3")
	do(jugs{s.three, 0}, "empty 5")
	n := min(s.three, 5-s.five)
	do(jugs{s.three - n, s.five + n}, "pour %d from 3", n)
	n = min(s.five, 3-s.three)
	do(jugs{s.three + n, s.five - n}, "pour %d from 5", n)
}

func TestRun(t *testing.T) {
	m := Model[jugs]{Start: []jugs{{}}, Next: next, Wrong: func(s jugs) string {
		if s.five == 4 {
			return "four litres"
		}
		return ""
	}}
	want := []string{"fill 5", "pour 3 from 5", "empty 3", "pour 2 from 5", "fill 5", "pour 1 from 5"}
	if got := m.Run(); got.Wrong != "four litres" || !slices.Equal(got.Way, want) {
		t.Error(got)
	}
	m.Wrong = func(jugs) string { return "" }
	if got := m.Run(); got.States != 16 || got.String() != "16 states" {
		t.Error(got)
	}
}
