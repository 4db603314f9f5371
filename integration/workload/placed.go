package workload

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	placedEach    = 100
	placedClients = 3
	placedOwn     = 100000 // first number of documents that clients create and delete themselves
)

// placed are documents that get other ids meanwhile, by sherd.replace_placement. Clients use any id
// that a document has ever had: each finds that document and no other. Units move from one document
// to another, and rows of another table refer to them.
type placed struct {
	r    *Run
	size int

	// dropping is locked while former ids are dropped; clients lock it for reading.
	dropping sync.RWMutex

	mu    sync.Mutex
	ids   [][]string // of each document; guarded by mu
	drops int        // of former ids; guarded by mu
}

func (p *placed) setUp(ctx context.Context, conn *pgx.Conn) error {
	for _, text := range []string{
		"CREATE TABLE placed (id text PRIMARY KEY, units int NOT NULL, doc jsonb NOT NULL) " +
			"WITH (shard_by = 'A', shard_mutable = true)",
		fmt.Sprintf("INSERT INTO placed SELECT 'placed/' || g, %d, jsonb_build_object('N', g, 'A', 'a' || g %% 11, "+
			"'B', 'b' || g %% 17, 'C', 'c' || g) FROM generate_series(0, %d) g", placedEach, p.size-1),
		"CREATE TABLE refers (n int PRIMARY KEY, placed_id text NOT NULL REFERENCES placed (id))",
		"INSERT INTO refers SELECT (doc->>'N')::int, id FROM placed",
	} {
		if _, err := conn.Exec(ctx, text); err != nil {
			return err
		}
	}
	return p.present(ctx, conn)
}

// present forgets all ids except the present ones.
func (p *placed) present(ctx context.Context, conn *pgx.Conn) error {
	rows, err := conn.Query(ctx, "SELECT id, (doc->>'N')::int FROM placed WHERE (doc->>'N')::int < $1", placedOwn)
	if err != nil {
		return err
	}
	ids := make([][]string, p.size)
	var id string
	var n int
	if _, err := pgx.ForEachRow(rows, []any{&id, &n}, func() error {
		ids[n] = append(ids[n], id)
		return nil
	}); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ids = ids
	p.drops++
	return nil
}

// any returns a present or former id of document n.
func (p *placed) any(rnd *rand.Rand, n int) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ids[n][rnd.IntN(len(p.ids[n]))]
}

func (p *placed) has(n int, id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.Contains(p.ids[n], id) {
		p.ids[n] = append(p.ids[n], id)
	}
}

// DropForwarding calls drop, which drops former ids, while no client uses one. Then it calls connected,
// which passes on a connection for reading the present ids, until that succeeds.
func (s *Resharding) DropForwarding(
	drop func() error, connected func(read func(context.Context, *pgx.Conn) error) error,
) error {
	s.placed.dropping.Lock()
	defer s.placed.dropping.Unlock()
	if err := drop(); err != nil {
		return err
	}
	return connected(s.placed.present)
}

type placedClient struct {
	client
	p   *placed
	n   int
	own map[int][]string // ids of the client's own documents, by number

	drops         int // of former ids that it has heard of
	made, deleted int
}

func (c *placedClient) run(ctx context.Context) {
	for c.connected(ctx) {
		c.p.dropping.RLock()
		c.one()
		c.p.dropping.RUnlock()
		time.Sleep(c.r.Pause)
	}
}

func (c *placedClient) one() {
	c.p.mu.Lock()
	// The client abandons its own documents, because it may not know their ids any more.
	if c.drops != c.p.drops {
		c.drops = c.p.drops
		clear(c.own)
	}
	c.p.mu.Unlock()
	switch n := c.rnd.IntN(16); {
	case n < 4:
		c.read()
	case n < 7:
		c.transfer()
	case n < 9:
		c.transferSlowly()
	case n < 10:
		c.several()
	case n < 12:
		c.make()
	case n < 14:
		c.delete()
	case n < 15:
		c.joined()
	default:
		c.total()
	}
}

// read reads a document by one id, or by two in one transaction.
func (c *placedClient) read() {
	n := c.rnd.IntN(c.p.size)
	if c.rnd.IntN(3) > 0 {
		ctx, cancel := c.limited()
		defer cancel()
		c.readBy(ctx, n, true)
		return
	}
	c.transaction(levels[1+c.rnd.IntN(2)], func(ctx context.Context) error {
		id, units, err := c.readBy(ctx, n, false)
		if err != nil {
			return err
		}
		again, same, err := c.readBy(ctx, n, false)
		if err == nil && (again != id || same != units) {
			c.r.Errorf("one snapshot has document %d as %s with %d and as %s with %d", n, id, units, again, same)
		}
		return err
	})
}

func (c *placedClient) readBy(ctx context.Context, n int, lone bool) (id string, units int, err error) {
	by, found := c.p.any(c.rnd, n), 0
	err = c.rows(ctx, "SELECT id, (doc->>'N')::int, units, 0 FROM placed WHERE id = $1", func(is string, x [3]int) {
		if id, units = is, x[1]; x[0] != n {
			c.r.Errorf("%s is document %d, not %d", by, x[0], n)
		}
		found++
	}, by)
	switch {
	case err != nil && lone:
		c.failed(err, true)
	case err == nil && found != 1:
		c.r.Errorf("%s, document %d, is %d documents", by, n, found)
	case err == nil:
		c.p.has(n, id)
	}
	return id, units, err
}

func (c *placedClient) two() (int, int) {
	from, to := c.rnd.IntN(c.p.size), c.rnd.IntN(c.p.size-1)
	if to >= from {
		to++
	}
	return from, to
}

func (c *placedClient) transfer() {
	from, to := c.two()
	a, b := c.p.any(c.rnd, from), c.p.any(c.rnd, to)
	const update = "UPDATE placed SET units = units + CASE id WHEN $1 THEN -1 ELSE 1 END WHERE id IN ($1, $2)"
	if v, rows := c.lone(update, a, b); v == done && rows != 2 {
		c.r.Errorf("%s of %s, %s: %d rows", update, a, b, rows)
	}
}

// transferSlowly uses two statements; one of them returns the present id.
func (c *placedClient) transferSlowly() {
	from, to := c.two()
	c.transaction(levels[c.rnd.IntN(len(levels))], func(ctx context.Context) error {
		a, b, id := c.p.any(c.rnd, from), c.p.any(c.rnd, to), ""
		if c.rnd.IntN(2) == 0 {
			if err := c.conn.QueryRow(ctx, "SELECT id FROM placed WHERE id = $1 FOR UPDATE", a).Scan(&id); err != nil {
				return c.noRow(err, a)
			}
			a = id
		}
		if err := c.conn.QueryRow(ctx, "UPDATE placed SET units = units - 1, doc = doc || '{\"S\": 1}' "+
			"WHERE id = $1 RETURNING id", a).Scan(&id); err != nil {
			return c.noRow(err, a)
		}
		tag, err := c.conn.Exec(ctx, "UPDATE placed SET units = units + 1 WHERE id = $1", b)
		if err == nil && tag.RowsAffected() != 1 {
			c.r.Errorf("UPDATE of %s: %v", b, tag)
		}
		return err
	})
}

func (c *placedClient) noRow(err error, id string) error {
	if err == pgx.ErrNoRows {
		c.r.Errorf("%s is not there", id)
	}
	return err
}

// several names documents by all the ids that they have had.
func (c *placedClient) several() {
	var ids []string
	wanted := map[int]bool{}
	for range 1 + c.rnd.IntN(5) {
		wanted[c.rnd.IntN(c.p.size)] = true
	}
	c.p.mu.Lock()
	for n := range wanted {
		ids = append(ids, c.p.ids[n]...)
	}
	c.p.mu.Unlock()
	ctx, cancel := c.limited()
	defer cancel()
	got := map[int]int{}
	if err := c.rows(ctx, "SELECT id, (doc->>'N')::int, 0, 0 FROM placed WHERE id = ANY($1)",
		func(_ string, x [3]int) { got[x[0]]++ }, ids); err != nil {
		c.failed(err, true)
		return
	}
	for n := range wanted {
		if got[n] != 1 || len(got) != len(wanted) {
			c.r.Errorf("%v are %v, not each of %v once", ids, got, slices.Sorted(maps.Keys(wanted)))
			return
		}
	}
}

// make creates a document of the client's own, which is placed by its content under each policy.
func (c *placedClient) make() {
	if len(c.own) > 30 {
		return
	}
	n, id := placedOwn+c.n*placedOwn+c.made, ""
	c.made++
	ctx, cancel := c.limited()
	defer cancel()
	err := c.conn.QueryRow(ctx, "INSERT INTO placed SELECT 'placed/' || $1::int || '$', 0, jsonb_build_object('N', "+
		"$1::int, 'A', 'a' || $1 % 11, 'B', 'b' || $1 % 17, 'C', 'c' || $1) RETURNING id", n).Scan(&id)
	if err != nil {
		c.failed(err, true)
		return // after a lost answer the document may exist, which does not matter
	}
	c.own[n] = []string{id}
	c.r.acknowledged()
}

// delete deletes a document of the client's own, by its first id or a later one. Then no id finds
// it.
func (c *placedClient) delete() {
	for n, ids := range c.own {
		if c.rnd.IntN(2) == 0 {
			ctx, cancel := c.limited()
			defer cancel()
			id, by := "", ids[c.rnd.IntN(len(ids))]
			switch err := c.conn.QueryRow(ctx, "SELECT id FROM placed WHERE id = $1", by).Scan(&id); {
			case err == pgx.ErrNoRows:
				c.r.Errorf("%s, document %d, is not there", by, n)
				delete(c.own, n)
			case err != nil:
				c.failed(err, true)
			case !slices.Contains(ids, id):
				c.own[n] = append(ids, id)
			}
			return
		}
		delete(c.own, n)
		v, rows := c.lone("DELETE FROM placed WHERE id = $1", ids[c.rnd.IntN(len(ids))])
		if v == done {
			c.deleted++
		}
		if v == done && rows != 1 {
			c.r.Errorf("DELETE of document %d by one of %v: %d rows", n, ids, rows)
		}
		if c.conn.IsClosed() {
			return
		}
		ctx, cancel := c.limited()
		defer cancel()
		found := 0
		err := c.conn.QueryRow(ctx, "SELECT count(*) FROM placed WHERE id = ANY($1)", ids).Scan(&found)
		if err == nil && v == done && found != 0 || err == nil && v == undone && found != 1 {
			c.r.Errorf("document %d, %v, was deleted (%v) and is %d documents", n, ids, v, found)
		}
		if v == undone {
			c.own[n] = ids
		}
		return
	}
}

func (c *placedClient) joined() {
	ctx, cancel := c.limited()
	defer cancel()
	var all, right int
	err := c.conn.QueryRow(ctx, "SELECT count(*), count(*) FILTER (WHERE (doc->>'N')::int = n) FROM refers "+
		"JOIN placed ON placed.id = placed_id").Scan(&all, &right)
	switch {
	case err != nil:
		c.failed(err, true)
	case all != c.p.size || right != all:
		c.r.Errorf("%d of %d references are found, %d of them right", all, c.p.size, right)
	}
}

const placedTotal = "SELECT count(*), count(DISTINCT doc->>'N'), sum(units) FROM placed WHERE (doc->>'N')::int < 100000"

func (c *placedClient) total() {
	ctx, cancel := c.limited()
	defer cancel()
	var all, distinct, units int
	if err := c.conn.QueryRow(ctx, placedTotal).Scan(&all, &distinct, &units); err != nil {
		c.failed(err, true)
		return
	}
	c.r.totals.Add(1)
	if all != c.p.size || distinct != all || units != all*placedEach {
		c.r.Errorf("%d documents, %d different ones, with %d units", all, distinct, units)
	}
}

// verify reads all documents at the end, by all ids.
func (p *placed) verify(ctx context.Context, conn *pgx.Conn) (report string, wrong []string, err error) {
	var all, distinct, units, entries int
	if err := conn.QueryRow(ctx, placedTotal).Scan(&all, &distinct, &units); err != nil {
		return "", nil, err
	}
	if all != p.size || distinct != all || units != all*placedEach {
		wrong = append(wrong, fmt.Sprintf("%d documents in the end, %d different ones, with %d units", all, distinct,
			units))
	}
	for n, ids := range p.ids {
		for _, id := range ids {
			entries++
			is := -1
			if err := conn.QueryRow(ctx, "SELECT (doc->>'N')::int FROM placed WHERE id = $1", id).
				Scan(&is); err != nil || is != n {
				wrong = append(wrong, fmt.Sprintf("%s is document %d, not %d, in the end: %v", id, is, n, err))
			}
		}
	}
	return fmt.Sprintf("%d documents by %d ids; ", all, entries), wrong, nil
}
