package sql_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
)

// checked fails unless sherd.check() finds no fault and checks at least one index.
func (c *client) checked() {
	c.t.Helper()
	c.want("SELECT * FROM sherd.check() WHERE NOT ok", "SELECT 0")
	if got := c.answer(`SELECT count(*) > 0 FROM sherd.check() WHERE "check" = 'index'`); got != "t\nSELECT 1" {
		c.t.Errorf("indexes are not checked: %s", got)
	}
}

// thing is a row of the model's table: k is the primary key, u unique, w unique where v is 0.
type thing struct{ u, v, w int }

// model is what the table of TestIndexModel must hold.
type model map[int]thing

// with returns the model after a change; ok is false if the change violates a unique index.
func (m model) with(change func(model)) (model, bool) {
	next := maps.Clone(m)
	change(next)
	us, ws := map[int]bool{}, map[int]bool{}
	for _, x := range next {
		if us[x.u] || x.v == 0 && ws[x.w] {
			return m, false
		}
		us[x.u] = true
		if x.v == 0 {
			ws[x.w] = true
		}
	}
	return next, true
}

func (m model) list(keep func(k int, x thing) bool) string {
	var ks []int
	for k, x := range m {
		if keep(k, x) {
			ks = append(ks, k)
		}
	}
	slices.Sort(ks)
	out := ""
	for _, k := range ks {
		out += fmt.Sprintf("%d|%d|%d|%d\n", k, m[k].u, m[k].v, m[k].w)
	}
	return out + fmt.Sprintf("SELECT %d", len(ks))
}

// step makes a random statement: its text, and its effect on the model. clash reports that an
// existing key is an error.
func step(r *rand.Rand, m model) (text string, change func(model), clash bool) {
	k, u, v, w := r.IntN(60), r.IntN(40), r.IntN(4), r.IntN(20)
	x, old := thing{u, v, w}, m[k]
	_, there := m[k]
	switch r.IntN(8) {
	case 0, 1:
		return fmt.Sprintf("INSERT INTO r VALUES (%d, %d, %d, %d)", k, u, v, w), func(m model) { m[k] = x }, there
	case 2:
		return fmt.Sprintf("DELETE FROM r WHERE v = %d AND w < %d", v, w), func(m model) {
			maps.DeleteFunc(m, func(_ int, y thing) bool { return y.v == v && y.w < w })
		}, false
	case 3:
		return fmt.Sprintf("UPDATE r SET v = %d, w = w + 1 WHERE u = %d", v, u), func(m model) {
			for k, y := range m {
				if y.u == u {
					m[k] = thing{y.u, v, y.w + 1}
				}
			}
		}, false
	case 4: // values are exchanged, keys moved
		return fmt.Sprintf("UPDATE r SET u = 39 - u, k = k + 100 WHERE k < %d", k), func(m model) {
				moved := model{}
				for key, y := range m {
					if key < k {
						moved[key+100] = thing{39 - y.u, y.v, y.w}
						delete(m, key)
					}
				}
				maps.Copy(m, moved)
			}, slices.ContainsFunc(slices.Collect(maps.Keys(m)), func(key int) bool {
				_, taken := m[key+100]
				return key < k && taken
			})
	case 5:
		return fmt.Sprintf("UPDATE r SET u = u + 1 WHERE k = %d", k), func(m model) {
			if there {
				m[k] = thing{old.u + 1, old.v, old.w}
			}
		}, false
	case 6:
		text := fmt.Sprintf("INSERT INTO r VALUES (%d, %d, %d, %d) ON CONFLICT (u) DO UPDATE SET v = excluded.v, "+
			"w = r.w + 1", k, u, v, w)
		for key, y := range m {
			if y.u == u {
				return text, func(m model) { m[key] = thing{u, v, y.w + 1} }, false
			}
		}
		return text, func(m model) { m[k] = x }, there
	}
	text = fmt.Sprintf("INSERT INTO r VALUES (%d, %d, %d, %d) ON CONFLICT DO NOTHING", k, u, v, w)
	if _, ok := m.with(func(m model) { m[k] = x }); there || !ok {
		return text, func(model) {}, false
	}
	return text, func(m model) { m[k] = x }, false
}

// TestIndexModel runs random statements over tables with local, global and partial unique indexes
// on 1, 3 and 8 fragments. It compares the answers, found by each index, with a model. At the end
// sherd.check() proves the indexes.
func TestIndexModel(t *testing.T) {
	for _, fragments := range []int{1, 3, 8} {
		t.Run(fmt.Sprint(fragments), func(t *testing.T) {
			r := rand.New(rand.NewPCG(7, 11))
			c := newWorldOf(t, fragments).connect(t)
			c.want("CREATE TABLE r (k int PRIMARY KEY, u int UNIQUE, v int, w int)", "CREATE TABLE")
			c.want("CREATE INDEX r_vw ON r (v, w DESC)", "CREATE INDEX")
			c.want("CREATE INDEX r_uv ON r ((u + v)) WITH (scope = global)", "CREATE INDEX")
			c.want("CREATE UNIQUE INDEX r_w ON r (w) WHERE v = 0", "CREATE INDEX")
			m := model{}
			for i := range 400 {
				before := m
				undo := r.IntN(5) == 0
				if undo {
					c.answer("BEGIN")
				}
				text, change, clash := step(r, m)
				next, ok := m.with(change)
				got := c.answer(text)
				if failed := strings.Contains(got, "23505"); failed == (ok && !clash) {
					t.Fatalf("statement %d: %s\n%s\nthe model allows it: %v", i, text, got, ok && !clash)
				}
				if ok && !clash {
					m = next
				}
				if undo {
					c.answer("ROLLBACK")
					m = before
				}
				compare(c, m, r)
				if t.Failed() {
					t.Fatalf("after statement %d: %s", i, text)
				}
			}
			c.checked()
		})
	}
}

// compare looks rows up by each index.
func compare(c *client, m model, r *rand.Rand) {
	c.t.Helper()
	u, v, w := r.IntN(40), r.IntN(4), r.IntN(20)
	c.want(fmt.Sprintf("SELECT * FROM r WHERE u IN (%d, %d) ORDER BY k", u, u+1), m.list(func(_ int, x thing) bool {
		return x.u == u || x.u == u+1
	}))
	c.want(fmt.Sprintf("SELECT * FROM r WHERE v = %d AND w > %d AND w <= %d ORDER BY k", v, w, w+5),
		m.list(func(_ int, x thing) bool { return x.v == v && x.w > w && x.w <= w+5 }))
	c.want(fmt.Sprintf("SELECT * FROM r WHERE u + v = %d ORDER BY k", u), m.list(func(_ int, x thing) bool {
		return x.u+x.v == u
	}))
	c.want(fmt.Sprintf("SELECT * FROM r WHERE w = %d AND v = 0 ORDER BY k", w), m.list(func(_ int, x thing) bool {
		return x.v == 0 && x.w == w
	}))
}

// TestUniqueRaces: many sessions insert the same values at once, over all fragments; for each value
// one session wins.
func TestUniqueRaces(t *testing.T) {
	w := newWorld(t)
	a := w.connect(t)
	a.want("CREATE TABLE races (id text PRIMARY KEY, doc jsonb)", "CREATE TABLE")
	a.want("CREATE UNIQUE INDEX races_mail ON races ((doc ->> 'Mail'))", "CREATE INDEX")
	const sessions, values = 6, 20
	won := make([]int, values)
	var mu sync.Mutex
	var all sync.WaitGroup
	for s := range sessions {
		c := w.connect(t)
		all.Go(func() {
			for v := range values {
				got := c.answer(fmt.Sprintf(`INSERT INTO races VALUES ('r/%d-%d', '{"Mail": "m%d"}')`, s, v, v))
				switch {
				case got == "INSERT 0 1":
					mu.Lock()
					won[v]++
					mu.Unlock()
				case !strings.Contains(got, `unique constraint "races_mail" (SQLSTATE 23505)`):
					t.Error(got)
				}
			}
		})
	}
	all.Wait()
	for v, n := range won {
		if n != 1 {
			t.Errorf("value %d was inserted %d times", v, n)
		}
	}
	a.want("SELECT count(*) FROM races", fmt.Sprintf("%d\nSELECT 1", values))
	a.checked()
}

// TestUniqueWaits: a session that wants a value that another transaction has inserted or deleted
// waits for the end of that transaction.
func TestUniqueWaits(t *testing.T) {
	w := newWorld(t)
	a, b := w.connect(t), w.connect(t)
	const taken = `duplicate key value violates unique constraint "waits_mail_key" (SQLSTATE 23505): Key (mail)=(x) ` +
		`already exists.`
	a.want("CREATE TABLE waits (id int PRIMARY KEY, mail text UNIQUE)", "CREATE TABLE")
	a.want("BEGIN; INSERT INTO waits VALUES (1, 'x')", "BEGIN\nINSERT 0 1")
	done := b.background(w, "INSERT INTO waits VALUES (2, 'x')")
	a.want("COMMIT", "COMMIT")
	if got := <-done; masked(got) != taken+" Transaction N wrote it, which committed at TIME, "+
		"while this one waited for it." {
		t.Error(got)
	}
	a.want("BEGIN; DELETE FROM waits", "BEGIN\nDELETE 1")
	done = b.background(w, "INSERT INTO waits VALUES (3, 'x')")
	a.want("COMMIT", "COMMIT")
	answers(t, done, "INSERT 0 1")
	a.want("BEGIN; UPDATE waits SET mail = 'y'", "BEGIN\nUPDATE 1")
	done = b.background(w, "INSERT INTO waits VALUES (4, 'x')")
	a.want("ROLLBACK", "ROLLBACK")
	answers(t, done, taken)
	a.want("BEGIN; INSERT INTO waits VALUES (5, 'z')", "BEGIN\nINSERT 0 1")
	done = b.background(w,
		"INSERT INTO waits VALUES (6, 'z') ON CONFLICT (mail) DO UPDATE SET mail = 'zz' RETURNING id")
	a.want("COMMIT", "COMMIT")
	answers(t, done, "5\nINSERT 0 1")
	a.want("SELECT * FROM waits ORDER BY id", "3|x\n5|zz\nSELECT 2")
	a.checked()
}

// TestIndexDefinitions: an index over existing rows is created in a transaction and dropped again.
// Its entries are deleted and nothing dangles.
func TestIndexDefinitions(t *testing.T) {
	w := newWorld(t)
	a, b := w.connect(t), w.connect(t)
	a.want("CREATE TABLE d (id int PRIMARY KEY, v int, w text)", "CREATE TABLE")
	a.want("INSERT INTO d SELECT g, g % 50, 'w' || g FROM generate_series(1, 500) g", "INSERT 0 500")
	if got := a.answer("CREATE UNIQUE INDEX ON d (v)"); !strings.HasPrefix(got,
		`could not create unique index "d_v_idx" (SQLSTATE 23505): Key (v)=(`) {
		t.Error(got)
	}
	a.want("CREATE INDEX ON d (v); ALTER TABLE d ADD UNIQUE (w)", "CREATE INDEX\nALTER TABLE")
	a.want("BEGIN; CREATE INDEX gone ON d (w, v) WITH (scope = global); INSERT INTO d VALUES (501, 1, 'new'); ROLLBACK",
		"BEGIN\nCREATE INDEX\nINSERT 0 1\nROLLBACK")
	b.want("SELECT id FROM d WHERE w = 'w77'", "77\nSELECT 1")
	b.want("SELECT count(*) FROM d WHERE v = 7", "10\nSELECT 1")
	a.checked()
	a.want("SELECT * FROM sherd.check_index('d_w_key')", "index|public.d_w_key|t|500 entries\nSELECT 1")
	a.want("SELECT * FROM sherd.check_index('d_pkey')", "index|public.d|t|500 entries\nSELECT 1")
	a.want("TRUNCATE d; INSERT INTO d VALUES (1, 1, 'w1')", "TRUNCATE TABLE\nINSERT 0 1")
	a.want("SELECT id FROM d WHERE w = 'w77'", "SELECT 0")
	a.want("DROP INDEX d_v_idx; ALTER TABLE d DROP COLUMN w", "DROP INDEX\nALTER TABLE")
	a.want("SELECT indexdef FROM pg_indexes WHERE tablename = 'd'",
		"CREATE UNIQUE INDEX d_pkey ON public.d USING btree (id)\nSELECT 1")
	a.checked()
	if got := a.answer("INSERT INTO d VALUES (1, 1)"); !strings.Contains(got, "d_pkey") {
		t.Error(got)
	}
}

// TestPairsOfIndexValues: if an OR sets the values of all columns of an index together, the scan
// looks up these pairs, and not each combination.
func TestPairsOfIndexValues(t *testing.T) {
	w := newWorldOf(t, 3)
	a := w.connect(t)
	a.want("CREATE TABLE p (id int PRIMARY KEY, a int, b text, UNIQUE (a, b)); CREATE INDEX p_local ON p (b, id); "+
		"INSERT INTO p SELECT g, g, 'b' || g FROM generate_series(1, 500) g",
		"CREATE TABLE\nCREATE INDEX\nINSERT 0 500")
	a.want("SELECT id FROM p WHERE (a = 3 AND b = 'b3') OR (a = 4 AND b = 'b5') OR (a = 3 AND b = 'b3') OR (a = 500 "+
		"AND b = 'b500') OR (a = NULL AND b = 'b6') ORDER BY id",
		"3\n500\nSELECT 2")
	a.want("SELECT a FROM p WHERE (b = 'b7' AND id = 7) OR (b = 'b8' AND id = 9) OR (id = 10 AND b = 'b10') ORDER BY a",
		"7\n10\nSELECT 2")
	a.want("SELECT a FROM p WHERE b IN ('b7', 'b8') AND a IN (7, 9) AND (id = 7 OR id = 8)", "7\nSELECT 1")
	a.want("CREATE TABLE c (id int PRIMARY KEY, a int, b text, FOREIGN KEY (a, b) REFERENCES p (a, b)); "+
		"INSERT INTO c SELECT g, g, 'b' || g FROM generate_series(1, 100) g",
		"CREATE TABLE\nINSERT 0 100")
	if got := a.answer(
		"INSERT INTO c SELECT g, g, 'b' || (CASE g WHEN 450 THEN 0 ELSE g END) FROM generate_series(400, 480) g",
	); !strings.Contains(got, "Key (a, b)=(450, b0) is not present") {
		t.Error(got)
	}
}
