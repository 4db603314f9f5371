package nodetest

import (
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sherddb/sherd/node"
)

// TestPreparedReadsOverLeaders: what a prepared SERIALIZABLE transaction has read nobody changes, whichever replicas lead, until it is committed.
func TestPreparedReadsOverLeaders(t *testing.T) {
	t.Parallel()
	c := Start(t, 3, func(_ uint32, cfg *node.Config) { cfg.Fragments, cfg.Replication = 3, 3 })
	replicated(c, 3)
	exec(t, c, 1, "CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t SELECT g, 10 FROM generate_series(1, 30) g")
	exec(t, c, 1, `BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT sum(v) FROM t; UPDATE t SET v = 0 WHERE id = 1; PREPARE TRANSACTION 'p'`)
	for down := range uint32(3) {
		c.Node(down + 1).Stop()
		at := (down+1)%3 + 1
		c.Await("a writer waits", func() bool {
			err := try(c.Node(at).URL(), "SET lock_timeout = '100ms'; UPDATE t SET v = 1 WHERE id BETWEEN 10 AND 20")
			var e *pgconn.PgError
			if err == nil {
				t.Fatalf("node %d is down: what was read can be written", down+1)
			}
			return errors.As(err, &e) && e.Code == "55P03" // others while there is no leader
		})
		c.Node(down + 1).Restart()
	}
	waits := make(chan error, 1)
	go func() { waits <- try(c.Node(2).URL(), "UPDATE t SET v = 1 WHERE id = 10") }()
	for end := time.Now().Add(Timeout); ; time.Sleep(10 * time.Millisecond) {
		if err := try(c.Node(3).URL(), "COMMIT PREPARED 'p'"); err == nil {
			break
		} else if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	if err := <-waits; err != nil {
		t.Fatal(err)
	}
	if n := count(t, c, 1, "t WHERE v = 10"); n != 28 {
		t.Fatalf("%d rows are as they were", n)
	}
}
