package rebalance_test

import (
	"errors"
	"testing"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/teststore"
	"github.com/sherddb/sherd/node/store"
	"github.com/sherddb/sherd/rebalance/move"
	"github.com/sherddb/sherd/storage"
)

// abortStep has the catalog say that the step which runs never flips, as the source's leader does with a fence that stands for too long.
func abortStep(t *testing.T, c *catalog.Catalog) {
	_, err := c.Update(t.Context(), func(v *catalog.View, ch *catalog.Change) error {
		m := v.Moves(0)[0]
		return ch.AbortStep(m.Job.ID, m.Step.Number, "too long", 2)
	})
	if err != nil {
		t.Error(err)
	}
}

// TestStepGoesOn: a step whose fence was lifted goes on with what the target has, by another number; what was written meanwhile comes too, and nothing twice.
func TestStepGoesOn(t *testing.T) {
	t.Parallel()
	const lo, hi = 100, 300
	dir := t.TempDir()
	c := teststore.Catalog(t, dir, 2)
	finalize(t, c)
	came := map[string]int{}
	var h *store.Store
	fragments := c.View().Database(catalog.PostgresDB).Fragments
	source, target := fragments[0].ID, fragments[1].ID
	ready := make(chan struct{})
	h = openMoving(t, dir, c, func(at string) error {
		<-ready
		switch came[at]++; {
		case at == move.Fenced && came[at] <= 2:
			abortStep(t, c)
		case at == move.Renewed:
			fill(t, h, source, uint32(lo+10*came[at]), uint32(lo+10*came[at]+5)) // as they are, in newer versions
			fill(t, h, source, 400+uint32(came[at]), 401+uint32(came[at]))       // beside it
		}
		return nil
	})
	close(ready)
	fill(t, h, source, 0, 400)
	id := begin(t, c, lo, hi, target)
	if e := ended(t, c, id); e.Outcome != "done" || e.Documents != 200 || e.Retries != 2 || e.Steps != 1 {
		t.Errorf("%+v", e)
	}
	if came[move.IngestBegun] != 1 || came[move.Copied] != 3 || came[move.Renewed] != 2 || came[move.Flipped] != 1 {
		t.Errorf("it came by %v", came)
	}
	if a, b := has(t, h, source), has(t, h, target); a != 202 || b != 200 {
		t.Errorf("the source has %d rows, the target %d", a, b)
	}
	if r := owner(t, h, target); r.Moves.Ingesting(0, []storage.BucketRange{{Lo: lo, Hi: hi}}) {
		t.Error("it is being received still")
	}
	if e := ended(t, c, begin(t, c, lo, hi, source)); e.Outcome != "done" || e.Documents != 200 {
		t.Errorf("back: %+v", e)
	}
	if a, b := has(t, h, source), has(t, h, target); a != 402 || b != 0 {
		t.Errorf("back: the source has %d rows, the target %d", a, b)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

func owner(t *testing.T, h *store.Store, fragment uint32) *storage.Replica {
	t.Helper()
	r, err := h.Replicas.Replica(fragment)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A process dies at each arrow of a step that goes on after its fence was lifted: whoever finds it completes or undoes it by both of its numbers.
func TestCrashOfStepThatGoesOn(t *testing.T) {
	const lo, hi = 100, 300
	for _, arrow := range []string{move.Aborted, move.Lifted, move.Renewed, move.CaughtUp, move.CopiedRest, move.Flipped, move.OwnedNow, move.GoneNow, move.Cleaned} {
		t.Run(arrow, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			c := teststore.Catalog(t, dir, 2)
			finalize(t, c)
			hit, done, lifted := make(chan struct{}), false, false
			h := openMoving(t, dir, c, func(at string) error {
				switch {
				case done:
					return errors.New("it is dead")
				case at == move.Fenced && !lifted:
					lifted = true
					abortStep(t, c)
				case lifted && at == arrow:
					done = true
					close(hit)
					return errors.New("it dies")
				}
				return nil
			})
			fragments := c.View().Database(catalog.PostgresDB).Fragments
			source, target := fragments[0].ID, fragments[1].ID
			fill(t, h, source, 0, 400)
			id := begin(t, c, lo, hi, target)
			<-hit
			if err := h.Close(); err != nil {
				t.Fatal(err)
			}
			h = openMoving(t, dir, c, nil)
			defer func() {
				if err := h.Close(); err != nil {
					t.Error(err)
				}
			}()
			if e := ended(t, c, id); e.Outcome != "done" {
				t.Errorf("%+v", e)
			}
			if a, b := has(t, h, source), has(t, h, target); a != 200 || b != 200 {
				t.Errorf("the source has %d rows, the target %d", a, b)
			}
			if e := ended(t, c, begin(t, c, lo, hi, source)); e.Outcome != "done" || e.Documents != 200 {
				t.Errorf("%+v", e)
			}
			if a, b := has(t, h, source), has(t, h, target); a != 400 || b != 0 {
				t.Errorf("back: the source has %d rows, the target %d", a, b)
			}
		})
	}
}

// finalize raises the version of the cluster to the newest.
func finalize(t *testing.T, c *catalog.Catalog) {
	t.Helper()
	_, err := c.Update(t.Context(), func(_ *catalog.View, ch *catalog.Change) error { return ch.RaiseFormat(2) })
	if err != nil {
		t.Fatal(err)
	}
}
