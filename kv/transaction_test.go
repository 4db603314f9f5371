package kv_test

import (
	"testing"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/teststore"
	"github.com/sherddb/sherd/kv"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/txn"
)

// TestRestartKeepsReads is a statement that is run again in a transaction that has only read before: what it has read stays to be validated.
func TestRestartKeepsReads(t *testing.T) {
	dir := t.TempDir()
	h := openNode(t, dir, teststore.Catalog(t, dir, 2))
	defer h.Close()
	fragments, err := kv.FragmentsOf(h.catalog, catalog.PostgresDB)
	if err != nil {
		t.Fatal(err)
	}
	x := teststore.Begin(h.Client)
	defer x.Rollback()
	x.Configure(txn.Options{Isolation: txn.Serializable})
	p, err := x.Part(fragments[0])
	if err != nil {
		t.Fatal(err)
	}
	T, err := x.Snapshot(t.Context(), whole(fragments), 0)
	if err != nil {
		t.Fatal(err)
	}
	v, err := teststore.Tx(p).View(t.Context(), T)
	if err == nil {
		_, err = v.Get(t.Context(), heldKey(2))
	}
	if err != nil {
		t.Fatal(err)
	}
	v.Close()
	for _, forget := range []bool{false, true} {
		if x.Restart(x.Mark(), forget); p.HasReads() == forget {
			t.Fatalf("reads forgotten: %v", !p.HasReads())
		}
	}
}

// whole are shares that ask for all that fragments have.
func whole(fragments []txn.FragmentID) []shardmap.Share {
	out := make([]shardmap.Share, len(fragments))
	for i, f := range fragments {
		out[i].Fragment = f
	}
	return out
}
