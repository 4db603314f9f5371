package nodetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/node"
)

// rows returns the result of a query, a line for each row.
func rows(ctx context.Context, db *pgx.Conn, query string) ([]string, error) {
	r, err := db.Query(ctx, query, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(r, func(row pgx.CollectableRow) (string, error) {
		v, err := row.Values()
		return fmt.Sprint(v...), err
	})
}

// followed waits until a node that does not lead serves stale reads of a query, and returns its
// session.
func followed(t *testing.T, c *Cluster, number uint32, query string) *pgx.Conn {
	t.Helper()
	db := c.Node(number).Connect(t)
	ctx := c.context()
	if _, err := db.Exec(ctx, "SET sherd.read_staleness = '1h'"); err != nil {
		t.Fatal(err)
	}
	var plan []string
	eventually.Holds(t, fmt.Sprintf("node %d reads by itself", number), func() bool {
		var err error
		plan, err = rows(ctx, db, "EXPLAIN ANALYZE "+query)
		return err == nil && strings.Contains(strings.Join(plan, "\n"), fmt.Sprintf("node n%d (follower)", number))
	})
	return db
}

// refusedWith reports whether an error has one of some SQLSTATEs.
func refusedWith(err error, codes ...string) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && strings.Contains(strings.Join(codes, " "), e.Code)
}

// TestFollowerReads: a follower serves reads that may be stale, and no others. If it is isolated
// from the leader, it serves none that are staler than allowed.
func TestFollowerReads(t *testing.T) {
	t.Parallel()
	c := Start(t, 3, func(_ uint32, cfg *node.Config) { cfg.Fragments = 1 })
	exec(t, c, 1, "CREATE TABLE acc (id int PRIMARY KEY, n int NOT NULL)")
	exec(t, c, 1, "INSERT INTO acc SELECT g, 1 FROM generate_series(1, 10) g")
	replicated(c, 3)
	ctx := c.context()
	leader := c.Node(1).Catalog().View().Database(5).Fragments[0].Nodes[0]
	number := leader%3 + 1
	const query = "SELECT sum(n) FROM acc"
	db := followed(t, c, number, query)
	must := func(want, text string) {
		t.Helper()
		got, err := rows(ctx, db, text)
		if err != nil || strings.Join(got, " ") != want {
			t.Fatalf("%s: %v, %v; want %s", text, got, err, want)
		}
	}
	must("10", query)
	must("", "SET sherd.read_staleness = '10s'")
	must("", "UPDATE acc SET n = 2 WHERE id = 1")
	must("11", query) // what the session has seen stays visible
	if _, err := rows(ctx, db, "SELECT * FROM acc FOR UPDATE"); !refusedWith(err, "0A000") {
		t.Errorf("FOR UPDATE: %v", err)
	}
	must("", "BEGIN")
	must("11", query)
	must("2", "SELECT n FROM acc WHERE id = 1 FOR UPDATE")
	must("", "ROLLBACK")
	must("", "BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY")
	must("11", query)
	exec(t, c, leader, "UPDATE acc SET n = 5 WHERE id = 1")
	must("11", query)
	must("", "COMMIT")
	for _, text := range []string{"off", "0", "1.5s", "1min"} {
		must("", "SET sherd.read_staleness = '"+text+"'")
	}
	if _, err := rows(ctx, db, "SET sherd.read_staleness = '-1s'"); !refusedWith(err, "22023") {
		t.Errorf("a negative staleness: %v", err)
	}

	other := 6 - leader - number
	c.Isolate(number)
	exec(t, c, other, "UPDATE acc SET n = 100")
	if got, err := rows(ctx, db, query); err != nil || got[0] != "11" && got[0] != "14" {
		t.Errorf("cut off, within a minute: %v, %v", got, err)
	}
	changed := time.Now()
	eventually.Holds(t, "what was before the change is older than allowed", func() bool { return time.Since(changed) > 100*time.Millisecond })
	must("", "SET sherd.read_staleness = '100ms'")
	must("", "SET statement_timeout = '3s'")
	if got, err := rows(ctx, db, query); !refusedWith(err, "57014", "57P03") {
		t.Errorf("cut off, it answers as of longer ago than it may: %v, %v", got, err)
	}
	c.Heal()
	eventually.Holds(t, "it answers again", func() bool {
		got, err := rows(ctx, db, query)
		if err == nil && got[0] != "1000" {
			t.Fatalf("it answers %v", got)
		}
		return err == nil
	})
}

// TestFollowerReadsDoNotWait: a reader does not wait until a follower has applied the entries up to
// its timestamp. The follower applies nothing, and the limit on the statement is shorter than the
// time for which a reader waits for a leader.
func TestFollowerReadsDoNotWait(t *testing.T) {
	t.Parallel()
	var gates [3]gate
	c := Start(t, 3, func(number uint32, cfg *node.Config) { cfg.Fragments, cfg.Knobs.AtStep = 1, gates[number-1].at })
	exec(t, c, 1, "CREATE TABLE acc (id int PRIMARY KEY, n int NOT NULL)")
	exec(t, c, 1, "INSERT INTO acc VALUES (1, 1)")
	replicated(c, 3)
	number := c.Node(1).Catalog().View().Database(5).Fragments[0].Nodes[0]%3 + 1
	const query = "SELECT n FROM acc"
	db := followed(t, c, number, query)
	ctx, n := c.context(), 1
	open := gates[number-1].close()
	t.Cleanup(open)
	if _, err := db.Exec(ctx, "SET statement_timeout = '1s'"); err != nil {
		t.Fatal(err)
	}
	eventually.Holds(t, "a reader sees its own write, at the leader", func() bool { // repeated in case the machine is slow
		n++
		if _, err := db.Exec(ctx, fmt.Sprintf("UPDATE acc SET n = %d", n)); err != nil {
			return false
		}
		got, err := rows(ctx, db, query)
		if err == nil && got[0] != fmt.Sprint(n) {
			t.Fatalf("it reads %v, not %d", got, n)
		}
		return err == nil
	})
	open()
	followed(t, c, number, query)
}

// TestReadsInTheZone: a node without a replica reads from the replica in its own zone if the leader
// is in another zone, and from the leader if that replica is gone.
func TestReadsInTheZone(t *testing.T) {
	t.Parallel()
	zones := []string{"", "a", "b", "b"}
	c := Start(t, 3, func(number uint32, cfg *node.Config) {
		cfg.Fragments, cfg.Replication, cfg.Labels = 1, 1, map[string]string{"zone": zones[number]}
	})
	exec(t, c, 1, "CREATE TABLE acc (id int PRIMARY KEY, n int NOT NULL)")
	exec(t, c, 1, "INSERT INTO acc SELECT g, 1 FROM generate_series(1, 10) g")
	exec(t, c, 1, "SELECT sherd.set_replication_factor('postgres', 2, 'postgres$0', nodes => '{n1,n2}')")
	replicated(c, 2)
	ctx, db := c.context(), c.Node(3).Connect(t)
	// What the session has seen stays visible later.
	for _, text := range []string{"SELECT sum(n) FROM acc", "SET sherd.read_staleness = '1h'"} {
		if _, err := db.Exec(ctx, text); err != nil {
			t.Fatal(err)
		}
	}
	leads := func(node string) bool {
		got, err := rows(ctx, c.Node(1).Connect(t), "SELECT leader FROM sherd.fragments WHERE fragment = 'postgres$0'")
		return err == nil && len(got) == 1 && got[0] == node
	}
	read := func(by string) {
		t.Helper()
		eventually.Holds(t, "node 3 reads by "+by, func() bool {
			plan, err := rows(ctx, db, "EXPLAIN ANALYZE SELECT sum(n) FROM acc")
			return err == nil && strings.Contains(strings.Join(plan, "\n"), by)
		})
		if got, err := rows(ctx, db, "SELECT sum(n) FROM acc"); err != nil || got[0] != "10" {
			t.Fatalf("by %s: %v, %v", by, got, err)
		}
	}
	eventually.Holds(t, "node 1 leads", func() bool { return leads("n1") })
	read("node n2 (follower)")
	exec(t, c, 1, "SELECT sherd.set_replication_factor('postgres', 1, 'postgres$0', nodes => '{n1}')")
	replicated(c, 1)
	read("node n1")
}

// TestFollowersAgree: at one timestamp all nodes return the same result, whichever replica leads,
// while transactions over all fragments run on all nodes. A stale result is a state that existed.
func TestFollowersAgree(t *testing.T) {
	t.Parallel()
	c := Start(t, 3, func(_ uint32, cfg *node.Config) { cfg.Fragments = 3 })
	exec(t, c, 1, "CREATE TABLE acc (id int PRIMARY KEY, n int NOT NULL)")
	exec(t, c, 1, "INSERT INTO acc SELECT g, 10 FROM generate_series(1, 30) g")
	replicated(c, 3)
	const sum = 300
	for n := uint32(1); n <= 3; n++ {
		followed(t, c, n, "SELECT count(*) FROM acc")
	}
	began := time.Now().Add(time.Millisecond)
	ctx, cancel := context.WithCancel(c.context())
	var writers sync.WaitGroup
	for n := uint32(1); n <= 3; n++ {
		db := c.Node(n).Connect(t)
		writers.Go(func() {
			for i := int(n); ctx.Err() == nil; i += 7 {
				from, to := i%30+1, (i*11+5)%30+1
				_, _ = db.Exec(ctx, fmt.Sprintf("BEGIN; UPDATE acc SET n = n - 1 WHERE id = %d; UPDATE acc SET n = n + 1 WHERE id = %d; COMMIT", from, to))
				if db.PgConn().TxStatus() != 'I' && ctx.Err() == nil {
					_, _ = db.Exec(ctx, "ROLLBACK")
				}
			}
		})
	}
	defer func() {
		cancel()
		writers.Wait()
	}()
	var readers []*pgx.Conn
	for n := uint32(1); n <= 3; n++ {
		readers = append(readers, c.Node(n).Connect(t))
	}
	for i := range 40 {
		when := time.Now().Add(-time.Duration(i*i%500) * time.Millisecond)
		if when.Before(began) { // the nodes do not know the table at that time
			when = began
		}
		at := when.UTC().Format("2006-01-02 15:04:05.000Z")
		var want []string
		for n, db := range readers {
			_, err := db.Exec(ctx, "BEGIN; SET LOCAL sherd.as_of = '"+at+"'")
			var got []string
			if err == nil {
				got, err = rows(ctx, db, "SELECT id, n FROM acc ORDER BY id")
			}
			if err == nil {
				_, err = db.Exec(ctx, "COMMIT")
			}
			if err != nil {
				t.Fatalf("node %d as of %s: %v", n+1, at, err)
			}
			if want == nil {
				want = got
			}
			if len(got) != 30 || strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Fatalf("as of %s node %d answers\n%v\nand node 1\n%v", at, n+1, got, want)
			}
			got, err = rows(ctx, db, fmt.Sprintf("SET sherd.read_staleness = '%dms'", 1+i*5))
			if err == nil {
				got, err = rows(ctx, db, "SELECT sum(n) FROM acc")
			}
			if err != nil || got[0] != fmt.Sprint(sum) {
				t.Fatalf("node %d counts %v, %v", n+1, got, err)
			}
		}
	}
}

// TestFollowersAfterMoves: entries that a range left in a local index before it was moved away and
// back are not taken for present ones by followers. Each statement leaves the number of rows per
// value unchanged, so every result must be the same, at any timestamp.
func TestFollowersAfterMoves(t *testing.T) {
	t.Parallel()
	c := Start(t, 3, func(_ uint32, cfg *node.Config) { cfg.Fragments = 2 })
	exec(t, c, 1, "CREATE TABLE acc (id int PRIMARY KEY, k int NOT NULL)")
	exec(t, c, 1, "CREATE INDEX ON acc (k)")
	exec(t, c, 1, "INSERT INTO acc SELECT g, g % 10 FROM generate_series(1, 400) g")
	replicated(c, 3)
	const query = "SELECT count(*) FROM acc WHERE k = 3"
	ctx := c.context()
	var readers []*pgx.Conn
	for n := uint32(1); n <= 3; n++ {
		db := followed(t, c, n, query)
		if _, err := db.Exec(ctx, "SET sherd.read_staleness = '10s'"); err != nil {
			t.Fatal(err)
		}
		readers = append(readers, db)
	}
	look := func(when string) {
		t.Helper()
		for i, db := range readers {
			for range 5 {
				if got, err := rows(ctx, db, query); err != nil || got[0] != "40" {
					t.Fatalf("%s, node %d answers %v, %v", when, i+1, got, err)
				}
			}
		}
	}
	plan, err := rows(ctx, readers[0], "EXPLAIN "+query)
	if err != nil || !strings.Contains(strings.Join(plan, "\n"), "acc_k_idx") {
		t.Fatalf("not by the index: %v, %v", plan, err)
	}
	for round := range 2 {
		for _, to := range []string{"postgres$1", "postgres$0"} {
			moved(t, c, 2, to)
			look(fmt.Sprintf("round %d, in %s", round, to))
			exec(t, c, 3, "UPDATE acc SET k = (k + 1) % 10")
			look(fmt.Sprintf("round %d, changed in %s", round, to))
		}
	}
}

// TestPastOfATableNotUsedYet: the past of a table can be read on a node that has not used the table
// before.
func TestPastOfATableNotUsedYet(t *testing.T) {
	t.Parallel()
	c := Start(t, 2, func(_ uint32, cfg *node.Config) { cfg.Fragments, cfg.Replication = 1, 1 })
	n := 0
	eventually.Holds(t, "the past of a table is read by its first statement at a node", func() bool {
		n++
		exec(t, c, 1, fmt.Sprintf("CREATE TABLE t%d (id int PRIMARY KEY)", n))
		exec(t, c, 1, fmt.Sprintf("INSERT INTO t%d VALUES (1)", n))
		db := c.Node(2).Connect(t)
		now, err := rows(t.Context(), db, "SELECT clock_timestamp()::text")
		if err == nil {
			_, err = db.Exec(t.Context(), "SET sherd.as_of = '"+now[0]+"'")
		}
		if err != nil {
			t.Fatal(err)
		}
		got, err := rows(t.Context(), db, fmt.Sprintf("SELECT id FROM t%d", n))
		if err != nil && !refusedWith(err, "72000") {
			t.Fatal(err)
		}
		return err == nil && len(got) == 1
	})
}
