package fault

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sherddb/sherd/integration"
	"github.com/sherddb/sherd/integration/workload"
	"github.com/sherddb/sherd/internal/eventually"
)

const (
	diskSize = 900 << 20
	mib      = 1 << 20
)

// disk is a small file system of its own for a node's data, in memory.
type disk struct {
	t   *testing.T
	dir string
}

func newDisk(t *testing.T, dir string) disk {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=700", diskSize)); err != nil {
		t.Skipf("a file system of its own for each node wants root: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return disk{t, dir}
}

func (d disk) free() int64 {
	var st syscall.Statfs_t
	if err := syscall.Statfs(d.dir, &st); err != nil {
		d.t.Fatal(err)
	}
	return int64(st.Bavail) * int64(st.Bsize)
}

// leave fills the disk so that about so much is left, in small steps: one that does not fit would take all that is left for a
// moment.
func (d disk) leave(left int64) {
	d.t.Helper()
	f, err := os.OpenFile(filepath.Join(d.dir, "ballast"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		d.t.Fatal(err)
	}
	size, tries := st.Size(), 0
	for n := d.free() - left; n > 0; n = d.free() - left {
		n = min(n, 8*mib)
		switch err := syscall.Fallocate(int(f.Fd()), 0, size, n); {
		case err == nil:
			size += n
		case err != syscall.ENOSPC || tries == 100: // the node writes too
			d.t.Fatal(err)
		default:
			tries++
		}
	}
}

func (d disk) clear() {
	if err := os.Remove(filepath.Join(d.dir, "ballast")); err != nil {
		d.t.Fatal(err)
	}
}

// TestFullDisk fills the disks of the nodes, one and all. Writes are refused with 53100, reads, DELETE and DROP go on, and with room writes do by themselves.
// Then a disk has no room at all: the others go on, and the node comes back with all it had.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	var disks []disk
	for n := 1; n <= 3; n++ {
		disks = append(disks, newDisk(t, filepath.Join(dir, fmt.Sprintf("n%d", n))))
	}
	c := startCluster(t, dir, Loopback{})
	conn := integration.Connect(t, c.nodes[0].URL())
	integration.Exec(t, conn, "CREATE TABLE docs (id int PRIMARY KEY, body text NOT NULL)")
	integration.Exec(t, conn, "CREATE TABLE old AS SELECT g AS id FROM generate_series(1, 100) g")
	write := "INSERT INTO docs SELECT g, repeat('x', 100) FROM generate_series($1::int, $1::int + 99) g"
	integration.Exec(t, conn, write, 0)

	for _, full := range [][]disk{disks[1:2], disks} { // one disk, then all
		for _, d := range full {
			d.leave(190 * mib) // too little to write, enough to delete
		}
		eventually.Within(t, recovery, "writes are refused", func() bool {
			_, err := conn.Exec(t.Context(), write, 1000)
			if err == nil {
				integration.Exec(t, conn, "DELETE FROM docs WHERE id >= 1000")
				return false
			}
			if workload.SQLState(err) != "53100" {
				t.Errorf("a write on a full disk: %s", describe(err))
			}
			t.Log(describe(err))
			return true
		})
		if n := integration.One[int](t, conn, "SELECT count(*) FROM docs WHERE id < 1000"); n != 100 {
			t.Errorf("%d rows", n)
		}
		if tag, err := conn.Exec(t.Context(), "DELETE FROM docs WHERE id = 7"); err != nil || tag.RowsAffected() != 1 {
			t.Errorf("DELETE on a full disk: %v, %v", tag, err)
		}
		if len(full) == len(disks) {
			integration.Exec(t, conn, "DROP TABLE old")
		}
		for _, d := range full {
			d.clear()
		}
		eventually.Within(t, recovery, "there is room again", func() bool {
			_, err := conn.Exec(t.Context(), write, 1000) // in all fragments
			return err == nil
		})
		integration.Exec(t, conn, "DELETE FROM docs WHERE id >= 1000")
		integration.Exec(t, conn, "INSERT INTO docs VALUES (7, 'again')")
	}

	run := &workload.Run{
		URL: c.AnyURL, Errorf: t.Errorf, Seed: 1, Timeout: 2 * stuckAfter, StuckAfter: stuckAfter, Stuck: func(what string) { stuck(t, c, what) },
	}
	if err := run.SetUp(t.Context(), integration.Connect(t, c.nodes[2].URL())); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	wait := run.Start(ctx)
	disks[1].leave(0)
	time.Sleep(5 * time.Second)
	disks[1].clear()
	if n := c.nodes[1]; n.process.Exited() {
		t.Log("the node without any room has ended")
		if err := c.Start(n); err != nil {
			t.Fatal(err)
		}
	}
	waitWhole(t, c)
	cancel()
	wait()
	conn, err := pgx.Connect(t.Context(), c.AnyURL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	report, wrong, err := run.Verify(t.Context(), conn)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range wrong {
		t.Error(w)
	}
	t.Log(report)
	if n := integration.One[int](t, conn, "SELECT count(*) FROM docs"); n != 100 {
		t.Errorf("%d rows in the end", n)
	}
}

// TestMovesFromFullDisk fills the disk of one node of three further and further, while clients write to all fragments. The node
// never ends by itself. DELETE and DROP go on, and all its replicas move to a node that is added, as docs/operations.md says.
// Nothing that was acknowledged is lost.
func TestMovesFromFullDisk(t *testing.T) {
	if soakLength(t, "SHERD_SOAK") == 0 {
		t.Skip("part of make soak")
	}
	dir := t.TempDir()
	d := newDisk(t, filepath.Join(dir, "n2"))
	c := startCluster(t, dir, Loopback{})
	full := c.nodes[1]
	conn := integration.Connect(t, c.nodes[0].URL())
	integration.Exec(t, conn, "CREATE TABLE docs (id int PRIMARY KEY, body text NOT NULL)")
	integration.Exec(t, conn, "CREATE TABLE old AS SELECT g AS id, repeat('o', 1000) AS body FROM generate_series(1, 2000) g")
	integration.Exec(t, conn, "INSERT INTO docs SELECT -g, repeat('x', 1000) FROM generate_series(1, 2000) g")
	w := startWriter(t, c)

	d.leave(190 * mib)
	eventually.Within(t, recovery, "writes to the full node are refused", func() bool { return w.refused.Load() > 0 })
	if tag, err := conn.Exec(t.Context(), "DELETE FROM docs WHERE id = -7"); err != nil || tag.RowsAffected() != 1 {
		t.Errorf("DELETE on a full disk: %v, %v", tag, err)
	}
	d.leave(100 * mib) // its followers write no new rows any more, and the leaders on other nodes do
	w.goesOn(1000)
	if free := d.free(); free < 24*mib { // the Raft log goes on to 32
		t.Errorf("%d MB are left of 100", free/mib)
	}
	integration.Exec(t, conn, "DROP TABLE old")
	there := integration.Connect(t, full.URL())
	if n := integration.One[int](t, there, "SELECT count(*) FROM docs WHERE id < 0"); n != 1999 {
		t.Errorf("%d rows are read through the node with a full disk", n)
	}

	d.leave(20 * mib)            // another program takes nearly all
	time.Sleep(10 * time.Second) // what the node does by itself must not end it
	if full.process.Exited() {
		t.Fatal("the node has ended")
	}
	if free := d.free(); free < 8*mib {
		t.Errorf("%d MB are left of 20", free/mib)
	}
	d.clear()
	w.goesOn(100)
	d.leave(100 * mib)

	if _, err := c.Add(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), recovery)
	defer cancel()
	if err := waitFor(ctx, c.nodes[0], "SELECT count(*) FROM sherd.drain_node('n2')", 1); err != nil {
		t.Fatal(err)
	}
	if err := waitFor(ctx, c.nodes[0], "SELECT replicas FROM sherd.nodes WHERE name = 'n2'", 0); err != nil {
		t.Fatalf("replicas do not leave the node with a full disk: %v", err)
	}
	if full.process.Exited() {
		t.Error("the node has ended")
	}
	eventually.Within(t, recovery, "the node's disk has room again", func() bool { return d.free() > 100*mib })
	w.goesOn(100)
	w.end()
	if failed, err := workload.FailedChecks(t.Context(), conn); err != nil || len(failed) > 0 {
		t.Error(failed, err)
	}
	t.Logf("%d rows, %d refused, %d MB free in the end", w.written.Load(), w.refused.Load(), d.free()/mib)
}

// writer writes rows of its own, one after another, to all fragments.
type writer struct {
	t                *testing.T
	c                *Cluster
	written, refused atomic.Int64
	ids              []int // of rows that were acknowledged
	cancel           func()
	done             chan struct{}
}

func startWriter(t *testing.T, c *Cluster) *writer {
	ctx, cancel := context.WithCancel(t.Context())
	w := &writer{t: t, c: c, cancel: cancel, done: make(chan struct{})}
	go w.run(ctx)
	return w
}

func (w *writer) run(ctx context.Context) {
	defer close(w.done)
	var conn *pgx.Conn
	for id := 1; ctx.Err() == nil; id++ {
		var err error
		if conn == nil || conn.IsClosed() {
			if conn, err = pgx.Connect(ctx, w.c.nodes[0].URL()); err != nil {
				continue
			}
		}
		_, err = conn.Exec(ctx, "SET statement_timeout = '1s'")
		if err == nil {
			_, err = conn.Exec(ctx, "INSERT INTO docs VALUES ($1, repeat('y', 20000))", id)
		}
		switch {
		case err == nil:
			w.ids = append(w.ids, id)
			w.written.Add(1)
		case workload.SQLState(err) == "53100":
			w.refused.Add(1)
		}
	}
	if conn != nil {
		conn.Close(context.Background())
	}
}

// goesOn waits for so many rows more.
func (w *writer) goesOn(rows int64) {
	w.t.Helper()
	before := w.written.Load()
	eventually.Within(w.t, recovery, fmt.Sprintf("%d rows more", rows), func() bool { return w.written.Load() >= before+rows })
}

// end ends the writer and looks for its rows.
func (w *writer) end() {
	w.t.Helper()
	w.cancel()
	<-w.done
	conn := integration.Connect(w.t, w.c.nodes[0].URL())
	if n := integration.One[int](w.t, conn, "SELECT count(*) FROM docs WHERE id = ANY($1)", w.ids); n != len(w.ids) {
		w.t.Errorf("%d rows of %d that were acknowledged", n, len(w.ids))
	}
}

// TestFullDiskWhileReplacing fills the disks while documents get other ids: the job says what it waits for, and with room it goes on by itself.
func TestFullDiskWhileReplacing(t *testing.T) {
	if soakLength(t, "SHERD_RESHARDING") == 0 {
		t.Skip("part of make resharding")
	}
	const documents = 400
	dir := t.TempDir()
	var disks []disk
	for n := 1; n <= 3; n++ {
		disks = append(disks, newDisk(t, filepath.Join(dir, fmt.Sprintf("n%d", n))))
	}
	c := startCluster(t, dir, Loopback{})
	conn := integration.Connect(t, c.nodes[0].URL())
	integration.Exec(t, conn, "CREATE TABLE orders (id text PRIMARY KEY, doc jsonb NOT NULL) WITH (shard_by = 'A')")
	integration.Exec(t, conn, fmt.Sprintf("INSERT INTO orders SELECT 'orders/' || g || '$', jsonb_build_object('N', g, 'A', 'a' || g %% 5, 'B', 'b' || g) FROM generate_series(1, %d) g", documents))
	integration.Exec(t, conn, "CREATE TABLE former AS SELECT id, (doc->>'N')::int AS n FROM orders")
	integration.Exec(t, conn, "ALTER SYSTEM SET sherd.replace_rate = 80") // five seconds
	integration.Exec(t, conn, "ALTER TABLE orders SET (shard_by = 'B')")
	id := integration.One[int64](t, conn, "SELECT sherd.replace_placement('orders')")
	for _, d := range disks {
		d.leave(190 * mib)
	}
	job := func() (state, why string) {
		if err := conn.QueryRow(t.Context(), "SELECT state, coalesce(error, '') FROM sherd.jobs WHERE id = $1", id).Scan(&state, &why); err != nil {
			t.Fatal(err)
		}
		return state, why
	}
	eventually.Within(t, recovery, "the job says what it waits for", func() bool {
		state, why := job()
		if state != "running" {
			t.Fatalf("on a full disk the job is %s: %s", state, why)
		}
		return strings.Contains(why, "no space left on device")
	})
	for _, d := range disks {
		d.clear()
	}
	eventually.Within(t, recovery, "the job is done", func() bool {
		state, why := job()
		return state == "done" && why == ""
	})
	integration.Exec(t, conn, "ALTER TABLE orders VALIDATE CONSTRAINT sharding")
	if n := integration.One[int](t, conn, "SELECT count(*) FROM former f JOIN orders o ON o.id = f.id WHERE (doc->>'N')::int = n"); n != documents {
		t.Errorf("%d documents are found by their former ids", n)
	}
	failed, err := workload.FailedChecks(t.Context(), conn)
	if err != nil || len(failed) > 0 {
		t.Error(failed, err)
	}
}
