package integration

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/internal/faultnet"
)

// TestUpgradeOfPrograms upgrades a cluster with two programs, node by node: the newer one joins the older cluster; the upgrade cannot be made final while a node
// runs the older one, nor what it brings be used, and is then; after which the older one is refused, whether it has data or is to join.
func TestUpgradeOfPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("links another program")
	}
	older, err := BuildRelease(t.TempDir(), "0.0.9:1-1")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	u := &upgrade{t: t, dir: dir, addrs: map[int]string{}, nodes: map[int]*Process{}}
	u.start(older, 1)
	Exec(t, Connect(t, u.nodes[1].URL), "ALTER SYSTEM SET sherd.auto_finalize_upgrade = off")
	Exec(t, Connect(t, u.nodes[1].URL), "CREATE TABLE t (id int PRIMARY KEY)")
	u.start(older, 2)
	u.start(binary, 3) // the newer joins the older
	u.write(3)
	const newer = "CREATE TABLE r (id int PRIMARY KEY) WITH (shard_by = 'range')"
	for _, n := range []int{2, 1} {
		conn := Connect(t, u.nodes[3].URL)
		_, err := conn.Exec(t.Context(), "SELECT sherd.finalize_upgrade()")
		var pg *pgconn.PgError
		if !errors.As(err, &pg) || pg.Code != "55000" || !strings.Contains(pg.Message, "knows version 1 only") || !strings.Contains(pg.Detail, "Sherd 0.0.9") {
			t.Fatalf("an upgrade that is not at its end is final: %v", err)
		}
		if _, err := conn.Exec(t.Context(), newer); !errors.As(err, &pg) || pg.Code != "55000" || !strings.Contains(pg.Detail, "Sherd 0.0.9, which knows version 1 only") {
			t.Fatalf("a range table while a node does not know them: %v", err)
		}
		u.stop(n)
		u.start(binary, n)
		u.write(3)
	}
	Exec(t, Connect(t, u.nodes[1].URL), "SELECT sherd.finalize_upgrade()")
	Exec(t, Connect(t, u.nodes[2].URL), newer)
	u.stop(2)
	u.refused(older, 2, "the cluster is at version 2, and this release, Sherd 0.0.9, knows versions up to 1: start the newer release here")
	u.refused(older, 4, "Sherd 0.0.9")
	u.start(binary, 2)
	u.write(2)
}

// upgrade is a cluster of which each node is started with this program or that.
type upgrade struct {
	t     *testing.T
	dir   string
	addrs map[int]string // of the nodes' ports
	nodes map[int]*Process
	rows  int
}

func (u *upgrade) command(program string, n int) Command {
	u.t.Helper()
	if u.addrs[n] == "" {
		addr, err := faultnet.FreeAddr() // a node that comes back is looked for where it was
		if err != nil {
			u.t.Fatal(err)
		}
		u.addrs[n] = addr
	}
	flags := []string{"--node-addr", u.addrs[n], "--fragments", "1", "--replication-factor", "3"}
	if n > 1 && u.nodes[n] == nil {
		flags = append(flags, "--join", u.addrs[1], "--token", u.token())
	}
	return Command{Binary: program, Data: filepath.Join(u.dir, fmt.Sprint(n)), SQLAddr: "127.0.0.1:0", Flags: flags}
}

func (u *upgrade) token() string {
	out, messages, code := sherd(u.t, "node", "token", "--url", u.nodes[1].URL)
	for _, word := range strings.Fields(out) {
		if strings.HasPrefix(word, "sherd-join-") {
			return word
		}
	}
	u.t.Fatalf("no token: %s%s, exit code %d", out, messages, code)
	return ""
}

func (u *upgrade) start(program string, n int) {
	u.t.Helper()
	p, err := StartCommand(u.command(program, n))
	if err != nil {
		u.t.Fatal(err)
	}
	u.t.Cleanup(p.Kill)
	u.nodes[n] = p
}

func (u *upgrade) stop(n int) {
	u.t.Helper()
	if code, _, err := u.nodes[n].Terminate(); code != 0 || err != nil {
		u.t.Fatal(code, err, u.nodes[n].Log())
	}
}

// refused starts a node that must not come up, and looks what it says.
func (u *upgrade) refused(program string, n int, says string) {
	u.t.Helper()
	p, out, err := LaunchCommand(u.command(program, n))
	if err != nil {
		u.t.Fatal(err)
	}
	defer p.Kill()
	if err := p.WaitReady(out); err == nil || !strings.Contains(p.Log(), says) {
		u.t.Fatalf("node %d: %v, it says\n%s", n, err, p.Log())
	}
}

// write writes a row through a node, and reads all that were written.
func (u *upgrade) write(n int) {
	u.t.Helper()
	conn := Connect(u.t, u.nodes[n].URL)
	u.rows++
	eventually.Succeeds(u.t, "a row is written", func() error {
		_, err := conn.Exec(u.t.Context(), "INSERT INTO t VALUES ($1) ON CONFLICT DO NOTHING", u.rows)
		return err
	})
	if got := One[int](u.t, conn, "SELECT count(*)::int FROM t"); got != u.rows {
		u.t.Fatalf("%d rows of %d", got, u.rows)
	}
}
