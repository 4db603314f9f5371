package fault

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"time"
)

// recovery is how long a cluster may take to be whole again after a fault, on a busy machine.
const recovery = 2 * time.Minute

// Fault is one kind of fault.
type Fault struct {
	Name string
	Cuts bool // it wants a network that can be cut
	Calm bool // no fault: nothing happens to nodes
	Sets bool // needs processes whose clock can be set (SetClock)
	// Do injects the fault for about the given time, and ends it: when it returns, all nodes run
	// and reach each other.
	Do func(c *Cluster, rnd *rand.Rand, length time.Duration) error
}

// Faults are all kinds.
func Faults() []Fault {
	return []Fault{
		{Name: "nothing", Calm: true, Do: nothing},
		{Name: "kill one", Do: killSome(1)},
		{Name: "freeze one", Do: freezeOne},
		{Name: "kill two", Do: killSome(2)},
		{Name: "kill all", Do: killAll},
		{Name: "kill the catalog's leader", Do: killCatalogLeader},
		{Name: "freeze the leader of a fragment", Do: freezeLeader},
		{Name: "rolling restart", Do: rollingRestart},
		{Name: "lose the data of one", Do: loseData},
		{Name: "cut off", Cuts: true, Do: cut(true, true)},
		{Name: "not heard", Cuts: true, Do: cut(true, false)},
		{Name: "hears nothing", Cuts: true, Do: cut(false, true)},
		{Name: "two that do not reach each other", Cuts: true, Do: cutPair},
		{Name: "slow and lossy", Cuts: true, Do: slow},
		{Name: "a clock an hour ahead", Sets: true, Do: jump(time.Hour)},
		{Name: "a clock an hour behind", Sets: true, Do: jump(-time.Hour)},
	}
}

// nothing only lets buckets move, for longer than a fault lasts.
func nothing(_ *Cluster, _ *rand.Rand, length time.Duration) error {
	time.Sleep(5 * length)
	return nil
}

func pick(c *Cluster, rnd *rand.Rand, n int) []*Node {
	nodes := c.Nodes()
	rnd.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
	return nodes[:n]
}

func killSome(n int) func(*Cluster, *rand.Rand, time.Duration) error {
	return func(c *Cluster, rnd *rand.Rand, length time.Duration) error {
		nodes := pick(c, rnd, n)
		c.Kill(nodes...)
		time.Sleep(length)
		return c.Start(nodes...)
	}
}

func killAll(c *Cluster, _ *rand.Rand, _ time.Duration) error {
	c.Kill(c.Nodes()...)
	return c.Start(c.Nodes()...)
}

func freeze(c *Cluster, n *Node, length time.Duration) error {
	if err := c.Freeze(n); err != nil {
		return err
	}
	time.Sleep(length)
	return c.Thaw(n)
}

func freezeOne(c *Cluster, rnd *rand.Rand, length time.Duration) error {
	return freeze(c, pick(c, rnd, 1)[0], length)
}

func freezeLeader(c *Cluster, rnd *rand.Rand, length time.Duration) error {
	n, err := c.led(rnd, "SELECT n.id FROM sherd.nodes n JOIN sherd.fragments f ON f.leader = n.name LIMIT 1")
	if err != nil {
		return err
	}
	return freeze(c, n, length)
}

func killCatalogLeader(c *Cluster, rnd *rand.Rand, length time.Duration) error {
	n, err := c.led(rnd, "SELECT id FROM sherd.nodes WHERE catalog = 'leader'")
	if err != nil {
		return err
	}
	c.Kill(n)
	time.Sleep(length)
	return c.Start(n)
}

// rollingRestart restarts the nodes as an upgrade does, one after another, each as an operator
// stops it.
func rollingRestart(c *Cluster, _ *rand.Rand, _ time.Duration) error {
	for _, n := range c.Nodes() {
		if err := c.Restart(n); err != nil {
			return err
		}
	}
	return nil
}

// loseData deletes the data of a node. The node joins again as another node, in the same place, and
// the old one is removed.
func loseData(c *Cluster, rnd *rand.Rand, _ time.Duration) error {
	nodes := pick(c, rnd, 2)
	n, other := nodes[0], nodes[1]
	c.Kill(n)
	if err := os.RemoveAll(n.data); err != nil {
		return err
	}
	if err := c.join(n, other); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.refill)
	defer cancel()
	name, err := ask[string](ctx, other, fmt.Sprintf("SELECT name FROM sherd.nodes WHERE id = %d", n.ID))
	if err != nil {
		return err
	}
	if n.ID, err = ask[int](ctx, other, "SELECT max(id) FROM sherd.nodes"); err != nil {
		return err
	}
	if err := waitFor(ctx, other, "SELECT count(*) FROM sherd.drain_node('"+name+"')", 1); err != nil {
		return err
	}
	if err := waitFor(ctx, other, "SELECT replicas FROM sherd.nodes WHERE name = '"+name+"'", 0); err != nil {
		return fmt.Errorf("drain of %s: %w", name, err)
	}
	return waitFor(ctx, other, "SELECT count(*) FROM sherd.remove_node('"+name+"')", 1)
}

// jump sets a node's clock, and sets it right again.
func jump(ahead time.Duration) func(*Cluster, *rand.Rand, time.Duration) error {
	return func(c *Cluster, rnd *rand.Rand, length time.Duration) error {
		n := pick(c, rnd, 1)[0]
		if err := SetClock(n.process.PID(), ahead); err != nil {
			return err
		}
		time.Sleep(length)
		return SetClock(n.process.PID(), 0)
	}
}

func cut(out, in bool) func(*Cluster, *rand.Rand, time.Duration) error {
	return func(c *Cluster, rnd *rand.Rand, length time.Duration) error {
		n := pick(c, rnd, 1)[0]
		if err := c.Isolate(n, out, in); err != nil {
			return err
		}
		time.Sleep(length)
		return c.Reunite(n, out, in)
	}
}

func cutPair(c *Cluster, rnd *rand.Rand, length time.Duration) error {
	nodes := pick(c, rnd, 2)
	a, b := nodes[0].Number, nodes[1].Number
	for _, x := range [][2]int{{a, b}, {b, a}} {
		if err := c.network.Cut(x[0], x[1]); err != nil {
			return err
		}
	}
	time.Sleep(length)
	for _, x := range [][2]int{{a, b}, {b, a}} {
		if err := c.network.Mend(x[0], x[1]); err != nil {
			return err
		}
	}
	return nil
}

func slow(c *Cluster, rnd *rand.Rand, length time.Duration) error {
	n := pick(c, rnd, 1)[0]
	if err := c.network.Slow(n.Number, true); err != nil {
		return err
	}
	time.Sleep(length)
	return c.network.Slow(n.Number, false)
}
