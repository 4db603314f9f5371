package sql_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// merging is a random MERGE: its text, and the rows of its source.
type merging struct {
	text   string
	source map[int]int
	bound  int
	moves  bool
}

// randomMerge makes a MERGE into r: rows with a small v are deleted, the others updated or moved, and
// new ones are added.
func randomMerge(r *rand.Rand) merging {
	m := merging{source: map[int]int{}, bound: r.IntN(30), moves: r.IntN(3) == 0}
	for range 1 + r.IntN(12) {
		m.source[r.IntN(60)] = r.IntN(40)
	}
	var rows []string
	for _, k := range slices.Sorted(maps.Keys(m.source)) {
		rows = append(rows, fmt.Sprintf("(%d, %d)", k, m.source[k]))
	}
	r.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	set := "v = s.n"
	if m.moves {
		set += ", k = r.k + 100, u = r.u + 1000"
	}
	m.text = fmt.Sprintf("MERGE INTO r USING (VALUES %s) s(k, n) ON r.k = s.k WHEN MATCHED AND r.v < %d THEN DELETE "+
		"WHEN MATCHED AND s.n = 7 THEN DO NOTHING WHEN MATCHED THEN UPDATE SET %s "+
		"WHEN NOT MATCHED AND s.n %% 2 = 0 THEN INSERT VALUES (s.k, s.k + 10 * s.n, s.n)",
		strings.Join(rows, ", "), m.bound, set)
	return m
}

// merged returns the rows after a MERGE, and how many it has written. ok is false if two rows would have
// the same key.
func (m *merging) merged(rows map[int][2]int) (after map[int][2]int, n int, ok bool) {
	after = map[int][2]int{}
	unique, ok := map[int]bool{}, true
	add := func(k, u, v int) {
		_, taken := after[k]
		if ok = ok && !taken && !unique[u]; ok {
			after[k], unique[u] = [2]int{u, v}, true
		}
	}
	for k, x := range rows {
		by, met := m.source[k]
		switch {
		case !met || x[1] >= m.bound && by == 7:
			add(k, x[0], x[1])
			continue
		case x[1] < m.bound: // deleted
		case m.moves:
			add(k+100, x[0]+1000, by)
		default:
			add(k, x[0], by)
		}
		n++
	}
	for k, by := range m.source {
		if _, met := rows[k]; !met && by%2 == 0 {
			add(k, k+10*by, by)
			n++
		}
	}
	return after, n, ok
}

// TestMergeModel runs random MERGEs into a table with local and global unique indexes on 1, 3 and 8
// fragments, and compares the rows with a model. At the end sherd.check() proves the indexes.
func TestMergeModel(t *testing.T) {
	for _, fragments := range []int{1, 3, 8} {
		t.Run(fmt.Sprint(fragments), func(t *testing.T) {
			r := rand.New(rand.NewPCG(3, 5))
			c := newWorldOf(t, fragments).connect(t)
			c.want("CREATE TABLE r (k int PRIMARY KEY, u int UNIQUE, v int)", "CREATE TABLE")
			c.want("CREATE INDEX ON r (v)", "CREATE INDEX")
			rows := map[int][2]int{}
			written := 0
			for i := range 300 {
				m := randomMerge(r)
				undo := r.IntN(5) == 0
				if undo {
					c.answer("BEGIN")
				}
				after, n, ok := m.merged(rows)
				got := c.answer(m.text)
				if ok && got != fmt.Sprintf("MERGE %d", n) || !ok && !strings.Contains(got, "23505") {
					t.Fatalf("statement %d: %s\n%s\nthe model allows it: %v, %d rows", i, m.text, got, ok, n)
				}
				if undo {
					c.answer("ROLLBACK")
				} else if ok {
					rows, written = after, written+n
				}
				if i%50 == 49 { // room for other keys
					c.answer("DELETE FROM r WHERE k >= 100")
					maps.DeleteFunc(rows, func(k int, _ [2]int) bool { return k >= 100 })
				}
				want := ""
				for _, k := range slices.Sorted(maps.Keys(rows)) {
					want += fmt.Sprintf("%d|%d|%d\n", k, rows[k][0], rows[k][1])
				}
				if c.want("SELECT * FROM r ORDER BY k", want+fmt.Sprintf("SELECT %d", len(rows))); t.Failed() {
					t.Fatalf("after statement %d: %s", i, m.text)
				}
			}
			if written < 200 {
				t.Errorf("the statements have written %d rows only", written)
			}
			c.checked()
		})
	}
}
