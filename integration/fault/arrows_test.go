package fault

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/sherddb/sherd/integration"
	"github.com/sherddb/sherd/integration/workload"
	"github.com/sherddb/sherd/rebalance/move"
)

// The processes that are killed at an arrow. The target's leader drives the move.
const (
	killSource  = "the source's leader"
	killTarget  = "the target's leader"
	killCatalog = "the catalog's leader"
	killAllOf   = "all nodes"
)

// arrowCrash is a crash at an arrow of a move.
type arrowCrash struct {
	arrow  string
	victim string
	late   bool // the victim is started again only when the move has ended
	split  bool // the move is of a segment that is split, within its fragment
}

// shortCrashes are those of each run of the tests; make arrows has all there are.
var shortCrashes = []arrowCrash{
	{move.Fenced, killSource, false, false},
	{move.Flipped, killTarget, true, false},
	{move.CopiedRest, killCatalog, true, false},
	{move.Aborted, killTarget, false, false},
	{move.Flipped, killTarget, true, true},
}

func (x arrowCrash) String() string {
	if x.split {
		return "split: " + x.arrow + ": " + x.victim
	}
	return x.arrow + ": " + x.victim
}

func allCrashes() (all []arrowCrash) {
	for i, arrow := range append(move.Arrows(), move.Aborted, move.Lifted) {
		for j, victim := range []string{killSource, killTarget, killCatalog} {
			all = append(all, arrowCrash{arrow, victim, (i+j)%2 == 0, false}, arrowCrash{arrow, victim, (i+j)%2 == 1, false})
		}
		all = append(all, arrowCrash{arrow, killAllOf, false, false})
		all = append(all, arrowCrash{arrow, killTarget, i%2 == 0, true}, arrowCrash{arrow, killCatalog, i%2 == 1, true}, arrowCrash{arrow, killAllOf, false, true})
	}
	return all
}

// TestCrashAtArrows kills -9, at each arrow of a move between fragments of three nodes, the node that leads the source, the target or the catalog, or all, while
// clients go on. Each time the move comes to its end, every bucket has one owner, and no document is lost or doubled.
func TestCrashAtArrows(t *testing.T) {
	crashes, same := shortCrashes, 1
	if only := os.Getenv("SHERD_ARROWS"); only != "" {
		wanted := regexp.MustCompile(only)
		same, crashes = 0, slices.DeleteFunc(allCrashes(), func(x arrowCrash) bool { return !wanted.MatchString(x.String()) })
	}
	a := listenArrows(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c, err := NewCluster(self, t.TempDir(), Loopback{}, 3)
	if err != nil {
		t.Fatal(err)
	}
	endCluster(t, c)
	waitWhole(t, c)
	run := &workload.Run{
		URL: c.AnyURL, Errorf: t.Errorf, Seed: uint64(time.Now().UnixNano()), Pause: 20 * time.Millisecond, Stock: arrowStock,
		Timeout: 2 * stuckAfter, StuckAfter: stuckAfter, Stuck: func(what string) { stuck(t, c, what) },
	}
	if err := run.SetUp(t.Context(), integration.Connect(t, c.nodes[0].URL())); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	wait := run.Start(ctx)
	r := newRanged(t, c)
	r.start(ctx)
	splits := 0
	for _, x := range crashes {
		if x.split {
			splits++
			(&arrowSplit{arrowMove{t: t, c: c, arrows: a, arrowCrash: x}, r, splits}).crash()
			if t.Failed() {
				break
			}
			continue
		}
		m := arrowMove{t: t, c: c, arrows: a, arrowCrash: x, same: same}
		m.crash()
		if t.Failed() {
			break
		}
	}
	cancel()
	wait()
	r.done.Wait()
	t.Log(run.Errors())
	report, wrong, err := run.Verify(t.Context(), integration.Connect(t, c.AnyURL()))
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range wrong {
		t.Error(w)
	}
	t.Log(report)
}

// arrowStock is how many documents there are, all in all.
const arrowStock = 1500

// arrowMove is a move at one arrow of which nodes are killed.
type arrowMove struct {
	t      *testing.T
	c      *Cluster
	arrows *arrows
	arrowCrash
	same int // of source, target and catalog not more are led by one node than that says: 0 none, 1 the catalog and another

	source, target string // fragments
	lo, hi         int
	leaders        map[string]*Node // by victim
}

func (m *arrowMove) crash() {
	t, began := m.t, time.Now()
	m.choose()
	m.arrows.stopAt(m.arrow, m.before())
	id := askAny[int64](m, fmt.Sprintf("SELECT sherd.move_buckets('postgres', %d, %d, '%s', why => '%s')", m.lo, m.hi, m.target, m.arrow))
	goOn := m.arrows.await(m.arrow)
	victims := m.victims()
	m.c.Kill(victims...)
	close(goOn)
	if !m.late {
		m.start(victims)
	}
	m.ended(id)
	killed := time.Since(began)
	if m.late {
		m.start(victims)
	}
	waitWhole(t, m.c)
	m.verify()
	var at []string
	for _, n := range victims {
		at = append(at, fmt.Sprint(n.Number))
	}
	t.Logf("%s, %s (node %s of source %d, target %d, catalog %d), late %v: moved after %v, whole after %v", m.arrow, m.victim, strings.Join(at, ", "),
		m.leaders[killSource].Number, m.leaders[killTarget].Number, m.leaders[killCatalog].Number, m.late,
		killed.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
}

func (m *arrowMove) start(nodes []*Node) {
	if err := m.c.Start(nodes...); err != nil {
		m.t.Fatal(err)
	}
}

// spreadTime bounds the wait for the leaders of source, target and catalog to be three nodes, as they are some seconds after a fault.
const spreadTime = 15 * time.Second

// choose chooses what is moved and where to: fragments of other leaders than the catalog's, and than each other's, where there are some.
func (m *arrowMove) choose() {
	const query = `SELECT s.fragment, g.fragment, sn.id, gn.id, cn.id, r.first_bucket, r.end_bucket, (s.leader = g.leader)::int * 2 + (cn.name IN (s.leader, g.leader))::int AS same
		FROM sherd.fragments s JOIN sherd.nodes sn ON sn.name = s.leader, sherd.fragments g JOIN sherd.nodes gn ON gn.name = g.leader, sherd.nodes cn, sherd.bucket_map r
		WHERE s.fragment <> g.fragment AND cn.catalog = 'leader' AND r.fragment = s.fragment
		ORDER BY same, r.end_bucket - r.first_bucket DESC LIMIT 1`
	type choice struct {
		Source, Target                        string
		SourceNode, TargetNode, CatalogLeader int
		Lo, Hi, Same                          int
	}
	ctx, cancel := context.WithTimeout(m.t.Context(), recovery)
	defer cancel()
	conn := integration.Connect(m.t, m.c.AnyURL())
	defer conn.Close(ctx)
	var x choice
	for end := time.Now().Add(spreadTime); ; time.Sleep(50 * time.Millisecond) {
		rows, err := conn.Query(ctx, query)
		if err == nil {
			x, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[choice])
		}
		if err != nil && !errors.Is(err, pgx.ErrNoRows) { // some may have no leader for a moment
			m.t.Fatal(err)
		}
		if err == nil && (x.Same <= m.same || time.Now().After(end)) {
			break
		}
	}
	m.source, m.target, m.lo, m.hi = x.Source, x.Target, x.Lo, min(x.Hi, x.Lo+allBuckets/4)
	nodes := m.c.Nodes()
	m.leaders = map[string]*Node{killSource: nodes[x.SourceNode-1], killTarget: nodes[x.TargetNode-1], killCatalog: nodes[x.CatalogLeader-1]}
}

func (m *arrowMove) victims() []*Node {
	if m.victim == killAllOf {
		return m.c.Nodes()
	}
	return []*Node{m.leaders[m.victim]}
}

// before is what is done on the way: a step is undone where its move is paused while the source is fenced.
func (m *arrowMove) before() map[string]func() {
	if m.arrow != move.Aborted && m.arrow != move.Lifted {
		return nil
	}
	return map[string]func(){move.Fenced: func() { m.control("SELECT sherd.pause_move(id) FROM sherd.moves") }}
}

func (m *arrowMove) resume(id int64) {
	m.control(fmt.Sprintf("SELECT sherd.resume_move(id) FROM sherd.moves WHERE id = %d AND state = 'paused'", id))
}

// control has a node that is there do something, again where that was not it.
func (m *arrowMove) control(query string) {
	ctx, cancel := context.WithTimeout(m.t.Context(), recovery)
	defer cancel()
	last := error(nil)
	for ctx.Err() == nil {
		conn, err := pgx.Connect(ctx, m.c.AnyURL())
		if err == nil {
			_, err = conn.Exec(ctx, query)
			conn.Close(ctx)
		}
		if err == nil {
			return
		}
		last = err
		time.Sleep(10 * time.Millisecond)
	}
	m.t.Errorf("%s: %v", query, last)
}

// askAny asks a node, any.
func askAny[T any](m *arrowMove, query string) T {
	m.t.Helper()
	conn := integration.Connect(m.t, m.c.AnyURL())
	defer conn.Close(context.Background())
	return integration.One[T](m.t, conn, query)
}

// ended waits until the move has ended, as it was asked for.
func (m *arrowMove) ended(id int64) {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), recovery)
	defer cancel()
	var last error
	for ctx.Err() == nil {
		if m.before() != nil {
			m.resume(id) // a node may not know yet that it was paused
		}
		for _, n := range m.c.Nodes() {
			if n.process.Exited() {
				continue
			}
			outcome, err := ask[string](ctx, n, fmt.Sprintf("SELECT outcome FROM sherd.move_history WHERE id = %d", id))
			if err == nil {
				if outcome != "done" {
					m.t.Errorf("%s, %s: the move is %s", m.arrow, m.victim, outcome)
				}
				return
			}
			last = err
		}
		time.Sleep(20 * time.Millisecond)
	}
	left := askAny[string](m, "SELECT coalesce(string_agg(to_json(m)::text, ' '), '') FROM sherd.moves m")
	m.t.Fatalf("%s, %s: the move does not end: %v, %s", m.arrow, m.victim, last, left)
}

// verify looks that all buckets that were to be moved have one owner, and no document is lost or doubled.
func (m *arrowMove) verify() {
	ctx, cancel := context.WithTimeout(m.t.Context(), recovery)
	defer cancel()
	conn := integration.Connect(m.t, m.c.AnyURL())
	defer conn.Close(ctx)
	elsewhere := fmt.Sprintf("SELECT count(*)::int FROM sherd.bucket_map WHERE fragment <> '%s' AND first_bucket < %d AND end_bucket > %d", m.target, m.hi, m.lo)
	if n := integration.One[int](m.t, conn, elsewhere); n != 0 {
		m.t.Errorf("%s, %s: %d ranges of what was moved are elsewhere", m.arrow, m.victim, n)
	}
	if n := integration.One[int](m.t, conn, "SELECT count(DISTINCT id)::int FROM stock"); n != arrowStock {
		m.t.Errorf("%s, %s: %d documents of stock", m.arrow, m.victim, n)
	}
	failed, err := workload.FailedChecks(ctx, conn)
	if err != nil {
		m.t.Errorf("%s, %s: %v", m.arrow, m.victim, err)
	}
	for _, what := range failed {
		m.t.Errorf("%s, %s: %s", m.arrow, m.victim, what)
	}
}
