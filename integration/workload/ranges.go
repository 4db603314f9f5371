package workload

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// RangeDevices and RangeTimes are the keys of the rows of a range table that always exist: each
	// pair of a device and a time.
	RangeDevices = 20
	RangeTimes   = 60

	rangeClients = 3
	rangeEach    = 100
)

// ranges are rows in ranges of their keys, whose segments are split, merged and moved meanwhile.
// Units move from one row to another. Pairs of rows, with times of their own, are inserted and
// deleted: every snapshot has both or none.
type ranges struct{ r *Run }

func (g *ranges) setUp(ctx context.Context, conn *pgx.Conn) error {
	for _, text := range []string{
		"CREATE TABLE events (device int, at int, units int NOT NULL, PRIMARY KEY (device, at)) " +
			"WITH (shard_by = 'range', shard_splits = '7, 14')",
		fmt.Sprintf("INSERT INTO events SELECT d, a, %d FROM generate_series(0, %d) d, generate_series(0, %d) a",
			rangeEach, RangeDevices-1, RangeTimes-1),
		"CREATE INDEX events_at ON events (at)",
	} {
		if _, err := conn.Exec(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

type rangeClient struct {
	client
	n     int
	pairs [][3]int // two devices and a time
	next  int
}

func (c *rangeClient) run(ctx context.Context) {
	for c.connected(ctx) {
		switch n := c.rnd.IntN(12); {
		case n < 4:
			c.scan()
		case n < 7:
			c.transfer()
		case n < 9:
			c.pair()
		case n < 10:
			c.at()
		default:
			c.total()
		}
		time.Sleep(c.r.Pause)
	}
}

// scan reads a range of keys in their order.
func (c *rangeClient) scan() {
	lo, times := c.rnd.IntN(RangeDevices), 1+c.rnd.IntN(RangeTimes)
	hi := lo + 1 + c.rnd.IntN(min(RangeDevices-lo, 6))
	query := "SELECT '', device, at, units FROM events " +
		"WHERE device >= $1 AND device < $2 AND at < $3 ORDER BY device, at"
	if c.rnd.IntN(3) == 0 {
		hi, query = lo+1, "SELECT '', device, at, units FROM events "+
			"WHERE device = $1 AND device < $2 AND at < $3 ORDER BY at"
	}
	ctx, cancel := c.limited()
	defer cancel()
	seen, wrong := 0, ""
	err := c.rows(ctx, query, func(_ string, x [3]int) {
		if x[0] != lo+seen/times || x[1] != seen%times {
			wrong = fmt.Sprintf("row %d is (%d, %d)", seen, x[0], x[1])
		}
		seen++
	}, lo, hi, times)
	switch {
	case err != nil:
		c.failed(err, true)
	case wrong != "" || seen != (hi-lo)*times:
		c.r.Errorf("devices %d to %d, times below %d: %d rows; %s", lo, hi, times, seen, wrong)
	}
}

func (c *rangeClient) key() (int, int) { return c.rnd.IntN(RangeDevices), c.rnd.IntN(RangeTimes) }

func (c *rangeClient) transfer() {
	d1, a1 := c.key()
	d2, a2 := c.key()
	if d1 == d2 && a1 == a2 {
		return
	}
	if c.rnd.IntN(2) == 0 {
		const update = "UPDATE events SET units = units + CASE WHEN device = $1 AND at = $2 THEN -1 ELSE 1 END " +
			"WHERE device = $1 AND at = $2 OR device = $3 AND at = $4"
		if v, rows := c.lone(update, d1, a1, d2, a2); v == done && rows != 2 {
			c.r.Errorf("transfer from (%d, %d) to (%d, %d): %d rows", d1, a1, d2, a2, rows)
		}
		return
	}
	c.transaction(levels[c.rnd.IntN(len(levels))], func(ctx context.Context) error {
		for _, x := range [][3]int{{d1, a1, -1}, {d2, a2, 1}} {
			tag, err := c.conn.Exec(ctx, "UPDATE events SET units = units + $3 WHERE device = $1 AND at = $2", x[0],
				x[1], x[2])
			if err != nil {
				return err
			}
			if tag.RowsAffected() != 1 {
				c.r.Errorf("UPDATE of (%d, %d): %v", x[0], x[1], tag)
			}
		}
		return nil
	})
}

// pair inserts two rows with one time, or deletes two.
func (c *rangeClient) pair() {
	if len(c.pairs) > 20 || len(c.pairs) > 0 && c.rnd.IntN(2) == 0 {
		x := c.pairs[0]
		c.pairs = c.pairs[1:]
		v, rows := c.lone("DELETE FROM events WHERE device IN ($1, $2) AND at = $3", x[0], x[1], x[2])
		if v == done && rows != 2 {
			c.r.Errorf("DELETE of a pair: %d rows", rows)
		}
		if v == undone {
			c.pairs = append(c.pairs, x)
		}
		return
	}
	c.next++
	d := c.rnd.IntN(RangeDevices / 2)
	x := [3]int{d, d + 1 + c.rnd.IntN(RangeDevices/2), 1000 + c.next*rangeClients + c.n}
	v := c.transaction(levels[c.rnd.IntN(len(levels))], func(ctx context.Context) error {
		for _, d := range x[:2] {
			if _, err := c.conn.Exec(ctx, "INSERT INTO events VALUES ($1, $2, 0)", d, x[2]); err != nil {
				return err
			}
		}
		return nil
	})
	if v == done {
		c.pairs = append(c.pairs, x)
	}
}

// at reads all devices at one time, by the index.
func (c *rangeClient) at() {
	_, a := c.key()
	ctx, cancel := c.limited()
	defer cancel()
	n := 0
	if err := c.conn.QueryRow(ctx, "SELECT count(*) FROM events WHERE at = $1", a).Scan(&n); err != nil {
		c.failed(err, true)
	} else if n != RangeDevices {
		c.r.Errorf("%d rows at %d", n, a)
	}
}

const rangeTotal = "SELECT count(*) FILTER (WHERE at < 1000), coalesce(sum(units), 0), " +
	"count(*) FILTER (WHERE at >= 1000), count(DISTINCT at) FILTER (WHERE at >= 1000) FROM events"

func rangesRight(rows, units, paired, pairs int) bool {
	return rows == RangeDevices*RangeTimes && units == rows*rangeEach && paired == 2*pairs
}

func (c *rangeClient) total() {
	var rows, units, paired, pairs int
	ctx, cancel := c.limited()
	defer cancel()
	if err := c.conn.QueryRow(ctx, rangeTotal).Scan(&rows, &units, &paired, &pairs); err != nil {
		c.failed(err, true)
		return
	}
	c.r.totals.Add(1)
	if !rangesRight(rows, units, paired, pairs) {
		c.r.Errorf("%d rows of events with %d units, and %d rows at %d times", rows, units, paired, pairs)
	}
}

func (g *ranges) verify(ctx context.Context, conn *pgx.Conn) (report string, wrong []string, err error) {
	var rows, units, paired, pairs, segments int
	if err := conn.QueryRow(ctx, rangeTotal).Scan(&rows, &units, &paired, &pairs); err != nil {
		return "", nil, err
	}
	if !rangesRight(rows, units, paired, pairs) {
		wrong = append(wrong, fmt.Sprintf("%d rows of events in the end with %d units, and %d rows at %d times", rows,
			units, paired, pairs))
	}
	err = conn.QueryRow(ctx, "SELECT count(*) FROM sherd.segments WHERE collection = 'events'::regclass").
		Scan(&segments)
	return fmt.Sprintf("%d rows in %d segments", rows+paired, segments), wrong, err
}
