package cluster

import (
	"testing"

	"github.com/sherddb/sherd/fragment"
	"github.com/sherddb/sherd/kv"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

// newTransaction opens a transaction at a node.
func newTransaction(h *Host) *kv.Transaction {
	t := &kv.Transaction{}
	h.client.Init(t)
	return t
}

// bufferOf returns the storage's handle of a part in a fragment that is led here.
func bufferOf(p kv.Part) *storage.Tx { return p.(*fragment.Part).Tx }

// bufferIn returns the storage's handle of a transaction in a fragment that is led here.
func bufferIn(t *testing.T, x *kv.Transaction, f txn.FragmentID) *storage.Tx {
	t.Helper()
	p, err := x.Part(f)
	if err != nil {
		t.Fatal(err)
	}
	return bufferOf(p)
}
