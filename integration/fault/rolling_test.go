package fault

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sherddb/sherd/integration"
)

const (
	rollingRows = 10 // that each client has of its own; they lie in all fragments
	counterRows = 8  // of all clients that queue for them
)

// roller is a client that stays with one node. What it does must succeed unless that node itself is being restarted.
type roller struct {
	name string
	c    *Cluster
	node *Node
	base int // of its rows
	step func(ctx context.Context, conn *pgx.Conn, r *roller) error
	rnd  *rand.Rand
	// restarting is the number of the node that is being restarted, 0 for none: its clients may be told 57P01, or find nobody.
	restarting *atomic.Int64
	done       atomic.Int64
	slowest    atomic.Int64 // nanoseconds
	t          *testing.T
}

type rollingStep struct {
	name string
	do   func(ctx context.Context, conn *pgx.Conn, r *roller) error
}

// rollingSteps are what clients do.
var rollingSteps = []rollingStep{
	{"update of one", func(ctx context.Context, conn *pgx.Conn, r *roller) error {
		_, err := conn.Exec(ctx, "UPDATE acc SET n = n + 0 WHERE id = $1", r.row())
		return err
	}},
	{"update of several", func(ctx context.Context, conn *pgx.Conn, r *roller) error {
		from, to := r.pair()
		_, err := conn.Exec(ctx, "UPDATE acc SET n = n + CASE id WHEN $1 THEN -1 ELSE 1 END WHERE id IN ($1, $2)", from, to)
		return err
	}},
	{"transaction", transfer(pgx.TxOptions{}, false)},
	{"repeatable read", transfer(pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, true)},
	{"serializable", transfer(pgx.TxOptions{IsoLevel: pgx.Serializable}, true)},
	{"reader", func(ctx context.Context, conn *pgx.Conn, r *roller) error {
		return pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, func(tx pgx.Tx) error {
			for range 3 {
				var sum int
				if err := tx.QueryRow(ctx, "SELECT sum(n) FROM acc").Scan(&sum); err != nil {
					return err
				}
				if sum%100 != 0 {
					r.t.Errorf("%s: the sum is %d", r.name, sum)
				}
				time.Sleep(20 * time.Millisecond)
			}
			return nil
		})
	}},
	{"queue", func(ctx context.Context, conn *pgx.Conn, r *roller) error { // clients of this kind want the same rows, in the same order
		first := r.rnd.IntN(counterRows - 3)
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			for id := range 3 {
				if _, err := tx.Exec(ctx, "UPDATE counter SET n = n + 1 WHERE id = $1", first+id); err != nil {
					return err
				}
			}
			return nil
		})
	}},
	{"insert", func(ctx context.Context, conn *pgx.Conn, r *roller) error {
		_, err := conn.Exec(ctx, "INSERT INTO log (who) SELECT $1 FROM generate_series(1, 5)", r.name)
		return err
	}},
}

func transfer(o pgx.TxOptions, read bool) func(ctx context.Context, conn *pgx.Conn, r *roller) error {
	return func(ctx context.Context, conn *pgx.Conn, r *roller) error {
		from, to := r.pair()
		return pgx.BeginTxFunc(ctx, conn, o, func(tx pgx.Tx) error {
			if read {
				var n int
				if err := tx.QueryRow(ctx, "SELECT n FROM acc WHERE id = $1", to).Scan(&n); err != nil {
					return err
				}
			}
			if _, err := tx.Exec(ctx, "UPDATE acc SET n = n - 1 WHERE id = $1", from); err != nil {
				return err
			}
			time.Sleep(time.Duration(r.rnd.IntN(30)) * time.Millisecond)
			_, err := tx.Exec(ctx, "UPDATE acc SET n = n + 1 WHERE id = $1", to)
			return err
		})
	}
}

func (r *roller) row() int { return r.base + r.rnd.IntN(rollingRows) }

func (r *roller) pair() (from, to int) {
	i := r.rnd.IntN(rollingRows)
	return r.base + i, r.base + (i+1+r.rnd.IntN(rollingRows-1))%rollingRows
}

func (r *roller) run(ctx context.Context) {
	var conn *pgx.Conn
	for i := 0; ctx.Err() == nil; i++ {
		own := r.restarting.Load() == int64(r.node.Number)
		err := r.once(ctx, &conn)
		own = own || r.restarting.Load() == int64(r.node.Number)
		switch {
		case err == nil:
			r.done.Add(1)
			continue
		case ctx.Err() != nil:
		case !own:
			r.t.Errorf("at %s: %s, after %d: %s", time.Now().Format("15:04:05.000"), r.name, r.done.Load(), describe(err))
		case !leaves(err):
			r.t.Errorf("at %s: %s, whose node is being restarted, after %d: %s", time.Now().Format("15:04:05.000"), r.name, r.done.Load(), describe(err))
		}
		if conn != nil {
			conn.Close(context.Background())
			conn = nil
		}
		time.Sleep(5 * time.Millisecond)
	}
	if conn != nil {
		conn.Close(context.Background())
	}
}

func (r *roller) once(ctx context.Context, conn **pgx.Conn) (err error) {
	began := time.Now()
	if *conn == nil {
		if *conn, err = pgx.Connect(ctx, r.node.URL()); err != nil {
			*conn = nil
			return err
		}
	}
	err = r.step(context.WithoutCancel(ctx), *conn, r)
	r.slowest.Store(max(r.slowest.Load(), int64(time.Since(began))))
	return err
}

// leaves tells whether an error is what a client of a node that is stopped may see.
func leaves(err error) bool {
	var pg *pgconn.PgError
	return !errors.As(err, &pg) || pg.Code == "57P01" || pg.Code == "57P03"
}

func describe(err error) string {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return err.Error()
	}
	return fmt.Sprintf("%s %s (detail: %s; hint: %s)", pg.Code, pg.Message, pg.Detail, pg.Hint)
}

// TestRollingRestart restarts one node after another under load, as an upgrade does. Clients of the other nodes see no error at all; those of the
// node that is restarted are told 57P01, or find it closed. SHERD_ROLLS is how many times, once where it says nothing.
func TestRollingRestart(t *testing.T) {
	rounds := 1
	if s := os.Getenv("SHERD_ROLLS"); s != "" {
		var err error
		if rounds, err = strconv.Atoi(s); err != nil {
			t.Fatalf("SHERD_ROLLS: %v", err)
		}
	}
	c := startCluster(t, t.TempDir(), Loopback{})
	conn := integration.Connect(t, c.nodes[0].URL())
	integration.Exec(t, conn, "CREATE TABLE acc (id int PRIMARY KEY, n int NOT NULL)")
	integration.Exec(t, conn, "INSERT INTO acc SELECT g, 100 FROM generate_series(0, $1::int) g", rollingRows*3*len(rollingSteps)-1)
	integration.Exec(t, conn, "CREATE TABLE counter (id int PRIMARY KEY, n int NOT NULL)")
	integration.Exec(t, conn, "INSERT INTO counter SELECT g, 0 FROM generate_series(0, $1::int) g", counterRows-1)
	integration.Exec(t, conn, "CREATE TABLE log (id serial PRIMARY KEY, who text NOT NULL)")
	for _, n := range c.Nodes() { // a node hears of definitions a moment later
		if err := waitFor(t.Context(), n, "SELECT count(*) FROM pg_class WHERE relname = 'log'", 1); err != nil {
			t.Fatal(err)
		}
	}

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var restarting atomic.Int64
	var clients sync.WaitGroup
	var all []*roller
	for _, s := range rollingSteps {
		for _, n := range c.Nodes() {
			r := &roller{
				name: fmt.Sprintf("%s at node %d", s.name, n.Number), c: c, node: n, base: len(all) * rollingRows, step: s.do,
				rnd: rand.New(rand.NewPCG(uint64(len(all)), 7)), restarting: &restarting, t: t,
			}
			all = append(all, r)
			clients.Go(func() { r.run(ctx) })
		}
	}
	progress := func(want int64) {
		before := make([]int64, len(all))
		for i, r := range all {
			before[i] = r.done.Load()
		}
		limit := time.Now().Add(recovery)
		for i, r := range all {
			for r.done.Load() < before[i]+want {
				if time.Now().After(limit) {
					t.Fatalf("%s does not go on", r.name)
				}
				time.Sleep(10 * time.Millisecond)
			}
		}
	}
	progress(2)
	for range rounds {
		for _, n := range c.Nodes() {
			restarting.Store(int64(n.Number))
			began := time.Now()
			if err := c.Restart(n); err != nil {
				t.Fatal(err)
			}
			took := time.Since(began)
			restarting.Store(0)
			waitWhole(t, c)
			t.Logf("at %s node %d was restarted in %v, whole after %v", time.Now().Format("15:04:05.000"), n.Number, took.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
			progress(2)
		}
	}
	cancel()
	clients.Wait()
	sum := integration.One[int](t, integration.Connect(t, c.nodes[1].URL()), "SELECT sum(n)::int FROM acc")
	if want := 100 * rollingRows * 3 * len(rollingSteps); sum != want {
		t.Errorf("the sum is %d, not %d", sum, want)
	}
	for _, r := range all {
		t.Logf("%s: %d, the slowest %v", r.name, r.done.Load(), time.Duration(r.slowest.Load()).Round(time.Millisecond))
	}
}
