package monitor

import "testing"

// TestMissing: a view warns once of all nodes that it could not ask.
func TestMissing(t *testing.T) {
	for want, absent := range map[string][]Absent{
		"node n2 does not answer: what it knows is missing":     {{Name: "n2"}},
		"nodes n2, n3 do not answer: what they know is missing": {{Name: "n2"}, {Name: "n3"}},
	} {
		if got := missing(absent); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
