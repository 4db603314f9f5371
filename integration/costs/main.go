// Command costs measures what the planner's costs stand for: the processor time that one node takes
// for a row that is scanned, an entry of an index, a look-up, and so on, in nanoseconds and in rows
// that are scanned, which are the unit of costs. The constants are in sql/plan (access.go, cost.go,
// lookup.go) and sql/plan/joinorder.
//
//	go run ./integration/costs
//	go run ./integration/costs -binary bin/sherd -rows 300000 -runs 20
//
// Each line is the difference of two statements, divided by how often one of them does what the
// other does not. All rows are in the cache of rows.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sherddb/sherd/integration"
)

func main() {
	log.SetFlags(0)
	binary := flag.String("binary", "", "Sherd's program; built from this tree if not given")
	rows := flag.Int("rows", 300_000, "rows of the large table")
	runs := flag.Int("runs", 12, "runs of each statement")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *binary, *rows, *runs); err != nil {
		log.Fatal("costs: ", err)
	}
}

// definitions makes big, whose rows have an index of a random number, small, of one row for each 100 of big:
// id is a key of big, and n a value of its index; and heads, whose lines are in their buckets.
const definitions = `
CREATE TABLE big (id int PRIMARY KEY, n int, grp int, plain int, pad text);
INSERT INTO big
SELECT i, (i::bigint * 7919 % $rows)::int, i / 10, i, repeat('x', 80) FROM generate_series(0, $rows - 1) i;
CREATE INDEX big_n ON big (n);
CREATE TABLE small (id int PRIMARY KEY, n int, plain int);
INSERT INTO small SELECT i * 100, i * 100, i FROM generate_series(0, $rows / 100 - 1) i;
CREATE TABLE lines (grp int, line int, plain int, PRIMARY KEY (grp, line)) WITH (shard_by = 'grp');
INSERT INTO lines SELECT i / 4, i % 4, i FROM generate_series(0, $rows - 1) i;
CREATE TABLE heads (grp int PRIMARY KEY, plain int);
INSERT INTO heads SELECT i, i FROM generate_series(0, $rows / 4 - 1) i;
ANALYZE;`

// statement is one that returns few rows, with the methods that it must not use.
type statement struct {
	off  string
	text string
}

// figure is what the planner has a constant for: statement a does it as often as each rows of the
// large table say, and b does not.
type figure struct {
	name string
	a, b statement
	per  float64 // for each row of big
}

const (
	byIndex  = "enable_seqscan"
	byLookup = "enable_hashjoin sherd.enable_local_join"
	atOnce   = "enable_nestloop sherd.enable_lookup_join sherd.enable_runtime_filter"
	local    = "enable_hashjoin"

	many = "SELECT plain FROM big OFFSET 0"
	few  = "SELECT plain FROM small OFFSET 0"

	byKey = "SELECT count(*) FROM small JOIN big ON big.id = small.id WHERE big.plain >= 0"
)

var (
	nothing = statement{"", "SELECT 1"}
	scan    = statement{"", "SELECT count(*) FROM big WHERE plain < 0"}
	entries = statement{byIndex, "SELECT count(*) FROM big WHERE n >= 0"}
	sent    = statement{atOnce, "SELECT plain FROM big OFFSET 100000000"}
	ids     = statement{"", "SELECT id FROM small OFFSET 100000000"}
)

var figures = []figure{
	{"a row that is scanned (the unit)", scan, nothing, 1},
	{"an entry of an index with its row, costEntry",
		statement{byIndex, "SELECT count(*) FROM big WHERE n >= 0 AND plain < 0"}, nothing, 1},
	{"an entry of an index alone, costEntryOnly", entries, nothing, 1},
	{"a condition, costTest",
		statement{"", "SELECT count(*) FROM big WHERE plain >= 0 AND grp >= 0 AND plain + grp >= 0"},
		statement{"", "SELECT count(*) FROM big WHERE plain >= 0"}, 2},
	{"a row of a group, costGroup",
		statement{"", "SELECT grp, count(*) FROM big GROUP BY grp OFFSET 100000000"},
		statement{"", "SELECT count(grp) FROM big"}, 1},
	{"a row that is sent, CostSend", sent, scan, 1},
	{"a row of a hash table, CostBuild",
		statement{atOnce, "SELECT count(*) FROM (" + few + ") a FULL JOIN (" + many + ") b USING (plain)"},
		sent, 1},
	{"a row that probes it, CostProbe",
		statement{atOnce, "SELECT count(*) FROM (" + many + ") a JOIN (" + few + ") b USING (plain)"},
		sent, 1},
	{"a look-up by key, CostLookup",
		statement{byLookup, byKey}, ids, 0.01},
	{"a look-up by an index, costSeek, with an entry and a row",
		statement{byLookup, "SELECT count(*) FROM small JOIN big ON big.n = small.n WHERE big.plain >= 0"}, ids, 0.01},
	{"a look-up in the fragments by key, with a row",
		statement{local, byKey},
		statement{"", "SELECT count(*) FROM small"}, 0.01},
	{"a look-up in the fragments by an index, costSeekOne, with 4 entries",
		statement{local, "SELECT count(*) FROM heads JOIN lines ON lines.grp = heads.grp WHERE heads.plain >= 0"},
		statement{"", "SELECT count(*) FROM heads WHERE plain >= 0"}, 0.25},
}

func run(ctx context.Context, binary string, rows, runs int) error {
	dir, err := os.MkdirTemp("", "sherd-costs-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if binary == "" {
		if binary, err = integration.Build(dir); err != nil {
			return err
		}
	}
	p, err := integration.Start(binary, dir+"/data")
	if err != nil {
		return err
	}
	defer p.Kill()
	conn, err := pgx.Connect(ctx, p.URL)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, strings.ReplaceAll(definitions, "$rows", strconv.Itoa(rows))); err != nil {
		return err
	}
	unit := 0.0
	for _, f := range figures {
		a, err := measure(ctx, conn, p.PID(), f.a, runs)
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		b, err := measure(ctx, conn, p.PID(), f.b, runs)
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		each := float64(a-b) / (f.per * float64(rows))
		if unit == 0 {
			unit = each
		}
		fmt.Printf("%-66s %9.0f ns %7.2f\n", f.name, each, each/unit)
	}
	return nil
}

// measure returns the processor time that the server takes for a statement.
func measure(ctx context.Context, conn *pgx.Conn, pid int, s statement, runs int) (time.Duration, error) {
	tx, err := conn.Begin(ctx)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback(ctx)
	for name := range strings.FieldsSeq(s.off) {
		if _, err := tx.Exec(ctx, "SET LOCAL "+name+" = off"); err != nil {
			return 0, err
		}
	}
	var began time.Duration
	for i := range runs + 2 {
		if i == 2 { // it is warm
			if began, err = processorTime(pid); err != nil {
				return 0, err
			}
		}
		if _, err := tx.Exec(ctx, s.text); err != nil {
			return 0, err
		}
	}
	ended, err := processorTime(pid)
	return (ended - began) / time.Duration(runs), err
}

// processorTime returns the time that a process has run for.
func processorTime(pid int) (time.Duration, error) {
	const ticks = 100 // a second, on all of Linux
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+2:]))
	user, err := strconv.Atoi(fields[11])
	if err != nil {
		return 0, err
	}
	system, err := strconv.Atoi(fields[12])
	return time.Duration(user+system) * time.Second / ticks, err
}
