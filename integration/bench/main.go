// Command bench runs pgbench scripts against Sherd and PostgreSQL 15 in turn, in one run on one machine, and prints throughput and ratios.
//
//	make bench
//	go run ./integration/bench -seconds 20 -rounds 3 -only point,insert
//
// PostgreSQL runs with its default settings (and durability), made with initdb -E UTF8 --locale=C.UTF-8; it is installed from Debian's packages
// where it is missing. Sherd runs with three fragments. Each round measures both, one after the other; medians of the rounds are quoted.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

type options struct {
	seconds int
	rounds  int
	clients []int
	only    []string
	orders  int
	docs    int
}

func main() {
	log.SetFlags(0)
	o := options{clients: []int{1, 16}}
	only := ""
	flag.IntVar(&o.seconds, "seconds", 10, "seconds of each measurement")
	flag.IntVar(&o.rounds, "rounds", 3, "rounds; the median is printed")
	flag.IntVar(&o.orders, "orders", 1_000_000, "orders of 250 bytes for COPY and the aggregate")
	flag.IntVar(&o.docs, "docs", 100_000, "documents of 1 KB for the point workloads")
	flag.StringVar(&only, "only", "", "workloads to run, separated by commas: "+strings.Join(names(), ", "))
	flag.Parse()
	if only != "" {
		o.only = strings.Split(only, ",")
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		log.Fatal("bench: ", err)
	}
}

func run(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "sherd-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	fmt.Printf("%s/%s, %d processors, PostgreSQL and Sherd in turn, %d rounds of %d s\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), o.rounds, o.seconds)
	pg, err := startPostgres(ctx, filepath.Join(dir, "postgres"))
	if err != nil {
		return fmt.Errorf("start PostgreSQL: %w", err)
	}
	defer pg.stop()
	sherd, err := startSherd(ctx, filepath.Join(dir, "sherd"))
	if err != nil {
		return fmt.Errorf("start Sherd: %w", err)
	}
	defer sherd.stop()
	b := &bench{options: o, dir: dir, servers: []*server{pg, sherd}}
	if err := b.prepare(ctx); err != nil {
		return err
	}
	fmt.Printf("%-28s %8s %14s %14s %8s\n", "workload", "clients", "PostgreSQL", "Sherd", "ratio")
	for _, w := range workloads {
		if len(o.only) > 0 && !slices.Contains(o.only, w.name) {
			continue
		}
		if err := b.measure(ctx, w); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
	return nil
}
