package sql_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
)

// TestForeignKeyRaces plays two sessions that write a referenced row and one that refers to it, in both orders. The tables are parent 1..4 and
// child, empty; k refers to parent by the rule of the case.
func TestForeignKeyRaces(t *testing.T) {
	w := newWorld(t)
	const (
		present = `insert or update on table "c" violates foreign key constraint "k" (SQLSTATE 23503): Key (p)=(1) is not present in table "p".`
		still   = `update or delete on table "p" violates foreign key constraint "k" on table "c" (SQLSTATE 23503): Key (id)=(1) is still referenced from table "c".`
	)
	for _, c := range []struct {
		name, rule, before       string
		first, then              string
		committed, undone, after string // what then answers, and what is in child after the commit
	}{
		{"deleted while inserted", "", "", "DELETE FROM p WHERE id = 1", "INSERT INTO c VALUES (1, 1)", present, "INSERT 0 1", "SELECT 0"},
		{"inserted while deleted", "", "", "INSERT INTO c VALUES (1, 1)", "DELETE FROM p WHERE id = 1", still, "DELETE 1", "1|1\nSELECT 1"},
		{"key changed while inserted", "", "", "UPDATE p SET id = 9 WHERE id = 1", "INSERT INTO c VALUES (1, 1)", present, "INSERT 0 1", "SELECT 0"},
		{"inserted while key changed", "", "", "INSERT INTO c VALUES (1, 1)", "UPDATE p SET id = 9 WHERE id = 1", still, "UPDATE 1", "1|1\nSELECT 1"},
		{"updated to while deleted", "", "INSERT INTO c VALUES (1, 2)", "UPDATE c SET p = 1", "DELETE FROM p WHERE id = 1", still, "DELETE 1", "1|1\nSELECT 1"},
		{"deleted with what refers", "", "INSERT INTO c VALUES (1, 1)", "DELETE FROM c", "DELETE FROM p WHERE id = 1", "DELETE 1", still, "SELECT 0"},
		{"cascade to what is inserted", "ON DELETE CASCADE", "", "INSERT INTO c VALUES (1, 1)", "DELETE FROM p WHERE id = 1", "DELETE 1", "DELETE 1", "SELECT 0"},
		{"inserted beside a cascade", "ON DELETE CASCADE", "", "DELETE FROM p WHERE id = 1", "INSERT INTO c VALUES (1, 1)", present, "INSERT 0 1", "SELECT 0"},
		{"cascade to what is changed", "ON DELETE CASCADE", "INSERT INTO c VALUES (1, 1)", "UPDATE c SET v = 5", "DELETE FROM p WHERE id = 1", "DELETE 1", "DELETE 1", "SELECT 0"},
		{"cascade to what is moved away", "ON DELETE CASCADE", "INSERT INTO c VALUES (1, 1)", "UPDATE c SET p = 2", "DELETE FROM p WHERE id = 1", "DELETE 1", "DELETE 1", "1|2\nSELECT 1"},
		{"key passed on to what is inserted", "ON UPDATE CASCADE", "", "INSERT INTO c VALUES (1, 1)", "UPDATE p SET id = 9 WHERE id = 1", "UPDATE 1", "UPDATE 1", "1|9\nSELECT 1"},
		{"set null in what is inserted", "ON DELETE SET NULL", "", "INSERT INTO c VALUES (1, 1)", "DELETE FROM p WHERE id = 1", "DELETE 1", "DELETE 1", "1|null\nSELECT 1"},
		{"restrict", "ON DELETE RESTRICT", "", "INSERT INTO c VALUES (1, 1)", "DELETE FROM p WHERE id = 1", still, "DELETE 1", "1|1\nSELECT 1"},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			a, b := w.connect(t), w.connect(t)
			for _, end := range []string{"COMMIT", "ROLLBACK"} {
				a.answer("DROP TABLE IF EXISTS c, p")
				a.want("CREATE TABLE p (id int PRIMARY KEY, v int)", "CREATE TABLE")
				a.want("CREATE TABLE c (id int PRIMARY KEY, p int CONSTRAINT k REFERENCES p "+c.rule+", v int)", "CREATE TABLE")
				a.want("INSERT INTO p SELECT g, g FROM generate_series(1, 4) g", "INSERT 0 4")
				if c.before != "" {
					a.want(c.before, "INSERT 0 1")
				}
				a.answer("BEGIN")
				a.answer(c.first)
				done := b.background(w, c.then)
				a.want(end, end)
				if end == "COMMIT" {
					answers(t, done, c.committed)
					a.want("SELECT id, p FROM c", c.after)
				} else {
					answers(t, done, c.undone)
				}
				a.checked()
			}
		})
	}
}

// TestForeignKeyLevels: the look for a referenced row is the transaction's own; what refers to a row that goes is looked for in the newest state, and
// what the transaction does not see is not changed behind its back.
func TestForeignKeyLevels(t *testing.T) {
	w := newWorld(t)
	a, b := w.connect(t), w.connect(t)
	a.want("CREATE TABLE p (id int PRIMARY KEY, v int); CREATE TABLE c (id int PRIMARY KEY, p int REFERENCES p); CREATE TABLE d (id int PRIMARY KEY, p int REFERENCES p ON DELETE CASCADE ON UPDATE SET NULL)",
		"CREATE TABLE\nCREATE TABLE\nCREATE TABLE")
	const present = `insert or update on table "c" violates foreign key constraint "c_p_fkey" (SQLSTATE 23503): Key (p)=(%d) is not present in table "p".`
	for i, level := range []string{"REPEATABLE READ", "SERIALIZABLE"} {
		first := func(text, want string) { // while b has its snapshot
			t.Helper()
			a.answer("DELETE FROM c; DELETE FROM d; DELETE FROM p; INSERT INTO p SELECT g, g FROM generate_series(1, 4) g")
			b.want("BEGIN ISOLATION LEVEL "+level+"; SELECT count(*) FROM c", "BEGIN\n0\nSELECT 1")
			a.want(text, want)
		}
		first("INSERT INTO p VALUES (10)", "INSERT 0 1")
		b.want("INSERT INTO c VALUES (1, 10)", fmt.Sprintf(present, 10))
		b.want("ROLLBACK", "ROLLBACK")
		first("DELETE FROM p WHERE id = 1", "DELETE 1")
		conflict(b, "INSERT INTO c VALUES (1, 1)")
		first("INSERT INTO c VALUES (1, 1)", "INSERT 0 1")
		b.want("DELETE FROM p WHERE id = 1", `update or delete on table "p" violates foreign key constraint "c_p_fkey" on table "c" (SQLSTATE 23503): Key (id)=(1) is still referenced from table "c".`)
		b.want("ROLLBACK", "ROLLBACK")
		first("INSERT INTO d VALUES (1, 1)", "INSERT 0 1")
		conflict(b, "DELETE FROM p WHERE id = 1")
		first("INSERT INTO d VALUES (1, 1)", "INSERT 0 1")
		conflict(b, "UPDATE p SET id = 9 WHERE id = 1")
		// A referenced row may change in what is no key, at every level.
		first("SELECT 1", "1\nSELECT 1")
		b.want(fmt.Sprintf("INSERT INTO c VALUES (%d, 1)", i+5), "INSERT 0 1")
		a.want("UPDATE p SET v = v + 1 WHERE id = 1", "UPDATE 1")
		b.want("COMMIT", "COMMIT")
		a.checked()
	}
}

func conflict(c *client, text string) {
	c.t.Helper()
	if got := c.answer(text); !strings.Contains(got, "SQLSTATE 40001") {
		c.t.Errorf("%s: %s", text, got)
	}
	c.want("ROLLBACK", "ROLLBACK")
}

// TestForeignKeyDeadlock: two who wait for each other's rows by their foreign keys are found.
func TestForeignKeyDeadlock(t *testing.T) {
	w := newWorld(t)
	a, b := w.connect(t), w.connect(t)
	a.want("CREATE TABLE p (id int PRIMARY KEY); CREATE TABLE c (id int PRIMARY KEY, p int REFERENCES p); INSERT INTO p VALUES (1), (2)",
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
	if both := got + <-other; strings.Count(both, "40P01") != 1 || !strings.Contains(both, "INSERT 0 1") && !strings.Contains(both, "is not present") {
		t.Errorf("one shall be told of the deadlock, and the other go on: %s", both)
	}
	a.answer("ROLLBACK")
	a.checked()
}

// TestDeferredForeignKeys: checks at the commit wait for others, and hold what the others have done against the commit.
func TestDeferredForeignKeys(t *testing.T) {
	w := newWorld(t)
	a, b := w.connect(t), w.connect(t)
	a.want("CREATE TABLE p (id int PRIMARY KEY); CREATE TABLE c (id int PRIMARY KEY, p int REFERENCES p DEFERRABLE INITIALLY DEFERRED); INSERT INTO p VALUES (1), (2)",
		"CREATE TABLE\nCREATE TABLE\nINSERT 0 2")
	present := func(k int) string {
		return fmt.Sprintf(`insert or update on table "c" violates foreign key constraint "c_p_fkey" (SQLSTATE 23503): Key (p)=(%d) is not present in table "p".`, k)
	}
	b.want("BEGIN; INSERT INTO c VALUES (1, 5)", "BEGIN\nINSERT 0 1")
	a.want("INSERT INTO p VALUES (5)", "INSERT 0 1")
	b.want("COMMIT", "COMMIT")
	b.want("BEGIN; INSERT INTO c VALUES (2, 1)", "BEGIN\nINSERT 0 1")
	a.want("BEGIN; DELETE FROM p WHERE id = 1", "BEGIN\nDELETE 1")
	done := b.background(w, "COMMIT")
	a.want("COMMIT", "COMMIT")
	answers(t, done, present(1))
	b.want("SELECT count(*) FROM c", "1\nSELECT 1")
	a.want("BEGIN; DELETE FROM p WHERE id = 2", "BEGIN\nDELETE 1")
	done = b.background(w, "INSERT INTO c VALUES (3, 2)")
	a.want("COMMIT", "COMMIT")
	answers(t, done, present(2))
	a.want("BEGIN; DELETE FROM p WHERE id = 5; INSERT INTO p VALUES (5); PREPARE TRANSACTION 'back'",
		"BEGIN\nDELETE 1\nINSERT 0 1\nPREPARE TRANSACTION")
	a.want("COMMIT PREPARED 'back'", "COMMIT PREPARED")
	a.want("BEGIN; INSERT INTO c VALUES (9, 9); PREPARE TRANSACTION 'never'", "BEGIN\nINSERT 0 1\n"+present(9))
	a.want("SELECT count(*) FROM pg_prepared_xacts", "0\nSELECT 1")
	a.checked()
}

// TestForeignKeysHold: several sessions do anything at once, at all levels; what is left refers to what is there, and every total agrees.
func TestForeignKeysHold(t *testing.T) {
	w := newWorld(t)
	a := w.connect(t)
	for _, text := range []string{
		"CREATE TABLE p (id int PRIMARY KEY, u text UNIQUE)",
		"CREATE TABLE c1 (id int PRIMARY KEY, p int REFERENCES p, u text REFERENCES p (u) ON UPDATE CASCADE ON DELETE SET NULL)",
		"CREATE TABLE c2 (id int PRIMARY KEY, p int REFERENCES p ON DELETE CASCADE ON UPDATE CASCADE, c int REFERENCES c1 ON DELETE SET NULL ON UPDATE CASCADE)",
		"CREATE TABLE c3 (id int PRIMARY KEY, p int DEFAULT 0 REFERENCES p ON DELETE SET DEFAULT DEFERRABLE INITIALLY DEFERRED, up int REFERENCES c3 ON DELETE CASCADE)",
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
				c.answer("BEGIN ISOLATION LEVEL " + []string{"READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"}[r.IntN(3)])
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
		a.want(fmt.Sprintf("SELECT count(*) FROM %s c WHERE %s IS NOT NULL AND NOT EXISTS (SELECT FROM %s p WHERE p.%s = c.%s)", f[0], f[1], f[2], f[3], f[1]), "0\nSELECT 1")
	}
	a.want(`SELECT count(*) FROM sherd.check() WHERE "check" = 'foreign key' AND ok`, "6\nSELECT 1")
}

// tolerable tells whether an answer is one that such sessions may get.
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
		fmt.Sprintf("INSERT INTO c1 VALUES (%d, %d, 'u%d') ON CONFLICT (id) DO UPDATE SET p = excluded.p, u = excluded.u", id, k, j),
		fmt.Sprintf("DELETE FROM c1 WHERE id = %d", id),
		fmt.Sprintf("UPDATE c1 SET id = %d WHERE id = %d", id, k),
		fmt.Sprintf("INSERT INTO c2 SELECT g, %d, (SELECT min(id) FROM c1) FROM generate_series(%d, %d) g ON CONFLICT DO NOTHING", k, id, id+2),
		fmt.Sprintf("UPDATE c2 SET p = %d WHERE p = %d", k, j),
		fmt.Sprintf("INSERT INTO c3 VALUES (%d, %d, %d)", id, k, id-1),
		fmt.Sprintf("INSERT INTO c3 VALUES (%d, %d, NULL)", id, k),
		fmt.Sprintf("DELETE FROM c3 WHERE id = %d", id),
	}[r.IntN(13)]
}

// TestManyForeignKeys: a large INSERT settles keys while it runs; rows may come before those that they refer to.
func TestManyForeignKeys(t *testing.T) {
	w := newWorld(t)
	a := w.connect(t)
	a.want("CREATE TABLE p (id int PRIMARY KEY); CREATE TABLE c (id int PRIMARY KEY, p int REFERENCES p, up int REFERENCES c)", "CREATE TABLE\nCREATE TABLE")
	a.want("INSERT INTO p SELECT g FROM generate_series(1, 3000) g", "INSERT 0 3000")
	a.want("INSERT INTO c SELECT g, g, 6001 - g FROM generate_series(1, 6000) g",
		`insert or update on table "c" violates foreign key constraint "c_p_fkey" (SQLSTATE 23503): Key (p)=(3001) is not present in table "p".`)
	a.want("INSERT INTO c SELECT g, 1 + g % 3000, 6001 - g FROM generate_series(1, 6000) g", "INSERT 0 6000")
	a.want("INSERT INTO c SELECT g, NULL, 2 * g FROM generate_series(6001, 12000) g",
		`insert or update on table "c" violates foreign key constraint "c_up_fkey" (SQLSTATE 23503): Key (up)=(12002) is not present in table "c".`)
	a.want("DELETE FROM p WHERE id > 2900",
		`update or delete on table "p" violates foreign key constraint "c_p_fkey" on table "c" (SQLSTATE 23503): Key (id)=(2901) is still referenced from table "c".`)
	a.want("DELETE FROM c WHERE id > 100 AND id < 5901", "DELETE 5800")
	a.want("DELETE FROM p WHERE id > 101 AND id < 2900", "DELETE 2798")
	a.checked()
}
