package fault

import (
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/sherddb/sherd/integration"
	"github.com/sherddb/sherd/internal/eventually"
)

// canSet returns why processes cannot be given a clock here.
func canSet(t *testing.T) error {
	t.Helper()
	cat := exec.Command("cat")
	in, err := cat.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cat.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cat.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cat.Process.Kill()
		_ = cat.Wait()
	}()
	// Start returns before the kernel has mapped the vDSO. A process that answers has it.
	if _, err := in.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	err = SetClock(cat.Process.Pid, 0)
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		t.Fatal(err)
	}
	return err
}

// TestClockJumps sets the clock of one process of three an hour ahead and an hour back while it runs. Ahead, it serves nobody and is named by the others,
// which lose nothing and take nothing of its time; with the clock right again it serves on, and so it does with one that is behind.
func TestClockJumps(t *testing.T) {
	if err := canSet(t); err != nil {
		t.Skipf("no process can be given a clock here: %v", err)
	}
	c := startCluster(t, t.TempDir(), Loopback{})
	nodes := c.Nodes()
	integration.Exec(t, integration.Connect(t, nodes[0].URL()), "CREATE TABLE acc (id int PRIMARY KEY, n int NOT NULL)")
	integration.Exec(t, integration.Connect(t, nodes[0].URL()), "INSERT INTO acc SELECT g, 0 FROM generate_series(1, 60) g")
	const add = "UPDATE acc SET n = n + 1"
	added := 0
	// A fragment that the node with the other clock leads refuses others, with 57P03, until another one leads it.
	write := func(n *Node) {
		t.Helper()
		conn := integration.Connect(t, n.URL())
		eventually.Within(t, recovery, "a write is acknowledged", func() bool {
			_, err := conn.Exec(t.Context(), add+" WHERE n = $1", added)
			return err == nil
		})
		added++
	}
	set := func(n *Node, ahead time.Duration) {
		t.Helper()
		if err := SetClock(n.Process().PID(), ahead); err != nil {
			t.Fatal(err)
		}
		shown := integration.One[time.Time](t, integration.Connect(t, n.URL()), "SELECT clock_timestamp()")
		if off := time.Until(shown) - ahead; off.Abs() > time.Minute {
			t.Fatalf("node %d's clock is at %v, and %v off what was set", n.Number, shown, off)
		}
	}
	jumps := nodes[1]
	set(jumps, time.Hour)
	write(nodes[0])
	write(nodes[2])
	eventually.Within(t, recovery, "the node whose clock is ahead says so", func() bool {
		_, err := integration.Connect(t, jumps.URL()).Exec(t.Context(), add)
		if err == nil {
			t.Fatal("the node whose clock is ahead wrote")
		}
		return strings.Contains(err.Error(), "clock")
	})
	for _, n := range []*Node{nodes[0], nodes[2]} {
		eventually.Within(t, recovery, "the others name it", func() bool {
			return strings.Contains(n.Process().Log(), `"msg":"the clock of a node is too far ahead; what it asks is refused","node":2`)
		})
		if shown := integration.One[time.Time](t, integration.Connect(t, n.URL()), "SELECT now()"); time.Until(shown) > 20*time.Second {
			t.Errorf("node %d went along, to %v", n.Number, shown)
		}
	}
	set(jumps, 0)
	write(jumps)
	set(jumps, -time.Hour)
	write(jumps)
	write(nodes[0])
	set(jumps, 0)
	write(jumps)
	for _, n := range nodes {
		conn := integration.Connect(t, n.URL())
		if lo, hi := integration.One[int](t, conn, "SELECT min(n) FROM acc"), integration.One[int](t, conn, "SELECT max(n) FROM acc"); lo != added || hi != added {
			t.Errorf("at node %d: %d to %d, and %d were acknowledged", n.Number, lo, hi, added)
		}
	}
	waitWhole(t, c)
	if wrong := integration.One[int](t, integration.Connect(t, nodes[2].URL()), "SELECT count(*)::int FROM sherd.check() WHERE NOT ok"); wrong != 0 {
		t.Errorf("sherd.check() finds %d faults", wrong)
	}
}
