package sql_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/fragment"
	"github.com/sherddb/sherd/fragment/placement"
	"github.com/sherddb/sherd/internal/clusterversion"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/internal/testlog"
	"github.com/sherddb/sherd/node/store"
	"github.com/sherddb/sherd/rebalance"
	"github.com/sherddb/sherd/shardmap/balance"
	"github.com/sherddb/sherd/sql"
	"github.com/sherddb/sherd/sql/distexec"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/sql/session"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/sysview"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/sql/verify/running"
	"github.com/sherddb/sherd/txn"
)

// world is a server over a real catalog and real fragments in a temporary folder.
type world struct {
	t      testing.TB
	server *sql.Server
	host   *store.Store
	pids   atomic.Uint32
	log    *logged
	cfg    sql.Config
}

// fragmentsHere is the part of a node's fragments that sessions use if there are no other nodes.
type fragmentsHere struct {
	*distexec.Gateway
	*rebalance.Rebalancer
	*running.Checker
	*fragment.Replicas
	*placement.Placer
}

// logged keeps what sessions log.
type logged struct {
	mu   sync.Mutex
	text strings.Builder // guarded by mu
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// testTimeout bounds every wait, on a machine that may be busy.
const testTimeout = 2 * time.Minute

func newWorld(t testing.TB) *world { return newWorldOf(t, 3) }

// newWorldOf makes a world with that many fragments. One fragment is called directly, several as if
// they were other nodes'.
func newWorldOf(t testing.TB, fragments int) *world {
	t.Helper()
	return newWorldAt(t, fragments, clusterversion.Newest)
}

// newWorldAt makes a world at a version of clusters (V4).
func newWorldAt(t testing.TB, fragments int, version uint32, change ...func(*store.Config)) *world {
	t.Helper()
	dir, quiet := t.TempDir(), testlog.New(t)
	if os.Getenv("SHERD_TEST_LOG") != "" {
		quiet = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	c, err := catalog.Open(catalog.Options{Dir: filepath.Join(dir, "catalog"), Logger: quiet})
	must(t, err)
	t.Cleanup(func() { must(t, c.Close()) })
	must(t, c.WaitReady(ctx))
	_, err = c.Bootstrap(ctx, catalog.BootstrapOptions{
		ClusterID: "0191f2a4-8f6e-4000-8000-00000000002a", Fragments: fragments,
		Node: catalog.Node{ID: 1, Name: "n1", Block: "A"}, Format: version,
	})
	must(t, err)
	clock := txn.NewClock(nil, 0)
	hosted := store.Config{
		Dir: filepath.Join(dir, "fragments"), LogDir: filepath.Join(dir, "log"), Node: 1, Catalog: c, Clock: clock,
		Logger: quiet, KeyText: sysview.SegmentText, Schema: table.Schema(),
	}
	var gateway *distexec.Gateway
	hosted.Heat = func(context.Context) []balance.Heat { return distexec.BucketHeat(gateway.ListHeat()) }
	for _, f := range change {
		f(&hosted)
	}
	h := store.New(hosted)
	gateway = distexec.New(distexec.Config{Node: 1, Catalog: c, Client: h.Client, Here: h.Fragments})
	must(t, h.Start(ctx))
	t.Cleanup(func() { must(t, h.Close()) })
	log := &logged{}
	var fragmentsOf session.Fragments = fragmentsHere{
		gateway, h.Rebalancer,
		running.New(running.Config{Node: 1, Catalog: c, Client: h.Client, Here: h.Fragments}),
		h.Replicas, h.Placer,
	}
	if fragments > 1 {
		fragmentsOf = sent{fragmentsOf, c}
	}
	cfg := sql.Config{
		Catalog: c, Fragments: fragmentsOf, Clock: clock,
		Logger: slog.New(testlog.Failing(t, slog.NewTextHandler(log, nil))), Addr: "127.0.0.1:1", NodeName: "n1",
		Block: "A", Deadlocks: h.Deadlocks,
	}
	return &world{t: t, host: h, log: log, cfg: cfg, server: sql.NewServer(cfg)}
}

// another returns another server over the same catalog and fragments.
func (w *world) another() *world {
	return &world{t: w.t, host: w.host, log: w.log, cfg: w.cfg, server: sql.NewServer(w.cfg)}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// client is a session and what it answered.
type client struct {
	t   testing.TB
	w   *world
	s   *session.Session
	ctx context.Context // of statements, nil: the test's
}

func (w *world) connect(t testing.TB) *client { return w.connectAs(t, "postgres", session.Handle{}) }

func (w *world) connectAs(t testing.TB, user string, h session.Handle) *client {
	t.Helper()
	s, err := w.server.NewSession(t.Context(), session.StartupParams{
		User: user, Database: "postgres", PID: w.pids.Add(1), Handle: h,
	})
	must(t, err)
	t.Cleanup(s.Close)
	return &client{t: t, w: w, s: s}
}

// answer runs a query string and returns rows, tags and the error, one a line.
func (c *client) answer(text string) string {
	r := &recorder{env: c.s.Env}
	ctx := c.ctx
	if ctx == nil {
		ctx = c.t.Context()
	}
	if err := c.s.Simple(ctx, text, r); err != nil {
		r.line(pgerr.From(err).Error())
	}
	return strings.TrimSuffix(r.out.String(), "\n")
}

func (c *client) want(text, want string) {
	c.t.Helper()
	if got := c.answer(text); got != want {
		c.t.Errorf("%s\ngot:\n%s\nwant:\n%s", text, got, want)
	}
}

// recorder collects the answers of statements; it sends lines as COPY data.
type recorder struct {
	env     func() *types.Env
	columns []stmt.Column
	out     strings.Builder
	lines   []string // of COPY FROM STDIN
}

func (r *recorder) line(s string) { r.out.WriteString(s + "\n") }

func (r *recorder) Describe(columns []stmt.Column) error {
	r.columns = columns
	return nil
}

func (r *recorder) Row(row []types.Datum) error {
	var out []string
	for i, d := range row {
		if d.IsNull() {
			out = append(out, "null")
			continue
		}
		out = append(out, types.Output(r.columns[i].Type, d, r.env()))
	}
	r.line(strings.Join(out, "|"))
	return nil
}

func (r *recorder) Complete(tag string) error                       { r.line(tag); return nil }
func (r *recorder) EmptyQuery() error                               { r.line("empty"); return nil }
func (r *recorder) Parameter(name, value string) error              { return nil }
func (r *recorder) CopyOut(stmt.CopyFormat) error                   { return nil }
func (r *recorder) CopyOutDone() error                              { return nil }
func (r *recorder) CopyData(b []byte) error                         { r.out.Write(b); return nil }
func (r *recorder) CopyIn(stmt.CopyFormat) (stmt.CopyReader, error) { return &copyLines{r.lines}, nil }

// Notice records a notice, except those of a move's progress: they come only if the move takes
// long.
func (r *recorder) Notice(n *pgerr.Error) error {
	if !strings.HasPrefix(n.Message, "move ") {
		r.line(n.Severity + ": " + n.Message)
	}
	return nil
}

type copyLines struct{ left []string }

func (l *copyLines) Next(context.Context) ([]byte, error) {
	if len(l.left) == 0 {
		return nil, io.EOF
	}
	line := l.left[0]
	l.left = l.left[1:]
	return fmt.Appendf(nil, "%s\n", line), nil
}
