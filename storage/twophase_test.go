package storage

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"sync"
	"testing"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/txn"
)

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
	if got := fmt.Sprint(c.resolveAll().crash().all(rowKey(1))); got != "[v19 v19 v19]" {
		t.Fatal(got)
	}
}

// TestCoordinatorDies stops after each step of a commit over three fragments, in the same process
// and with a crash.
func TestCoordinatorDies(t *testing.T) {
	steps := []struct {
		name     string
		prepared int // fragments that prepared
		decided  bool
		want     string
	}{
		{"buffered", 0, false, "[old old old]"},
		{"one prepared", 1, false, "[old old old]"},
		{"all prepared", 3, false, "[old old old]"},
		{"decided", 3, true, "[new new new]"},
	}
	for _, s := range steps {
		for _, crash := range []bool{false, true} {
			t.Run(fmt.Sprint(s.name, " crash ", crash), func(t *testing.T) {
				// no fragment asks before the coordinator has died
				c := openCluster(t, tempDirs(t, 3), slowRecovery)
				ctx := testContext(t)
				for _, r := range c.rs {
					// each by itself, so that nothing is left to be written after it, at a stamp
					// above C
					commitRow(t, r, rowKey(1), "old")
				}
				id := txn.NewID()
				parts := c.put(id, rowKey(1), "new")
				C := c.co.Clock.Now() + 1<<16
				writers := []txn.FragmentID{1, 2, 3}
				for _, p := range parts[:s.prepared] {
					if err := p.Prepare(ctx,
						txn.PrepareRequest{C: C, Coordinator: 2, Attempt: 1, Writers: writers}); err != nil {
						t.Fatal(err)
					}
				}
				if s.decided {
					if out, err := parts[1].Decide(ctx,
						txn.Decision{ID: id, C: C, Outcome: txn.Committed, Writers: writers}); out != txn.Committed {
						t.Fatal(out, err)
					}
				}
				if crash {
					c = c.crash()
				} else {
					c.age()
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
	if out, err := c.rs[0].Outcomes.Outcome(testContext(t), id, C); out != txn.Aborted || err != nil {
		t.Fatal(out, err)
	}
	var low *txn.LowError
	err := parts[0].Prepare(ctx, txn.PrepareRequest{C: C, Coordinator: 1, Attempt: 1, Writers: []txn.FragmentID{1, 2}})
	if !errors.As(err, &low) || low.LowWater <= C {
		t.Fatalf("got %v", err)
	}
	txn.Rollback(parts)
}

// TestRolledBackBetweenAttempts: a transaction that was rolled back after an attempt that could not
// be has no locks, so it cannot be prepared or committed by another.
func TestRolledBackBetweenAttempts(t *testing.T) {
	r := openTest(t, t.TempDir())
	commitRow(t, r, rowKey(1), "before")
	for name, attempt := range map[string]func(tx *Tx, C txn.Timestamp) error{
		"prepare": func(tx *Tx, C txn.Timestamp) error {
			return tx.Prepare(t.Context(),
				txn.PrepareRequest{C: C, Coordinator: 9, Attempt: 1, Writers: []txn.FragmentID{1, 9}})
		},
		"commit": func(tx *Tx, C txn.Timestamp) error {
			_, err := tx.Commit(t.Context(), txn.CommitRequest{At: C})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			tx := r.Tx(txn.NewID())
			if err := errors.Join(tx.LockNewest(testContext(t), rowKey(1)),
				tx.Put(rowKey(1), []byte(name))); err != nil {
				t.Fatal(err)
			}
			var low *txn.LowError
			if err := attempt(tx, 1); !errors.As(err, &low) {
				t.Fatal(err)
			}
			tx.Rollback()
			commitRow(t, r, rowKey(1), "another's")
			if err := attempt(tx, r.cfg.Clock.Now()+1<<16); !pgerr.Is(err, pgerr.InternalError) {
				t.Fatalf("the second attempt: %v", err)
			}
			if got := readRow(t, r, rowKey(1)); got != "another's" {
				t.Errorf("the row is %q", got)
			}
		})
	}
}

func TestDecideWithoutPreparedIsUnknown(t *testing.T) {
	c := openCluster(t, tempDirs(t, 1))
	out, err := c.rs[0].Outcomes.decide(txn.Decision{ID: txn.NewID(), C: c.co.Clock.Now(), Outcome: txn.Committed})
	if out != txn.Unknown || err != nil {
		t.Fatal(out, err)
	}
}

func TestReaderWaitsForPrepared(t *testing.T) {
	c := openCluster(t, tempDirs(t, 2), func(c *Config) { c.Timing.RecoverAfter = time.Hour })
	ctx := testContext(t)
	commitRow(t, c.rs[0], rowKey(2), "other")
	id := txn.NewID()
	parts := c.put(id, rowKey(1), "new")
	C := c.co.Clock.Now() + 1
	for _, p := range parts {
		if err := p.Prepare(ctx,
			txn.PrepareRequest{C: C, Coordinator: 2, Attempt: 1, Writers: []txn.FragmentID{1, 2}}); err != nil {
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
	if err := v.Scan(short, keyspace.TableSpan(20000), false,
		func(_, _ []byte) error { return nil }); !errors.Is(err, context.DeadlineExceeded) {
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
	if sum := c.resolveAll().crash().sum(accounts); sum != accounts*each {
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

// TestStartResolvesAtOnce: what a dead process has left undecided is asked about when the next one
// starts, and not after a time-out; the asking has the coordinator fragment decide.
func TestStartResolvesAtOnce(t *testing.T) {
	for _, decided := range []bool{false, true} {
		t.Run(fmt.Sprint("decided ", decided), func(t *testing.T) {
			slow := func(c *Config) { c.Timing.RecoverAfter, c.Timing.RecoverLive = time.Hour, time.Hour }
			c := openCluster(t, tempDirs(t, 3), slow)
			ctx := testContext(t)
			id := txn.NewID()
			parts := c.put(id, rowKey(1), "new")
			C := c.co.Clock.Now() + 1<<16
			writers := []txn.FragmentID{1, 2, 3}
			for _, p := range parts {
				if err := p.Prepare(ctx,
					txn.PrepareRequest{C: C, Coordinator: 2, Attempt: 1, Writers: writers}); err != nil {
					t.Fatal(err)
				}
			}
			want := "[  ]"
			if decided {
				want = "[new new new]"
				if out, err := parts[1].Decide(ctx,
					txn.Decision{ID: id, C: C, Outcome: txn.Committed}); out != txn.Committed {
					t.Fatal(out, err)
				}
			}
			after := c.crash(slow)
			if got := fmt.Sprint(after.all(rowKey(1))); got != want {
				t.Fatalf("got %s want %s", got, want)
			}
			after.resolveAll()
			if out, _ := c.rs[1].Outcomes.Outcome(testContext(t), id, C); out == txn.Unknown {
				t.Fatal(out)
			}
			for _, p := range parts {
				_ = p.Resolve(ctx, txn.Decision{ID: id, C: C, Outcome: txn.Aborted})
			}
		})
	}
}

// TestNoWaitAfterCommit: a client that has got the answer to its commit finds the rows free,
// although the locks are removed later. A request does not wait for an open transaction.
func TestNoWaitAfterCommit(t *testing.T) {
	c := openCluster(t, tempDirs(t, 3), waitForEnds)
	ctx := testContext(t)
	noWait := txn.LockRequest{Mode: txn.Update, T: txn.MaxTimestamp, NoWait: true, Ending: true}
	for i := range 20 {
		id, next := txn.NewID(), txn.NewID()
		parts := c.put(id, rowKey(1), fmt.Sprint("v", i))
		if _, err := c.rs[0].Tx(next).Lock(ctx, rowKey(1), noWait); !errors.Is(err, txn.ErrLocked) {
			t.Fatalf("beside an open transaction: %v", err)
		}
		if _, err := c.co.Commit(ctx, id, 0, parts); err != nil {
			t.Fatal(err)
		}
		for n, r := range c.rs {
			tx := r.Tx(next)
			if _, err := tx.Lock(ctx, rowKey(1), noWait); err != nil {
				t.Fatalf("commit %d, fragment %d: %v", i, n, err)
			}
			tx.Rollback()
		}
	}
	c.resolveAll()
}
