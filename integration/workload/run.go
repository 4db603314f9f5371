package workload

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sherddb/sherd/integration/history"
)

// Run is one history. Its fields must be set before Start.
type Run struct {
	URL func() string // where a client connects next; called concurrently
	// Gets errors while the clients run; called concurrently.
	Errorf func(format string, args ...any)
	Seed   uint64
	// Timeout limits a transaction, connecting included; after it the outcome is unknown. It must
	// be longer than the database may take to recover.
	Timeout time.Duration
	// Pause is the time between operations of a client of registers, so that long histories are
	// short enough to be checked.
	Pause time.Duration
	// Stock is a number of documents more, among which units are moved by lone statements.
	Stock int
	// Stuck, if set, is called once for a transaction that takes longer than StuckAfter.
	Stuck      func(what string)
	StuckAfter time.Duration

	calm  atomic.Int64 // counts calls of Calm and Rough; odd: no faults at present
	stuck sync.Once
	began time.Time
	next  atomic.Int64 // values and transaction numbers

	transfers, totals, slow atomic.Int64

	mu       sync.Mutex
	txns     []*history.Transaction // guarded by mu
	progress time.Duration          // of the latest acknowledged change; guarded by mu
	longest  time.Duration          // between two of them; guarded by mu
	errors   map[string]int         // by SQLSTATE and kind of client; guarded by mu
}

// Report counts what happened.
type Report struct {
	Committed, Aborted, Unknown int
	Transfers, Totals           int
	Slow                        int           // transactions beyond the timeout
	Longest                     time.Duration // without an acknowledged change
}

func (r Report) String() string {
	return fmt.Sprintf("%d committed, %d aborted, %d unknown; bank: %d transfers, %d totals; "+
		"%d beyond the timeout; longest silence %v",
		r.Committed, r.Aborted, r.Unknown, r.Transfers, r.Totals, r.Slow, r.Longest.Round(time.Millisecond))
}

// SetUp creates the tables.
func (r *Run) SetUp(ctx context.Context, conn *pgx.Conn) error {
	for _, text := range []string{
		"CREATE TABLE lists (id text PRIMARY KEY, l int[] NOT NULL, gen int NOT NULL, doc jsonb)",
		"CREATE TABLE bank (id text PRIMARY KEY, balance int NOT NULL, number int NOT NULL, doc jsonb)",
	} {
		if _, err := conn.Exec(ctx, text); err != nil {
			return err
		}
	}
	for n := range bankAccounts {
		if _, err := conn.Exec(ctx, "INSERT INTO bank VALUES ($1, 100, $2)", bankKey(n), n); err != nil {
			return err
		}
	}
	for _, text := range []string{"CREATE INDEX bank_balance ON bank (balance)",
		"CREATE UNIQUE INDEX bank_number ON bank (number)"} {
		if _, err := conn.Exec(ctx, text); err != nil { // filled from the rows there are
			return err
		}
	}
	return r.setUpStock(ctx, conn)
}

// Buckets returns the buckets of the bank's documents and of the lists.
func Buckets() []int {
	var all []int
	for n := range bankAccounts {
		all = append(all, bankBucket(n))
	}
	for n := range listKeys {
		all = append(all, listBucket(n))
	}
	return all
}

// IndexLists creates an index, while the clients work and some lists exist. From then on clients
// use it.
func (r *Run) IndexLists(ctx context.Context, conn *pgx.Conn) error {
	for n := 0; n < listKeys/2; {
		if err := conn.QueryRow(ctx, "SELECT count(*) FROM lists").Scan(&n); err != nil {
			return err
		}
	}
	_, err := conn.Exec(ctx, "CREATE INDEX lists_gen ON lists (gen)")
	return err
}

// Calm says that no faults happen from now on: autocommit statements may see no error, transactions
// only conflicts.
func (r *Run) Calm() { r.calm.Add(1) }

// Rough ends Calm.
func (r *Run) Rough() { r.calm.Add(1) }

// Errors returns the errors that clients have seen, and how often.
func (r *Run) Errors() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b strings.Builder
	for _, what := range slices.Sorted(maps.Keys(r.errors)) {
		fmt.Fprintf(&b, "%s: %d\n", what, r.errors[what])
	}
	return b.String()
}

// Start starts the clients, which work until ctx ends; wait waits for their end.
func (r *Run) Start(ctx context.Context) (wait func()) {
	r.start()
	var wg sync.WaitGroup
	for n := range listClients {
		c := &listClient{r.client(uint64(n + 2))}
		wg.Go(func() { c.run(ctx) })
	}
	for n := range bankClients {
		c := &bankClient{r.client(uint64(1000 + n))}
		wg.Go(func() { c.run(ctx) })
	}
	for n := range stockClients {
		if r.Stock > 0 {
			c := &stockClient{r.client(uint64(3000 + n))}
			wg.Go(func() { c.run(ctx) })
		}
	}
	return wg.Wait
}

// start sets the start time of the history.
func (r *Run) start() {
	if r.began.IsZero() {
		r.began = time.Now()
	}
}

// Now is the time since Start.
func (r *Run) Now() time.Duration { return time.Since(r.began) }

// Committed returns how many of the lists' transactions were acknowledged so far.
func (r *Run) Committed() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range r.txns {
		if t.Outcome == history.Committed {
			n++
		}
	}
	return n
}

// Verify reads the tables at the end and returns what is wrong with the history. It runs
// sherd.check() last.
func (r *Run) Verify(ctx context.Context, conn *pgx.Conn) (Report, []string, error) {
	final, err := finalLists(ctx, conn)
	if err != nil {
		return Report{}, nil, err
	}
	var wrong []string
	for _, a := range history.Check(r.txns, final) {
		wrong = append(wrong, a.String())
	}
	var total int
	if err := conn.QueryRow(ctx, "SELECT sum(balance) FROM bank").Scan(&total); err != nil {
		return Report{}, nil, err
	}
	if total != bankTotal {
		wrong = append(wrong, fmt.Sprintf("the bank has %d in the end", total))
	}
	failed, err := FailedChecks(ctx, conn)
	return r.report(), append(wrong, failed...), err
}

func (r *Run) report() Report {
	out := Report{Transfers: int(r.transfers.Load()), Totals: int(r.totals.Load()), Slow: int(r.slow.Load()),
		Longest: r.longest}
	for _, t := range r.txns {
		switch t.Outcome {
		case history.Committed:
			out.Committed++
		case history.Aborted:
			out.Aborted++
		case history.Unknown:
			out.Unknown++
		}
	}
	return out
}

// acknowledged notes that a change was.
func (r *Run) acknowledged() {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Since(r.began)
	r.longest = max(r.longest, now-r.progress)
	r.progress = now
}

// FailedChecks returns the faults that sherd.check() reports.
func FailedChecks(ctx context.Context, conn *pgx.Conn) ([]string, error) {
	rows, err := conn.Query(ctx, `SELECT "check" || ' of ' || subject || ': ' || detail `+
		`FROM sherd.check() WHERE NOT ok`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// SQLState returns the SQLSTATE of an error, "" if there is none.
func SQLState(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}

// refused reports whether an error means that a change was not made.
func refused(err error) bool {
	code := SQLState(err)
	return code != "" && code != "40003" && !strings.HasPrefix(code, "57P")
}

// dialTime bounds an attempt to connect; a process that is stopped does not answer.
const dialTime = 10 * time.Second

// client uses one connection after another.
type client struct {
	r    *Run
	rnd  *rand.Rand
	conn *pgx.Conn
	calm int64 // Run.calm when the present transaction began
}

func (r *Run) client(stream uint64) client {
	return client{r: r, rnd: rand.New(rand.NewPCG(r.Seed, stream))}
}

// connected connects if necessary. It returns false, and closes the connection, when the history is
// over.
func (c *client) connected(ctx context.Context) bool {
	for ctx.Err() == nil {
		if c.conn != nil && !c.conn.IsClosed() {
			return true
		}
		dial, cancel := context.WithTimeout(ctx, dialTime)
		conn, err := pgx.Connect(dial, c.r.URL())
		cancel()
		if err != nil {
			time.Sleep(5 * time.Millisecond) // the process is being restarted
			continue
		}
		c.conn = conn
	}
	if c.conn != nil {
		c.close()
	}
	return false
}

// close closes the connection. A stopped process does not answer.
func (c *client) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	c.conn.Close(ctx)
}

// limited bounds the time of a transaction. The end of the history does not interrupt it, because
// its outcome would be unknown.
func (c *client) limited() (context.Context, context.CancelFunc) {
	c.calm = c.r.calm.Load()
	ctx, cancel := context.WithTimeout(context.Background(), c.r.Timeout)
	if c.r.Stuck == nil {
		return ctx, cancel
	}
	pid := c.conn.PgConn().PID()
	watch := time.AfterFunc(c.r.StuckAfter, func() {
		c.r.stuck.Do(func() { c.r.Stuck(fmt.Sprintf("a transaction of the client with process number %d", pid)) })
	})
	return ctx, func() {
		watch.Stop()
		cancel()
	}
}

// conflicts are the errors that a transaction may get at any time.
var conflicts = map[string]bool{"40001": true, "40P01": true}

// saw counts an error of an autocommit statement, or of a statement in a transaction. Without
// faults, only conflicts of transactions are allowed.
func (c *client) saw(err error, lone bool) {
	code, who := SQLState(err), "transaction"
	if lone {
		who = "lone statement"
	}
	if code == "" {
		code = "no answer"
	}
	what := who + " " + code
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		what += " " + pg.Message
	}
	c.r.mu.Lock()
	if c.r.errors == nil {
		c.r.errors = map[string]int{}
	}
	c.r.errors[what]++
	c.r.mu.Unlock()
	if c.calm%2 == 1 && c.calm == c.r.calm.Load() && (lone || !conflicts[code]) {
		c.r.Errorf("while nothing happened to nodes: %s: %v", what, err)
	}
}

// now is the time since the history began.
func (c *client) now() time.Duration { return time.Since(c.r.began) }

func (c *client) rollback(ctx context.Context) {
	if ctx.Err() != nil {
		c.r.slow.Add(1)
	}
	if !c.conn.IsClosed() {
		if _, err := c.conn.Exec(ctx, "ROLLBACK"); err != nil {
			c.close()
		}
	}
}
