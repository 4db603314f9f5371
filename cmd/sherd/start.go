package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/scramsecret"
	"github.com/sherddb/sherd/node"
)

const (
	defaultSQLAddr = "127.0.0.1:5433"
	drainTimeout   = 5 * time.Second
)

func startCommand() *cobra.Command {
	var cfg node.Config
	var passwordFile string
	cmd := &cobra.Command{
		Use:   "start --data DIR",
		Short: "Start a node",
		Long: `Start a node. The first start of an empty directory creates a cluster with the database postgres; later ones resume it.

When clients are accepted, one line "ready postgres://…" is printed on standard output; logs go to standard error.
SIGTERM lets running statements finish, then exits with 0.

Every flag is also an environment variable: --sql-addr is SHERD_SQL_ADDR.`,
		Example: "  sherd start --data ./data\n  psql postgres://postgres@127.0.0.1:5433/postgres",
		Args:    cobra.NoArgs,
		PreRunE: flagsFromEnvironment,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cfg.Data == "" {
				return usageError{fmt.Errorf("--data is required: the directory that holds the node's data")}
			}
			if cfg.Fragments < 1 {
				return usageError{fmt.Errorf("--fragments %d: a database has at least one", cfg.Fragments)}
			}
			cfg.Logger = newLogger(os.Stderr)
			var err error
			if cfg.Verifier, err = superuserVerifier(passwordFile); err != nil {
				return err
			}
			if err := errors.Join(checkLoopback("--sql-addr", cfg.SQLAddr), checkLoopback("--http-addr", cfg.HTTPAddr)); err != nil {
				return err
			}
			return runNode(cmd.Context(), cfg, nil)
		},
	}
	cmd.Flags().StringVar(&cfg.Data, "data", "", "directory of the node's data; made if it does not exist")
	cmd.Flags().StringVar(&cfg.SQLAddr, "sql-addr", defaultSQLAddr, "address for PostgreSQL clients, HOST:PORT; port 0 picks a free one")
	cmd.Flags().StringVar(&cfg.HTTPAddr, "http-addr", "", "address for operators, HOST:PORT: /healthz and /debug/pprof; none if not given")
	cmd.Flags().IntVar(&cfg.Fragments, "fragments", node.DefaultFragments, "fragments of the database postgres of a new cluster")
	cmd.Flags().IntVar(&cfg.Replication, "replication-factor", catalog.DefaultReplicationFactor, "replicas that each fragment of a new cluster shall have; met as nodes join")
	cmd.Flags().StringVar(&passwordFile, "superuser-password-file", "", "file with the first password of the role postgres of a new cluster")
	return cmd
}

// flagsFromEnvironment sets flags that were not given from SHERD_… variables.
func flagsFromEnvironment(cmd *cobra.Command, _ []string) error {
	for _, name := range []string{"data", "sql-addr", "http-addr", "fragments", "superuser-password-file"} {
		f := cmd.Flags().Lookup(name)
		if f == nil || f.Changed {
			continue
		}
		v, ok := os.LookupEnv("SHERD_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_")))
		if !ok {
			continue
		}
		if err := f.Value.Set(v); err != nil {
			return usageError{fmt.Errorf("environment variable for --%s: %w", name, err)}
		}
	}
	return nil
}

// superuserVerifier reads the superuser's first password and gives its SCRAM verifier, "" where none is given.
func superuserVerifier(file string) (string, error) {
	password := os.Getenv("SHERD_SUPERUSER_PASSWORD")
	if file != "" {
		b, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("superuser password: %w", err)
		}
		password = strings.TrimRight(string(b), "\r\n")
	}
	if password == "" {
		return "", nil
	}
	return scramsecret.Make(password)
}

// checkLoopback refuses to open a door beyond this machine while it has no lock (SPEC 11).
func checkLoopback(flag, addr string) error {
	if addr == "" {
		return nil
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return usageError{fmt.Errorf("%s: %w", flag, err)}
	}
	if host == "localhost" {
		return nil
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("%s %s is not a loopback address: that needs TLS and a password for every role, and TLS is not supported yet. "+
		"Use 127.0.0.1 and a tunnel", flag, addr)
}

// newLogger logs as text to a terminal and as JSON elsewhere.
func newLogger(f *os.File) *slog.Logger {
	if st, err := f.Stat(); err == nil && st.Mode()&os.ModeCharDevice != 0 {
		return slog.New(slog.NewTextHandler(f, nil))
	}
	return slog.New(slog.NewJSONHandler(f, nil))
}

// giveProcessors lets more goroutines run Go code at once than there are processors. A goroutine that waits for the disk in fsync keeps its
// place until the scheduler notices, so with few places the clients wait for the disk too: 16 clients inserting on 2 processors did 1.4 times
// as much with 8.
func giveProcessors() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(max(8, 2*runtime.NumCPU()))
	}
}

// runNode runs a node until SIGTERM or SIGINT. ready is called when clients are accepted; nil prints the ready line.
func runNode(ctx context.Context, cfg node.Config, ready func(context.Context, *node.Node) error) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	giveProcessors()
	limitMemory(ctx)
	n, err := node.Open(ctx, cfg)
	if err != nil {
		return err
	}
	serving := make(chan error, 1)
	go func() { serving <- n.Serve() }()
	if ready == nil {
		ready = func(_ context.Context, n *node.Node) error {
			_, err := fmt.Println("ready " + n.URL())
			return err
		}
	}
	if err = ready(ctx, n); err == nil {
		select {
		case <-ctx.Done():
		case err = <-serving:
		}
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	if cerr := n.Close(drain); err == nil {
		err = cerr
	}
	return err
}
