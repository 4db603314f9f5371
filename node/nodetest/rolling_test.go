package nodetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/node"
)

// roller is a client that moves money between accounts, alternately by one statement and by two in
// a transaction.
type roller struct {
	c    *Cluster
	node uint32
	id   int
	done atomic.Int64
	// graceful is the node that is being stopped: its clients may get 57P01 and a closed
	// connection.
	graceful *atomic.Uint32
	t        *testing.T
}

func (r *roller) run(ctx context.Context) {
	var conn *pgx.Conn
	defer func() {
		if conn != nil {
			conn.Close(context.Background())
		}
	}()
	for i := 0; ctx.Err() == nil; i++ {
		if conn == nil {
			var err error
			if conn, err = pgx.Connect(ctx, "postgres://postgres@"+r.c.Node(r.node).Config.SQLAddr+"/postgres"); err != nil {
				if r.graceful.Load() != r.node && ctx.Err() == nil {
					r.t.Errorf("node %d: %v", r.node, err)
				}
				conn = nil
				time.Sleep(10 * time.Millisecond)
				continue
			}
		}
		if err := r.step(ctx, conn, i); err != nil && ctx.Err() == nil {
			var pg *pgconn.PgError
			stopped := r.graceful.Load() == r.node && (!errors.As(err, &pg) || pg.Code == "57P01")
			if !stopped {
				r.t.Errorf("client %d at node %d, after %d transactions: %v", r.id, r.node, r.done.Load(), err)
			}
			conn.Close(ctx)
			conn = nil
			continue
		}
		r.done.Add(1)
	}
}

func (r *roller) step(ctx context.Context, conn *pgx.Conn, i int) error {
	from, to := r.id*10+i%10, r.id*10+(i+3)%10
	if i%2 == 0 {
		_, err := conn.Exec(ctx, "UPDATE acc SET n = n + CASE id WHEN $1 THEN -1 ELSE 1 END WHERE id IN ($1, $2)", from, to)
		return err
	}
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "UPDATE acc SET n = n - 1 WHERE id = $1", from); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "UPDATE acc SET n = n + 1 WHERE id = $1", to)
		return err
	})
}

// TestRollingRestart restarts nodes one after another under load. Clients of the other nodes see no
// error, clients of the restarted node only 57P01.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	// A busy machine may stand still for a second. A leader that is replaced because of that loses
	// its write buffers, which has nothing to do with the restart.
	c := Start(t, 3, func(_ uint32, cfg *node.Config) { cfg.Fragments, cfg.Knobs.Election = 3, 10*time.Second })
	exec(t, c, 1, "CREATE TABLE acc (id int PRIMARY KEY, n int NOT NULL)")
	exec(t, c, 1, "INSERT INTO acc SELECT g, 100 FROM generate_series(0, 59) g")
	replicated(c, 3)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var stopping atomic.Uint32
	var clients sync.WaitGroup
	var all []*roller
	for i := range 6 {
		r := &roller{c: c, node: uint32(i%3 + 1), id: i, graceful: &stopping, t: t}
		all = append(all, r)
		clients.Go(func() { r.run(ctx) })
	}
	progress := func() {
		for _, r := range all {
			before := r.done.Load()
			eventually.Holds(t, fmt.Sprintf("client %d goes on", r.id), func() bool { return r.done.Load() > before+5 })
		}
	}
	defer clients.Wait()
	defer cancel()
	progress()
	for n := range uint32(3) {
		stopping.Store(n + 1)
		t.Logf("node %d is restarted", n+1)
		c.Node(n + 1).StopWithin(20 * time.Second)
		c.Node(n + 1).Restart()
		stopping.Store(0)
		progress()
	}
	cancel()
	clients.Wait()
	var n, sum int
	if err := c.Node(2).Connect(t).QueryRow(t.Context(), "SELECT count(*), sum(n) FROM acc").Scan(&n, &sum); err != nil || n != 60 || sum != 6000 {
		t.Errorf("%d rows, sum %d, %v", n, sum, err)
	}
}
