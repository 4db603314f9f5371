package main

import (
	"context"
	"net/url"
	"os"
	"strconv"

	"github.com/sherddb/sherd/integration"
	"github.com/sherddb/sherd/integration/postgres"
)

// server is a running database: a process with its children, or several processes.
type server struct {
	name string
	port int // for clients
	pids []int
	stop func()
}

func (s *server) args() []string {
	return []string{"-h", "127.0.0.1", "-p", strconv.Itoa(s.port), "-U", "postgres"}
}

// postgresServer returns a server for one of PostgreSQL, which is nil if it did not start.
func postgresServer(name string, pg *postgres.Server, err error) (*server, error) {
	if pg == nil {
		return nil, err
	}
	return &server{name, pg.Port, []int{pg.PID()}, pg.Stop}, err
}

// startSherd starts one node.
func startSherd(bin, dir string) (*server, error) {
	var flags []string
	if addr := os.Getenv("BENCH_HTTP_ADDR"); addr != "" { // to profile the server
		flags = append(flags, "--http-addr", addr)
	}
	p, err := integration.Start(bin, dir, flags...)
	if err != nil {
		return nil, err
	}
	s := &server{name: "Sherd", pids: []int{p.PID()}, stop: func() { _, _, _ = p.Terminate() }}
	u, err := url.Parse(p.URL)
	if err != nil {
		return s, err
	}
	s.port, err = strconv.Atoi(u.Port())
	return s, err
}

// startPostgres creates a server of PostgreSQL.
func startPostgres(ctx context.Context, name, dir string) (*server, error) {
	pg, err := postgres.Create(ctx, dir)
	return postgresServer(name, pg, err)
}
