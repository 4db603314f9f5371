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

const rotateLong = `Replace the authority that signs the certificates of the cluster's nodes, for
example because its key may be known to others. The cluster replaces it by itself once a year.

Every node first trusts the new authority, then all get certificates of it, then the old one is no
longer trusted. No connection ends. Each step waits until all nodes have completed the one before: a
node that is down is waited for, and catches up when it is back. The command returns when the
replacement is done, or only waits for the end of join tokens. It may be interrupted: the nodes
continue, and sherd.authorities shows their progress.`

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
	cmd.Flags().BoolVar(&wait, "wait", wait, "wait until the replacement is done; --wait=false returns at once")
	return cmd
}

// tokensLeft starts the part of the status that says what a replacement waits for at its end.
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
			_, err := fmt.Fprintln(out, "only that is left to wait for; the nodes finish by themselves")
			return err
		}
		select {
		case <-time.After(drainLook):
		case <-ctx.Done():
			return fmt.Errorf("the nodes go on; sherd.authorities shows how far they are")
		}
	}
}
