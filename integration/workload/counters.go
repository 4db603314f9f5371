package workload

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// HotDocuments is the number of documents with counters, which HotID names. Operators split them
// and make them whole meanwhile.
const HotDocuments = 3

// HotID returns the id of such a document.
func HotID(n int) string { return fmt.Sprintf("hot/%d", n) }

const hotClients = 3

// counters are the counters of a few documents that all clients add to. The counter v is changed by
// autocommit statements; the acknowledged sum limits what reads may see. The counter Likes is
// changed in transactions that also write a row of hot_log for each addition: in each snapshot the
// counter is the sum of the rows.
type counters struct {
	r     *Run
	tally [HotDocuments]tally
}

func (h *counters) setUp(ctx context.Context, conn *pgx.Conn) error {
	for _, text := range []string{
		"CREATE TABLE hot (id text PRIMARY KEY, v bigint NOT NULL, doc jsonb NOT NULL) WITH (counters = 'v, Likes')",
		"CREATE TABLE hot_log (id text PRIMARY KEY, hot text NOT NULL, n int NOT NULL)",
		fmt.Sprintf(`INSERT INTO hot SELECT 'hot/' || g, 0, '{"Likes": 0, "Note": 0}' FROM generate_series(0, %d) g`,
			HotDocuments-1),
	} {
		if _, err := conn.Exec(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

type counterClient struct {
	client
	h     *counters
	n     int
	lines int // that it has written
}

func (c *counterClient) run(ctx context.Context) {
	for c.connected(ctx) {
		switch n := c.rnd.IntN(12); {
		case n < 5:
			c.add()
		case n < 8:
			c.like()
		case n < 9:
			c.note()
		default:
			c.read()
		}
		time.Sleep(c.r.Pause)
	}
}

// additions are ways to write an addition.
var additions = []string{
	"UPDATE hot SET v = v + $2::int WHERE id = $1",
	"INSERT INTO hot VALUES ($1, $2::int, '{}') ON CONFLICT (id) DO UPDATE SET v = hot.v + excluded.v",
	"UPDATE hot SET v = v + $2::int WHERE id = $1 AND v > -1", // one that depends on the sum
}

func (c *counterClient) add() {
	d, n, how := c.rnd.IntN(HotDocuments), 1+c.rnd.IntN(3), additions[0]
	if c.rnd.IntN(4) == 0 {
		how = additions[c.rnd.IntN(len(additions))]
	}
	ends := c.h.tally[d].begins(n)
	v, rows := c.lone(how, HotID(d), n)
	ends(v)
	if v == done && rows != 1 {
		c.r.Errorf("%s of %s: %d rows", how, HotID(d), rows)
	}
}

// like adds to one or two documents.
func (c *counterClient) like() {
	c.transaction(levels[c.rnd.IntN(len(levels))], func(ctx context.Context) error {
		for range 1 + c.rnd.IntN(2) {
			d, n := HotID(c.rnd.IntN(HotDocuments)), 1+c.rnd.IntN(3)
			c.lines++
			if _, err := c.conn.Exec(ctx, "INSERT INTO hot_log VALUES ($1, $2, $3)",
				fmt.Sprintf("line/%d/%d", c.n, c.lines), d, n); err != nil {
				return err
			}
			tag, err := c.conn.Exec(ctx, "UPDATE hot SET doc = jsonb_set(doc, '{Likes}', "+
				"to_jsonb((doc->>'Likes')::int + $2::int)) WHERE id = $1", d, n)
			if err != nil {
				return err
			}
			if tag.RowsAffected() != 1 {
				c.r.Errorf("an addition to %s: %v", d, tag)
			}
		}
		return nil
	})
}

// note writes the document otherwise, for which its parts are put into it.
func (c *counterClient) note() {
	d := c.rnd.IntN(HotDocuments)
	least, _ := c.h.tally[d].bounds()
	c.transaction("READ COMMITTED", func(ctx context.Context) error {
		v := 0
		err := c.conn.QueryRow(ctx, "UPDATE hot SET doc = jsonb_set(doc, '{Note}', to_jsonb($2::int)) "+
			"WHERE id = $1 RETURNING v", HotID(d), c.lines).Scan(&v)
		if _, most := c.h.tally[d].bounds(); err == nil && (v < least || v > most) {
			c.r.Errorf("UPDATE … RETURNING sees %d of %s, not %d to %d", v, HotID(d), least, most)
		}
		return err
	})
}

var levels = []string{"READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"}

// read compares the counters with the log, in one statement or in two with one snapshot.
func (c *counterClient) read() {
	var least [HotDocuments]int
	for d := range least {
		least[d], _ = c.h.tally[d].bounds()
	}
	const logged = "SELECT hot, sum(n)::int FROM hot_log GROUP BY hot"
	likes, lines, vs := map[string]int{}, map[string]int{}, map[string]int{}
	var err error
	ctx, cancel := c.limited()
	defer cancel()
	if c.rnd.IntN(2) == 0 {
		err = c.rows(ctx, "SELECT h.id, v::int, (doc->>'Likes')::int, coalesce(s, 0)::int FROM hot h LEFT JOIN ("+
			logged+") l (l, s) ON l = h.id", func(id string, n [3]int) {
			vs[id], likes[id], lines[id] = n[0], n[1], n[2]
		})
		if err != nil {
			c.failed(err, true)
			c.rollback(ctx)
			return
		}
	} else {
		defer c.rollback(ctx)
		if _, err = c.conn.Exec(ctx, "BEGIN ISOLATION LEVEL "+levels[1+c.rnd.IntN(2)]); err == nil {
			err = c.rows(ctx, "SELECT hot, sum(n)::int, 0, 0 FROM hot_log GROUP BY hot",
				func(id string, n [3]int) { lines[id] = n[0] })
		}
		for d := 0; err == nil && d < HotDocuments; d++ {
			err = c.rows(ctx, "SELECT id, v::int, (doc->>'Likes')::int, 0 FROM hot WHERE id = $1",
				func(id string, n [3]int) { vs[id], likes[id] = n[0], n[1] }, HotID(d))
		}
		if err != nil {
			c.failed(err, false)
			return
		}
	}
	c.r.totals.Add(1)
	for d := range HotDocuments {
		id := HotID(d)
		if likes[id] != lines[id] {
			c.r.Errorf("%s has %d likes, and its lines %d", id, likes[id], lines[id])
		}
		if _, most := c.h.tally[d].bounds(); vs[id] < least[d] || vs[id] > most {
			c.r.Errorf("%s is %d, not %d to %d", id, vs[id], least[d], most)
		}
	}
}

// rows calls each for every row of a text and three numbers.
func (c *client) rows(ctx context.Context, query string, each func(id string, n [3]int), args ...any) error {
	rows, err := c.conn.Query(ctx, query, args...)
	if err != nil {
		return err
	}
	var id string
	var n [3]int
	_, err = pgx.ForEachRow(rows, []any{&id, &n[0], &n[1], &n[2]}, func() error {
		each(id, n)
		return nil
	})
	return err
}

// verify compares the counters with the log at the end.
func (h *counters) verify(ctx context.Context, conn *pgx.Conn) (report string, wrong []string, err error) {
	for d := range HotDocuments {
		var v, likes, lines int
		if err := conn.QueryRow(ctx, "SELECT v, (doc->>'Likes')::int, (SELECT coalesce(sum(n), 0) FROM hot_log "+
			"WHERE hot = $1) FROM hot WHERE id = $1", HotID(d)).Scan(&v, &likes, &lines); err != nil {
			return "", nil, err
		}
		t := &h.tally[d]
		if least, most := t.bounds(); v < least || v > most || likes != lines {
			wrong = append(wrong, fmt.Sprintf("%s is %d in the end, not %d to %d; it has %d likes, and its lines %d",
				HotID(d), v, least, most, likes, lines))
		}
		report += fmt.Sprintf("%s: %d added by lone statements (%d of them with lost answers), %d in transactions; ",
			HotID(d), v, t.lost, likes)
	}
	return report, wrong, nil
}
