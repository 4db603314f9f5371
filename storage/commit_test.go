package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand"
	"sync"
	"testing"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn"
)

// cluster is some fragments of one process that can be crashed and reopened together.
type cluster struct {
	t    testing.TB
	dirs []string
	rs   []*Replica
	co   *txn.Coordinator
}

func openCluster(t testing.TB, dirs []string, change ...func(*Config)) *cluster {
	t.Helper()
	peers, clock, dead := NewPeers(), txn.NewClock(nil, 0), txn.NewDetector()
	c := &cluster{t: t, dirs: dirs, co: &txn.Coordinator{Clock: clock}}
	for i, dir := range dirs {
		r := openTest(t, dir, append([]func(*Config){func(c *Config) {
			c.Fragment, c.Clock, c.Deadlock = FragmentID(i+1), clock, dead
			c.AskOutcome, c.SendResolve = peers.AskOutcome, peers.SendResolve
			c.RecoverAfter = 300 * time.Millisecond
		}}, change...)...)
		peers.Add(r)
		c.rs = append(c.rs, r)
	}
	return c
}

func tempDirs(t testing.TB, n int) (dirs []string) {
	for range n {
		dirs = append(dirs, t.TempDir())
	}
	return dirs
}

// crash reopens copies of the directories as a kill would leave them.
func (c *cluster) crash() *cluster {
	to := tempDirs(c.t, len(c.dirs))
	for i, d := range c.dirs {
		copyTree(c.t, d, to[i])
	}
	return openCluster(c.t, to)
}

// put stages the same row in every fragment.
func (c *cluster) put(id txn.ID, key []byte, value string) (parts []txn.Participant) {
	c.t.Helper()
	for _, r := range c.rs {
		tx := r.Tx(id)
		if err := tx.LockNewest(testContext(c.t), key); err != nil {
			c.t.Fatal(err)
		}
		if err := tx.Put(key, []byte(value)); err != nil {
			c.t.Fatal(err)
		}
		parts = append(parts, tx)
	}
	return parts
}

// all reads key in every fragment at one timestamp.
func (c *cluster) all(key []byte) (out []string) {
	c.t.Helper()
	ctx := testContext(c.t)
	var T txn.Timestamp
	for _, r := range c.rs {
		t, err := r.Snapshot(ctx)
		if err != nil {
			c.t.Fatal(err)
		}
		T = max(T, t)
	}
	for _, r := range c.rs {
		v, err := r.Tx(txn.ID{}).View(ctx, T)
		if err != nil {
			c.t.Fatal(err)
		}
		b, err := v.Get(ctx, key)
		v.Close()
		if err != nil {
			c.t.Fatal(err)
		}
		out = append(out, string(b))
	}
	return out
}

func TestCommitOverFragments(t *testing.T) {
	c := openCluster(t, tempDirs(t, 3))
	for i := range 20 {
		id := txn.NewID()
		C, err := c.co.Commit(testContext(t), id, 0, c.put(id, rowKey(1), fmt.Sprint("v", i)))
		if err != nil || C == 0 {
			t.Fatal(C, err)
		}
		if got := fmt.Sprint(c.all(rowKey(1))); got != fmt.Sprintf("[v%d v%d v%d]", i, i, i) {
			t.Fatalf("after commit %d: %s", i, got)
		}
	}
	if got := fmt.Sprint(c.crash().all(rowKey(1))); got != "[v19 v19 v19]" {
		t.Fatal(got)
	}
}

// TestCoordinatorDies stops after each step of a commit over three fragments, in the same process and with a crash.
func TestCoordinatorDies(t *testing.T) {
	steps := []struct {
		name     string
		prepared int // fragments that prepared
		decided  bool
		want     string
	}{
		{"staged", 0, false, "[old old old]"},
		{"one prepared", 1, false, "[old old old]"},
		{"all prepared", 3, false, "[old old old]"},
		{"decided", 3, true, "[new new new]"},
	}
	for _, s := range steps {
		for _, crash := range []bool{false, true} {
			t.Run(fmt.Sprint(s.name, " crash ", crash), func(t *testing.T) {
				c := openCluster(t, tempDirs(t, 3), func(c *Config) { c.RecoverLive = 300 * time.Millisecond })
				ctx := testContext(t)
				id := txn.NewID()
				if _, err := c.co.Commit(ctx, id, 0, c.put(id, rowKey(1), "old")); err != nil {
					t.Fatal(err)
				}
				id = txn.NewID()
				parts := c.put(id, rowKey(1), "new")
				C := c.co.Clock.Now() + 1<<16
				writers := []txn.FragmentID{1, 2, 3}
				for _, p := range parts[:s.prepared] {
					if err := p.Prepare(ctx, txn.PrepareRequest{C: C, Anchor: 2, Attempt: 1, Writers: writers}); err != nil {
						t.Fatal(err)
					}
				}
				if s.decided {
					if out, err := parts[1].Decide(ctx, txn.Decision{ID: id, C: C, Outcome: txn.Committed, Writers: writers}); out != txn.Committed {
						t.Fatal(out, err)
					}
				}
				if crash {
					c = c.crash()
				}
				for _, p := range parts[s.prepared:] {
					p.Rollback()
				}
				if got := fmt.Sprint(c.all(rowKey(1))); got != s.want {
					t.Fatalf("got %s want %s", got, s.want)
				}
				// The row is free again.
				id = txn.NewID()
				if _, err := c.co.Commit(ctx, id, 0, c.put(id, rowKey(1), "next")); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

func TestLatePrepareIsRefusedAfterAbort(t *testing.T) {
	c := openCluster(t, tempDirs(t, 2))
	ctx := testContext(t)
	id := txn.NewID()
	parts := c.put(id, rowKey(1), "x")
	C := c.co.Clock.Now() + 1<<16
	if out, err := c.rs[0].Outcome(id, C); out != txn.Aborted || err != nil {
		t.Fatal(out, err)
	}
	var low *txn.LowError
	err := parts[0].Prepare(ctx, txn.PrepareRequest{C: C, Anchor: 1, Attempt: 1, Writers: []txn.FragmentID{1, 2}})
	if !errors.As(err, &low) || low.Promised <= C {
		t.Fatalf("got %v", err)
	}
	txn.Rollback(parts)
}

func TestDecideWithoutPreparedIsUnknown(t *testing.T) {
	c := openCluster(t, tempDirs(t, 1))
	out, err := c.rs[0].decide(txn.Decision{ID: txn.NewID(), C: c.co.Clock.Now(), Outcome: txn.Committed})
	if out != txn.Unknown || err != nil {
		t.Fatal(out, err)
	}
}

func TestReaderWaitsForPrepared(t *testing.T) {
	c := openCluster(t, tempDirs(t, 2), func(c *Config) { c.RecoverAfter = time.Hour })
	ctx := testContext(t)
	commitRow(t, c.rs[0], rowKey(2), "other")
	id := txn.NewID()
	parts := c.put(id, rowKey(1), "new")
	C := c.co.Clock.Now() + 1
	for _, p := range parts {
		if err := p.Prepare(ctx, txn.PrepareRequest{C: C, Anchor: 2, Attempt: 1, Writers: []txn.FragmentID{1, 2}}); err != nil {
			t.Fatal(err)
		}
	}
	if got := readRow(t, c.rs[0], rowKey(2)); got != "other" {
		t.Fatalf("a row nobody prepared is readable: %q", got)
	}
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	T, _ := c.rs[0].Snapshot(ctx)
	v, err := c.rs[0].Tx(txn.ID{}).View(ctx, T)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	if _, err := v.Get(short, rowKey(1)); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("T3: a read at %s must wait for what is prepared at %s: %v", T, C, err)
	}
	if err := v.Scan(short, TableSpan(20000), false, func(_, _ []byte) error { return nil }); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("T3: so must a scan: %v", err)
	}
	d := txn.Decision{ID: id, C: C, Outcome: txn.Committed}
	if out, _ := parts[1].Decide(ctx, d); out != txn.Committed {
		t.Fatal(out)
	}
	if err := parts[0].Resolve(ctx, d); err != nil {
		t.Fatal(err)
	}
	if b, err := v.Get(ctx, rowKey(1)); string(b) != "new" || err != nil {
		t.Fatal(string(b), err)
	}
}

func TestTransfersKeepTheSum(t *testing.T) {
	c := openCluster(t, tempDirs(t, 3))
	const accounts, each = 12, 100
	for i := range accounts {
		commitRow(t, c.rs[i%3], rowKey(i), fmt.Sprint(each))
	}
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for w := range 6 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			rnd := rand.New(rand.NewSource(int64(w)))
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := c.transfer(rnd.Intn(accounts), rnd.Intn(accounts)); err != nil &&
					!pgerr.Is(err, pgerr.SerializationFailure) && !pgerr.Is(err, pgerr.DeadlockDetected) {
					t.Error(err)
					return
				}
			}
		}()
	}
	for range 50 {
		if sum := c.sum(accounts); sum != accounts*each {
			t.Errorf("a snapshot sees a sum of %d", sum)
			break
		}
	}
	close(stop)
	wg.Wait()
	if sum := c.crash().sum(accounts); sum != accounts*each {
		t.Errorf("after a crash the sum is %d", sum)
	}
}

func (c *cluster) transfer(from, to int) error {
	if from == to {
		return nil
	}
	ctx := context.Background()
	id := txn.NewID()
	x, y := c.rs[from%3].Tx(id), c.rs[to%3].Tx(id)
	parts := []txn.Participant{x, y}
	if x2 := c.rs[to%3]; from%3 == to%3 {
		y, parts = x, parts[:1]
		_ = x2
	}
	for i, tx := range []*Tx{x, y} {
		key, amount := rowKey(from), -1
		if i == 1 {
			key, amount = rowKey(to), 1
		}
		if err := tx.LockNewest(ctx, key); err != nil {
			txn.Rollback(parts)
			return err
		}
		b, err := tx.Newest(ctx, key)
		if err != nil {
			txn.Rollback(parts)
			return err
		}
		var n int
		fmt.Sscan(string(b), &n)
		if err := tx.Put(key, []byte(fmt.Sprint(n+amount))); err != nil {
			txn.Rollback(parts)
			return err
		}
	}
	_, err := c.co.Commit(ctx, id, 0, parts)
	return err
}

func (c *cluster) sum(accounts int) (sum int) {
	for _, r := range c.sumAt(accounts) {
		sum += r
	}
	return sum
}

func (c *cluster) sumAt(accounts int) (out []int) {
	c.t.Helper()
	ctx := testContext(c.t)
	var T txn.Timestamp
	for _, r := range c.rs {
		t, err := r.Snapshot(ctx)
		if err != nil {
			c.t.Fatal(err)
		}
		T = max(T, t)
	}
	for i := range accounts {
		v, err := c.rs[i%3].Tx(txn.ID{}).View(ctx, T)
		if err != nil {
			c.t.Fatal(err)
		}
		b, err := v.Get(ctx, rowKey(i))
		v.Close()
		if err != nil {
			c.t.Fatal(err)
		}
		var n int
		fmt.Sscan(string(b), &n)
		out = append(out, n)
	}
	return out
}

func TestDeadlockOverFragments(t *testing.T) {
	c := openCluster(t, tempDirs(t, 2))
	ctx := testContext(t)
	a, b := txn.NewID(), txn.NewID()
	a1, a2, b1, b2 := c.rs[0].Tx(a), c.rs[1].Tx(a), c.rs[0].Tx(b), c.rs[1].Tx(b)
	if err := errors.Join(a1.LockNewest(ctx, rowKey(1)), b2.LockNewest(ctx, rowKey(1))); err != nil {
		t.Fatal(err)
	}
	got := make(chan error, 2)
	go func() { err := a2.LockNewest(ctx, rowKey(1)); got <- err; a1.Rollback(); a2.Rollback() }()
	go func() { err := b1.LockNewest(ctx, rowKey(1)); got <- err; b1.Rollback(); b2.Rollback() }()
	x, y := <-got, <-got
	if !pgerr.Is(x, pgerr.DeadlockDetected) || y != nil {
		t.Fatalf("one must fail and let the other go on: %v, %v", x, y)
	}
}

func TestLockTimeout(t *testing.T) {
	r := openTest(t, t.TempDir())
	ctx := testContext(t)
	x, y := r.Tx(txn.NewID()), r.Tx(txn.NewID())
	if err := x.LockNewest(ctx, rowKey(1)); err != nil {
		t.Fatal(err)
	}
	y.SetLockTimeout(10 * time.Millisecond)
	if err := y.LockNewest(ctx, rowKey(1)); !pgerr.Is(err, pgerr.LockNotAvailable) {
		t.Fatalf("got %v", err)
	}
	x.Rollback()
	if err := y.LockNewest(ctx, rowKey(1)); err != nil {
		t.Fatal(err)
	}
	y.Rollback()
}

// TestLargeTransaction writes beyond one entry and one Badger transaction, with rows beyond one value.
func TestLargeTransaction(t *testing.T) {
	c := openCluster(t, tempDirs(t, 2), small)
	ctx := testContext(t)
	big := bytes.Repeat([]byte("0123456789abcdef"), 5<<20/16)
	for _, fragments := range []int{1, 2} {
		id := txn.NewID()
		var parts []txn.Participant
		for _, r := range c.rs[:fragments] {
			tx := r.Tx(id)
			for i := range 20 {
				value := big[:1+i*i*12_000]
				if err := tx.LockNewest(ctx, rowKey(i)); err != nil {
					t.Fatal(err)
				}
				if err := tx.Put(rowKey(i), value); err != nil {
					t.Fatal(err)
				}
			}
			parts = append(parts, tx)
		}
		before := countRows(t, c.rs[0])
		if before != 20*(fragments-1) {
			t.Fatalf("%d rows are seen before the commit", before)
		}
		if _, err := c.co.Commit(ctx, id, 0, parts); err != nil {
			t.Fatal(err)
		}
		after := c.crash()
		for i := range 20 {
			for f := range fragments {
				if got := readRow(t, after.rs[f], rowKey(i)); len(got) != 1+i*i*12_000 || got != string(big[:len(got)]) {
					t.Fatalf("fragment %d row %d has %d bytes", f, i, len(got))
				}
			}
		}
	}
	// A shorter value leaves no chunk behind.
	for i := range 20 {
		commitRow(t, c.rs[0], rowKey(i), "short")
	}
	T, _ := c.rs[0].Snapshot(ctx)
	b := c.rs[0].db.NewTransactionAt(uint64(T), false)
	defer b.Discard()
	if err := eachOwn(b, ownChunk, func(rest, _ []byte) error { return fmt.Errorf("chunk %x is left", rest) }); err != nil {
		t.Fatal(err)
	}
}

func TestPartsWithoutCommitAreForgotten(t *testing.T) {
	c := openCluster(t, tempDirs(t, 1), small)
	tx := c.rs[0].Tx(txn.NewID())
	value := make([]byte, 1<<20)
	for i := range 10 {
		if err := tx.LockNewest(testContext(t), rowKey(i)); err != nil {
			t.Fatal(err)
		}
		tx.Put(rowKey(i), value)
	}
	if err := tx.enter(); err != nil {
		t.Fatal(err)
	}
	pieces, _, err := tx.encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.sendParts(pieces); err != nil || tx.parts == 0 {
		t.Fatal(tx.parts, err)
	}
	after := c.crash()
	for deadline := time.Now().Add(10 * time.Second); ; {
		after.rs[0].smu.RLock()
		n := len(after.rs[0].parts)
		after.rs[0].smu.RUnlock()
		if n == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the parts of a dead transaction stay")
		}
		time.Sleep(10 * time.Millisecond)
	}
	if n := countRows(t, after.rs[0]); n != 0 {
		t.Fatalf("%d rows of a transaction that never committed", n)
	}
	tx.setPhase(phaseOpen)
	tx.Rollback()
}

func TestLimits(t *testing.T) {
	r := openTest(t, t.TempDir(), func(c *Config) { c.MaxRow, c.MaxStage = 1000, 5000 })
	tx := r.Tx(txn.NewID())
	defer tx.Rollback()
	if err := tx.Put(rowKey(1), make([]byte, 1001)); !pgerr.Is(err, pgerr.ProgramLimitExceeded) {
		t.Fatal(err)
	}
	if err := tx.Put(append(rowKey(1), make([]byte, MaxKey)...), nil); !pgerr.Is(err, pgerr.ProgramLimitExceeded) {
		t.Fatal(err)
	}
	var err error
	for i := 0; err == nil; i++ {
		if err = tx.Put(rowKey(i), make([]byte, 900)); i > 10 {
			t.Fatal("no end")
		}
	}
	if !pgerr.Is(err, pgerr.ProgramLimitExceeded) {
		t.Fatal(err)
	}
}

func TestFullDiskRefusesWritesOnly(t *testing.T) {
	dir := t.TempDir()
	r := openTest(t, dir)
	commitRow(t, r, rowKey(1), "x")
	r.Close()
	r = openTest(t, dir, func(c *Config) { c.MinFree = 1 << 60 })
	if _, err := tryRow(r, rowKey(1), "y"); !pgerr.Is(err, pgerr.DiskFull) {
		t.Fatalf("got %v", err)
	}
	if got := readRow(t, r, rowKey(1)); got != "x" {
		t.Fatalf("got %q", got)
	}
	r.minFree.Store(0)
	for deadline := time.Now().Add(10 * time.Second); r.diskFull.Load(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("room is not noticed")
		}
	}
	commitRow(t, r, rowKey(1), "y")
}

func TestDeleteSpan(t *testing.T) {
	dir := t.TempDir()
	r := openTest(t, dir, small)
	ctx := testContext(t)
	for i := range 3000 {
		if i%100 == 0 {
			commitRow(t, r, rowKey(i), string(make([]byte, 300_000)))
		}
	}
	other := append(RowPrefix(20001, 1, 1), "x"...)
	commitRow(t, r, other, "stays")
	before, _ := r.Snapshot(ctx)
	release, err := r.Hold(before)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if err := r.DeleteSpan(ctx, TableSpan(20000)); err != nil {
		t.Fatal(err)
	}
	r.drops.wait()
	for range 2 {
		if n := countRows(t, r); n != 0 {
			t.Fatalf("%d rows are left", n)
		}
		if got := readRow(t, r, other); got != "stays" {
			t.Fatalf("got %q", got)
		}
		if s := r.BucketStats(20000); len(s) != 0 {
			t.Fatalf("statistics are left: %v", s)
		}
		if got := len(r.BucketStats(0)); got != 1 {
			t.Fatalf("%d groups", got)
		}
		v, err := r.Tx(txn.ID{}).View(ctx, before)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := v.Get(ctx, rowKey(100)); len(b) != 300_000 || err != nil {
			t.Fatalf("an older snapshot sees %d bytes, %v", len(b), err)
		}
		v.Close()
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		r = openTest(t, dir, small)
	}
}

func TestGarbageCollection(t *testing.T) {
	r := openTest(t, t.TempDir(), small, func(c *Config) { c.GCTTL = 200 * time.Millisecond })
	ctx := testContext(t)
	commitRow(t, r, rowKey(1), "first")
	old, _ := r.Snapshot(ctx)
	release, err := r.Hold(old)
	if err != nil {
		t.Fatal(err)
	}
	see := func() error {
		v, err := r.Tx(txn.ID{}).View(ctx, old)
		if err != nil {
			return err
		}
		defer v.Close()
		if b, err := v.Get(ctx, rowKey(1)); string(b) != "first" {
			t.Fatalf("the old snapshot sees %q %v", b, err)
		}
		return nil
	}
	for i := range 40 {
		commitRow(t, r, rowKey(1), fmt.Sprint(i))
		time.Sleep(10 * time.Millisecond)
	}
	if err := see(); err != nil {
		t.Fatalf("a held snapshot is readable: %v", err)
	}
	release()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if err := see(); pgerr.Is(err, pgerr.SnapshotTooOld) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the watermark does not move")
		}
		commitRow(t, r, rowKey(1), "later")
	}
	if _, err := r.Hold(old); !pgerr.Is(err, pgerr.SnapshotTooOld) {
		t.Fatal(err)
	}
	if got := readRow(t, r, rowKey(1)); got != "later" && got != "39" {
		t.Fatalf("got %q", got)
	}
}

func TestSecondProcessIsRefused(t *testing.T) {
	dir := t.TempDir()
	openTest(t, dir)
	_, err := Open(Config{Dir: dir, Fragment: 1, Clock: txn.NewClock(nil, 0), Logger: quiet})
	if !pgerr.Is(err, pgerr.ObjectInUse) {
		t.Fatalf("got %v", err)
	}
}

func TestFloorsAndCeilings(t *testing.T) {
	r := openTest(t, t.TempDir())
	ctx := testContext(t)
	commitRow(t, r, rowKey(1), "x")
	T := r.cfg.Clock.Now().Add(2 * time.Second)
	v, err := r.Tx(txn.ID{}).View(ctx, T) // T4: the ceiling is extended
	if err != nil {
		t.Fatal(err)
	}
	v.Close()
	if ts := commitRow(t, r, rowKey(1), "y"); ts <= T {
		t.Fatalf("T2: a commit at %s is below a served read at %s", ts, T)
	}
	tx := r.Tx(txn.NewID())
	tx.LockNewest(ctx, rowKey(2))
	tx.Put(rowKey(2), nil)
	floor := T.Add(time.Second)
	if ts, err := tx.Commit(ctx, txn.CommitRequest{Floor: floor}); ts <= floor || err != nil {
		t.Fatalf("a commit is above its floor: %s %v", ts, err)
	}
	if _, err := r.Tx(txn.ID{}).View(ctx, T.Add(time.Hour)); err == nil {
		t.Fatal("a timestamp far ahead is refused")
	}
}
