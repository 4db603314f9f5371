package fault

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sherddb/sherd/integration"
	"github.com/sherddb/sherd/integration/workload"
)

// moveLoad is clients that go on while buckets move, each with one connection.
type moveLoad struct {
	t    *testing.T
	c    *Cluster
	docs int
	wg   sync.WaitGroup

	part  atomic.Pointer[[]string] // what lies in the range that moves now
	worst atomic.Int64             // the longest that a write there took since the move began, in nanoseconds

	mu    sync.Mutex
	took  map[string][]time.Duration // of the present phase, by kind; guarded by mu
	began time.Time                  // of the present phase; guarded by mu
	told  map[string]int             // errors, by kind and SQLSTATE; guarded by mu
}

// moveKinds are what its clients do, again and again.
var moveKinds = map[string]func(ctx context.Context, conn *pgx.Conn, a, b int) error{
	"read of one": func(ctx context.Context, conn *pgx.Conn, a, _ int) error {
		var n int
		return conn.QueryRow(ctx, "SELECT n FROM docs WHERE id = $1", docID(a)).Scan(&n)
	},
	"update of one": func(ctx context.Context, conn *pgx.Conn, a, _ int) error {
		_, err := conn.Exec(ctx, "UPDATE docs SET n = n + 0 WHERE id = $1", docID(a))
		return err
	},
	"transfer": func(ctx context.Context, conn *pgx.Conn, a, b int) error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, "UPDATE docs SET n = n - 1 WHERE id = $1", docID(a))
			if err == nil {
				_, err = tx.Exec(ctx, "UPDATE docs SET n = n + 1 WHERE id = $1", docID(b))
			}
			return err
		})
	},
}

func docID(n int) string { return "docs/" + strconv.Itoa(n) }

func (l *moveLoad) start(ctx context.Context) {
	l.told = map[string]int{}
	for kind, do := range moveKinds {
		for i := range moveClients {
			conn := integration.Connect(l.t, l.c.nodes[i%len(l.c.nodes)].URL())
			rnd := rand.New(rand.NewPCG(uint64(i), uint64(len(kind))))
			l.wg.Go(func() {
				for ctx.Err() == nil && !conn.IsClosed() {
					a, b := 1+rnd.IntN(l.docs), 1+rnd.IntN(l.docs)
					if a == b {
						continue
					}
					began := time.Now()
					l.note(kind, do(context.WithoutCancel(ctx), conn, min(a, b), max(a, b)), began)
				}
			})
		}
	}
	for i := range moveWriters {
		conn := integration.Connect(l.t, l.c.nodes[i%len(l.c.nodes)].URL())
		rnd := rand.New(rand.NewPCG(uint64(i), 99))
		l.wg.Go(func() {
			for ctx.Err() == nil && !conn.IsClosed() {
				l.writeThere(context.WithoutCancel(ctx), conn, rnd)
			}
		})
	}
	held := integration.Connect(l.t, l.c.nodes[2].URL())
	l.wg.Go(func() {
		for ctx.Err() == nil && !held.IsClosed() {
			l.holdSnapshot(ctx, held)
		}
	})
	conn := integration.Connect(l.t, l.c.nodes[1].URL())
	l.wg.Go(func() { // the total never changes
		for ctx.Err() == nil && !conn.IsClosed() {
			var sum, count int
			began := time.Now()
			err := conn.QueryRow(context.WithoutCancel(ctx), "SELECT sum(n), count(*) FROM docs").Scan(&sum, &count)
			if err == nil && (sum != 100*l.docs || count != l.docs) {
				l.t.Errorf("%d documents with a total of %d", count, sum)
			}
			l.note("total of all", err, began)
		}
	})
}

func (l *moveLoad) note(kind string, err error, began time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if began.After(l.began) {
		l.took[kind] = append(l.took[kind], time.Since(began))
	}
	if err != nil {
		code := workload.SQLState(err)
		l.told[kind+" "+code]++
		if kind != "transfer" && kind != "snapshot" || code != "40001" {
			l.t.Errorf("%s: %v", kind, err)
		}
	}
}

func (l *moveLoad) phase() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.began, l.took = time.Now(), map[string][]time.Duration{}
}

// report prints what clients got in the phase that ends now.
func (l *moveLoad) report(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	length := time.Since(l.began).Seconds()
	for _, kind := range slices.Sorted(maps.Keys(l.took)) {
		all := l.took[kind]
		slices.Sort(all)
		l.t.Logf("%-10s %-14s %8.1f per second, p50 %v, p99 %v, worst %v", what, kind, float64(len(all))/length, percentile(all, 50).Round(100*time.Microsecond),
			percentile(all, 99).Round(100*time.Microsecond), percentile(all, 100).Round(100*time.Microsecond))
	}
}

// writeThere writes into the range that moves now.
func (l *moveLoad) writeThere(ctx context.Context, conn *pgx.Conn, rnd *rand.Rand) {
	ids := *l.part.Load()
	began := time.Now()
	_, err := conn.Exec(ctx, "UPDATE docs SET n = n + 0 WHERE id = $1", ids[rnd.IntN(len(ids))])
	took := int64(time.Since(began))
	for {
		worst := l.worst.Load()
		if took <= worst || l.worst.CompareAndSwap(worst, took) {
			break
		}
	}
	l.note("write there", err, began)
}

// holdSnapshot reads the total in a snapshot, and again after some time.
func (l *moveLoad) holdSnapshot(ctx context.Context, conn *pgx.Conn) {
	began := time.Now()
	err := pgx.BeginTxFunc(context.WithoutCancel(ctx), conn, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, func(tx pgx.Tx) error {
		for range 2 {
			var sum, count int
			if err := tx.QueryRow(context.WithoutCancel(ctx), "SELECT sum(n), count(*) FROM docs").Scan(&sum, &count); err != nil {
				return err
			}
			if sum != 100*l.docs || count != l.docs {
				l.t.Errorf("in a snapshot %d documents with a total of %d", count, sum)
			}
			select {
			case <-time.After(snapshotHeld):
			case <-ctx.Done():
			}
		}
		return nil
	})
	l.note("snapshot", err, began)
}

// profile has every node write down what its processors do for a time, in SHERD_PROFILE.
func profile(c *Cluster, name string) {
	dir := os.Getenv("SHERD_PROFILE")
	if dir == "" {
		return
	}
	for _, n := range c.Nodes() {
		go func() {
			resp, err := http.Get("http://" + n.http + "/debug/pprof/profile?seconds=10")
			if err != nil {
				return
			}
			defer resp.Body.Close()
			data, err := io.ReadAll(resp.Body)
			if err == nil {
				_ = os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%d.pprof", name, n.Number)), data, 0o644)
			}
		}()
	}
}
