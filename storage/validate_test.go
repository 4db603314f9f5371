package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand"
	"sync"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/txn"
)

// serial is a SERIALIZABLE transaction over the fragments of a cluster.
type serial struct {
	c     *cluster
	id    txn.ID
	T     txn.Timestamp
	parts []*Tx
}

func (c *cluster) serial() *serial {
	c.t.Helper()
	s := &serial{c: c, id: txn.NewID()}
	for _, r := range c.rs {
		T, err := r.Snapshot(testContext(c.t))
		if err != nil {
			c.t.Fatal(err)
		}
		s.T = max(s.T, T)
		tx := r.Tx(s.id)
		tx.TrackReads()
		s.parts = append(s.parts, tx)
	}
	return s
}

func (s *serial) get(f int, key []byte) string {
	s.c.t.Helper()
	ctx := testContext(s.c.t)
	v, err := s.parts[f].View(ctx, s.T)
	if err != nil {
		s.c.t.Fatal(err)
	}
	defer v.Close()
	b, err := v.Get(ctx, key)
	if err != nil {
		s.c.t.Fatal(err)
	}
	return string(b)
}

func (s *serial) scan(f int, span txn.Span, reverse bool, limit int) (n int) {
	s.c.t.Helper()
	ctx := testContext(s.c.t)
	v, err := s.parts[f].View(ctx, s.T)
	if err != nil {
		s.c.t.Fatal(err)
	}
	defer v.Close()
	err = v.Scan(ctx, span, reverse, func(_, _ []byte) error {
		if n++; n == limit {
			return ErrStop
		}
		return nil
	})
	if err != nil {
		s.c.t.Fatal(err)
	}
	return n
}

// put returns an error if the row was changed since the snapshot.
func (s *serial) put(f int, key []byte, value string) error {
	if _, err := s.parts[f].Lock(context.Background(), key, txn.LockRequest{Mode: txn.Update, T: s.T}); err != nil {
		return err
	}
	return s.parts[f].Put(key, []byte(value))
}

func (s *serial) participants() (out []txn.Participant) {
	for _, p := range s.parts {
		out = append(out, p)
	}
	return out
}

func (s *serial) commit() error {
	_, err := s.c.co.Commit(context.Background(), s.id, s.T, s.participants())
	return err
}

// TestSerializable has two transactions that read before either commits. The second must fail where
// the first wrote to what it read.
func TestSerializable(t *testing.T) {
	mustPut := func(t *testing.T, s *serial, f int, key []byte) {
		t.Helper()
		if err := s.put(f, key, "new"); err != nil {
			t.Fatal(err)
		}
	}
	other := func(n int) []byte { return append(keyspace.RowPrefix(20001, uint32(n), 1), "row"...) }
	cases := []struct {
		name string
		read func(s *serial) // by the second
		at   int             // fragment of the second's write
		did  func(t *testing.T, s *serial)
		ok   bool
	}{
		{"point, one fragment", func(s *serial) { s.get(0, rowKey(1)) }, 0,
			func(t *testing.T, s *serial) { mustPut(t, s, 0, rowKey(1)) }, false},
		{"point that is empty", func(s *serial) { s.get(0, rowKey(50)) }, 0,
			func(t *testing.T, s *serial) { mustPut(t, s, 0, rowKey(50)) }, false},
		{"another point", func(s *serial) { s.get(0, rowKey(1)) }, 0,
			func(t *testing.T, s *serial) { mustPut(t, s, 0, rowKey(2)) }, true},
		{"phantom", func(s *serial) { s.scan(0, keyspace.TableSpan(20000), false, 0) }, 0,
			func(t *testing.T, s *serial) { mustPut(t, s, 0, rowKey(50)) }, false},
		{"phantom in nothing", func(s *serial) { s.scan(0, keyspace.TableSpan(20001), false, 0) }, 0,
			func(t *testing.T, s *serial) { mustPut(t, s, 0, other(3)) }, false},
		{"another table", func(s *serial) { s.scan(0, keyspace.TableSpan(20000), false, 0) }, 0,
			func(t *testing.T, s *serial) { mustPut(t, s, 0, other(3)) }, true},
		{"behind the limit", func(s *serial) { s.scan(0, keyspace.TableSpan(20000), false, 2) }, 0,
			func(t *testing.T, s *serial) { mustPut(t, s, 0, rowKey(5)) }, true},
		{"before the limit", func(s *serial) { s.scan(0, keyspace.TableSpan(20000), false, 2) }, 0,
			func(t *testing.T, s *serial) { mustPut(t, s, 0, rowKey(1)) }, false},
		{"backwards, behind the limit", func(s *serial) { s.scan(0, keyspace.TableSpan(20000), true, 2) }, 0,
			func(t *testing.T, s *serial) { mustPut(t, s, 0, rowKey(1)) }, true},
		{"backwards, before the limit", func(s *serial) { s.scan(0, keyspace.TableSpan(20000), true, 2) }, 0,
			func(t *testing.T, s *serial) { mustPut(t, s, 0, rowKey(50)) }, false},
		{"deletion", func(s *serial) { s.get(0, rowKey(1)) }, 0, func(t *testing.T, s *serial) {
			mustPut(t, s, 0, rowKey(1))
			if err := s.parts[0].Delete(rowKey(1)); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"read in another fragment", func(s *serial) { s.get(0, rowKey(1)) }, 1,
			func(t *testing.T, s *serial) { mustPut(t, s, 0, rowKey(1)) }, false},
		{"read in another fragment, by a commit over both", func(s *serial) { s.get(0, rowKey(1)) }, 1,
			func(t *testing.T, s *serial) {
				mustPut(t, s, 0, rowKey(1))
				mustPut(t, s, 1, rowKey(1))
			}, false},
		{"nothing in the way, two fragments", func(s *serial) { s.get(0, rowKey(1)) }, 1,
			func(t *testing.T, s *serial) { mustPut(t, s, 0, rowKey(2)) }, true},
	}
	for _, x := range cases {
		t.Run(x.name, func(t *testing.T) {
			c := openCluster(t, tempDirs(t, 2))
			for i := range 6 {
				commitRow(t, c.rs[0], rowKey(i), "old")
			}
			first, second, reader := c.serial(), c.serial(), c.serial()
			x.read(second)
			reader.get(0, rowKey(1))
			mustPut(t, second, x.at, rowKey(90))
			x.did(t, first)
			if err := first.commit(); err != nil {
				t.Fatal(err)
			}
			err := second.commit()
			if x.ok {
				if err != nil {
					t.Fatal(err)
				}
			} else if e := pgerr.From(err); !pgerr.Is(err, pgerr.SerializationFailure) || e.Detail == "" ||
				e.Hint != "The transaction might succeed if retried." {
				t.Fatalf("got %+v", err)
			}
			if err := reader.commit(); err != nil { // it takes effect at its snapshot
				t.Fatal(err)
			}
			n := 0
			for _, r := range c.rs {
				r.live.mu.Lock()
				n += len(r.live.txs)
				r.live.mu.Unlock()
			}
			if x.ok && n != 0 {
				t.Fatalf("%d transactions are left", n)
			}
		})
	}
}

// TestSerializableConflictNamesTheOther is what 40001 says.
func TestSerializableConflictNamesTheOther(t *testing.T) {
	c := openCluster(t, tempDirs(t, 1))
	commitRow(t, c.rs[0], rowKey(1), "old")
	first, second := c.serial(), c.serial()
	second.get(0, rowKey(1))
	if err := errors.Join(second.put(0, rowKey(2), "x"), first.put(0, rowKey(1), "x"), first.commit()); err != nil {
		t.Fatal(err)
	}
	err := second.commit()
	var conflict *txn.ConflictError
	if !errors.As(err, &conflict) || !bytes.Equal(conflict.Key, rowKey(1)) || conflict.Other != first.id ||
		conflict.T != second.T {
		t.Fatalf("got %#v", err)
	}
}

// TestCheckHoldsAgainstLaterWrites: after a check at C nothing is committed at or below it, at this
// leader or the next.
func TestCheckHoldsAgainstLaterWrites(t *testing.T) {
	c := openCluster(t, tempDirs(t, 1))
	commitRow(t, c.rs[0], rowKey(1), "old")
	s := c.serial()
	s.get(0, rowKey(1))
	C := c.co.Clock.Now() + 50<<16
	if err := s.parts[0].Check(testContext(t), C); err != nil {
		t.Fatal(err)
	}
	if ts := commitRow(t, c.rs[0], rowKey(1), "new"); ts <= C {
		t.Fatalf("T8: a commit at %s after a check at %s", ts, C)
	}
	after := c.crash()
	if ts := commitRow(t, after.rs[0], rowKey(1), "newer"); ts <= C {
		t.Fatalf("T8: a commit at %s after a check at %s by an earlier leader", ts, C)
	}
}

// TestCheckWaitsForPrepared: what is prepared at or below C on the span is decided first.
func TestCheckWaitsForPrepared(t *testing.T) {
	c := openCluster(t, tempDirs(t, 2))
	ctx := testContext(t)
	s := c.serial()
	s.get(0, rowKey(1))
	id := txn.NewID()
	parts := c.put(id, rowKey(1), "new")
	P := c.co.Clock.Now() + 1
	for _, p := range parts {
		if err := p.Prepare(ctx,
			txn.PrepareRequest{C: P, Coordinator: 1, Attempt: 1, Writers: []txn.FragmentID{1, 2}}); err != nil {
			t.Fatal(err)
		}
	}
	short, cancel := context.WithCancel(ctx)
	cancel()
	if err := s.parts[0].Check(short, P+1<<16); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if out, err := parts[0].Decide(ctx, txn.Decision{ID: id, C: P, Outcome: txn.Committed}); out != txn.Committed {
		t.Fatal(out, err)
	}
	if err := s.parts[0].Check(ctx, P+1<<16); !pgerr.Is(err, pgerr.SerializationFailure) {
		t.Fatalf("got %v", err)
	}
	if err := parts[1].Resolve(ctx, txn.Decision{ID: id, C: P, Outcome: txn.Committed}); err != nil {
		t.Fatal(err)
	}
}

// TestPreparesDoNotWaitForEachOther: a prepare below what is promised is refused, and does not wait
// for what is prepared above it, which may wait for this one in another fragment. Of a check the
// same holds at the very same time.
func TestPreparesDoNotWaitForEachOther(t *testing.T) {
	c := openCluster(t, tempDirs(t, 2))
	ctx := testContext(t)
	commitRow(t, c.rs[0], rowKey(1), "1")
	commitRow(t, c.rs[1], rowKey(2), "2")
	a, b := c.serial(), c.serial() // each has read what the other writes
	for _, s := range []*serial{a, b} {
		s.get(0, rowKey(1))
		s.get(1, rowKey(2))
	}
	again := c.serial()
	again.get(1, rowKey(2))
	put := func(s *serial, f int, key []byte) {
		t.Helper()
		if err := s.put(f, key, "new"); err != nil {
			t.Fatal(err)
		}
	}
	put(a, 0, rowKey(1))
	put(b, 1, rowKey(2))
	put(a, 1, rowKey(3))
	P := c.co.Clock.Now() + 1000
	prepare := func(x *Tx, C txn.Timestamp) error {
		return x.Prepare(ctx, txn.PrepareRequest{C: C, Coordinator: 1, Attempt: 1, Writers: []txn.FragmentID{1, 2}})
	}
	if err := prepare(b.parts[1], P); err != nil {
		t.Fatal(err)
	}
	// a is prepared below b in one fragment, and comes to the other.
	if err := prepare(a.parts[0], P-1); err != nil {
		t.Fatal(err)
	}
	var low *txn.LowError
	if err := prepare(a.parts[1], P-1); !errors.As(err, &low) || low.LowWater < P {
		t.Fatalf("a prepare below another, which writes what it has read: %v", err)
	}
	if err := again.parts[1].Check(ctx, P); !pgerr.Is(err, pgerr.SerializationFailure) {
		t.Fatalf("a check at the time of a prepare: %v", err)
	}
	for i, x := range []*Tx{a.parts[0], b.parts[1]} {
		if err := x.Resolve(ctx,
			txn.Decision{ID: x.id, C: P - 1 + txn.Timestamp(i), Outcome: txn.Aborted}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestOnCall is write skew under concurrency: a transaction that sees both on call sets one
// to off, any other sets one to on. There is always one on call.
func TestOnCall(t *testing.T) {
	for _, fragments := range []int{1, 2} {
		t.Run(fmt.Sprint(fragments, " fragments"), func(t *testing.T) {
			c := openCluster(t, tempDirs(t, fragments))
			at := func(i int) int { return i % fragments }
			for i := range 2 {
				commitRow(t, c.rs[at(i)], rowKey(i), "on")
			}
			var wg sync.WaitGroup
			committed := make([]int, 6)
			for w := range committed {
				wg.Add(1)
				go func() {
					defer wg.Done()
					rnd := rand.New(rand.NewSource(int64(w)))
					for range 60 {
						s := c.serial()
						me := rnd.Intn(2)
						both := s.get(at(0), rowKey(0)) == "on" && s.get(at(1), rowKey(1)) == "on"
						one := s.get(at(0), rowKey(0)) == "on" || s.get(at(1), rowKey(1)) == "on"
						if !one {
							t.Error("nobody is on call")
							return
						}
						value := "on"
						if both {
							value = "off"
						}
						err := s.put(at(me), rowKey(me), value)
						if err == nil {
							err = s.commit()
						} else {
							txn.Rollback(s.participants())
						}
						if err == nil {
							committed[w]++
						} else if !pgerr.Is(err, pgerr.SerializationFailure) && !pgerr.Is(err, pgerr.DeadlockDetected) {
							t.Error(err)
							return
						}
					}
				}()
			}
			wg.Wait()
			n := 0
			for _, x := range committed {
				n += x
			}
			if n == 0 {
				t.Error("nobody ever committed")
			}
			t.Logf("%d of %d committed", n, 60*len(committed))
		})
	}
}
