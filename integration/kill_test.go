package integration

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sherddb/sherd/integration/workload"
)

const (
	killWriters  = 16
	killAccounts = 8
	killMoney    = 1000 // in each account
	killDocs     = 120  // that a writer keeps
)

// TestKillLoop has 16 writers change documents while the process is killed at random moments, in every other round once more while it recovers.
// Between the two "sherd check" finds the directory whole. After each restart every acknowledged change is there, none in part, and the accounts hold the money they held.
func TestKillLoop(t *testing.T) {
	rounds := 6
	if s := os.Getenv("SHERD_KILL_ROUNDS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatalf("SHERD_KILL_ROUNDS: %v", err)
		}
		rounds = n
	} else if testing.Short() {
		rounds = 2
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d, %d rounds", seed, rounds)
	k := &killLoop{t: t, data: filepath.Join(t.TempDir(), "data"), rnd: rand.New(rand.NewPCG(seed, 1))}
	for n := range killWriters {
		k.writers = append(k.writers, &writer{n: n, rnd: rand.New(rand.NewPCG(seed, uint64(n+2))), known: map[string]int{}})
	}
	k.process = k.start()
	k.setUp()
	for round := range rounds {
		k.round(round)
		k.verify(fmt.Sprintf("round %d", round))
	}
	if code, _, err := k.process.Terminate(); code != 0 || err != nil {
		t.Fatalf("SIGTERM: exit code %d, %v", code, err)
	}
	k.process = k.start()
	k.verify("after SIGTERM")
	t.Logf("%d acknowledged changes, %d of unknown outcome (%d of them had happened), %d serialization failures and deadlocks",
		k.acknowledged, k.unknown, k.happened, k.conflicts)
	if k.acknowledged < rounds*20 {
		t.Errorf("only %d changes were acknowledged", k.acknowledged)
	}
}

type killLoop struct {
	t       *testing.T
	data    string
	rnd     *rand.Rand
	process *Process
	writers []*writer

	acknowledged, unknown, happened, conflicts int
}

// change is what one transaction does to a writer's documents; 0 is deletion.
type change map[string]int

// writer changes documents that no other writer does, and remembers them.
type writer struct {
	n       int
	rnd     *rand.Rand
	next    int
	known   map[string]int // documents as last acknowledged
	pending change         // the change whose outcome is unknown, after the connection broke
	version int

	acknowledged atomic.Int64
	conflicts    int
}

func (k *killLoop) start() *Process {
	p, err := Start(binary, k.data)
	if err != nil {
		k.t.Fatal(err)
	}
	k.t.Cleanup(p.Kill)
	return p
}

func (k *killLoop) setUp() {
	conn := Connect(k.t, k.process.URL)
	Exec(k.t, conn, "CREATE TABLE docs (id text PRIMARY KEY, doc jsonb NOT NULL)")
	Exec(k.t, conn, "CREATE TABLE accounts (id text PRIMARY KEY, doc jsonb NOT NULL)")
	Exec(k.t, conn, fmt.Sprintf(`INSERT INTO accounts SELECT 'accounts/' || n, '{"Balance": %d}' FROM generate_series(1, %d) n`, killMoney, killAccounts))
}

// round lets the writers run, kills the process, in odd rounds once more during recovery, and starts it anew.
func (k *killLoop) round(round int) {
	ctx, cancel := context.WithCancel(k.t.Context())
	defer cancel()
	var wg sync.WaitGroup
	errs := make(chan error, killWriters+1)
	for _, w := range k.writers {
		wg.Go(func() { errs <- w.run(ctx, k.process.URL) })
	}
	wg.Go(func() { errs <- watchMoney(ctx, k.process.URL) })
	time.Sleep(time.Duration(150+k.rnd.IntN(1000)) * time.Millisecond) // the random moment of the kill
	awaitWork(20*(round+1), func() int {
		n := k.acknowledged
		for _, w := range k.writers {
			n += int(w.acknowledged.Load())
		}
		return n
	})
	killed := time.Now()
	k.process.Kill()
	wg.Wait()
	k.t.Logf("round %d: writers ended after %v", round, time.Since(killed))
	close(errs)
	for err := range errs {
		if err != nil {
			k.t.Fatalf("round %d: %v", round, err)
		}
	}
	if round%2 == 1 {
		p, _, err := Launch(binary, k.data)
		if err != nil {
			k.t.Fatal(err)
		}
		time.Sleep(time.Duration(k.rnd.IntN(500)) * time.Millisecond) // somewhere in its recovery
		p.Kill()
	}
	checkStopped(k.t, k.data)
	started := time.Now()
	k.process = k.start()
	k.t.Logf("round %d: recovered in %v", round, time.Since(started).Round(time.Millisecond))
}

// run changes documents until the process is killed.
func (w *writer) run(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil // killed before
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for {
		c, err := w.step(ctx, conn)
		var pg *pgconn.PgError
		switch {
		case err == nil:
			w.acknowledged.Add(1)
			w.apply(c)
		case errors.As(err, &pg) && (pg.Code == "40001" || pg.Code == "40P01"):
			w.conflicts++
		case errors.As(err, &pg) && pg.Code != "40003":
			return fmt.Errorf("writer %d: %w", w.n, err)
		default:
			w.pending = c
			return nil
		}
	}
}

func (w *writer) apply(c change) {
	for id, v := range c {
		if v == 0 {
			delete(w.known, id)
		} else {
			w.known[id] = v
		}
	}
}

func (w *writer) newID() string {
	w.next++
	return fmt.Sprintf("w/%d/%d", w.n, w.next)
}

// some returns up to n documents of the writer.
func (w *writer) some(n int) []string {
	ids := slices.Sorted(maps.Keys(w.known))
	w.rnd.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	return ids[:min(n, len(ids))]
}

// step makes one change, in one of the ways that clients do.
func (w *writer) step(ctx context.Context, conn *pgx.Conn) (change, error) {
	w.version++
	v := w.version
	c := change{}
	exec := func(q interface {
		Exec(context.Context, string, ...any) (pgconn.CommandTag, error)
	}, rows int, text string, args ...any) error {
		tag, err := q.Exec(ctx, text, args...)
		if err == nil && tag.RowsAffected() != int64(rows) {
			return &pgconn.PgError{Severity: "ERROR", Code: "XX000", Message: fmt.Sprintf("%s changed %d rows, not %d", text, tag.RowsAffected(), rows)}
		}
		return err
	}
	const insert = "INSERT INTO docs SELECT i, jsonb_build_object('v', $2::int, 'pad', repeat('x', 200)) FROM unnest($1::text[]) i"
	const update = "UPDATE docs SET doc = jsonb_set(doc, '{v}', to_jsonb($2::int)) WHERE id = ANY ($1)"
	old := w.some(4)
	kind := w.rnd.IntN(6)
	if len(old) < 4 {
		kind = 1
	}
	switch {
	case kind == 0: // one document
		c[w.newID()] = v
		return c, exec(conn, 1, insert, slices.Collect(maps.Keys(c)), v)
	case kind == 1: // several in one statement
		for range 4 {
			c[w.newID()] = v
		}
		return c, exec(conn, 4, insert, slices.Collect(maps.Keys(c)), v)
	case kind == 2: // a changed document
		c[old[0]] = v
		return c, exec(conn, 1, update, old[:1], v)
	case kind == 3 && len(w.known) > killDocs: // several deleted
		for _, id := range old {
			c[id] = 0
		}
		return c, exec(conn, 4, "DELETE FROM docs WHERE id = ANY ($1)", old)
	case kind == 4: // money moved between two accounts that others use too
		return c, w.transfer(ctx, conn)
	default: // inserts, an update and a delete in one transaction
		first, second := w.newID(), w.newID()
		c[first], c[second], c[old[0]], c[old[1]] = v, v, v, 0
		return c, pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			return errors.Join(exec(tx, 2, insert, []string{first, second}, v), exec(tx, 1, update, old[:1], v),
				exec(tx, 1, "DELETE FROM docs WHERE id = $1", old[1]))
		})
	}
}

func (w *writer) transfer(ctx context.Context, conn *pgx.Conn) error {
	from := 1 + w.rnd.IntN(killAccounts)
	to := 1 + (from+w.rnd.IntN(killAccounts-1))%killAccounts
	amount := 1 + w.rnd.IntN(20)
	const add = `UPDATE accounts SET doc = jsonb_build_object('Balance', (doc->>'Balance')::int + $2) WHERE id = $1`
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, add, fmt.Sprintf("accounts/%d", from), -amount); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, add, fmt.Sprintf("accounts/%d", to), amount)
		return err
	})
}

// watchMoney reads all accounts while they change: each statement sees one moment, in which no money is on its way.
func watchMoney(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for {
		var sum int
		if err := conn.QueryRow(ctx, "SELECT sum((doc->>'Balance')::int) FROM accounts").Scan(&sum); err != nil {
			var pg *pgconn.PgError
			if errors.As(err, &pg) {
				return err
			}
			return nil
		}
		if sum != killAccounts*killMoney {
			return fmt.Errorf("the accounts hold %d, not %d", sum, killAccounts*killMoney)
		}
	}
}

// verify compares what is there with what was acknowledged.
func (k *killLoop) verify(when string) {
	k.t.Helper()
	ctx := k.t.Context()
	conn := Connect(k.t, k.process.URL)
	rows, err := conn.Query(ctx, "SELECT id, (doc->>'v')::int FROM docs")
	if err != nil {
		k.t.Fatalf("%s: %v", when, err)
	}
	found := make([]map[string]int, killWriters)
	for i := range found {
		found[i] = map[string]int{}
	}
	var id string
	var v int
	_, err = pgx.ForEachRow(rows, []any{&id, &v}, func() error {
		n, err := strconv.Atoi(strings.Split(id, "/")[1])
		if _, twice := found[n][id]; twice {
			return fmt.Errorf("%s is there twice", id)
		}
		found[n][id] = v
		return err
	})
	if err != nil {
		k.t.Fatalf("%s: %v", when, err)
	}
	for i, w := range k.writers {
		if problem := k.settle(w, found[i]); problem != "" {
			k.t.Errorf("%s: writer %d: %s", when, i, problem)
		}
	}
	if sum := One[int](k.t, conn, "SELECT sum((doc->>'Balance')::int) FROM accounts"); sum != killAccounts*killMoney {
		k.t.Errorf("%s: the accounts hold %d, not %d", when, sum, killAccounts*killMoney)
	}
	for _, w := range k.writers { // the way by id must show the same
		for _, id := range w.some(3) {
			if got := One[int](k.t, conn, "SELECT (doc->>'v')::int FROM docs WHERE id = $1", id); got != w.known[id] {
				k.t.Errorf("%s: %s has version %d by its id, %d in the scan", when, id, got, w.known[id])
			}
		}
	}
	for _, wrong := range failedChecks(k.t, conn) {
		k.t.Errorf("%s: %s", when, wrong)
	}
	if k.t.Failed() {
		k.t.FailNow()
	}
	conn.Close(ctx)
}

// failedChecks gives what sherd.check() finds wrong.
func failedChecks(t *testing.T, conn *pgx.Conn) []string {
	t.Helper()
	wrong, err := workload.FailedChecks(t.Context(), conn)
	if err != nil {
		t.Fatal(err)
	}
	return wrong
}

// settle compares a writer's documents with what it knows; a change of unknown outcome must have happened wholly or not at all.
func (k *killLoop) settle(w *writer, found map[string]int) string {
	k.acknowledged, k.conflicts = k.acknowledged+int(w.acknowledged.Swap(0)), k.conflicts+w.conflicts
	w.conflicts = 0
	pending := w.pending
	w.pending = nil
	without := difference(found, w.known)
	if len(pending) == 0 {
		return without
	}
	k.unknown++
	if without == "" {
		return ""
	}
	w.apply(pending)
	if with := difference(found, w.known); with != "" {
		return fmt.Sprintf("its last change %v is there in part, or something else is wrong: without it %s; with it %s", pending, without, with)
	}
	k.happened++
	return ""
}

func difference(found, want map[string]int) string {
	var out []string
	for id, v := range want {
		if found[id] != v {
			out = append(out, fmt.Sprintf("%s was acknowledged with version %d and has %d", id, v, found[id]))
		}
	}
	for id, v := range found {
		if _, ok := want[id]; !ok {
			out = append(out, fmt.Sprintf("%s is there with version %d and should not be", id, v))
		}
	}
	slices.Sort(out)
	return strings.Join(out[:min(len(out), 5)], "; ")
}
