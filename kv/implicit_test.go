package kv_test

import (
	"slices"
	"testing"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/internal/teststore"
	"github.com/sherddb/sherd/kv"
	"github.com/sherddb/sherd/txn"
)

// TestOutcomeOfImplicitCommit asks for the outcome after each prepare, without a coordinator that
// decides. If all parts are prepared, the transaction is committed, because the client may know it
// already; an operator's decision comes too late then.
func TestOutcomeOfImplicitCommit(t *testing.T) {
	for prepared := range 4 {
		for _, operator := range []bool{false, true} {
			ctx := t.Context()
			dir := t.TempDir()
			h := openNode(t, dir, teststore.Catalog(t, dir, 3))
			fragments, err := kv.FragmentsOf(h.catalog, catalog.PostgresDB)
			if err != nil || len(fragments) != 3 {
				t.Fatal(fragments, err)
			}
			slices.Sort(fragments)
			x := teststore.Begin(h.Client)
			put(t, x, fragments, heldKey(1))
			p := teststore.Preparing{Clock: h.clock, PrepareRequest: txn.PrepareRequest{Coordinator: fragments[1], Writers: fragments, Implicit: true}}
			for _, f := range fragments[:prepared] {
				if err := p.Prepare(ctx, bufferIn(t, x, f)); err != nil {
					t.Fatal(err)
				}
			}
			for _, f := range fragments[prepared:] {
				bufferIn(t, x, f).Rollback()
			}
			if out, _, err := h.Client.Outcome(ctx, catalog.PostgresDB, x.ID()); out != txn.InProgress || err != nil {
				t.Fatal("at work:", out, err)
			}
			h.Client.Over(x.ID())
			if operator {
				code := map[int]string{0: pgerr.UndefinedObject, 3: pgerr.ObjectNotInPrerequisiteState}[prepared]
				if err := h.Client.ResolveTransaction(ctx, catalog.PostgresDB, x.ID(), txn.Aborted); pgerr.Code(err) != code {
					t.Fatal(prepared, err)
				}
			}
			want := txn.InProgress
			switch {
			case prepared == 3:
				want = txn.Committed
			case prepared == 0 || operator:
				want = txn.Aborted
			}
			out, at, err := h.Client.Outcome(ctx, catalog.PostgresDB, x.ID())
			if out != want || err != nil || want == txn.Committed && at != p.C {
				t.Fatalf("%d prepared, operator %v: %s at %s, %v; want %s", prepared, operator, out, at, err, want)
			}
			if err := h.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
