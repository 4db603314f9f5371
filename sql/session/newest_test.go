package session

import (
	"testing"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/tx"
)

// TestNameComesMeanwhile: a name that became known between its look-up and the question to the
// catalog's leader is looked up again.
func TestNameComesMeanwhile(t *testing.T) {
	c, err := catalog.Open(catalog.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Bootstrap(
		t.Context(), catalog.BootstrapOptions{
			ClusterID: catalog.NewCluster().ClusterID, Fragments: 1, Format: 1,
			Node: catalog.Node{ID: 1, Name: "n1", Block: "A"},
		},
	); err != nil {
		t.Fatal(err)
	}
	n := &Node{Services: tx.Services{Catalog: c}, Others: &Others{}}
	looked := 0
	err = n.knownNames(t.Context(), func() error {
		if looked++; looked > 1 {
			return nil
		}
		oid, err := c.NewOID(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err = c.Update(t.Context(), func(_ *catalog.View, ch *catalog.Change) error {
			return ch.PutRole(&catalog.Role{OID: oid, Name: "bob"})
		}); err != nil {
			t.Fatal(err)
		}
		return pgerr.New(pgerr.UndefinedObject, "it was not there yet")
	})
	if err != nil || looked != 2 {
		t.Errorf("looked %d times: %v", looked, err)
	}
}
