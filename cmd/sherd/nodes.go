package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/spf13/cobra"

	"github.com/sherddb/sherd/internal/pgerr"
)

const nodeLong = `List the nodes of a cluster, add nodes, drain and remove them.

    sherd node token                 print the command that starts another node
    sherd node list                  show all nodes
    sherd node drain n3              move its replicas and leaders to the other nodes
    sherd node remove n3             remove it from the cluster
    sherd node rotate-authority      replace the authority of the nodes' certificates
    sherd node recover               recover fragments that lost their majority for good

All commands except recover connect to a running node, at --url.`

func nodeCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "node", Short: "List, add and remove nodes", Long: nodeLong, Args: cobra.NoArgs}
	cmd.AddCommand(
		nodeListCommand(), nodeTokenCommand(), nodeDrainCommand(), nodeRemoveCommand(), nodeRotateCommand(),
		nodeRecoverCommand(),
	)
	return cmd
}

// overSQL makes a command that works over a connection to a running node.
func overSQL(
	cmd *cobra.Command, run func(ctx context.Context, conn *pgx.Conn, args []string, out io.Writer) error,
) *cobra.Command {
	url := defaultURL
	cmd.Flags().StringVar(&url, "url", url, "connection string of a node; also SHERD_URL")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error { return urlFromEnvironment(cmd, &url) }
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
		defer stop()
		conn, err := pgx.Connect(ctx, url)
		if err != nil {
			return err
		}
		defer conn.Close(context.WithoutCancel(ctx))
		return serverError(run(ctx, conn, args, cmd.OutOrStdout()))
	}
	return cmd
}

// serverError returns the server's error without SQLSTATE, with detail and hint.
func serverError(err error) error {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return err
	}
	text := pg.Message
	if pg.Detail != "" {
		text += "\n" + pg.Detail
	}
	if pg.Hint != "" {
		text += "\nHint: " + pg.Hint
	}
	return errors.New(text)
}

func nodeListCommand() *cobra.Command {
	return overSQL(&cobra.Command{
		Use: "list", Short: "List the nodes of the cluster", Args: cobra.NoArgs,
		Long: "List the nodes of the cluster: SELECT * FROM sherd.nodes.",
	}, func(ctx context.Context, conn *pgx.Conn, _ []string, out io.Writer) error {
		rows, err := conn.Query(
			ctx,
			`SELECT name, coalesce(node_addr, ''), coalesce(sql_addr, ''), role, state, `+
				`CASE WHEN alive THEN 'yes' ELSE 'no' END, replicas::text, coalesce(release, ''), labels::text `+
				`FROM sherd.nodes ORDER BY id`,
		)
		if err != nil {
			return err
		}
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "NAME\tNODE ADDRESS\tSQL ADDRESS\tROLE\tSTATE\tALIVE\tREPLICAS\tRELEASE\tLABELS")
		var line [9]string
		_, err = pgx.ForEachRow(rows, []any{
			&line[0], &line[1], &line[2], &line[3], &line[4], &line[5], &line[6], &line[7], &line[8],
		}, func() error {
			if line[8] == "{}" {
				line[8] = ""
			}
			_, err := fmt.Fprintln(w, strings.TrimRight(strings.Join(line[:], "\t"), "\t"))
			return err
		})
		if err != nil {
			return err
		}
		return w.Flush()
	})
}

const tokenLong = `Make a join token, and print the command that starts a new node with it.

A token admits one node, once, within --life. Anyone who has it can join a node: keep it as secret as
a password. Run the printed command on the new machine, with the addresses at which the new node
should listen.

--for makes a token for a node of the cluster that still has its data, and whose certificate is lost
or has expired. If a node has lost its data, start it as a new node, with an ordinary token, and
remove the old one with "sherd node remove".`

func nodeTokenCommand() *cobra.Command {
	life, node, plain := 24*time.Hour, "", false
	cmd := overSQL(&cobra.Command{
		Use: "token", Short: "Let another node join", Long: tokenLong, Args: cobra.NoArgs,
		Example: "  sherd node token\n  sherd start --data ./data --join 10.0.0.1:7433 --token sherd-join-…",
	}, func(ctx context.Context, conn *pgx.Conn, _ []string, out io.Writer) error {
		var token string
		call, args := "SELECT sherd.join_token(make_interval(secs => $1))", []any{life.Seconds()}
		if node != "" {
			call, args = "SELECT sherd.join_token(make_interval(secs => $1), $2)", append(args, node)
		}
		if err := conn.QueryRow(ctx, call, args...).Scan(&token); err != nil {
			return err
		}
		if plain {
			_, err := fmt.Fprintln(out, token)
			return err
		}
		join, err := joinAddrs(ctx, conn)
		if err != nil {
			return err
		}
		return printToken(out, token, join, node, life)
	})
	cmd.Flags().DurationVar(&life, "life", life, "how long the token is valid")
	cmd.Flags().StringVar(&node, "for", "", "name of a node of the cluster that has its data and lost its certificate")
	cmd.Flags().BoolVar(&plain, "plain", false, "print only the token, for scripts")
	return cmd
}

// maxJoinAddrs is the number of addresses in the command line for joining; one that answers is
// enough.
const maxJoinAddrs = 3

func joinAddrs(ctx context.Context, conn *pgx.Conn) (string, error) {
	rows, err := conn.Query(
		ctx, "SELECT node_addr FROM sherd.nodes WHERE node_addr IS NOT NULL ORDER BY id LIMIT $1", maxJoinAddrs,
	)
	if err != nil {
		return "", err
	}
	addrs, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return strings.Join(addrs, ","), err
}

func printToken(out io.Writer, token, join, node string, life time.Duration) error {
	data, whose := "DIR", "one new node"
	if node != "" {
		data, whose = "ITS-DATA", "node "+node+" with its data"
	}
	_, err := fmt.Fprintf(out, `This token admits %s, once, within %s:

    sherd start --data %s --join %s --token %s

Add --node-addr HOST:PORT, the address for the other nodes, and --sql-addr HOST:PORT, the address for
clients.
`, whose, life, data, join, token)
	if err == nil && strings.Contains(join, "127.0.0.1:") {
		_, err = fmt.Fprintln(
			out,
			"The cluster's nodes listen on 127.0.0.1: only nodes on this machine can join, each with its own ports.",
		)
	}
	return err
}

const drainLong = `Move the replicas and leaders of a node to other nodes, and place no new ones on it. The node keeps
serving clients. The command returns when the node holds no replicas.

--undo cancels the drain: replicas may be placed on the node again.`

func nodeDrainCommand() *cobra.Command {
	undo, wait := false, true
	cmd := overSQL(&cobra.Command{
		Use: "drain NAME", Short: "Move everything away from a node", Long: drainLong, Args: cobra.ExactArgs(1),
		Example: "  sherd node drain n3\n  sherd node remove n3",
	}, func(ctx context.Context, conn *pgx.Conn, args []string, out io.Writer) error {
		if undo {
			_, err := conn.Exec(ctx, "SELECT sherd.resume_node($1)", args[0])
			return err
		}
		if _, err := conn.Exec(ctx, "SELECT sherd.drain_node($1)", args[0]); err != nil || !wait {
			return err
		}
		return awaitDrained(ctx, conn, args[0], out)
	})
	cmd.Flags().BoolVar(&undo, "undo", false, "cancel the drain")
	cmd.Flags().BoolVar(&wait, "wait", wait, "wait until the node holds no replicas; --wait=false returns at once")
	return cmd
}

// drainLook is how often the progress of a drain is looked at.
const drainLook = 500 * time.Millisecond

func awaitDrained(ctx context.Context, conn *pgx.Conn, name string, out io.Writer) error {
	last := -1
	for {
		var left int
		if err := conn.QueryRow(ctx, "SELECT replicas FROM sherd.nodes WHERE name = $1", name).Scan(&left); err != nil {
			return err
		}
		if left != last {
			if _, err := fmt.Fprintf(out, "replicas on %s: %d\n", name, left); err != nil || left == 0 {
				return err
			}
			last = left
		}
		select {
		case <-time.After(drainLook):
		case <-ctx.Done():
			return fmt.Errorf("%s is still being drained; \"sherd node drain --undo %s\" cancels that", name, name)
		}
	}
}

func nodeRemoveCommand() *cobra.Command {
	return overSQL(&cobra.Command{
		Use: "remove NAME", Short: "Remove a drained node", Args: cobra.ExactArgs(1),
		Long: `Remove a node from the cluster for good. Its certificate is no longer accepted, and its number is
never reused. The machine can join as a new node, with an empty data directory and a join token.

Drain a node before you remove it ("sherd node drain"), even if it is dead: the other nodes then make
new copies of its replicas.`,
		Example: "  sherd node drain n3\n  sherd node remove n3",
	}, func(ctx context.Context, conn *pgx.Conn, args []string, _ io.Writer) error {
		_, err := conn.Exec(ctx, "SELECT sherd.remove_node($1)", args[0])
		var pg *pgconn.PgError
		if errors.As(err, &pg) && pg.Code == pgerr.AdminShutdown {
			return fmt.Errorf(
				"the node that was asked has ended, as %s does when it is removed; ask another one: "+
					"sherd node list --url …", args[0],
			)
		}
		return err
	})
}
