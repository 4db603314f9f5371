package nodetest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/sherddb/sherd/node"
)

// reader is a session whose statements must return an expected result.
type reader struct {
	t    *testing.T
	conn *pgx.Conn
}

func (r reader) want(want, text string) {
	r.t.Helper()
	got, err := rows(r.t.Context(), r.conn, text)
	answer := strings.Join(got, " ")
	if err != nil {
		answer = code(err) + " " + err.Error()
	}
	if answer != want && (err == nil || !strings.HasPrefix(answer, want)) {
		r.t.Fatalf("%s: %s, want %s", text, answer, want)
	}
}

// exports begins a transaction, exports its snapshot and returns the name.
func (r reader) exports(begin string) string {
	r.t.Helper()
	r.want("", begin)
	got, err := rows(r.t.Context(), r.conn, "SELECT pg_export_snapshot()")
	if err != nil {
		r.t.Fatal(err)
	}
	return got[0]
}

// imports returns statements that begin a transaction with an exported snapshot.
func imports(begin, id string) string { return begin + "; SET TRANSACTION SNAPSHOT '" + id + "'" }

const repeatable = "BEGIN ISOLATION LEVEL REPEATABLE READ"

// TestExportedSnapshotElsewhere: another node can read a snapshot while the exporting transaction
// is open, by PostgreSQL's rules.
func TestExportedSnapshotElsewhere(t *testing.T) {
	t.Parallel()
	c := Start(t, 2, func(_ uint32, cfg *node.Config) { cfg.Fragments = 2 })
	for _, text := range []string{
		"CREATE TABLE acc (id int PRIMARY KEY)", "INSERT INTO acc SELECT generate_series(1, 10)",
		"CREATE TABLE other (id int PRIMARY KEY)", "INSERT INTO other VALUES (1)", "CREATE DATABASE beside FRAGMENTS 1",
	} {
		exec(t, c, 1, text)
	}
	a, b := reader{t, c.Node(1).Connect(t)}, reader{t, c.Node(2).Connect(t)}
	const query = "SELECT count(*) FROM acc"
	for _, begin := range []string{"BEGIN", repeatable, "BEGIN ISOLATION LEVEL SERIALIZABLE"} {
		id := a.exports(begin)
		exec(t, c, 2, "INSERT INTO acc VALUES (1000)")
		b.want("", imports(repeatable+" READ ONLY", id))
		b.want("10", query)
		b.want("", "COMMIT")
		exec(t, c, 1, "DELETE FROM acc WHERE id = 1000")
		a.want("", "COMMIT")
		b.want("22023", imports(repeatable, id))
		b.want("", "ROLLBACK")
	}

	id := a.exports(repeatable)
	exec(t, c, 1, "TRUNCATE other")
	exec(t, c, 1, "CREATE TABLE late (id int PRIMARY KEY)")
	for _, table := range []string{"other", "late"} {
		b.want("", imports(repeatable, id))
		b.want("40001", "SELECT * FROM "+table)
		b.want("", "ROLLBACK")
	}
	b.want("0A000 ERROR: a snapshot-importing transaction must have isolation level", imports("BEGIN", id))
	b.want("", "ROLLBACK")
	b.want("0A000 ERROR: a serializable transaction cannot import", imports("BEGIN ISOLATION LEVEL SERIALIZABLE", id))
	b.want("", "ROLLBACK")
	beside, err := pgx.Connect(t.Context(), strings.TrimSuffix(c.Node(2).URL(), "postgres")+"beside")
	if err != nil {
		t.Fatal(err)
	}
	defer beside.Close(context.WithoutCancel(t.Context()))
	reader{t, beside}.want("0A000 ERROR: cannot import a snapshot from a different database", imports(repeatable, id))
	for _, wrong := range []string{id + "0", strings.Replace(id, "-1-", "-7-", 1), "00000003-0000001B-1", "xy"} {
		b.want("22023 ERROR: invalid snapshot identifier: \""+wrong+"\"", imports(repeatable, wrong))
		b.want("", "ROLLBACK")
	}

	b.want("", imports(repeatable, id)) // from now on its own snapshot
	again, err := rows(t.Context(), b.conn, "SELECT pg_export_snapshot()")
	if err != nil {
		t.Fatal(err)
	}
	exec(t, c, 1, "DELETE FROM acc")
	a.want("", "COMMIT")
	a.want("", imports(repeatable, again[0]))
	for _, r := range []reader{a, b} {
		r.want("10", query)
		r.want("40001", "SELECT * FROM other")
		r.want("", "ROLLBACK")
	}
}

// TestExportedSnapshotIsPinned: old versions are kept for a transaction that has imported a
// snapshot from another node, also after the exporting one has ended.
func TestExportedSnapshotIsPinned(t *testing.T) {
	t.Parallel()
	var kept versions
	c := Start(t, 2, func(_ uint32, cfg *node.Config) { kept.config(cfg); cfg.Fragments, cfg.Replication = 1, 1 })
	exec(t, c, 1, "CREATE TABLE acc (id int PRIMARY KEY)")
	exec(t, c, 1, "INSERT INTO acc SELECT generate_series(1, 10)")
	exec(t, c, 1, "CREATE DATABASE beside FRAGMENTS 1")
	a, b := reader{t, c.Node(1).Connect(t)}, reader{t, c.Node(2).Connect(t)}
	id := a.exports(repeatable)
	b.want("", imports(repeatable, id))
	held(c, "postgres", 2)
	a.want("", "COMMIT")
	exec(t, c, 1, "DELETE FROM acc")
	kept.forget(c, "postgres", "beside")
	b.want("10", "SELECT count(*) FROM acc")
	b.want("", "COMMIT")
}

// TestExportedSnapshotOfADeadNode: if the exporting node does not answer, the import fails in time,
// with the name of that node.
func TestExportedSnapshotOfADeadNode(t *testing.T) {
	t.Parallel()
	c := Start(t, 2, func(_ uint32, cfg *node.Config) { cfg.Fragments = 1 })
	a, b := reader{t, c.Node(2).Connect(t)}, reader{t, c.Node(1).Connect(t)}
	id := a.exports(repeatable)
	c.Cut(1, 2)
	b.want(fmt.Sprintf("57P03 ERROR: node %q, which exported the snapshot, does not answer", "n2"), imports(repeatable, id))
	c.Heal()
}

// TestExportedPartsElsewhere: sessions on several nodes share a snapshot and read one fragment
// each. They read every row once, though buckets have moved since.
func TestExportedPartsElsewhere(t *testing.T) {
	t.Parallel()
	c := Start(t, 2, func(_ uint32, cfg *node.Config) { cfg.Fragments, cfg.Replication = 2, 1 })
	exec(t, c, 1, "CREATE TABLE acc (id int PRIMARY KEY)")
	exec(t, c, 1, "INSERT INTO acc SELECT generate_series(1, 500)")
	const part = "SELECT count(*) FROM acc"
	part0 := count(t, c, 1, "acc WHERE sherd.fragment('acc', id) = 'postgres$0'")
	a, b := reader{t, c.Node(1).Connect(t)}, reader{t, c.Node(2).Connect(t)}
	id := a.exports(repeatable)
	exec(t, c, 1, "SELECT sherd.move_buckets('postgres', 0, 262144, 'postgres$1', wait => true)")
	exec(t, c, 1, "DELETE FROM acc WHERE id % 3 = 0")
	a.want("", "SET LOCAL sherd.fragment = 0")
	a.want(fmt.Sprint(part0), part)
	b.want("", imports(repeatable, id))
	b.want("", "SET LOCAL sherd.fragment = 1")
	b.want(fmt.Sprint(500-part0), part)
	b.want("", "SET LOCAL sherd.fragment = 0")
	b.want(fmt.Sprint(part0), part)
	b.want("", "COMMIT")
	if now := count(t, c, 1, "acc WHERE sherd.fragment('acc', id) = 'postgres$0'"); now >= part0/2+1 {
		t.Errorf("%d rows are in the fragment, of %d: nothing has moved", now, part0)
	}
}
