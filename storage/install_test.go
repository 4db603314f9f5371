package storage

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/sherddb/sherd/storage/install"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/txn"
)

// largeRows is how many rows the large transactions of these tests write: about four pieces.
const largeRows = 40

// largeValue is what row n has after such a transaction.
func largeValue(n int) string { return fmt.Sprint(n, strings.Repeat("L", 20_000)) }

// bufferLarge buffers a large write set, in a file.
func bufferLarge(t testing.TB, r *Replica, from int) *Tx {
	t.Helper()
	tx := r.Tx(txn.NewID())
	for n := from; n < from+largeRows; n++ {
		if err := tx.LockNewest(t.Context(), rowKey(n)); err != nil {
			t.Fatal(err)
		}
		if err := tx.Put(rowKey(n), []byte(largeValue(n))); err != nil {
			t.Fatal(err)
		}
	}
	return tx
}

func commitLarge(t testing.TB, r *Replica, from int) txn.Timestamp {
	t.Helper()
	ts, err := bufferLarge(t, r, from).Commit(t.Context(), txn.CommitRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return ts
}

// installGate holds installations up while it is shut.
type installGate struct {
	mu   sync.Mutex
	shut chan struct{} // nil: open; guarded by mu
	held chan struct{} // closed when the installer waits at the gate; guarded by mu
	at   int           // pieces passed; guarded by mu
	stop int           // it shuts behind so many; guarded by mu
	all  bool          // pieces that readers wait for are held up too; set before it is used
}

func (g *installGate) config(c *Config) {
	slowRecovery(c)
	c.Limits.BufferMemory = 64 << 10
	c.Knobs.Fault = func(point string) {
		wanted := point == "install.wanted" && g.all
		if point != "install.piece" && !wanted {
			return
		}
		g.mu.Lock()
		shut := g.shut
		if !wanted {
			if g.at++; g.at <= g.stop {
				shut = nil
			}
			if g.at == g.stop+1 && shut != nil {
				close(g.held)
			}
		}
		g.mu.Unlock()
		if shut != nil {
			<-shut
		}
	}
}

// close shuts the gate behind so many pieces, and returns a function that opens it.
func (g *installGate) close(t testing.TB, behind int) func() {
	g.mu.Lock()
	defer g.mu.Unlock()
	shut := make(chan struct{})
	g.shut, g.held, g.at, g.stop = shut, make(chan struct{}), 0, behind
	open := sync.OnceFunc(func() {
		g.mu.Lock()
		g.shut = nil
		g.mu.Unlock()
		close(shut)
	})
	t.Cleanup(open)
	return open
}

// awaitHeld waits until the installer waits at the gate. Before that, readers may have every piece
// installed, and the installer would then end without one of its own.
func (g *installGate) awaitHeld() {
	g.mu.Lock()
	held := g.held
	g.mu.Unlock()
	<-held
}

func checkLarge(t testing.TB, r *Replica, from int) {
	t.Helper()
	for n := from; n < from+largeRows; n++ {
		if got := readRow(t, r, rowKey(n)); got != largeValue(n) {
			t.Fatalf("row %d is %.20q", n, got)
		}
	}
}

// TestRuleT3Installed: a reader or a locker of one row of a large commit that is not installed yet
// gets it, and one of many rows waits.
func TestRuleT3Installed(t *testing.T) {
	for behind := range 3 {
		t.Run(fmt.Sprint(behind), func(t *testing.T) { testInstalling(t, behind) })
	}
}

func testInstalling(t *testing.T, behind int) {
	g := &installGate{all: true}
	r := openTest(t, t.TempDir(), g.config)
	commitRow(t, r, rowKey(3), "old")
	before := r.Applied()
	open := g.close(t, behind)
	at := commitLarge(t, r, 0)
	if out, C, err := r.Outcomes.query(txn.NewID()); out != txn.Unknown || err != nil {
		t.Fatal(out, C, err)
	}
	commitRow(t, r, rowKey(1000), "beside")
	if got := readRow(t, r, rowKey(1000)); got != "beside" {
		t.Fatal(got)
	}
	v := viewAt(t, r, before)
	if b, err := v.Get(t.Context(), rowKey(3)); string(b) != "old" || err != nil {
		t.Errorf("below the commit: %q, %v", b, err)
	}
	last := rowKey(largeRows - 1)
	v = viewAt(t, r, r.Applied())
	if b, err := v.Get(t.Context(), last); string(b) != largeValue(largeRows-1) || err != nil {
		t.Errorf("a row that is not installed yet: %.20q, %v", b, err)
	}
	if err := v.Scan(canceled(), keyspace.TableSpan(20000), false, func(_, _ []byte) error { return nil }); err == nil {
		t.Error("a scan does not wait")
	}
	for _, req := range []txn.LockRequest{{Mode: txn.KeyShare}, {Mode: txn.Update}, {Mode: txn.Update, NoWait: true},
		{Mode: txn.Share, NoWait: true, Ending: true}} {
		tx := r.Tx(txn.NewID())
		if _, err := tx.lock(t.Context(), last, req); err != nil {
			t.Fatalf("a lock %+v of a row that is not installed yet: %v", req, err)
		}
		if b, err := tx.Newest(t.Context(), last); string(b) != largeValue(largeRows-1) || err != nil {
			t.Errorf("a row that is not installed yet, locked %+v: %.20q, %v", req, b, err)
		}
		tx.Rollback()
	}
	serializable := r.Tx(txn.NewID())
	serializable.TrackReads()
	v, err := serializable.View(t.Context(), at-1)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := v.Get(t.Context(), last); b != nil || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	v.Close()
	if err := serializable.Check(canceled(), r.Applied()); !errors.Is(err, context.Canceled) {
		t.Errorf("a check of reads does not wait: %v", err)
	}
	open()
	checkLarge(t, r, 0)
	if err := serializable.Check(t.Context(), r.Applied()); err == nil {
		t.Error("what was read has changed, and the check passes")
	}
	r.installs.Wait()
	if n := r.txns.undecided.Load(); n != 0 {
		t.Errorf("%d are undecided", n)
	}
}

func viewAt(t testing.TB, r *Replica, T txn.Timestamp) *View {
	t.Helper()
	v, err := r.Tx(txn.ID{}).View(t.Context(), T)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	return v
}

// TestCrashWhileInstalling kills the replica at each piece, with a checkpoint before or behind the
// commit, by all ways that a commit takes.
func TestCrashWhileInstalling(t *testing.T) {
	for _, way := range []string{"commit", "resolve", "log outcome", "held"} {
		for _, behind := range []int{0, 2} {
			for _, checkpoint := range []bool{false, true} {
				if testing.Short() && !checkpoint {
					continue
				}
				t.Run(fmt.Sprint(way, " behind ", behind, ", checkpoint ", checkpoint), func(t *testing.T) {
					crashInstalling(t, way, behind, checkpoint)
				})
			}
		}
	}
}

func crashInstalling(t *testing.T, way string, behind int, checkpoint bool) {
	g, dir, crashed := &installGate{}, t.TempDir(), t.TempDir()
	open := g.close(t, behind)
	r := openTest(t, dir, small, g.config)
	commitRow(t, r, rowKey(3), "old")
	commitBy(t, r, way)
	if checkpoint {
		for n := range 100 { // tables and checkpoints come, and the log is cut as far as may be
			commitRow(t, r, rowKey(1000+n), strings.Repeat("c", 100_000))
		}
		if err := r.Group.raft.Snapshot(); err != nil {
			t.Fatal(err)
		}
	}
	copyTree(t, dir, crashed)
	open()
	checkLarge(t, r, 0)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time after an orderly end
		r := openTest(t, crashed, small, slowRecovery)
		checkLarge(t, r, 0)
		r.installs.Wait()
		commitRow(t, r, rowKey(1), "later")
		if got := readRow(t, r, rowKey(1)); got != "later" {
			t.Fatal(got)
		}
		commitRow(t, r, rowKey(1), largeValue(1))
		if n := len(r.machine.s.installing); n > 0 {
			t.Errorf("%d are installing", n)
		}
		if n := ownPieces(t, r); n > 0 {
			t.Errorf("%d pieces are left", n)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// commitBy commits a large transaction in one of the ways.
func commitBy(t *testing.T, r *Replica, way string) {
	t.Helper()
	tx := bufferLarge(t, r, 0)
	d := txn.Decision{ID: tx.ID(), Outcome: txn.Committed, Writers: []txn.FragmentID{1, 9}}
	req := txn.PrepareRequest{Coordinator: 9, Writers: d.Writers}
	prepare := func() error { // as a coordinator does: what was promised meanwhile is stepped over
		for {
			d.C = max(d.C, r.cfg.Clock.Now().Add(300*time.Millisecond))
			req.C, req.Attempt = d.C, req.Attempt+1
			err := tx.Prepare(t.Context(), req)
			var low *txn.LowError
			if !errors.As(err, &low) {
				return err
			}
			d.C = max(d.C, low.LowWater+1)
		}
	}
	var err error
	switch way {
	case "commit":
		_, err = tx.Commit(t.Context(), txn.CommitRequest{})
	case "resolve":
		if err = prepare(); err == nil {
			err = r.Outcomes.Resolve(d)
		}
	case "log outcome":
		req.Coordinator, req.Implicit = 1, true
		if err = prepare(); err == nil {
			_, err = r.Outcomes.decideImplicit(d)
		}
	case "held":
		request := PreparationRequest{PreparationRequest: txn.PreparationRequest{GID: "g", Owner: 10, Database: 5}, Home: 1,
			Writers: []txn.FragmentID{1}}
		if err = tx.PrepareTransaction(t.Context(), request); err != nil {
			break
		}
		r.machine.mu.Lock()
		err = r.machine.checkpoint() // its pieces come under own keys
		r.machine.mu.Unlock()
		if err == nil {
			_, err = tx.Commit(t.Context(), txn.CommitRequest{})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

func ownPieces(t *testing.T, r *Replica) (n int) {
	t.Helper()
	tx := r.db.At(txn.MaxTimestamp)
	defer tx.Close()
	if err := tx.EachRecord(keyspace.Piece, func(_, _ []byte) error { n++; return nil }); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestCloseWhileInstalling ends a replica in order; the next start goes on.
func TestCloseWhileInstalling(t *testing.T) {
	g, dir := &installGate{}, t.TempDir()
	r := openTest(t, dir, g.config)
	open := g.close(t, 1)
	commitLarge(t, r, 0)
	closed := make(chan error)
	go func() { closed <- r.Close() }()
	<-r.stopper.Stopped()
	open()
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	checkLarge(t, openTest(t, dir), 0)
}

// TestDropWaitsForInstall: a table dropped behind a large commit loses the rows too that come
// later.
func TestDropWaitsForInstall(t *testing.T) {
	g := &installGate{}
	r := openTest(t, t.TempDir(), g.config)
	open := g.close(t, 1)
	commitLarge(t, r, 0)
	if err := r.DeleteSpan(t.Context(), keyspace.TableSpan(20000)); err != nil {
		t.Fatal(err)
	}
	open()
	r.drops.wait()
	v := viewAt(t, r, r.Applied())
	if err := v.Scan(t.Context(), keyspace.TableSpan(20000), false,
		func(k, _ []byte) error { return fmt.Errorf("%x is left", k) }); err != nil {
		t.Fatal(err)
	}
}

// TestLogOfInstalling: the log stays as long as rows are to be read from it, and goes afterwards;
// versions are not discarded above them.
func TestLogOfInstalling(t *testing.T) {
	g := &installGate{}
	r := openTest(t, t.TempDir(), small, g.config)
	open := g.close(t, 0)
	last, err := r.Group.raft.Log().LastIndex()
	if err != nil {
		t.Fatal(err)
	}
	at := commitLarge(t, r, 0)
	first := func() uint64 {
		for n := range 100 {
			commitRow(t, r, rowKey(1000+n), strings.Repeat("c", 100_000))
		}
		if err := r.Group.raft.Snapshot(); err != nil {
			t.Fatal(err)
		}
		n, err := r.Group.raft.Log().FirstIndex()
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := first(); n > last+1 {
		t.Errorf("the log begins at %d", n)
	}
	if T := r.txns.oldestNeeded(); T >= at {
		t.Errorf("versions are needed from %s on, below %s", T, at)
	}
	open()
	checkLarge(t, r, 0)
	r.installs.Wait()
	if n := first(); n < 20 {
		t.Errorf("the log begins at %d", n)
	}
}

// TestManyInstalls commits more large transactions than may wait to be installed: the next one
// waits before it goes to the log.
func TestManyInstalls(t *testing.T) {
	g := &installGate{}
	r := openTest(t, t.TempDir(), g.config)
	open := g.close(t, 0)
	for n := range install.MaxWaiting {
		commitLarge(t, r, 100*n)
	}
	tx := bufferLarge(t, r, 900)
	done := make(chan error)
	go func() {
		_, err := tx.Commit(context.Background(), txn.CommitRequest{})
		done <- err
	}()
	commitRow(t, r, rowKey(2000), "small")
	select {
	case err := <-done:
		t.Error("it does not wait", err)
	default:
	}
	open()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 100, 900} {
		checkLarge(t, r, n)
	}
}

// TestFollowerOfInstalling streams a database while rows are being installed, and installs at the
// follower.
func TestFollowerOfInstalling(t *testing.T) {
	addrA, transA := raft.NewInmemTransport("a")
	addrB, transB := raft.NewInmemTransport("b")
	transA.Connect(addrB, transB)
	transB.Connect(addrA, transA)
	g := &installGate{}
	a := openTest(t, t.TempDir(), small, g.config, func(c *Config) {
		c.Group.Node, c.Group.Transport = "a", transA
		c.Group.Peers = []raft.Server{{ID: "a", Address: addrA}}
	})
	fillAndCut(t, a)
	open := g.close(t, 1)
	commitLarge(t, a, 1000)
	b, err := Open(Config{Dir: t.TempDir(), Fragment: 1, Clock: txn.NewClock(nil, 0), Logger: quiet,
		Group: GroupConfig{Node: "b", Transport: transB, Join: true}, Disk: Disk{MemTable: 2 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := a.Group.raft.Raft().AddNonvoter("b", addrB, 0, 0).Error(); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(10*time.Millisecond, open) // the stream may have begun, or not
	catchUp(t, a, b)
	commitLarge(t, a, 2000)
	commitRow(t, a, rowKey(1), "later")
	catchUp(t, a, b)
	a.installs.Wait()
	b.installs.Wait()
	same(t, a, b)
}

// TestPaceCountsCommits: small commits of a replica count for the installers of its node, and parts
// of large ones do not.
func TestPaceCountsCommits(t *testing.T) {
	g := &installGate{}
	r := openTest(t, t.TempDir(), g.config)
	g.close(t, 0)
	before := r.cfg.Pace.Commits()
	commitLarge(t, r, 0)
	g.awaitHeld()
	if n := r.cfg.Pace.Commits(); n != before {
		t.Errorf("a large commit counts as %d small ones", n-before)
	}
	commitRow(t, r, rowKey(1000), "small")
	if n := r.cfg.Pace.Commits(); n != before+1 {
		t.Errorf("a small commit counts as %d", n-before)
	}
}
