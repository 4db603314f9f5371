package storage

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/sherddb/sherd/storage/proposer"
	"github.com/sherddb/sherd/txn"
)

// implicitCommit is a transaction over three fragments that replaces "old" by "new", as far as a
// test has taken it.
type implicitCommit struct {
	c           *cluster
	id          txn.ID
	parts       []txn.Participant
	C           txn.Timestamp
	coordinator int
}

var three = []txn.FragmentID{1, 2, 3}

func startImplicit(t *testing.T, coordinator int, change ...func(*Config)) *implicitCommit {
	t.Helper()
	c := openCluster(t, tempDirs(t, 3), append([]func(*Config){slowRecovery}, change...)...)
	for _, r := range c.rs {
		commitRow(t, r, rowKey(1), "old")
	}
	x := &implicitCommit{c: c, id: txn.NewID(), coordinator: coordinator}
	x.parts = c.put(x.id, rowKey(1), "new")
	x.C = c.co.Clock.Now() + 1<<16
	return x
}

// prepare has fragment i prepare at x.C.
func (x *implicitCommit) prepare(i, attempt int) error {
	return x.parts[i].Prepare(testContext(x.c.t), txn.PrepareRequest{
		C: x.C, Coordinator: FragmentID(x.coordinator + 1), Attempt: attempt, Writers: three, Implicit: true})
}

func (x *implicitCommit) mustPrepare(is ...int) {
	x.c.t.Helper()
	for _, i := range is {
		if err := x.prepare(i, 1); err != nil {
			x.c.t.Fatal(err)
		}
	}
}

// TestImplicitCommitIsRecovered leaves a commit with every subset of its writers prepared, then
// ends the process: all prepared is committed, for the client may have been told so, and anything
// less is not. The same where the recovery is ended at one of its steps.
func TestImplicitCommitIsRecovered(t *testing.T) {
	points := []string{"", "propose", "apply.written", "barred", "recover.asked", "outcomes.logged"}
	for set := range 8 {
		if testing.Short() && set != 3 && set != 7 {
			continue
		}
		for coordinator := range 2 {
			point := points[(set*2+coordinator)%len(points)]
			t.Run(fmt.Sprintf("prepared %03b coordinator %d then %s", set, coordinator, point), func(t *testing.T) {
				x := startImplicit(t, coordinator)
				for i := range 3 {
					if set&(1<<i) != 0 {
						x.mustPrepare(i)
					}
				}
				x.endsAs(set == 7, point, 1+set%3)
			})
		}
	}
	for _, point := range points { // the longest recovery, each time
		for nth := 1; nth <= 2; nth++ {
			t.Run(fmt.Sprintf("all prepared then %s %d", point, nth), func(t *testing.T) {
				x := startImplicit(t, 1)
				x.mustPrepare(0, 1, 2)
				x.endsAs(true, point, nth)
			})
		}
	}
}

// endsAs crashes the cluster, and its recovery at a point that is passed for the nth time, and
// looks at what is there.
func (x *implicitCommit) endsAs(committed bool, point string, nth int) {
	t := x.c.t
	again := &crasher{t: t, dirs: tempDirs(t, 3), copies: tempDirs(t, 3), point: point, nth: nth, armed: true}
	for i, d := range x.c.dirs {
		copyTree(t, d, again.dirs[i])
	}
	for _, p := range x.parts {
		p.Rollback()
		p.(*Tx).end()
	}
	second := openCluster(t, again.dirs, again.config)
	x.check(second, committed)
	again.set(func() { again.armed = false })
	second.checkFree()
	if again.hit {
		third := openCluster(t, again.copies, slowRecovery)
		x.check(third, committed)
		third.checkFree()
	}
}

func (x *implicitCommit) check(c *cluster, committed bool) {
	t := c.t
	t.Helper()
	want := "[old old old]"
	if committed {
		want = "[new new new]"
	}
	if got := fmt.Sprint(c.all(rowKey(1))); got != want {
		t.Fatalf("got %s want %s", got, want)
	}
	out, C, err := c.resolveAll().rs[x.coordinator].Outcomes.Query(x.id)
	if err != nil || (out == txn.Committed) != committed || committed && C != x.C {
		t.Fatal(out, C, err)
	}
}

// TestWhoSaysNoNeverPrepares: a writer that was asked before it has prepared refuses that C for
// ever, and takes a larger one.
func TestWhoSaysNoNeverPrepares(t *testing.T) {
	x := startImplicit(t, 0)
	x.mustPrepare(0, 1)
	r := x.c.rs[2]
	if yes, err := r.Outcomes.HasPrepared(x.id, x.C); yes || err != nil {
		t.Fatal(yes, err)
	}
	var low *txn.LowError
	if err := x.prepare(2, 1); !errors.As(err, &low) || low.LowWater <= x.C {
		t.Fatalf("a late prepare: %v", err)
	}
	first := x.C
	x.C = low.LowWater + 1<<16
	for i := range 3 {
		if err := x.prepare(i, 2); err != nil {
			t.Fatal(i, err)
		}
	}
	for i, r := range x.c.rs {
		if yes, err := r.Outcomes.HasPrepared(x.id, first); yes || err != nil {
			t.Fatal(i, yes, err)
		}
		if yes, err := r.Outcomes.HasPrepared(x.id, x.C); !yes || err != nil {
			t.Fatal(i, yes, err)
		}
	}
	x.abortsLeaveLaterAttempt(first)
	x.endsAs(true, "", 1)
}

// abortsLeaveLaterAttempt brings the aborts of an earlier attempt, late.
func (x *implicitCommit) abortsLeaveLaterAttempt(first txn.Timestamp) {
	t := x.c.t
	d := txn.Decision{ID: x.id, C: first, Outcome: txn.Aborted}
	if out, err := x.c.rs[0].Outcomes.decideImplicit(d); out != txn.Unknown || err != nil {
		t.Fatal("the coordinator fragment ends a later attempt:", out, err)
	}
	for _, r := range x.c.rs[1:] {
		if err := r.Outcomes.Resolve(d); err == nil {
			t.Fatal("a later attempt is resolved")
		}
		if err := r.Outcomes.resolveImplicit(d); err == nil {
			t.Fatal("a later attempt is resolved")
		}
	}
	if out, err := x.c.rs[0].Outcomes.Outcome(testContext(t), x.id, first); out != txn.Unknown || err != nil {
		t.Fatal(out, err)
	}
}

// TestUnaskedAbortDoesNotCount: a coordinator fragment that found nothing prepared, and proposes
// abort when something is, must not end it.
func TestUnaskedAbortDoesNotCount(t *testing.T) {
	x := startImplicit(t, 0)
	x.mustPrepare(0, 1, 2)
	if out, err := x.c.rs[0].Outcomes.decide(txn.Decision{ID: x.id, C: x.C,
		Outcome: txn.Aborted}); out != txn.Unknown || err != nil {
		t.Fatal(out, err)
	}
	x.endsAs(true, "", 1)
}

// TestRecoveryNeedsEveryAnswer: where a writer cannot be asked nothing is decided, however long it
// takes.
func TestRecoveryNeedsEveryAnswer(t *testing.T) {
	var up bool
	peers := NewPeers()
	x := startImplicit(t, 0, func(c *Config) {
		c.Others.Prepared = func(ctx context.Context, f txn.FragmentID, id txn.ID, C txn.Timestamp) (bool, error) {
			if f == 3 && !up {
				return false, proposer.ErrNotLeader
			}
			return peers.AskPrepared(ctx, f, id, C)
		}
	})
	for _, r := range x.c.rs {
		peers.Add(r)
	}
	x.mustPrepare(0, 1, 2)
	ctx := testContext(t)
	for range 3 {
		if out, err := x.c.rs[0].Outcomes.Outcome(ctx, x.id, x.C); out != txn.Unknown || err == nil {
			t.Fatal(out, err)
		}
	}
	for _, r := range x.c.rs {
		if _, _, ok := r.Outcomes.Prepared(x.id); !ok {
			t.Fatal("it was decided without an answer")
		}
	}
	up = true
	if out, err := x.c.rs[1].cfg.Others.Outcome(ctx, 1, x.id, x.C); out != txn.Committed || err != nil {
		t.Fatal(out, err)
	}
	for _, r := range x.c.rs[1:] {
		if err := r.Outcomes.Resolve(txn.Decision{ID: x.id, C: x.C, Outcome: txn.Committed}); err != nil {
			t.Fatal(err)
		}
	}
	x.check(x.c, true)
}

// TestAnsweredCommitIsSeen: a reader that begins after the answer to a commit waits for its rows,
// although nothing is decided yet.
func TestAnsweredCommitIsSeen(t *testing.T) {
	x := startImplicit(t, 0)
	release := make(chan struct{})
	x.c.co.Background = func(f func()) {
		go func() {
			<-release
			f()
		}()
	}
	if _, err := x.c.co.Commit(testContext(t), x.id, 0, x.parts); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	for _, r := range x.c.rs {
		T, err := r.Snapshot(testContext(t))
		if err != nil {
			t.Fatal(err)
		}
		v, err := r.Tx(txn.ID{}).View(testContext(t), T)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := v.Get(short, rowKey(1)); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("the decision is held back, and a reader at %s is given %q, %v", T, b, err)
		}
		v.Close()
	}
	close(release)
	if got := fmt.Sprint(x.c.all(rowKey(1))); got != "[new new new]" {
		t.Fatal(got)
	}
	x.c.resolveAll()
}
