package main

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// workload is something that both servers do: a script for pgbench, or a load of another program.
// With neither it is COPY.
type workload struct {
	name   string
	what   string
	script string
	load   load
}

// :docs is the number of documents. Ids are spread over all fragments.
var workloads = []workload{
	{"point", "point read by id", "\\set i random(1, :docs)\nSELECT doc FROM docs WHERE id = 'docs/' || :i;\n", nil},
	{"insert", "insert", "\\set i random(1, 1000000000000)\n\\set j random(1, 1000000000)\n" +
		"INSERT INTO events VALUES ('events/' || :i || '-' || :j, " +
		"'{\"Kind\":\"click\",\"At\":\"2026-11-21T08:00:00Z\",\"User\":\"users/77-A\",\"Path\":\"/products/1-A\"}');\n",
		nil},
	{"update", "update", "\\set i random(1, :docs)\n" +
		"UPDATE docs SET doc = doc || '{\"Seen\": 1}' WHERE id = 'docs/' || :i;\n", nil},
	{"two", "two-document transaction", "\\set i random(1, :docs)\n\\set j random(1, :docs)\nBEGIN;\n" +
		"UPDATE docs SET doc = doc || '{\"Seen\": 2}' WHERE id = 'docs/' || :i;\n" +
		"UPDATE docs SET doc = doc || '{\"Seen\": 3}' WHERE id = 'docs/' || :j;\nCOMMIT;\n", nil},
	{"bucket", "two documents, one bucket", "\\set i random(0, :spread - 1)\nBEGIN;\n" + spreadUpdate("left",
		0) + spreadUpdate("right", 0) + "COMMIT;\n", nil},
	{"fragment", "two documents, one fragment", "\\set f random(0, 2)\n" +
		"\\set i random(0, :spread - 1)\n\\set j random(0, :spread - 1)\nBEGIN;\n" +
		"UPDATE spread SET doc = doc || '{\"Seen\": 2}' WHERE id = " + spreadID("left", ":f", ":i") + ";\n" +
		"UPDATE spread SET doc = doc || '{\"Seen\": 3}' WHERE id = " + spreadID("right", ":f", ":j") + ";\nCOMMIT;\n",
		nil},
	{"fragments", "two documents, two fragments", "\\set f random(0, 2)\n\\set g (:f + 1) % 3\n" +
		"\\set i random(0, :spread - 1)\n\\set j random(0, :spread - 1)\nBEGIN;\n" +
		"UPDATE spread SET doc = doc || '{\"Seen\": 2}' WHERE id = " + spreadID("left", ":f", ":i") + ";\n" +
		"UPDATE spread SET doc = doc || '{\"Seen\": 3}' WHERE id = " + spreadID("right", ":g", ":j") + ";\nCOMMIT;\n",
		nil},
	{"snapshot", "read-only snapshot", "\\set i random(0, :spread - 1)\n" +
		"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;\n" +
		"SELECT doc FROM spread WHERE id = " + spreadID("left", "0", ":i") + ";\n" +
		"SELECT doc FROM spread WHERE id = " + spreadID("left", "1", ":i") + ";\n" +
		"SELECT doc FROM spread WHERE id = " + spreadID("left", "2", ":i") + ";\nCOMMIT;\n", nil},
	{"counter", "contended counter", "UPDATE counters SET v = v + 1 WHERE id = 'counters/1';\n", nil},
	{"split", "contended counter, split", "UPDATE counters SET v = v + 1 WHERE id = 'counters/2';\n", nil},
	{"copy", "COPY in", "", nil},
	{"aggregate", "aggregate over orders", "SELECT doc->>'Customer' AS customer, doc->>'Status' AS status, " +
		"count(*), sum((doc->>'Total')::numeric) FROM orders " +
		"GROUP BY 1, 2 ORDER BY 4 DESC LIMIT 10;\n", nil},
	{"select-simple", "select only, simple", "", pgbenchLoad("select-only", "simple")},
	{"select-extended", "select only, extended", "", pgbenchLoad("select-only", "extended")},
	{"select-prepared", "select only, prepared", "", pgbenchLoad("select-only", "prepared")},
	{"tpcb-simple", "TPC-B, simple", "", pgbenchLoad("tpcb-like", "simple")},
	{"tpcb-extended", "TPC-B, extended", "", pgbenchLoad("tpcb-like", "extended")},
	{"tpcb-prepared", "TPC-B, prepared", "", pgbenchLoad("tpcb-like", "prepared")},
	{"sysbench-point", "sysbench point select", "", sysbenchLoad("oltp_point_select")},
	{"sysbench-read", "sysbench read only", "", sysbenchLoad("oltp_read_only")},
	{"sysbench-ranges", "sysbench random ranges", "", sysbenchLoad("select_random_ranges")},
}

// spreadID returns the SQL for an id of the table spread in fragment f of three, which has 349,525
// buckets or one more. For each f and i the table has two documents, "left" and "right", in one
// bucket.
func spreadID(side, f, i string) string {
	return fmt.Sprintf("'%s/' || %s || '$@' || (%s * 349526 + %s)", side, i, f, i)
}

func spreadUpdate(side string, f int) string {
	return fmt.Sprintf("UPDATE spread SET doc = doc || '{\"Seen\": 1}' WHERE id = %s;\n",
		spreadID(side, strconv.Itoa(f), ":i"))
}

func names() []string {
	var out []string
	for _, w := range workloads {
		out = append(out, w.name)
	}
	return out
}

type bench struct {
	options
	dir      string
	servers  []*server
	prepared bool // the tables of pgbench and sysbench exist
}

// prepare creates the tables, and the files that both servers load.
func (b *bench) prepare(ctx context.Context) error {
	if err := b.writeRows("docs.csv", b.docs, func(r *rand.Rand, i int) (id, doc string) {
		return fmt.Sprintf("docs/%d", i), fmt.Sprintf(`{"N":%d,"Name":"document %d","Text":"%s"}`, i, i,
			padding(r, 900))
	}); err != nil {
		return err
	}
	statuses := []string{"new", "paid", "shipped", "returned"}
	if err := b.writeRows("orders.csv", b.orders, func(r *rand.Rand, i int) (id, doc string) {
		return fmt.Sprintf("orders/%d-A", i), fmt.Sprintf(
			`{"Customer":"customers/%d-A","Status":"%s","Total":%d.%02d,"OrderedAt":"2026-%02d-%02d",`+
				`"Lines":[{"Product":"products/%d-A","Quantity":%d}],"Note":"%s"}`,
			1+r.IntN(1000), statuses[r.IntN(4)], r.IntN(1000), r.IntN(100), 1+r.IntN(12), 1+r.IntN(28), 1+r.IntN(
				500), 1+r.IntN(20), padding(r, 70))
	}); err != nil {
		return err
	}
	for _, s := range b.servers {
		for _, t := range []string{"docs", "events", "orders"} {
			if err := b.psql(ctx, s, fmt.Sprintf("CREATE TABLE %s (id text PRIMARY KEY, doc jsonb NOT NULL)",
				t)); err != nil {
				return err
			}
		}
		if err := b.load(ctx, s, "docs"); err != nil {
			return err
		}
		if err := b.prepareSpread(ctx, s); err != nil {
			return err
		}
		if len(b.only) > 0 && slices.Contains(b.only, "aggregate") && !slices.Contains(b.only, "copy") {
			if err := b.load(ctx, s, "orders"); err != nil {
				return err
			}
		}
		if strings.HasPrefix(s.name, "PostgreSQL") {
			if err := b.psql(ctx, s, "VACUUM ANALYZE"); err != nil {
				return err
			}
		}
	}
	return nil
}

// spread is how many pairs of documents each fragment has.
const spread = 20_000

// prepareSpread creates the tables of the workloads that choose the fragments of their documents.
func (b *bench) prepareSpread(ctx context.Context, s *server) error {
	for _, text := range []string{
		"CREATE TABLE spread (id text PRIMARY KEY, doc jsonb NOT NULL)",
		fmt.Sprintf("INSERT INTO spread SELECT %s, jsonb_build_object('N', i, 'Text', repeat('lorem ipsum ', 75)) "+
			"FROM generate_series(0, 2) f, generate_series(0, %d) i", spreadID("left", "f", "i"), spread-1),
		fmt.Sprintf("INSERT INTO spread SELECT %s, jsonb_build_object('N', i, 'Text', repeat('lorem ipsum ', 75)) "+
			"FROM generate_series(0, 2) f, generate_series(0, %d) i", spreadID("right", "f", "i"), spread-1),
		"CREATE TABLE counters (id text PRIMARY KEY, v bigint NOT NULL, doc jsonb)",
		"INSERT INTO counters VALUES ('counters/1', 0, '{}'), ('counters/2', 0, '{}')",
	} {
		if err := b.psql(ctx, s, text); err != nil {
			return err
		}
	}
	if !strings.HasPrefix(s.name, "Sherd") {
		return nil // in PostgreSQL all additions go to the one row
	}
	return b.psql(ctx, s, "SELECT sherd.hot_split('counters/2', 16, ARRAY['v'])")
}

const letters = "abcdefghijklmnopqrstuvwxyz     "

func padding(r *rand.Rand, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = letters[r.IntN(len(letters))]
	}
	return string(b)
}

func (b *bench) writeRows(name string, n int, row func(r *rand.Rand, i int) (id, doc string)) error {
	f, err := os.Create(filepath.Join(b.dir, name))
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	r := rand.New(rand.NewPCG(7, 11))
	for i := range n {
		id, doc := row(r, i+1)
		fmt.Fprintf(w, "%s\t%s\n", id, doc)
	}
	return w.Flush()
}

func (b *bench) psql(ctx context.Context, s *server, text string) error {
	cmd := exec.CommandContext(ctx, "psql", append(s.args(), "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", "postgres",
		"-c", text)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %s: %w", s.name, out, err)
	}
	return nil
}

func (b *bench) load(ctx context.Context, s *server, table string) error {
	return b.psql(ctx, s, fmt.Sprintf(`\copy %s FROM '%s'`, table, filepath.Join(b.dir, table+".csv")))
}

// measure runs a workload on all servers, round by round, and prints the medians.
func (b *bench) measure(ctx context.Context, w workload) error {
	run := w.load
	switch {
	case run != nil:
		if err := b.prepareLoads(ctx); err != nil {
			return err
		}
	case w.script == "":
		return b.measureCopy(ctx, w)
	default:
		file := filepath.Join(b.dir, w.name+".sql")
		if err := os.WriteFile(file, []byte(w.script), 0o644); err != nil {
			return err
		}
		run = b.scriptLoad(file)
	}
	for _, clients := range b.clients {
		figures := make([][]figure, len(b.servers))
		for range b.rounds {
			for i, s := range b.servers {
				f, err := b.run(ctx, s, run, clients)
				if err != nil {
					return err
				}
				figures[i] = append(figures[i], f)
			}
		}
		b.print(w.what, clients, figures, "tps")
	}
	return nil
}

func (b *bench) measureCopy(ctx context.Context, w workload) error {
	figures := make([][]figure, len(b.servers))
	for range b.rounds {
		for i, s := range b.servers {
			if err := b.psql(ctx, s, "TRUNCATE orders"); err != nil {
				return err
			}
			start, before := time.Now(), s.processorTime()
			if err := b.load(ctx, s, "orders"); err != nil {
				return err
			}
			took, rows := time.Since(start).Seconds(), float64(b.orders)/1000
			figures[i] = append(figures[i], figure{rate: rows / took, latency: took / rows * 1000,
				processor: (s.processorTime() - before).Seconds() * 1000 / rows})
		}
	}
	b.print(w.what, 1, figures, "k/s")
	return nil
}
