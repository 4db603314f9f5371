package sql_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestDeferredUniqueModel runs random transactions on a table whose UNIQUE constraint is checked at
// the commit. It compares the table, and which transactions are refused, with a model. u lies in a
// global index; (g, w) lies in a local one, where the policy's field g places rows.
func TestDeferredUniqueModel(t *testing.T) {
	for _, x := range []struct {
		fragments  int
		columns    string
		constraint string
	}{
		{1, "id int PRIMARY KEY, u int UNIQUE DEFERRABLE INITIALLY DEFERRED", "r_u_key"},
		{3, "id int PRIMARY KEY, u int UNIQUE DEFERRABLE INITIALLY DEFERRED", "r_u_key"},
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
				case len(us) < len(next) &&
					strings.HasPrefix(got,
						`duplicate key value violates unique `+
							`constraint "`+x.constraint+`" (SQLSTATE 23505): Key (u)=(`):
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

// deferredStep runs a random statement and makes the same change in the model; saved is the model
// at a savepoint, nil if there is none.
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
