package nodetest

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sherddb/sherd/node"
)

// TestWholeClusterViews: sessions on two nodes see and cancel each other.
func TestWholeClusterViews(t *testing.T) {
	t.Parallel()
	c := Start(t, 2, func(_ uint32, cfg *node.Config) { cfg.Fragments = 1 })
	ctx, cancel := context.WithTimeout(t.Context(), Timeout)
	defer cancel()
	here, a, b := c.Node(1).Connect(t), c.Node(2).Connect(t), c.Node(2).Connect(t)
	for _, text := range []string{"CREATE TABLE rows (id int PRIMARY KEY, n int)", "INSERT INTO rows VALUES (1, 0)", "BEGIN", "UPDATE rows SET n = 1"} {
		if _, err := a.Exec(ctx, text); err != nil {
			t.Fatal(text, err)
		}
	}
	ended := make(chan error, 1)
	go func() {
		_, err := b.Exec(ctx, "UPDATE rows SET n = 2 -- waits")
		ended <- err
	}()
	eventually := func(what, text string, want any, args ...any) {
		t.Helper()
		var got any
		for {
			err := here.QueryRow(ctx, text, args...).Scan(&got)
			if err == nil && got == want {
				return
			}
			if ctx.Err() != nil {
				t.Fatalf("%s: %v, %v", what, got, err)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	pid, holder := int32(b.PgConn().PID()), int32(a.PgConn().PID())
	if pid>>20 != 1 {
		t.Errorf("process number %d at node 2", pid)
	}
	eventually("pg_stat_activity", "SELECT wait_event_type || query FROM pg_stat_activity WHERE pid = $1", "LockUPDATE rows SET n = 2 -- waits", pid)
	eventually("pg_blocking_pids", "SELECT (pg_blocking_pids($1))[1]", holder, pid)
	eventually("sherd.locks", "SELECT blocked_by[1] FROM sherd.locks WHERE locktype = 'row' AND NOT granted AND key = '1'", holder)
	eventually("pg_locks", "SELECT count(*) FROM pg_locks WHERE pid = $1 AND locktype = 'relation' AND granted", int64(1), holder)
	eventually("sherd.txns", "SELECT staged_rows FROM sherd.txns WHERE pid = $1 AND state = 'idle in transaction'", int64(1), holder)
	eventually("pg_cancel_backend", "SELECT pg_cancel_backend($1)", true, pid)
	var pg *pgconn.PgError
	if err := <-ended; !errors.As(err, &pg) || pg.Code != "57014" {
		t.Error(err)
	}
	eventually("pg_terminate_backend", "SELECT pg_terminate_backend($1, 10000)", true, holder)
	eventually("it is gone", "SELECT count(*) FROM pg_stat_activity WHERE pid = $1", int64(0), holder)
	eventually("no such session", "SELECT pg_terminate_backend($1)", false, holder)
	eventually("no such node", "SELECT pg_terminate_backend(2000000000)", false)
	eventually("the row is free", "WITH w AS (UPDATE rows SET n = 3 RETURNING n) SELECT n FROM w", int32(3))
	var commits int64
	if err := here.QueryRow(ctx, "SELECT xact_commit FROM pg_stat_database WHERE datname = 'postgres'").Scan(&commits); err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		if _, err := b.Exec(ctx, "SELECT 1"); err != nil {
			t.Fatal(err)
		}
	}
	eventually("pg_stat_database", "SELECT xact_commit >= $1 FROM pg_stat_database WHERE datname = 'postgres'", true, commits+1000)
	eventually("sherd.nodes", "SELECT string_agg(name || ' ' || alive, ',' ORDER BY id) FROM sherd.nodes", "n1 true,n2 true")
	eventually("sherd.nodes: health", "SELECT last_seen > now() - interval '1 minute' AND rtt >= '0' FROM sherd.nodes WHERE id = 2", true)
	eventually("sherd.fragments", "SELECT leader IS NOT NULL AND state LIKE 'serving%' FROM sherd.fragments", true)
	eventually("sherd.replicas", "SELECT count(*) FROM sherd.replicas WHERE role = 'leader' AND state = 'up to date' AND term > 0", int64(1))
}

// TestCancelRequestElsewhere sends a client's cancel request to another node, as a load balancer
// may.
func TestCancelRequestElsewhere(t *testing.T) {
	t.Parallel()
	c := Start(t, 2, func(_ uint32, cfg *node.Config) { cfg.Fragments = 1 })
	ctx, cancel := context.WithTimeout(t.Context(), Timeout)
	defer cancel()
	db := c.Node(2).Connect(t)
	ended := make(chan error, 1)
	go func() {
		_, err := db.Exec(ctx, "SELECT pg_sleep(50)")
		ended <- err
	}()
	here := c.Node(1).Connect(t)
	for running := false; !running; {
		if err := here.QueryRow(ctx, "SELECT count(*) > 0 FROM pg_stat_activity WHERE pid = $1 AND state = 'active'", int32(db.PgConn().PID())).Scan(&running); err != nil {
			t.Fatal(err)
		}
	}
	if err := cancelAt(ctx, c.Node(1).SQLAddr(), db.PgConn().PID(), db.PgConn().SecretKey()); err != nil {
		t.Fatal(err)
	}
	var pg *pgconn.PgError
	if err := <-ended; !errors.As(err, &pg) || pg.Code != "57014" {
		t.Error(err)
	}
}

// TestDropDatabaseInUse: DROP DATABASE WITH (FORCE) ends sessions on another node.
func TestDropDatabaseInUse(t *testing.T) {
	t.Parallel()
	c := Start(t, 2, func(_ uint32, cfg *node.Config) { cfg.Fragments = 1 })
	ctx, cancel := context.WithTimeout(t.Context(), Timeout)
	defer cancel()
	db := c.Node(1).Connect(t)
	if _, err := db.Exec(ctx, "CREATE DATABASE other"); err != nil {
		t.Fatal(err)
	}
	in, err := pgx.Connect(ctx, strings.TrimSuffix(c.Node(2).URL(), "postgres")+"other")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close(context.WithoutCancel(ctx))
	var pg *pgconn.PgError
	_, err = db.Exec(ctx, "DROP DATABASE other")
	if !errors.As(err, &pg) || pg.Code != "55006" || pg.Detail != "There is 1 other session using the database." {
		t.Errorf("a database in use at another node: %v", err)
	}
	if _, err := db.Exec(ctx, "DROP DATABASE other WITH (FORCE)"); err != nil {
		t.Fatal(err)
	}
	if _, err = in.Exec(ctx, "SELECT 1"); err == nil || errors.As(err, &pg) && pg.Code != "57P01" {
		t.Errorf("the session goes on: %v", err)
	}
}

// TestDropDatabaseAtOnce drops a database when its node has just heard from the other node, which
// had no time to answer yet.
func TestDropDatabaseAtOnce(t *testing.T) {
	t.Parallel()
	c := Start(t, 2, func(_ uint32, cfg *node.Config) { cfg.Fragments = 1 })
	ctx, cancel := context.WithTimeout(t.Context(), Timeout)
	defer cancel()
	if _, err := c.Node(1).Connect(t).Exec(ctx, "CREATE DATABASE other"); err != nil {
		t.Fatal(err)
	}
	in, err := pgx.Connect(ctx, strings.TrimSuffix(c.Node(2).URL(), "postgres")+"other")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close(context.WithoutCancel(ctx))
	c.Node(1).Stop()
	c.Node(1).Restart()
	if _, err := c.Node(1).Connect(t).Exec(ctx, "DROP DATABASE other WITH (FORCE)"); err != nil {
		t.Fatal(err)
	}
	if err := in.Ping(ctx); err == nil {
		t.Error("the session goes on")
	}
}

// cancelAt sends a CancelRequest to an address.
func cancelAt(ctx context.Context, addr string, pid uint32, secret []byte) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	b := binary.BigEndian.AppendUint32(nil, 16)
	b = binary.BigEndian.AppendUint32(b, 1234<<16|5678)
	b = append(binary.BigEndian.AppendUint32(b, pid), secret...)
	if _, err := conn.Write(b); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, conn) // the server closes
	return err
}
