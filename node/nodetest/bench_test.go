package nodetest

import (
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/sherddb/sherd/node"
)

// BenchmarkPoint reads and writes single rows through the node that leads all fragments, and
// through a node that leads none.
func BenchmarkPoint(b *testing.B) {
	c := Start(b, 3, func(_ uint32, cfg *node.Config) { cfg.Fragments = 1 })
	db := c.Node(1).Connect(b)
	for _, text := range []string{
		"CREATE TABLE accounts (aid int PRIMARY KEY, bid int, abalance int, filler char(84))",
		"INSERT INTO accounts SELECT i, 1, 0, '' FROM generate_series(1, 10000) i",
	} {
		if _, err := db.Exec(b.Context(), text); err != nil {
			b.Fatal(err)
		}
	}
	replicated(c, 3)
	leader := c.Running().Catalog().View().Database(5).Fragments[0].Nodes[0]
	other := leader%3 + 1
	for _, x := range []struct {
		name string
		node uint32
		text string
	}{
		{"read/leader", leader, "SELECT abalance FROM accounts WHERE aid = $1"},
		{"read/other", other, "SELECT abalance FROM accounts WHERE aid = $1"},
		{"update/leader", leader, "UPDATE accounts SET abalance = abalance + 1 WHERE aid = $1"},
		{"update/other", other, "UPDATE accounts SET abalance = abalance + 1 WHERE aid = $1"},
	} {
		for _, clients := range []int{1, 8} {
			b.Run(x.name+"/"+string(rune('0'+clients)), func(b *testing.B) { point(b, c.Node(x.node), x.text, clients) })
		}
	}
}

func point(b *testing.B, n *Node, text string, clients int) {
	conns := make([]*pgx.Conn, clients)
	for i := range conns {
		conns[i] = n.Connect(b)
	}
	var next atomic.Int64
	done := make(chan error, clients)
	b.ResetTimer()
	for _, conn := range conns {
		go func() {
			var err error
			for err == nil {
				i := next.Add(1)
				if i > int64(b.N) {
					break
				}
				_, err = conn.Exec(b.Context(), text, i*7919%10000+1)
			}
			done <- err
		}()
	}
	for range conns {
		if err := <-done; err != nil {
			b.Fatal(err)
		}
	}
}
