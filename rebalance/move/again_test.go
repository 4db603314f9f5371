package move

import (
	"testing"
	"time"
)

// TestPauses: after fences that stood for too long the next try waits ever longer, so that writers wait for a small part of the time only; other tries follow quickly.
func TestPauses(t *testing.T) {
	tries := newTries()
	for i, c := range []struct{ stood, want time.Duration }{
		{0, minBackoff},
		{20 * time.Millisecond, 2 * minBackoff},
		{fenceTime, latePause},
		{0, 4 * minBackoff},
		{fenceTime, 2 * latePause},
	} {
		if got := tries.pause(c.stood); got != c.want {
			t.Errorf("pause %d, after %v: %v, want %v", i, c.stood, got, c.want)
		}
	}
	for range 10 {
		tries.pause(0)
		tries.pause(fenceTime)
	}
	if a, b := tries.pause(0), tries.pause(fenceTime); a != maxBackoff || b != lateMost {
		t.Errorf("in the end %v and %v", a, b)
	}
}
