package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/txn"
)

// prepareTransaction is PREPARE TRANSACTION of s, with the first fragment as its home.
func (s *serial) prepareTransaction(gid string) error {
	req := PreparationRequest{PreparationRequest: txn.PreparationRequest{GID: gid, At: time.UnixMicro(1e15).UTC()}, Home: 1, Reads: true}
	for _, r := range s.c.rs {
		req.Writers = append(req.Writers, r.cfg.Fragment)
	}
	var err error
	for _, p := range s.parts {
		if err = p.PrepareTransaction(context.Background(), req); err != nil {
			break
		}
	}
	if err == nil && len(s.parts) > 1 {
		err = s.parts[0].CompletePreparation()
	}
	for i, p := range s.parts {
		if err != nil {
			p.Rollback()
			if uerr := s.c.rs[i].Outcomes.DropPrepared(s.id); uerr != nil {
				s.c.t.Fatal(uerr)
			}
		}
		p.Detach()
	}
	return err
}

func (c *cluster) commitPrepared(id txn.ID) {
	c.t.Helper()
	if _, err := c.co.CommitPrepared(testContext(c.t), id, 1, 0, c.preparedParts(id)); err != nil {
		c.t.Fatal(err)
	}
}

// write buffers a row as a statement does, and waits with ctx for transactions that have read
// there.
func (c *cluster) write(ctx context.Context, tx *Tx, key []byte) error {
	err := tx.LockNewest(testContext(c.t), key)
	if err == nil {
		err = tx.Put(key, []byte("new"))
	}
	if err == nil {
		err = tx.AwaitReaders(ctx)
	}
	return err
}

// isBlocked reports whether a write with a canceled context would have waited.
func isBlocked(err error) bool { return errors.Is(err, context.Canceled) }

func mustConflict(t *testing.T, err error) {
	t.Helper()
	if !pgerr.Is(err, pgerr.SerializationFailure) {
		t.Fatalf("got %v, want 40001", err)
	}
}

// TestRuleT8PreparedReads: where a prepared transaction has read, no other transaction writes until
// its end, even in a fragment where the prepared one writes nothing, and where it found nothing.
// Elsewhere all may write. The same holds after a crash.
func TestRuleT8PreparedReads(t *testing.T) {
	for _, fragments := range []int{1, 2} {
		for _, crash := range []bool{false, true} {
			for _, commit := range []bool{false, true} {
				t.Run(fmt.Sprint(fragments, " fragments, crash ", crash, ", commit ", commit), func(t *testing.T) {
					c := openCluster(t, tempDirs(t, fragments), slowRecovery)
					last := fragments - 1
					for _, r := range c.rs {
						commitRow(t, r, rowKey(1), "old")
					}
					h := c.serial()
					h.get(last, rowKey(1))
					h.get(last, rowKey(7)) // is not there
					if err := h.put(0, rowKey(2), "held"); err != nil {
						t.Fatal(err)
					}
					if err := h.prepareTransaction("one"); err != nil {
						t.Fatal(err)
					}
					if crash {
						c = c.crash(slowRecovery)
					}
					for _, n := range []int{1, 7} {
						tx := c.rs[last].Tx(txn.NewID())
						if err := c.write(canceled(), tx, rowKey(n)); !isBlocked(err) {
							t.Fatalf("row %d can be written: %v", n, err)
						}
						// What it has buffered all the same it may not commit.
						_, err := tx.Commit(testContext(t), txn.CommitRequest{})
						mustConflict(t, err)
					}
					free := c.rs[last].Tx(txn.NewID())
					if err := c.write(testContext(t), free, rowKey(3)); err != nil {
						t.Fatal(err)
					}
					if _, err := free.Commit(testContext(t), txn.CommitRequest{}); err != nil {
						t.Fatal(err)
					}
					tx, done, ctx := c.rs[last].Tx(txn.NewID()), make(chan error, 1), testContext(t)
					go func() { done <- c.write(ctx, tx, rowKey(1)) }()
					eventually.Holds(t, "a wait for the prepared transaction is listed", func() bool {
						locks, _ := c.rs[last].Inspect.Locks(100)
						return slices.ContainsFunc(locks, func(l LockInfo) bool {
							return len(l.Blockers) == 1 && l.Blockers[0].ID == h.id
						})
					})
					if commit {
						c.commitPrepared(h.id)
					} else {
						for _, r := range c.rs {
							if err := r.Outcomes.DropPrepared(h.id); err != nil {
								t.Fatal(err)
							}
						}
					}
					if err := <-done; err != nil {
						t.Fatal(err)
					}
					if _, err := tx.Commit(testContext(t), txn.CommitRequest{}); err != nil {
						t.Fatal(err)
					}
					for _, r := range c.resolveAll().rs {
						if n := len(r.guards.All()); n != 0 {
							t.Fatalf("%d guards are left", n)
						}
					}
				})
			}
		}
	}
}

// TestPreparedReadsAgainstOpenWriters: writers that have buffered a write where a transaction that
// is to be prepared has read.
func TestPreparedReadsAgainstOpenWriters(t *testing.T) {
	setup := func(t *testing.T, change ...func(*Config)) (*cluster, *serial) {
		c := openCluster(t, tempDirs(t, 1), append(change, slowRecovery)...)
		commitRow(t, c.rs[0], rowKey(1), "old")
		commitRow(t, c.rs[0], rowKey(2), "old")
		h := c.serial()
		h.scan(0, keyspace.TableSpan(20000), false, 0)
		if err := h.put(0, rowKey(1), "held"); err != nil {
			t.Fatal(err)
		}
		return c, h
	}
	t.Run("another serializable one: write skew", func(t *testing.T) {
		c, h := setup(t)
		w := c.serial()
		w.scan(0, keyspace.TableSpan(20000), false, 0)
		if err := w.put(0, rowKey(2), "skew"); err != nil {
			t.Fatal(err)
		}
		if err := h.prepareTransaction("first"); err != nil {
			t.Fatal(err)
		}
		mustConflict(t, w.commit())
		c.commitPrepared(h.id)
	})
	t.Run("another that is prepared", func(t *testing.T) {
		c, h := setup(t)
		w := c.serial()
		w.get(0, rowKey(9))
		if err := w.put(0, rowKey(2), "skew"); err != nil {
			t.Fatal(err)
		}
		if err := w.prepareTransaction("first"); err != nil {
			t.Fatal(err)
		}
		mustConflict(t, h.prepareTransaction("second"))
		c.commitPrepared(w.id)
		c.mustBeFree(c.rs[0], rowKey(1)) // a refused transaction keeps no lock
	})
	t.Run("another that is prepared, at a lower level", func(t *testing.T) {
		c, h := setup(t)
		id := txn.NewID()
		if err := c.prepareTransaction(id, "first", c.put(id, rowKey(2), "new"), true); err != nil {
			t.Fatal(err)
		}
		mustConflict(t, h.prepareTransaction("second"))
		c.commitPrepared(id)
	})
	t.Run("one at a lower level that stays open", func(t *testing.T) {
		c, h := setup(t)
		w := c.rs[0].Tx(txn.NewID())
		if err := c.write(testContext(t), w, rowKey(2)); err != nil {
			t.Fatal(err)
		}
		mustConflict(t, h.prepareTransaction("first"))
		if _, err := w.Commit(testContext(t), txn.CommitRequest{}); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("one at a lower level that is rolled back soon", func(t *testing.T) {
		c, h := setup(t, waitForEnds)
		w := c.rs[0].Tx(txn.NewID())
		if err := c.write(testContext(t), w, rowKey(2)); err != nil {
			t.Fatal(err)
		}
		prepared := make(chan error, 1)
		go func() { prepared <- h.prepareTransaction("first") }()
		eventually.Holds(t, "the reads are guarded", func() bool { return len(c.rs[0].guards.All()) > 0 })
		w.Rollback()
		if err := <-prepared; err != nil {
			t.Fatal(err)
		}
		c.commitPrepared(h.id)
	})
	t.Run("one that has committed", func(t *testing.T) {
		c, h := setup(t)
		commitRow(t, c.rs[0], rowKey(3), "new")
		mustConflict(t, h.prepareTransaction("first"))
		if n := len(c.rs[0].guards.All()); n != 0 {
			t.Fatalf("%d guards", n)
		}
	})
	t.Run("what was undone", func(t *testing.T) {
		c, h := setup(t)
		w := c.rs[0].Tx(txn.NewID())
		if err := c.write(testContext(t), w, rowKey(102)); err != nil {
			t.Fatal(err)
		}
		w.Rollback()
		w = c.rs[0].Tx(txn.NewID())
		other := append(keyspace.RowPrefix(20001, 1, 1), "row"...)
		if err := c.write(testContext(t), w, other); err != nil {
			t.Fatal(err)
		}
		if err := h.prepareTransaction("first"); err != nil {
			t.Fatal(err)
		}
		mark := w.Mark()
		if err := c.write(canceled(), w, rowKey(50)); !isBlocked(err) {
			t.Fatal(err)
		}
		w.RollbackTo(mark)
		if _, err := w.Commit(testContext(t), txn.CommitRequest{}); err != nil {
			t.Fatal(err)
		}
		c.commitPrepared(h.id)
	})
}

// TestPreparedReadsByLock: what a transaction knows by a lock that does not go with it is guarded
// too.
func TestPreparedReadsByLock(t *testing.T) {
	c := openCluster(t, tempDirs(t, 1), slowRecovery)
	h := c.serial()
	h.get(0, rowKey(9))
	if err := errors.Join(h.parts[0].LockNewest(testContext(t), rowKey(5)), h.put(0, rowKey(1), "x")); err != nil {
		t.Fatal(err)
	}
	if err := h.prepareTransaction("one"); err != nil {
		t.Fatal(err)
	}
	c = c.crash(slowRecovery)
	if err := c.write(canceled(), c.rs[0].Tx(txn.NewID()), rowKey(5)); !isBlocked(err) {
		t.Fatal(err)
	}
	c.commitPrepared(h.id)
}
