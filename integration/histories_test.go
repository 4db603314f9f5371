package integration

import (
	"context"
	"errors"
	"fmt"
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

	"github.com/sherddb/sherd/integration/history"
)

const (
	historyClients = 8
	historyKeys    = 12   // of a generation
	historyValues  = 3000 // transactions and values of a generation: then other keys are used, so that lists stay short
)

// TestHistories has clients append to lists and read them, one, several and all of them, at random, while the process is killed; what they saw
// must be what the isolation level promises. Keys lie in all fragments. It runs with 1, 3 and 16 fragments.
//
// Beside them others move money between accounts, and the total of a bank must be what it was in every snapshot. The last act of each
// history is sherd.check().
//
// SHERD_HISTORY sets how long each of the histories goes on (default 4 s).
func TestHistories(t *testing.T) {
	length := historyLength(t, 4*time.Second)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for _, fragments := range []int{1, 3, 16} {
		t.Run(fmt.Sprintf("%d fragments", fragments), func(t *testing.T) {
			h := newHistoryRun(t, seed, fragments)
			h.start()
			h.setUp()
			h.run(length)
			h.verify()
		})
	}
}

func historyLength(t *testing.T, length time.Duration) time.Duration {
	t.Helper()
	if s := os.Getenv("SHERD_HISTORY"); s != "" {
		d, err := time.ParseDuration(s)
		if err != nil {
			t.Fatalf("SHERD_HISTORY: %v", err)
		}
		return d
	}
	return length
}

// historyRun is one history.
type historyRun struct {
	t         *testing.T
	rnd       *rand.Rand
	seed      uint64
	data      string
	fragments int
	process   *Process
	url       atomic.Pointer[string]
	began     time.Time
	next      atomic.Int64 // values and transaction numbers
	kills     int
	bank      bankCounts

	mu   sync.Mutex
	txns []*history.Transaction // guarded by mu
}

func newHistoryRun(t *testing.T, seed uint64, fragments int) *historyRun {
	return &historyRun{
		t: t, rnd: rand.New(rand.NewPCG(seed, 1)), seed: seed, data: filepath.Join(t.TempDir(), "data"), fragments: fragments, began: time.Now(),
	}
}

func (h *historyRun) start() {
	p, err := Start(binary, h.data, "--fragments", strconv.Itoa(h.fragments))
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(p.Kill)
	h.process = p
	h.url.Store(&p.URL)
}

func (h *historyRun) setUp() {
	conn := Connect(h.t, h.process.URL)
	Exec(h.t, conn, "CREATE TABLE lists (id text PRIMARY KEY, l int[] NOT NULL, gen int NOT NULL, doc jsonb)")
	setUpBank(h.t, conn)
	conn.Close(context.Background())
}

// historyKey spreads the keys of a generation over the buckets; neighbours are in one fragment.
func historyKey(gen, n int) string {
	return fmt.Sprintf("g%d/k%02d$@%d", gen, n, n/2*2*1048575/historyKeys)
}

// run lets the clients work and kills the process now and then.
func (h *historyRun) run(length time.Duration) {
	ctx, cancel := context.WithCancel(h.t.Context())
	defer cancel()
	var wg sync.WaitGroup
	for n := range historyClients {
		c := &historyClient{h: h, rnd: rand.New(rand.NewPCG(h.seed, uint64(n+2)))}
		wg.Go(func() { c.run(ctx) })
	}
	for n := range bankClients {
		c := &bankClient{historyClient{h: h, rnd: rand.New(rand.NewPCG(h.seed, uint64(1000+n)))}}
		wg.Go(func() { c.run(ctx) })
	}
	end := time.Now().Add(length)
	for ; time.Now().Before(end); h.kills++ {
		time.Sleep(min(length/2, time.Duration(1000+h.rnd.IntN(2000))*time.Millisecond)) // the random moment of the kill
		h.process.Kill()
		h.start()
	}
	cancel()
	wg.Wait()
}

// verify reads the lists and checks the history.
func (h *historyRun) verify() {
	conn := Connect(h.t, h.process.URL)
	rows, err := conn.Query(h.t.Context(), "SELECT id, l FROM lists")
	if err != nil {
		h.t.Fatal(err)
	}
	final := map[string][]int{}
	var id string
	var l []int
	if _, err := pgx.ForEachRow(rows, []any{&id, &l}, func() error { final[id] = slices.Clone(l); return nil }); err != nil {
		h.t.Fatal(err)
	}
	for _, a := range history.Check(h.txns, final) {
		h.t.Error(a)
	}
	if total := One[int](h.t, conn, "SELECT sum(balance) FROM bank"); total != bankTotal {
		h.t.Errorf("the bank has %d in the end", total)
	}
	for _, wrong := range failedChecks(h.t, conn) {
		h.t.Error(wrong)
	}
	counts := map[history.Outcome]int{}
	for _, t := range h.txns {
		counts[t.Outcome]++
	}
	h.t.Logf("%d committed, %d aborted, %d unknown; bank: %d transfers, %d totals; %d kills", counts[history.Committed], counts[history.Aborted],
		counts[history.Unknown], h.bank.transfers.Load(), h.bank.totals.Load(), h.kills)
	if counts[history.Committed] < 50 {
		h.t.Errorf("only %d transactions were committed", counts[history.Committed])
	}
}

// historyClient runs random transactions one after the other.
type historyClient struct {
	h    *historyRun
	rnd  *rand.Rand
	conn *pgx.Conn
}

func (c *historyClient) run(ctx context.Context) {
	for c.connected(ctx) {
		t := c.transaction(ctx)
		c.h.mu.Lock()
		c.h.txns = append(c.h.txns, t)
		c.h.mu.Unlock()
	}
}

// connected connects if need be. It gives false, and ends the connection, when the history is over.
func (c *historyClient) connected(ctx context.Context) bool {
	for ctx.Err() == nil {
		if c.conn != nil && !c.conn.IsClosed() {
			return true
		}
		dial, cancel := context.WithTimeout(ctx, readyTimeout)
		conn, err := pgx.Connect(dial, *c.h.url.Load())
		cancel()
		if err != nil {
			time.Sleep(5 * time.Millisecond) // the process is being started anew
			continue
		}
		c.conn = conn
	}
	if c.conn != nil {
		c.conn.Close(context.Background())
	}
	return false
}

// now is the time since the history began.
func (c *historyClient) now() time.Duration { return time.Since(c.h.began) }

func (c *historyClient) transaction(ctx context.Context) *history.Transaction {
	t := &history.Transaction{ID: int(c.h.next.Add(1)), Level: history.Level(c.rnd.IntN(3)), Outcome: history.Aborted}
	// A lost statement must not end the test: every wait is bounded by the server, which answers or dies.
	if _, err := c.conn.Exec(ctx, "BEGIN ISOLATION LEVEL "+t.Level.String()); err != nil {
		return t
	}
	t.Start = c.now()
	for range 1 + c.rnd.IntN(4) {
		if err := c.statement(ctx, t); err != nil {
			c.rollback()
			return t
		}
	}
	if c.rnd.IntN(20) == 0 {
		c.rollback()
		return t
	}
	t.Outcome = history.Unknown
	_, err := c.conn.Exec(ctx, "COMMIT")
	t.End = c.now()
	switch code := sqlState(err); {
	case err == nil:
		t.Outcome = history.Committed
	case code != "" && code != "40003" && !strings.HasPrefix(code, "57P"):
		t.Outcome = history.Aborted
	}
	return t
}

func (c *historyClient) rollback() {
	if !c.conn.IsClosed() {
		ctx, cancel := context.WithTimeout(context.Background(), readyTimeout)
		defer cancel()
		if _, err := c.conn.Exec(ctx, "ROLLBACK"); err != nil {
			c.conn.Close(ctx)
		}
	}
}

// statement appends to a list or reads some.
func (c *historyClient) statement(ctx context.Context, t *history.Transaction) error {
	gen := t.ID / historyValues
	anyKey := func() string { return historyKey(gen, c.rnd.IntN(historyKeys)) }
	key := anyKey()
	began := c.now()
	switch n := c.rnd.IntN(20); {
	case n < 9:
		value := int(c.h.next.Add(1))
		t.Ops = append(t.Ops, history.Op{Key: key, Append: true, Value: value, Start: began})
		_, err := c.conn.Exec(ctx, "INSERT INTO lists VALUES ($1, ARRAY[$2::int], $3) ON CONFLICT (id) DO UPDATE SET l = lists.l || excluded.l", key, value, gen)
		return err
	case n < 11: // through another plan; a list that is not there is left alone
		value := int(c.h.next.Add(1))
		tag, err := c.conn.Exec(ctx, "UPDATE lists SET l = l || $2::int WHERE id = $1", key, value)
		if err != nil || tag.RowsAffected() == 1 {
			t.Ops = append(t.Ops, history.Op{Key: key, Append: true, Value: value, Start: began})
		} else {
			t.Ops = append(t.Ops, history.Op{Key: key, Start: began})
		}
		return err
	case n < 15:
		return c.read(ctx, t, []string{key}, "SELECT id, l FROM lists WHERE id = $1", key)
	case n < 18:
		keys := []string{key, anyKey(), anyKey()}
		slices.Sort(keys)
		keys = slices.Compact(keys)
		return c.read(ctx, t, keys, "SELECT id, l FROM lists WHERE id = ANY($1)", keys)
	default: // phantoms: lists that are not there are read too
		keys := make([]string, historyKeys)
		for i := range keys {
			keys[i] = historyKey(gen, i)
		}
		return c.read(ctx, t, keys, "SELECT id, l FROM lists WHERE gen = $1", gen)
	}
}

func (c *historyClient) read(ctx context.Context, t *history.Transaction, keys []string, sql string, args ...any) error {
	began := c.now()
	rows, err := c.conn.Query(ctx, sql, args...)
	if err != nil {
		return err
	}
	got := map[string][]int{}
	var id string
	var l []int
	if _, err := pgx.ForEachRow(rows, []any{&id, &l}, func() error {
		if _, twice := got[id]; twice {
			return errors.New("a row came twice")
		}
		got[id] = slices.Clone(l)
		return nil
	}); err != nil {
		if sqlState(err) == "" && strings.Contains(err.Error(), "twice") {
			c.h.t.Errorf("transaction %d: %v", t.ID, err)
		}
		return err
	}
	for _, key := range keys {
		t.Ops = append(t.Ops, history.Op{Key: key, List: got[key], Start: began})
	}
	return nil
}
