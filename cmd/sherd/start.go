package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/node"
)

const (
	defaultSQLAddr      = "127.0.0.1:5433"
	defaultNodeAddr     = "127.0.0.1:7433"
	defaultDrainTimeout = 5 * time.Second
)

const startLong = `Start a node.

The first start with an empty directory creates a cluster of one node, with the database postgres.
With --join the node joins a cluster instead: run "sherd node token" against a node of that cluster;
it prints the command to run here. Later starts with the directory resume the node. Then --join only
names more addresses at which the other nodes may be found, and --token has no effect unless the node
has lost its certificate ("sherd node token --for").

Clients of other machines need TLS and a password. A node whose --sql-addr is not a loopback address
always offers TLS. Set the first password of the role postgres with --superuser-password-file or
SHERD_SUPERUSER_PASSWORD when you create the cluster.

When the node accepts clients, it prints one line "ready postgres://…" to standard output; logs go to
standard error. After SIGTERM open transactions have --drain-timeout to finish; the exit code is 0.
After SIGHUP the node reads the files of --sql-tls-cert and --sql-tls-key again.

Every flag is also an environment variable (--sql-addr is SHERD_SQL_ADDR) and a key in the TOML file
of --config:

    sql-addr = "127.0.0.1:5433"
    join = ["10.0.0.1:7433", "10.0.0.2:7433"]
    labels = { zone = "a" }`

const startExample = `  sherd start --data ./data
  psql postgres://postgres@127.0.0.1:5433/postgres

  sherd start --data ./data2 --sql-addr 127.0.0.1:5434 --node-addr 127.0.0.1:7434 \
      --join 127.0.0.1:7433 --token sherd-join-…`

// startFlags are the flags that are more than a field of the node's configuration.
type startFlags struct {
	passwordFile string
	tokenFile    string
	role         string
	drainTimeout time.Duration
	memory       memoryFlag
}

func startCommand() *cobra.Command {
	var cfg node.Config
	more := startFlags{memory: defaultMemory()}
	cmd := &cobra.Command{
		Use:     "start --data DIR",
		Short:   "Start a node",
		Long:    startLong,
		Example: startExample,
		Args:    cobra.NoArgs,
		PreRunE: flagsFromElsewhere,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg.Logger = newLogger(os.Stderr)
			var err error
			if cfg.Knobs.Version, err = release(); err != nil {
				return err
			}
			if err := more.apply(&cfg); err != nil {
				return err
			}
			// A default value does not contradict an existing cluster.
			if !cmd.Flags().Changed("fragments") {
				cfg.Fragments = 0
			}
			if !cmd.Flags().Changed("replication-factor") {
				cfg.Replication = 0
			}
			cfg.RowCache = limitMemory(more.memory, cfg.Logger)
			return runNode(cmd.Context(), cfg, more.drainTimeout)
		},
	}
	f := cmd.Flags()
	f.StringVar(&cfg.Data, "data", "", "directory of the node's data; created if it does not exist")
	f.StringVar(
		&cfg.SQLAddr, "sql-addr", defaultSQLAddr, "address for PostgreSQL clients, HOST:PORT; port 0 picks a free one",
	)
	f.StringVar(
		&cfg.NodeAddr, "node-addr", defaultNodeAddr,
		"address for the other nodes, HOST:PORT; connections are encrypted and both sides authenticated",
	)
	f.StringVar(
		&cfg.SQLTLS, "sql-tls", node.TLSAuto,
		"auto: offer TLS unless --sql-addr is a loopback address and no certificate is given; on: always",
	)
	f.StringVar(
		&cfg.SQLTLSCert, "sql-tls-cert", "",
		"PEM file with the certificate for clients, followed by its issuers; if not given, "+
			"the cluster's authority signs one",
	)
	f.StringVar(&cfg.SQLTLSKey, "sql-tls-key", "", "PEM file with the key of that certificate; SIGHUP reads both again")
	f.StringVar(
		&cfg.HTTPAddr, "http-addr", "",
		"address for operators, HOST:PORT: /healthz and /debug/pprof; none if not given",
	)
	f.StringVar(
		&cfg.AdvertiseAddr, "advertise-addr", "",
		"address at which the other nodes reach this one, HOST or HOST:PORT; that of --node-addr if not given",
	)
	f.StringVar(
		&cfg.SQLAdvertiseAddr, "sql-advertise-addr", "",
		"address at which clients reach this node, HOST or HOST:PORT; that of --sql-addr if not given",
	)
	f.StringSliceVar(&cfg.Join, "join", nil, "node addresses of a cluster to join, HOST:PORT,…; one is enough")
	f.StringVar(&cfg.Token, "token", "", "join token of that cluster, from \"sherd node token\"")
	f.StringVar(&more.tokenFile, "token-file", "", "file with the join token")
	f.StringVar(&cfg.Name, "node-name", "", "name in the list of nodes; n1, n2, … if not given")
	f.StringVar(
		&more.role, "role", roleAll, "all: serves clients and holds data; gateway: serves clients and holds none",
	)
	f.Var((*labelsFlag)(&cfg.Labels), "labels", "where the node is, zone=a,…: replicas are spread over zones")
	f.IntVar(&cfg.Fragments, "fragments", node.DefaultFragments, "fragments of the database postgres of a new cluster")
	f.IntVar(
		&cfg.Replication, "replication-factor", catalog.DefaultReplicationFactor,
		"number of replicas of each fragment in a new cluster; they are added as nodes join",
	)
	f.StringVar(
		&more.passwordFile, "superuser-password-file", "",
		"file with the first password of the role postgres of a new cluster",
	)
	f.DurationVar(
		&more.drainTimeout, "drain-timeout", defaultDrainTimeout,
		"how long clients have to finish their transactions when the node is stopped",
	)
	f.Var(
		&more.memory, "memory",
		"limit for the node's heap: a percentage of the machine's or container's memory, "+
			"or a size such as 4GB; GOMEMLIMIT overrides it",
	)
	f.String(configFlag, "", "TOML file with settings")
	return cmd
}

const (
	roleAll     = "all"
	roleGateway = "gateway"
)

// apply copies flags to the configuration and refuses invalid ones.
func (m *startFlags) apply(cfg *node.Config) (err error) {
	switch {
	case cfg.Data == "":
		return usageError{errors.New("--data is required: the directory that holds the node's data")}
	case cfg.Fragments < 1:
		return usageError{fmt.Errorf("--fragments %d: a database has at least one", cfg.Fragments)}
	case catalog.CheckFactor(cfg.Replication) != nil:
		return usageError{
			fmt.Errorf(
				"--replication-factor %d: it is between 1 and %d", cfg.Replication, catalog.MaxReplicationFactor,
			),
		}
	case m.role != roleAll && m.role != roleGateway:
		return usageError{fmt.Errorf("--role %q: it is %s or %s", m.role, roleAll, roleGateway)}
	case cfg.SQLTLS != node.TLSAuto && cfg.SQLTLS != node.TLSOn:
		return usageError{fmt.Errorf("--sql-tls %q: it is %s or %s", cfg.SQLTLS, node.TLSAuto, node.TLSOn)}
	case (cfg.SQLTLSCert == "") != (cfg.SQLTLSKey == ""):
		return usageError{errors.New("--sql-tls-cert and --sql-tls-key must be given together")}
	case cfg.Token != "" && m.tokenFile != "":
		return usageError{errors.New("--token and --token-file are mutually exclusive")}
	}
	cfg.Gateway = m.role == roleGateway
	if m.tokenFile != "" {
		b, err := os.ReadFile(m.tokenFile)
		if err != nil {
			return fmt.Errorf("--token-file: %w", err)
		}
		cfg.Token = strings.TrimSpace(string(b))
	}
	if cfg.Password, err = superuserPassword(m.passwordFile); err != nil {
		return err
	}
	if err = checkAddresses(cfg); err != nil {
		return err
	}
	return checkLoopback("--http-addr", cfg.HTTPAddr, "what is served there asks for no password")
}

// superuserPassword reads the superuser's first password; it returns "" if none is given.
func superuserPassword(file string) (string, error) {
	password := os.Getenv("SHERD_SUPERUSER_PASSWORD")
	if file != "" {
		b, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("--superuser-password-file: %w", err)
		}
		if password = strings.TrimRight(string(b), "\r\n"); password == "" {
			return "", fmt.Errorf("--superuser-password-file %s: the file is empty", file)
		}
	}
	return password, nil
}

// newLogger logs as text to a terminal and as JSON elsewhere.
func newLogger(f *os.File) *slog.Logger {
	if st, err := f.Stat(); err == nil && st.Mode()&os.ModeCharDevice != 0 {
		return slog.New(slog.NewTextHandler(f, nil))
	}
	return slog.New(slog.NewJSONHandler(f, nil))
}

// giveProcessors allows more goroutines to run Go code at once than there are processors. A
// goroutine that waits for the disk in fsync keeps its processor until the scheduler notices, so
// with few of them clients wait for the disk too: on 2 processors, 16 inserting clients were 1.4
// times as fast with 8.
func giveProcessors() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(max(8, 2*runtime.NumCPU()))
	}
}

// runNode runs a node until SIGTERM or SIGINT, and prints the ready line when clients are accepted.
func runNode(ctx context.Context, cfg node.Config, drainTimeout time.Duration) error {
	return runNodes(ctx, drainTimeout, func(ctx context.Context) ([]*node.Node, error) {
		n, err := node.Open(ctx, cfg)
		if err != nil {
			return nil, explainListen(err)
		}
		return []*node.Node{n}, nil
	}, func(_ context.Context, nodes []*node.Node) error {
		_, err := fmt.Println("ready " + nodes[0].URL())
		return err
	})
}

// runNodes runs the nodes that open returns until SIGTERM or SIGINT. ready is called when clients
// are accepted.
func runNodes(
	ctx context.Context, drainTimeout time.Duration, open func(context.Context) ([]*node.Node, error),
	ready func(context.Context, []*node.Node) error,
) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	giveProcessors()
	var opened atomic.Pointer[[]*node.Node]
	defer onHangup(func() {
		if nodes := opened.Load(); nodes != nil {
			for _, n := range *nodes {
				n.Reload()
			}
		}
	})()
	nodes, err := open(ctx)
	if err == nil {
		opened.Store(&nodes)
		serving := make(chan error, len(nodes))
		for _, n := range nodes {
			go func() { serving <- n.Serve() }()
		}
		if err = ready(ctx, nodes); err == nil {
			select {
			case <-ctx.Done():
			case err = <-serving:
			}
		}
	} else if ctx.Err() != nil {
		err = nil // stopped before it was ready
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	return errors.Join(err, closeNodes(drain, nodes))
}

// onHangup calls reload at each SIGHUP, until it is ended.
func onHangup(reload func()) (end func()) {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	go func() {
		for range hangup {
			reload()
		}
	}()
	return func() {
		signal.Stop(hangup)
		close(hangup)
	}
}

// closeNodes closes all nodes at once: the last statements of clients may need several nodes, but
// no node needs another one to close.
func closeNodes(ctx context.Context, nodes []*node.Node) error {
	errs := make(chan error, len(nodes))
	for _, n := range nodes {
		go func() { errs <- n.Close(ctx) }()
	}
	var all []error
	for range nodes {
		all = append(all, <-errs)
	}
	return errors.Join(all...)
}
