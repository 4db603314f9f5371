package main

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"time"

	"github.com/sherddb/sherd/integration/fault"
)

// subjects returns the servers to compare. The others are compared with the first.
func (b *bench) subjects(bin string) []func(ctx context.Context) (*server, error) {
	at := func(name string) string { return filepath.Join(b.dir, name) }
	postgres := func(ctx context.Context) (*server, error) { return startPostgres(ctx, at("postgres")) }
	one := func(ctx context.Context) (*server, error) { return startSherd(ctx, bin, at("sherd")) }
	if !b.cluster {
		return []func(context.Context) (*server, error){postgres, one}
	}
	return []func(context.Context) (*server, error){
		func(ctx context.Context) (*server, error) { return startReplicated(ctx, at("primary"), at("standby")) },
		postgres, one,
		func(ctx context.Context) (*server, error) { return startNodes(ctx, bin, at("nodes"), 3) },
	}
}

// stop stops all servers.
func (b *bench) stop() {
	for _, s := range b.servers {
		s.stop()
	}
}

// startReplicated starts PostgreSQL with one standby. Every commit waits until the standby has
// written it (synchronous_commit = on).
func startReplicated(ctx context.Context, dir, standby string) (*server, error) {
	primary, err := startPostgres(ctx, dir)
	if err != nil {
		return nil, err
	}
	primary.name = "PostgreSQL and a standby"
	if err := postgresDir(ctx, standby); err != nil {
		return primary, err
	}
	if err := asPostgres(ctx, "pg_basebackup", "-h", "127.0.0.1", "-p", strconv.Itoa(primary.port), "-U", "postgres",
		"-D", standby, "-R", "-X", "stream"); err != nil {
		return primary, err
	}
	second, err := runPostgres(ctx, "standby", standby)
	if second != nil {
		stop := primary.stop
		primary.pids = append(primary.pids, second.pids...)
		primary.stop = func() { second.stop(); stop() }
	}
	if err != nil {
		return primary, err
	}
	b := &bench{}
	for _, text := range []string{"ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()"} {
		if err := b.psql(ctx, primary, text); err != nil {
			return primary, err
		}
	}
	return primary, nil
}

// startNodes starts a cluster. Clients use the first node.
func startNodes(ctx context.Context, bin, dir string, n int) (*server, error) {
	c, err := fault.NewCluster(bin, dir, fault.Loopback{}, n)
	if err != nil {
		return nil, err
	}
	s := &server{name: fmt.Sprintf("Sherd, %d nodes", n), stop: func() { c.Close() }}
	for _, node := range c.Nodes() {
		s.pids = append(s.pids, node.Process().PID())
	}
	first := c.Nodes()[0]
	_, port, err := net.SplitHostPort(first.SQL)
	if err != nil {
		return s, err
	}
	if s.port, err = strconv.Atoi(port); err != nil {
		return s, err
	}
	wait, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return s, c.WaitWhole(wait, first)
}
