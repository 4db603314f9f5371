package fault

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/sherddb/sherd/integration"
	"github.com/sherddb/sherd/integration/workload"
)

// shortResharding are the faults of each run of the tests.
var shortResharding = []string{"kill the catalog's leader", "freeze the leader of a fragment", "kill all"}

// TestResharding has hot documents split and made whole, documents get other ids, and segments of a range table split, merged and moved, all at once and while
// buckets move, as nodes suffer. No addition may be lost or counted twice, no document be missed by any id that it has had, no range of keys be read with a
// row less or more, in any snapshot; jobs come to their end whoever leads the catalog, and in the end every node finds nothing wrong.
//
// With SHERD_RESHARDING faults come at random for so long, to four nodes, and rules say which of them may have a fragment's replicas.
func TestResharding(t *testing.T) {
	length := soakLength(t, "SHERD_RESHARDING")
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 2))
	nodes, size, network := 3, 200, Network(Loopback{})
	if length > 0 {
		nodes, size = 4, 1000
		if os.Getenv("SHERD_LOOPBACK") == "" {
			namespaces, err := NewNamespaces(nodes)
			if err != nil {
				t.Fatal(err)
			}
			network = namespaces
		}
	}
	c, err := NewCluster(binary, t.TempDir(), network, nodes, "--labels", "spot="+nodeNumber)
	if err != nil {
		t.Fatal(err)
	}
	endCluster(t, c)
	waitWhole(t, c)
	run := &workload.Run{
		URL: c.AnyURL, Errorf: t.Errorf, Seed: seed, Pause: 10 * time.Millisecond,
		Timeout: 2 * stuckAfter, StuckAfter: stuckAfter, Stuck: func(what string) { stuck(t, c, what) },
	}
	conn := integration.Connect(t, c.nodes[0].URL())
	tables, err := run.NewResharding(t.Context(), conn, size)
	if err != nil {
		t.Fatal(err)
	}
	integration.Exec(t, conn, "ALTER SYSTEM SET sherd.replace_rate = "+fmt.Sprint(size/4)) // so that faults come while jobs run
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	wait := tables.Start(ctx)
	mover := StartMover(ctx, c, seed)
	resharder := StartResharder(ctx, c, tables, seed, nodes > 3, t.Errorf)
	suffer := func(f Fault, length time.Duration) {
		time.Sleep(time.Duration(500+rnd.IntN(2000)) * time.Millisecond)
		at, began := run.Now(), time.Now()
		if err := f.Do(c, rnd, length); err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		ended := time.Now()
		waitWhole(t, c)
		t.Logf("at %v %s for %v: whole after %v", at.Round(time.Millisecond), f.Name, ended.Sub(began).Round(time.Millisecond), time.Since(ended).Round(time.Millisecond))
	}
	all := Faults()
	for _, name := range shortResharding {
		if f := all[slices.IndexFunc(all, func(f Fault) bool { return f.Name == name })]; length == 0 {
			suffer(f, time.Second)
		}
	}
	for end := time.Now().Add(length); time.Now().Before(end) && !t.Failed(); {
		if f := all[rnd.IntN(len(all))]; c.network.Cuts() || !f.Cuts {
			suffer(f, time.Duration(500+rnd.IntN(7500))*time.Millisecond)
		}
	}
	t.Log(resharder.Stop())
	moves, _, err := mover.Stop(ctx)
	if t.Log(moves); err != nil {
		stuck(t, c, err.Error())
		return
	}
	cancel()
	wait()
	t.Log(run.Errors())
	verifyResharding(t, c, tables)
}

// verifyResharding compares what there is with what there must be, and has every node look at all of it.
func verifyResharding(t *testing.T, c *Cluster, tables *workload.Resharding) {
	t.Helper()
	report, wrong, err := tables.Verify(t.Context(), integration.Connect(t, c.AnyURL()))
	if err != nil {
		t.Fatal(err)
	}
	t.Log(report)
	for _, n := range c.Nodes() {
		failed, err := workload.FailedChecks(t.Context(), integration.Connect(t, n.URL()))
		if err != nil {
			t.Errorf("sherd.check() at node %d: %v", n.Number, err)
		}
		for _, what := range failed {
			wrong = append(wrong, fmt.Sprintf("at node %d: %s", n.Number, what))
		}
	}
	for _, w := range wrong {
		t.Error(w)
	}
}
