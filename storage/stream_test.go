package storage

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/storage/marker"
	"github.com/sherddb/sherd/txn"
)

// TestFollowerIsStreamedTo adds a second replica to a group whose log has been cut: it gets the
// live database, prepared transactions included, keeps it over a restart, and goes on with the log.
func TestFollowerIsStreamedTo(t *testing.T) {
	addrA, transA := raft.NewInmemTransport("a")
	addrB, transB := raft.NewInmemTransport("b")
	transA.Connect(addrB, transB)
	transB.Connect(addrA, transA)
	a := openTest(t, t.TempDir(), small, func(c *Config) {
		c.Group.Node, c.Group.Transport, c.Timing.RecoverAfter = "a", transA, time.Hour
		c.Group.Peers = []raft.Server{{ID: "a", Address: addrA}}
	})
	ctx := testContext(t)
	fillAndCut(t, a)
	tx := a.Tx(txn.NewID())
	tx.LockNewest(ctx, rowKey(0))
	tx.Put(rowKey(0), []byte("prepared"))
	d := txn.Decision{ID: tx.ID(), C: a.cfg.Clock.Now() + 1, Outcome: txn.Committed}
	if err := tx.Prepare(ctx,
		txn.PrepareRequest{C: d.C, Coordinator: 9, Attempt: 1, Writers: []txn.FragmentID{1, 9}}); err != nil {
		t.Fatal(err)
	}
	if err := a.Group.raft.Snapshot(); err != nil {
		t.Fatal(err)
	}
	dirB := t.TempDir()
	openB := func() *Replica {
		cfg := Config{Dir: dirB, Fragment: 1, Clock: txn.NewClock(nil, 0), Logger: quiet,
			Group: GroupConfig{Node: "b", Transport: transB, Join: true}}
		small(&cfg)
		b, err := Open(cfg)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	b := openB()
	if err := a.Group.raft.Raft().AddNonvoter("b", addrB, 0, 0).Error(); err != nil {
		t.Fatal(err)
	}
	catchUp(t, a, b)
	if b.txns.undecided.Load() != 1 {
		t.Fatal("the prepared transaction did not come")
	}
	same(t, a, b)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dirB, "snapshots", marker.StreamFile)); err != nil {
		t.Fatal("the stream is needed until the prepared transaction is resolved:", err)
	}
	_, transB = raft.NewInmemTransport("b")
	transB.Connect(addrA, transA)
	transA.Connect(addrB, transB)
	b = openB()
	defer b.Close()
	if err := a.Outcomes.Resolve(d); err != nil {
		t.Fatal(err)
	}
	tx.end()
	commitRow(t, a, rowKey(500), "later")
	catchUp(t, a, b)
	same(t, a, b)
}

// TestStreamBehindRaftsOwnEntries streams when the newest snapshot ends with a change of members,
// which the database does not know, and starts the replica again: its log begins behind that.
func TestStreamBehindRaftsOwnEntries(t *testing.T) {
	addrA, transA := raft.NewInmemTransport("a")
	addrB, transB := raft.NewInmemTransport("b")
	transA.Connect(addrB, transB)
	a := openTest(t, t.TempDir(), small, func(c *Config) {
		c.Group.Node, c.Group.Transport, c.Group.Peers = "a", transA, []raft.Server{{ID: "a", Address: addrA}}
	})
	fillAndCut(t, a)
	if err := a.Group.raft.AddNonvoter(testContext(t), "c", "nowhere"); err != nil {
		t.Fatal(err)
	}
	if err := a.Group.raft.Snapshot(); err != nil {
		t.Fatal(err)
	}
	cfg := Config{Dir: t.TempDir(), Fragment: 1, Clock: txn.NewClock(nil, 0), Logger: quiet,
		Group: GroupConfig{Node: "b", Transport: transB, Join: true}}
	b, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Group.raft.AddNonvoter(testContext(t), "b", addrB); err != nil {
		t.Fatal(err)
	}
	catchUp(t, a, b)
	if err := b.Close(); err != nil || b.db.Replacements() == 0 {
		t.Fatalf("%d streams, %v", b.db.Replacements(), err)
	}
	_, transB = raft.NewInmemTransport("b")
	transA.Connect(addrB, transB)
	cfg.Group.Transport = transB
	if b, err = Open(cfg); err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	commitRow(t, a, rowKey(500), "later")
	catchUp(t, a, b)
	same(t, a, b)
}

// TestKilledWithStream kills a follower when it has a stream and has not taken it yet: before and
// after the marker is there, with an older log and marker, and with none.
func TestKilledWithStream(t *testing.T) {
	for _, point := range []string{"snapshot.before", "snapshot.after"} {
		for _, older := range []bool{false, true} {
			t.Run(fmt.Sprint(point, " older log ", older), func(t *testing.T) { killWithStream(t, point, older) })
		}
	}
}

func killWithStream(t *testing.T, point string, older bool) {
	addrA, transA := raft.NewInmemTransport("a")
	a := openTest(t, t.TempDir(), small, func(c *Config) {
		c.Group.Node, c.Group.Transport, c.Group.Peers = "a", transA, []raft.Server{{ID: "a", Address: addrA}}
	})
	dir, killed := t.TempDir(), t.TempDir()
	openB := func(dir string, fault func(string)) *Replica {
		addrB, transB := raft.NewInmemTransport("b")
		transA.Connect(addrB, transB)
		transB.Connect(addrA, transA)
		b, err := Open(Config{Dir: dir, Fragment: 1, Clock: txn.NewClock(nil, 0), Logger: quiet,
			Group: GroupConfig{Node: "b", Transport: transB, Join: true}, Knobs: Knobs{Fault: fault}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { b.Close() })
		return b
	}
	if older {
		b := openB(dir, nil)
		if err := a.Group.raft.AddNonvoter(testContext(t), "b", "b"); err != nil {
			t.Fatal(err)
		}
		commitRow(t, a, rowKey(1), "older")
		catchUp(t, a, b)
		if err := errors.Join(b.Group.raft.Snapshot(), a.Group.raft.Remove(testContext(t), "b"),
			b.Close()); err != nil {
			t.Fatal(err)
		}
		eventually.Holds(t, "the log is kept for no other replica", func() bool { return !a.kept.Several() })
	}
	fillAndCut(t, a)
	if err := errors.Join(a.Group.raft.AddNonvoter(testContext(t), "c", "nowhere"),
		a.Group.raft.Snapshot()); err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	b := openB(dir, func(p string) {
		if p == point {
			once.Do(func() { copyTree(t, dir, killed) })
		}
	})
	if err := a.Group.raft.AddNonvoter(testContext(t), "b", "b"); err != nil {
		t.Fatal(err)
	}
	catchUp(t, a, b)
	if err := b.Close(); err != nil || b.db.Replacements() == 0 {
		t.Fatalf("%d streams, %v", b.db.Replacements(), err)
	}
	b = openB(killed, nil)
	commitRow(t, a, rowKey(500), "later")
	catchUp(t, a, b)
	same(t, a, b)
}

// TestMarkerBehindStream: a snapshot that the replica began to make before a stream came does not
// take the place of the stream's marker.
func TestMarkerBehindStream(t *testing.T) {
	r := openTest(t, t.TempDir())
	create := func(index uint64) raft.SnapshotSink {
		sink, err := r.snaps.Create(1, index, 1, raft.Configuration{}, 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		return sink
	}
	own, stream := create(10), create(1000)
	if _, err := stream.Write([]byte("a stream")); err != nil {
		t.Fatal(err)
	}
	if err := stream.Close(); err != nil {
		t.Fatal(err)
	}
	if err := own.Close(); err == nil {
		t.Error("the older marker is taken")
	}
	if metas, err := r.snaps.List(); err != nil || metas[0].Index != 1000 {
		t.Errorf("the marker is of %+v, %v", metas[0], err)
	}
	if err := r.snaps.Release(); err != nil {
		t.Fatal(err)
	}
}

// fillAndCut writes until the log is cut.
func fillAndCut(t *testing.T, r *Replica) {
	t.Helper()
	for i := range 200 {
		commitRow(t, r, rowKey(i), fmt.Sprint(i, string(bytes.Repeat([]byte("z"), 40_000))))
	}
	commitRow(t, r, rowKey(1), string(make([]byte, 700_000)))
	if err := r.Group.raft.Snapshot(); err != nil {
		t.Fatal(err)
	}
	if first, _ := r.Group.raft.Log().FirstIndex(); first < 50 {
		t.Fatalf("the log was not cut: it begins at %d", first)
	}
}

func catchUp(t *testing.T, a, b *Replica) {
	t.Helper()
	eventually.Holds(t, "the follower has applied what the leader has", func() bool { return b.Applied() >= a.Applied() })
}

// same compares all keys of both databases, and their statistics.
func same(t *testing.T, a, b *Replica) {
	t.Helper()
	dump := func(r *Replica) (out []string) {
		txn := r.db.At(a.Applied())
		defer txn.Close()
		c := txn.Scan(keyspace.TableSpan(20000), false)
		defer c.Close()
		for ; c.Valid(); c.Next() {
			err := c.Row(func(k, v []byte) error {
				out = append(out, fmt.Sprintf("%x@%d %d %.20q", k, c.Item().At(), len(v), v))
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		var sums []string // counts by bucket are each replica's own
		r.stats.All(func(key, value []byte) { sums = append(sums, fmt.Sprintf("%x %x", key, value)) })
		slices.Sort(sums)
		return append(out, fmt.Sprint(sums))
	}
	x, y := dump(a), dump(b)
	if fmt.Sprint(x) != fmt.Sprint(y) {
		t.Fatalf("%d and %d rows differ", len(x), len(y))
	}
}

func TestDamagedStreamIsRefused(t *testing.T) {
	r := openTest(t, t.TempDir())
	commitRow(t, r, rowKey(1), "x")
	rd, size, err := r.stream()
	if err != nil {
		t.Fatal(err)
	}
	whole, err := io.ReadAll(rd)
	if err != nil {
		t.Fatal(err)
	}
	if int64(len(whole)) != size {
		t.Fatalf("%d bytes of %d", len(whole), size)
	}
	end := len(bytes.TrimRight(whole, "\x00"))
	for _, cut := range []int{0, 1, 2, end / 2, end - 1} {
		other := openTest(t, t.TempDir())
		if err := other.machine.restore(bytes.NewReader(whole[:cut]), 0); err == nil {
			t.Fatalf("a stream of %d of %d bytes is taken", cut, len(whole))
		}
	}
}

// TestFollowerIsStreamedToWhileWritten adds a replica under writes: the stream is of one moment,
// and the log from there on is kept for it.
func TestFollowerIsStreamedToWhileWritten(t *testing.T) {
	addrA, transA := raft.NewInmemTransport("a")
	addrB, transB := raft.NewInmemTransport("b")
	transA.Connect(addrB, transB)
	transB.Connect(addrA, transA)
	a := openTest(t, t.TempDir(), small, func(c *Config) {
		c.Group.Node, c.Group.Transport, c.Group.Peers = "a", transA, []raft.Server{{ID: "a", Address: addrA}}
	})
	fillAndCut(t, a)
	b, err := Open(Config{Dir: t.TempDir(), Fragment: 1, Clock: txn.NewClock(nil, 0), Logger: quiet,
		Group: GroupConfig{Node: "b", Transport: transB, Join: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := a.Group.raft.AddNonvoter(testContext(t), "b", addrB); err != nil {
		t.Fatal(err)
	}
	for i := 0; b.db.Replacements() == 0 || b.Applied() == 0; i++ {
		commitRow(t, a, rowKey(i%300), fmt.Sprint(i, string(bytes.Repeat([]byte("y"), 10_000))))
		if i%20 == 0 {
			// If this cut the log behind the stream's marker, the stream would begin again.
			if err := a.Group.raft.Snapshot(); err != nil {
				t.Fatal(err)
			}
		}
	}
	catchUp(t, a, b)
	same(t, a, b)
	if n := b.db.Replacements(); n != 1 {
		t.Errorf("%d streams", n)
	}
	v := &View{r: b, restores: 0}
	if v.intact(nil) == nil {
		t.Error("a view of before the stream is taken for whole")
	}
}

// TestStreamBesideDiscard: a replica that has moved its discard timestamp is streamed again. Merges
// during the stream keep the deletions that it has brought, because their rows may still be to
// come.
func TestStreamBesideDiscard(t *testing.T) {
	const rows, each = 2000, 100
	r := openTest(t, t.TempDir(), slowRecovery)
	for _, write := range []func(tx *Tx, key []byte) error{
		func(tx *Tx, key []byte) error { return tx.Put(key, make([]byte, 20_000)) },
		func(tx *Tx, key []byte) error { return tx.Delete(key) },
	} {
		for from := 0; from < rows; from += each {
			tx := r.Tx(txn.NewID())
			for n := from; n < from+each; n++ {
				if err := cmp.Or(tx.LockNewest(t.Context(), rowKey(n)), write(tx, rowKey(n))); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := tx.Commit(t.Context(), txn.CommitRequest{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	f, err := r.machine.freeze()
	if err != nil {
		t.Fatal(err)
	}
	defer f.release()
	var b bytes.Buffer
	if err := r.writeTo(&counter{w: &b, limit: math.MaxInt64}, f); err != nil {
		t.Fatal(err)
	}
	to := openTest(t, t.TempDir(), slowRecovery, smallTables)
	to.db.Discard(r.Applied())
	if err := to.machine.restoreAt(io.NopCloser(&b), 0); err != nil {
		t.Fatal(err)
	}
	for n := range rows {
		if inBadger(to, rowKey(n), txn.MaxTimestamp-1) != "" {
			t.Errorf("row %d, which was deleted, is back", n)
		}
	}
}

// TestStreamBesideDeletion: a table is dropped, and its rows are deleted after a stream has passed
// them and before it comes to the record of the deletion. The follower deletes them too.
func TestStreamBesideDeletion(t *testing.T) {
	const rows = 100
	began, held := make(chan struct{}), make(chan struct{})
	first := true
	r := openTest(t, t.TempDir(), func(c *Config) {
		c.Knobs.Fault = func(point string) {
			if point == "drop.deleted" && first {
				first = false
				close(began)
				<-held
			}
		}
	})
	for n := range rows {
		commitRow(t, r, rowKey(n), "x")
	}
	// a first deletion, which does not end, holds up the second
	for _, table := range []uint32{20001, 20000} {
		if err := r.DeleteSpan(t.Context(), keyspace.TableSpan(table)); err != nil {
			t.Fatal(err)
		}
		if table == 20001 {
			<-began
		}
	}
	f, err := r.machine.freeze()
	if err != nil {
		t.Fatal(err)
	}
	defer f.release()
	b := &passing{key: rowKey(rows - 1), then: func() {
		close(held)
		r.drops.wait()
	}}
	w := bufio.NewWriterSize(b, 1)
	if err := errors.Join(r.writeStream(w, f), w.Flush()); err != nil {
		t.Fatal(err)
	}
	if b.then != nil || inBadger(r, rowKey(0), txn.MaxTimestamp-1) != "" {
		t.Fatal("the rows were not deleted during the stream")
	}
	to := openTest(t, t.TempDir())
	if err := to.machine.restoreAt(io.NopCloser(b), 0); err != nil {
		t.Fatal(err)
	}
	to.drops.wait()
	for n := range rows {
		if inBadger(to, rowKey(n), txn.MaxTimestamp-1) != "" {
			t.Errorf("row %d, which was deleted, is back", n)
		}
	}
	if left, err := to.Inspect.Dropping(); len(left) > 0 || err != nil {
		t.Errorf("%d deletions are not finished, %v", len(left), err)
	}
}

// passing is a buffer that calls then once a key has been written.
type passing struct {
	bytes.Buffer
	key  []byte
	then func()
}

func (p *passing) Write(b []byte) (int, error) {
	n, err := p.Buffer.Write(b)
	if p.then != nil && bytes.Contains(b, p.key) {
		p.then()
		p.then = nil
	}
	return n, err
}
