package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/cluster"
	"github.com/sherddb/sherd/pgwire"
	"github.com/sherddb/sherd/sql"
	"github.com/sherddb/sherd/sql/settings"
	"github.com/sherddb/sherd/txn"
)

// nodeConfig says how a node is started.
type nodeConfig struct {
	data        string
	sqlAddr     string
	httpAddr    string // "" is no door for operators
	fragments   int    // of a new cluster
	replication int    // likewise
	verifier    string // SCRAM verifier of the superuser of a new cluster
	logger      *slog.Logger
}

// node is a running Sherd process.
type node struct {
	dir      *catalog.DataDir
	catalog  *catalog.Catalog
	host     *cluster.Host
	server   *sql.Server
	wire     *pgwire.Server
	listener net.Listener
	http     *httpDoor
}

// maxClockAhead is how far a timestamp may run ahead of this machine's clock (sherd.max_clock_ahead).
const maxClockAhead = 10 * time.Second

// startNode builds a node from the ground up: directory, catalog, fragments, sessions, door.
func startNode(ctx context.Context, cfg nodeConfig) (_ *node, err error) {
	n := &node{}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.close(ctx))
		}
	}()
	if n.listener, err = net.Listen("tcp", cfg.sqlAddr); err != nil {
		return nil, fmt.Errorf("cannot listen for clients: %w", err)
	}
	if err = checkLoopback("--http-addr", cfg.httpAddr); err != nil {
		return nil, err
	}
	if n.http, err = openHTTP(cfg.httpAddr); err != nil {
		return nil, err
	}
	if n.dir, err = catalog.OpenDataDir(cfg.data, settings.Version, func() (catalog.Identity, error) { return catalog.NewCluster(), nil }); err != nil {
		return nil, err
	}
	if n.catalog, err = catalog.Open(catalog.Options{Dir: n.dir.Join("catalog"), Logger: cfg.logger}); err != nil {
		return nil, err
	}
	if err = n.catalog.WaitReady(ctx); err != nil {
		return nil, err
	}
	if err = n.bootstrap(ctx, cfg); err != nil {
		return nil, err
	}
	clock := txn.NewClock(time.Now, maxClockAhead)
	n.host, err = cluster.Open(ctx, cluster.Config{
		Dir: n.dir.Join("fragments"), LogDir: n.dir.Join("log"), Node: n.dir.NodeID, Catalog: n.catalog, Clock: clock, Logger: cfg.logger,
	})
	if err != nil {
		return nil, err
	}
	n.server = sql.NewServer(sql.Config{
		Catalog: n.catalog, Fragments: n.host, Clock: clock, Logger: cfg.logger, Deadlocks: n.host.Deadlocks(),
		Addr: n.listener.Addr().String(), NodeName: "n1", Block: "A", TempDir: n.dir.Join("temp"),
	})
	if err = n.server.AdoptPrepared(ctx); err != nil {
		return nil, err
	}
	n.wire = pgwire.NewServer(pgwire.Config{
		NewSession: func(ctx context.Context, p sql.StartupParams) (pgwire.Session, error) {
			s, err := n.server.NewSession(ctx, p)
			if err != nil {
				return nil, err
			}
			return s, nil
		},
		Authenticate: n.server.Authenticate,
		Log:          cfg.logger,
	})
	return n, nil
}

func (n *node) bootstrap(ctx context.Context, cfg nodeConfig) error {
	created, err := n.catalog.Bootstrap(ctx, catalog.BootstrapOptions{
		ClusterID: n.dir.ClusterID, Fragments: cfg.fragments, Replication: cfg.replication, PasswordHash: cfg.verifier,
		Node: catalog.Node{ID: n.dir.NodeID, Name: "n1", Block: "A", SQLAddr: n.listener.Addr().String()},
	})
	if err != nil || created {
		return err
	}
	d := n.catalog.View().Database(catalog.PostgresDB)
	if d != nil && cfg.fragments != len(d.Fragments) && cfg.fragments != defaultFragments {
		cfg.logger.Warn(fmt.Sprintf("--fragments %d is only for a new cluster; the database postgres has %d", cfg.fragments, len(d.Fragments)),
			"hint", "ALTER DATABASE postgres FRAGMENTS n will change it online")
	}
	return nil
}

// serve takes clients until the door is closed.
func (n *node) serve() error { return n.wire.Serve(n.listener) }

// url is what psql and drivers connect with.
func (n *node) url() string {
	return "postgres://postgres@" + n.listener.Addr().String() + "/postgres"
}

// close ends the node in reverse order of its building: clients first, which may finish their statement until ctx ends.
func (n *node) close(ctx context.Context) error {
	var errs []error
	if n.wire != nil {
		// That the time has passed is no failure: what still ran is cancelled then, and its client told so.
		if err := n.wire.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			errs = append(errs, err)
		}
	}
	if n.listener != nil {
		if err := n.listener.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	errs = append(errs, n.http.close(ctx))
	if n.host != nil {
		errs = append(errs, n.host.Close())
	}
	if n.catalog != nil {
		errs = append(errs, n.catalog.Close())
	}
	if n.dir != nil {
		errs = append(errs, n.dir.Close())
	}
	return errors.Join(errs...)
}
