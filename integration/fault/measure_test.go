package fault

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sherddb/sherd/integration"
)

// measured skips a test that measures, unless it is asked for: SHERD_MEASURE is how many trials.
func measured(t *testing.T) int {
	t.Helper()
	s := os.Getenv("SHERD_MEASURE")
	if s == "" {
		t.Skip("measures; see make failover")
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		t.Fatalf("SHERD_MEASURE: %q is no number of trials", s)
	}
	return n
}

// TestFailover kills the leader of a fragment, and measures how long it takes until a client of another node writes to it again. The median may be
// 3 s, with default settings.
func TestFailover(t *testing.T) {
	trials := measured(t)
	c, err := NewCluster(binary, t.TempDir(), Loopback{}, 3, "--fragments", "1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	waitWhole(t, c)
	conn := integration.Connect(t, c.nodes[0].URL())
	integration.Exec(t, conn, "CREATE TABLE acc (id int PRIMARY KEY, n int NOT NULL)")
	integration.Exec(t, conn, "INSERT INTO acc VALUES (1, 0)")
	conn.Close(t.Context())
	waitWhole(t, c)
	rnd := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	var all []time.Duration
	for trial := range trials {
		took, err := failover(t.Context(), c, rnd)
		if err != nil {
			t.Fatalf("trial %d: %v", trial+1, err)
		}
		all = append(all, took)
		t.Logf("trial %d: %v", trial+1, took.Round(time.Millisecond))
		waitWhole(t, c)
	}
	slices.Sort(all)
	median := all[len(all)/2]
	t.Logf("writes resume after kill -9 of the leader, %d trials: median %v, %v to %v", trials, median.Round(time.Millisecond),
		all[0].Round(time.Millisecond), all[len(all)-1].Round(time.Millisecond))
	if median > 3*time.Second {
		t.Errorf("the median is above 3 s")
	}
}

// failover does one trial, and starts the killed node again.
func failover(ctx context.Context, c *Cluster, rnd *rand.Rand) (time.Duration, error) {
	leader, err := c.led(rnd, "SELECT n.id FROM sherd.nodes n JOIN sherd.fragments f ON f.leader = n.name LIMIT 1")
	if err != nil {
		return 0, err
	}
	other := c.nodes[leader.Number%len(c.nodes)]
	conn, err := pgx.Connect(ctx, other.URL())
	if err != nil {
		return 0, err
	}
	defer conn.Close(ctx)
	const write = "UPDATE acc SET n = n + 1 WHERE id = 1"
	if _, err := conn.Exec(ctx, write); err != nil {
		return 0, err
	}
	c.Kill(leader)
	killed := time.Now()
	for {
		if _, err = conn.Exec(ctx, write); err == nil {
			break
		}
		if time.Since(killed) > recovery {
			return 0, err
		}
	}
	return time.Since(killed), c.Start(leader)
}

// TestIdle measures what three nodes with three fragments use while nobody asks anything of them: for a minute, a minute after the start. A node may take 5 % of
// a core and 200 MiB.
func TestIdle(t *testing.T) {
	measured(t)
	c := startCluster(t, t.TempDir(), Loopback{})
	time.Sleep(time.Minute)
	before := make([]time.Duration, len(c.nodes))
	for i, n := range c.nodes {
		before[i] = cpuTime(t, n.process.PID())
	}
	began := time.Now()
	time.Sleep(time.Minute)
	for i, n := range c.nodes {
		cpu := 100 * float64(cpuTime(t, n.process.PID())-before[i]) / float64(time.Since(began))
		rss := resident(t, n.process.PID())
		t.Logf("node %d: %.1f %% of a core, %d MiB resident", n.Number, cpu, rss>>20)
		if cpu > 5 || rss > 200<<20 {
			t.Errorf("node %d takes too much", n.Number)
		}
	}
}

// cpuTime is what a process has used of the processors.
func cpuTime(t *testing.T, pid int) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	var ticks int
	for _, f := range fields[11:13] { // user and system, in hundredths of a second
		n, err := strconv.Atoi(f)
		if err != nil {
			t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// resident is the memory that a process holds.
func resident(t *testing.T, pid int) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}
