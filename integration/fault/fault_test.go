package fault

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/sherddb/sherd/integration"
	"github.com/sherddb/sherd/integration/workload"
)

var binary string

func TestMain(m *testing.M) {
	Forwarder()
	arrowNode()
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
	os.Exit(integration.ExitCode(code))
}

// TestFaults has clients work on three nodes, at any of them, while buckets move to and fro and the nodes suffer one fault after another. Nothing that
// was acknowledged may be lost, nothing stale be read, no total be wrong, in any snapshot; after each fault all replicas are whole again by themselves,
// and in the end all moves come to their end. While nothing happens to nodes, moves alone cost lone statements no error, and transactions at most 40001.
//
// SHERD_STOCK is how many documents there are, 8,000 unless it says otherwise. Without SHERD_SOAK each fault of processes comes once. With it, faults come at random for so long, those of the network too, which is then made
// of namespaces, unless SHERD_LOOPBACK is set.
func TestFaults(t *testing.T) {
	soak, stock := soakLength(t, "SHERD_SOAK"), stockSize(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	var network Network = Loopback{}
	if soak > 0 && os.Getenv("SHERD_LOOPBACK") == "" {
		namespaces, err := NewNamespaces(3)
		if err != nil {
			t.Fatal(err)
		}
		network = namespaces
	}
	c := startCluster(t, t.TempDir(), network)
	run := &workload.Run{
		URL: c.AnyURL, Errorf: t.Errorf, Seed: seed, Pause: 10 * time.Millisecond, Stock: stock,
		Timeout: 2 * stuckAfter, StuckAfter: stuckAfter, Stuck: func(what string) { stuck(t, c, what) },
	}
	if err := run.SetUp(t.Context(), integration.Connect(t, c.nodes[0].URL())); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := &sufferer{t: t, c: c, run: run, rnd: rnd}
	wait := run.Start(ctx)
	if err := run.IndexLists(ctx, integration.Connect(t, c.nodes[1].URL())); err != nil {
		t.Fatal(err)
	}
	integration.Exec(t, integration.Connect(t, c.nodes[1].URL()), fmt.Sprintf("ALTER SYSTEM SET sherd.move_rate = '%dMB'", max(2, stock/stockPerMB)))
	mover := StartMover(ctx, c, seed)
	more := time.Duration(stock/stockPerSecond) * time.Second
	mover.ends += more
	c.refill += more
	if soak > 0 {
		s.suffer(time.Now().Add(soak))
	} else {
		for _, f := range Faults() {
			if !f.Cuts && !f.Sets { // TestClockJumps does
				s.inflict(f, time.Second)
			}
		}
	}
	moves, done, err := mover.Stop(ctx)
	t.Log(moves)
	if err != nil {
		t.Error(err)
	}
	if done == 0 {
		t.Error("no move has come to its end")
	}
	cancel()
	wait()
	t.Logf("%d operations on single documents", s.operations)
	t.Log(run.Errors())
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

// startCluster starts three nodes, which end with the test, and waits until they are whole.
func startCluster(t *testing.T, dir string, network Network) *Cluster {
	t.Helper()
	c, err := NewCluster(binary, dir, network, 3)
	if err != nil {
		t.Fatal(err)
	}
	endCluster(t, c)
	waitWhole(t, c)
	return c
}

// endCluster ends nodes with the test.
func endCluster(t *testing.T, c *Cluster) {
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(c.Logs(60))
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

const (
	fewStock       = 8000   // documents beside the few that all clients want
	stockPerMB     = 50_000 // of them for a MB per second of moves, 2 MB at least: so little that faults come while they move
	stockPerSecond = 2000   // of them for a second more until all moves have ended, and until a node has what another one has lost
)

// stockSize is SHERD_STOCK.
func stockSize(t *testing.T) int {
	t.Helper()
	s := os.Getenv("SHERD_STOCK")
	if s == "" {
		return fewStock
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatalf("SHERD_STOCK: %v", err)
	}
	return n
}

// stuckAfter is how long a transaction may take, whatever happens: statements give up after 30 s without a leader.
const stuckAfter = time.Minute

// stuck ends the test with what every node is at, since a client's transaction does not end.
func stuck(t *testing.T, c *Cluster, what string) {
	path := filepath.Join(os.TempDir(), fmt.Sprintf("sherd-stuck-%d.log", os.Getpid()))
	if err := os.WriteFile(path, []byte(c.Dump()), 0o600); err != nil {
		t.Error(err)
	}
	t.Errorf("at %s: %s does not end; what the nodes were at is in %s", time.Now().Format("15:04:05.000"), what, path)
}

// sufferer inflicts faults, one after another, and has single documents read and written during each.
type sufferer struct {
	t          *testing.T
	c          *Cluster
	run        *workload.Run
	rnd        *rand.Rand
	rounds     int
	operations int
}

// suffer inflicts faults at random until a time.
func (s *sufferer) suffer(until time.Time) {
	all, sets := Faults(), canSet(s.t) == nil
	for time.Now().Before(until) && !s.t.Failed() {
		time.Sleep(time.Duration(s.rnd.IntN(4000)) * time.Millisecond) // work without faults
		f := all[s.rnd.IntN(len(all))]
		if f.Cuts && !s.c.network.Cuts() || f.Sets && !sets {
			continue
		}
		s.inflict(f, time.Duration(500+s.rnd.IntN(7500))*time.Millisecond)
	}
}

func (s *sufferer) inflict(f Fault, length time.Duration) {
	t, c := s.t, s.c
	conn := integration.Connect(t, c.AnyURL())
	registers, err := s.run.NewRegisters(t.Context(), conn, s.rounds)
	if err != nil {
		t.Fatalf("before %s: %v", f.Name, err)
	}
	conn.Close(t.Context())
	s.rounds++
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	wait := registers.Start(ctx)
	if f.Calm {
		s.run.Calm()
	}
	at, began := s.run.Now(), time.Now()
	if err := f.Do(c, s.rnd, length); err != nil {
		t.Fatalf("%s: %v", f.Name, err)
	}
	if f.Calm {
		s.run.Rough()
	}
	ended := time.Now()
	waitWhole(t, c)
	whole := time.Since(ended)
	cancel()
	wait()
	operations, wrong := registers.Verify()
	if wrong != "" {
		t.Errorf("%s: %s", f.Name, wrong)
	}
	s.operations += operations
	t.Logf("at %v %s for %v: whole after %v", at.Round(time.Millisecond), f.Name, ended.Sub(began).Round(time.Millisecond), whole.Round(time.Millisecond))
}

// waitWhole waits until every node finds the cluster whole.
func waitWhole(t *testing.T, c *Cluster) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), recovery)
	defer cancel()
	// Before the time is over, so that it is seen what an answer waits for.
	late := time.AfterFunc(recovery-5*time.Second, func() { stuck(t, c, "the wait for the cluster to be whole") })
	defer late.Stop()
	for _, n := range c.Nodes() {
		if err := c.WaitWhole(ctx, n); err != nil {
			t.Fatalf("node %d does not find the cluster whole: %v", n.Number, err)
		}
	}
}

// soakLength is what an environment variable says, 0 where it is not set.
func soakLength(t *testing.T, variable string) time.Duration {
	t.Helper()
	s := os.Getenv(variable)
	if s == "" {
		return 0
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return d
}
