package fault

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sherddb/sherd/integration"
	"github.com/sherddb/sherd/integration/workload"
)

const (
	moveClients  = 4 // of each kind
	moveParts    = 16
	moveQuarter  = allBuckets / 4
	moveLoadTime = 15 * time.Second // before the moves, as a measure
)

// moveLoad is clients that go on while buckets move, each with one connection.
type moveLoad struct {
	t    *testing.T
	c    *Cluster
	docs int
	wg   sync.WaitGroup

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
				for ctx.Err() == nil {
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
	conn := integration.Connect(l.t, l.c.nodes[1].URL())
	l.wg.Go(func() { // the total never changes
		for ctx.Err() == nil {
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
		if kind != "transfer" || code != "40001" {
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
		l.t.Logf("%-10s %-14s %8.0f per second, p50 %v, p99 %v, worst %v", what, kind, float64(len(all))/length, percentile(all, 50).Round(100*time.Microsecond),
			percentile(all, 99).Round(100*time.Microsecond), percentile(all, 100).Round(100*time.Microsecond))
	}
}

func percentile[T ~int64 | ~float64](sorted []T, p int) T {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, len(sorted)*p/100)]
}

// TestMoves measures moves under load: a quarter of all documents to and fro, in sixteen moves each way, then whole. SHERD_MOVES is the number of documents.
func TestMoves(t *testing.T) {
	docs, err := strconv.Atoi(os.Getenv("SHERD_MOVES"))
	if err != nil {
		t.Skip("measures; see make moves")
	}
	c := startCluster(t, t.TempDir(), Loopback{})
	conn := integration.Connect(t, c.nodes[0].URL())
	integration.Exec(t, conn, "CREATE TABLE docs (id text PRIMARY KEY, n int NOT NULL, body text NOT NULL)")
	began := time.Now()
	for first := 1; first <= docs; first += 50_000 {
		integration.Exec(t, conn, "INSERT INTO docs SELECT 'docs/' || g, 100, repeat(md5(g::text), 6) FROM generate_series($1::int, $2::int) g", first, min(docs, first+49_999))
	}
	integration.Exec(t, conn, "CREATE INDEX docs_n ON docs (n)")
	t.Logf("%d documents with an index in %v", docs, time.Since(began).Round(time.Millisecond))
	waitWhole(t, c)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	l := &moveLoad{t: t, c: c, docs: docs}
	l.phase()
	l.start(ctx)
	time.Sleep(moveLoadTime / 3)
	l.phase()
	time.Sleep(moveLoadTime)
	l.report("before")
	l.phase()
	for _, to := range []int{2, 0} {
		for part := range moveParts {
			moveAway(t, conn, part*moveQuarter/moveParts, (part+1)*moveQuarter/moveParts, to)
		}
	}
	l.report("parts")
	t.Log("of parts: " + moved(t, conn, "end_bucket - first_bucket < 262144"))
	l.phase()
	moveAway(t, conn, 0, moveQuarter, 2)
	moveAway(t, conn, 0, moveQuarter, 0)
	l.report("whole")
	t.Log("of quarters: " + moved(t, conn, "end_bucket - first_bucket = 262144"))
	cancel()
	l.wg.Wait()
	t.Logf("errors: %v", l.told)
	wrong, err := workload.FailedChecks(t.Context(), conn)
	if err != nil || len(wrong) > 0 {
		t.Errorf("%v, %v", wrong, err)
	}
}

func moveAway(t *testing.T, conn *pgx.Conn, lo, hi, to int) {
	t.Helper()
	integration.Exec(t, conn, fmt.Sprintf("SELECT sherd.move_buckets('postgres', %d, %d, 'postgres$%d', wait => true)", lo, hi, to))
}

// moved tells how moves went: how long writes were blocked, and how fast they were.
func moved(t *testing.T, conn *pgx.Conn, which string) string {
	t.Helper()
	rows, err := conn.Query(t.Context(), "SELECT steps::int, bytes::float8, extract(epoch FROM ended - started)::float8, blocked_ms, worst_blocked_ms, retries::int FROM sherd.move_history WHERE "+which)
	if err != nil {
		t.Fatal(err)
	}
	var steps, retries, allSteps, allRetries, moves int
	var bytes, seconds, blocked, worst, allBytes, allSeconds, allBlocked float64
	var worsts []float64
	_, err = pgx.ForEachRow(rows, []any{&steps, &bytes, &seconds, &blocked, &worst, &retries}, func() error {
		moves, allSteps, allRetries, allBytes, allSeconds, allBlocked = moves+1, allSteps+steps, allRetries+retries, allBytes+bytes, allSeconds+seconds, allBlocked+blocked
		worsts = append(worsts, worst)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(worsts)
	return fmt.Sprintf("%d moves, %d steps (%d again), %.1f MB in %.1f s: %.1f MB/s; writes blocked %.1f ms a step, the worst step of a move p50 %.1f ms, p99 %.1f ms, worst %.1f ms",
		moves, allSteps, allRetries, allBytes/1e6, allSeconds, allBytes/1e6/allSeconds, allBlocked/float64(max(allSteps, 1)), percentile(worsts, 50), percentile(worsts, 99), percentile(worsts, 100))
}
