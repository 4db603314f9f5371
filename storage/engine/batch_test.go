package engine

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/txn"
)

// TestWrittenAgain writes versions of a key that a batch has already, as when a bucket comes, goes
// and comes back: the last one counts, however large the batch is.
func TestWrittenAgain(t *testing.T) {
	for _, others := range []int{0, bulkKeys} {
		e := open(t, t.TempDir())
		b := e.NewBatch()
		b.Again = true
		for round := range 3 {
			for T := range txn.Timestamp(3) {
				if err := b.Set([]byte("\x00\x00\x40\x00key"), fmt.Append(nil, "round ", round), 1+T); err != nil {
					t.Fatal(err)
				}
			}
			for n := range others {
				if err := b.Set(fmt.Appendf(nil, "\x00\x00\x40\x01%d", n), nil, 1); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := b.Flush(); err != nil {
			t.Fatal(err)
		}
		for T := range txn.Timestamp(3) {
			if got := get(t, e, []byte("\x00\x00\x40\x00key"), 1+T); got != "round 2" {
				t.Errorf("with %d others, version %d: %q", others, 1+T, got)
			}
		}
	}
}

// TestMarksSurvive: what an operation says of its version is there in the database, and in that of
// another replica to which it was sent.
func TestMarksSurvive(t *testing.T) {
	ops := []logentry.Op{logentry.OpPut, logentry.OpPutHead, logentry.OpPutKept, logentry.OpPutHeadKept,
		logentry.OpDelete}
	a, b := open(t, t.TempDir()), open(t, t.TempDir())
	from, to := a.NewBatch(), b.NewBatch()
	for n, op := range ops {
		if err := from.Add(op, row(n), Head(600_000), 7); err != nil {
			t.Fatal(err)
		}
	}
	if err := from.Flush(); err != nil {
		t.Fatal(err)
	}
	check := func(e *Engine, then func(Item)) {
		c := e.Latest().AllVersions(txn.Span{}, 0)
		defer c.Close()
		n := 0
		for ; c.Valid(); c.Next() {
			x, op := c.Item(), ops[n]
			if x.Large() != IsHead(op) || x.Kept() != IsKept(op) || x.Deleted() != (op == logentry.OpDelete) ||
				x.At() != 7 {
				t.Errorf("operation %d has left %+v", op, x.Raw())
			}
			n++
			then(x)
		}
		if n != len(ops) {
			t.Errorf("%d versions", n)
		}
	}
	check(a, func(x Item) {
		raw := x.Raw()
		raw.Key = bytes.Clone(raw.Key)
		if err := x.Stored(func(v []byte) error { raw.Value = bytes.Clone(v); return nil }); err != nil {
			t.Fatal(err)
		}
		if err := to.Restore(raw); err != nil {
			t.Fatal(err)
		}
	})
	if err := to.Flush(); err != nil {
		t.Fatal(err)
	}
	check(b, func(Item) {})
}

// TestLargeRows: a row above ChunkSize comes back whole, by Get and by a cursor, and damage to its
// chunks is noticed.
func TestLargeRows(t *testing.T) {
	e := open(t, t.TempDir())
	value := []byte(strings.Repeat("0123456789", 60_000))
	b := e.NewBatch()
	for n := range Chunks(len(value)) {
		if err := b.Set(keyspace.ChunkKey(row(1), n), value[n*ChunkSize:min((n+1)*ChunkSize, len(value))],
			5); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Add(logentry.OpPutHead, row(1), Head(len(value)), 5); err != nil {
		t.Fatal(err)
	}
	if err := b.Flush(); err != nil {
		t.Fatal(err)
	}
	if got := get(t, e, row(1), 5); got != string(value) {
		t.Errorf("the row has %d bytes", len(got))
	}
	c := e.Latest().Scan(keyspace.TableSpan(20000), false)
	defer c.Close()
	if !c.Valid() {
		t.Fatal("there is no row")
	}
	size, err := c.Item().Size()
	if err != nil || size != len(value) {
		t.Errorf("size %d, %v", size, err)
	}
	if err := c.Row(func(_, got []byte) error {
		if !bytes.Equal(got, value) {
			t.Errorf("the row has %d bytes", len(got))
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	lost := fmt.Errorf("lost")
	c.Kept = func(error) error { return lost }
	if err := c.Row(func(_, _ []byte) error { return nil }); err != lost {
		t.Errorf("got %v", err)
	}
	r := e.NewBatch()
	if err := r.Remove(keyspace.ChunkKey(row(1), 1), 6); err != nil {
		t.Fatal(err)
	}
	if err := r.Flush(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := e.Latest().Get(row(1)); err == nil {
		t.Error("a missing chunk is not noticed")
	}
}

// TestHalt: a batch that waits for room ends when it is halted, and when the replica closes.
func TestHalt(t *testing.T) {
	d := newDisk(plenty)
	stop := make(chan struct{})
	o := d.options(t.TempDir(), stop)
	e, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Abandon()
	d.free.Store(LastRoom - 1)
	b := e.NewBatch()
	halt := make(chan struct{})
	close(halt)
	b.Halt = halt
	if err := b.Set(row(1), nil, 1); err != nil {
		t.Fatal(err)
	}
	if err := b.Flush(); err != ErrHalted {
		t.Errorf("halted: %v", err)
	}
	close(stop)
	b = e.NewBatch()
	if err := b.Set(row(1), nil, 1); err != nil {
		t.Fatal(err)
	}
	if err := b.Flush(); err != ErrHalted {
		t.Errorf("closing: %v", err)
	}
	if got := get(t, e, row(1), 1); got != "" {
		t.Errorf("got %q", got)
	}
}

func FuzzHead(f *testing.F) {
	f.Add(Head(600_000))
	f.Fuzz(func(t *testing.T, b []byte) {
		if size, err := SizeOfHead(b); err == nil && !bytes.Equal(Head(size), b) {
			t.Errorf("%x", b)
		}
	})
}
