package workload

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/sherddb/sherd/integration/history"
)

const (
	listClients = 8
	listKeys    = 12 // of a generation
	// Transactions and values of a generation; then other keys are used, so that lists stay short.
	listValues = 3000
)

// listKey spreads the keys of a generation over the buckets; neighbours are in one fragment.
func listKey(gen, n int) string {
	return fmt.Sprintf("g%d/k%02d$@%d", gen, n, listBucket(n))
}

func listBucket(n int) int { return n / 2 * 2 * 1048575 / listKeys }

func finalLists(ctx context.Context, conn *pgx.Conn) (map[string][]int, error) {
	rows, err := conn.Query(ctx, "SELECT id, l FROM lists")
	if err != nil {
		return nil, err
	}
	return collectLists(rows)
}

var errTwice = errors.New("a row came twice")

func collectLists(rows pgx.Rows) (map[string][]int, error) {
	lists := map[string][]int{}
	var id string
	var l []int
	_, err := pgx.ForEachRow(rows, []any{&id, &l}, func() error {
		if _, twice := lists[id]; twice {
			return fmt.Errorf("%s: %w", id, errTwice)
		}
		lists[id] = slices.Clone(l)
		return nil
	})
	return lists, err
}

// listClient runs random transactions one after the other.
type listClient struct{ client }

func (c *listClient) run(ctx context.Context) {
	for c.connected(ctx) {
		t := c.transaction()
		c.r.mu.Lock()
		c.r.txns = append(c.r.txns, t)
		c.r.mu.Unlock()
		if t.Outcome == history.Committed {
			c.r.acknowledged()
		}
	}
}

func (c *listClient) transaction() *history.Transaction {
	ctx, cancel := c.limited()
	defer cancel()
	t := &history.Transaction{ID: int(c.r.next.Add(1)), Level: history.Level(c.rnd.IntN(3)), Outcome: history.Aborted}
	if _, err := c.conn.Exec(ctx, "BEGIN ISOLATION LEVEL "+t.Level.String()); err != nil {
		c.rollback(ctx)
		return t
	}
	t.Start = c.now()
	for range 1 + c.rnd.IntN(4) {
		if err := c.statement(ctx, t); err != nil {
			c.saw(err, false)
			c.rollback(ctx)
			return t
		}
	}
	if c.rnd.IntN(20) == 0 {
		c.rollback(ctx)
		return t
	}
	t.Outcome = history.Unknown
	_, err := c.conn.Exec(ctx, "COMMIT")
	t.End = c.now()
	if err != nil {
		c.saw(err, false)
	}
	switch {
	case err == nil:
		t.Outcome = history.Committed
	case refused(err):
		t.Outcome = history.Aborted
	case ctx.Err() != nil:
		c.r.slow.Add(1)
	}
	return t
}

// statement appends to a list or reads some.
func (c *listClient) statement(ctx context.Context, t *history.Transaction) error {
	gen := t.ID / listValues
	anyKey := func() string { return listKey(gen, c.rnd.IntN(listKeys)) }
	key := anyKey()
	began := c.now()
	switch n := c.rnd.IntN(20); {
	case n < 9:
		value := int(c.r.next.Add(1))
		t.Ops = append(t.Ops, history.Op{Key: key, Append: true, Value: value, Start: began})
		_, err := c.conn.Exec(ctx, "INSERT INTO lists VALUES ($1, ARRAY[$2::int], $3) ON CONFLICT (id) DO UPDATE "+
			"SET l = lists.l || excluded.l", key, value, gen)
		return err
	case n < 11: // with another query plan; a missing list stays missing
		value := int(c.r.next.Add(1))
		tag, err := c.conn.Exec(ctx, "UPDATE lists SET l = l || $2::int WHERE id = $1", key, value)
		if err != nil || tag.RowsAffected() == 1 {
			t.Ops = append(t.Ops, history.Op{Key: key, Append: true, Value: value, Start: began})
		} else {
			t.Ops = append(t.Ops, history.Op{Key: key, Start: began})
		}
		return err
	case n < 15:
		return c.read(ctx, t, []string{key}, "SELECT id, l FROM lists WHERE id = $1", key)
	case n < 18:
		keys := []string{key, anyKey(), anyKey()}
		slices.Sort(keys)
		keys = slices.Compact(keys)
		return c.read(ctx, t, keys, "SELECT id, l FROM lists WHERE id = ANY($1)", keys)
	default: // phantoms: lists that are not there are read too
		keys := make([]string, listKeys)
		for i := range keys {
			keys[i] = listKey(gen, i)
		}
		return c.read(ctx, t, keys, "SELECT id, l FROM lists WHERE gen = $1", gen)
	}
}

func (c *listClient) read(ctx context.Context, t *history.Transaction, keys []string, sql string, args ...any) error {
	began := c.now()
	rows, err := c.conn.Query(ctx, sql, args...)
	if err != nil {
		return err
	}
	got, err := collectLists(rows)
	if errors.Is(err, errTwice) {
		c.r.Errorf("transaction %d: %v", t.ID, err)
	}
	if err != nil {
		return err
	}
	for _, key := range keys {
		t.Ops = append(t.Ops, history.Op{Key: key, List: got[key], Start: began})
	}
	return nil
}
