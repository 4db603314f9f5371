package storage

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sherddb/sherd/internal/sparse"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/txn"
)

// copyTree copies the data directory as a kill at this moment would leave it: what was written is
// in the page cache.
//
// Copying takes time and a kill does not, so it is done again if Badger changed its set of tables
// meanwhile.
func copyTree(t testing.TB, from, to string) {
	t.Helper()
	for {
		before := tables(from)
		os.RemoveAll(to)
		if err := sparse.Dir(to, from); err != nil {
			t.Error(err)
		}
		if tables(from) == before {
			return
		}
	}
}

func tables(dir string) string {
	names, _ := filepath.Glob(filepath.Join(dir, "data", "*.sst"))
	manifest, _ := os.ReadFile(filepath.Join(dir, "data", "MANIFEST"))
	return strings.Join(names, " ") + string(manifest)
}

// small makes everything happen early: tables, checkpoints, snapshots.
func small(c *Config) {
	c.Disk.MemTable = 2 << 20
	c.Group.LogEntries = 64
	c.Group.LogSegment = 1 << 20
}

// TestCrashAtEveryStep copies the directory at the n-th passing of each durable step, recovers the
// copy and finds in it every row acknowledged before, and of each pair of rows written together
// both or neither.
func TestCrashAtEveryStep(t *testing.T) {
	oneClient(t)
	points := []string{"propose", "apply.begin", "apply.write", "apply.written", "checkpoint.before",
		"checkpoint.after",
		"snapshot.before", "snapshot.after", "truncate.before", "truncate.noted", "truncate.after", "close.checkpoint",
		"close.flushed"}
	for _, point := range points {
		for _, nth := range []int{1, 40} {
			if nth > 1 && (strings.HasPrefix(point, "close") || strings.HasPrefix(point, "truncate") ||
				strings.HasPrefix(point, "snapshot") ||
				strings.HasPrefix(point, "checkpoint")) {
				continue
			}
			t.Run(fmt.Sprint(point, nth), func(t *testing.T) { crashAt(t, point, nth) })
		}
	}
}

func crashAt(t *testing.T, point string, nth int) {
	dir, crashed := t.TempDir(), t.TempDir()
	var mu sync.Mutex
	passed, hit := 0, false
	acked := 0
	var ackedAtCrash int
	r := openTest(t, dir, small, func(c *Config) {
		c.Knobs.Fault = func(p string) {
			mu.Lock()
			defer mu.Unlock()
			if p != point || hit {
				return
			}
			if passed++; passed == nth {
				hit, ackedAtCrash = true, acked
				copyTree(t, dir, crashed)
			}
		}
	})
	pad := strings.Repeat("x", 40_000)
	for i := range 200 {
		commitPair(t, r, i, fmt.Sprint(i, pad))
		mu.Lock()
		acked = i + 1
		mu.Unlock()
		if i%50 == 49 && strings.HasPrefix(point, "truncate") || i == 150 {
			if err := r.Group.raft.Snapshot(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if !hit {
		t.Fatalf("%s was passed %d times", point, passed)
	}
	back := openTest(t, crashed, small)
	for i := range 200 {
		a, b := readRow(t, back, rowKey(2*i)), readRow(t, back, rowKey(2*i+1))
		if a != b {
			t.Fatalf("pair %d is torn: %d and %d bytes", i, len(a), len(b))
		}
		if a == "" && i < ackedAtCrash {
			t.Fatalf("pair %d was acknowledged and is gone (%d were)", i, ackedAtCrash)
		}
	}
	docs := int64(0)
	for _, s := range back.Inspect.BucketStats(0) {
		docs += s.Documents
	}
	n := int64(countRows(t, back))
	if docs != n || n < int64(2*ackedAtCrash) {
		t.Fatalf("statistics say %d documents, %d are there, %d were acknowledged", docs, n, 2*ackedAtCrash)
	}
}

func commitPair(t testing.TB, r *Replica, i int, value string) {
	t.Helper()
	ctx := context.Background()
	tx := r.Tx(txn.NewID())
	for _, key := range [][]byte{rowKey(2 * i), rowKey(2*i + 1)} {
		if err := tx.LockNewest(ctx, key); err != nil {
			t.Fatal(err)
		}
		if err := tx.Put(key, []byte(value)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := tx.Commit(ctx, txn.CommitRequest{}); err != nil {
		t.Fatal(err)
	}
}

func countRows(t testing.TB, r *Replica) (n int) {
	t.Helper()
	ctx := context.Background()
	T, err := r.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	v, err := r.Tx(txn.ID{}).View(ctx, T)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	if err := v.Scan(ctx, keyspace.TableSpan(20000), false, func(_, _ []byte) error { n++; return nil }); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestCutTails is S2: after a power loss the memtable files may have lost any of their pages. Every
// acknowledged row is found whatever is cut off them.
func TestCutTails(t *testing.T) {
	oneClient(t)
	dir := t.TempDir()
	r := openTest(t, dir, small)
	pad := strings.Repeat("y", 10_000)
	for i := range 500 {
		commitRow(t, r, rowKey(i), fmt.Sprint(i, pad))
	}
	for _, keep := range []int64{0, 1, 20_000, 700_000} {
		lost := t.TempDir()
		copyTree(t, dir, lost)
		mems, _ := filepath.Glob(filepath.Join(lost, "data", "*.mem"))
		if len(mems) == 0 {
			t.Fatal("no memtable files")
		}
		for i, m := range mems {
			if i == len(mems)-1 && keep > 1 {
				break // a hole: the older memtable is cut, the newest is whole
			}
			if err := os.Truncate(m, keep); err != nil {
				t.Fatal(err)
			}
		}
		back := openTest(t, lost, small)
		for i := range 500 {
			if got := readRow(t, back, rowKey(i)); got != fmt.Sprint(i, pad) {
				t.Fatalf("keep %d: row %d has %d bytes", keep, i, len(got))
			}
		}
		if err := back.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestEmptyValueLog is a kill between making a value log file and giving it its size.
func TestEmptyValueLog(t *testing.T) {
	dir := t.TempDir()
	r := openTest(t, dir, small)
	commitRow(t, r, rowKey(1), "one")
	killed := t.TempDir()
	copyTree(t, dir, killed)
	if err := os.WriteFile(filepath.Join(killed, "data", "000777.vlog"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	back := openTest(t, killed, small)
	if got := readRow(t, back, rowKey(1)); got != "one" {
		t.Fatalf("read %q", got)
	}
	if err := back.Close(); err != nil {
		t.Fatal(err)
	}
}
