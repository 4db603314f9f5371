package sql_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// TestHotUnderLoad: sessions add to one document in many ways, while it is split and made whole
// again and its parts move between fragments. At every level, each reader sees a total that
// includes everything acknowledged before the read, includes nothing that was not sent, and never
// falls.
func TestHotUnderLoad(t *testing.T) {
	w := newWorld(t)
	c := w.connect(t)
	c.want("CREATE TABLE counters (id text PRIMARY KEY, v bigint, doc jsonb, note text) WITH (counters = 'v, Likes')",
		"CREATE TABLE")
	c.want(`INSERT INTO counters VALUES ('counters/hot', 0, '{"Likes":0}'), ('counters/cold', 0, '{"Likes":0}')`,
		"INSERT 0 2")
	l := &hotLoad{t: t}
	for i := range 4 {
		x, rnd := w.connect(t), rand.New(rand.NewPCG(uint64(i), 5))
		l.done.Go(func() {
			for n := 0; !l.over.Load() || n < 20; n++ {
				l.add(x, rnd)
			}
		})
	}
	for _, level := range []string{"READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"} {
		x := w.connect(t)
		x.want("SET default_transaction_isolation = '"+strings.ToLower(level)+"'", "SET")
		l.done.Go(func() {
			for last := int64(0); !l.over.Load(); {
				last = l.read(x, last)
			}
		})
	}
	for i := range 3 {
		l.must(c, fmt.Sprintf("SELECT sherd.hot_split('counters/hot', %d)", 4+i))
		l.must(c, fmt.Sprintf("SELECT sherd.move_buckets('postgres', 0, 262144, 'postgres$%d', wait => true)", (i+1)%3))
		l.must(c, "UPDATE counters SET note = 'x', v = v + 0 WHERE v IS NOT NULL")
		if i < 2 {
			l.must(c, "SELECT sherd.hot_join('counters/hot')")
		}
	}
	l.over.Store(true)
	l.done.Wait()
	want := fmt.Sprintf("%d|%d\nSELECT 1", l.acked.Load(), l.acked.Load())
	c.want("SELECT v, doc['Likes'] FROM counters WHERE id = 'counters/hot'", want)
	l.must(c, "SELECT sherd.hot_join('counters/hot')")
	c.want("SELECT v, doc['Likes'] FROM counters WHERE id = 'counters/hot'", want)
	c.want("SELECT * FROM sherd.check() WHERE NOT ok", "SELECT 0")
	t.Logf("%d additions, %d reads", l.acked.Load(), l.reads.Load())
}

type hotLoad struct {
	t                  *testing.T
	over               atomic.Bool
	sent, acked, reads atomic.Int64
	done               sync.WaitGroup
}

// must runs a statement until no other statement is in its way: a change of definitions may meet a
// snapshot or a move.
func (l *hotLoad) must(c *client, text string) {
	l.t.Helper()
	for range 100 {
		got := c.answer(text)
		if !strings.Contains(got, "SQLSTATE") {
			return
		}
		if !strings.Contains(got, "40001") && !strings.Contains(got, "40P01") {
			l.t.Errorf("%s: %s", text, got)
			return
		}
	}
	l.t.Errorf("%s: in the way of others a hundred times", text)
}

const both = `UPDATE counters SET v = v + 1, doc = jsonb_set(doc, '{Likes}', to_jsonb((doc->>'Likes')::int + 1)) ` +
	`WHERE id = 'counters/hot'`

// add adds one to both counters.
func (l *hotLoad) add(c *client, rnd *rand.Rand) {
	text, want := both, "UPDATE 1"
	switch rnd.IntN(8) {
	case 0:
		text += " RETURNING 1"
		want = "1\n" + want
	case 1: // looks like an increment, but is none
		text = strings.Replace(both, "v = v + 1", "v = v * 1 + 1", 1)
	case 2:
		text = "BEGIN ISOLATION LEVEL SERIALIZABLE"
		want = "BEGIN"
	}
	l.sent.Add(1)
	got := c.answer(text)
	if want == "BEGIN" {
		if got = c.answer(both); got != "UPDATE 1" {
			c.answer("ROLLBACK")
		} else {
			want, got = "COMMIT", c.answer("COMMIT")
		}
	}
	switch {
	case got == want:
		l.acked.Add(1)
	case strings.Contains(got, "40001"), strings.Contains(got, "40P01"):
		l.sent.Add(-1)
	default:
		l.t.Errorf("%s: %s", text, got)
	}
}

// read reads the total, in one of several ways.
func (l *hotLoad) read(c *client, last int64) int64 {
	least := max(last, l.acked.Load())
	n := l.reads.Add(1)
	got := c.answer([]string{
		"SELECT v, doc->>'Likes' FROM counters WHERE id = 'counters/hot'",
		"SELECT sum(v), sum((doc->>'Likes')::int) FROM counters",
		"SELECT max(a.v), max(b.doc->>'Likes') FILTER (WHERE b.id = a.id) FROM counters a JOIN counters b USING (id) " +
			"WHERE id LIKE '%hot'",
	}[n%3])
	most := l.sent.Load()
	head, rest, _ := strings.Cut(got, "|")
	other, _, _ := strings.Cut(rest, "\n")
	v, err := strconv.ParseInt(head, 10, 64)
	switch {
	case strings.Contains(got, "40001"):
		return last
	case err != nil || head != other:
		l.t.Errorf("a read: %s", got)
	case v < least || v > most:
		l.t.Errorf("a read sees %d, at least %d were there before, and %d have been sent", v, least, most)
	}
	return v
}
