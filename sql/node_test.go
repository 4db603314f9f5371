package sql_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/clusterversion"
	"github.com/sherddb/sherd/sql"
	"github.com/sherddb/sherd/sql/session"
)

// TestAdministrateNodes: which roles may change the list of nodes, and how.
func TestAdministrateNodes(t *testing.T) {
	w := newWorld(t)
	w.cfg.JoinToken = func(_ context.Context, life time.Duration, node uint32) (string, error) {
		return fmt.Sprintf("sherd-join-x for %s, node %d", life, node), nil
	}
	w.server = sql.NewServer(w.cfg)
	a := w.connect(t)
	a.want("CREATE ROLE node_bob LOGIN", "CREATE ROLE")
	bob := w.connectAs(t, "node_bob", session.Handle{})
	for _, call := range []string{"join_token('1 hour')", "drain_node('n1')", "resume_node('n1')",
		"remove_node('n1')", "finalize_upgrade()"} {
		name, _, _ := strings.Cut(call, "(")
		bob.want("SELECT sherd."+call, "permission denied for function "+name+" (SQLSTATE 42501)")
	}
	a.want("SELECT sherd.join_token('90 minutes')", "sherd-join-x for 1h30m0s, node 0\nSELECT 1")
	a.want("SELECT sherd.join_token('1 day', 'n1')", "sherd-join-x for 24h0m0s, node 1\nSELECT 1")
	a.want("SELECT sherd.join_token('1 day', 'n9')", "node \"n9\" does not exist (SQLSTATE 42704)")
	a.want("SELECT sherd.join_token('-1 day')", "a join token must hold for some time (SQLSTATE 22023)")
	a.want("SELECT sherd.drain_node('n1')",
		"node \"n1\" cannot be drained: no other node can hold its fragments (SQLSTATE 55000)")
	a.want("SELECT sherd.remove_node('n1')",
		"node \"n1\" cannot be removed because it holds fragments (SQLSTATE 2BP01): It holds a replica of fragment "+
			"postgres$0.")

	id, err := w.cfg.Catalog.NewNodeID(t.Context())
	must(t, err)
	_, err = w.cfg.Catalog.Update(t.Context(), func(_ *catalog.View, ch *catalog.Change) error {
		return ch.PutNode(&catalog.Node{ID: id, Name: "n2", Block: "B"})
	})
	must(t, err)
	state := "SELECT name, state FROM sherd.nodes ORDER BY id"
	a.want("SELECT sherd.drain_node('n2')", "\nSELECT 1")
	a.want(state, "n1|active\nn2|draining\nSELECT 2")
	a.want("SELECT sherd.drain_node('n2')", "\nSELECT 1")
	a.want("SELECT sherd.drain_node('n1')",
		"node \"n1\" cannot be drained: no other node can hold its fragments (SQLSTATE 55000)")
	a.want("SELECT sherd.resume_node('n2')", "\nSELECT 1")
	a.want(state, "n1|active\nn2|active\nSELECT 2")
	a.want("SELECT sherd.remove_node('n2')", "\nSELECT 1")
	a.want(state, "n1|active\nSELECT 1")
	a.want("SELECT sherd.remove_node('n2')", "node \"n2\" does not exist (SQLSTATE 42704)")
}

// TestReplicationFactor: the factor of a database and of a fragment, and the nodes that may have
// its replicas.
func TestReplicationFactor(t *testing.T) {
	w := newWorld(t)
	a := w.connect(t)
	a.want("CREATE ROLE factor_bob LOGIN", "CREATE ROLE")
	w.connectAs(t, "factor_bob", session.Handle{}).want("SELECT sherd.set_replication_factor('postgres', 1)",
		"permission denied for function set_replication_factor (SQLSTATE 42501)")
	state := "SELECT fragment, replication_factor, placed_on FROM sherd.fragments WHERE ordinal < 2 ORDER BY ordinal"
	a.want("SELECT sherd.set_replication_factor('postgres', 2)", "\nSELECT 1")
	a.want(state, "postgres$0|2|{}\npostgres$1|2|{}\nSELECT 2")
	a.want("SELECT sherd.set_replication_factor('postgres', 1, 'postgres$1', nodes => '{n1}')", "\nSELECT 1")
	a.want(state, "postgres$0|2|{}\npostgres$1|1|{n1}\nSELECT 2")
	a.want("SELECT sherd.set_replication_factor('postgres', 3, 'postgres$0')", "\nSELECT 1")
	a.want("SELECT sherd.set_replication_factor('postgres', 0, 'postgres$1')", "\nSELECT 1")
	a.want(state, "postgres$0|3|{}\npostgres$1|2|{}\nSELECT 2")
	a.want("SELECT sherd.set_replication_factor('postgres', 0)", "a fragment cannot have 0 replicas (SQLSTATE 22023)")
	a.want("SELECT sherd.set_replication_factor('postgres', 16, 'postgres$0')",
		"a fragment cannot have 16 replicas (SQLSTATE 22023)")
	a.want("SELECT sherd.set_replication_factor('postgres', 2, 'postgres$0', '{n1}')",
		"2 replicas cannot be on 1 nodes (SQLSTATE 22023)")
	a.want("SELECT sherd.set_replication_factor('postgres', 1, 'postgres$0', '{n9}')",
		"node \"n9\" does not exist (SQLSTATE 42704)")
	a.want("SELECT sherd.set_replication_factor('postgres', 1, 'postgres$9')",
		"fragment \"postgres$9\" of database \"postgres\" does not exist (SQLSTATE 42704)")
	a.want("SELECT sherd.set_replication_factor('nowhere', 1)", "database \"nowhere\" does not exist (SQLSTATE 3D000)")
}

// TestFinalizeUpgrade: the cluster's version rises when all nodes know it, and never falls (V4).
func TestFinalizeUpgrade(t *testing.T) {
	w := newWorldAt(t, 3, clusterversion.First)
	at := func() uint32 { return w.cfg.Catalog.View().Cluster().Format }
	a := w.connect(t)
	a.want("SELECT sherd.finalize_upgrade()", "\nSELECT 1")
	if at() != 1 {
		t.Fatalf("version %d", at())
	}
	w.cfg.Speaks = 2
	w.server = sql.NewServer(w.cfg)
	a = w.connect(t)
	runs := func(name, release string, speaks uint32) {
		t.Helper()
		_, err := w.cfg.Catalog.Update(t.Context(), func(v *catalog.View, ch *catalog.Change) error {
			n := v.NodeByName(name).Clone()
			n.Release, n.Speaks = release, speaks
			return ch.PutNode(n)
		})
		must(t, err)
	}
	a.want("SELECT sherd.finalize_upgrade()",
		"the upgrade to version 2 cannot be finalized: node \"n1\" knows version 1 only (SQLSTATE 55000): It last "+
			"started with an unknown release.")
	runs("n1", "0.2.0", 2)
	id, err := w.cfg.Catalog.NewNodeID(t.Context())
	must(t, err)
	_, err = w.cfg.Catalog.Update(t.Context(), func(_ *catalog.View, ch *catalog.Change) error {
		return ch.PutNode(&catalog.Node{ID: id, Name: "n2", Block: "B", Release: "0.1.0", Speaks: 1})
	})
	must(t, err)
	a.want("SELECT sherd.finalize_upgrade()",
		"the upgrade to version 2 cannot be finalized: node \"n2\" knows version 1 only (SQLSTATE 55000): It last "+
			"started with Sherd 0.1.0.")
	runs("n2", "0.2.0", 2)
	a.want("SELECT sherd.finalize_upgrade()", "\nSELECT 1")
	if at() != 2 {
		t.Fatalf("version %d", at())
	}
	w.cfg.Speaks = 1
	w.server = sql.NewServer(w.cfg)
	w.connect(t).want("SELECT sherd.finalize_upgrade()", "\nSELECT 1")
	if at() != 2 {
		t.Fatal("the version fell")
	}
}

// does runs a statement that must not fail.
func (c *client) does(text string) {
	c.t.Helper()
	if got := c.answer(text); strings.Contains(got, "SQLSTATE") {
		c.t.Fatalf("%s\n%s", text, got)
	}
}

// TestBeforeTheUpgradeIsFinal: features of a new version are refused until all nodes know it, and
// the error says so (V4).
func TestBeforeTheUpgradeIsFinal(t *testing.T) {
	w := newWorldAt(t, 2, clusterversion.First)
	w.cfg.Speaks = clusterversion.Newest
	w.server = sql.NewServer(w.cfg)
	a := w.connect(t)
	a.does("CREATE TABLE plain (id text PRIMARY KEY, doc jsonb NOT NULL)")
	a.does("CREATE TABLE numbers (id int PRIMARY KEY, n int)")
	a.does("INSERT INTO plain SELECT 'plain/' || i, jsonb_build_object('Customer', i) FROM generate_series(1, 20) i")
	a.does("ALTER TABLE plain SET (shard_by = 'Customer')")
	a.does("CREATE TABLE other (id text PRIMARY KEY, doc jsonb NOT NULL) WITH (shard_by = 'Customer')")
	a.does("CREATE TABLE counted AS SELECT 1 AS id, 1 AS n; ALTER TABLE counted ADD PRIMARY KEY (id)")
	a.does("INSERT INTO numbers VALUES (1, 1)")
	later := []struct{ text, what string }{
		{"CREATE TABLE r (id int PRIMARY KEY) WITH (shard_by = 'range')", "range tables and key ranges"},
		{"ALTER TABLE numbers SET (shard_by = 'range')", "range tables and key ranges"},
		{
			"CREATE TABLE c (id text PRIMARY KEY, doc jsonb NOT NULL) WITH (counters = 'v')",
			"counters and split documents",
		},
		{"ALTER TABLE plain SET (counters = 'Likes')", "counters and split documents"},
		{"SELECT sherd.hot_split('counted', '1', 2, '{n}')", "counters and split documents"},
		{"SELECT sherd.replace_placement('plain')", "former ids and the jobs that make them"},
		{"SELECT sherd.start_validation('other')", "validation of policies in the background"},
		{"SELECT sherd.set_database_labels('postgres', 'zone!=b')", "rules of labels"},
		{"SELECT sherd.set_fragment_labels('postgres$0', 'zone!=b')", "rules of labels"},
		{"SELECT sherd.pin_anchors('plain', '{plain/1}', 'postgres$0')", "pins of anchors"},
	}
	runs := func(release string, speaks uint32) {
		t.Helper()
		_, err := w.cfg.Catalog.Update(t.Context(), func(v *catalog.View, ch *catalog.Change) error {
			n := v.NodeByName("n1").Clone()
			n.Release, n.Speaks = release, speaks
			return ch.PutNode(n)
		})
		must(t, err)
	}
	for _, is := range []struct {
		release string
		speaks  uint32
		detail  string
	}{
		{
			"0.1.0", 1,
			`The cluster is at version 1. Node "n1" last started with Sherd 0.1.0, which knows version 1 only.`,
		},
		{"0.2.0", clusterversion.Newest, "The cluster is at version 1. All nodes run the new release."},
	} {
		runs(is.release, is.speaks)
		for _, l := range later {
			a.want(l.text,
				l.what+" cannot be used before the upgrade to version 2 of the cluster is final (SQLSTATE "+
					"55000): "+is.detail)
		}
	}
	a.want("SELECT count(*), sum(n) FROM plain, numbers", "20|20\nSELECT 1")
	a.does("SELECT sherd.finalize_upgrade()")
	for _, l := range later {
		a.does(l.text)
	}
}
