package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"github.com/sherddb/sherd/node"
	"github.com/sherddb/sherd/shardmap"
)

func demoCommand() *cobra.Command {
	cfg := node.Config{Fragments: node.DefaultFragments}
	nodes, regions := 1, []string(nil)
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run a cluster in one process with sample data",
		Long: `Run a cluster in one process on loopback with sample data: customers, orders, products and employees
of a small trading house. Orders are sharded by their customer. The command prints the psql command
to connect with; Ctrl-C ends the cluster.

With --nodes 3 it is a real cluster: three nodes with separate data and ports, which use the network
as nodes on three machines do. Every node accepts every statement.

Without --data the data is in a temporary directory, which is deleted at the end.`,
		Example: `  sherd demo
  psql postgres://postgres@127.0.0.1:5433/postgres -c 'SELECT count(*) FROM orders'

  sherd demo --nodes 3
  psql postgres://postgres@127.0.0.1:5435/postgres -c 'SELECT * FROM sherd.fragments'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case nodes < 1 || nodes > maxDemoNodes:
				return usageError{fmt.Errorf("--nodes %d: a demo has 1 to %d nodes", nodes, maxDemoNodes)}
			case cfg.Fragments < 1:
				return usageError{fmt.Errorf("--fragments %d: a database has at least one", cfg.Fragments)}
			case len(regions) > nodes:
				return usageError{
					fmt.Errorf(
						"--regions %s: there are more of them than nodes, %d", strings.Join(regions, ","), nodes,
					),
				}
			}
			for _, r := range regions {
				if err := shardmap.CheckLabel("region", r); err != nil {
					return usageError{fmt.Errorf("--regions %s: %w; write eu,eu,us", strings.Join(regions, ","), err)}
				}
			}
			return runDemo(cmd.Context(), cfg, nodes, regions, cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&cfg.Data, "data", "", "directory for the data; temporary if not given")
	cmd.Flags().StringVar(
		&cfg.SQLAddr, "sql-addr", defaultSQLAddr,
		"address for PostgreSQL clients of the first node, HOST:PORT; the other nodes use the next ports",
	)
	cmd.Flags().IntVar(&cfg.Fragments, "fragments", node.DefaultFragments, "fragments of the database")
	cmd.Flags().IntVar(&nodes, "nodes", 1, "nodes of the cluster")
	cmd.Flags().StringSliceVar(&regions, "regions", nil, "label region of the nodes, in their order: eu,eu,us")
	return cmd
}

func runDemo(ctx context.Context, cfg node.Config, count int, regions []string, out io.Writer) error {
	cfg.Logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if cfg.Data == "" {
		dir, err := os.MkdirTemp("", "sherd-demo-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		cfg.Data = dir
	}
	if err := checkLoopback("--sql-addr", cfg.SQLAddr, "a demo asks for no password"); err != nil {
		return err
	}
	configs, err := demoConfigs(cfg, count)
	if err != nil {
		return err
	}
	for i, r := range regions {
		configs[i].Labels = map[string]string{"region": r}
	}
	if !signal.Ignored(syscall.SIGHUP) { // unlike a node, a demo ends with its terminal
		var stop func()
		ctx, stop = signal.NotifyContext(ctx, syscall.SIGHUP)
		defer stop()
	}
	rowCache := limitMemory(defaultMemory(), cfg.Logger)
	for i := range configs {
		configs[i].RowCache = rowCache / int64(len(configs))
	}
	return runNodes(ctx, defaultDrainTimeout, func(ctx context.Context) ([]*node.Node, error) {
		nodes, err := openDemo(ctx, configs)
		return nodes, portTaken(err, "name another --sql-addr, from which the ports of all nodes follow")
	}, func(ctx context.Context, nodes []*node.Node) error {
		if err := loadSample(ctx, nodes[0].URL()); err != nil {
			return fmt.Errorf("sample data: %w", err)
		}
		return welcome(out, cfg, nodes)
	})
}

// welcome prints how to connect and which statements to try.
func welcome(out io.Writer, cfg node.Config, nodes []*node.Node) error {
	size, lines := "one node", ""
	if len(nodes) > 1 {
		size = fmt.Sprintf("%d nodes", len(nodes))
	}
	for _, n := range nodes {
		lines += "\n    psql " + n.URL()
	}
	_, err := fmt.Fprintf(out, demoWelcome, size, cfg.Fragments, lines)
	return err
}

const demoWelcome = `Sherd is running: %s, %d fragments, with customers, orders, products and employees.
%s

Try:
    SELECT id, doc->>'Company' FROM customers ORDER BY id LIMIT 5;
    SELECT doc->>'Customer', count(*), sum((doc->>'Total')::numeric) FROM orders GROUP BY 1 ORDER BY 3 DESC LIMIT 5;
    EXPLAIN SELECT * FROM orders WHERE doc->>'Customer' = 'customers/1-A';
    SELECT * FROM sherd.fragments;

Ctrl-C ends the cluster.
`

// loadSample fills an empty database. If the tables exist already, it changes nothing.
func loadSample(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var there bool
	if err := conn.QueryRow(ctx, "SELECT to_regclass('orders') IS NOT NULL").Scan(&there); err != nil || there {
		return err
	}
	for _, text := range sampleTables {
		if _, err := conn.Exec(ctx, text); err != nil {
			return err
		}
	}
	for _, t := range sampleData() {
		if _, err := conn.CopyFrom(
			ctx, pgx.Identifier{t.table}, []string{"id", "doc"}, pgx.CopyFromRows(t.rows),
		); err != nil {
			return err
		}
	}
	return nil
}
