package fault

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sherddb/sherd/integration"
	"github.com/sherddb/sherd/integration/workload"
)

const (
	dumpTables  = 6
	dumpRows    = 600 // of each table, at first
	dumpWriters = 6
	dumpRounds  = 3
)

// TestParallelDumpOverHosts: pg_dump with four workers and a connection string of several hosts, whose workers land on other nodes than its leader, dumps one
// snapshot of the cluster while clients write and buckets move: what is restored equals what a transaction reads that exported the snapshot, and without
// such a transaction no half of another one is in it.
func TestParallelDumpOverHosts(t *testing.T) {
	integration.Need(t, []string{"postgresql-client"}, "pg_restore", "--version")
	c := startCluster(t, t.TempDir(), Loopback{})
	conn := integration.Connect(t, c.nodes[0].URL())
	for i := range dumpTables {
		options := ""
		if i == 1 {
			options = " WITH (shard_by = 'range')"
		}
		integration.Exec(t, conn, fmt.Sprintf("CREATE TABLE t%d (id text PRIMARY KEY, n int NOT NULL, body text)%s", i, options))
		integration.Exec(t, conn, fmt.Sprintf("INSERT INTO t%d SELECT 't%d/' || g, 100, repeat(md5(g::text), 8) FROM generate_series(1, %d) g", i, i, dumpRows))
		integration.Exec(t, conn, fmt.Sprintf("CREATE INDEX ON t%d (n)", i))
	}
	waitWhole(t, c)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	mover := StartMover(t.Context(), c, seed)
	load := startDumpLoad(t, c, seed)
	for round := range dumpRounds {
		d := &parallelDump{t: t, c: c, dir: filepath.Join(t.TempDir(), "dump"), copy: fmt.Sprintf("copy%d", round)}
		if round%2 == 0 {
			d.ofExported()
		} else {
			d.ofItsOwn()
		}
		if load.committed.Swap(0) == 0 {
			t.Error("nothing was written meanwhile")
		}
	}
	load.stop()
	moves, done, err := mover.Stop(t.Context())
	if t.Log(moves); err != nil || done == 0 {
		t.Errorf("%d moves done, %v", done, err)
	}
	wrong, err := workload.FailedChecks(t.Context(), conn)
	if err != nil || len(wrong) > 0 {
		t.Errorf("%v, %v", wrong, err)
	}
}

// dumpLoad is clients that move points, and rows, between the tables, each time in one transaction.
type dumpLoad struct {
	committed atomic.Int64
	cancel    context.CancelFunc
	wg        sync.WaitGroup
}

func startDumpLoad(t *testing.T, c *Cluster, seed uint64) *dumpLoad {
	l := &dumpLoad{}
	ctx, cancel := context.WithCancel(t.Context())
	l.cancel = cancel
	for i := range dumpWriters {
		conn := integration.Connect(t, c.nodes[i%len(c.nodes)].URL())
		rnd := rand.New(rand.NewPCG(seed, uint64(i)))
		l.wg.Go(func() {
			for ctx.Err() == nil {
				err := transferBetween(context.WithoutCancel(ctx), conn, rnd)
				switch state := workload.SQLState(err); {
				case err == nil:
					l.committed.Add(1)
				case errors.Is(err, errNoRow), slices.Contains([]string{"40001", "40P01", "23505"}, state):
				default:
					t.Errorf("writer %d: %v", i, err)
					return
				}
			}
		})
	}
	t.Cleanup(l.stop)
	return l
}

func (l *dumpLoad) stop() {
	l.cancel()
	l.wg.Wait()
}

// errNoRow undoes a transfer to a row that is elsewhere by now.
var errNoRow = errors.New("no row")

// transferBetween moves a point or a row from one table to another.
func transferBetween(ctx context.Context, conn *pgx.Conn, rnd *rand.Rand) error {
	a, b := rnd.IntN(dumpTables), rnd.IntN(dumpTables)
	if rnd.IntN(3) == 0 {
		_, err := conn.Exec(ctx, fmt.Sprintf("WITH gone AS (DELETE FROM t%d WHERE id = $1 RETURNING *) INSERT INTO t%d SELECT id || '.', n, body FROM gone", a, b),
			fmt.Sprintf("t%d/%d", a, 1+rnd.IntN(dumpRows)))
		return err
	}
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		taken, err := tx.Exec(ctx, fmt.Sprintf("UPDATE t%d SET n = n - 1 WHERE id = $1", a), fmt.Sprintf("t%d/%d", a, 1+rnd.IntN(dumpRows)))
		if err != nil || taken.RowsAffected() == 0 {
			return err
		}
		given, err := tx.Exec(ctx, fmt.Sprintf("UPDATE t%d SET n = n + 1 WHERE id = $1", b), fmt.Sprintf("t%d/%d", b, 1+rnd.IntN(dumpRows)))
		if err == nil && given.RowsAffected() == 0 {
			return errNoRow
		}
		return err
	})
}

// parallelDump is one dump and what is restored from it.
type parallelDump struct {
	t    *testing.T
	c    *Cluster
	dir  string
	copy string // name of the database
}

// ofExported dumps the snapshot that a transaction at the last node exports and compares the copy with what that transaction reads.
func (d *parallelDump) ofExported() {
	d.t.Helper()
	conn := integration.Connect(d.t, d.c.nodes[2].URL())
	integration.Exec(d.t, conn, "BEGIN ISOLATION LEVEL REPEATABLE READ")
	snapshot := integration.One[string](d.t, conn, "SELECT pg_export_snapshot()")
	d.dump("--snapshot=" + snapshot)
	want := contents(d.t, conn)
	integration.Exec(d.t, conn, "COMMIT")
	if got := contents(d.t, d.restore()); got != want {
		d.t.Errorf("%s: the copy has\n%sand the snapshot\n%s", d.copy, got, want)
	}
}

// ofItsOwn has pg_dump take a snapshot and looks for halves of transactions in the copy.
func (d *parallelDump) ofItsOwn() {
	d.t.Helper()
	d.dump()
	conn := d.restore()
	rows, points := 0, 0
	for i := range dumpTables {
		rows += integration.One[int](d.t, conn, fmt.Sprintf("SELECT count(*)::int FROM t%d", i))
		points += integration.One[int](d.t, conn, fmt.Sprintf("SELECT coalesce(sum(n), 0)::int FROM t%d", i))
	}
	if rows != dumpTables*dumpRows || points != 100*rows {
		d.t.Errorf("%s has %d rows with %d points", d.copy, rows, points)
	}
}

// contents tells tables by number and checksum of their rows.
func contents(t *testing.T, conn *pgx.Conn) string {
	t.Helper()
	var b strings.Builder
	for i := range dumpTables {
		b.WriteString(integration.One[string](t, conn, fmt.Sprintf(`SELECT format(E't%d %%s %%s\n', count(*), md5(string_agg(format('%%s %%s %%s', id, n, body), ',' ORDER BY id))) FROM t%d`, i, i)))
	}
	return b.String()
}

// dump runs pg_dump with four workers. Its leader is served by the first node, the workers by the second and the third.
func (d *parallelDump) dump(flags ...string) {
	d.t.Helper()
	hosts := dealHosts(d.t, d.c, 0, 1, 2)
	args := append([]string{"-d", hosts.conninfo, "-Fd", "-j4", "-f", d.dir}, flags...)
	if out, err := exec.CommandContext(d.t.Context(), "pg_dump", args...).CombinedOutput(); err != nil {
		d.t.Fatalf("pg_dump %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	if n := hosts.dealt.Load(); n != 5 {
		d.t.Errorf("pg_dump made %d connections", n)
	}
}

// restore makes a database of the dump, over several nodes too, and returns a connection to it.
func (d *parallelDump) restore() *pgx.Conn {
	d.t.Helper()
	integration.Exec(d.t, integration.Connect(d.t, d.c.nodes[1].URL()), "CREATE DATABASE "+d.copy)
	into := dealHosts(d.t, d.c, 1, 2, 0)
	args := []string{"-d", strings.Replace(into.conninfo, "dbname=postgres", "dbname="+d.copy, 1), "-j4", "--exit-on-error", d.dir}
	if out, err := exec.CommandContext(d.t.Context(), "pg_restore", args...).CombinedOutput(); err != nil {
		d.t.Fatalf("pg_restore %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return integration.Connect(d.t, strings.Replace(d.c.nodes[1].URL(), "/postgres?", "/"+d.copy+"?", 1))
}

// dealtHosts are two hosts for a connection string: nothing answers at the first, and connections to the second are dealt to nodes in turn.
type dealtHosts struct {
	conninfo string
	dealt    atomic.Int32
}

// dealHosts deals connections to some nodes: the first to the first of them, the others to the rest in turn.
func dealHosts(t *testing.T, c *Cluster, nodes ...int) *dealtHosts {
	t.Helper()
	h := &dealtHosts{}
	refusing, dealing := listenLocal(t), listenLocal(t)
	h.conninfo = fmt.Sprintf("host=127.0.0.1,127.0.0.1 port=%d,%d user=postgres dbname=postgres", refusing.Addr().(*net.TCPAddr).Port, dealing.Addr().(*net.TCPAddr).Port)
	refusing.Close()
	go func() {
		for {
			conn, err := dealing.Accept()
			if err != nil {
				return
			}
			to := nodes[0]
			if i := int(h.dealt.Add(1)) - 1; i > 0 {
				to = nodes[1+i%(len(nodes)-1)]
			}
			go forward(conn, c.nodes[to].SQL)
		}
	}()
	return h
}

func listenLocal(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}
