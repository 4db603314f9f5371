package storage

import (
	"testing"
	"time"

	"github.com/sherddb/sherd/txn"
)

// TestNothingOfAJump: a clock jumps an hour ahead and is set right. Nothing of that hour stays
// behind, neither in what this node has promised, nor, by what it asks for then or later, in what
// another one has.
func TestNothingOfAJump(t *testing.T) {
	var ahead time.Duration
	clock := txn.NewClock(func() time.Time { return time.Now().Add(ahead) }, 0)
	r := openTest(t, t.TempDir(), func(c *Config) { c.Clock = clock })
	clock.Believe(time.Now(), time.Now().Add(clock.Ahead()))
	commitRow(t, r, rowKey(1), "before")
	ahead = time.Hour
	far := clock.Wall()
	ask := func(when string) {
		t.Helper()
		d := txn.Decision{ID: txn.NewID(), C: far, Outcome: txn.Aborted}
		for name, do := range map[string]func() error{
			"decide":          func() error { _, err := r.Outcomes.decide(d); return err },
			"implicit commit": func() error { _, err := r.Outcomes.decideImplicit(d); return err },
			"has prepared":    func() error { _, err := r.Outcomes.HasPrepared(d.ID, far); return err },
			"outcome":         func() error { _, err := r.Outcomes.Outcome(t.Context(), d.ID, far); return err },
			"close":           func() error { _, err := r.CloseAt(t.Context(), far); return err },
		} {
			if err := do(); err == nil {
				t.Errorf("%s, %s: an hour ahead", name, when)
			}
		}
	}
	ask("during the jump")
	if _, err := tryRow(r, rowKey(1), "during"); err == nil {
		t.Error("written during the jump")
	}
	ahead = 0
	ask("after the jump")
	if at := commitRow(t, r, rowKey(1), "after"); at > clock.Wall().Add(time.Minute) {
		t.Errorf("after the jump a commit is at %s", at)
	}
	if lowWater := r.proposer.LowWater(); lowWater > clock.Wall().Add(time.Minute) ||
		clock.Last() > clock.Wall().Add(time.Minute) {
		t.Errorf("promised %s, the clock is at %s", lowWater, clock.Last())
	}
}

// TestClockSetBack: a node alone whose clock is set back goes on, in one fragment and over several.
func TestClockSetBack(t *testing.T) {
	var ahead time.Duration
	clock := txn.NewClock(func() time.Time { return time.Now().Add(ahead) }, 0)
	c := openCluster(t, tempDirs(t, 2), func(c *Config) { c.Clock = clock })
	c.co.Clock = clock
	r := c.rs[0]
	commitRow(t, r, rowKey(1), "before")
	ahead = -time.Hour
	for range 100 {
		commitRow(t, r, rowKey(1), "after")
		if got := readRow(t, r, rowKey(1)); got != "after" {
			t.Fatal(got)
		}
		id := txn.NewID()
		parts := c.put(id, rowKey(2), "both")
		if _, err := c.co.Commit(t.Context(), id, 0, []txn.Participant{parts[0], parts[1]}); err != nil {
			t.Fatal(err)
		}
	}
}
