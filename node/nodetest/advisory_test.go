package nodetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/node"
	"github.com/sherddb/sherd/txn"
)

// advisors holds sessions on the nodes of a cluster with one fragment, whose leader keeps the
// advisory locks.
type advisors struct {
	t   *testing.T
	c   *Cluster
	ctx context.Context
}

func newAdvisors(t *testing.T) *advisors {
	c := Start(t, 3, func(_ uint32, cfg *node.Config) { cfg.Fragments = 1 })
	replicated(c, 3)
	ctx, cancel := context.WithTimeout(t.Context(), Timeout)
	t.Cleanup(cancel)
	return &advisors{t, c, ctx}
}

// leader returns the node that keeps the locks, and two others.
func (a *advisors) leader() (leader, one, other uint32) {
	a.t.Helper()
	f := txn.FragmentID(a.c.Running().Catalog().View().Database(catalog.PostgresDB).Fragments[0].ID)
	eventually.Holds(a.t, "a leader", func() bool {
		for i, n := range a.c.Nodes() {
			if n.Node == nil {
				continue
			}
			if node, term, ok := n.Store().Client.LeaderOf(f); ok && term != 0 {
				leader = node
				one, other = uint32(i+1)%3+1, uint32(i+2)%3+1
				return true
			}
		}
		return false
	})
	return leader, one, other
}

func (a *advisors) bool(db *pgx.Conn, text string, want bool) {
	a.t.Helper()
	var got bool
	if err := db.QueryRow(a.ctx, text).Scan(&got); err != nil || got != want {
		a.t.Fatalf("%s: %v, %v", text, got, err)
	}
}

func (a *advisors) run(db *pgx.Conn, text string) {
	a.t.Helper()
	if _, err := db.Exec(a.ctx, text); err != nil {
		a.t.Fatalf("%s: %v", text, err)
	}
}

// becomes waits until a query answers true.
func (a *advisors) becomes(db *pgx.Conn, text string) {
	a.t.Helper()
	eventually.Holds(a.t, text, func() bool {
		var got bool
		return db.QueryRow(a.ctx, text).Scan(&got) == nil && got
	})
}

func code(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}

func detail(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Detail
	}
	return ""
}

// Sessions at three nodes lock the same keys.
func TestAdvisoryLocksOverNodes(t *testing.T) {
	t.Parallel()
	a := newAdvisors(t)
	x, y, z := a.c.Node(1).Connect(t), a.c.Node(2).Connect(t), a.c.Node(3).Connect(t)
	a.run(x, "SELECT pg_advisory_lock(1), pg_advisory_lock(1)")
	a.bool(y, "SELECT pg_try_advisory_lock(1)", false)
	a.bool(y, "SELECT pg_try_advisory_lock_shared(1)", false)
	a.bool(z, "SELECT count(*) = 1 AND bool_and(granted) FROM pg_locks WHERE locktype = 'advisory' AND objid = 1", true)
	waited := make(chan error, 1)
	go func() {
		_, err := z.Exec(a.ctx, "SELECT pg_advisory_lock(1)")
		waited <- err
	}()
	a.becomes(y, "SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
	a.bool(x, "SELECT pg_advisory_unlock(1)", true) // it was locked twice
	a.bool(y, "SELECT pg_try_advisory_lock(1)", false)
	a.bool(x, "SELECT pg_advisory_unlock(1)", true)
	if err := <-waited; err != nil {
		t.Fatal(err)
	}
	a.bool(x, "SELECT pg_advisory_unlock(1)", false)
	z.Close(a.ctx) // the end of a session releases its locks
	a.run(x, "SELECT pg_advisory_lock(1)")

	a.run(x, "SELECT pg_advisory_lock_shared(2, 3)")
	a.bool(y, "SELECT pg_try_advisory_lock_shared(2, 3)", true)
	a.bool(y, "SELECT pg_try_advisory_lock(2, 3)", false)
	a.bool(y, "SELECT pg_try_advisory_lock(3, 2)", true)

	a.run(x, "BEGIN")
	a.run(x, "SELECT pg_advisory_xact_lock(4)")
	a.run(x, "SAVEPOINT s")
	a.run(x, "SELECT pg_advisory_xact_lock(5)")
	a.bool(y, "SELECT pg_try_advisory_lock(5)", false)
	a.run(x, "ROLLBACK TO s")
	a.bool(y, "SELECT pg_try_advisory_lock(5)", true)
	a.run(y, "SET lock_timeout = 100")
	if _, err := y.Exec(a.ctx, "SELECT pg_advisory_lock(4)"); code(err) != "55P03" {
		t.Errorf("lock_timeout: %v", err)
	}
	a.run(y, "SET lock_timeout = 0")
	a.run(y, "BEGIN")
	a.run(y, "SELECT pg_advisory_xact_lock(6)")
	errs := make(chan error, 2)
	for db, text := range map[*pgx.Conn]string{x: "SELECT pg_advisory_lock(6)", y: "SELECT pg_advisory_xact_lock(4)"} {
		go func() {
			_, err := db.Exec(a.ctx, text)
			if err != nil {
				_, _ = db.Exec(a.ctx, "ROLLBACK")
			}
			errs <- err
		}()
	}
	if one, two := code(<-errs), code(<-errs); one+two != "40P01" {
		t.Errorf("a deadlock: %q, %q", one, two)
	}
}

// TestAdvisoryLeaderMoves stops the leader of the locks: another node takes over the locks, and
// waiting requests continue there.
func TestAdvisoryLeaderMoves(t *testing.T) {
	t.Parallel()
	a := newAdvisors(t)
	leader, one, other := a.leader()
	x, y := a.c.Node(one).Connect(t), a.c.Node(other).Connect(t)
	a.run(x, "SELECT pg_advisory_lock(1)")
	a.run(x, "BEGIN")
	a.run(x, "SELECT pg_advisory_xact_lock(2)")
	waited := make(chan error, 1)
	go func() {
		_, err := y.Exec(a.ctx, "SELECT pg_advisory_lock(2)")
		waited <- err
	}()
	a.becomes(a.c.Node(one).Connect(t), "SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
	a.c.Node(leader).Stop()
	w := a.c.Node(other).Connect(t)
	a.bool(w, "SELECT pg_try_advisory_lock(1)", false)
	a.bool(w, "SELECT pg_try_advisory_lock(2)", false)
	a.run(x, "COMMIT")
	if err := <-waited; err != nil {
		t.Fatal(err)
	}
	a.bool(x, "SELECT pg_advisory_unlock(1)", true)
	a.bool(w, "SELECT pg_try_advisory_lock(1)", true)
}

// TestAdvisoryHomeCutOff isolates the leader of the locks together with a session that holds a
// lock. The session ends before another one gets the lock, and its transaction does not commit.
func TestAdvisoryHomeCutOff(t *testing.T) {
	t.Parallel()
	a := newAdvisors(t)
	leader, one, _ := a.leader()
	x, y := a.c.Node(leader).Connect(t), a.c.Node(one).Connect(t)
	a.run(x, "SELECT pg_advisory_lock(1)")
	a.c.Isolate(leader)
	began := time.Now()
	a.run(y, "SELECT pg_advisory_lock(1)")
	t.Logf("after %v", time.Since(began))
	if _, err := x.Exec(a.ctx, "SELECT 1"); err == nil {
		t.Error("the session that has lost its lock goes on")
	}
	a.c.Heal()
	a.bool(a.c.Node(leader).Connect(t), "SELECT pg_try_advisory_lock(1)", false)
}

// TestAdvisoryGatewayGone: after a node restarts, the locks of its sessions are released soon. An
// isolated node loses its locks after a while.
func TestAdvisoryGatewayGone(t *testing.T) {
	t.Parallel()
	a := newAdvisors(t)
	_, one, other := a.leader()
	x, y := a.c.Node(one).Connect(t), a.c.Node(other).Connect(t)
	a.run(x, "SELECT pg_advisory_lock(1)")
	a.run(x, "BEGIN")
	a.run(x, "SELECT pg_advisory_xact_lock(2)")
	a.c.Isolate(one)
	a.run(y, "SELECT pg_advisory_lock(1), pg_advisory_lock(2)")
	if _, err := x.Exec(a.ctx, "COMMIT"); err == nil {
		t.Error("a transaction has committed that had lost its lock")
	}
	a.c.Heal()
	a.bool(a.c.Node(one).Connect(t), "SELECT pg_try_advisory_lock(1)", false)
}
