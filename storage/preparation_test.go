package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/txn"
)

// prepareTransaction goes through the steps of PREPARE TRANSACTION over all fragments, with the
// first as the home.
func (c *cluster) prepareTransaction(id txn.ID, gid string, parts []txn.Participant, complete bool) error {
	req := PreparationRequest{PreparationRequest: txn.PreparationRequest{GID: gid, Owner: 10, Database: 5, At: time.UnixMicro(1e15).UTC()},
		Home: 1}
	for _, p := range parts {
		req.Writers = append(req.Writers, p.Fragment())
	}
	for _, p := range parts {
		if err := p.(*Tx).PrepareTransaction(context.Background(), req); err != nil {
			return err
		}
	}
	if complete && len(parts) > 1 {
		if err := parts[0].(*Tx).CompletePreparation(); err != nil {
			return err
		}
	}
	for _, p := range parts {
		if complete {
			p.(*Tx).Detach()
		}
	}
	return nil
}

func (c *cluster) preparedParts(id txn.ID) (parts []txn.Participant) {
	c.t.Helper()
	for _, r := range c.rs {
		tx, err := r.PreparedTx(id)
		if err != nil {
			c.t.Fatal(err)
		}
		parts = append(parts, tx)
	}
	return parts
}

func (c *cluster) isLocked(r *Replica, key []byte) bool {
	c.t.Helper()
	short, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	tx := r.Tx(txn.NewID())
	defer tx.Rollback()
	err := tx.LockNewest(short, key)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		c.t.Fatal(err)
	}
	return err != nil
}

// mustBeFree waits until the key can be locked: locks go a moment after what a transaction has
// written is resolved.
func (c *cluster) mustBeFree(r *Replica, key []byte) {
	c.t.Helper()
	tx := r.Tx(txn.NewID())
	defer tx.Rollback()
	if err := tx.LockNewest(testContext(c.t), key); err != nil {
		c.t.Fatalf("it stays locked: %v", err)
	}
}

// waitForEnds has what ends soon waited for, however slow the machine is.
var waitForEnds = func(c *Config) { c.Timing.EndingWait = testTimeout }

var slowRecovery = func(c *Config) { c.Timing.RecoverAfter, c.Timing.RecoverLive = time.Hour, time.Hour }

func TestPreparedTransaction(t *testing.T) {
	for _, fragments := range []int{1, 3} {
		for _, crash := range []bool{false, true} {
			for _, commit := range []bool{false, true} {
				t.Run(fmt.Sprint(fragments, " fragments, crash ", crash, ", commit ", commit), func(t *testing.T) {
					c := openCluster(t, tempDirs(t, fragments), slowRecovery)
					ctx := testContext(t)
					for _, r := range c.rs {
						commitRow(t, r, rowKey(1), "old")
					}
					id := txn.NewID()
					if err := c.prepareTransaction(id, "one", c.put(id, rowKey(1), "new"), true); err != nil {
						t.Fatal(err)
					}
					if crash {
						c = c.crash(slowRecovery)
					}
					olds := slices.Repeat([]string{"old"}, fragments)
					if got := c.all(rowKey(1)); !slices.Equal(got, olds) {
						t.Fatalf("readers see %q", got)
					}
					for _, r := range c.rs {
						if !c.isLocked(r, rowKey(1)) {
							t.Fatal("a row of a prepared transaction can be locked")
						}
					}
					prepared, err := c.rs[0].Outcomes.PreparedTransactions()
					if err != nil || len(prepared) != 1 || prepared[0].GID != "one" || prepared[0].Owner != 10 ||
						prepared[0].Database != 5 ||
						len(prepared[0].Fragments) != fragments || prepared[0].At.UnixMicro() != 1e15 || prepared[0].ID != id {
						t.Fatalf("%+v %v", prepared, err)
					}
					if got, err := c.rs[fragments-1].Outcomes.PreparedTables(id); !slices.Equal(got, []uint32{20000}) ||
						err != nil {
						t.Fatal(got, err)
					}
					want := olds
					if commit {
						if _, err := c.co.CommitPrepared(ctx, id, 1, 0, c.preparedParts(id)); err != nil {
							t.Fatal(err)
						}
						want = slices.Repeat([]string{"new"}, fragments)
					} else {
						for _, r := range c.rs {
							if err := r.Outcomes.DropPrepared(id); err != nil {
								t.Fatal(err)
							}
						}
					}
					for range 2 {
						if got := c.resolveAll().all(rowKey(1)); !slices.Equal(got, want) {
							t.Fatalf("got %q want %q", got, want)
						}
						for _, r := range c.rs {
							c.mustBeFree(r, rowKey(1))
							if n := len(r.txns.preparations); n != 0 {
								t.Fatalf("%d are prepared", n)
							}
						}
						c = c.crash(slowRecovery)
					}
				})
			}
		}
	}
}

func TestNameOfPreparedIsTaken(t *testing.T) {
	c := openCluster(t, tempDirs(t, 1))
	id, other := txn.NewID(), txn.NewID()
	if err := c.prepareTransaction(id, "one", c.put(id, rowKey(1), "x"), true); err != nil {
		t.Fatal(err)
	}
	if err := c.prepareTransaction(other, "one", c.put(other, rowKey(2), "x"), true); !pgerr.Is(err, pgerr.DuplicateObject) {
		t.Fatalf("got %v", err)
	}
	c.mustBeFree(c.rs[0], rowKey(2)) // the refused one keeps no lock
	if err := c.rs[0].Outcomes.DropPrepared(id); err != nil {
		t.Fatal(err)
	}
	other = txn.NewID()
	if err := c.prepareTransaction(other, "one", c.put(other, rowKey(2), "x"), true); err != nil {
		t.Fatal(err)
	}
}

// TestPreparedOutlivesTheLog: a transaction that is prepared for long does not keep the log.
func TestPreparedOutlivesTheLog(t *testing.T) {
	c := openCluster(t, tempDirs(t, 1), small)
	id := txn.NewID()
	parts := c.put(id, rowKey(1), "new")
	large := make([]byte, 700_000)
	for i := 2; i < 14; i++ { // beyond one log entry
		if err := errors.Join(parts[0].(*Tx).LockNewest(testContext(t), rowKey(i)),
			parts[0].(*Tx).Put(rowKey(i), large)); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.prepareTransaction(id, "long", parts, true); err != nil {
		t.Fatal(err)
	}
	before, err := c.rs[0].Group.raft.Log().FirstIndex()
	if err != nil {
		t.Fatal(err)
	}
	pad := string(make([]byte, 40_000))
	for i := range 300 {
		commitRow(t, c.rs[0], rowKey(100+i), pad)
		if i%50 == 49 {
			if err := c.rs[0].Group.raft.Snapshot(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if after, _ := c.rs[0].Group.raft.Log().FirstIndex(); after <= before+14 {
		t.Fatalf("the log still begins at %d", after)
	}
	c = c.crash(small)
	if _, err := c.co.CommitPrepared(testContext(t), id, 1, 0, c.preparedParts(id)); err != nil {
		t.Fatal(err)
	}
	if a, b := readRow(t, c.rs[0], rowKey(1)), readRow(t, c.rs[0], rowKey(13)); a != "new" || len(b) != len(large) {
		t.Fatalf("%q and %d bytes", a, len(b))
	}
}

// TestCommitPreparedMayFail: an attempt to commit that is given up leaves the transaction prepared,
// and another succeeds.
func TestCommitPreparedMayFail(t *testing.T) {
	for _, crash := range []bool{false, true} {
		t.Run(fmt.Sprint("crash ", crash), func(t *testing.T) {
			c := openCluster(t, tempDirs(t, 2), slowRecovery)
			ctx := testContext(t)
			id := txn.NewID()
			if err := c.prepareTransaction(id, "one", c.put(id, rowKey(1), "new"), true); err != nil {
				t.Fatal(err)
			}
			C := c.co.Clock.Now() + 1
			for _, p := range c.preparedParts(id) {
				if err := p.Prepare(ctx,
					txn.PrepareRequest{C: C, Coordinator: 1, Attempt: 1, Writers: []txn.FragmentID{1, 2}}); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.rs[0].Outcomes.DropPrepared(id); !pgerr.Is(err, pgerr.ObjectNotInPrerequisiteState) {
				t.Fatalf("it is being committed: %v", err)
			}
			if crash {
				c = c.crash(slowRecovery)
			} else {
				for _, r := range c.rs {
					if out, err := c.rs[0].Outcomes.Outcome(testContext(t), id, C); out != txn.Aborted || err != nil {
						t.Fatal(out, err)
					}
					if err := r.Outcomes.Resolve(txn.Decision{ID: id, C: C, Outcome: txn.Aborted}); err != nil {
						t.Fatal(err)
					}
				}
			}
			if got := fmt.Sprint(c.resolveAll().all(rowKey(1))); got != "[ ]" {
				t.Fatal(got)
			}
			for _, r := range c.rs {
				if !c.isLocked(r, rowKey(1)) {
					t.Fatal("it is not prepared any more")
				}
			}
			if _, err := c.co.CommitPrepared(ctx, id, 1, 0, c.preparedParts(id)); err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(c.all(rowKey(1))); got != "[new new]" {
				t.Fatal(got)
			}
		})
	}
}

// TestHalfMadePreparation crashes between the steps of PREPARE TRANSACTION: what did not come to
// stand is dropped by the asking, what did is prepared.
func TestHalfMadePreparation(t *testing.T) {
	steps := []struct {
		name     string
		prepared int // fragments that have prepared
		complete bool
	}{{"claimed", 1, false}, {"all prepared", 3, false}, {"complete", 3, true}}
	for _, s := range steps {
		t.Run(s.name, func(t *testing.T) {
			c := openCluster(t, tempDirs(t, 3), slowRecovery)
			id := txn.NewID()
			parts := c.put(id, rowKey(1), "new")
			req := PreparationRequest{PreparationRequest: txn.PreparationRequest{GID: "half"}, Home: 1, Writers: []txn.FragmentID{1, 2, 3}}
			for _, p := range parts[:s.prepared] {
				if err := p.(*Tx).PrepareTransaction(testContext(t), req); err != nil {
					t.Fatal(err)
				}
			}
			if s.complete {
				if err := parts[0].(*Tx).CompletePreparation(); err != nil {
					t.Fatal(err)
				}
			}
			after := c.crash(slowRecovery)
			for i, r := range after.rs {
				for deadline := time.Now().Add(testTimeout); after.isLocked(r, rowKey(1)) != s.complete; {
					if time.Now().After(deadline) {
						t.Fatalf("fragment %d: locked is %v", i+1, !s.complete)
					}
				}
			}
			if prepared, err := after.rs[0].Outcomes.PreparedTransactions(); err != nil || (len(prepared) == 1) != s.complete {
				t.Fatal(prepared, err)
			}
			// The coordinator of the first process may not complete it later.
			if !s.complete {
				if out, err := after.rs[0].Outcomes.PreparationStands(testContext(t), id); out || err != nil {
					t.Fatal(out, err)
				}
				if res, _, err := after.rs[0].log.run((&logentry.CompletePreparation{ID: id}).Encode(),
					0); res != resVoid || err != nil {
					t.Fatal(res, err)
				}
			}
			for _, p := range parts {
				p.Rollback()
			}
		})
	}
}

// TestRollbackPreparedIsLearned: a fragment that was not told that the home has dropped a
// transaction asks.
func TestRollbackPreparedIsLearned(t *testing.T) {
	c := openCluster(t, tempDirs(t, 2), func(c *Config) { c.Timing.RecoverAfter = 50 * time.Millisecond })
	id := txn.NewID()
	if err := c.prepareTransaction(id, "one", c.put(id, rowKey(1), "new"), true); err != nil {
		t.Fatal(err)
	}
	if err := c.rs[0].Outcomes.DropPrepared(id); err != nil {
		t.Fatal(err)
	}
	c.mustBeFree(c.rs[1], rowKey(1))
	if got := fmt.Sprint(c.all(rowKey(1))); got != "[ ]" {
		t.Fatal(got)
	}
}

// TestCrashWhilePreparingByName copies all directories at the n-th passing of each durable step of
// hold and commit, in one moment of the log, and finds in the copies all or nothing, and nothing
// stuck.
func TestCrashWhilePreparingByName(t *testing.T) {
	for _, point := range []string{"preparation.before", "preparation.after", "preparation.complete", "propose", "apply.written",
		"checkpoint.before", "checkpoint.after"} {
		for nth := 1; nth <= 3; nth++ {
			t.Run(fmt.Sprint(point, " ", nth), func(t *testing.T) { crashWhileHolding(t, point, nth) })
		}
	}
}

func crashWhileHolding(t *testing.T, point string, nth int) {
	dirs, copies := tempDirs(t, 2), tempDirs(t, 2)
	var mu sync.Mutex
	passed, armed, hit := 0, false, false
	c := openCluster(t, dirs, slowRecovery, func(c *Config) {
		c.Knobs.Fault = func(p string) {
			mu.Lock()
			defer mu.Unlock()
			if p != point || !armed || hit {
				return
			}
			if passed++; passed == nth {
				hit = true
				for i := range dirs {
					copyTree(t, dirs[i], copies[i])
				}
			}
		}
	})
	for _, r := range c.rs {
		commitRow(t, r, rowKey(1), "old")
	}
	id := txn.NewID()
	parts := c.put(id, rowKey(1), "new")
	mu.Lock()
	armed = true
	mu.Unlock()
	if err := c.prepareTransaction(id, "one", parts, true); err != nil {
		t.Fatal(err)
	}
	if _, err := c.co.CommitPrepared(testContext(t), id, 1, 0, c.preparedParts(id)); err != nil {
		t.Fatal(err)
	}
	c.resolveAll()
	mu.Lock()
	armed = false
	reached := hit
	mu.Unlock()
	if !reached {
		t.Skip("is not passed so often")
	}
	after := openCluster(t, copies, slowRecovery)
	got := fmt.Sprint(after.resolveAll().all(rowKey(1)))
	if got != "[old old]" && got != "[new new]" {
		t.Fatalf("torn: %s", got)
	}
	prepared, err := after.rs[0].Outcomes.PreparedTransactions()
	if err != nil {
		t.Fatal(err)
	}
	if len(prepared) > 0 {
		if got != "[old old]" {
			t.Fatal("it is committed, and prepared")
		}
		if _, err := after.co.CommitPrepared(testContext(t), id, 1, 0, after.preparedParts(id)); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range after.rs {
		after.mustBeFree(r, rowKey(1))
	}
}
