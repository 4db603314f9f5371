package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"github.com/sherddb/sherd/node"
)

func demoCommand() *cobra.Command {
	cfg := node.Config{Fragments: node.DefaultFragments}
	nodes := 1
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run a cluster in one process with sample data",
		Long: `Run a cluster in one process on loopback with sample data: customers, orders, products and employees of a small trading house. Orders are
sharded by their customer. The psql line to connect with is printed; Ctrl-C ends it.

Without --data the data lives in a temporary directory and is gone at the end.`,
		Example: "  sherd demo\n  psql postgres://postgres@127.0.0.1:5433/postgres -c 'SELECT count(*) FROM orders'",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if nodes != 1 {
				return fmt.Errorf("a demo of %d nodes is not supported yet; --nodes 1 runs three fragments in one node", nodes)
			}
			return runDemo(cmd.Context(), cfg, cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&cfg.Data, "data", "", "directory to keep the data in; temporary if not given")
	cmd.Flags().StringVar(&cfg.SQLAddr, "sql-addr", defaultSQLAddr, "address for PostgreSQL clients, HOST:PORT")
	cmd.Flags().IntVar(&cfg.Fragments, "fragments", node.DefaultFragments, "fragments of the database")
	cmd.Flags().IntVar(&nodes, "nodes", 1, "nodes of the cluster")
	return cmd
}

func runDemo(ctx context.Context, cfg node.Config, out io.Writer) error {
	cfg.Logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if cfg.Data == "" {
		dir, err := os.MkdirTemp("", "sherd-demo-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		cfg.Data = dir
	}
	if err := checkLoopback("--sql-addr", cfg.SQLAddr); err != nil {
		return err
	}
	cfg.NodeAddr = "127.0.0.1:0"
	return runNodes(ctx, defaultDrainTimeout, func(ctx context.Context) ([]*node.Node, error) {
		n, err := node.Open(ctx, cfg)
		if err != nil {
			return nil, err
		}
		return []*node.Node{n}, nil
	}, func(ctx context.Context, nodes []*node.Node) error {
		if err := loadSample(ctx, nodes[0].URL()); err != nil {
			return fmt.Errorf("sample data: %w", err)
		}
		_, err := fmt.Fprintf(out, demoWelcome, cfg.Fragments, nodes[0].URL())
		return err
	})
}

const demoWelcome = `Sherd is running: one node, %d fragments, with customers, orders, products and employees.

    psql %s

Try:
    SELECT id, doc->>'Company' FROM customers ORDER BY id LIMIT 5;
    SELECT doc->>'Customer', count(*), sum((doc->>'Total')::numeric) FROM orders GROUP BY 1 ORDER BY 3 DESC LIMIT 5;
    EXPLAIN SELECT * FROM orders WHERE doc->>'Customer' = 'customers/1-A';
    SELECT * FROM sherd.bucket_map;

Ctrl-C ends it.
`

// loadSample fills an empty database; one that has the tables is left as it is.
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
		if _, err := conn.CopyFrom(ctx, pgx.Identifier{t.table}, []string{"id", "doc"}, pgx.CopyFromRows(t.rows)); err != nil {
			return err
		}
	}
	return nil
}
