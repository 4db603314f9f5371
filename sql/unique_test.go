package sql_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestDeferredUniqueModel runs random transactions on a table whose UNIQUE is checked at the commit, and compares what they leave, and which of them
// are refused, with a model. u lies in a global index; (g, w) in a local one, where the policy's field g places rows.
func TestDeferredUniqueModel(t *testing.T) {
	for _, x := range []struct {
		fragments  int
		columns    string
		constraint string
	}{
		{1, "id int PRIMARY KEY, u int UNIQUE DEFERRABLE INITIALLY DEFERRED", "r_u_key"}, {3, "id int PRIMARY KEY, u int UNIQUE DEFERRABLE INITIALLY DEFERRED", "r_u_key"},
		{3, "id int UNIQUE, u int PRIMARY KEY DEFERRABLE INITIALLY DEFERRED", "r_pkey"},
	} {
		fragments := x.fragments
		t.Run(fmt.Sprint(fragments, " fragments ", x.constraint), func(t *testing.T) {
			a := newWorldOf(t, fragments).connect(t)
			a.want("CREATE TABLE r ("+x.columns+", w int UNIQUE DEFERRABLE)", "CREATE TABLE")
			rnd := rand.New(rand.NewPCG(uint64(fragments), 3))
			m, refused := map[int]int{}, 0
			for range 150 {
				next, saved := maps.Clone(m), map[int]int(nil)
				a.want("BEGIN", "BEGIN")
				for range 1 + rnd.IntN(7) {
					saved = deferredStep(a, rnd, next, saved)
				}
				us := map[int]bool{}
				for _, u := range next {
					us[u] = true
				}
				switch got := a.answer("COMMIT"); {
				case len(us) == len(next) && got == "COMMIT":
					m = next
				case len(us) < len(next) && strings.HasPrefix(got, `duplicate key value violates unique constraint "`+x.constraint+`" (SQLSTATE 23505): Key (u)=(`):
					refused++
				default:
					t.Fatalf("COMMIT of %v: %s", next, got)
				}
			}
			list := ""
			for id := range 12 {
				if u, ok := m[id]; ok {
					list += fmt.Sprintf("%d|%d\n", id, u)
				}
			}
			a.want("SELECT id, u FROM r ORDER BY id", fmt.Sprintf("%sSELECT %d", list, len(m)))
			if refused < 20 || refused > 130 {
				t.Errorf("%d of 150 were refused", refused)
			}
			a.checked()
		})
	}
}

// deferredStep runs a random statement and does to the model what it does; saved is what a savepoint has kept, nil: there is none.
func deferredStep(a *client, rnd *rand.Rand, m, saved map[int]int) map[int]int {
	id, u := rnd.IntN(12), rnd.IntN(9)
	_, there := m[id]
	switch n := rnd.IntN(9); {
	case n < 3 && !there:
		m[id] = u
		a.want(fmt.Sprintf("INSERT INTO r VALUES (%d, %d, %d)", id, u, id), "INSERT 0 1")
	case n < 6 && there:
		m[id] = u
		a.want(fmt.Sprintf("UPDATE r SET u = %d WHERE id = %d", u, id), "UPDATE 1")
	case n == 6:
		rows := 0
		for k, v := range m {
			if v == u {
				delete(m, k)
				rows++
			}
		}
		a.want(fmt.Sprintf("DELETE FROM r WHERE u = %d", u), fmt.Sprintf("DELETE %d", rows))
	case n == 7 && saved == nil:
		a.want("SAVEPOINT s", "SAVEPOINT")
		return maps.Clone(m)
	case n == 8 && saved != nil:
		a.want("ROLLBACK TO s", "ROLLBACK")
		clear(m)
		maps.Copy(m, saved)
	default:
		rows := 0
		for _, v := range m {
			if v == u {
				rows++
			}
		}
		a.want(fmt.Sprintf("SELECT count(*) FROM r WHERE u = %d", u), fmt.Sprintf("%d\nSELECT 1", rows))
	}
	return saved
}

// TestDeferredUniqueRaces: of two transactions that want one value the second waits for the first, and sees what it did.
func TestDeferredUniqueRaces(t *testing.T) {
	w := newWorld(t)
	a, b := w.connect(t), w.connect(t)
	const taken = `duplicate key value violates unique constraint "d_u_key" (SQLSTATE 23505): Key (u)=(1) already exists.`
	for _, end := range []string{"COMMIT", "ROLLBACK"} {
		a.answer("DROP TABLE IF EXISTS d")
		a.want("CREATE TABLE d (id int PRIMARY KEY, u int UNIQUE DEFERRABLE INITIALLY DEFERRED)", "CREATE TABLE")
		// Both insert it.
		a.want("BEGIN; INSERT INTO d VALUES (1, 1)", "BEGIN\nINSERT 0 1")
		b.want("BEGIN", "BEGIN")
		done := b.background(w, "INSERT INTO d VALUES (2, 1)")
		a.want(end, end)
		answers(t, done, "INSERT 0 1")
		if got := b.answer("COMMIT"); end == "COMMIT" && !strings.HasPrefix(got, taken) || end == "ROLLBACK" && got != "COMMIT" {
			t.Errorf("after %s: %s", end, got)
		}
		a.want("SELECT count(*) FROM d", "1\nSELECT 1")
		// One lets it go that the other takes.
		a.answer("DELETE FROM d; INSERT INTO d VALUES (1, 1)")
		a.want("BEGIN; UPDATE d SET u = 5 WHERE id = 1", "BEGIN\nUPDATE 1")
		b.want("BEGIN", "BEGIN")
		done = b.background(w, "INSERT INTO d VALUES (2, 1)")
		a.want(end, end)
		answers(t, done, "INSERT 0 1")
		if got := b.answer("COMMIT"); end == "COMMIT" && got != "COMMIT" || end == "ROLLBACK" && !strings.HasPrefix(got, taken) {
			t.Errorf("after %s: %s", end, got)
		}
		a.checked()
	}
	// PREPARE TRANSACTION checks what was deferred, and others see one row with the value.
	a.want("DELETE FROM d; BEGIN; INSERT INTO d VALUES (1, 1), (2, 1); DELETE FROM d WHERE id = 1; PREPARE TRANSACTION 'u'", "DELETE 1\nBEGIN\nINSERT 0 2\nDELETE 1\nPREPARE TRANSACTION")
	a.want("COMMIT PREPARED 'u'", "COMMIT PREPARED")
	b.want("SELECT id FROM d WHERE u = 1", "2\nSELECT 1")
	if got := b.answer("INSERT INTO d VALUES (3, 1)"); !strings.HasPrefix(got, taken) {
		t.Error(got)
	}
	a.checked()
}

// TestLookedFirst: a SERIALIZABLE transaction that has looked for a key, and inserts it, is told to try again where another one came first; who has not looked
// is told that it is taken.
func TestLookedFirst(t *testing.T) {
	w := newWorld(t)
	a, b := w.connect(t), w.connect(t)
	a.want("CREATE TABLE s (id int PRIMARY KEY, u text UNIQUE)", "CREATE TABLE")
	for look, insert := range map[string]string{
		"SELECT count(*) FROM s WHERE id = 1": "INSERT INTO s VALUES (1, 'x')", "SELECT count(*) FROM s WHERE u = 'x'": "INSERT INTO s VALUES (2, 'x')",
		"SELECT count(*) FROM s": "INSERT INTO s VALUES (1, 'y')",
	} {
		for _, level := range []string{"SERIALIZABLE", "REPEATABLE READ"} {
			a.answer("DELETE FROM s")
			b.want("BEGIN ISOLATION LEVEL "+level+"; "+look, "BEGIN\n0\nSELECT 1")
			a.want("INSERT INTO s VALUES (1, 'x')", "INSERT 0 1")
			got := b.answer(insert)
			if level == "SERIALIZABLE" != strings.Contains(got, "SQLSTATE 40001") || level != "SERIALIZABLE" && !strings.Contains(got, "SQLSTATE 23505") {
				t.Errorf("%s, %s: %s", level, look, got)
			}
			b.want("ROLLBACK", "ROLLBACK")
		}
	}
	a.answer("DELETE FROM s")
	b.want("BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT 1", "BEGIN\n1\nSELECT 1")
	a.want("INSERT INTO s VALUES (1, 'x')", "INSERT 0 1")
	if got := b.answer("INSERT INTO s VALUES (1, 'x')"); !strings.Contains(got, "SQLSTATE 23505") {
		t.Error(got)
	}
	b.want("ROLLBACK", "ROLLBACK")
}

// TestDoNothingLocksNothing: who finds a row there by ON CONFLICT DO NOTHING leaves it to others, at every level; a row that its snapshot has not is 40001.
func TestDoNothingLocksNothing(t *testing.T) {
	w := newWorld(t)
	a, b := w.connect(t), w.connect(t)
	a.want("CREATE TABLE s (id int PRIMARY KEY, u text UNIQUE, v int)", "CREATE TABLE")
	for _, level := range []string{"READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"} {
		for _, target := range []string{"", "(id)", "(u)"} {
			a.answer("DELETE FROM s; INSERT INTO s VALUES (1, 'x', 0)")
			b.want("BEGIN ISOLATION LEVEL "+level+"; SELECT 1; INSERT INTO s VALUES (1, 'x', 9) ON CONFLICT "+target+" DO NOTHING", "BEGIN\n1\nSELECT 1\nINSERT 0 0")
			a.want("SELECT id FROM s WHERE id = 1 FOR UPDATE NOWAIT", "1\nSELECT 1")
			b.want("COMMIT", "COMMIT")
			b.want("BEGIN ISOLATION LEVEL "+level+"; SELECT 1", "BEGIN\n1\nSELECT 1")
			a.want("UPDATE s SET v = v + 1", "UPDATE 1")
			got := b.answer("INSERT INTO s VALUES (1, 'x', 9) ON CONFLICT " + target + " DO NOTHING")
			if level == "READ COMMITTED" && got != "INSERT 0 0" || level != "READ COMMITTED" && !strings.Contains(got, "SQLSTATE 40001") {
				t.Errorf("%s %s: %s", level, target, got)
			}
			b.want("ROLLBACK", "ROLLBACK")
		}
	}
	a.checked()
}
