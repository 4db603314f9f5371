// Command large commits transactions of a million rows and of a GiB in a `sherd start` process. For
// each it prints the time, the process's peak memory, the bytes on disk, and the longest wait of a
// concurrent small transaction. It fails if the process uses more memory than --memory, or if a
// count is not exact. cpu is the processor time of the process.
//
//	make large
//	go run ./integration/large -rows 50000 -only copy,update
//	go run ./integration/large -postgres postgres://postgres@127.0.0.1:5432/postgres
//
// With -postgres the same statements run there too, in a separate database, and the ratio of the
// rates is printed. The memory that counts is the process's anonymous memory (anon, sampled); peak
// is its resident set including the pages of mapped files, which the kernel may reclaim (VmHWM).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/sherddb/sherd/integration"
)

type options struct {
	rows     int
	bytes    int64 // of the cases that are measured in bytes
	memory   int   // MiB
	only     []string
	binary   string
	dir      string
	postgres string
	rounds   int // of kills
	http     string
	idle     time.Duration // idle time of the process before its memory is measured
	out      io.Writer
}

func main() {
	log.SetFlags(0)
	o := options{out: os.Stdout, idle: 30 * time.Second}
	only := ""
	flag.IntVar(&o.rows, "rows", 1_000_000, "rows of a transaction")
	flag.Int64Var(&o.bytes, "bytes", 1<<30, "bytes of a transaction of wide rows")
	flag.IntVar(&o.memory, "memory", 1024, "MiB of memory that the process is started with and may take")
	flag.IntVar(&o.rounds, "rounds", 4, "kills in the middle of a commit, and as many in its recovery")
	flag.StringVar(&only, "only", "", "cases to run, separated by commas: "+strings.Join(names(), ", "))
	flag.StringVar(&o.binary, "binary", "", "the command to measure; built from this tree if not given")
	flag.StringVar(&o.dir, "dir", "", "directory for data; a temporary one if not given")
	flag.StringVar(&o.postgres, "postgres", "", "URL of a PostgreSQL to compare with")
	flag.StringVar(&o.http, "http-addr", "", "address for the profiles of the process")
	flag.Parse()
	if only != "" {
		o.only = strings.Split(only, ",")
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		log.Fatal("large: ", err)
	}
}

func run(ctx context.Context, o options) error {
	if o.dir == "" {
		dir, err := os.MkdirTemp("", "sherd-large-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		o.dir = dir
	}
	if o.binary == "" {
		var err error
		if o.binary, err = integration.Build(o.dir); err != nil {
			return err
		}
	}
	s := &subject{binary: o.binary, data: filepath.Join(o.dir, "data"), http: o.http, memory: o.memory}
	if err := s.start(ctx); err != nil {
		return err
	}
	defer s.kill()
	var pg *postgres
	if o.postgres != "" {
		var err error
		if pg, err = openPostgres(ctx, o.postgres); err != nil {
			return err
		}
		defer pg.close()
	}
	fmt.Fprintf(o.out, "%-14s %9s %7s %7s %9s %7s %7s %7s %7s %8s %7s %7s\n", "case", "rows", "MiB", "seconds",
		"rows/s", "cpu", "ratio", "peak", "anon", "disk", "small", "commit")
	var failed []error
	for _, c := range cases {
		if len(o.only) > 0 && !slices.Contains(o.only, c.name) {
			continue
		}
		if err := measure(ctx, o, s, pg, c); err != nil {
			fmt.Fprintf(o.out, "%-14s %v\n", c.name, err)
			failed = append(failed, fmt.Errorf("%s: %w", c.name, err))
			if s.process == nil || s.process.Exited() {
				break
			}
		}
	}
	return errors.Join(failed...)
}
