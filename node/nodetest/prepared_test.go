package nodetest

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/node"
)

// TestPreparedReadsOverLeaders: until a prepared SERIALIZABLE transaction is committed, no
// transaction changes what it has read, whichever replicas lead.
func TestPreparedReadsOverLeaders(t *testing.T) {
	t.Parallel()
	c := Start(t, 3, func(_ uint32, cfg *node.Config) { cfg.Fragments, cfg.Replication = 3, 3 })
	replicated(c, 3)
	exec(t, c, 1, "CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t SELECT g, 10 FROM generate_series(1, 30) g")
	exec(t, c, 1, `BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT sum(v) FROM t; UPDATE t SET v = 0 WHERE id = 1; PREPARE TRANSACTION 'p'`)
	for down := range uint32(3) {
		c.Node(down + 1).Stop()
		at := (down+1)%3 + 1
		eventually.Holds(t, "a writer waits", func() bool {
			err := try(c.Node(at).URL(), "SET lock_timeout = '100ms'; UPDATE t SET v = 1 WHERE id BETWEEN 10 AND 20")
			var e *pgconn.PgError
			if err == nil {
				t.Fatalf("node %d is down: what was read can be written", down+1)
			}
			return errors.As(err, &e) && e.Code == "55P03" // other errors while there is no leader
		})
		c.Node(down + 1).Restart()
	}
	waits := make(chan error, 1)
	go func() { waits <- try(c.Node(2).URL(), "UPDATE t SET v = 1 WHERE id = 10") }()
	eventually.Succeeds(t, "what is prepared commits", func() error {
		return try(c.Node(3).URL(), "COMMIT PREPARED 'p'")
	})
	if err := <-waits; err != nil {
		t.Fatal(err)
	}
	if n := count(t, c, 1, "t WHERE v = 10"); n != 28 {
		t.Fatalf("%d rows are as they were", n)
	}
}

// TestStartBesideALostFragment: a node starts and serves the other fragments while a fragment has
// no replica that answers. Statements that might conflict with a prepared transaction wait until
// that is known; then they conflict again.
func TestStartBesideALostFragment(t *testing.T) {
	t.Parallel()
	c := Start(t, 3, func(_ uint32, cfg *node.Config) { cfg.Fragments, cfg.Replication = 2, 3 })
	replicated(c, 3)
	exec(t, c, 1, `SELECT sherd.set_replication_factor('postgres', 1, 'postgres$1', nodes => '{n3}')`)
	eventually.Holds(t, "one replica is left", func() bool {
		return count(t, c, 1, `sherd.replicas WHERE fragment = 'postgres$1'`) == 1
	})
	exec(t, c, 1, "CREATE TABLE t (id text PRIMARY KEY, doc jsonb); INSERT INTO t VALUES ('a$@1', '1'), ('b$@1048575', '1'); CREATE TABLE s (id int)")
	exec(t, c, 1, "BEGIN; UPDATE t SET doc = '2' WHERE id = 'b$@1048575'; PREPARE TRANSACTION 'p'")
	c.Node(3).Stop()
	c.Node(1).Stop()
	c.Node(1).Restart()
	eventually.Holds(t, "the other fragment serves", func() bool {
		return try(c.Node(1).URL(), "SET statement_timeout = '1s'; UPDATE t SET doc = '3' WHERE id = 'a$@1'; SELECT * FROM t WHERE id = 'a$@1'") == nil
	})
	for _, definition := range []string{"ALTER TABLE t ADD w int", "BEGIN; LOCK TABLE t", "ALTER TABLE s ADD w int"} {
		err := try(c.Node(1).URL(), definition)
		var e *pgconn.PgError
		if !errors.As(err, &e) || e.Code != "57P03" || !strings.Contains(e.Message, "before it is known which prepared transactions") {
			t.Errorf("%s: %v", definition, err)
		}
	}
	exec(t, c, 1, "CREATE TABLE r (id int)")
	for _, view := range []string{
		`sherd.fragments WHERE fragment = 'postgres$0' AND documents IS NOT NULL`, `sherd.fragments WHERE state = 'no leader' AND documents IS NULL`,
		"sherd.databases WHERE documents IS NULL", "pg_class WHERE relname = 't' AND reltuples = -1",
	} {
		if n := count(t, c, 2, view); n != 1 {
			t.Errorf("%d rows in %s", n, view)
		}
	}
	c.Node(3).Restart()
	eventually.Holds(t, "definitions of others are changed again", func() bool { return try(c.Node(1).URL(), "ALTER TABLE s ADD w int") == nil })
	var e *pgconn.PgError
	if err := try(c.Node(1).URL(), "SET lock_timeout = '100ms'; ALTER TABLE t ADD w int"); !errors.As(err, &e) || e.Code != "55P03" {
		t.Errorf("what a prepared transaction has written is changed beneath it: %v", err)
	}
	exec(t, c, 1, "COMMIT PREPARED 'p'")
	exec(t, c, 1, "ALTER TABLE t ADD w int")
	if n := count(t, c, 2, "t WHERE doc = '2'"); n != 1 {
		t.Errorf("%d rows have what was prepared", n)
	}
}
