package storage

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/sherddb/sherd/internal/clusterversion"
	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/storage/counts"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/txn"
)

// heavy writes rows of 100 kB to a bucket, as one transaction.
func heavy(t testing.TB, r *Replica, bucket uint32, name string, rows int) {
	t.Helper()
	tx := r.Tx(txn.NewID())
	for i := range rows {
		key := movedKey(bucket, fmt.Sprint(name, i))
		if err := tx.LockNewest(testContext(t), key); err != nil {
			t.Fatal(err)
		}
		if err := tx.Put(key, []byte(strings.Repeat("v", 100_000))); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := tx.Commit(testContext(t), txn.CommitRequest{}); err != nil {
		t.Fatal(err)
	}
}

// counted waits until every group above the limit is counted by bucket.
func counted(t testing.TB, r *Replica) {
	t.Helper()
	eventually.Holds(t, "all groups above the limit are counted", func() bool {
		p := r.stats.Progress()
		return p.Waiting+p.Running == 0
	})
}

// checkExact compares the statistics with the rows: those of groups, and those of each bucket above
// the limit, without a missing one.
func checkExact(t testing.TB, r *Replica) (exact []counts.Range) {
	t.Helper()
	counted(t, r)
	ctx := testContext(t)
	c := r.Inspect.Census()
	stats, err := c.Stats(ctx)
	if err != nil {
		t.Fatal(err)
	}
	v := &View{r: r, t: newTx(r, txn.ID{}), T: c.At, own: r.Owned.Load(), b: r.db.At(c.At),
		restores: r.db.Replacements()}
	defer v.Close()
	v.OwnedOnly()
	type size struct{ docs, bytes int64 }
	rows := map[uint32]size{}
	if err := v.Scan(ctx, txn.Prefix(keyspace.IndexPrefix(movedTable, keyspace.Rows)), false,
		func(key, value []byte) error {
			b := keyspace.BucketOf(key)
			rows[b] = size{rows[b].docs + 1, rows[b].bytes + int64(len(key)+len(value))}
			return nil
		}); err != nil {
		t.Fatal(err)
	}
	above := 0
	for _, x := range rows {
		if x.bytes > counts.ExactBytes {
			above++
		}
	}
	for _, s := range stats {
		if s.Table != movedTable {
			continue
		}
		var got size
		for b := s.From; b < s.To; b++ {
			x := rows[b]
			got = size{got.docs + x.docs, got.bytes + x.bytes}
		}
		if got != (size{s.Documents, s.Bytes}) {
			t.Errorf("buckets [%d, %d) have %+v, the statistics say %+v", s.From, s.To, got, s)
		}
		if s.To == s.From+1 {
			exact = append(exact, s)
		}
	}
	if len(exact) != above {
		t.Errorf("%d buckets are above the limit, the statistics name %+v", above, exact)
	}
	var sum, parts size
	for _, x := range rows {
		sum = size{sum.docs + x.docs, sum.bytes + x.bytes}
	}
	for _, s := range r.Inspect.BucketStats(movedTable) {
		parts = size{parts.docs + s.Documents, parts.bytes + s.Bytes}
		if s.Bytes > counts.ExactBytes && s.To != s.From+1 {
			t.Errorf("a part above the limit is of several buckets: %+v", s)
		}
	}
	if sum != parts {
		t.Errorf("parts add up to %+v, the rows to %+v", parts, sum)
	}
	return exact
}

// TestExactBuckets: every bucket above the limit has a count of its own, which follows what is
// written and deleted, also when the replica is started again and after a crash.
func TestExactBuckets(t *testing.T) {
	oneClient(t)
	dir := t.TempDir()
	r := openTest(t, dir, small)
	heavy(t, r, 700, "a", 30)
	heavy(t, r, 701, "b", 1)
	if got := checkExact(t, r); len(got) != 0 {
		t.Errorf("of a group below the limit: %+v", got)
	}
	heavy(t, r, 700, "c", 30)
	if got := checkExact(t, r); len(got) != 1 || got[0].From != 700 || got[0].Documents != 60 {
		t.Errorf("exact: %+v", got)
	}
	heavy(t, r, 702, "d", 60)
	heavy(t, r, 700, "a", 30) // written again
	heavy(t, r, 900, "e", 90)
	if got := checkExact(t, r); len(got) != 3 {
		t.Errorf("exact: %+v", got)
	}
	want := fmt.Sprint(r.Inspect.BucketStats(0))
	crashed := t.TempDir()
	copyTree(t, dir, crashed)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	scans := func(c *Config) {
		c.Knobs.Fault = func(p string) {
			if p == "exact.begun" {
				t.Error("a restart counts what a checkpoint has")
			}
		}
	}
	r = openTest(t, dir, small, scans)
	if got := fmt.Sprint(r.Inspect.BucketStats(0)); got != want {
		t.Errorf("after a restart %s\nbefore %s", got, want)
	}
	checkExact(t, openTest(t, crashed, small))
	r = openTest(t, crashed+"-", small)
	heavy(t, r, 5, "x", 60)
	checkExact(t, r)
	tx := r.Tx(txn.NewID())
	for i := range 55 {
		key := movedKey(5, fmt.Sprint("x", i))
		if err := tx.LockNewest(testContext(t), key); err != nil {
			t.Fatal(err)
		}
		if err := tx.Delete(key); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := tx.Commit(testContext(t), txn.CommitRequest{}); err != nil {
		t.Fatal(err)
	}
	checkExact(t, r)
	if p := r.stats.Progress(); p != (counts.Progress{}) {
		t.Errorf("a small group is still counted: %+v", p)
	}
	if err := r.DeleteSpan(testContext(t), keyspace.TableSpan(movedTable)); err != nil {
		t.Fatal(err)
	}
	if got := r.Inspect.BucketStats(0); len(got) != 0 {
		t.Errorf("of a table that is dropped: %+v", got)
	}
}

// TestExactBesideWriters: what is written, prepared, decided and dropped while a group is counted
// counts once.
func TestExactBesideWriters(t *testing.T) {
	for _, point := range []string{"exact.begun", "exact.counted"} {
		t.Run(point, func(t *testing.T) {
			var once sync.Once
			at, goOn := make(chan struct{}), make(chan struct{})
			r := openTest(t, t.TempDir(), small, func(c *Config) {
				c.Knobs.Fault = func(p string) {
					if p == point {
						once.Do(func() { close(at); <-goOn })
					}
				}
			})
			ctx := testContext(t)
			prepare := func(name string) (*Tx, txn.Decision) {
				tx := r.Tx(txn.NewID())
				for i := range 5 {
					if err := tx.LockNewest(ctx, movedKey(700, fmt.Sprint(name, i))); err != nil {
						t.Fatal(err)
					}
					if err := tx.Put(movedKey(700, fmt.Sprint(name, i)),
						[]byte(strings.Repeat("p", 50_000))); err != nil {
						t.Fatal(err)
					}
				}
				d := txn.Decision{ID: tx.ID(), C: r.cfg.Clock.Now() + 1, Outcome: txn.Committed}
				if err := tx.Prepare(ctx,
					txn.PrepareRequest{C: d.C, Coordinator: 9, Attempt: 1, Writers: []txn.FragmentID{1, 9}}); err != nil {
					t.Fatal(err)
				}
				return tx, d
			}
			first, committed := prepare("committed")
			second, aborted := prepare("aborted")
			aborted.Outcome = txn.Aborted
			heavy(t, r, 700, "a", 60)
			if point == "exact.begun" { // the scan waits for both
				<-at
			}
			for tx, d := range map[*Tx]txn.Decision{first: committed, second: aborted} {
				if err := r.Outcomes.Resolve(d); err != nil {
					t.Fatal(err)
				}
				tx.end()
			}
			<-at
			heavy(t, r, 700, "b", 7)
			heavy(t, r, 703, "c", 50)
			close(goOn)
			if got := checkExact(t, r); len(got) != 2 {
				t.Errorf("exact: %+v", got)
			}
		})
	}
}

// TestExactOfManyBuckets: a transaction that writes to more buckets than it names has counts done
// again where a bucket may be above the limit, and nowhere else.
func TestExactOfManyBuckets(t *testing.T) {
	scans := 0
	r := openTest(t, t.TempDir(), small, func(c *Config) {
		c.Knobs.Fault = func(p string) {
			if p == "exact.begun" {
				scans++
			}
		}
	})
	heavy(t, r, 0, "a", 60)
	for b := range uint32(8) {
		heavy(t, r, 256+16*b, "a", 6)
	}
	checkExact(t, r)
	before := scans
	tx := r.Tx(txn.NewID())
	for i := range uint32(counts.MostBuckets + 500) {
		if err := tx.LockNewest(testContext(t), movedKey(i, "many")); err != nil {
			t.Fatal(err)
		}
		if err := tx.Put(movedKey(i, "many"), []byte("row")); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.LockNewest(testContext(t), movedKey(7, "large")); err != nil {
		t.Fatal(err)
	}
	if err := tx.Put(movedKey(7, "large"), make([]byte, 5<<20)); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Commit(testContext(t), txn.CommitRequest{}); err != nil {
		t.Fatal(err)
	}
	if got := checkExact(t, r); len(got) != 2 || got[1].From != 7 {
		t.Errorf("exact: %+v", got)
	}
	if scans != before+1 {
		t.Errorf("%d groups were counted again, of one a bucket may be above the limit", scans-before)
	}
}

// TestExactOfEarlierReleases: entries that do not name buckets have the group counted again.
func TestExactOfEarlierReleases(t *testing.T) {
	r := openTest(t, t.TempDir(), small)
	heavy(t, r, 700, "a", 60)
	checkExact(t, r)
	for n := range 3 {
		var d counts.Deltas
		key, value := movedKey(700, fmt.Sprint("old", n)), make([]byte, 100_000)
		d.Add(key, 1, len(key)+len(value))
		e := logentry.Commit{ID: txn.NewID(), Stats: d.Encode(),
			Writes: logentry.AppendOp(nil, logentry.OpPut, key, value)}
		if _, _, err := r.log.run(e.Encode(), 0); err != nil {
			t.Fatal(err)
		}
	}
	if got := checkExact(t, r); len(got) != 1 || got[0].Documents != 63 {
		t.Errorf("exact: %+v", got)
	}
}

// TestExactBeforeUpgradeIsFinal: while nodes of an earlier release may be in the cluster, or come
// back, nothing is written that they do not read: neither entries nor checkpoints name buckets.
// Counting begins when the upgrade is final.
func TestExactBeforeUpgradeIsFinal(t *testing.T) {
	var version atomic.Uint32
	version.Store(clusterversion.First)
	dir := t.TempDir()
	at := func(c *Config) { small(c); c.Version = version.Load }
	r := openTest(t, dir, at)
	heavy(t, r, 700, "a", 60)
	tx := r.Tx(txn.NewID())
	for _, bucket := range []uint32{1, 2, 300} {
		key := movedKey(bucket, "x")
		if err := errors.Join(tx.LockNewest(testContext(t), key), tx.Put(key, []byte("value"))); err != nil {
			t.Fatal(err)
		}
	}
	_, stats, err := tx.encode()
	if err != nil {
		t.Fatal(err)
	}
	tx.Rollback()
	if logentry.NamesBuckets(stats) || len(stats) == 0 {
		t.Errorf("statistics in an entry: %x", stats)
	}
	e := logentry.Commit{Stats: stats}
	if b := e.Encode(); b[0] != 1 {
		t.Errorf("entry of format %d", b[0])
	}
	f, err := r.machine.freeze()
	if err != nil {
		t.Fatal(err)
	}
	if f.release(); f.state[0] != groupsCheckpoint {
		t.Errorf("checkpoint of format %d", f.state[0])
	}
	if p := r.stats.Progress(); p.Counted+p.Running != 0 {
		t.Errorf("groups are counted: %+v", p)
	}
	version.Store(clusterversion.ExactSizes)
	if got := checkExact(t, r); len(got) != 1 || got[0].From != 700 || got[0].Documents != 60 {
		t.Errorf("after the upgrade: %+v", got)
	}
	heavy(t, r, 700, "b", 1)
	if got := checkExact(t, r); len(got) != 1 || got[0].Documents != 61 {
		t.Errorf("after one more: %+v", got)
	}
}

// TestExactMoves: a large bucket is counted where it is, also when it comes back.
func TestExactMoves(t *testing.T) {
	c := openCluster(t, tempDirs(t, 2), small)
	m := &mover{t: t, c: c}
	a, b := c.rs[0], c.rs[1]
	heavy(t, a, 150, "a", 60)
	heavy(t, a, 20, "stays", 50)
	checkExact(t, a)
	m.move(a, b, movedRange)
	if got := checkExact(t, a); len(got) != 1 || got[0].From != 20 {
		t.Errorf("at the source: %+v", got)
	}
	heavy(t, b, 150, "b", 3)
	if got := checkExact(t, b); len(got) != 1 || got[0].From != 150 || got[0].Documents != 63 {
		t.Errorf("at the target: %+v", got)
	}
	m.move(b, a, movedRange)
	if got := checkExact(t, a); len(got) != 2 {
		t.Errorf("when it is back: %+v", got)
	}
	if got := checkExact(t, b); len(got) != 0 {
		t.Errorf("where it was: %+v", got)
	}
	c = c.crash(small)
	if got := checkExact(t, c.rs[0]); len(got) != 2 {
		t.Errorf("after a crash: %+v", got)
	}
}

// TestExactOfStream: a follower that is filled by a stream counts for itself.
func TestExactOfStream(t *testing.T) {
	addrA, transA := raft.NewInmemTransport("a")
	addrB, transB := raft.NewInmemTransport("b")
	transA.Connect(addrB, transB)
	a := openTest(t, t.TempDir(), small, func(c *Config) {
		c.Group.Node, c.Group.Transport, c.Group.Peers = "a", transA, []raft.Server{{ID: "a", Address: addrA}}
	})
	heavy(t, a, 700, "a", 60)
	checkExact(t, a)
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
	catchUp(t, a, b)
	if b.db.Replacements() == 0 {
		t.Fatal("there was no stream")
	}
	heavy(t, a, 700, "b", 9)
	catchUp(t, a, b)
	if got := checkExact(t, b); len(got) != 1 || got[0].Documents != 69 {
		t.Errorf("at the follower: %+v", got)
	}
}
