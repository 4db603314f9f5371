package nodetest

import (
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/node"
)

// TestPartialAnswers: the only node with a replica of a fragment is stopped. A session that allows
// partial answers gets the rows of the other fragments at once, with a warning that names the
// fragment and the node. When the node is back, it gets all rows.
func TestPartialAnswers(t *testing.T) {
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
	cfg, err := pgx.ParseConfig(strings.TrimSuffix(c.Node(1).URL(), "postgres") + "q2")
	if err != nil {
		t.Fatal(err)
	}
	var warnings []*pgconn.Notice
	cfg.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { warnings = append(warnings, n) }
	conn, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	r := reader{t, conn}
	for _, text := range []string{"CREATE TABLE acc (id int PRIMARY KEY)", "INSERT INTO acc SELECT generate_series(1, 500)", "SET sherd.allow_partial = on"} {
		eventually.Holds(t, text, func() bool { _, err := rows(t.Context(), conn, text); return err == nil })
	}
	const all = "SELECT count(*) FROM acc"
	r.want("500", all)
	there, err := rows(t.Context(), conn, "SELECT count(*) FROM acc WHERE sherd.fragment('acc', id) = 'q2$0'")
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	c.Node(3).Stop()
	for range 2 { // both if the node is known to be silent and if it is not
		warnings = nil
		r.want(there[0], all)
		if len(warnings) != 1 || warnings[0].Severity != "WARNING" || warnings[0].Code != "01000" ||
			warnings[0].Message != "fragment q2$1 does not answer: its rows are missing" || !strings.Contains(warnings[0].Detail, "n3") {
			t.Fatalf("%+v", warnings)
		}
		eventually.Holds(t, "node 3 is silent", func() bool { return count(t, c, 1, "sherd.nodes WHERE name = 'n3' AND NOT alive") == 1 })
	}
	r.want("", "SET statement_timeout = '2s'")
	r.want("57014", "DELETE FROM acc")
	r.want("", "SET sherd.allow_partial = off")
	r.want("57014", all)
	r.want("", "RESET statement_timeout")
	if err := c.Node(3).Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	warnings = nil
	eventually.Holds(t, "all rows are there", func() bool { got, err := rows(t.Context(), conn, all); return err == nil && got[0] == "500" })
	if len(warnings) > 0 {
		t.Errorf("%+v", warnings[0])
	}
}
