package workload

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

const (
	stockClients = 2
	stockEach    = 100 // units of a document in the beginning
	stockKinds   = 10
	stockInsert  = 50_000 // documents per INSERT
)

// stockClient moves units between documents with autocommit statements. There are many documents,
// in all fragments. It computes the total with and without the index.
type stockClient struct{ client }

func stockKey(n int) string { return fmt.Sprintf("stock/%d", n) }

// setUpStock creates the documents, with some hundred bytes each, and then an index.
func (r *Run) setUpStock(ctx context.Context, conn *pgx.Conn) error {
	if r.Stock == 0 {
		return nil
	}
	if _, err := conn.Exec(ctx, "CREATE TABLE stock (id text PRIMARY KEY, units int NOT NULL, "+
		"kind int NOT NULL, body text)"); err != nil {
		return err
	}
	for first := 0; first < r.Stock; first += stockInsert {
		_, err := conn.Exec(ctx, "INSERT INTO stock SELECT 'stock/' || g, $3::int, g % $4::int, $5::text "+
			"FROM generate_series($1::int, $2::int - 1) g",
			first, min(r.Stock, first+stockInsert), stockEach, stockKinds, strings.Repeat("stock ", 80))
		if err != nil {
			return err
		}
	}
	_, err := conn.Exec(ctx, "CREATE INDEX stock_kind ON stock (kind)")
	return err
}

func (c *stockClient) run(ctx context.Context) {
	for c.connected(ctx) {
		if c.rnd.IntN(8) == 0 {
			c.total()
		} else {
			c.transfer()
		}
	}
}

// transfer runs one statement. If its answer is lost, it may have taken effect or not; the total is
// the same.
func (c *stockClient) transfer() {
	ctx, cancel := c.limited()
	defer cancel()
	from, to := c.rnd.IntN(c.r.Stock), c.rnd.IntN(c.r.Stock)
	if from == to {
		return
	}
	const update = "UPDATE stock SET units = units + CASE id WHEN $1 THEN -1 ELSE 1 END WHERE id IN ($1, $2)"
	tag, err := c.conn.Exec(ctx, update, stockKey(from), stockKey(to))
	switch {
	case err != nil:
		c.saw(err, true)
	case tag.RowsAffected() != 2:
		c.r.Errorf("%s of %s, %s: %v", update, stockKey(from), stockKey(to), tag)
	default:
		c.r.acknowledged()
	}
}

func (c *stockClient) total() {
	ctx, cancel := c.limited()
	defer cancel()
	if c.rnd.IntN(4) == 0 {
		var sum, count int
		if err := c.conn.QueryRow(ctx, "SELECT sum(units), count(*) FROM stock").Scan(&sum, &count); err != nil {
			c.saw(err, true)
		} else if sum != c.r.Stock*stockEach || count != c.r.Stock {
			c.r.Errorf("%d documents of stock with %d units", count, sum)
		}
		return
	}
	// Units move from one kind to another. The number of documents of a kind never changes.
	kind := c.rnd.IntN(stockKinds)
	count := (c.r.Stock - kind + stockKinds - 1) / stockKinds
	var got int
	if err := c.conn.QueryRow(ctx, "SELECT count(*) FROM stock WHERE kind = $1 AND units > -1000000", kind).
		Scan(&got); err != nil {
		c.saw(err, true)
	} else if got != count {
		c.r.Errorf("%d documents of kind %d, not %d", got, kind, count)
	}
}
