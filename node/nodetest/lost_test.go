package nodetest

import (
	"errors"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/node"
)

// atHome returns a name for a prepared transaction whose coordinator is the given one of two
// fragments.
func atHome(ordinal uint64) string {
	for i := 0; ; i++ {
		name := "p" + strconv.Itoa(i)
		sum := fnv.New64a()
		sum.Write([]byte(name))
		if sum.Sum64()%2 == ordinal {
			return name
		}
	}
}

// TestDropDatabaseWithLostFragment: a database with a permanently lost fragment can be dropped by
// force once its node has been silent for long enough and no transaction is prepared in the other
// fragments. Then the node can be drained and removed.
func TestDropDatabaseWithLostFragment(t *testing.T) {
	t.Parallel()
	c := Start(t, 3, func(_ uint32, cfg *node.Config) { cfg.Fragments, cfg.Replication = 1, 1 })
	exec(t, c, 1, "CREATE DATABASE q2 WITH FRAGMENTS=2 REPLICATION_FACTOR=1")
	exec(t, c, 1, `SELECT sherd.set_replication_factor('postgres', 1, 'postgres$0', nodes => '{n1}')`)
	exec(t, c, 1, `SELECT sherd.set_replication_factor('q2', 1, 'q2$0', nodes => '{n1}'), sherd.set_replication_factor('q2', 1, 'q2$1', nodes => '{n3}')`)
	on := func(ordinal int) []uint32 {
		f := c.Node(1).Catalog().View().DatabaseByName("q2").Fragments[ordinal]
		return slices.Concat(f.Nodes, f.Leaving)
	}
	eventually.Holds(t, "its fragments are on nodes 1 and 3", func() bool { return slices.Equal(on(0), []uint32{1}) && slices.Equal(on(1), []uint32{3}) })
	q2 := strings.TrimSuffix(c.Node(1).URL(), "postgres") + "q2"
	held, gone := atHome(0), atHome(1)
	for _, x := range []string{
		"CREATE TABLE t (id text PRIMARY KEY, doc jsonb)", "BEGIN; INSERT INTO t VALUES ('a$@1', '1'); PREPARE TRANSACTION '" + held + "'",
		"BEGIN; CREATE TABLE u (id int); INSERT INTO t VALUES ('b$@1', '1'), ('c$@1048575', '1'); PREPARE TRANSACTION '" + gone + "'",
	} {
		eventually.Holds(t, x, func() bool { return try(q2, x) == nil })
	}
	c.Node(3).Stop()
	eventually.Holds(t, "node 3 is silent", func() bool { return count(t, c, 1, "sherd.nodes WHERE name = 'n3' AND NOT alive") == 1 })

	wantTransactions(t, q2, held)
	refusesDrop(t, c, "", "55006", "1 prepared transaction")
	eventually.Holds(t, "what is prepared in the other fragment ends", func() bool { return try(q2, "ROLLBACK PREPARED '"+held+"'") == nil })
	refusesDrop(t, c, "", "57P03", "Start the nodes that are missing. If their data is lost for good, DROP DATABASE q2 WITH (FORCE)")
	refusesDrop(t, c, " WITH (FORCE)", "57P03", "silent for sherd.dead_node_after")
	exec(t, c, 1, "ALTER SYSTEM SET sherd.dead_node_after = 1")
	exec(t, c, 1, "DROP DATABASE q2 WITH (FORCE)")
	eventually.Holds(t, "no lock is left", func() bool {
		return count(t, c, 1, "pg_locks WHERE database NOT IN (SELECT oid FROM pg_database)") == 0
	})
	exec(t, c, 1, "SELECT sherd.drain_node('n3')")
	var refused error
	t.Cleanup(func() {
		if t.Failed() {
			t.Log("the last answer:", refused)
		}
	})
	eventually.Holds(t, "node 3 is removed", func() bool {
		refused = try(c.Node(1).URL(), "SELECT sherd.remove_node('n3')")
		return refused == nil
	})
}

// refusesDrop tries to drop q2, and expects an error that names the obstacle.
func refusesDrop(t *testing.T, c *Cluster, with, code, says string) {
	t.Helper()
	err := try(c.Node(1).URL(), "DROP DATABASE q2"+with)
	var e *pgconn.PgError
	if !errors.As(err, &e) || e.Code != code || !strings.Contains(e.Detail+e.Hint, says) {
		t.Fatalf("%+v", err)
	}
	if code == "57P03" && (!strings.Contains(e.Message, "q2$1") || e.Detail != "Its replicas are on n3; no answer from n3.") {
		t.Errorf("%s: %s", e.Message, e.Detail)
	}
}

// wantTransactions checks sherd.txns in a database whose second fragment does not answer.
func wantTransactions(t *testing.T, url, gid string) {
	t.Helper()
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	var warning string
	cfg.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { warning += n.Message + "\n" }
	conn, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	got, err := rows(t.Context(), conn, "SELECT gid FROM sherd.txns WHERE state = 'prepared'")
	if err != nil || !slices.Equal(got, []string{gid}) || !strings.Contains(warning, "fragment q2$1 does not answer") {
		t.Errorf("%v, %v, %s", got, err, warning)
	}
}
