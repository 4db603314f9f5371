package nodetest

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/node"
)

// TestCommitPreparedElsewhere ends prepared transactions through another node. The locks that their
// own nodes keep for them are released.
func TestCommitPreparedElsewhere(t *testing.T) {
	t.Parallel()
	w := newLockWorld(t, 2)
	a, b := w.Node(1).Connect(t), w.Node(2).Connect(t)
	w.create(a, "CREATE TABLE t (id int PRIMARY KEY)", b)
	for i, end := range []string{"COMMIT PREPARED 'x'", "ROLLBACK PREPARED 'x'"} {
		w.run(b, "BEGIN")
		w.run(b, "LOCK TABLE t IN SHARE ROW EXCLUSIVE MODE")
		w.run(b, "INSERT INTO t VALUES (1) ON CONFLICT DO NOTHING")
		w.run(b, "PREPARE TRANSACTION 'x'")
		w.run(b, "SET lock_timeout = '50ms'")
		for _, db := range []*pgx.Conn{a, b} {
			w.run(db, "SET lock_timeout = '50ms'")
			if _, err := db.Exec(w.ctx, "TRUNCATE t"); code(err) != "55P03" {
				t.Fatalf("%d: the lock of a prepared transaction: %v", i, err)
			}
			w.run(db, "RESET lock_timeout")
		}
		w.run(a, end)
		w.run(b, "TRUNCATE t")
		w.run(a, "TRUNCATE t")
	}
}

// TestLockGatewayCutOff isolates the node of a transaction that has locked a table. After a while
// other transactions get the lock, and that transaction does not commit.
func TestLockGatewayCutOff(t *testing.T) {
	t.Parallel()
	w := newLockWorld(t, 3)
	a, c := w.Node(1).Connect(t), w.Node(3).Connect(t)
	w.create(a, "CREATE TABLE t (id int PRIMARY KEY)", c)
	w.create(a, "CREATE TABLE u (id int PRIMARY KEY)", c)
	w.run(c, "BEGIN")
	w.run(c, "LOCK TABLE t")
	w.Isolate(3)
	w.run(a, "BEGIN")
	w.run(a, "LOCK TABLE t")
	w.Heal()
	eventually.Holds(w.t, "the nodes meet again", func() bool { return w.Node(3).Store().Liveness.Alive(1) && w.Node(1).Store().Liveness.Alive(3) })
	if _, err := c.Exec(w.ctx, "COMMIT"); code(err) != "40001" {
		t.Errorf("the one that was cut off commits: %v", err)
	}
	if _, err := a.Exec(w.ctx, "COMMIT"); code(err) != "40001" || !strings.Contains(detail(err), "has come back") {
		t.Errorf("the one that has left a node out, which came back: %v", err)
	}
}

// TestLockAndNewNode: a node joins while a table is locked. It was not asked for the lock, and may
// have let a client write.
func TestLockAndNewNode(t *testing.T) {
	t.Parallel()
	w := newLockWorld(t, 2)
	a := w.Node(1).Connect(t)
	w.create(a, "CREATE TABLE t (id int PRIMARY KEY)")
	w.run(a, "BEGIN")
	w.run(a, "LOCK TABLE t")
	w.Add()
	if _, err := a.Exec(w.ctx, "COMMIT"); code(err) != "40001" || !strings.Contains(detail(err), "has joined") {
		t.Errorf("%v", err)
	}
}

// TestLockOneWay requests a lock while one node does not answer the requester but is heard by
// others. It may have writers, so it must not be left out.
func TestLockOneWay(t *testing.T) {
	t.Parallel()
	w := newLockWorldAs(t, 3, func(_ uint32, cfg *node.Config) { cfg.Knobs.LockNodeTimeout = 7 * time.Second })
	a, b := w.Node(1).Connect(t), w.Node(2).Connect(t)
	w.create(a, "CREATE TABLE t (id int PRIMARY KEY)", b)
	w.Net.Cut(Host(2), Host(1))
	w.run(a, "BEGIN")
	_, err := a.Exec(w.ctx, "LOCK TABLE t")
	if code(err) != "57P03" || !strings.Contains(err.Error(), "n2") {
		t.Errorf("%v", err)
	}
	w.run(a, "ROLLBACK")
	w.Heal()
	w.run(a, "BEGIN")
	w.run(a, "LOCK TABLE t")
	w.run(a, "COMMIT")
}
