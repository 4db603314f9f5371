package storage

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sherddb/sherd/storage/proposer"
	"github.com/sherddb/sherd/txn"
)

// readClosed reads a row where T is closed.
func readClosed(t *testing.T, r *Replica, T txn.Timestamp, key []byte) (string, error) {
	t.Helper()
	v, err := r.ClosedView(t.Context(), txn.NewID(), T, nil)
	if err != nil {
		return "", err
	}
	defer v.Close()
	b, err := v.Get(t.Context(), key)
	return string(b), err
}

// TestRuleT9Closed: a replica that does not lead refuses what it may not have everything of.
func TestRuleT9Closed(t *testing.T) {
	g := newGate()
	r := openTest(t, t.TempDir(), g.config)
	first := commitRow(t, r, rowKey(1), "old")
	release := g.shut(t)
	done := make(chan error, 1)
	go func() {
		_, err := tryRow(r, rowKey(1), "new")
		done <- err
	}()
	<-g.proposed
	T := r.proposer.LowWater()
	if got, err := readClosed(t, r, T, rowKey(1)); !NotClosed(err) {
		t.Errorf("at %s, which is not applied yet, the replica answers %q, %v", T, got, err)
	}
	if got, err := readClosed(t, r, first, rowKey(1)); got != "old" || err != nil {
		t.Errorf("at what was applied last it answers %q, %v", got, err)
	}
	release()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got, err := readClosed(t, r, T, rowKey(1)); got != "new" || err != nil {
		t.Errorf("when it is applied the replica answers %q, %v", got, err)
	}
}

// TestRuleT9Applied: what a leader has closed is not closed here before all that it had proposed is
// here.
func TestRuleT9Applied(t *testing.T) {
	g := newGate()
	now := time.Now()
	r := openTest(t, t.TempDir(), func(c *Config) {
		stillClock(now)(c)
		g.config(c)
	})
	commitRow(t, r, rowKey(1), "old")
	T := txn.FromTime(now.Add(2 * time.Second))
	if err := r.proposer.Cover(T); err != nil { // closing must not need an entry
		t.Fatal(err)
	}
	release := g.shut(t)
	done := make(chan error, 1)
	go func() {
		_, err := tryRow(r, rowKey(1), "new")
		done <- err
	}()
	<-g.proposed
	c, err := r.CloseAt(t.Context(), T)
	if err != nil || c.T < T || c.Last > T {
		t.Fatalf("closed %v, %v", c, err)
	}
	r.LearnClosed(c)
	if got, err := readClosed(t, r, T, rowKey(1)); !NotClosed(err) {
		t.Errorf("at %s the replica answers %q, %v", T, got, err)
	}
	if !r.Closing(T) || r.Closing(c.T+1) {
		t.Errorf("closed when all is applied: %s %v, beyond it %v", T, r.Closing(T), r.Closing(c.T+1))
	}
	release()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if r.Closing(T) {
		t.Errorf("%s is closed, and not only to be", T)
	}
	if got, err := readClosed(t, r, T, rowKey(1)); got != "new" || err != nil {
		t.Errorf("when it is applied the replica answers %q, %v", got, err)
	}
}

// TestRuleT9LowWater: the leader stamps nothing at or below what it has closed.
func TestRuleT9LowWater(t *testing.T) {
	now := time.Now()
	r := openTest(t, t.TempDir(), stillClock(now))
	T := txn.FromTime(now.Add(2 * time.Second))
	c, err := r.CloseAt(t.Context(), T)
	if err != nil {
		t.Fatal(err)
	}
	if ts := commitRow(t, r, rowKey(1), "late"); ts <= c.T {
		t.Errorf("a commit at %s after %s was closed", ts, c.T)
	}
	r.LearnClosed(c)
	if got, err := readClosed(t, r, T, rowKey(1)); got != "" || err != nil {
		t.Errorf("at %s the replica answers %q, %v", T, got, err)
	}
}

// TestRuleT9ReadLease: nor does the next leader, whose clock is behind.
func TestRuleT9ReadLease(t *testing.T) {
	now := time.Now()
	c := openCluster(t, tempDirs(t, 1), stillClock(now))
	T := txn.FromTime(now.Add(5 * time.Second))
	fact, err := c.rs[0].CloseAt(t.Context(), T)
	if err != nil {
		t.Fatal(err)
	}
	after := c.crash(stillClock(now))
	if ts := commitRow(t, after.rs[0], rowKey(1), "late"); ts <= fact.T {
		t.Errorf("a commit at %s after the last leader has closed %s", ts, fact.T)
	}
}

// TestClosedByClock: a leader closes more than it is asked for, but not what is being committed
// now, and nothing by a clock that is wrong.
func TestClosedByClock(t *testing.T) {
	now := time.Now()
	clock := txn.NewClock(func() time.Time { return now }, 0)
	r := openTest(t, t.TempDir(), func(c *Config) { c.Clock = clock })
	if c, err := r.CloseAt(t.Context(), 1); err != nil || c.T != clock.Wall().Add(-proposer.CloseLag) {
		t.Errorf("closed %v, %v", c, err)
	}
	if c, err := r.CloseAt(t.Context(), clock.Wall().Add(time.Hour)); err == nil {
		t.Errorf("an hour ahead is closed: %v", c)
	}
	now = now.Add(time.Hour)
	clock.Believe(now.Add(-time.Hour), now.Add(-time.Hour+time.Second))
	if c, err := r.CloseAt(t.Context(), 1); err != nil && c.T > clock.Wall().Add(-time.Minute) {
		t.Errorf("closed by a clock that is wrong: %v", c)
	}
}

// TestFollowerReads: a reader on a replica that does not lead waits for what is prepared below its
// time (T3).
func TestFollowerReads(t *testing.T) {
	c := openCluster(t, tempDirs(t, 2), slowRecovery)
	r := c.rs[1]
	commitRow(t, r, rowKey(1), "old")
	id := txn.NewID()
	parts := c.put(id, rowKey(1), "new")
	p := txn.PrepareRequest{C: c.co.Clock.Now() + 1<<16, Coordinator: 1, Attempt: 1, Writers: []txn.FragmentID{1, 2}}
	if err := parts[1].Prepare(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	v, err := r.ClosedView(t.Context(), txn.NewID(), p.C, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	if b, err := v.Get(canceled(), rowKey(1)); !errors.Is(err, context.Canceled) {
		t.Errorf("a row that is prepared is %q, %v", b, err)
	}
	if got, err := readClosed(t, r, p.C-1, rowKey(1)); got != "old" || err != nil {
		t.Errorf("below it the row is %q, %v", got, err)
	}
	parts[0].Rollback()
	if err := r.Outcomes.Resolve(txn.Decision{ID: id, C: p.C, Outcome: txn.Committed}); err != nil {
		t.Fatal(err)
	}
	if b, err := v.Get(t.Context(), rowKey(1)); string(b) != "new" || err != nil {
		t.Errorf("decided, it is %q, %v", b, err)
	}
}

// TestClosedViewOfMoved: a reader of a replica that need not lead names the buckets, because a scan
// of a local index does not notice them. After the buckets have left, the view is refused, and
// opened if its timestamp is before that.
func TestClosedViewOfMoved(t *testing.T) {
	m := openMover(t)
	a, b := m.c.rs[0], m.c.rs[1]
	commitRow(t, a, movedKey(100, "k"), "1")
	before := a.Servable()
	m.move(a, b, movedRange)
	other := []BucketRange{{Lo: 200, Hi: 300}}
	for _, x := range []struct {
		r      *Replica
		T      txn.Timestamp
		ranges []BucketRange
		moved  bool
	}{
		{a, a.Servable(), movedRange, true}, {a, a.Servable(), other, false}, {a, before, movedRange, false},
		{b, b.Servable(), movedRange, false},
	} {
		v, err := x.r.ClosedView(t.Context(), txn.NewID(), x.T, x.ranges)
		var moved *txn.MovedError
		if errors.As(err, &moved) != x.moved || !x.moved && err != nil {
			t.Errorf("fragment %d, %v at %s: %v", x.r.ID(), x.ranges, x.T, err)
		}
		if err == nil {
			v.Close()
		}
	}
}
