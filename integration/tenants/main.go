// Command tenants creates many databases with one fragment each on one node, and prints the cost of
// an idle database: memory of the process, bytes on disk, processor time.
//
//	make tenants
//	go run ./integration/tenants -databases 100 -idle 30s
//
// Memory is the process's anonymous memory (RssAnon) after the garbage collector had time to
// release memory; disk is allocated blocks, not file lengths; processor time is that of the whole
// process over the idle time.
package main

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sherddb/sherd/integration"
)

func main() {
	log.SetFlags(0)
	databases := flag.Int("databases", 100, "how many to make")
	idle := flag.Duration("idle", 30*time.Second, "that nobody uses them before, and while, they are measured")
	flag.Parse()
	if err := run(*databases, *idle); err != nil {
		log.Fatal("tenants: ", err)
	}
}

// cost is the present size of a process, and its processor time over the idle time before.
type cost struct {
	anon, disk int64 // bytes
	cpu        float64
}

func run(databases int, idle time.Duration) error {
	dir, err := os.MkdirTemp("", "sherd-tenants-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	binary, err := integration.Build(dir)
	if err != nil {
		return err
	}
	data := filepath.Join(dir, "data")
	p, err := integration.Start(binary, data, "--fragments", "1", "--replication-factor", "1")
	if err != nil {
		return err
	}
	defer p.Kill()
	before, err := measure(p.PID(), data, idle)
	if err != nil {
		return err
	}
	began := time.Now()
	for i := range databases {
		if err := fill(p.URL, fmt.Sprintf("tenant_%d", i)); err != nil {
			return err
		}
	}
	made := time.Since(began)
	after, err := measure(p.PID(), data, idle)
	if err != nil {
		return err
	}
	began = time.Now()
	if _, _, err := p.Terminate(); err != nil {
		return err
	}
	if p, err = integration.Start(binary, data); err != nil {
		return err
	}
	defer p.Kill()
	again := time.Since(began)
	restarted, err := measure(p.PID(), data, idle)
	if err != nil {
		return err
	}
	n := float64(databases)
	fmt.Printf("%d databases of one fragment, one table, 100 rows; made in %.0f ms each; "+
		"stopped and started again in %.1f s\n", databases, made.Seconds()*1000/n, again.Seconds())
	fmt.Printf("%-22s %14s %14s %14s\n", "", "memory, MiB", "disk, MiB", "CPU, % of one")
	for _, r := range []struct {
		name string
		cost cost
	}{{"one database", before}, {"all", after}, {"all, after a restart", restarted}} {
		fmt.Printf("%-22s %14.1f %14.1f %14.2f\n", r.name, float64(r.cost.anon)/(1<<20), float64(r.cost.disk)/(1<<20),
			r.cost.cpu*100)
	}
	fmt.Printf("%-22s %14.2f %14.2f %14.3f\n", "each", float64(after.anon-before.anon)/(1<<20)/n,
		float64(after.disk-before.disk)/(1<<20)/n, (after.cpu-before.cpu)*100/n)
	return nil
}

// fill creates a database with a table of a hundred rows.
func fill(base, name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := do(ctx, base, "CREATE DATABASE "+name+" FRAGMENTS 1 REPLICATION_FACTOR 1"); err != nil {
		return err
	}
	u, err := url.Parse(base)
	if err != nil {
		return err
	}
	u.Path = "/" + name
	return do(ctx, u.String(), "CREATE TABLE orders (id text PRIMARY KEY, doc jsonb); INSERT INTO orders "+
		"SELECT 'orders/' || i, '{\"n\": 1}' FROM generate_series(1, 100) i")
}

func do(ctx context.Context, target, text string) error {
	conn, err := pgx.Connect(ctx, target)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.PgConn().Exec(ctx, text).ReadAll()
	return err
}

// measure leaves a process alone for the idle time, and measures it over as much again.
func measure(pid int, data string, idle time.Duration) (c cost, err error) {
	time.Sleep(idle) // the idle time is what is measured
	from, err := processorTime(pid)
	if err != nil {
		return c, err
	}
	began := time.Now()
	time.Sleep(idle)
	to, err := processorTime(pid)
	if err != nil {
		return c, err
	}
	c.cpu = (to - from).Seconds() / time.Since(began).Seconds()
	if c.anon, err = anon(pid); err != nil {
		return c, err
	}
	c.disk, err = taken(data)
	return c, err
}

// anon is the memory that a process has for itself.
func anon(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			n, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return n << 10, err
		}
	}
	return 0, fmt.Errorf("process %d does not tell its memory", pid)
}

const ticks = 100 // a second, of /proc

// processorTime returns the processor time of a process.
func processorTime(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	f := strings.Fields(rest)
	if len(f) < 13 {
		return 0, fmt.Errorf("process %d does not tell its time", pid)
	}
	var sum int64
	for _, x := range f[11:13] { // user and system time
		n, err := strconv.ParseInt(x, 10, 64)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return time.Duration(sum) * time.Second / ticks, nil
}

// taken returns the size of the blocks that files use.
func taken(dir string) (sum int64, err error) {
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if s, ok := info.Sys().(*syscall.Stat_t); ok {
			sum += s.Blocks * 512
		}
		return nil
	})
	return sum, err
}
