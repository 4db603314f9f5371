package locks

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn"
)

func newManager() *Manager { return NewManager(txn.NewDetector(), slog.New(slog.DiscardHandler)) }

// begin opens a transaction in a new session.
func begin(m *Manager, pid uint32) *Owner { return m.NewSession(pid).Begin(txn.NewID()) }

var table = Table(5, 16385)

// testTimeout bounds every wait, on a machine that may be busy with other work.
const testTimeout = 2 * time.Minute

// await waits until n requests wait.
func await(t *testing.T, m *Manager, n int) {
	t.Helper()
	for end := time.Now().Add(testTimeout); time.Now().Before(end); time.Sleep(time.Millisecond) {
		waiting := 0
		for _, l := range m.Locks() {
			if !l.Granted {
				waiting++
			}
		}
		if waiting == n {
			return
		}
	}
	t.Fatalf("%d requests do not wait: %+v", n, m.Locks())
}

// start asks in the background.
func start(o *Owner, tag Tag, mode Mode) chan error {
	done := make(chan error, 1)
	go func() { done <- o.Acquire(context.Background(), tag, Request{Mode: mode}) }()
	return done
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// The table of the manual, row by row: X where the modes exclude each other.
var manual = [...]string{
	"       X",
	"      XX",
	"    XXXX",
	"   XXXXX",
	"  XX XXX",
	"  XXXXXX",
	" XXXXXXX",
	"XXXXXXXX",
}

func TestConflicts(t *testing.T) {
	for m := AccessShare; m <= AccessExclusive; m++ {
		for n := AccessShare; n <= AccessExclusive; n++ {
			want := manual[m-1][n-1] == 'X'
			if m.Conflicts(n) != want || n.Conflicts(m) != want {
				t.Errorf("%s and %s", m, n)
			}
			mgr := newManager()
			must(t, begin(mgr, 1).Acquire(context.Background(), table, Request{Mode: m}))
			err := begin(mgr, 2).Acquire(context.Background(), table, Request{Mode: n, NoWait: true})
			if errors.Is(err, ErrNotAvailable) != want {
				t.Errorf("%s, then %s: %v", m, n, err)
			}
		}
	}
}

func TestQueueIsFair(t *testing.T) {
	m := newManager()
	a, b, c := begin(m, 1), begin(m, 2), begin(m, 3)
	must(t, a.Acquire(context.Background(), table, Request{Mode: AccessShare}))
	exclusive := start(b, table, AccessExclusive)
	await(t, m, 1)
	reader := start(c, table, AccessShare) // behind the one that waits
	await(t, m, 2)
	if got := m.Blocking(3); len(got) != 1 || got[0] != 2 {
		t.Fatal(got)
	}
	// A session that holds the table already passes the waits.
	must(t, a.Acquire(context.Background(), table, Request{Mode: RowExclusive}))
	a.Release()
	must(t, <-exclusive)
	await(t, m, 1)
	b.Release()
	must(t, <-reader)
	c.Release()
	if got := m.Locks(); len(got) != 0 {
		t.Fatal(got)
	}
}

func TestGivingUp(t *testing.T) {
	m := newManager()
	a, b, c := begin(m, 1), begin(m, 2), begin(m, 3)
	must(t, a.Acquire(context.Background(), table, Request{Mode: AccessShare}))
	ctx, cancel := context.WithCancelCause(context.Background())
	exclusive := make(chan error, 1)
	go func() { exclusive <- b.Acquire(ctx, table, Request{Mode: AccessExclusive}) }()
	await(t, m, 1)
	reader := start(c, table, AccessShare)
	await(t, m, 2)
	why := errors.New("why")
	cancel(why)
	if err := <-exclusive; err != why {
		t.Fatal(err)
	}
	must(t, <-reader) // it waited only behind the one that gave up
	err := b.Acquire(context.Background(), table, Request{Mode: AccessExclusive, Timeout: time.Millisecond})
	if !pgerr.Is(err, pgerr.LockNotAvailable) {
		t.Fatal(err)
	}
}

func TestDeadlock(t *testing.T) {
	m := newManager()
	other := Table(5, 16390)
	a, b := begin(m, 1), begin(m, 2)
	must(t, a.Acquire(context.Background(), table, Request{Mode: Exclusive}))
	must(t, b.Acquire(context.Background(), other, Request{Mode: Exclusive}))
	waits := start(a, other, RowExclusive)
	await(t, m, 1)
	err := b.Acquire(context.Background(), table, Request{Mode: AccessExclusive})
	want := "Process 2 waits for AccessExclusiveLock on relation 16385 of database 5; blocked by process 1.\n" +
		"Process 1 waits for RowExclusiveLock on relation 16390 of database 5; blocked by process 2."
	if e := pgerr.From(err); !pgerr.Is(err, pgerr.DeadlockDetected) || e.Detail != want {
		t.Fatalf("%v\n%s", err, e.Detail)
	}
	b.Release()
	must(t, <-waits)
}

// TestEndedWait: a wait that is part of a cycle over several nodes is ended from outside, and the
// waits behind it go on.
func TestEndedWait(t *testing.T) {
	m := newManager()
	a, b, c := begin(m, 1), begin(m, 2), begin(m, 3)
	must(t, a.Acquire(context.Background(), table, Request{Mode: AccessShare}))
	exclusive := start(b, table, AccessExclusive)
	await(t, m, 1)
	reader := start(c, table, AccessShare)
	await(t, m, 2)
	barrier := make(chan error, 1)
	go func() { barrier <- begin(m, 4).Barrier(context.Background(), table) }()
	why := errors.New("why")
	for ended := map[uint32]bool{}; !ended[2] || !ended[4]; {
		for _, w := range m.detector.Waits() {
			if pid := w.Waiter.Session; pid == 2 || pid == 4 {
				m.detector.Break(w.Number, w.Waiter, why)
				ended[pid] = true
			}
		}
	}
	if x, y := <-exclusive, <-barrier; x != why || y != why {
		t.Fatal(x, y)
	}
	must(t, <-reader)
}

// Two sessions share a table and both want it exclusively: the second is refused at once.
func TestUpgradeDeadlock(t *testing.T) {
	m := newManager()
	a, b := begin(m, 1), begin(m, 2)
	must(t, a.Acquire(context.Background(), table, Request{Mode: AccessShare}))
	must(t, b.Acquire(context.Background(), table, Request{Mode: AccessShare}))
	first := start(a, table, AccessExclusive)
	await(t, m, 1)
	if err := b.Acquire(
		context.Background(), table, Request{Mode: AccessExclusive},
	); !pgerr.Is(err, pgerr.DeadlockDetected) {
		t.Fatal(err)
	}
	b.Release()
	must(t, <-first)
}

// A cycle that exists only by the order of a queue is resolved: the request that would close it
// goes to the head.
func TestSoftDeadlock(t *testing.T) {
	m := newManager()
	other := Table(5, 16390)
	a, b, c := begin(m, 1), begin(m, 2), begin(m, 3)
	must(t, a.Acquire(context.Background(), table, Request{Mode: AccessShare}))
	must(t, c.Acquire(context.Background(), other, Request{Mode: Exclusive}))
	must(t, b.Acquire(context.Background(), Table(5, 7), Request{Mode: AccessShare}))
	alone := start(b, table, AccessExclusive) // waits for a
	await(t, m, 1)
	waits := start(a, other, RowExclusive) // a waits for c
	await(t, m, 2)
	// c behind b would wait for b, which waits for a, which waits for c.
	must(t, c.Acquire(context.Background(), table, Request{Mode: AccessShare, Timeout: testTimeout}))
	c.Release()
	must(t, <-waits)
	a.Release()
	must(t, <-alone)
}

func TestSessionLocks(t *testing.T) {
	m := newManager()
	s, other := m.NewSession(1), m.NewSession(2)
	key := Key(5, -3)
	ctx := context.Background()
	for range 2 {
		must(t, s.Acquire(ctx, key, Request{Mode: Exclusive}))
	}
	own := s.Begin(txn.NewID())
	must(t, own.Acquire(ctx, key, Request{Mode: Exclusive, NoWait: true})) // the session's own locks are not in its way
	own.Release()
	try := func() bool { return other.Acquire(ctx, key, Request{Mode: Share, NoWait: true}) == nil }
	if !s.Unlock(key, Exclusive) || try() {
		t.Fatal("it was taken twice")
	}
	if s.Unlock(key, Share) || !s.Unlock(key, Exclusive) || s.Unlock(key, Exclusive) || !try() {
		t.Fatal("it was given back twice")
	}
	must(t, s.Acquire(ctx, key, Request{Mode: Share}))
	s.UnlockAll()
	other.UnlockAll()
	if got := m.Locks(); len(got) != 0 {
		t.Fatal(got)
	}
}

// A session's lock is part of a cycle by the transaction that its session is in.
func TestSessionDeadlock(t *testing.T) {
	m := newManager()
	a, b := m.NewSession(1), m.NewSession(2)
	ctx := context.Background()
	must(t, a.Acquire(ctx, Key(5, 1), Request{Mode: Exclusive}))
	must(t, b.Acquire(ctx, Key(5, 2), Request{Mode: Exclusive}))
	ta, tb := a.Begin(txn.NewID()), b.Begin(txn.NewID())
	waits := start(ta, Key(5, 2), Exclusive)
	await(t, m, 1)
	if err := b.Acquire(ctx, Key(5, 1), Request{Mode: Exclusive}); !pgerr.Is(err, pgerr.DeadlockDetected) {
		t.Fatal(err)
	}
	tb.Release()
	b.UnlockAll()
	must(t, <-waits)
}

func TestMarks(t *testing.T) {
	m := newManager()
	o := begin(m, 1)
	ctx := context.Background()
	must(t, o.Acquire(ctx, table, Request{Mode: AccessShare}))
	mark := o.Mark()
	must(t, o.Acquire(ctx, table, Request{Mode: AccessExclusive}))
	for i := range int64(40) { // long enough for the index
		must(t, o.Acquire(ctx, Key(5, i), Request{Mode: Exclusive}))
	}
	must(t, o.Acquire(ctx, table, Request{Mode: AccessExclusive}))
	o.RollbackTo(mark)
	if got := m.Locks(); len(got) != 1 || got[0].Mode != AccessShare {
		t.Fatal(got)
	}
	must(t, begin(m, 2).Acquire(ctx, table, Request{Mode: RowExclusive, NoWait: true}))
	if err := o.Acquire(ctx, table, Request{Mode: AccessExclusive, NoWait: true}); !errors.Is(err, ErrNotAvailable) {
		t.Fatal("the lock was given back", err)
	}
	o.Release()
}

func TestBarrier(t *testing.T) {
	m := newManager()
	a, b, ddl := begin(m, 1), begin(m, 2), begin(m, 3)
	ctx := context.Background()
	must(t, a.Acquire(ctx, table, Request{Mode: RowExclusive}))
	must(t, ddl.Acquire(ctx, table, Request{Mode: AccessShare}))
	passed := make(chan error, 1)
	go func() { passed <- ddl.Barrier(ctx, table) }()
	for s := m.stripe(table); ; {
		s.mu.Lock()
		n := len(s.objects[table].barriers)
		s.mu.Unlock()
		if n == 1 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	must(t, b.Acquire(ctx, table, Request{Mode: RowExclusive, NoWait: true})) // not stopped, and not waited for
	select {
	case <-passed:
		t.Fatal("a still holds the table")
	default:
	}
	// A transaction for which the barrier waits, and which waits for the barrier's owner, closes a
	// cycle.
	if err := a.Acquire(ctx, table, Request{Mode: AccessExclusive}); !pgerr.Is(err, pgerr.DeadlockDetected) {
		t.Fatal(err)
	}
	a.Release()
	must(t, <-passed)
	must(t, ddl.Barrier(canceled(), Table(5, 1)))
	if err := ddl.Barrier(canceled(), table); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func TestDetach(t *testing.T) {
	m := newManager()
	s := m.NewSession(1)
	o := s.Begin(txn.NewID())
	ctx := context.Background()
	must(t, o.Acquire(ctx, table, Request{Mode: Exclusive}))
	o.Detach()
	next := s.Begin(txn.NewID())
	if err := next.Acquire(ctx, table, Request{Mode: RowShare, NoWait: true}); !errors.Is(err, ErrNotAvailable) {
		t.Fatal(err)
	}
	if got := m.Locks(); len(got) != 1 || got[0].PID != 0 {
		t.Fatal(got)
	}
	o.Release()
	must(t, next.Acquire(ctx, table, Request{Mode: RowShare, NoWait: true}))
}

// Parallel parts of one statement may ask for the same lock.
func TestSideBySide(t *testing.T) {
	m := newManager()
	s := m.NewSession(1)
	for range 100 {
		o := s.Begin(txn.NewID())
		var wg sync.WaitGroup
		for range 4 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				if err := o.Acquire(context.Background(), table, Request{Mode: RowShare}); err != nil {
					t.Error(err)
				}
				if err := s.Acquire(context.Background(), Key(5, 1), Request{Mode: Share}); err != nil {
					t.Error(err)
				}
			}()
		}
		wg.Wait()
		o.Release()
		for range 4 {
			if !s.Unlock(Key(5, 1), Share) {
				t.Error("taken four times")
			}
		}
		if got := m.Locks(); len(got) != 0 {
			t.Fatal(got)
		}
	}
}

// Random transactions: exclusive sections exclude (Y1), every wait ends (Y3), nothing is left (Y4).
func TestRandom(t *testing.T) {
	m := newManager()
	var inside [4][modes]atomic.Int32
	var wg sync.WaitGroup
	for pid := range uint32(8) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			r := rand.New(rand.NewPCG(1, uint64(pid)))
			s := m.NewSession(pid + 1)
			for range 400 {
				randomTransaction(t, r, s, &inside)
			}
		}()
	}
	wg.Wait()
	if got := m.Locks(); len(got) != 0 {
		t.Fatal(got)
	}
}

func randomTransaction(t *testing.T, r *rand.Rand, s *Session, inside *[4][modes]atomic.Int32) {
	o := s.Begin(txn.NewID())
	var held [4]Set
	for range 1 + r.IntN(4) {
		i, mode := r.IntN(4), Mode(1+r.IntN(int(AccessExclusive)))
		err := o.Acquire(
			context.Background(), Table(5, uint32(i)),
			Request{Mode: mode, NoWait: r.IntN(4) == 0, Deadlock: time.Millisecond},
		)
		if err != nil {
			if !pgerr.Is(err, pgerr.DeadlockDetected) && !errors.Is(err, ErrNotAvailable) {
				t.Error(err)
			}
			break
		}
		if !held[i].Has(mode) {
			held[i] |= 1 << mode
			inside[i][mode].Add(1)
		}
		for n := AccessShare; n < modes; n++ {
			own := int32(0)
			if held[i].Has(n) {
				own = 1
			}
			if mode.Conflicts(n) && inside[i][n].Load() > own {
				t.Errorf("%s beside %s", mode, n)
			}
		}
	}
	for i := range held {
		for n := AccessShare; n < modes; n++ {
			if held[i].Has(n) {
				inside[i][n].Add(-1)
			}
		}
	}
	o.Release()
}

// One statement in a transaction of its own, and the following one in the same transaction.
func BenchmarkUncontended(b *testing.B) {
	m := newManager()
	s := m.NewSession(1)
	ctx := context.Background()
	id := txn.NewID()
	b.Run("first", func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			o := s.Begin(id)
			_ = o.Acquire(ctx, table, Request{Mode: RowExclusive})
			o.Release()
		}
	})
	b.Run("again", func(b *testing.B) {
		o := s.Begin(id)
		for range b.N {
			_ = o.Acquire(ctx, table, Request{Mode: RowExclusive})
		}
		o.Release()
	})
}
