package sql_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
)

// Random ranges of a range table, compared with a hashed table.
func TestRangesAgainstHashes(t *testing.T) {
	w := newWorld(t)
	a := w.connect(t)
	a.want("CREATE TABLE r (a int, b text, n int, PRIMARY KEY (a, b)) WITH (shard_by = 'range', "+
		"shard_splits = '2,3/k,5,7/c')", "CREATE TABLE")
	a.want("CREATE TABLE h (a int, b text, n int, PRIMARY KEY (a, b))", "CREATE TABLE")
	a.want("INSERT INTO h SELECT i % 9, chr(97 + i * 7 % 26) || i, i FROM generate_series(1, 500) i", "INSERT 0 500")
	a.want("INSERT INTO r SELECT * FROM h", "INSERT 0 500")
	rnd := rand.New(rand.NewPCG(7, 11))
	for range 200 {
		cond := randomRange(rnd)
		want := a.answer("SELECT a, b, n FROM h WHERE " + cond + " ORDER BY a, b")
		if got := a.answer("SELECT a, b, n FROM r WHERE " + cond + " ORDER BY a, b"); got != want {
			t.Fatalf("%s:\n%s\nwant\n%s", cond, got, want)
		}
	}
}

// Segments are split and merged while snapshots are open, and the results of random ranges stay the
// same.
func TestSplitAndMerge(t *testing.T) {
	w := newWorld(t)
	a, old := w.connect(t), w.connect(t)
	a.want("CREATE TABLE r (a int, b text, n int UNIQUE, PRIMARY KEY (a, b)) WITH (shard_by = 'range')", "CREATE TABLE")
	a.want("CREATE INDEX ON r (n, b)", "CREATE INDEX")
	a.want("CREATE TABLE h (a int, b text, n int, PRIMARY KEY (a, b))", "CREATE TABLE")
	a.reshaped("split_segment('r', '4')") // an empty table
	a.want("INSERT INTO h SELECT i % 9, chr(97 + i * 7 % 26) || i, i FROM generate_series(1, 300) i", "INSERT 0 300")
	a.want("INSERT INTO r SELECT * FROM h", "INSERT 0 300")
	a.want("SELECT sherd.split_segment('h', '4')", `table "h" has no segments (SQLSTATE 42809)`)
	a.want("SELECT sherd.split_segment('r', '4')", `a segment begins at "4" already (SQLSTATE 42710)`)
	a.want("SELECT sherd.split_segment('r', 'x')",
		`invalid input syntax for type integer: "x" (SQLSTATE 22P02): "x" is read as column "a" of the primary key, `+
			`where a segment is to begin.`)
	a.want("SELECT sherd.merge_segments('r', '5')", `no two segments meet at "5" (SQLSTATE 42704)`)
	for table, before := range map[string]string{"r": "ALTER TABLE r ADD COLUMN more int",
		"made": "CREATE TABLE made (a int PRIMARY KEY) WITH (shard_by = 'range')"} {
		a.answer("BEGIN; " + before)
		a.want("SELECT sherd.split_segment('"+table+"', '6')",
			"sherd.split_segment() of a table that the transaction has made or changed is not supported "+
				"(SQLSTATE 0A000)")
		a.want("ROLLBACK", "ROLLBACK")
	}
	a.want("SELECT sherd.move_segment('r', '5', 'nowhere$1')",
		`fragment "nowhere$1" of database "postgres" does not exist (SQLSTATE 42704)`)
	old.want("BEGIN ISOLATION LEVEL REPEATABLE READ", "BEGIN")
	old.want("SELECT count(*) FROM h", "300\nSELECT 1")
	rnd := rand.New(rand.NewPCG(3, 5))
	same := func() {
		t.Helper()
		for range 12 {
			cond := randomRange(rnd)
			want := a.answer("SELECT a, b, n FROM h WHERE " + cond + " ORDER BY a, b")
			if got := a.answer("SELECT a, b, n FROM r WHERE " + cond + " ORDER BY a, b"); got != want {
				t.Fatalf("%s:\n%s\nwant\n%s", cond, got, want)
			}
		}
		a.want("SELECT count(*), sum(n), count(DISTINCT n) FROM r WHERE n > 0", "300|45150|300\nSELECT 1")
	}
	same()
	for _, at := range []string{"2", "2/k", "7/c", "8"} {
		a.reshaped("split_segment('r', '" + at + "')")
		same()
	}
	a.want("SELECT string_agg(lower, ' ' ORDER BY lower) FROM sherd.segments", "2 2/k 4 7/c 8\nSELECT 1")
	a.want("SELECT count(DISTINCT fragment) FROM sherd.segments", "3\nSELECT 1")
	// the new segments have the past too
	old.want("SELECT count(*), sum(n), count(DISTINCT n) FROM r WHERE n > 0", "300|45150|300\nSELECT 1")
	old.want("SELECT count(*) FROM r WHERE a = 2 AND b > 'k'",
		a.answer("SELECT count(*) FROM h WHERE a = 2 AND b > 'k'"))
	old.want("COMMIT", "COMMIT")
	for _, at := range []string{"2/k", "4", "8"} {
		a.reshaped("merge_segments('r', '" + at + "')")
		same()
	}
	a.want("SELECT count(*) FROM sherd.segments", "3\nSELECT 1")
	a.want("BEGIN", "BEGIN")
	a.reshaped("split_segment('r', '5')")
	a.want("SELECT count(*) FROM r", "300\nSELECT 1")
	a.want("ROLLBACK", "ROLLBACK")
	same()
	a.want("SELECT count(*) FROM sherd.segments", "4\nSELECT 1") // like all moves, it is not part of the transaction
	a.want("SELECT * FROM sherd.check() WHERE NOT ok", "SELECT 0")
}

// Segments move between fragments while their table is written to, and every row is where it should
// be.
func TestSegmentsMove(t *testing.T) {
	w := newWorld(t)
	a := w.connect(t)
	a.want("CREATE TABLE r (id int PRIMARY KEY, n int) WITH (shard_by = 'range', shard_splits = '100,200')",
		"CREATE TABLE")
	a.want("INSERT INTO r SELECT g, g FROM generate_series(1, 300) g", "INSERT 0 300")
	d := w.cfg.Catalog.View().Database(catalog.PostgresDB)
	m := &mover{w: w}
	for i, r := range d.Map.Ranges() {
		if r.Lo < shardmap.BucketCount {
			continue
		}
		target := d.Fragments[i%len(d.Fragments)].ID
		if target == r.Fragment {
			target = d.Fragments[(i+1)%len(d.Fragments)].ID
		}
		moved, err := m.move(t.Context(), r.Interval, r.Fragment, target)
		if err != nil || !moved {
			t.Fatalf("segment %v is not moved: %v", r.Interval, err)
		}
		a.want("UPDATE r SET n = n + 1 WHERE id BETWEEN 90 AND 210", "UPDATE 121")
		a.want("SELECT count(*), sum(id) FROM r", "300|45150\nSELECT 1")
	}
	a.want("SELECT sum(n) FROM r WHERE id >= 100 AND id < 201", "15453\nSELECT 1")
	a.want("SELECT id FROM r WHERE id > 198 ORDER BY id LIMIT 3", "199\n200\n201\nSELECT 3")
	a.reshaped("split_segment('r', '150')")
	a.want("SELECT count(*), sum(id) FROM r", "300|45150\nSELECT 1")
	a.want("SELECT * FROM sherd.check() WHERE NOT ok", "SELECT 0")
}

// randomRange is a condition on the key of r and h.
func randomRange(r *rand.Rand) string {
	a := func() int { return r.IntN(10) }
	b := func() string { return fmt.Sprintf("'%c%d'", 'a'+rune(r.IntN(26)), r.IntN(500)) }
	op := func() string { return []string{"<", "<=", ">", ">=", "="}[r.IntN(5)] }
	order := func() string { return []string{"<", "<=", ">", ">="}[r.IntN(4)] }
	row := func() string {
		return []string{
			fmt.Sprintf("(a, b) %s (%d, %s)", order(), a(), b()), fmt.Sprintf("(%d, %s) %s (a, b)", a(), b(), order()),
			fmt.Sprintf("(a, b, n) %s (%d, %s, %d)", order(), a(), b(), r.IntN(500)),
			fmt.Sprintf("(a, n) %s (%d, %d)", order(), a(), r.IntN(500)),
			fmt.Sprintf("(a, b) %s (%d, null)", order(), a()),
			fmt.Sprintf("(n, a) %s (%d, %d)", order(), r.IntN(500), a()),
			fmt.Sprintf("(b, n) %s (%s, %d)", order(), b(), r.IntN(500)),
			fmt.Sprintf("(a, b) %s (null, %s)", order(), b()),
		}[r.IntN(8)]
	}
	switch r.IntN(10) {
	case 7:
		return row()
	case 8:
		return row() + " AND " + row()
	case 9:
		return fmt.Sprintf("a = %d AND %s", a(), row())
	case 0:
		return fmt.Sprintf("a %s %d", op(), a())
	case 1:
		return fmt.Sprintf("a BETWEEN %d AND %d", a(), a())
	case 2:
		return fmt.Sprintf("a = %d AND b %s %s", a(), op(), b())
	case 3:
		return fmt.Sprintf("a IN (%d, %d) AND b >= %s AND b < %s", a(), a(), b(), b())
	case 4:
		return fmt.Sprintf("a = %d AND b LIKE '%c%%'", a(), 'a'+rune(r.IntN(26)))
	case 5:
		return fmt.Sprintf("(a, b) = (%d, %s) OR a = %d", a(), b(), a())
	}
	return fmt.Sprintf("a > %d AND b LIKE '%c_%%' AND a <= %d", a(), 'a'+rune(r.IntN(26)), a())
}

// reshaped runs a function that splits or merges segments. Such a function sends notices of its
// progress if it takes long.
func (c *client) reshaped(call string) {
	c.t.Helper()
	if got := c.answer("SELECT sherd." + call); !reshapes(got) {
		c.t.Errorf("%s: %s", call, got)
	}
}

func reshapes(answer string) bool { return strings.HasSuffix(answer, "\nSELECT 1") }
