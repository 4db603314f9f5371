package kv_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/internal/sparse"
	"github.com/sherddb/sherd/internal/teststore"
	"github.com/sherddb/sherd/kv"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

// heldDefining is PREPARE TRANSACTION, COMMIT PREPARED and ROLLBACK PREPARED of a transaction that makes a table and writes to it in two fragments, step by
// step.
type heldDefining struct {
	h         *node
	x         *kv.Transaction
	change    *catalog.Change
	storageID uint32
	home      kv.Part
	others    []kv.Part
	req       storage.PreparationRequest
}

func newHeldDefining(t *testing.T, h *node) *heldDefining {
	t.Helper()
	q := &heldDefining{h: h, x: teststore.Begin(h.Client), change: makeTable(t, h.catalog, "made")}
	q.storageID = made(t, q.change)
	q.req.PreparationRequest = txn.PreparationRequest{GID: "g", Database: catalog.PostgresDB, At: time.Now()}
	home, err := h.Client.CoordinatorOf(q.req.PreparationRequest)
	if err != nil {
		t.Fatal(err)
	}
	q.req.Home = home
	for _, f := range h.catalog.View().Database(catalog.PostgresDB).Fragments {
		p, err := q.x.Part(f.ID)
		if err != nil {
			t.Fatal(err)
		}
		bufferRow(t, p, q.storageID)
		q.req.Writers = append(q.req.Writers, f.ID)
		if f.ID == home {
			q.home = p
		} else {
			q.others = append(q.others, p)
		}
	}
	slices.Sort(q.req.Writers)
	q.req.Writers = append(q.req.Writers, txn.CatalogFragment)
	q.x.Define(q.change)
	return q
}

// steps are those of PREPARE TRANSACTION, and of what ends it.
func (q *heldDefining) steps(ctx context.Context, commit bool) []func() error {
	c := q.h.catalog
	out := []func() error{
		func() error { return q.home.PrepareTransaction(ctx, q.req) },
		func() error { return q.others[0].PrepareTransaction(ctx, q.req) },
		func() error { return c.PrepareTransaction(ctx, q.x.ID(), q.change, q.req.Home) },
		func() error { return q.home.CompletePrepared(ctx) },
	}
	if !commit {
		return append(out,
			func() error { return q.home.DropPrepared(ctx) },
			func() error { return q.others[0].DropPrepared(ctx) },
			func() error { return c.EndPrepared(ctx, q.x.ID(), 0, false) })
	}
	p := &teststore.Preparing{Clock: q.h.clock, PrepareRequest: txn.PrepareRequest{Coordinator: q.req.Home, Writers: q.req.Writers}}
	d := txn.Decision{ID: q.x.ID(), Outcome: txn.Committed, Writers: q.req.Writers}
	return append(out,
		func() error { return p.Prepare(ctx, q.others[0]) },
		func() error { return p.Prepare(ctx, q.home) },
		func() error {
			d.C = p.C
			_, err := q.home.Decide(ctx, d)
			return err
		},
		func() error { return c.EndPrepared(ctx, q.x.ID(), uint64(d.C), true) },
		func() error { return q.others[0].Resolve(ctx, d) })
}

// TestCrashOfHeldDefinitions stops after each durable step: after the restart all of the transaction is held, or committed, or nothing is there.
func TestCrashOfHeldDefinitions(t *testing.T) {
	const (
		prepared = 4
		decided  = 7 // of the commit
		dropped  = 5 // of the rollback
	)
	for _, commit := range []bool{true, false} {
		for last := range map[bool]int{true: 10, false: 8}[commit] {
			if !commit && last < dropped {
				continue // as above
			}
			ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
			defer cancel()
			dir := t.TempDir()
			h := openNode(t, dir, teststore.Catalog(t, dir, 2))
			q := newHeldDefining(t, h)
			for i, f := range q.steps(ctx, commit)[:last] {
				if err := f(); err != nil {
					t.Fatalf("step %d: %v", i+1, err)
				}
			}
			crashed := t.TempDir()
			if err := sparse.Dir(crashed, dir); err != nil {
				t.Fatal(err)
			}
			c2 := teststore.Catalog(t, crashed, 2)
			h2 := openNode(t, crashed, c2)
			stands := last >= prepared && (commit && last < decided || !commit && last < dropped)
			q.checkAfter(ctx, t, h2, last, stands, commit && last >= decided)
			if err := h2.Close(); err != nil {
				t.Error(err)
			}
			for _, p := range append(q.others, q.home) {
				p.DetachPrepared()
			}
			q.h.Client.Over(q.x.ID())
			if err := h.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

func (q *heldDefining) checkAfter(ctx context.Context, t *testing.T, h *node, last int, stands, committed bool) {
	t.Helper()
	c := h.catalog
	there := func() bool { return c.View().FindTable(catalog.PostgresDB, "public", "made") != nil }
	for v := c.View(); len(v.PreparedChanges()) > 0 != stands; v = c.View() { // what is left is settled in the background
		select {
		case <-v.Superseded():
		case <-ctx.Done():
			t.Fatalf("after step %d: held in the catalog: %v", last, !stands)
		}
	}
	held, err := h.Client.Prepared(ctx, catalog.PostgresDB)
	if err != nil || len(held) == 1 != stands {
		t.Fatalf("after step %d: held: %v, %v", last, held, err)
	}
	if stands {
		if there() {
			t.Fatalf("after step %d: the table of a prepared transaction is seen", last)
		}
		short, cancel := context.WithTimeoutCause(ctx, 10*time.Millisecond, pgerr.New(pgerr.QueryCanceled, "enough"))
		defer cancel()
		if _, err := c.Apply(short, makeTable(t, c, "made")); err == nil {
			t.Fatalf("after step %d: a second table", last)
		}
		if committed = last%2 == 0; committed {
			_, err = h.Client.CommitPrepared(ctx, catalog.PostgresDB, "g", 0)
		} else {
			err = h.Client.RollbackPrepared(ctx, catalog.PostgresDB, "g")
		}
		if err != nil {
			t.Fatalf("after step %d: %v", last, err)
		}
	}
	if there() != committed {
		t.Fatalf("after step %d: table: %v", last, !committed)
	}
	for _, f := range c.View().Database(catalog.PostgresDB).Fragments {
		if n := teststore.Keys(t, h.Store, f.ID, q.storageID); n == 1 != committed {
			t.Errorf("after step %d: %d rows in fragment %d, committed: %v", last, n, f.ID, committed)
		}
	}
	if out, _, err := h.Client.Outcome(ctx, catalog.PostgresDB, q.x.ID()); err != nil || out == txn.Committed != committed {
		t.Errorf("after step %d: %s, %v", last, out, err)
	}
	if _, err := c.Apply(ctx, makeTable(t, c, "made")); err == nil == committed {
		t.Errorf("after step %d: second table: %v", last, err)
	}
}
