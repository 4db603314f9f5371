package integration

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/sherddb/sherd/integration/history"
)

const (
	bankClients  = 3
	bankAccounts = 9
	bankTotal    = bankAccounts * 100
)

type bankCounts struct{ transfers, totals atomic.Int64 }

func bankKey(n int) string { return fmt.Sprintf("a%d$@%d", n, n*1048575/bankAccounts) }

func setUpBank(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	Exec(t, conn, "CREATE TABLE bank (id text PRIMARY KEY, balance int NOT NULL, doc jsonb)")
	for n := range bankAccounts {
		Exec(t, conn, "INSERT INTO bank VALUES ($1, 100)", bankKey(n))
	}
}

// bankClient moves money between accounts, which lie in all fragments, and adds up what there is.
type bankClient struct{ historyClient }

func (c *bankClient) run(ctx context.Context) {
	for c.connected(ctx) {
		level := history.Level(c.rnd.IntN(3))
		if c.rnd.IntN(3) == 0 {
			c.total(ctx, level)
		} else {
			c.transfer(ctx, level)
		}
	}
}

func (c *bankClient) transfer(ctx context.Context, level history.Level) {
	from, to, amount := c.rnd.IntN(bankAccounts), c.rnd.IntN(bankAccounts-1), 1+c.rnd.IntN(10)
	if to >= from {
		to++
	}
	if _, err := c.conn.Exec(ctx, "BEGIN ISOLATION LEVEL "+level.String()); err != nil {
		return
	}
	const update = "UPDATE bank SET balance = balance + $2 WHERE id = $1"
	for _, x := range []struct{ account, by int }{{from, -amount}, {to, amount}} {
		if _, err := c.conn.Exec(ctx, update, bankKey(x.account), x.by); err != nil {
			c.rollback()
			return
		}
	}
	if _, err := c.conn.Exec(ctx, "COMMIT"); err == nil {
		c.h.bank.transfers.Add(1)
	}
}

// total adds up in one statement, whose snapshot counts at every level, or account by account in a transaction with one snapshot.
func (c *bankClient) total(ctx context.Context, level history.Level) {
	total := 0
	if level == history.ReadCommitted {
		if err := c.conn.QueryRow(ctx, "SELECT sum(balance) FROM bank").Scan(&total); err != nil {
			return
		}
	} else {
		if _, err := c.conn.Exec(ctx, "BEGIN ISOLATION LEVEL "+level.String()); err != nil {
			return
		}
		defer c.rollback()
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
	c.h.bank.totals.Add(1)
	if total != bankTotal {
		c.h.t.Errorf("%s sees a total of %d", level, total)
	}
}
