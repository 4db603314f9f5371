package kv_test

import (
	"testing"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/teststore"
	"github.com/sherddb/sherd/kv"
	"github.com/sherddb/sherd/node/store"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

// testTimeout bounds every wait, on a machine that may be busy.
const testTimeout = 3 * time.Minute

// node is the fragments of a node, with what they stand on.
type node struct {
	*store.Store
	catalog *catalog.Catalog
	clock   *txn.Clock
}

func openNode(t *testing.T, dir string, c *catalog.Catalog) *node {
	t.Helper()
	clock := txn.NewClock(time.Now, time.Minute)
	return &node{teststore.Open(t, dir, c, clock), c, clock}
}

// bufferIn returns the storage's handle of a transaction in a fragment that is led here.
func bufferIn(t *testing.T, x *kv.Transaction, f txn.FragmentID) *storage.Tx {
	t.Helper()
	p, err := x.Part(f)
	if err != nil {
		t.Fatal(err)
	}
	return teststore.Tx(p)
}
