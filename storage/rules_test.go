package storage

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/storage/proposer"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/protocol"
)

// The tests of this file are for one rule of the transaction protocol each (package txn/rule). They
// fail in a build that lacks it, whatever the timing: clocks stand still or are moved by hand, and
// a gate says when entries apply. integration/broken runs them on such builds; docs/testing.md has
// the list. Rules that other tests of this package show are not shown again.

// stillClock stands at a time for ever, so that only what was promised puts one timestamp above
// another.
func stillClock(at time.Time) func(*Config) {
	return func(c *Config) {
		c.Clock = txn.NewClock(func() time.Time { return at }, 0)
		slowRecovery(c)
	}
}

// gate keeps a replica from applying while it is shut.
type gate struct {
	mu       sync.Mutex
	open     chan struct{} // closed while the gate is open; guarded by mu
	proposed chan struct{} // gets one for each proposal while the gate is shut
}

func newGate() *gate {
	g := &gate{open: make(chan struct{}), proposed: make(chan struct{}, 100)}
	close(g.open)
	return g
}

func (g *gate) config(c *Config) {
	slowRecovery(c)
	c.Knobs.Fault = func(point string) {
		g.mu.Lock()
		open := g.open
		g.mu.Unlock()
		switch point {
		case "propose":
			select {
			case <-open:
			default:
				g.proposed <- struct{}{}
			}
		case "apply.begin":
			<-open
		}
	}
}

// shut closes the gate, and returns a function that opens it again.
func (g *gate) shut(t *testing.T) func() {
	g.mu.Lock()
	defer g.mu.Unlock()
	open := make(chan struct{})
	g.open = open
	release := sync.OnceFunc(func() { close(open) })
	t.Cleanup(release) // before the replica is closed
	return release
}

// canceled is a context with which an operation that must wait returns at once.
func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// nextTerm ends the term and begins another one with the same leader.
func nextTerm(r *Replica) {
	term := r.proposer.Term()
	r.follow()
	r.lead(term + 1)
}

// TestRuleT1Order: an entry whose stamp is not above all before it has no effect.
func TestRuleT1Order(t *testing.T) {
	r := openTest(t, t.TempDir())
	first := commitRow(t, r, rowKey(1), "one")
	commitRow(t, r, rowKey(1), "two")
	e := logentry.Commit{ID: txn.NewID(), Writes: logentry.AppendOp(nil, logentry.OpPut, rowKey(1), []byte("late"))}
	b := e.Encode()
	logentry.SetStamp(b, first)
	resp, _, err := r.Group.raft.Propose(b).Done()
	if err != nil || resp != resRejected {
		t.Errorf("an entry stamped into the past: %v, %v", resp, err)
	}
	if v, err := r.Tx(txn.ID{}).View(t.Context(), first); err != nil {
		t.Error(err)
	} else {
		defer v.Close()
		if b, err := v.Get(t.Context(), rowKey(1)); string(b) != "one" || err != nil {
			t.Errorf("the past has become %q, %v", b, err)
		}
	}
}

// TestRuleT2Read: nothing commits below a read that was served.
func TestRuleT2Read(t *testing.T) {
	now := time.Now()
	r := openTest(t, t.TempDir(), stillClock(now))
	T := txn.FromTime(now.Add(2 * time.Second))
	v, err := r.Tx(txn.ID{}).View(t.Context(), T)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	if ts := commitRow(t, r, rowKey(1), "late"); ts <= T {
		t.Errorf("a commit at %s after a read at %s", ts, T)
	}
	if b, err := v.Get(t.Context(), rowKey(1)); b != nil || err != nil {
		t.Errorf("the snapshot has changed: %q, %v", b, err)
	}
}

// TestRuleT2Floor: a commit is above what its transaction has read elsewhere.
func TestRuleT2Floor(t *testing.T) {
	now := time.Now()
	r := openTest(t, t.TempDir(), stillClock(now))
	floor := txn.FromTime(now.Add(2 * time.Second))
	tx := r.Tx(txn.NewID())
	if err := errors.Join(tx.LockNewest(t.Context(), rowKey(1)), tx.Put(rowKey(1), []byte("x"))); err != nil {
		t.Fatal(err)
	}
	if ts, err := tx.Commit(t.Context(), txn.CommitRequest{Floor: floor}); ts <= floor || err != nil {
		t.Errorf("a commit at %s by a transaction that has read at %s: %v", ts, floor, err)
	}
}

// TestRuleT3Proposed: a read waits for what was proposed at or below its timestamp.
func TestRuleT3Proposed(t *testing.T) {
	g := newGate()
	r := openTest(t, t.TempDir(), g.config)
	commitRow(t, r, rowKey(1), "old")
	// The read itself must not need an entry.
	if err := r.proposer.Cover(r.cfg.Clock.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	release := g.shut(t)
	done := make(chan error, 1)
	go func() {
		_, err := tryRow(r, rowKey(1), "new")
		done <- err
	}()
	<-g.proposed
	T := r.proposer.LowWater()
	if v, err := r.Tx(txn.ID{}).View(canceled(), T); !errors.Is(err, context.Canceled) {
		t.Errorf("a read at %s is served before what was proposed then: %v", T, err)
		if err == nil {
			v.Close()
		}
	}
	release()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// TestRuleT4ReadLease: the next leader, whose clock is behind, commits above what the last one has
// served.
func TestRuleT4ReadLease(t *testing.T) {
	now := time.Now()
	c := openCluster(t, tempDirs(t, 1), stillClock(now))
	T := txn.FromTime(now.Add(5 * time.Second))
	v, err := c.rs[0].Tx(txn.ID{}).View(t.Context(), T)
	if err != nil {
		t.Fatal(err)
	}
	v.Close()
	after := c.crash(stillClock(now))
	if ts := commitRow(t, after.rs[0], rowKey(1), "late"); ts <= T {
		t.Errorf("a commit at %s after the last leader has served a read at %s", ts, T)
	}
}

// TestRuleT4Locks: rows prepared under the last leader are locked under the next.
func TestRuleT4Locks(t *testing.T) {
	c := openCluster(t, tempDirs(t, 2), slowRecovery)
	id := txn.NewID()
	parts := c.put(id, rowKey(1), "new")
	p := txn.PrepareRequest{C: c.co.Clock.Now() + 1<<16, Coordinator: 1, Attempt: 1, Writers: []txn.FragmentID{1, 2}}
	if err := parts[1].Prepare(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	r := c.rs[1]
	r.cfg.Others.Outcome = func(context.Context, txn.FragmentID, txn.ID, txn.Timestamp) (txn.Outcome, error) {
		return txn.Unknown, proposer.ErrNotLeader // the coordinator fragment is out of reach
	}
	nextTerm(r)
	other := r.Tx(txn.NewID())
	if _, err := other.Lock(t.Context(), rowKey(1),
		txn.LockRequest{Mode: txn.KeyShare, T: txn.MaxTimestamp, NoWait: true}); !errors.Is(err, txn.ErrLocked) {
		t.Errorf("a lock of a prepared row: %v", err)
	}
	other.Rollback()
	parts[0].Rollback()
	if err := r.Outcomes.Resolve(txn.Decision{ID: id, C: p.C, Outcome: txn.Aborted}); err != nil {
		t.Fatal(err)
	}
}

// TestRuleT6Prepared is "commit over A and B, hold B's resolve, read B alone: sees it". All that
// follows the acknowledgement is held.
func TestRuleT6Prepared(t *testing.T) {
	c := openCluster(t, tempDirs(t, 2), slowRecovery)
	ctx := testContext(t)
	b := c.rs[1]
	for _, r := range c.rs {
		commitRow(t, r, rowKey(1), "old")
	}
	id := txn.NewID()
	for id.CoordinatorOf(2) != 0 { // A decides
		id = txn.NewID()
	}
	var resolves []func()
	parts := c.put(id, rowKey(1), "new")
	c.co.Background = func(resolve func()) { resolves = append(resolves, resolve) }
	C, err := c.co.Commit(ctx, id, 0, parts)
	if err != nil {
		t.Fatal(err)
	}
	T, err := b.Snapshot(ctx)
	if err != nil || T < C {
		t.Errorf("a statement on B alone reads at %s, the commit at %s was acknowledged: %v", T, C, err)
	}
	v, err := b.Tx(txn.ID{}).View(ctx, T)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	if got, err := v.Get(canceled(), rowKey(1)); !errors.Is(err, context.Canceled) {
		t.Errorf("B answers %q before it has heard of the decision: %v", got, err)
	}
	for _, resolve := range resolves {
		resolve()
	}
	if got, err := v.Get(ctx, rowKey(1)); string(got) != "new" || err != nil {
		t.Errorf("B does not see the acknowledged commit: %q, %v", got, err)
	}
}

// TestRuleT7Forget: a commit is remembered until its writers have applied it.
func TestRuleT7Forget(t *testing.T) {
	c := openCluster(t, tempDirs(t, 2), slowRecovery)
	id := txn.NewID()
	parts := c.put(id, rowKey(1), "new")
	d := txn.Decision{ID: id, C: c.co.Clock.Now() + 1<<16, Outcome: txn.Committed, Writers: []txn.FragmentID{1, 2}}
	for _, p := range parts {
		if err := p.Prepare(t.Context(),
			txn.PrepareRequest{C: d.C, Coordinator: 1, Attempt: 1, Writers: d.Writers}); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := parts[0].Decide(t.Context(), d); out != txn.Committed {
		t.Fatal(out, err)
	}
	a := c.rs[0]
	a.txns.mu.RLock()
	decided := a.txns.decided[id]
	a.txns.mu.RUnlock()
	reach := a.cfg.Others.Resolve
	a.cfg.Others.Resolve = func(context.Context, txn.FragmentID, txn.Decision) error { return proposer.ErrNotLeader }
	a.Outcomes.push(decided)
	a.cfg.Others.Resolve = reach
	a.Outcomes.forgets.mu.Lock()
	forgotten := len(a.Outcomes.forgets.ids)
	a.Outcomes.forgets.mu.Unlock()
	if forgotten != 0 {
		t.Error("the decision is forgotten, and a writer has not heard of it")
	}
	a.Outcomes.forgets.flush(a.log)
	c.rs[1].Outcomes.ask(&preparedTxn{id: id, Writer: protocol.Writer[txn.Timestamp]{C: d.C}, coordinator: 1,
		writers: d.Writers})
	if got := readRow(t, c.rs[1], rowKey(1)); got != "new" {
		t.Errorf("the other writer asks the coordinator fragment, and then has %q", got)
	}
}

// cutOffPart is a participant whose answer to Prepare comes late.
type cutOffPart struct {
	txn.Participant
	prepare func(context.Context, txn.PrepareRequest) error
}

func (p cutOffPart) Prepare(ctx context.Context, req txn.PrepareRequest) error {
	return p.prepare(ctx, req)
}

// TestRuleT7Record: a transaction is recovered, resolved and forgotten while its coordinator waits
// for an answer. The writer says then that it is not prepared, and never will be; the coordinator
// fragment knows better.
func TestRuleT7Record(t *testing.T) {
	c := openCluster(t, tempDirs(t, 2), slowRecovery)
	id := txn.NewID()
	parts := c.put(id, rowKey(1), "new")
	coordinator := id.CoordinatorOf(2)
	a, w := c.rs[coordinator], c.rs[1-coordinator]
	prepared := make(chan struct{})
	late := make([]txn.Participant, 2)
	late[coordinator] = cutOffPart{parts[coordinator], func(ctx context.Context, req txn.PrepareRequest) error {
		defer close(prepared)
		return parts[coordinator].Prepare(ctx, req)
	}}
	late[1-coordinator] = cutOffPart{parts[1-coordinator], func(ctx context.Context, req txn.PrepareRequest) error {
		if err := parts[1-coordinator].Prepare(ctx, req); err != nil {
			return err
		}
		<-prepared
		if out, err := a.Outcomes.Outcome(ctx, id, req.C); out != txn.Committed {
			t.Errorf("recovered: %v, %v", out, err)
		}
		a.txns.mu.RLock()
		decided := a.txns.decided[id]
		a.txns.mu.RUnlock()
		a.Outcomes.push(decided)
		a.Outcomes.forgets.flush(a.log)
		if yes, err := w.Outcomes.HasPrepared(id, req.C); yes || err != nil {
			t.Errorf("the writer has resolved it, and says that it is prepared: %v, %v", yes, err)
		}
		return txn.NewLost(w.cfg.Fragment, true)
	}}
	if _, err := c.co.Commit(t.Context(), id, 0, late); err != nil {
		t.Errorf("it was committed, and the client is told %v", err)
	}
	for i, r := range c.rs {
		if got := readRow(t, r, rowKey(1)); got != "new" {
			t.Errorf("fragment %d has %q", i, got)
		}
	}
	for _, d := range []txn.Decision{{ID: id, C: a.Applied(), Outcome: txn.Aborted},
		{ID: txn.NewID(), C: a.Applied(), Outcome: txn.Aborted}} {
		want := txn.Aborted
		if d.ID == id {
			want = txn.Committed
		}
		for name, decide := range map[string]func(txn.Decision) (txn.Outcome, error){"decide": a.Outcomes.decide,
			"implicit commit": a.Outcomes.decideImplicit} {
			if out, err := decide(d); out != want || err != nil {
				t.Errorf("%s: %v, %v; want %v", name, out, err, want)
			}
		}
	}
}

// TestRuleT8Proposed: validation looks at what is on its way.
func TestRuleT8Proposed(t *testing.T) {
	g := newGate()
	c := openCluster(t, tempDirs(t, 1), g.config)
	commitRow(t, c.rs[0], rowKey(1), "old")
	s := c.serial()
	s.get(0, rowKey(1))
	if err := s.put(0, rowKey(2), "from old"); err != nil {
		t.Fatal(err)
	}
	release := g.shut(t)
	other, own := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := tryRow(c.rs[0], rowKey(1), "new")
		other <- err
	}()
	<-g.proposed
	go func() {
		_, err := c.co.Commit(canceled(), s.id, s.T, s.participants())
		own <- err
	}()
	select {
	case <-g.proposed: // its commit is in the log's queue, behind what it has not seen
		release()
		if err := <-own; err == nil {
			t.Error("committed, though what it has read was being written")
		}
	case err := <-own:
		if err == nil {
			t.Error("committed, though what it has read was being written")
		}
		release()
	}
	if err := <-other; err != nil {
		t.Fatal(err)
	}
}

// TestRuleT8ReadLease: after a check at C nothing commits at or below C, at this leader or at the
// next, however far behind its clock is.
func TestRuleT8ReadLease(t *testing.T) {
	now := time.Now()
	c := openCluster(t, tempDirs(t, 1), stillClock(now))
	commitRow(t, c.rs[0], rowKey(1), "old")
	s := c.serial()
	s.get(0, rowKey(1))
	C := txn.FromTime(now.Add(4 * time.Second))
	if err := s.parts[0].Check(testContext(t), C); err != nil {
		t.Fatal(err)
	}
	after := c.crash(stillClock(now))
	for when, r := range map[string]*Replica{"this leader": c.rs[0], "the next": after.rs[0]} {
		if ts := commitRow(t, r, rowKey(1), "new"); ts <= C {
			t.Errorf("%s: a commit at %s after a check at %s", when, ts, C)
		}
	}
}

// TestRuleBufferTerm: what was buffered under the locks of an earlier term cannot be committed.
func TestRuleBufferTerm(t *testing.T) {
	r := openTest(t, t.TempDir(), slowRecovery)
	commitRow(t, r, rowKey(1), "one")
	tx := r.Tx(txn.NewID())
	if err := tx.LockNewest(t.Context(), rowKey(1)); err != nil {
		t.Fatal(err)
	}
	was, err := tx.Newest(t.Context(), rowKey(1))
	if err == nil {
		err = tx.Put(rowKey(1), append(was, " and more"...))
	}
	if err != nil {
		t.Fatal(err)
	}
	nextTerm(r)
	commitRow(t, r, rowKey(1), "two") // the lock went with the term
	if err := tx.Put(rowKey(2), []byte("x")); !pgerr.Is(err, pgerr.SerializationFailure) {
		t.Errorf("a second statement: %v", err)
	}
	if _, err := tx.View(t.Context(), r.Applied()); !pgerr.Is(err, pgerr.SerializationFailure) {
		t.Errorf("a read of what it had buffered: %v", err)
	}
	if _, err := tx.Commit(t.Context(), txn.CommitRequest{}); !pgerr.Is(err, pgerr.SerializationFailure) {
		t.Errorf("commit: %v", err)
	}
	if got := readRow(t, r, rowKey(1)); got != "two" {
		t.Errorf("lost update: %q", got)
	}
}

// TestRuleCommitOnce: a commit entry that comes twice, since its first answer was lost, applies
// once.
func TestRuleCommitOnce(t *testing.T) {
	r := openTest(t, t.TempDir())
	e := logentry.Commit{ID: txn.NewID(), Writes: logentry.AppendOp(nil, logentry.OpPut, rowKey(1), []byte("one"))}
	for n, next := range []string{"two", "three"} {
		if res, _, err := r.log.run(e.Encode(), 0); res != resDone || err != nil {
			t.Fatal(res, err)
		}
		if got := readRow(t, r, rowKey(1)); n == 1 && got != "two" {
			t.Errorf("applied again: %q", got)
		}
		commitRow(t, r, rowKey(1), next)
	}
}

// TestForeignKeyLockOutlivesItsLeader: a row inserted in one fragment relies on its parent in
// another, whose KEY SHARE lock must not be lost with its leader, else the parent is deleted
// meanwhile.
func TestForeignKeyLockOutlivesItsLeader(t *testing.T) {
	open := func(t *testing.T) (c *cluster, child, parent *Tx) {
		c = openCluster(t, tempDirs(t, 2), slowRecovery)
		commitRow(t, c.rs[1], rowKey(1), "parent")
		id := txn.NewID()
		child, parent = c.rs[0].Tx(id), c.rs[1].Tx(id)
		_, err := parent.Lock(t.Context(), rowKey(1),
			txn.LockRequest{Mode: txn.KeyShare, T: txn.MaxTimestamp, Pin: true})
		if err := errors.Join(err, child.LockNewest(t.Context(), rowKey(2)),
			child.Put(rowKey(2), []byte("child"))); err != nil {
			t.Fatal(err)
		}
		return c, child, parent
	}
	deleteParent := func(r *Replica) error {
		tx := r.Tx(txn.NewID())
		defer tx.Rollback()
		if _, err := tx.Lock(t.Context(), rowKey(1),
			txn.LockRequest{Mode: txn.Update, T: txn.MaxTimestamp, NoWait: true}); err != nil {
			return err
		}
		if err := tx.Delete(rowKey(1)); err != nil {
			return err
		}
		_, err := tx.Commit(t.Context(), txn.CommitRequest{})
		return err
	}
	t.Run("the leader changes before the commit", func(t *testing.T) {
		c, child, parent := open(t)
		nextTerm(c.rs[1])
		if err := deleteParent(c.rs[1]); err != nil {
			t.Fatal(err)
		}
		_, err := c.co.Commit(t.Context(), child.id, 0, []txn.Participant{child, parent})
		if !pgerr.Is(err, pgerr.SerializationFailure) {
			t.Errorf("the child is committed, its parent deleted: %v", err)
		}
		if got := readRow(t, c.rs[0], rowKey(2)); got != "" {
			t.Errorf("an orphan: %q", got)
		}
	})
	for _, crash := range []bool{false, true} {
		t.Run(fmt.Sprint("after the prepare, crash ", crash), func(t *testing.T) {
			c, child, parent := open(t)
			d := txn.Decision{ID: child.id, C: c.co.Clock.Now() + 1<<16, Outcome: txn.Committed,
				Writers: []txn.FragmentID{1, 2}}
			for _, p := range []*Tx{parent, child} {
				if err := p.Prepare(t.Context(),
					txn.PrepareRequest{C: d.C, Coordinator: 1, Attempt: 1, Writers: d.Writers}); err != nil {
					t.Fatal(err)
				}
			}
			r := c.rs[1]
			silent := func(cfg *Config) {
				slowRecovery(cfg)
				cfg.Others.Outcome = nil
			}
			if r.cfg.Others.Outcome = nil; !crash {
				nextTerm(r)
			} else {
				to := t.TempDir()
				copyTree(t, c.dirs[1], to)
				r = openTest(t, to, func(cfg *Config) { cfg.Fragment = 2 }, silent)
			}
			if err := deleteParent(r); !errors.Is(err, txn.ErrLocked) {
				t.Errorf("the parent of a child that may be committed: %v", err)
			}
			if out, err := child.Decide(t.Context(), d); out != txn.Committed {
				t.Fatal(out, err)
			}
			if err := r.Outcomes.Resolve(d); err != nil {
				t.Fatal(err)
			}
			if err := deleteParent(r); err != nil {
				// a transaction that deletes it now finds the child
				t.Errorf("after the commit: %v", err)
			}
			if crash {
				if err := c.rs[1].Outcomes.Resolve(d); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
