package nodetest

import (
	"sync"
	"testing"

	"github.com/sherddb/sherd/internal/eventually"
)

// TestAllMove: all nodes get other addresses while none runs, so that no address that they know is
// valid. They find each other by the addresses of --join.
func TestAllMove(t *testing.T) {
	t.Parallel()
	c := Start(t, 3)
	exec(t, c, 1, "CREATE TABLE kept (id int PRIMARY KEY)")
	exec(t, c, 3, "INSERT INTO kept SELECT generate_series(1, 100)")
	replicated(c, 3)
	for _, n := range c.Nodes() {
		n.Stop()
	}
	var addrs []string
	for i, n := range c.Nodes() {
		n.Config.NodeAddr = c.freeAddr(uint32(i + 1))
		addrs = append(addrs, n.Config.NodeAddr)
	}
	var starting sync.WaitGroup
	errs := make([]error, 3)
	for i, n := range c.Nodes() {
		n.Config.Join = addrs
		starting.Go(func() { errs[i] = n.Start(c.context()) })
	}
	starting.Wait()
	for i, err := range errs {
		if err != nil {
			t.Fatal(i, err)
		}
	}
	for i := range c.Nodes() {
		eventually.Holds(t, "all know where all are", func() bool {
			for j, addr := range addrs {
				if c.Node(uint32(i+1)).Catalog().View().Node(uint32(j+1)).NodeAddr != addr {
					return false
				}
			}
			return true
		})
	}
	exec(t, c, 2, "INSERT INTO kept VALUES (101)")
	if got := count(t, c, 1, "kept"); got != 101 {
		t.Errorf("%d rows", got)
	}
}
