package nodetest

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/node"
)

// gate keeps the replicas of a node from applying entries while it is closed.
type gate struct {
	mu   sync.Mutex
	shut chan struct{} // closed when the gate opens; nil if it is open; guarded by mu
}

func (g *gate) at(point string) {
	g.mu.Lock()
	shut := g.shut
	g.mu.Unlock()
	if point == "apply.begin" && shut != nil {
		<-shut
	}
}

// close closes the gate, and returns the function that opens it.
func (g *gate) close() (open func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	shut := make(chan struct{})
	g.shut = shut
	return sync.OnceFunc(func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.shut = nil
		close(shut)
	})
}

// bystander waits until two nodes lead the two fragments as the catalog wants it. It returns a node
// that leads none and a node that leads one.
func bystander(c *Cluster) (number, leader uint32) {
	eventually.Holds(c.t, "leaders are spread", func() bool {
		number, leader = 1+2+3, 0
		for _, f := range c.Running().Catalog().View().Database(catalog.PostgresDB).Fragments {
			if f.Nodes[0] == leader {
				return false
			}
			leader = f.Nodes[0]
			if _, term, ok := c.Node(leader).Store().Client.LeaderOf(f.ID); !ok || term == 0 {
				return false
			}
			number -= leader
		}
		return true
	})
	return number, leader
}

// TestFollowerHasNotHeard: a follower has applied everything up to the read timestamp, but not the
// later entry with which rows came to its fragment. The catalog makes its fragment the owner of
// their buckets, and it has none of the rows. It must not serve the read.
func TestFollowerHasNotHeard(t *testing.T) {
	t.Parallel()
	var gates [3]gate
	c := Start(t, 3, func(number uint32, cfg *node.Config) { cfg.Fragments, cfg.Knobs.AtStep = 2, gates[number-1].at })
	exec(t, c, 1, "CREATE TABLE acc (id int PRIMARY KEY, n int NOT NULL)")
	exec(t, c, 1, "INSERT INTO acc SELECT g, 1 FROM generate_series(1, 400) g")
	replicated(c, 3)
	number, leader := bystander(c)
	ctx, db := c.context(), c.Node(number).Connect(t)
	const query = "SELECT count(*) FROM acc"
	if _, err := rows(ctx, db, query); err != nil { // so that the node knows the table
		t.Fatal(err)
	}
	at := time.Now().Add(time.Millisecond).UTC().Format("2006-01-02 15:04:05.000Z")
	eventually.Holds(t, "the time to be read has come", func() bool {
		_, err := db.Exec(ctx, "SET sherd.as_of = '"+at+"'")
		return err == nil
	})
	reads := func(when string) {
		t.Helper()
		eventually.Holds(t, fmt.Sprintf("%s, node %d reads by itself", when, number), func() bool {
			plan, err := rows(ctx, db, "EXPLAIN ANALYZE "+query)
			return err == nil && strings.Count(strings.Join(plan, "\n"), fmt.Sprintf("node n%d (follower)", number)) == 2
		})
		if got, err := rows(ctx, db, query); err != nil || got[0] != "400" {
			t.Fatalf("%s: %v, %v", when, got, err)
		}
	}
	reads("before the move")

	epoch := func() uint64 { return c.Node(number).Catalog().View().Database(catalog.PostgresDB).Map.Epoch() }
	before, open := epoch(), gates[number-1].close()
	t.Cleanup(open)
	moved(t, c, leader, "postgres$1")
	eventually.Holds(t, "the node has the map", func() bool { return epoch() > before })
	if got, err := rows(ctx, db, query); err == nil && got[0] != "400" || err != nil && !refusedWith(err, "57P03") {
		t.Errorf("as of before a move of which it has not heard: %v, %v", got, err)
	}
	open()
	reads("after it has heard")
}
