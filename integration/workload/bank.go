package workload

import (
	"context"
	"fmt"
	"slices"

	"github.com/sherddb/sherd/integration/history"
)

const (
	bankClients  = 3
	bankAccounts = 9
	bankTotal    = bankAccounts * 100
)

func bankKey(n int) string { return fmt.Sprintf("a%d$@%d", n, bankBucket(n)) }
func bankBucket(n int) int { return n * 1048575 / bankAccounts }

// bankClient moves money between accounts in all fragments, and computes the total.
type bankClient struct{ client }

func (c *bankClient) run(ctx context.Context) {
	for c.connected(ctx) {
		level := history.Level(c.rnd.IntN(3))
		if c.rnd.IntN(3) == 0 {
			c.total(level)
		} else {
			c.transfer(level)
		}
	}
}

func (c *bankClient) transfer(level history.Level) {
	ctx, cancel := c.limited()
	defer cancel()
	from, to, amount := c.rnd.IntN(bankAccounts), c.rnd.IntN(bankAccounts-1), 1+c.rnd.IntN(10)
	if to >= from {
		to++
	}
	if _, err := c.conn.Exec(ctx, "BEGIN ISOLATION LEVEL "+level.String()); err != nil {
		c.rollback(ctx)
		return
	}
	for _, x := range []struct{ account, by int }{{from, -amount}, {to, amount}} {
		update, key := "UPDATE bank SET balance = balance + $2 WHERE id = $1", any(bankKey(x.account))
		if c.rnd.IntN(4) == 0 {
			update, key = "UPDATE bank SET balance = balance + $2 WHERE number = $1", x.account
		}
		tag, err := c.conn.Exec(ctx, update, key, x.by)
		if err != nil {
			c.saw(err, false)
			c.rollback(ctx)
			return
		}
		if tag.RowsAffected() != 1 {
			c.r.Errorf("%s of account %d: %v", update, x.account, tag)
		}
	}
	_, err := c.conn.Exec(ctx, "COMMIT")
	if err != nil {
		c.saw(err, false)
		return
	}
	c.r.transfers.Add(1)
	c.r.acknowledged()
}

// totals are ways to compute the total in one statement: from all rows, and from each index. If
// rows are missing, the result is a wrong number.
var totals = []string{
	"SELECT coalesce(sum(balance), 0) FROM bank",
	"SELECT coalesce(sum(balance), 0) FROM bank WHERE balance BETWEEN -1000000 AND 1000000",
	"SELECT coalesce(sum(balance), 0) FROM bank WHERE number IN (0, 1, 2, 3, 4, 5, 6, 7, 8)",
}

// total computes the total in one statement, which has one snapshot at every level, or account by
// account in a transaction with one snapshot.
func (c *bankClient) total(level history.Level) {
	ctx, cancel := c.limited()
	defer cancel()
	total, how := 0, "part by part"
	if level == history.ReadCommitted {
		how = totals[c.rnd.IntN(len(totals))]
		if err := c.conn.QueryRow(ctx, how).Scan(&total); err != nil {
			c.saw(err, true)
			c.rollback(ctx)
			return
		}
	} else {
		defer c.rollback(ctx)
		if _, err := c.conn.Exec(ctx, "BEGIN ISOLATION LEVEL "+level.String()); err != nil {
			return
		}
		accounts := c.rnd.Perm(bankAccounts)
		for part := range slices.Chunk(accounts, 1+c.rnd.IntN(3)) {
			var keys []string
			for _, n := range part {
				keys = append(keys, bankKey(n))
			}
			query, args := "SELECT coalesce(sum(balance), 0) FROM bank WHERE id = ANY($1)", any(keys)
			if c.rnd.IntN(4) == 0 {
				query, args = "SELECT coalesce(sum(balance), 0) FROM bank WHERE number = ANY($1)", part
			}
			var sum int
			if err := c.conn.QueryRow(ctx, query, args).Scan(&sum); err != nil {
				c.saw(err, false)
				return
			}
			total += sum
		}
	}
	c.r.totals.Add(1)
	if total != bankTotal {
		c.r.Errorf("%s sees a total of %d: %s", level, total, how)
	}
}
