package main

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"time"

	"github.com/sherddb/sherd/integration/fault"
	"github.com/sherddb/sherd/integration/postgres"
)

// subjects returns the servers to compare. The others are compared with the first.
func (b *bench) subjects(bin string) []func(ctx context.Context) (*server, error) {
	at := func(name string) string { return filepath.Join(b.dir, name) }
	alone := func(ctx context.Context) (*server, error) {
		return startPostgres(ctx, "PostgreSQL", at("postgres"))
	}
	one := func(context.Context) (*server, error) { return startSherd(bin, at("node")) }
	if !b.cluster {
		return []func(context.Context) (*server, error){alone, one}
	}
	return []func(context.Context) (*server, error){
		func(ctx context.Context) (*server, error) { return startReplicated(ctx, at("primary"), at("standby")) },
		alone, one,
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
	primary, err := startPostgres(ctx, "PostgreSQL and a standby", dir)
	if err != nil {
		return primary, err
	}
	if err := postgres.MakeDir(ctx, standby); err != nil {
		return primary, err
	}
	if err := postgres.Run(ctx, "pg_basebackup", "-h", "127.0.0.1", "-p", strconv.Itoa(primary.port), "-U", "postgres",
		"-D", standby, "-R", "-X", "stream"); err != nil {
		return primary, err
	}
	replica, err := postgres.Start(ctx, standby)
	second, err := postgresServer("standby", replica, err)
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
