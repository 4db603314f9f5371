// Command pgregress replays PostgreSQL 15's own regression scripts on Sherd, statement by
// statement, and prints how many have the answer that PostgreSQL has.
//
//	make regress
//	make regress REGRESS='^json'
//	go run ./integration/pgregress -only '^json' -misses misses
//
// The scripts come from Debian's source package of PostgreSQL, and PostgreSQL itself from Debian's
// packages; both are fetched when they are missing, the scripts into the user's cache directory.
// Each script runs twice on PostgreSQL: what differs between the two runs is left out, as are
// EXPLAIN, whose plans are each server's own, and what needs PostgreSQL's library of test functions
// in C. The rest is replayed on Sherd. A statement passes if the columns' names, the rows, the
// command tag and the SQLSTATE are PostgreSQL's; the order of rows counts only below ORDER BY.
//
// counts.txt has the counts that were reached; -rewrite writes what is reached now. The program fails
// if a script has fewer, except for a few: rows of tables without a key have no fixed order on Sherd,
// and a cursor without ORDER BY shows it. Misses are sorted by what a user would see:
//
//	refused   Sherd answers 0A000: it does not have this
//	missing   Sherd lacks an object, most often because a statement above was refused
//	error     Sherd answers another error
//	accepted  PostgreSQL answers an error, Sherd does not
//	answer    both answer, and differently: known.md says why
//	lost      the connection was lost, or the statement took too long
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"
	"time"
)

// options are the program's flags.
type options struct {
	binary  string
	only    string
	misses  string
	rewrite bool
	timeout time.Duration
}

func main() {
	log.SetFlags(0)
	var o options
	flag.StringVar(&o.binary, "binary", "", "Sherd's program; built from this tree if not given")
	flag.StringVar(&o.only, "only", "", "regular expression for the names of scripts to replay")
	flag.StringVar(&o.misses, "misses", "", "directory for files that list each script's misses")
	flag.BoolVar(&o.rewrite, "rewrite", false, "write the counts that are reached to "+countsFile)
	flag.DurationVar(&o.timeout, "timeout", 15*time.Second, "after which a statement is lost")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		log.Fatal("pgregress: ", err)
	}
}

func run(ctx context.Context, o options) error {
	only, err := regexp.Compile(o.only)
	if err != nil {
		return err
	}
	counts, err := readCounts(countsFile)
	if err != nil {
		return err
	}
	if o.misses != "" {
		if err := os.MkdirAll(o.misses, 0o755); err != nil {
			return err
		}
	}
	w, err := newWorld(ctx, o)
	if err != nil {
		return err
	}
	defer w.close()
	fell := false
	total := &tally{Script: "all"}
	for i, c := range counts {
		if !only.MatchString(c.Script) {
			continue
		}
		got, err := w.replay(ctx, c.Script, o.misses)
		if err != nil {
			return fmt.Errorf("%s: %w", c.Script, err)
		}
		fmt.Println(got)
		total.add(got)
		if got.Passed < c.Passed-max(3, c.Of/20) {
			fell = true
			fmt.Printf("%-20s %d passed before\n", c.Script, c.Passed)
		}
		counts[i].Passed, counts[i].Of = got.Passed, got.Of
	}
	fmt.Println(total)
	switch {
	case o.rewrite:
		return counts.write(countsFile)
	case fell:
		return fmt.Errorf("fewer statements pass than %s has", countsFile)
	}
	return nil
}

// countsFile is where the counts are, from the directory of the repository.
var countsFile = filepath.Join("integration", "pgregress", "counts.txt")
