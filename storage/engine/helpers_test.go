package engine

import (
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"

	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/txn"
)

const plenty = 1 << 40

// testDisk is a disk with as much free space as a test says.
type testDisk struct{ free atomic.Int64 }

func newDisk(free int64) *testDisk {
	d := &testDisk{}
	d.free.Store(free)
	return d
}

// options are those of an engine in dir, whose disk is d.
func (d *testDisk) options(dir string, stop <-chan struct{}) Options {
	return Options{
		Dir: dir, Fragment: 1, Logger: slog.New(slog.DiscardHandler), Merges: &Merges{}, Stop: stop,
		MemTable: 1 << 20, MinFree: 256 << 20, Free: func(string) (int64, error) { return d.free.Load(), nil },
	}
}

// open opens an engine for the time of a test.
func open(t testing.TB, dir string, opts ...func(*Options)) *Engine {
	t.Helper()
	stop := make(chan struct{})
	o := newDisk(plenty).options(dir, stop)
	for _, opt := range opts {
		opt(&o)
	}
	e, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if stop != nil {
			close(stop)
		}
		e.Abandon()
	})
	return e
}

func onDisk(d *testDisk) func(*Options) {
	return func(o *Options) { o.Free = func(string) (int64, error) { return d.free.Load(), nil } }
}

// row returns the key of row n.
func row(n int) []byte { return fmt.Appendf(keyspace.RowPrefix(20000, 1, 0), "%05d", n) }

// set writes a value at T.
func set(t testing.TB, e *Engine, key []byte, value string, T txn.Timestamp) {
	t.Helper()
	b := e.NewBatch()
	if err := b.Set(key, []byte(value), T); err != nil {
		t.Fatal(err)
	}
	if err := b.Flush(); err != nil {
		t.Fatal(err)
	}
}

// get reads a value at T.
func get(t testing.TB, e *Engine, key []byte, T txn.Timestamp) string {
	t.Helper()
	s := e.At(T)
	defer s.Close()
	value, _, err := s.Get(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(value)
}
