package storage

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/internal/sparse"
	"github.com/sherddb/sherd/raftlog"
	"github.com/sherddb/sherd/storage/engine"
	"github.com/sherddb/sherd/txn"
)

// flushed waits until all memtables but the one that is written are tables, so that no file goes
// while the directory is copied.
func flushed(t *testing.T, data string) {
	t.Helper()
	eventually.Holds(t, "memtables are flushed", func() bool {
		mems, err := filepath.Glob(filepath.Join(data, "*.mem"))
		if err != nil {
			t.Fatal(err)
		}
		return len(mems) == 1
	})
}

// TestStopped reads a replica whose log holds more than memtables do, some of it without an
// outcome, and twice: as it was when it was killed, and after an orderly end. The directory that is
// read stays as it is.
func TestStopped(t *testing.T) {
	dir := t.TempDir()
	log, err := raftlog.Open(raftlog.Options{Dir: filepath.Join(dir, "log"), Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	r := openTest(t, filepath.Join(dir, "1"), func(c *Config) { c.Group.Device, c.Disk.MemTable = log, 2<<20 })
	const rows = 40
	large := make([]byte, 300<<10) // a row in chunks; 40 of them are several tables
	rnd := rand.NewChaCha8([32]byte{})
	for i := range rows {
		rnd.Read(large)
		commitRow(t, r, rowKey(i), string(large))
	}
	commitRow(t, r, rowKey(1), "small")
	tx := r.Tx(txn.NewID())
	if err := tx.LockNewest(t.Context(), rowKey(2)); err != nil {
		t.Fatal(err)
	}
	if err := tx.Put(rowKey(2), []byte("undecided")); err != nil {
		t.Fatal(err)
	}
	C := r.cfg.Clock.Now()
	if err := tx.Prepare(t.Context(),
		txn.PrepareRequest{Coordinator: 9, C: C, Attempt: 1, Writers: []FragmentID{1, 9}}); err != nil {
		t.Fatal(err)
	}
	flushed(t, filepath.Join(dir, "1", "data"))
	killed := filepath.Join(t.TempDir(), "killed")
	if err := sparse.Dir(killed, dir); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{killed, dir} {
		before := sizes(t, at)
		readStopped(t, at, func(s *Stopped) {
			n := 0
			err := s.View().Scan(t.Context(), txn.Span{}, false, func(key, value []byte) error {
				if len(value) != len(large) && string(value) != "small" {
					t.Errorf("%x has %d bytes", key, len(value))
				}
				n++
				return nil
			})
			if err != nil || n != rows {
				t.Errorf("%d rows, %v", n, err)
			}
			if u := s.Undecided(); len(u) != 1 || u[0].ID != tx.ID() || u[0].C != C || u[0].Coordinator != 9 {
				t.Errorf("%+v", u)
			}
			documents := int64(0)
			for _, x := range s.Stats() {
				documents += x.Documents
			}
			if documents != rows {
				t.Errorf("the statistics have %d rows", documents)
			}
		})
		if after := sizes(t, at); after != before {
			t.Errorf("%s has become\n%s", before, after)
		}
	}
}

func readStopped(t *testing.T, dir string, fn func(*Stopped)) {
	t.Helper()
	log, err := raftlog.Open(raftlog.Options{Dir: filepath.Join(dir, "log"), Logger: quiet, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	g, err := log.Group(1)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := VerifyLog(context.Background(), g); n < 40 || err != nil {
		t.Fatalf("%d entries, %v", n, err)
	}
	n, faults, err := engine.VerifyTables(context.Background(), filepath.Join(dir, "1"), func(int64) {})
	if n == 0 || len(faults) > 0 || err != nil {
		t.Fatalf("%d tables, %v, %v", n, faults, err)
	}
	s, err := OpenStopped(Config{Dir: filepath.Join(dir, "1"), Fragment: 1, Logger: quiet}, g, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	fn(s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// sizes names the files of a directory with their sizes and times.
func sizes(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil {
			fmt.Fprintln(&b, path, info.Size(), info.ModTime())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
