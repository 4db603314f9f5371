package storage

import (
	"bytes"
	"context"
	"io"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/txn"
)

// smallTables has tables made early, and the log kept.
func smallTables(c *Config) { c.Disk.MemTable = 512 << 10 }

// pass moves the watermark, whatever is pinned.
func pass(t *testing.T, r *Replica, T txn.Timestamp) {
	t.Helper()
	if _, _, err := r.log.run((&logentry.Watermark{At: T}).Encode(), 0); err != nil {
		t.Fatal(err)
	}
}

// checkpoint writes one, and rows until it is in tables.
func checkpoint(t *testing.T, r *Replica) {
	t.Helper()
	r.machine.mu.Lock()
	err := r.machine.checkpoint()
	at := r.machine.s.stamp
	r.machine.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	fillUntil(t, r, func() bool {
		m, ok := r.kept.InTables()
		return ok && m.Stamp >= at
	})
}

// fillUntil writes rows until something is so.
func fillUntil(t *testing.T, r *Replica, done func() bool) {
	t.Helper()
	for n := range 1000 {
		if done() {
			return
		}
		// before and behind all others
		commitRow(t, r, rowKey(n%2*1000), strings.Repeat("f", 60_000))
	}
	t.Fatal("nothing comes of it")
}

// drop has Badger drop what it may, and reports whether something has gone.
func drop(t *testing.T, r *Replica, gone func() bool) bool {
	t.Helper()
	c := newCollector(r)
	for n := 0; n < 4 && !gone(); n++ { // of tables at one level nothing is dropped
		fillUntil(t, r, func() bool { return r.db.Condition().Levels > 1 })
		c.flat = time.Time{}
		c.discard(time.Now())
	}
	return gone()
}

// unseen reports whether Badger has nothing of a key at T.
func unseen(r *Replica, key []byte, T txn.Timestamp) func() bool {
	return func() bool { return inBadger(r, key, T) == "" }
}

// inBadger returns what Badger has of a key at T.
func inBadger(r *Replica, key []byte, T txn.Timestamp) string {
	b := r.db.At(T)
	defer b.Close()
	value, _, _ := b.Get(key)
	return string(value)
}

// TestReadsBesideWatermark: a read that the watermark passes is refused, wherever it is, for the
// versions that it needs may be gone.
func TestReadsBesideWatermark(t *testing.T) {
	large := strings.Repeat("x", 600_000)
	ignore := func(_, _ []byte) error { return nil }
	for name, read := range map[string]func(t *testing.T, r *Replica, v *View, pass func()) error{
		"row": func(t *testing.T, _ *Replica, v *View, pass func()) error {
			pass()
			b, err := v.Get(t.Context(), rowKey(1))
			if err == nil {
				t.Errorf("the row is %q", b)
			}
			return err
		},
		"scan": func(t *testing.T, r *Replica, v *View, pass func()) error {
			allow := r.db.DelayAccess()
			defer allow()
			got := make(chan error, 1)
			n := 0
			go func() {
				got <- v.Scan(context.Background(), keyspace.TableSpan(20000), false,
					func(_, _ []byte) error { n++; return nil })
			}()
			awaitIn("engine.(*Engine).BeginAccess")
			pass()
			allow()
			err := <-got
			if err == nil {
				t.Errorf("there are %d rows", n)
			}
			return err
		},
		"pieces": func(t *testing.T, _ *Replica, v *View, pass func()) error {
			return v.Scan(t.Context(), keyspace.TableSpan(20000), false, func(_, value []byte) error {
				if pass(); len(value) > 100 {
					t.Errorf("a large row has %d bytes, the first is %q", len(value), value[:1])
				}
				return nil
			})
		},
		"all": func(t *testing.T, r *Replica, v *View, pass func()) error {
			v.own = r.Owned.Load().OrFirst()
			pass()
			return v.Scan(t.Context(),
				txn.Span{Start: keyspace.IndexPrefix(20000, 0), End: keyspace.IndexPrefix(20001, 0)}, true, ignore)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := openTest(t, t.TempDir(), smallTables)
			commitRow(t, r, rowKey(1), "old")
			commitRow(t, r, rowKey(2), large)
			T := commitRow(t, r, rowKey(3), "old")
			commitRow(t, r, rowKey(1), "new")
			commitRow(t, r, rowKey(2), "new")
			if err := deleteRow(r, rowKey(3)); err != nil {
				t.Fatal(err)
			}
			v, err := r.Tx(txn.NewID()).View(t.Context(), T)
			if err != nil {
				t.Fatal(err)
			}
			defer v.Close()
			passed := false
			err = read(t, r, v, func() {
				if passed {
					return
				}
				passed = true
				pass(t, r, r.Applied())
				checkpoint(t, r)
				if !drop(t, r, unseen(r, rowKey(1), T)) {
					t.Error("nothing was dropped")
				}
			})
			if !pgerr.Is(err, pgerr.SnapshotTooOld) {
				t.Errorf("the read ends with %v", err)
			}
		})
	}
}

// awaitIn waits until a goroutine is in a function.
func awaitIn(name string) {
	for b := make([]byte, 1<<20); !bytes.Contains(b[:runtime.Stack(b, true)], []byte(name+"(")); {
		runtime.Gosched()
	}
}

// TestLocksBesideWatermark: a lock at an old snapshot does not prove that the row has not been
// deleted since.
func TestLocksBesideWatermark(t *testing.T) {
	r := openTest(t, t.TempDir(), smallTables)
	ctx := testContext(t)
	commitRow(t, r, rowKey(1), "old")
	T := commitRow(t, r, rowKey(2), "old")
	for _, n := range []int{1, 2} {
		if err := deleteRow(r, rowKey(n)); err != nil {
			t.Fatal(err)
		}
	}
	commitRow(t, r, rowKey(2), "another")
	update := r.Tx(txn.NewID())
	if _, err := update.Lock(ctx, rowKey(2), txn.LockRequest{Mode: txn.NoKeyUpdate, T: r.Applied()}); err != nil {
		t.Fatal(err)
	}
	if err := update.Put(rowKey(2), []byte("changed")); err != nil {
		t.Fatal(err)
	}
	if _, err := update.Commit(ctx, txn.CommitRequest{}); err != nil {
		t.Fatal(err)
	}
	pass(t, r, r.Applied())
	checkpoint(t, r)
	if !drop(t, r, func() bool {
		at, err := r.rows.lastDelete(waitContext{ctx: t.Context()}, rowKey(1))
		return at == 0 && err == nil
	}) {
		t.Error("nothing was dropped")
	}
	tx := r.Tx(txn.NewID())
	defer tx.Rollback()
	if changed, err := tx.Lock(ctx, rowKey(1),
		txn.LockRequest{Mode: txn.Update, T: T}); !pgerr.Is(err, pgerr.SnapshotTooOld) {
		t.Errorf("a row that was deleted is locked: %t, %v", changed, err)
	}
	if changed, err := tx.Lock(ctx, rowKey(2),
		txn.LockRequest{Mode: txn.KeyShare, T: T}); !pgerr.Is(err, pgerr.SerializationFailure) {
		t.Errorf("a row that took another's place is locked: %t, %v", changed, err)
	}
}

// TestPinBesideWatermark: what is pinned can be read, also where the watermark was on its way when
// the pin was asked for.
func TestPinBesideWatermark(t *testing.T) {
	g := newGate()
	r := openTest(t, t.TempDir(), g.config)
	T := commitRow(t, r, rowKey(1), "old")
	at := commitRow(t, r, rowKey(1), "new")
	open := g.shut(t)
	moved := make(chan error, 1)
	go func() { moved <- r.passBelow(at) }()
	<-g.proposed
	release, err := r.Pin(T)
	open()
	if err := <-moved; err != nil {
		t.Fatal(err)
	}
	if err == nil {
		defer release()
		_, err = r.Tx(txn.NewID()).View(t.Context(), T)
		t.Fatalf("it was pinned; a view ends with %v", err)
	}
	if !pgerr.Is(err, pgerr.SnapshotTooOld) {
		t.Fatal(err)
	}
	if release, err = r.Pin(at); err != nil {
		t.Fatal(err)
	}
	later := commitRow(t, r, rowKey(1), "later")
	if err := r.passBelow(later); err != nil || r.Watermark() != at {
		t.Fatalf("the watermark is at %s, %s is pinned: %v", r.Watermark(), at, err)
	}
	release()
	if err := r.passBelow(later); err != nil || r.Watermark() != later {
		t.Fatalf("the watermark is at %s, nothing below %s is pinned: %v", r.Watermark(), later, err)
	}
}

// TestRestartBehindWatermark: a replica that was killed starts with the watermark of its
// checkpoint, and has what can be read by that.
func TestRestartBehindWatermark(t *testing.T) {
	dir, killed := t.TempDir(), t.TempDir()
	r := openTest(t, dir, smallTables)
	T := commitRow(t, r, rowKey(1), "old")
	at := commitRow(t, r, rowKey(1), "new")
	checkpoint(t, r)
	fillUntil(t, r, func() bool { return r.db.Condition().Levels > 1 })
	pass(t, r, at)
	c := newCollector(r)
	c.flat = time.Time{}
	c.discard(time.Now())
	copyTree(t, dir, killed)
	g := newGate()
	open := g.shut(t)
	cfg := Config{Dir: killed, Fragment: 1, Clock: txn.NewClock(nil, 0), Logger: quiet}
	g.config(&cfg)
	again, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	defer open()
	if got, err := readClosed(t, again, T, rowKey(1)); got != "old" && !pgerr.Is(err, pgerr.SnapshotTooOld) {
		t.Errorf("before the log is applied again the old snapshot sees %q, %v", got, err)
	}
	open()
	if err := again.Group.WaitReady(testContext(t)); err != nil {
		t.Fatal(err)
	}
	if got, err := readClosed(t, again, T, rowKey(1)); !pgerr.Is(err, pgerr.SnapshotTooOld) {
		t.Errorf("then it sees %q, %v", got, err)
	}
}

// TestStreamBesideWatermark: a stream has what can be read by the watermark in it, however far the
// leader's has moved meanwhile.
func TestStreamBesideWatermark(t *testing.T) {
	r := openTest(t, t.TempDir(), smallTables)
	T := commitRow(t, r, rowKey(1), "old")
	commitRow(t, r, rowKey(1), "new")
	f, err := r.machine.freeze()
	if err != nil {
		t.Fatal(err)
	}
	pass(t, r, r.Applied())
	checkpoint(t, r)
	drop(t, r, unseen(r, rowKey(1), T))
	var b bytes.Buffer
	if err := r.writeTo(&counter{w: &b, limit: math.MaxInt64}, f); err != nil {
		t.Fatal(err)
	}
	to := openTest(t, t.TempDir(), smallTables)
	if err := to.machine.restoreAt(io.NopCloser(&b), 0); err != nil {
		t.Fatal(err)
	}
	if got, err := readClosed(t, to, T, rowKey(1)); got != "old" {
		t.Errorf("after the stream the old snapshot sees %q, %v", got, err)
	}
	f.release()
	if !drop(t, r, unseen(r, rowKey(1), T)) {
		t.Error("nothing was dropped after the stream")
	}
}

// TestMovedTwiceBesideWatermark: what a bucket has not brought from where it was first, where it
// goes from there has not either.
func TestMovedTwiceBesideWatermark(t *testing.T) {
	m := &mover{t: t, c: openCluster(t, tempDirs(t, 3), withGlobals)}
	first, second, third := m.c.rs[0], m.c.rs[1], m.c.rs[2]
	T := commitRow(t, first, movedKey(100, "a"), "old")
	at := commitRow(t, first, movedKey(100, "a"), "new")
	pass(t, first, at)
	m.move(first, second, movedRange)
	m.move(second, third, movedRange)
	for _, r := range m.c.rs[1:] {
		if got := rowsAt(t, r, T, movedRange, false); !strings.Contains(got, pgerr.SnapshotTooOld) {
			t.Errorf("fragment %d gives %q at a time of which the first had let go", r.ID(), got)
		}
		if got := rowsAt(t, r, at, movedRange, false); got != "100:a=new " {
			t.Errorf("fragment %d gives %q", r.ID(), got)
		}
	}
}
