package kv_test

import (
	"errors"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/fragment"
	"github.com/sherddb/sherd/kv"
	"github.com/sherddb/sherd/node/store"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/txn"
)

// TestPrepareTransactionThatComesLate: a request of PREPARE TRANSACTION that was not answered puts
// its entry into the log after the prepared transaction was dropped. It is dropped as well.
func TestPrepareTransactionThatComesLate(t *testing.T) {
	dir := t.TempDir()
	c, err := catalog.Open(catalog.Options{Dir: filepath.Join(dir, "catalog"), Logger: slog.New(slog.DiscardHandler)})
	if err == nil {
		err = c.WaitReady(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_, err = c.Bootstrap(t.Context(), catalog.BootstrapOptions{
		ClusterID: "0191f2a4-8f6e-4000-8000-00000000002a", Fragments: 1, Node: catalog.Node{ID: 1, Name: "n1", Block: "A"},
	})
	if err != nil {
		t.Fatal(err)
	}
	reached, resume, ended := make(chan struct{}), make(chan struct{}), make(chan struct{}, 1)
	armed := atomic.Bool{}
	h, err := store.Open(t.Context(), store.Config{
		Dir: filepath.Join(dir, "fragments"), LogDir: filepath.Join(dir, "log"), Node: 1, Catalog: c,
		Clock: txn.NewClock(time.Now, time.Minute), Logger: slog.New(slog.DiscardHandler), Schema: table.Schema(),
		Storage: storage.Config{Knobs: storage.Knobs{Fault: func(step string) {
			switch {
			case step == "preparation.before" && armed.CompareAndSwap(true, false):
				close(reached)
				<-resume
			case step == "preparation.dropped":
				select {
				case ended <- struct{}{}:
				default:
				}
			}
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	fragments, err := kv.FragmentsOf(c, catalog.PostgresDB)
	if err != nil {
		t.Fatal(err)
	}
	home := fragments[0]
	p := write(t, h, home)
	armed.Store(true)
	held := make(chan error, 1)
	go func() {
		held <- p.PrepareTransaction(t.Context(), storage.PreparationRequest{
			PreparationRequest: txn.PreparationRequest{GID: "late", Database: catalog.PostgresDB, At: time.Now()},
			Home:               home, Writers: fragments[:1],
		})
	}()
	<-reached
	dropped := make(chan error, 1)
	go func() {
		ask := func(do func(kv.Sender) error) error { return do(h.Fragments) }
		dropped <- kv.DropUntilGone(t.Context(), home, p.ID(), ask)
	}()
	<-ended // once, and there was nothing to drop
	close(resume)
	if err := errors.Join(<-held, <-dropped); err != nil {
		t.Fatal(err)
	}
	if all, err := h.Client.Prepared(t.Context(), catalog.PostgresDB); err != nil || len(all) != 0 {
		t.Fatalf("prepared after it was dropped: %v, %v", all, err)
	}
	write(t, h, home).Rollback() // the row is free
}

// write buffers a row in a fragment, in a transaction of its own, and returns its part.
func write(t *testing.T, h *store.Store, f txn.FragmentID) *fragment.Part {
	t.Helper()
	x := &kv.Transaction{}
	h.Client.Init(x)
	p, err := x.Part(f)
	if err != nil {
		t.Fatal(err)
	}
	part, key := p.(*fragment.Part), append(keyspace.RowPrefix(30000, 1, 1), "row"...)
	if err := part.LockNewest(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	if err := part.Put(key, []byte("x")); err != nil {
		t.Fatal(err)
	}
	return part
}
