package storage

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn"
)

// crasher copies the directories of a cluster when a fault point is passed for the n-th time in any
// fragment. Meanwhile the others stop at their next fault point, and learn nothing of what the
// first one does, so a kill may leave the state of the copies.
type crasher struct {
	dirs, copies []string
	point        string
	nth          int
	t            testing.TB

	mu     sync.Mutex
	armed  bool // guarded by mu, as all below
	passed int
	hit    bool
	acked  bool // the commit was acknowledged before
	ackHit bool
}

func (c *crasher) config(cfg *Config) {
	slowRecovery(cfg)
	cfg.Knobs.Fault = func(p string) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if p != c.point || !c.armed || c.hit {
			return
		}
		if c.passed++; c.passed < c.nth {
			return
		}
		c.hit, c.ackHit = true, c.acked
		for i := range c.dirs {
			copyTree(c.t, c.dirs[i], c.copies[i])
		}
	}
}

func (c *crasher) set(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}

// TestCrashAtEveryStepOfACommit crashes a commit over two fragments at each durable step, and then
// the recovery from that: all or nothing, what was acknowledged is there, and nothing stays locked
// or undecided.
func TestCrashAtEveryStepOfACommit(t *testing.T) {
	for _, point := range []string{"propose", "apply.begin", "apply.written"} {
		for nth := 1; nth <= 5; nth++ {
			t.Run(fmt.Sprint(point, " ", nth), func(t *testing.T) {
				c := &crasher{t: t, dirs: tempDirs(t, 2), copies: tempDirs(t, 2), point: point, nth: nth}
				crashCommit(t, c)
			})
		}
	}
}

func crashCommit(t *testing.T, c *crasher) {
	first := openCluster(t, c.dirs, c.config)
	for _, r := range first.rs {
		commitRow(t, r, rowKey(1), "old")
	}
	id := txn.NewID()
	parts := first.put(id, rowKey(1), "new")
	c.set(func() { c.armed = true })
	if _, err := first.co.Commit(testContext(t), id, 0, parts); err != nil {
		t.Fatal(err)
	}
	c.set(func() { c.acked = true })
	first.resolveAll()
	c.set(func() { c.armed = false })
	if !c.hit {
		t.Skipf("was passed %d times", c.passed)
	}
	// Recover, and crash in the midst of that too.
	again := &crasher{t: t, dirs: c.copies, copies: tempDirs(t, 2), point: c.point, nth: 3, armed: true}
	second := openCluster(t, again.dirs, again.config)
	want := checkCrashed(t, second, id, c.ackHit)
	again.set(func() { again.armed = false })
	second.checkFree()
	if !again.hit {
		return
	}
	third := openCluster(t, again.copies, slowRecovery)
	if got := checkCrashed(t, third, id, c.ackHit); got != want {
		t.Fatalf("the first recovery shows %s, the second %s", want, got)
	}
	third.checkFree()
}

// checkCrashed returns the rows that are there, after it has checked that it is all rows or none
// and that nothing stays behind.
func checkCrashed(t *testing.T, c *cluster, id txn.ID, acked bool) string {
	t.Helper()
	got := fmt.Sprint(c.resolveAll().all(rowKey(1)))
	if got != "[new new]" && (got != "[old old]" || acked) {
		t.Fatalf("got %s, acknowledged: %v", got, acked)
	}
	coordinator := c.rs[id.CoordinatorOf(2)]
	out, _, err := coordinator.Outcomes.Query(id)
	if err != nil || (out == txn.Committed) != (got == "[new new]") {
		t.Fatalf("%s, but the coordinator fragment says %s (%v)", got, out, err)
	}
	return got
}

func (c *cluster) checkFree() {
	c.t.Helper()
	id := txn.NewID()
	if _, err := c.co.Commit(testContext(c.t), id, 0, c.put(id, rowKey(1), "next")); err != nil {
		c.t.Fatal(err)
	}
}

// TestNobodyDecidesByTimeout: where the coordinator fragment cannot be asked, what is prepared
// stays so, however long.
func TestNobodyDecidesByTimeout(t *testing.T) {
	silent := func(c *Config) {
		slowRecovery(c)
		c.Timing.RecoverAfter, c.Timing.RecoverLive = 1, 1
		c.Others.Outcome = nil
	}
	c := openCluster(t, tempDirs(t, 2), silent)
	id := txn.NewID()
	parts := c.put(id, rowKey(1), "new")
	C := c.co.Clock.Now() + 1<<16
	if err := parts[1].Prepare(testContext(t),
		txn.PrepareRequest{C: C, Coordinator: 1, Attempt: 1, Writers: []txn.FragmentID{1, 2}}); err != nil {
		t.Fatal(err)
	}
	r := c.rs[1]
	r.txns.mu.RLock()
	p := r.txns.prepared[id]
	r.txns.mu.RUnlock()
	for range 3 { // as housekeeping does, again and again
		r.Outcomes.ask(p)
	}
	if d, coordinator, ok := r.Outcomes.Prepared(id); !ok || coordinator != 1 || d.C != C {
		t.Fatal("it was decided without its coordinator fragment")
	}
	for _, r := range c.rs { // the coordinator fragment never heard of it: the asking has it abort
		if out, err := c.rs[0].Outcomes.Outcome(testContext(t), id, C); out != txn.Aborted || err != nil {
			t.Fatal(out, err)
		}
		if err := r.Outcomes.Resolve(txn.Decision{ID: id, C: C, Outcome: txn.Aborted}); err != nil {
			t.Fatal(err)
		}
	}
	var low *txn.LowError
	err := parts[0].Prepare(testContext(t),
		txn.PrepareRequest{C: C, Coordinator: 1, Attempt: 1, Writers: []txn.FragmentID{1, 2}})
	if !errors.As(err, &low) && !pgerr.Is(err, pgerr.SerializationFailure) {
		t.Fatalf("a late prepare: %v", err)
	}
	txn.Rollback(parts)
	parts[0].(*Tx).end()
}
