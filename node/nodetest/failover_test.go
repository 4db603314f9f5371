package nodetest

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sherddb/sherd/integration/workload"
	"github.com/sherddb/sherd/node"
)

// TestHistoryOverLeaders: clients on all nodes work while leaders are isolated and come back. No
// acknowledged write is lost, and no client reads a value that was never committed.
func TestHistoryOverLeaders(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	c := Start(t, 3, func(_ uint32, cfg *node.Config) { cfg.Fragments, cfg.Replication = 3, 3 })
	replicated(c, 3)
	run := &workload.Run{
		URL:    func() string { return c.Node(uint32(rand.IntN(3) + 1)).URL() },
		Errorf: t.Errorf, Seed: 1, Timeout: time.Minute,
	}
	if err := run.SetUp(t.Context(), c.Node(3).Connect(t)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	wait := run.Start(ctx)
	for n := range uint32(3) {
		time.Sleep(2 * time.Second)
		c.Isolate(n + 1)
		time.Sleep(5 * time.Second)
		c.Heal()
	}
	time.Sleep(2 * time.Second)
	cancel()
	wait()
	report, wrong, err := run.Verify(t.Context(), c.Node(2).Connect(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Log(report)
	for _, w := range wrong {
		t.Error(w)
	}
	if report.Committed == 0 || report.Transfers == 0 {
		t.Error("nothing was committed")
	}
}
