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

func bankKey(n int) string { return fmt.Sprintf("a%d$@%d", n, n*1048575/bankAccounts) }

// bankClient moves money between accounts, which lie in all fragments, and adds up what there is.
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
	ctx, cancel := c.patient()
	defer cancel()
	from, to, amount := c.rnd.IntN(bankAccounts), c.rnd.IntN(bankAccounts-1), 1+c.rnd.IntN(10)
	if to >= from {
		to++
	}
	if _, err := c.conn.Exec(ctx, "BEGIN ISOLATION LEVEL "+level.String()); err != nil {
		c.rollback(ctx)
		return
	}
	const update = "UPDATE bank SET balance = balance + $2 WHERE id = $1"
	for _, x := range []struct{ account, by int }{{from, -amount}, {to, amount}} {
		if _, err := c.conn.Exec(ctx, update, bankKey(x.account), x.by); err != nil {
			c.rollback(ctx)
			return
		}
	}
	if _, err := c.conn.Exec(ctx, "COMMIT"); err == nil {
		c.r.transfers.Add(1)
		c.r.acknowledged()
	}
}

// total adds up in one statement, whose snapshot counts at every level, or account by account in a transaction with one snapshot.
func (c *bankClient) total(level history.Level) {
	ctx, cancel := c.patient()
	defer cancel()
	total := 0
	if level == history.ReadCommitted {
		if err := c.conn.QueryRow(ctx, "SELECT sum(balance) FROM bank").Scan(&total); err != nil {
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
			var sum int
			if err := c.conn.QueryRow(ctx, "SELECT sum(balance) FROM bank WHERE id = ANY($1)", keys).Scan(&sum); err != nil {
				return
			}
			total += sum
		}
	}
	c.r.totals.Add(1)
	if total != bankTotal {
		c.r.Errorf("%s sees a total of %d", level, total)
	}
}
