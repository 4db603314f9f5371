package fault

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sherddb/sherd/integration"
	"github.com/sherddb/sherd/integration/workload"
)

// rangedRows is how many rows the range table has whose segments are split, of 100 each.
const (
	rangedRows = 600
	splitStep  = 10 // rows between the keys of two splits
)

// ranged is a range table whose rows change all the time, two at once, so that their total stays.
type ranged struct {
	t      *testing.T
	c      *Cluster
	writes atomic.Int64
	done   sync.WaitGroup
}

func newRanged(t *testing.T, c *Cluster) *ranged {
	t.Helper()
	conn := integration.Connect(t, c.AnyURL())
	defer conn.Close(t.Context())
	integration.Exec(t, conn, "CREATE TABLE ranged (id int PRIMARY KEY, n int NOT NULL, k int UNIQUE) WITH (shard_by = 'range')")
	integration.Exec(t, conn, "CREATE INDEX ranged_n ON ranged ((k % 10), n)")
	integration.Exec(t, conn, fmt.Sprintf("INSERT INTO ranged SELECT i, 100, -i FROM generate_series(1, %d) i", rangedRows))
	return &ranged{t: t, c: c}
}

// start has rows be changed until ctx ends. What becomes of a statement whose node is killed is not known, and need not be.
func (r *ranged) start(ctx context.Context) {
	for i := range 2 {
		rnd := rand.New(rand.NewPCG(uint64(i), 11))
		r.done.Go(func() {
			for ctx.Err() == nil {
				r.write(ctx, rnd)
				pause(ctx, 20*time.Millisecond)
			}
		})
	}
}

// write changes rows over one connection until that breaks.
func (r *ranged) write(ctx context.Context, rnd *rand.Rand) {
	conn, err := pgx.Connect(ctx, r.c.AnyURL())
	if err != nil {
		return
	}
	defer conn.Close(context.Background())
	for ctx.Err() == nil {
		a := rnd.IntN(rangedRows) + 1
		b := a%rangedRows + 1
		limited, cancel := context.WithTimeout(ctx, recovery)
		tag, err := conn.Exec(limited, "UPDATE ranged SET n = n + CASE WHEN id = $1 THEN 1 ELSE -1 END WHERE id IN ($1, $2)", a, b)
		cancel()
		if err != nil {
			return
		}
		if tag.RowsAffected() != 2 {
			r.t.Errorf("of two rows %d and %d, %d were changed", a, b, tag.RowsAffected())
			return
		}
		r.writes.Add(1)
		pause(ctx, 5*time.Millisecond)
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// arrowSplit is a split at one arrow of which nodes are killed. Source and target are one fragment.
type arrowSplit struct {
	arrowMove
	table *ranged
	at    int // the number of the split: its key
}

func (m *arrowSplit) crash() {
	t, began := m.t, time.Now()
	key := m.at * splitStep
	if key >= rangedRows {
		t.Fatalf("split %d is beyond the rows of the table", m.at)
	}
	m.leaderOf(key)
	m.arrows.stopAt(m.arrow, m.before())
	asked := make(chan error, 1)
	go func() { asked <- m.ask(key) }()
	goOn := m.arrows.await(m.arrow)
	victims := m.victims()
	m.c.Kill(victims...)
	close(goOn)
	if !m.late {
		m.start(victims)
	}
	m.wait("the split does not end", fmt.Sprintf("SELECT count(*) > 0 FROM sherd.changelog WHERE subject = 'ranged: split at %d' AND change = 'move done'", key))
	killed := time.Since(began)
	if m.late {
		m.start(victims)
	}
	waitWhole(t, m.c)
	<-asked // its node may have been killed
	m.wait("moves go on", "SELECT count(*) = 0 FROM sherd.moves")
	m.verifyRows(key)
	t.Logf("%s (source and target %d, catalog %d), late %v: split at %d after %v, whole after %v, %d writes", m.arrowCrash, m.leaders[killTarget].Number,
		m.leaders[killCatalog].Number, m.late, key, killed.Round(time.Millisecond), time.Since(began).Round(time.Millisecond), m.table.writes.Load())
}

// ask asks for the split. Whether it is told of the end does not matter.
func (m *arrowSplit) ask(key int) error {
	ctx, cancel := context.WithTimeout(m.t.Context(), recovery)
	defer cancel()
	conn, err := pgx.Connect(ctx, m.c.AnyURL())
	if err != nil {
		return err
	}
	defer conn.Close(context.Background())
	_, err = conn.Exec(ctx, "SELECT sherd.split_segment('ranged', $1::text)", fmt.Sprint(key))
	return err
}

// leaderOf learns who leads the fragment of the segment that is split, and the catalog.
func (m *arrowSplit) leaderOf(key int) {
	query := fmt.Sprintf(`SELECT n.id, cn.id FROM sherd.segments s JOIN sherd.fragments f USING (fragment) JOIN sherd.nodes n ON n.name = f.leader, sherd.nodes cn
		WHERE cn.catalog = 'leader' AND coalesce(s.lower::int, 0) <= %d AND coalesce(s.upper::int, %d) > %d`, key, rangedRows+1, key)
	ctx, cancel := context.WithTimeout(m.t.Context(), recovery)
	defer cancel()
	conn := integration.Connect(m.t, m.c.AnyURL())
	defer conn.Close(ctx)
	for {
		var source, catalog int
		err := conn.QueryRow(ctx, query).Scan(&source, &catalog)
		if err == nil {
			nodes := m.c.Nodes()
			m.leaders = map[string]*Node{killSource: nodes[source-1], killTarget: nodes[source-1], killCatalog: nodes[catalog-1]}
			return
		}
		if ctx.Err() != nil {
			m.t.Fatal(err)
		}
		pause(ctx, 50*time.Millisecond)
	}
}

// wait waits until a query answers true, somewhere.
func (m *arrowSplit) wait(what, query string) {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), recovery)
	defer cancel()
	var last error
	for ctx.Err() == nil {
		if m.before() != nil {
			m.control("SELECT sherd.resume_move(id) FROM sherd.moves WHERE state = 'paused'")
		}
		for _, n := range m.c.Nodes() {
			if n.process.Exited() {
				continue
			}
			yes, err := ask[bool](ctx, n, query)
			if err == nil && yes {
				return
			}
			last = err
		}
		pause(ctx, 20*time.Millisecond)
	}
	m.t.Fatalf("%s: %s: %v", m.arrowCrash, what, last)
}

// verifyRows looks that no row is lost or doubled, by the key and by each index, and that the table has the segment.
func (m *arrowSplit) verifyRows(key int) {
	ctx, cancel := context.WithTimeout(m.t.Context(), recovery)
	defer cancel()
	conn := integration.Connect(m.t, m.c.AnyURL())
	defer conn.Close(ctx)
	for query, want := range map[string]int{
		"SELECT count(*)::int FROM ranged":                                                      rangedRows,
		"SELECT count(DISTINCT id)::int FROM ranged":                                            rangedRows,
		"SELECT sum(n)::int FROM ranged":                                                        100 * rangedRows,
		"SELECT count(*)::int FROM ranged WHERE k % 10 = -3":                                    rangedRows / 10,
		"SELECT count(*)::int FROM ranged WHERE k IN (SELECT -i FROM generate_series(1, 50) i)": 50,
		fmt.Sprintf("SELECT count(*)::int FROM sherd.segments WHERE lower = '%d'", key):         1,
		fmt.Sprintf("SELECT count(*)::int FROM ranged WHERE id >= %d", key):                     rangedRows + 1 - key,
	} {
		if n := integration.One[int](m.t, conn, query); n != want {
			m.t.Errorf("%s: %s: %d, want %d", m.arrowCrash, query, n, want)
		}
	}
	failed, err := workload.FailedChecks(ctx, conn)
	if err != nil || len(failed) > 0 {
		m.t.Errorf("%s: %v %s", m.arrowCrash, err, strings.Join(failed, "; "))
	}
}
