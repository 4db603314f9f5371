// Command bench runs pgbench scripts against Sherd and PostgreSQL 15 in turn, in one run on one
// machine, and prints throughput and ratios.
//
//	make bench
//	go run ./integration/bench -seconds 20 -rounds 3 -only point,insert
//
// PostgreSQL runs with its default settings (and durability), initialised with initdb -E UTF8
// --locale=C.UTF-8; it is installed from Debian's packages if it is missing. Sherd runs with three
// fragments. Each round measures both, one after the other; the output shows medians of the rounds.
//
// With -cluster it compares the cost of a replicated write: PostgreSQL alone and with one
// synchronous standby, Sherd as one node and as three. All replicas are on this machine, so compare
// processor time and not throughput.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/sherddb/sherd/integration"
)

type options struct {
	seconds int
	rounds  int
	clients []int
	only    []string
	orders  int
	docs    int
	cluster bool
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
	flag.BoolVar(&o.cluster, "cluster", false, "compare PostgreSQL with a synchronous standby, "+
		"one node and three nodes: latency and processor time of an operation")
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
	fmt.Printf("%s/%s, %d processors, PostgreSQL and Sherd in turn, %d rounds of %d s\n", runtime.GOOS, runtime.GOARCH,
		runtime.NumCPU(), o.rounds, o.seconds)
	bin, err := integration.Build(dir)
	if err != nil {
		return err
	}
	b := &bench{options: o, dir: dir}
	defer b.stop()
	for _, start := range b.subjects(bin) {
		s, err := start(ctx)
		if s != nil {
			b.servers = append(b.servers, s)
		}
		if err != nil {
			return err
		}
	}
	if err := b.prepare(ctx); err != nil {
		return err
	}
	b.head()
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
