package storage

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

// TestPaceCountsCommits: small commits of a replica count for the installers of its node, and parts
// of large ones do not.
func TestPaceCountsCommits(t *testing.T) {
	g := &installGate{}
	r := openTest(t, t.TempDir(), g.config)
	g.close(t, 0)
	before := r.cfg.Pace.writes.Load()
	commitLarge(t, r, 0)
	g.awaitHeld()
	if n := r.cfg.Pace.writes.Load(); n != before {
		t.Errorf("a large commit counts as %d small ones", n-before)
	}
	commitRow(t, r, rowKey(1000), "small")
	if n := r.cfg.Pace.writes.Load(); n != before+1 {
		t.Errorf("a small commit counts as %d", n-before)
	}
}
