package sql_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestSameAnswers runs one history of several sessions on databases with 1, 3 and 16 fragments:
// every row, tag, SQLSTATE and message must be the same. The history is drawn at random, by a fixed
// seed, while it runs on one fragment. The sessions take turns, so a statement must not wait for
// another session's lock; the history uses NOWAIT and SKIP LOCKED instead.
func TestSameAnswers(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			steps := 400
			if testing.Short() {
				steps = 120
			}
			one := newTurns(t, 1)
			script := (&turnsDrawer{turns: one, rnd: rand.New(rand.NewPCG(seed, 7))}).draw(steps)
			for _, fragments := range []int{3, 16} {
				w := newTurns(t, fragments)
				for n, step := range script {
					if got := w.run(step.session, step.text); got != step.answer {
						t.Fatalf("%d fragments, step %d, session %d: %s\ngot:\n%s\non one fragment:\n%s", fragments, n,
							step.session, step.text, got, step.answer)
					}
				}
				w.sessions[0].checked()
			}
			t.Logf("%d statements; %s", len(script), tally(script))
		})
	}
}

// turns is a database and the sessions that take turns on it.
type turns struct {
	world    *world
	sessions []*client
}

// turn is a statement and what it answered on one fragment.
type turn struct {
	session      int
	text, answer string
}

const (
	turnSessions = 4
	turnKeys     = 12 // that all sessions use
)

func newTurns(t *testing.T, fragments int) *turns {
	w := &turns{world: newWorldOf(t, fragments)}
	for range turnSessions {
		w.sessions = append(w.sessions, w.world.connect(t))
	}
	for _, text := range []string{
		"CREATE TABLE t (id text PRIMARY KEY, own int NOT NULL, g int NOT NULL, v int CHECK (v < 90), u int UNIQUE, " +
			"doc jsonb)",
		"CREATE INDEX ON t (g, v)", "CREATE TABLE names (g int PRIMARY KEY, name text)",
		"INSERT INTO names SELECT g, 'group ' || g FROM generate_series(0, 4) g",
		"INSERT INTO t SELECT 'shared/' || n, 0, n % 5, n, n, jsonb_build_object('n', n, 'tags', " +
			"jsonb_build_array(n % 2, n % 3)) FROM generate_series(0, 8) n",
		"INSERT INTO t SELECT 'own/' || o || '/' || n, o, n % 5, n, 1000 * o + n, NULL FROM generate_series(1, 4) o, " +
			"generate_series(0, 9) n",
	} {
		if got := w.run(0, text); strings.Contains(got, "SQLSTATE") {
			t.Fatalf("%s: %s", text, got)
		}
	}
	return w
}

var afterState = regexp.MustCompile(`(?m)\(SQLSTATE (\w{5})\).*$`) // DETAIL may name transactions and times

// state is the end of an error as run returns it.
var state = regexp.MustCompile(`\((\w{5})\)$`)

// run returns the answer after everything that has committed is resolved: until then it holds
// locks, which NOWAIT would meet.
func (w *turns) run(session int, text string) string {
	got := w.sessions[session].answer(text)
	for deadline := time.Now().Add(testTimeout); w.unsettled(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			w.world.t.Fatal("a commit is not resolved")
		}
	}
	return afterState.ReplaceAllString(got, "($1)")
}

func (w *turns) unsettled() bool {
	list, _ := w.world.host.Replicas.ListTransactions()
	for _, x := range list {
		if x.Prepared {
			return true
		}
	}
	return false
}

// turnsDrawer draws the history.
type turnsDrawer struct {
	turns  *turns
	rnd    *rand.Rand
	open   [turnSessions]bool
	locked [turnSessions]map[string]bool // shared rows that a session may have locked
	saved  [turnSessions]int             // savepoints
	failed [turnSessions]bool            // its transaction has failed
	script []turn
}

func (d *turnsDrawer) draw(steps int) []turn {
	for i := range d.locked {
		d.locked[i] = map[string]bool{}
	}
	for range steps {
		d.step(d.rnd.IntN(turnSessions))
	}
	for s := range turnSessions {
		if d.open[s] {
			d.end(s, "COMMIT")
		}
	}
	d.do(0, "SELECT * FROM t ORDER BY id")
	return d.script
}

func (d *turnsDrawer) do(s int, text string) string {
	got := d.turns.run(s, text)
	d.script = append(d.script, turn{s, text, got})
	if strings.HasPrefix(text, "ROLLBACK TO") {
		d.failed[s] = false
	}
	d.failed[s] = d.failed[s] || state.MatchString(got)
	return got
}

func (d *turnsDrawer) end(s int, text string) {
	d.do(s, text)
	d.open[s], d.locked[s], d.saved[s], d.failed[s] = false, map[string]bool{}, 0, false
}

func (d *turnsDrawer) step(s int) {
	switch n := d.rnd.IntN(20); {
	case d.open[s] && d.failed[s] && n < 15:
		if d.saved[s] > 0 && n < 10 {
			d.do(s, fmt.Sprint("ROLLBACK TO s", 1+d.rnd.IntN(d.saved[s])))
		} else {
			d.end(s, "ROLLBACK")
		}
	case !d.open[s] && n < 12:
		d.do(s, "BEGIN ISOLATION LEVEL "+[]string{"READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"}[d.rnd.IntN(3)])
		d.open[s] = true
	case n == 0 && d.open[s]:
		d.end(s, "ROLLBACK")
	case n <= 3 && d.open[s]:
		d.end(s, "COMMIT")
	case n <= 5 && d.open[s]:
		d.savepoint(s)
	case n <= 11:
		d.do(s, d.read(s))
	case n <= 14:
		d.do(s, d.ownWrite(s))
	default:
		d.shared(s)
	}
	if !d.open[s] { // a statement by itself
		d.locked[s], d.failed[s] = map[string]bool{}, false
	}
}

func (d *turnsDrawer) savepoint(s int) {
	name := func() string { return fmt.Sprint("s", 1+d.rnd.IntN(d.saved[s])) }
	switch n := d.rnd.IntN(5); {
	case d.saved[s] == 0 || n < 2:
		d.saved[s]++
		d.do(s, fmt.Sprint("SAVEPOINT s", d.saved[s]))
	case n < 4:
		// The drawer does not know that this releases locks.
		d.do(s, "ROLLBACK TO "+name())
	default:
		d.do(s, "RELEASE "+name())
	}
}

func (d *turnsDrawer) key() string { return fmt.Sprint("shared/", d.rnd.IntN(turnKeys)) }

// read is one of many queries. All read everything, so that the reads that SERIALIZABLE validates
// do not depend on where a query stops.
func (d *turnsDrawer) read(s int) string {
	n, g, key := d.rnd.IntN(12), d.rnd.IntN(5), d.key()
	return []string{
		"SELECT count(*), sum(v), min(u), max(id), avg(v) FROM t",
		"SELECT g, count(*), sum(v), count(DISTINCT own), string_agg(id, ',' ORDER BY id) FROM t GROUP BY g ORDER BY g",
		fmt.Sprintf("SELECT g, max(v) FROM t WHERE own = %d GROUP BY g HAVING count(*) > 1 ORDER BY g DESC", s+1),
		fmt.Sprintf("SELECT id, v FROM t WHERE id = '%s'", key),
		fmt.Sprintf("SELECT id, v FROM t WHERE id IN ('%s', '%s', 'own/1/1') ORDER BY 1", key, d.key()),
		fmt.Sprintf("SELECT id, v, u FROM t WHERE g = %d AND v > %d ORDER BY v, id", g, n),
		fmt.Sprintf("SELECT id FROM t WHERE u = %d", n),
		"SELECT name, count(id), coalesce(sum(t.v), 0) FROM names LEFT JOIN t USING (g) GROUP BY name ORDER BY name",
		fmt.Sprintf("SELECT a.id, b.id FROM t a JOIN t b ON a.v = b.u AND a.own = 0 AND b.own <> %d ORDER BY 1, 2",
			s+1),
		"SELECT id, row_number() OVER (PARTITION BY g ORDER BY v, id), sum(v) OVER (PARTITION BY g) FROM t " +
			"WHERE own = 0 ORDER BY 1",
		fmt.Sprintf("SELECT id, doc->>'n' FROM t WHERE doc @> '{\"tags\": [%d]}' ORDER BY id", n%3),
		fmt.Sprintf("SELECT count(*) FROM t WHERE v < (SELECT avg(v) FROM t WHERE own = %d) AND EXISTS (SELECT 1 "+
			"FROM names WHERE names.g = t.g)", s+1),
	}[n]
}

// ownWrite writes many rows at once. Other sessions only read these rows.
func (d *turnsDrawer) ownWrite(s int) string {
	own, n := s+1, d.rnd.IntN(10)
	id := fmt.Sprintf("own/%d/%d", own, d.rnd.IntN(16))
	return []string{
		fmt.Sprintf("UPDATE t SET v = v + 1, g = (g + %d) %% 5 WHERE own = %d AND v > %d", n, own, n),
		fmt.Sprintf("UPDATE t SET v = CASE WHEN v > 80 THEN 0 ELSE v * 2 END WHERE id = '%s' RETURNING v, u", id),
		fmt.Sprintf("DELETE FROM t WHERE own = %d AND v %% 7 = %d", own, n%7),
		fmt.Sprintf("INSERT INTO t SELECT 'own/%d/' || n, %d, n %% 5, n, %d + n FROM generate_series(%d, %d) n",
			own, own, 1000*own, n, n+3),
		fmt.Sprintf("INSERT INTO t VALUES ('%s', %d, 1, %d, %d) ON CONFLICT (id) DO UPDATE SET v = t.v + excluded.v "+
			"RETURNING v", id, own, n, 1000*own+20+n),
		fmt.Sprintf("INSERT INTO t VALUES ('%s', %d, 1, 1, %d) ON CONFLICT DO NOTHING", id, own, 1000*own+n),
		fmt.Sprintf("UPDATE t SET u = u + 1 WHERE own = %d AND id = '%s'", own, id),
		fmt.Sprintf("UPDATE t SET v = t.v + n.g FROM names n WHERE n.g = t.g AND own = %d", own),
		fmt.Sprintf("UPDATE t SET v = 10 / (v - %d) WHERE own = %d", n, own),
		fmt.Sprintf("DELETE FROM t WHERE id = '%s' RETURNING id, g", id),
	}[n]
}

// shared locks or writes a row that other sessions use too.
func (d *turnsDrawer) shared(s int) {
	key := d.key()
	switch d.rnd.IntN(8) {
	case 0:
		mode := []string{"UPDATE", "NO KEY UPDATE", "SHARE", "KEY SHARE"}[d.rnd.IntN(4)]
		d.note(s, d.do(s, fmt.Sprintf("SELECT id, v FROM t WHERE id = '%s' FOR %s NOWAIT", key, mode)))
		return
	case 1:
		d.note(s, d.do(s, fmt.Sprintf("SELECT id, v FROM t WHERE own = 0 AND g = %d ORDER BY id FOR UPDATE SKIP LOCKED",
			d.rnd.IntN(5))))
		return
	}
	for other, locked := range d.locked {
		if other != s && locked[key] {
			d.note(s, d.do(s, fmt.Sprintf("SELECT id, v FROM t WHERE id = '%s' FOR UPDATE NOWAIT", key)))
			return
		}
	}
	d.locked[s][key] = true
	d.do(s, []string{
		fmt.Sprintf("UPDATE t SET v = v + 3 WHERE id = '%s' AND v < 80", key),
		fmt.Sprintf("UPDATE t SET doc = jsonb_set(coalesce(doc, '{}'), '{by}', '%d') WHERE id = '%s' RETURNING doc",
			s, key),
		fmt.Sprintf("DELETE FROM t WHERE id = '%s'", key),
		fmt.Sprintf("INSERT INTO t VALUES ('%s', 0, 2, 5)", key),
		fmt.Sprintf("INSERT INTO t VALUES ('%s', 0, 3, 7) ON CONFLICT (id) DO UPDATE SET v = excluded.v, g = 4", key),
		fmt.Sprintf("INSERT INTO t VALUES ('%s', 0, 3, 7) ON CONFLICT (id) DO NOTHING", key),
	}[d.rnd.IntN(6)])
}

// note assumes that the session has locked the rows in its answer.
func (d *turnsDrawer) note(s int, answer string) {
	for n := range turnKeys {
		key := fmt.Sprint("shared/", n)
		if strings.Contains(answer, key+"|") {
			d.locked[s][key] = true
		}
	}
}

// tally counts how many statements ended with each SQLSTATE.
func tally(script []turn) string {
	states := map[string]int{}
	for _, x := range script {
		if m := state.FindStringSubmatch(x.answer); m != nil {
			states[m[1]]++
		}
	}
	var out []string
	for state, n := range states {
		out = append(out, fmt.Sprintf("%s %d times", state, n))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}
