package nodetest

import (
	"slices"
	"testing"

	"github.com/sherddb/sherd/internal/eventually"
)

// TestThreeNodes: three nodes join one after another, know each other, and vote on the catalog.
// Definitions made on one node exist on all.
func TestThreeNodes(t *testing.T) {
	t.Parallel()
	c := Start(t, 3)
	for _, n := range c.Nodes() {
		eventually.Holds(t, "all vote", func() bool { return slices.Equal(n.Catalog().Voters(), []uint32{1, 2, 3}) })
	}
	if _, err := c.Node(3).Connect(t).Exec(t.Context(), "CREATE ROLE reader"); err != nil {
		t.Fatal(err)
	}
	for _, n := range c.Nodes() {
		eventually.Holds(t, "the role is known", func() bool { return n.Catalog().View().RoleByName("reader") != nil })
	}
}
