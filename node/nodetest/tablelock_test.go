package nodetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/node"
)

// lockWorld is a cluster whose tables are used on several nodes.
type lockWorld struct {
	*Cluster
	ctx context.Context
	t   *testing.T
}

func newLockWorld(t *testing.T, nodes int) *lockWorld {
	return newLockWorldAs(t, nodes, func(uint32, *node.Config) {})
}

func newLockWorldAs(t *testing.T, nodes int, configure func(uint32, *node.Config)) *lockWorld {
	c := Start(t, nodes, func(_ uint32, cfg *node.Config) { cfg.Fragments = 2 }, configure)
	ctx, cancel := context.WithTimeout(t.Context(), Timeout)
	t.Cleanup(cancel)
	return &lockWorld{Cluster: c, ctx: ctx, t: t}
}

func (w *lockWorld) run(db *pgx.Conn, text string) {
	w.t.Helper()
	if _, err := db.Exec(w.ctx, text); err != nil {
		w.t.Fatalf("%s: %v", text, err)
	}
}

// create creates a table, and waits until all nodes know it.
func (w *lockWorld) create(db *pgx.Conn, text string, others ...*pgx.Conn) {
	w.t.Helper()
	w.run(db, text)
	name := strings.Fields(text)[2]
	for _, o := range others {
		eventually.Holds(w.t, name+" is known", func() bool {
			var known bool
			return o.QueryRow(w.ctx, "SELECT to_regclass($1) IS NOT NULL", name).Scan(&known) == nil && known
		})
	}
}

func (w *lockWorld) start(db *pgx.Conn, text string) <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := db.Exec(w.ctx, text)
		done <- err
	}()
	return done
}

// awaitWait waits until a node shows that a session waits for a table.
func (w *lockWorld) awaitWait(db *pgx.Conn, table string, waiter *pgx.Conn) {
	w.t.Helper()
	eventually.Holds(w.t, "a wait for "+table, func() bool {
		var n int
		err := db.QueryRow(w.ctx, `SELECT count(*) FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
			WHERE c.relname = $1 AND NOT l.granted AND l.pid = $2`, table, int32(waiter.PgConn().PID())).Scan(&n)
		return err == nil && n > 0
	})
}

func (w *lockWorld) one(db *pgx.Conn, query string, want int) {
	w.t.Helper()
	var got int
	if err := db.QueryRow(w.ctx, query).Scan(&got); err != nil || got != want {
		w.t.Fatalf("%s: %d, %v; want %d", query, got, err, want)
	}
}

func (w *lockWorld) clean(db *pgx.Conn) {
	w.t.Helper()
	rows, err := db.Query(w.ctx, "SELECT c::text FROM sherd.check() c WHERE NOT ok")
	if err != nil {
		w.t.Fatal(err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(found) > 0 {
		w.t.Fatalf("sherd.check(): %v, %v", found, err)
	}
}

// TestDefinitionsWaitForWritersElsewhere changes tables on the first node while a transaction of
// the second has written to them.
func TestDefinitionsWaitForWritersElsewhere(t *testing.T) {
	t.Parallel()
	w := newLockWorld(t, 2)
	a, b, look := w.Node(1).Connect(t), w.Node(2).Connect(t), w.Node(2).Connect(t)
	for name, ddl := range map[string]string{
		"indexed":  "CREATE INDEX ON %s (n)",
		"uniquely": "CREATE UNIQUE INDEX ON %s (n) WITH (scope = global)",
		"retyped":  "ALTER TABLE %s ALTER COLUMN n TYPE text",
		"keyed":    "ALTER TABLE %s DROP CONSTRAINT keyed_pkey, ADD PRIMARY KEY (n)",
		"together": "BEGIN; ALTER TABLE %s ADD COLUMN m int DEFAULT 7; COMMIT",
	} {
		t.Run(name, func(t *testing.T) {
			w := &lockWorld{Cluster: w.Cluster, ctx: w.ctx, t: t}
			w.create(a, "CREATE TABLE "+name+" (id int PRIMARY KEY, n int NOT NULL)", b)
			w.run(a, "INSERT INTO "+name+" SELECT i, i FROM generate_series(1, 50) i")
			w.run(b, "BEGIN")
			w.run(b, "INSERT INTO "+name+" SELECT i, i FROM generate_series(51, 100) i")
			done := w.start(a, fmt.Sprintf(ddl, name))
			w.awaitWait(look, name, a)
			w.run(b, "UPDATE "+name+" SET n = n + 1000 WHERE id > 90")
			w.run(b, "COMMIT")
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			for _, db := range []*pgx.Conn{a, b} {
				w.one(db, "SELECT count(*) FROM "+name, 100)
				w.one(db, "SELECT count(*) FROM "+name+" WHERE n::int > 1000", 10)
			}
			w.clean(a)
		})
	}
	w.create(a, "CREATE TABLE emptied (id int PRIMARY KEY)", b)
	w.run(b, "BEGIN")
	w.run(b, "INSERT INTO emptied VALUES (1)")
	done := w.start(a, "TRUNCATE emptied")
	w.awaitWait(look, "emptied", a)
	w.run(b, "COMMIT")
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	w.one(b, "SELECT count(*) FROM emptied", 0)
}

// TestLockTableEverywhere: sessions of two nodes exclude each other, time out, and have a deadlock
// resolved.
func TestLockTableEverywhere(t *testing.T) {
	t.Parallel()
	w := newLockWorld(t, 2)
	a, b, look := w.Node(1).Connect(t), w.Node(2).Connect(t), w.Node(2).Connect(t)
	code := func(err error) string {
		var pg *pgconn.PgError
		if errors.As(err, &pg) {
			return pg.Code
		}
		return fmt.Sprint(err)
	}
	refused := func(db *pgx.Conn, text, want string) {
		t.Helper()
		if _, err := db.Exec(w.ctx, text); code(err) != want {
			t.Fatalf("%s: %v, want %s", text, err, want)
		}
	}
	w.create(a, "CREATE TABLE t (id int PRIMARY KEY)", b)
	w.create(a, "CREATE TABLE u (id int PRIMARY KEY)", b)

	w.run(a, "BEGIN")
	w.run(a, "SAVEPOINT s")
	w.run(a, "LOCK TABLE t IN EXCLUSIVE MODE")
	w.one(b, "SELECT count(*) FROM t", 0) // readers do not wait
	w.run(b, "SET lock_timeout = '50ms'")
	refused(b, "INSERT INTO t VALUES (1)", "55P03")
	w.run(b, "RESET lock_timeout")
	w.run(a, "ROLLBACK TO s")
	w.run(b, "INSERT INTO t VALUES (1)")
	w.run(a, "COMMIT")

	w.run(b, "BEGIN")
	w.run(b, "INSERT INTO t VALUES (2)")
	w.run(a, "BEGIN")
	refused(a, "LOCK TABLE t NOWAIT", "55P03")
	w.run(a, "ROLLBACK")
	w.run(a, "BEGIN")
	w.run(a, "SET LOCAL lock_timeout = '50ms'")
	refused(a, "LOCK TABLE t", "55P03")
	w.run(a, "ROLLBACK")
	w.run(a, "BEGIN")
	cancelled := w.start(a, "LOCK TABLE t")
	w.awaitWait(look, "t", a)
	if err := a.PgConn().CancelRequest(w.ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-cancelled; code(err) != "57014" {
		t.Fatal(err)
	}
	w.run(a, "ROLLBACK")
	w.one(b, "SELECT count(*) FROM t", 2)

	w.run(a, "BEGIN")
	w.run(a, "LOCK TABLE u")
	first := w.start(a, "LOCK TABLE t") // b has written to it
	w.awaitWait(look, "t", a)
	second := w.start(b, "SELECT FROM u")
	var errs [2]error
	for range 2 {
		select {
		case errs[0] = <-first:
			w.run(a, "ROLLBACK")
		case errs[1] = <-second:
			w.run(b, "ROLLBACK")
		}
	}
	if x, y := code(errs[0]), code(errs[1]); x != "40P01" && y != "40P01" || x == y {
		t.Fatal(errs)
	}
}

// TestLocksOfNodesThatDie: locks are granted though a node has died that held a lock, or one that
// was asked for a lock.
func TestLocksOfNodesThatDie(t *testing.T) {
	t.Parallel()
	w := newLockWorld(t, 3)
	a, b := w.Node(1).Connect(t), w.Node(2).Connect(t)
	c := w.Node(3).Connect(t)
	w.create(a, "CREATE TABLE t (id int PRIMARY KEY, n int)", b, c)
	w.run(a, "INSERT INTO t VALUES (1, 1)")
	w.run(c, "BEGIN")
	w.run(c, "LOCK TABLE t IN EXCLUSIVE MODE")
	writing := w.start(b, "INSERT INTO t VALUES (2, 2)")
	w.awaitWait(a, "t", b)
	w.Node(3).Stop()
	if err := <-writing; err != nil {
		t.Fatal(err)
	}
	w.run(a, "CREATE INDEX ON t (n)") // the third node does not answer
	w.run(b, "ALTER TABLE t ALTER COLUMN n TYPE text")
	w.one(a, "SELECT count(*) FROM t", 2)
	w.Node(3).Restart()
	c = w.Node(3).Connect(t)
	w.run(c, "INSERT INTO t VALUES (3, 'three')")
	w.one(a, "SELECT count(*) FROM t WHERE n = 'three'", 1)
	w.clean(a)
}
