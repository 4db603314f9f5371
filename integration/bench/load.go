package main

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"

	"github.com/sherddb/sherd/integration/postgres"
)

// load returns the command that loads a server with a number of clients for some seconds. The
// command prints its throughput in a form that rates knows.
type load func(s *server, clients, seconds int) []string

// rates finds the transactions per second in what pgbench and sysbench print.
var rates = regexp.MustCompile(`tps = ([0-9.]+)|transactions: +[0-9]+ +\(([0-9.]+) per sec`)

// run measures a load on a server.
func (b *bench) run(ctx context.Context, s *server, l load, clients int) (figure, error) {
	command, before := l(s, clients, b.seconds), s.processorTime()
	out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput()
	used := s.processorTime() - before
	m := rates.FindSubmatch(out)
	if err != nil || m == nil {
		return figure{}, fmt.Errorf("%s: %s: %s: %w", s.name, command[0], out, err)
	}
	tps, err := strconv.ParseFloat(string(m[1])+string(m[2]), 64)
	return figure{rate: tps, latency: float64(clients) / tps * 1000,
		processor: used.Seconds() * 1000 / (tps * float64(b.seconds))}, err
}

func pgbench(s *server, clients, seconds int, args ...string) []string {
	command := append([]string{"pgbench"}, s.args()...)
	command = append(command, "-n", "-c", strconv.Itoa(clients), "-j", strconv.Itoa(min(clients, 2)),
		"-T", strconv.Itoa(seconds), "--max-tries=1000")
	return append(command, args...)
}

// scriptLoad runs a script of this package by pgbench, prepared.
func (b *bench) scriptLoad(file string) load {
	return func(s *server, clients, seconds int) []string {
		return pgbench(s, clients, seconds, "-M", "prepared", "-D", "docs="+strconv.Itoa(b.docs),
			"-D", "spread="+strconv.Itoa(spread), "-f", file, "postgres")
	}
}

// pgbenchLoad is one of pgbench's own scripts on its own tables, by one of its protocols.
func pgbenchLoad(script, protocol string) load {
	return func(s *server, clients, seconds int) []string {
		return pgbench(s, clients, seconds, "-M", protocol, "-b", script, loadDatabase)
	}
}

// sysbenchLoad is one of sysbench's scripts on one table of its own. sysbench prepares its
// statements, and reads by transactions where its script has several statements.
func sysbenchLoad(script string) load {
	return func(s *server, clients, seconds int) []string {
		return sysbench(s, script, "run", "--threads="+strconv.Itoa(clients), "--time="+strconv.Itoa(seconds))
	}
}

// sysbenchRows is how many rows the table of sysbench has.
const sysbenchRows = 100_000

func sysbench(s *server, script, command string, args ...string) []string {
	all := []string{"sysbench", script, "--db-driver=pgsql", "--pgsql-host=127.0.0.1",
		"--pgsql-port=" + strconv.Itoa(s.port), "--pgsql-user=postgres", "--pgsql-db=" + loadDatabase,
		"--table-size=" + strconv.Itoa(sysbenchRows)}
	return append(append(all, args...), command)
}

// loadDatabase is the database of pgbench's and sysbench's own tables.
const loadDatabase = "loads"

// scale is that of pgbench's tables: 100,000 accounts and one branch for each unit.
const scale = 10

// prepareLoads creates the tables of pgbench and sysbench once, by these programs.
func (b *bench) prepareLoads(ctx context.Context) error {
	if b.prepared {
		return nil
	}
	b.prepared = true
	if err := postgres.Install(ctx, "/usr/bin/sysbench", "sysbench"); err != nil {
		return err
	}
	for _, s := range b.servers {
		if err := b.psql(ctx, s, "CREATE DATABASE "+loadDatabase); err != nil {
			return err
		}
		initialize := append([]string{"pgbench"}, s.args()...)
		analyze := append([]string{"psql"}, s.args()...)
		vacuum := "ANALYZE"
		if strings.HasPrefix(s.name, "PostgreSQL") {
			vacuum = "VACUUM ANALYZE"
		}
		for _, command := range [][]string{
			append(initialize, "-i", "-q", "-s", strconv.Itoa(scale), loadDatabase),
			sysbench(s, "oltp_read_only", "prepare"),
			append(analyze, "-X", "-q", "-d", loadDatabase, "-c", vacuum),
		} {
			if out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput(); err != nil {
				return fmt.Errorf("%s: %s: %s: %w", s.name, strings.Join(command, " "), out, err)
			}
		}
	}
	return nil
}
