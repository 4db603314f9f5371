package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"
)

const rotateLong = `Replace the authority that the certificates of the cluster's nodes hang on: its key may be known to somebody. It is replaced once a year by itself.

Every node learns to trust the new authority, then all get certificates of it, then the old one is trusted no more. No connection ends. Each step waits
until all nodes have followed: one that is away is waited for, and goes on where the others are when it comes back. The command returns when it is done, or only waits for the end of join tokens.
It may be interrupted: the nodes go on, and sherd.authorities shows how far they are.`

func nodeRotateCommand() *cobra.Command {
	wait := true
	cmd := overSQL(&cobra.Command{
		Use: "rotate-authority", Short: "Replace the authority of the nodes' certificates", Long: rotateLong,
		Args: cobra.NoArgs,
	}, func(ctx context.Context, conn *pgx.Conn, _ []string, out io.Writer) error {
		if _, err := conn.Exec(ctx, "SELECT sherd.rotate_authority()"); err != nil || !wait {
			return err
		}
		return awaitRotated(ctx, conn, out)
	})
	cmd.Flags().BoolVar(&wait, "wait", wait, "wait until it is done; --wait=false returns at once")
	return cmd
}

// tokensLeft is what a replacement waits for at its end.
const tokensLeft = ", until unused join tokens of it end at "

func awaitRotated(ctx context.Context, conn *pgx.Conn, out io.Writer) error {
	last := ""
	for {
		rows, err := conn.Query(ctx, `SELECT phase || ' ' || left(authority, 8) || CASE
				WHEN waits_until IS NOT NULL THEN '`+tokensLeft+`' || waits_until
				WHEN cardinality(waits_for) > 0 THEN ', waits for ' || array_to_string(waits_for, ', ')
				ELSE '' END
			FROM sherd.authorities ORDER BY since, authority`)
		if err != nil {
			return err
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return err
		}
		if text := strings.Join(lines, "; "); text != last {
			if _, err := fmt.Fprintln(out, text); err != nil {
				return err
			}
			last = text
		}
		if len(lines) < 2 {
			return nil
		}
		if strings.Contains(last, tokensLeft) {
			_, err := fmt.Fprintln(out, "nothing is left to do but to wait for that: the nodes do it by themselves")
			return err
		}
		select {
		case <-time.After(drainLook):
		case <-ctx.Done():
			return fmt.Errorf("the nodes go on; sherd.authorities shows how far they are")
		}
	}
}
