package fault

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/sherddb/sherd/integration"
	"github.com/sherddb/sherd/integration/workload"
)

var binary string

func TestMain(m *testing.M) {
	Forwarder()
	dir, err := os.MkdirTemp("", "sherd-fault-")
	if err != nil {
		panic(err)
	}
	if binary = os.Getenv("SHERD_BINARY"); binary == "" {
		if binary, err = integration.Build(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// recovery is how long a cluster may take to be whole again after a fault has ended, on a busy machine.
const recovery = 2 * time.Minute

// TestFaults has clients work on three nodes, at any of them, while the nodes suffer one fault after another. Nothing that was acknowledged may be
// lost, nothing stale be read, no total be wrong, in any snapshot; and after each fault all replicas are whole again by themselves.
//
// Without SHERD_SOAK each fault of processes comes once. With it, faults come at random for so long, those of the network too, which is then made
// of namespaces.
func TestFaults(t *testing.T) {
	soak := soakLength(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	var network Network = Loopback{}
	if soak > 0 {
		namespaces, err := NewNamespaces(3)
		if err != nil {
			t.Fatal(err)
		}
		network = namespaces
	}
	c, err := NewCluster(binary, t.TempDir(), network, 3)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(c.Logs(60))
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	waitWhole(t, c)

	run := &workload.Run{URL: c.AnyURL, Errorf: t.Errorf, Seed: seed, Patience: 30 * time.Second}
	if err := run.SetUp(t.Context(), integration.Connect(t, c.nodes[0].URL())); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	wait := run.Start(ctx)
	if soak > 0 {
		suffer(t, c, run, rnd, time.Now().Add(soak))
	} else {
		for _, f := range Faults() {
			if !f.Cuts {
				inflict(t, c, run, f, rnd, time.Second)
			}
		}
	}
	cancel()
	wait()
	report, wrong, err := run.Verify(t.Context(), integration.Connect(t, c.AnyURL()))
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range wrong {
		t.Error(w)
	}
	t.Log(report)
	if report.Committed < 50 {
		t.Errorf("only %d transactions were committed", report.Committed)
	}
}

// suffer inflicts faults at random until a time.
func suffer(t *testing.T, c *Cluster, run *workload.Run, rnd *rand.Rand, until time.Time) {
	all := Faults()
	for time.Now().Before(until) && !t.Failed() {
		time.Sleep(time.Duration(rnd.IntN(4000)) * time.Millisecond) // work without faults
		inflict(t, c, run, all[rnd.IntN(len(all))], rnd, time.Duration(500+rnd.IntN(7500))*time.Millisecond)
	}
}

func inflict(t *testing.T, c *Cluster, run *workload.Run, f Fault, rnd *rand.Rand, length time.Duration) {
	at, began := run.Now(), time.Now()
	if err := f.Do(c, rnd, length); err != nil {
		t.Fatalf("%s: %v", f.Name, err)
	}
	ended := time.Now()
	waitWhole(t, c)
	t.Logf("at %v %s for %v: whole after %v", at.Round(time.Millisecond), f.Name, ended.Sub(began).Round(time.Millisecond), time.Since(ended).Round(time.Millisecond))
}

// waitWhole waits until every node finds the cluster whole.
func waitWhole(t *testing.T, c *Cluster) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), recovery)
	defer cancel()
	for _, n := range c.Nodes() {
		if err := c.WaitWhole(ctx, n); err != nil {
			t.Fatalf("node %d does not find the cluster whole: %v", n.Number, err)
		}
	}
}

func soakLength(t *testing.T) time.Duration {
	t.Helper()
	s := os.Getenv("SHERD_SOAK")
	if s == "" {
		return 0
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		t.Fatalf("SHERD_SOAK: %v", err)
	}
	return d
}
