package fault

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
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
	moveWindow   = time.Second / 2  // about what one move takes
	partSample   = 5000             // documents that are written to, of each part
	moveWriters  = 2                // into the range that moves
	snapshotHeld = 3 * time.Second
	spreadWithin = 20 * time.Minute
)

// TestMoves measures moves under load: a quarter of all documents to and fro, in sixteen moves each way, then whole; then what it takes to spread them to a
// fragment that was added, on a node that was. SHERD_MOVES is the number of documents.
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
	m := &measuredMoves{t: t, c: c, conn: conn, load: &moveLoad{t: t, c: c, docs: docs}}
	m.prepare()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	m.load.phase()
	m.load.start(ctx)
	time.Sleep(moveLoadTime / 3)
	m.load.phase()
	profile(c, "before")
	for began := time.Now(); time.Since(began) < moveLoadTime; {
		m.load.worst.Store(0)
		time.Sleep(moveWindow)
		m.waits = append(m.waits, time.Duration(m.load.worst.Load()))
	}
	m.load.report("before")
	m.reportWaits("before", "the longest write of a client there in half a second")
	m.toAndFro()
	m.spread()
	cancel()
	m.load.wg.Wait()
	t.Logf("errors: %v", m.load.told)
	wrong, err := workload.FailedChecks(t.Context(), conn)
	if err != nil || len(wrong) > 0 {
		t.Errorf("%v, %v", wrong, err)
	}
}

// measuredMoves is the moves that TestMoves asks for.
type measuredMoves struct {
	t     *testing.T
	c     *Cluster
	conn  *pgx.Conn
	load  *moveLoad
	parts [][]string      // some documents of each part of the quarter that moves
	waits []time.Duration // the longest write into what moved, move by move
}

// prepare learns what lies in each part.
func (m *measuredMoves) prepare() {
	m.parts = make([][]string, moveParts)
	const width = moveQuarter / moveParts
	rows, err := m.conn.Query(m.t.Context(), fmt.Sprintf("SELECT id, sherd.bucket('docs', id) / %d FROM docs WHERE sherd.bucket('docs', id) < %d", width, moveQuarter))
	if err != nil {
		m.t.Fatal(err)
	}
	var id string
	var part int
	_, err = pgx.ForEachRow(rows, []any{&id, &part}, func() error {
		if len(m.parts[part]) < partSample {
			m.parts[part] = append(m.parts[part], id)
		}
		return nil
	})
	if err != nil {
		m.t.Fatal(err)
	}
	if slices.ContainsFunc(m.parts, func(ids []string) bool { return len(ids) == 0 }) {
		m.t.Fatal("too few documents: there are none in some parts")
	}
	m.load.part.Store(&m.parts[0])
}

// toAndFro moves the quarter in parts, and whole.
func (m *measuredMoves) toAndFro() {
	m.load.phase()
	profile(m.c, "parts")
	for _, to := range []int{2, 0} {
		for part := range moveParts {
			m.load.part.Store(&m.parts[part])
			m.move(part*moveQuarter/moveParts, (part+1)*moveQuarter/moveParts, to)
		}
	}
	m.report("parts", "end_bucket - first_bucket < 262144 AND why = 'measured'")
	all := slices.Concat(m.parts...)
	m.load.part.Store(&all)
	m.load.phase()
	profile(m.c, "whole")
	m.move(0, moveQuarter, 2)
	m.move(0, moveQuarter, 0)
	m.report("whole", "end_bucket - first_bucket = 262144 AND why = 'measured'")
}

func (m *measuredMoves) move(lo, hi, to int) {
	m.t.Helper()
	m.load.worst.Store(0)
	integration.Exec(m.t, m.conn, fmt.Sprintf("SELECT sherd.move_buckets('postgres', %d, %d, 'postgres$%d', wait => true, why => 'measured')", lo, hi, to))
	m.waits = append(m.waits, time.Duration(m.load.worst.Load()))
}

// report tells how a phase went.
func (m *measuredMoves) report(what, which string) {
	m.load.report(what)
	m.t.Logf("of %s: %s", what, moved(m.t, m.conn, which))
	m.reportWaits(what, "the longest write of a client into what moved")
}

// reportWaits tells how long writes took at worst, time by time.
func (m *measuredMoves) reportWaits(what, text string) {
	slices.Sort(m.waits)
	round := func(p int) time.Duration { return percentile(m.waits, p).Round(100 * time.Microsecond) }
	m.t.Logf("of %s: %s: p50 of %d %v, p99 %v, worst %v", what, text, len(m.waits), round(50), round(99), round(100))
	m.waits = nil
}

// spread adds a node and a fragment, and waits until it has its share.
func (m *measuredMoves) spread() {
	n, err := m.c.Add()
	if err != nil {
		m.t.Fatal(err)
	}
	waitWhole(m.t, m.c)
	m.load.phase()
	began := time.Now()
	profile(m.c, "spread")
	integration.Exec(m.t, m.conn, "ALTER DATABASE postgres FRAGMENTS 4")
	ctx, cancel := context.WithTimeout(m.t.Context(), spreadWithin)
	defer cancel()
	err = waitFor(ctx, n, "SELECT (SELECT count(*) FROM sherd.moves) + (SELECT count(*) FROM sherd.plans WHERE state <> 'proposed')"+
		" + (SELECT (count(DISTINCT fragment) < 4)::int FROM sherd.bucket_map)", 0)
	if err != nil {
		m.t.Fatal(err)
	}
	m.load.report("spread")
	m.t.Logf("%d documents spread to a fragment more, with replicas on a new node, in %v", m.load.docs, time.Since(began).Round(100*time.Millisecond))
	m.t.Log("of spread: " + moved(m.t, m.conn, "target = 'postgres$3'"))
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

func percentile[T ~int64 | ~float64](sorted []T, p int) T {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, len(sorted)*p/100)]
}
