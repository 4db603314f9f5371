package install

import (
	"testing"
	"time"
)

// TestYieldFor: an installer rests behind a batch if small transactions have committed meanwhile,
// and no other large one waits.
func TestYieldFor(t *testing.T) {
	for _, x := range []struct {
		took      time.Duration
		committed bool
		waiting   int
		want      time.Duration
	}{
		{10 * time.Millisecond, true, 1, 20 * time.Millisecond},
		{10 * time.Millisecond, true, 0, 20 * time.Millisecond},
		{10 * time.Millisecond, false, 1, 0},
		{10 * time.Millisecond, true, 2, 0},
		{time.Second, true, 1, longestRest},
	} {
		if got := yieldFor(x.took, x.committed, x.waiting); got != x.want {
			t.Errorf("%+v: %s", x, got)
		}
	}
}
