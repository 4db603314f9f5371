package sql

import "testing"

// TestUnheard: a view warns once of all nodes that it could not ask.
func TestUnheard(t *testing.T) {
	for want, absent := range map[string][]Absent{
		"node n2 does not answer: what it knows is missing":     {{Name: "n2"}},
		"nodes n2, n3 do not answer: what they know is missing": {{Name: "n2"}, {Name: "n3"}},
	} {
		if got := unheard(absent); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
