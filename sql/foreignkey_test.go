package sql_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
)

// TestForeignKeyDeadlock: two sessions that wait for each other's rows because of foreign keys get
// 40P01.
func TestForeignKeyDeadlock(t *testing.T) {
	w := newWorld(t)
	a, b := w.connect(t), w.connect(t)
	a.want("CREATE TABLE p (id int PRIMARY KEY); CREATE TABLE c (id int PRIMARY KEY, p int REFERENCES p); "+
		"INSERT INTO p VALUES (1), (2)",
		"CREATE TABLE\nCREATE TABLE\nINSERT 0 2")
	for _, c := range []*client{a, b} {
		c.want("SET deadlock_timeout = '10ms'", "SET")
	}
	a.want("BEGIN; DELETE FROM p WHERE id = 1", "BEGIN\nDELETE 1")
	b.want("BEGIN; DELETE FROM p WHERE id = 2", "BEGIN\nDELETE 1")
	done := a.background(w, "INSERT INTO c VALUES (1, 2)")
	got := b.answer("INSERT INTO c VALUES (2, 1)")
	other := make(chan string, 1)
	go func() {
		answer := <-done
		other <- answer
	}()
	b.answer("ROLLBACK")
	if both := got + <-other; strings.Count(both, "40P01") != 1 ||
		!strings.Contains(both, "INSERT 0 1") && !strings.Contains(both, "is not present") {
		t.Errorf("one shall be told of the deadlock, and the other go on: %s", both)
	}
	a.answer("ROLLBACK")
	a.checked()
}

// TestForeignKeysHold: several sessions run random statements at all levels. Afterwards every
// reference has its row, and every total agrees.
func TestForeignKeysHold(t *testing.T) {
	w := newWorld(t)
	a := w.connect(t)
	for _, text := range []string{
		"CREATE TABLE p (id int PRIMARY KEY, u text UNIQUE)",
		"CREATE TABLE c1 (id int PRIMARY KEY, p int REFERENCES p, u text REFERENCES p (u) ON UPDATE CASCADE " +
			"ON DELETE SET NULL)",
		"CREATE TABLE c2 (id int PRIMARY KEY, p int REFERENCES p ON DELETE CASCADE ON UPDATE CASCADE, c int " +
			"REFERENCES c1 ON DELETE SET NULL ON UPDATE CASCADE)",
		"CREATE TABLE c3 (id int PRIMARY KEY, p int DEFAULT 0 REFERENCES p ON DELETE " +
			"SET DEFAULT DEFERRABLE INITIALLY DEFERRED, up int REFERENCES c3 ON DELETE CASCADE)",
		"CREATE INDEX ON c2 (p)",
	} {
		a.want(text, strings.Join(strings.Fields(text)[:2], " "))
	}
	a.want("INSERT INTO p SELECT g, 'u' || g FROM generate_series(0, 9) g", "INSERT 0 10")
	const sessions, rounds = 4, 60
	var wg sync.WaitGroup
	unknown := make(chan string, sessions*rounds)
	for n := range sessions {
		c, r := w.connect(t), rand.New(rand.NewPCG(7, uint64(n)))
		c.answer("SET deadlock_timeout = '5ms'")
		wg.Go(func() {
			for range rounds {
				c.answer("BEGIN ISOLATION LEVEL " +
					[]string{"READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"}[r.IntN(3)])
				for range 1 + r.IntN(3) {
					if got := c.answer(anyWrite(r)); !tolerable(got) {
						unknown <- got
					}
				}
				if got := c.answer([]string{"COMMIT", "COMMIT", "ROLLBACK"}[r.IntN(3)]); !tolerable(got) {
					unknown <- got
				}
				c.answer("ROLLBACK")
			}
		})
	}
	wg.Wait()
	close(unknown)
	for got := range unknown {
		t.Error(got)
	}
	a.checked()
	for _, k := range []string{"c1|p|p|id", "c1|u|p|u", "c2|p|p|id", "c2|c|c1|id", "c3|p|p|id", "c3|up|c3|id"} {
		f := strings.Split(k, "|")
		a.want(fmt.Sprintf("SELECT count(*) FROM %s c WHERE %s IS NOT NULL AND NOT EXISTS (SELECT FROM %s p "+
			"WHERE p.%s = c.%s)", f[0], f[1], f[2], f[3], f[1]), "0\nSELECT 1")
	}
	a.want(`SELECT count(*) FROM sherd.check() WHERE "check" = 'foreign key' AND ok`, "6\nSELECT 1")
}

// tolerable reports whether such a session may get an answer.
func tolerable(got string) bool {
	i := strings.Index(got, "SQLSTATE ")
	if i < 0 {
		return true
	}
	switch got[i+9 : i+14] {
	case "23503", "23505", "40001", "40P01", "25P02":
		return true
	}
	return false
}

func anyWrite(r *rand.Rand) string {
	k, j, id := r.IntN(12), r.IntN(12), r.IntN(30)
	return []string{
		fmt.Sprintf("INSERT INTO p VALUES (%d, 'u%d') ON CONFLICT DO NOTHING", k, k),
		fmt.Sprintf("DELETE FROM p WHERE id = %d", 1+k),
		fmt.Sprintf("DELETE FROM p WHERE id IN (%d, %d)", 1+k, 1+j),
		fmt.Sprintf("UPDATE p SET id = %d WHERE id = %d", 1+k, 1+j),
		fmt.Sprintf("UPDATE p SET u = 'u%d' WHERE id = %d", k, j),
		fmt.Sprintf("INSERT INTO c1 VALUES (%d, %d, 'u%d') ON CONFLICT (id) DO UPDATE SET p = excluded.p, "+
			"u = excluded.u", id, k, j),
		fmt.Sprintf("DELETE FROM c1 WHERE id = %d", id),
		fmt.Sprintf("UPDATE c1 SET id = %d WHERE id = %d", id, k),
		fmt.Sprintf("INSERT INTO c2 SELECT g, %d, (SELECT min(id) FROM c1) FROM generate_series(%d, %d) g "+
			"ON CONFLICT DO NOTHING", k, id, id+2),
		fmt.Sprintf("UPDATE c2 SET p = %d WHERE p = %d", k, j),
		fmt.Sprintf("INSERT INTO c3 VALUES (%d, %d, %d)", id, k, id-1),
		fmt.Sprintf("INSERT INTO c3 VALUES (%d, %d, NULL)", id, k),
		fmt.Sprintf("DELETE FROM c3 WHERE id = %d", id),
	}[r.IntN(13)]
}
