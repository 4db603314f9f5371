package owned

import (
	"testing"

	"github.com/sherddb/sherd/storage/ownership"
)

// TestPlacement: keys are looked at once for each ownership, and again after more keys were placed by
// another one. Those that were placed before anything moved count as placed by none.
func TestPlacement(t *testing.T) {
	var p Placement
	first, second := &Buckets{}, &Buckets{}
	looks := 0
	check := func(o *Buckets, v ownership.Verdict, placed ...*Buckets) {
		t.Helper()
		looks = 0
		got, err := p.Check(o, func(by []*Buckets) (ownership.Verdict, error) {
			looks++
			if len(by) != len(placed) {
				t.Errorf("placed by %d ownerships, want %d", len(by), len(placed))
			}
			for i := range min(len(by), len(placed)) {
				if by[i] != placed[i] {
					t.Errorf("ownership %d is another one", i)
				}
			}
			return v, nil
		})
		if got != v || err != nil {
			t.Error(got, err)
		}
	}
	p.under(first, true)
	if check(first, ownership.Here); looks != 0 {
		t.Error("keys were looked at whose ownership has not changed")
	}
	if check(second, ownership.Wait, first); looks != 1 {
		t.Error("keys were not looked at by another ownership")
	}
	if check(second, ownership.Here, first); looks != 1 {
		t.Error("keys were not looked at again after a wait")
	}
	if check(second, ownership.Here); looks != 0 {
		t.Error("keys were looked at twice")
	}
	p.under(second, false) // fenced
	if check(second, ownership.Here, second); looks != 1 {
		t.Error("a fenced key was not looked at")
	}
	p.placedBare()
	if check(second, ownership.Here, second, nil); looks != 1 {
		t.Error("keys that were placed without an ownership were not looked at")
	}
}
