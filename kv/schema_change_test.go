package kv_test

import (
	"context"
	"testing"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/sparse"
	"github.com/sherddb/sherd/internal/teststore"
	"github.com/sherddb/sherd/kv"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/txn"
)

// TestCrashOfDefiningTransaction stops a transaction that makes a table and writes to it in two fragments after each of its durable steps:
// after the restart the table and all rows are there, or nothing is.
func TestCrashOfDefiningTransaction(t *testing.T) {
	const steps = 9
	for last := range steps {
		ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
		defer cancel()
		dir := t.TempDir()
		c := teststore.Catalog(t, dir, 2)
		h := openNode(t, dir, c)
		x := teststore.Begin(h.Client)
		storageID := runDefining(t, ctx, h, x, last)
		crashed := t.TempDir()
		if err := sparse.Dir(crashed, dir); err != nil {
			t.Fatal(err)
		}
		x.Rollback()
		c2 := teststore.Catalog(t, crashed, 2)
		h2 := openNode(t, crashed, c2)
		there := c2.View().FindTable(catalog.PostgresDB, "public", "made") != nil
		if want := last >= 4; there != want {
			t.Errorf("after step %d: table %v", last, there)
		}
		for _, f := range c2.View().Database(catalog.PostgresDB).Fragments {
			if n := teststore.Keys(t, h2.Store, f.ID, storageID); (n == 1) != there {
				t.Errorf("after step %d: table %v, %d rows in fragment %d", last, there, n, f.ID)
			}
		}
		for v := c2.View(); len(v.Unforgotten()) > 0; v = c2.View() {
			select {
			case <-v.Superseded():
			case <-ctx.Done():
				t.Fatalf("after step %d: the commit is not forgotten", last)
			}
		}
		// A table of that name can be made now, unless it is there.
		if _, err := c2.Apply(ctx, makeTable(t, c2, "made")); (err == nil) == there {
			t.Errorf("after step %d: second table: %v", last, err)
		}
		if err := h2.Close(); err != nil {
			t.Error(err)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}
}

// runDefining takes a transaction up to and including a step: 0 buffered, 1 the catalog prepared, 2
// and 3 the fragments prepared, 4 decided, 5 and 6 the fragments resolved, 7 forgotten; 8 is the
// coordinator's own commit.
func runDefining(t *testing.T, ctx context.Context, h *node, x *kv.Transaction, last int) uint32 {
	t.Helper()
	c := h.catalog
	ch := makeTable(t, c, "made")
	storageID := made(t, ch)
	var parts []kv.Part
	var writers []txn.FragmentID
	for _, f := range c.View().Database(catalog.PostgresDB).Fragments {
		p, err := x.Part(f.ID)
		if err != nil {
			t.Fatal(err)
		}
		bufferRow(t, p, storageID)
		parts, writers = append(parts, p), append(writers, f.ID)
	}
	x.Define(ch)
	if last == 8 {
		if _, err := x.Commit(ctx, 0); err != nil {
			t.Fatal(err)
		}
		return storageID
	}
	coordinator := &kv.SchemaPart{Catalog: c, ID: x.ID(), Change: ch}
	p := &teststore.Preparing{Clock: h.clock, PrepareRequest: txn.PrepareRequest{Coordinator: txn.CatalogFragment, Writers: writers}}
	d := txn.Decision{ID: x.ID(), Outcome: txn.Committed, Writers: writers}
	do := []func() error{
		func() error { return coordinator.Prepare(ctx, p.PrepareRequest) },
		func() error { return p.Prepare(ctx, parts[0]) },
		func() error { return p.Prepare(ctx, parts[1]) },
		func() error {
			d.C = p.C
			_, err := coordinator.Decide(ctx, d)
			return err
		},
		func() error { return parts[0].Resolve(ctx, d) },
		func() error { return parts[1].Resolve(ctx, d) },
		func() error { return c.Forget(ctx, x.ID()) },
	}
	for i, f := range do[:last] {
		if err := f(); err != nil {
			t.Fatalf("step %d: %v", i+1, err)
		}
	}
	return storageID
}

func makeTable(t *testing.T, c *catalog.Catalog, name string) *catalog.Change {
	t.Helper()
	oid, err := c.NewOID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ch := c.View().Plan()
	err = ch.PutTable(&catalog.Table{
		OID: oid, Database: catalog.PostgresDB, Schema: catalog.PostgresPublic, Name: name, Owner: catalog.BootstrapRole, Kind: catalog.KindTable,
		StorageID: oid, NextAttNum: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

// made gives the storage id of the one table that a change makes.
func made(t *testing.T, ch *catalog.Change) uint32 {
	t.Helper()
	v, err := ch.Preview()
	if err != nil {
		t.Fatal(err)
	}
	return v.FindTable(catalog.PostgresDB, "public", "made").StorageID
}

func bufferRow(t *testing.T, p kv.Part, storageID uint32) {
	t.Helper()
	if err := teststore.Tx(p).Put(append(keyspace.RowPrefix(storageID, 7, 0), 'k'), []byte("v")); err != nil {
		t.Fatal(err)
	}
}

// TestOutcomeOfDefinitions: what became of a transaction that changed definitions alone is known after a restart too, from the log as from a
// snapshot.
func TestOutcomeOfDefinitions(t *testing.T) {
	for _, snapshot := range []bool{false, true} {
		dir := t.TempDir()
		c := teststore.Catalog(t, dir, 2)
		h := openNode(t, dir, c)
		begin := func(name string) *kv.Transaction {
			x := teststore.Begin(h.Client)
			x.Define(makeTable(t, c, name))
			return x
		}
		done, refused, dropped := begin("made"), begin("made"), begin("other")
		C, err := done.Commit(t.Context(), 0)
		if err != nil {
			t.Fatal(C, err)
		}
		if _, err := refused.Commit(t.Context(), 0); err == nil {
			t.Fatal("two tables of one name")
		}
		dropped.Rollback()
		if snapshot {
			if err := c.Snapshot(); err != nil {
				t.Fatal(err)
			}
		}
		check := func(h *node, when string) {
			t.Helper()
			for x, want := range map[*kv.Transaction]txn.Outcome{done: txn.Committed, refused: txn.Aborted, dropped: txn.Aborted} {
				if got, _, err := h.Client.Outcome(t.Context(), catalog.PostgresDB, x.ID()); got != want || err != nil {
					t.Errorf("%s: %s, %v; want %s", when, got, err, want)
				}
			}
		}
		check(h, "before")
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		c = teststore.Catalog(t, dir, 2)
		h = openNode(t, dir, c)
		check(h, "after a restart")
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}
}
