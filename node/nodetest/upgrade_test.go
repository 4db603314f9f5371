package nodetest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/cluster/transport"
	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/node"
)

var (
	firstRelease = transport.Version{Release: "0.1.0", From: 1, To: 1}
	nextRelease  = transport.Version{Release: "0.2.0", From: 1, To: 2}
	laterRelease = transport.Version{Release: "0.9.0", From: 7, To: 8}
)

// TestUpgrade upgrades a cluster node by node. When all nodes run the new release, the upgrade
// becomes final by itself. After that the old release is refused; a release that is too new is
// refused from the beginning.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	c := Start(t, 2, func(_ uint32, cfg *node.Config) {
		cfg.Fragments, cfg.Replication, cfg.Knobs.Version, cfg.Knobs.UpgradeLook = 1, 1, firstRelease, 20*time.Millisecond
	})
	exec(t, c, 1, "CREATE TABLE t (id int PRIMARY KEY)")
	exec(t, c, 1, "ALTER SYSTEM SET sherd.auto_finalize_upgrade = off")
	refused := func(n *Node, v transport.Version, says string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), Timeout)
		defer cancel()
		was := n.Config.Knobs.Version
		n.Config.Knobs.Version = v
		defer func() { n.Config.Knobs.Version = was }()
		if err := n.Start(ctx); err == nil || !strings.Contains(err.Error(), says) {
			t.Fatalf("%v, not %q", err, says)
		}
	}
	format := func() uint32 { return c.Node(1).Catalog().View().Cluster().Format }
	c.Node(2).Stop()
	refused(c.Node(2), laterRelease, "upgrade the nodes of the cluster first and call sherd.finalize_upgrade()")
	for _, n := range c.Nodes() {
		n.Stop()
		n.Config.Knobs.Version = nextRelease
		n.Restart()
		exec(t, c, 1, "INSERT INTO t SELECT count(*) FROM t")
	}
	const newer = "CREATE TABLE r (id int PRIMARY KEY) WITH (shard_by = 'range')"
	if _, err := c.Node(2).Connect(t).Exec(t.Context(), newer); err == nil || !strings.Contains(err.Error(), "SQLSTATE 55000") {
		t.Fatalf("a range table before the upgrade is final: %v", err)
	}
	c.Node(2).Stop() // until then the old release can be started again
	n := c.Node(2)
	n.Config.Knobs.Version = firstRelease
	n.Restart()
	exec(t, c, 2, "INSERT INTO t SELECT count(*) FROM t")
	var off string
	if err := c.Node(2).Connect(t).QueryRow(t.Context(), "SHOW sherd.auto_finalize_upgrade").Scan(&off); err != nil || off != "off" {
		t.Fatal(off, err)
	}
	exec(t, c, 2, "ALTER SYSTEM RESET sherd.auto_finalize_upgrade")
	if format() != 1 {
		t.Fatal("the upgrade is final")
	}
	n.Stop()
	n.Config.Knobs.Version = nextRelease
	n.Restart()
	eventually.Holds(t, "the upgrade is final", func() bool { return format() == 2 })
	n.Stop()
	refused(n, firstRelease, "start the newer release here")
	n.Restart()
	exec(t, c, 2, "INSERT INTO t SELECT count(*) FROM t")
	exec(t, c, 2, newer)
}

// TestPredefinedRolesOfUpgrade: a cluster of a release without the role sherd_admin gets it.
func TestPredefinedRolesOfUpgrade(t *testing.T) {
	t.Parallel()
	c := Start(t, 1, func(_ uint32, cfg *node.Config) {
		cfg.Fragments, cfg.Replication, cfg.Knobs.UpgradeLook = 1, 1, 20*time.Millisecond
	})
	n := c.Node(1)
	older := func(v *catalog.View, ch *catalog.Change) error { ch.DropRole(catalog.AdminRole); return nil }
	if _, err := n.Catalog().Update(t.Context(), older); err != nil {
		t.Fatal(err)
	}
	eventually.Holds(t, "the role is there", func() bool { return n.Catalog().View().Role(catalog.AdminRole) != nil })
}
