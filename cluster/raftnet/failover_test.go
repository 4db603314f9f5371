package raftnet

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/sherddb/sherd/internal/testcluster"
)

// TestFailoverTime measures how long writes to a group pause after its leader was cut off. It asserts
// nothing, because the times depend on the machine.
func TestFailoverTime(t *testing.T) {
	if os.Getenv("SHERD_MEASURE") == "" {
		t.Skip("SHERD_MEASURE is not set")
	}
	c := newTrio(t, 1, nil)
	g := c.groups[0]
	var all []time.Duration
	for range 7 {
		write(t, g, "before")
		same(t, g)
		old := leader(t, g)
		rest := others(g, old)
		start := time.Now()
		c.Net.Partition([]string{testcluster.Host(old.node)}, hosts(rest))
		for done := false; !done; time.Sleep(5 * time.Millisecond) {
			for _, m := range rest {
				if m.Term() != 0 && !done {
					ctx, cancel := context.WithTimeout(context.Background(), time.Second)
					_, _, err := m.Group.Apply(ctx, []byte("after"))
					cancel()
					done = err == nil
				}
			}
		}
		all = append(all, time.Since(start).Round(time.Millisecond))
		c.Net.Heal()
		healed := time.Now()
		same(t, g)
		t.Logf(
			"writes again after %v; the old leader had all %v after the cut was mended", all[len(all)-1],
			time.Since(healed).Round(time.Millisecond),
		)
	}
	slices.Sort(all)
	t.Logf("median %v of %v", all[len(all)/2], all)
}
