package sql_test

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/session"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// lossy is a cluster in which fragments cannot be reached.
type lossy struct {
	session.Fragments
	mu    sync.Mutex
	asked map[txn.FragmentID]bool // these fragments return no timestamps; guarded by mu, as all below
	run   map[txn.FragmentID]bool // run no tasks
	after map[txn.FragmentID]int  // lose their leader after so many rows
}

func unreachable(f txn.FragmentID) error {
	e := pgerr.New(pgerr.CannotConnectNow, "fragment %d has no leader at present", f).
		WithDetail("No answer from n%d.", f)
	return &txn.UnreachableError{Fragment: f, Err: e}
}

func (l *lossy) is(set *map[txn.FragmentID]bool, f txn.FragmentID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return (*set)[f]
}

// Begin implements session.Fragments.
func (l *lossy) Begin() exec.Transaction { return lossyTransaction{l.Fragments.Begin(), l} }

type lossyTransaction struct {
	exec.Transaction
	of *lossy
}

// Snapshot implements exec.Transaction.
func (t lossyTransaction) Snapshot(ctx context.Context, shares []shardmap.Share, epoch uint64) (txn.Timestamp, error) {
	for _, s := range shares {
		if t.of.is(&t.of.asked, s.Fragment) {
			return 0, unreachable(s.Fragment)
		}
	}
	return t.Transaction.Snapshot(ctx, shares, epoch)
}

// SnapshotReachable implements exec.Transaction.
func (t lossyTransaction) SnapshotReachable(
	ctx context.Context, shares []shardmap.Share, epoch uint64,
) (txn.Timestamp, map[txn.FragmentID]error, error) {
	missing := map[txn.FragmentID]error{}
	var there []shardmap.Share
	for _, s := range shares {
		if t.of.is(&t.of.asked, s.Fragment) {
			missing[s.Fragment] = unreachable(s.Fragment)
			continue
		}
		there = append(there, s)
	}
	T, err := t.Transaction.Snapshot(ctx, there, epoch)
	return T, missing, err
}

// Fragment implements exec.Transaction.
func (t lossyTransaction) Fragment(id txn.FragmentID) (exec.Fragment, error) {
	f, err := t.Transaction.Fragment(id)
	return lossyFragment{f, id, t.of}, err
}

type lossyFragment struct {
	exec.Fragment
	id txn.FragmentID
	of *lossy
}

// Run implements exec.Fragment.
func (f lossyFragment) Run(ctx context.Context, task *exec.Task, emit exec.Emit) (exec.Result, error) {
	if f.of.is(&f.of.asked, f.id) || f.of.is(&f.of.run, f.id) {
		return exec.Result{}, unreachable(f.id)
	}
	f.of.mu.Lock()
	left, breaks := f.of.after[f.id]
	f.of.mu.Unlock()
	return f.Fragment.Run(ctx, task, func(row types.Row) error {
		if left--; breaks && left < 0 {
			return unreachable(f.id)
		}
		return emit(row)
	})
}

func lossyWorld(t *testing.T) (*world, *lossy, func(ordinal int) txn.FragmentID) {
	w := newWorld(t)
	l := &lossy{Fragments: w.cfg.Fragments}
	w.cfg.Fragments = l
	w.server = sql.NewServer(w.cfg)
	return w, l, func(ordinal int) txn.FragmentID {
		return w.cfg.Catalog.View().DatabaseByName("postgres").Fragments[ordinal].ID
	}
}

// set changes which fragments cannot be reached.
func (l *lossy) set(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
}

// TestAllowPartial: with sherd.allow_partial, statements that only read answer without the rows of
// a fragment that cannot be reached, and warn the client. It is an error without the setting, and
// for statements that write, lock, or must hold for a transaction.
func TestAllowPartial(t *testing.T) {
	w, l, id := lossyWorld(t)
	c := w.connect(t)
	c.want("CREATE TABLE acc (id text PRIMARY KEY, n int UNIQUE); CREATE TABLE item (n int PRIMARY KEY, acc text)",
		"CREATE TABLE\nCREATE TABLE")
	c.want("INSERT INTO acc SELECT 'acc/' || i, i FROM generate_series(1, 300) i", "INSERT 0 300")
	c.want("INSERT INTO item SELECT i, 'acc/' || i FROM generate_series(1, 300) i", "INSERT 0 300")
	const here = " sherd.fragment('acc', id) <> 'postgres$1'"
	without := map[string]string{}
	for _, text := range []string{"SELECT count(*), sum(n) FROM acc", "SELECT id FROM acc ORDER BY id LIMIT 5",
		"SELECT n % 3, count(*) FROM acc GROUP BY 1 ORDER BY 1", "SELECT max(n), count(DISTINCT n) FROM acc",
		"SELECT count(*) FROM acc LEFT JOIN (SELECT 1 AS k) x ON false"} {
		from := strings.Replace(text, "FROM acc", "FROM (SELECT * FROM acc WHERE"+here+") acc", 1)
		without[text] = c.answer(from)
	}
	lone := c.one("SELECT id FROM acc WHERE sherd.fragment('acc', id) = 'postgres$1' LIMIT 1")
	other := c.one("SELECT id FROM acc WHERE" + here + " LIMIT 1")
	f := id(1)
	l.set(func() { l.asked = map[txn.FragmentID]bool{f: true} })
	fails := func(text string) {
		t.Helper()
		if got := c.answer(text); !strings.Contains(got, "has no leader at present (SQLSTATE 57P03)") {
			t.Errorf("%s\n%s", text, got)
		}
	}
	const warning = "\nWARNING: fragment postgres$1 does not answer: its rows are missing"
	partial := func(text, want string) {
		t.Helper()
		rows, tag, _ := strings.Cut(want, "SELECT ")
		c.want(text, strings.TrimPrefix(strings.TrimSuffix(rows, "\n")+warning+"\nSELECT "+tag, "\n"))
	}
	fails("SELECT count(*) FROM acc")
	c.want("PREPARE p AS SELECT count(*), sum(n) FROM acc; SET sherd.allow_partial = on", "PREPARE\nSET")
	for text, want := range without {
		partial(text, want)
	}
	partial("EXECUTE p", without["SELECT count(*), sum(n) FROM acc"])
	partial("SELECT n FROM acc WHERE id = '"+lone+"'", "SELECT 0")
	c.want("SELECT count(*) FROM acc WHERE id = '"+other+"'", "1\nSELECT 1")
	if got := c.answer(
		"SELECT count(*) FROM acc JOIN item ON item.n = acc.n",
	); !strings.HasSuffix(got, warning+"\nSELECT 1") {
		t.Error(got)
	}
	if got := c.answer("COPY acc TO STDOUT"); strings.Count(got, warning) != 1 {
		t.Error(got)
	}
	if got := c.answer("EXPLAIN ANALYZE SELECT FROM acc"); strings.Count(got, warning[1:]) != 1 ||
		strings.Contains(got, "postgres$1: read") ||
		!strings.Contains(got, "May lack: fragments that cannot be reached  (sherd.allow_partial)") {
		t.Error(got)
	}
	for _, text := range []string{
		"UPDATE acc SET n = n", "INSERT INTO item SELECT 1000, id FROM acc", "CREATE TABLE copied AS SELECT * FROM acc",
		"SELECT * FROM acc FOR UPDATE",
		"BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM acc",
		"ROLLBACK; BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT count(*) FROM acc",
	} {
		fails(text)
	}
	c.want("ROLLBACK; SET default_transaction_isolation = 'serializable'", "ROLLBACK\nSET")
	fails("SELECT count(*) FROM acc")
	c.want("RESET default_transaction_isolation", "RESET")
	c.want("SELECT count(*) FROM pg_class WHERE relname = 'acc'", "1\nSELECT 1")
	l.set(func() { l.asked = nil })
	c.want("SELECT count(*) FROM acc", "300\nSELECT 1")
}

// TestPartialLate: a fragment that is lost between a statement's timestamp and its first row is
// missing as a whole. After that it is an error, because rows cannot be taken back from the client.
func TestPartialLate(t *testing.T) {
	w, l, id := lossyWorld(t)
	c := w.connect(t)
	c.want("CREATE TABLE acc (id int PRIMARY KEY, n int UNIQUE)", "CREATE TABLE")
	c.want("INSERT INTO acc SELECT i, i FROM generate_series(1, 3000) i", "INSERT 0 3000")
	rest := c.one("SELECT count(*) FROM acc WHERE sherd.fragment('acc', id) = 'postgres$0'")
	one := c.one("SELECT id FROM acc WHERE sherd.fragment('acc', id) = 'postgres$1' LIMIT 1")
	first, second := id(1), id(2)
	c.want("SET sherd.allow_partial = on", "SET")
	l.set(func() { l.run = map[txn.FragmentID]bool{first: true, second: true} })
	for _, text := range []string{"SELECT count(*) FROM acc",
		"SELECT count(*) FROM (SELECT * FROM acc ORDER BY id) x"} {
		if got := c.answer(text); !strings.HasPrefix(got,
			rest+"\nWARNING: fragments postgres$1, postgres$2 do not answer: their rows are missing") {
			t.Error(got)
		}
	}
	if got := c.answer("SELECT n FROM acc WHERE id = " + one); !strings.HasPrefix(got,
		"WARNING: fragment postgres$1 does not answer") || !strings.HasSuffix(got, "\nSELECT 0") {
		t.Error(got)
	}
	l.set(func() { l.run, l.after = nil, map[txn.FragmentID]int{first: 300} })
	for _, text := range []string{"SELECT id FROM acc", "SELECT id FROM acc ORDER BY id",
		"SELECT count(*) FROM (SELECT id FROM acc LIMIT 5000) x"} {
		if got := c.answer(text); !strings.HasSuffix(got,
			"has no leader at present (SQLSTATE 57P03): No answer from n"+strconv.Itoa(int(first))+".") {
			t.Error(got[max(0, len(got)-200):])
		}
	}
}
