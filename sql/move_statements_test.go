package sql_test

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/stmt"
)

// beside is a single statement that is run while buckets move. It has its own table of 300 rows,
// which is called t in its text.
type beside struct {
	name       string
	text, want string
	back       string // run before each time, so that the statement can be run again
	makes      string // what it needs in addition to its table
	copied     int    // rows that it receives
}

// dataBeside are statements that store or read many rows.
var dataBeside = []beside{
	{name: "copy", text: "COPY t FROM STDIN", want: "COPY 300", back: "DELETE FROM t WHERE n > 1000", copied: 300},
	{
		name: "insert", text: "INSERT INTO t SELECT 'more/' || g, g + 1000, 7 FROM generate_series(1, 300) g",
		want: "INSERT 0 300", back: "DELETE FROM t WHERE n > 1000",
	},
	{
		name: "upsert", text: "INSERT INTO t SELECT id, n, 7 FROM t ON CONFLICT (id) DO UPDATE SET k = excluded.k",
		want: "INSERT 0 300",
	},
	{name: "update", text: "UPDATE t SET k = k + 1", want: "UPDATE 300"},
	{
		name: "update of keys", text: "UPDATE t SET id = id || 'x', n = n + 1", want: "UPDATE 300",
		back: "UPDATE t SET id = rtrim(id, 'x')",
	},
	{
		name: "returning", text: "WITH u AS (UPDATE t SET k = k + 1 RETURNING n) SELECT count(*), sum(n) FROM u",
		want: "300|45150\nSELECT 1",
	},
	{
		name: "delete", text: "DELETE FROM t WHERE n > 100", want: "DELETE 200",
		back: "INSERT INTO t SELECT 'row/' || g, g, 7 FROM generate_series(101, 300) g ON CONFLICT DO NOTHING",
	},
	{name: "cascade", text: "DELETE FROM t_up", want: "DELETE 9",
		makes: "CREATE TABLE t_up (id int PRIMARY KEY); CREATE TABLE t_down (id int PRIMARY KEY, p int " +
			"REFERENCES t_up ON DELETE CASCADE)",
		back: "INSERT INTO t_up SELECT generate_series(1, 9); INSERT INTO t_down SELECT g, g % 9 + 1 " +
			"FROM generate_series(1, 50) g"},
	{name: "execute", text: "EXECUTE t_plan", want: "UPDATE 300", makes: "PREPARE t_plan AS UPDATE t SET k = k + 1"},
	{name: "explain", text: "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) UPDATE t SET k = k"},
	{
		name: "serializable", text: "UPDATE t SET k = (SELECT max(k) FROM t) WHERE n <= 50", want: "UPDATE 50",
		makes: "SET default_transaction_isolation = serializable",
	},
	{name: "for update", text: "SELECT n FROM t WHERE n <= 2 ORDER BY n FOR UPDATE", want: "1\n2\nSELECT 2"},
	{
		name: "join", text: "SELECT count(DISTINCT a.n), count(*) FROM t a JOIN t b ON a.n = b.n",
		want: "300|300\nSELECT 1",
	},
	{
		name: "held cursor", text: "DECLARE t_c CURSOR WITH HOLD FOR SELECT n FROM t", want: "DECLARE CURSOR",
		back: "CLOSE ALL",
	},
	{name: "copy to", text: "COPY (SELECT n FROM t WHERE n < 3 ORDER BY n) TO STDOUT", want: "1\n2\nCOPY 2"},
	{
		name: "sequence", text: "SELECT setval('t_seq', nextval('t_seq')) > 0", want: "t\nSELECT 1",
		makes: "CREATE SEQUENCE t_seq",
	},
}

// definitionsBeside are statements that change definitions.
var definitionsBeside = []beside{
	{name: "index", text: "CREATE INDEX t_made ON t (k)", want: "CREATE INDEX", back: "DROP INDEX IF EXISTS t_made"},
	{
		name: "unique index", text: "CREATE UNIQUE INDEX t_made ON t (n, k)", want: "CREATE INDEX",
		back: "DROP INDEX IF EXISTS t_made",
	},
	{
		name: "constraint", text: "ALTER TABLE t ADD CONSTRAINT t_made UNIQUE (n)", want: "ALTER TABLE",
		back: "ALTER TABLE t DROP CONSTRAINT IF EXISTS t_made",
	},
	{
		name: "check", text: "ALTER TABLE t ADD CONSTRAINT t_made CHECK (n > 0)", want: "ALTER TABLE",
		back: "ALTER TABLE t DROP CONSTRAINT IF EXISTS t_made",
	},
	{
		name: "foreign key", text: "ALTER TABLE t ADD CONSTRAINT t_made FOREIGN KEY (id) REFERENCES t",
		want: "ALTER TABLE", back: "ALTER TABLE t DROP CONSTRAINT IF EXISTS t_made",
	},
	{name: "validate", text: "ALTER TABLE t VALIDATE CONSTRAINT t_made", want: "ALTER TABLE",
		back: "ALTER TABLE t DROP CONSTRAINT IF EXISTS t_made; ALTER TABLE t ADD CONSTRAINT t_made FOREIGN KEY (id) " +
			"REFERENCES t NOT VALID"},
	{
		name: "column", text: "ALTER TABLE t ADD COLUMN made int DEFAULT 7", want: "ALTER TABLE",
		back: "ALTER TABLE t DROP COLUMN IF EXISTS made",
	},
	{
		name: "rows anew", text: "ALTER TABLE t ADD COLUMN made text DEFAULT gen_random_uuid()::text",
		want: "ALTER TABLE", back: "ALTER TABLE t DROP COLUMN IF EXISTS made",
	},
	{
		name: "type", text: "ALTER TABLE t ALTER COLUMN k TYPE text", want: "ALTER TABLE",
		back: "ALTER TABLE t ALTER COLUMN k TYPE int USING k::int",
	},
	{
		name: "not null", text: "ALTER TABLE t ALTER COLUMN k SET NOT NULL", want: "ALTER TABLE",
		back: "ALTER TABLE t ALTER COLUMN k DROP NOT NULL",
	},
	{
		name: "truncate", text: "TRUNCATE t", want: "TRUNCATE TABLE",
		back: "INSERT INTO t SELECT 'row/' || g, g, 7 FROM generate_series(1, 300) g ON CONFLICT DO NOTHING",
	},
	{
		name: "drop", text: "DROP TABLE IF EXISTS t_other, t_made",
		want: "NOTICE: table \"t_other\" does not exist, skipping\nDROP TABLE",
		back: "CREATE TABLE t_made (id text PRIMARY KEY, n int UNIQUE)",
	},
	{
		name: "table as", text: "CREATE TABLE t_made AS SELECT * FROM t", want: "SELECT 300",
		back: "DROP TABLE IF EXISTS t_made",
	},
	{name: "into", text: "SELECT id, n INTO t_made FROM t", want: "SELECT 300", back: "DROP TABLE IF EXISTS t_made"},
}

// TestStatementsBesideMoves: while a quarter of the buckets moves back and forth, no single
// statement sees an error, by the simple or the extended protocol.
func TestStatementsBesideMoves(t *testing.T) {
	w := newWorld(t)
	// Moves go on, however slow the machine is.
	w.connect(t).want("ALTER SYSTEM SET sherd.move_max_delay = 0", "ALTER SYSTEM")
	m := keepMoving(t, w)
	var clients sync.WaitGroup
	for _, b := range dataBeside {
		c := m.prepare(fmt.Sprintf("d%d", m.tables.Add(1)), b)
		clients.Go(func() {
			// A slow machine must be able to move at all.
			for n := 0; (n < 2 || n < 100 && m.moves.Load() < 4) && !t.Failed() && c.round(n); n++ {
			}
		})
	}
	clients.Wait()
	// One at a time: a change of definitions delays a flip, so many of them together would stop
	// moves.
	for _, b := range definitionsBeside {
		c := m.prepare(fmt.Sprintf("s%d", m.tables.Add(1)), b)
		until := m.moves.Load() + 1
		for n := 0; (n < 2 || n < 6 && m.moves.Load() < until) && c.round(n); n++ {
		}
	}
	m.end()
	w.connect(t).want("SELECT * FROM sherd.check() WHERE NOT ok", "SELECT 0")
	t.Logf("%d moves", m.moves.Load())
}

// besideClient runs one kind of statement.
type besideClient struct {
	*client
	m *moving
	b beside
}

// prepare makes the table of a statement, and everything else that it needs.
func (m *moving) prepare(table string, b beside) *besideClient {
	of := func(text string) string {
		text = regexp.MustCompile(`\bt\b`).ReplaceAllString(text, table)
		return regexp.MustCompile(`\bt_`).ReplaceAllString(text, table+"_")
	}
	b.text, b.back, b.makes = of(b.text), of(b.back), of(b.makes)
	if b.copied == 0 && !strings.HasSuffix(b.want, "SELECT 1") {
		b.want = of(b.want)
	}
	c := &besideClient{m.w.connect(m.t), m, b}
	c.want(of("CREATE TABLE t (id text PRIMARY KEY, n int, k int)"), "CREATE TABLE")
	c.want(of("INSERT INTO t SELECT 'row/' || g, g, 7 FROM generate_series(1, 300) g"), "INSERT 0 300")
	c.unless(b.makes)
	return c
}

// unless runs statements one after the other; none may have an error.
func (c *besideClient) unless(list string) bool {
	for text := range strings.SplitSeq(list, "; ") {
		if got := c.answer(text); strings.Contains(got, "SQLSTATE") {
			c.t.Errorf("%s: %s: %s", c.b.name, text, got)
			return false
		}
	}
	return true
}

// round runs the statement once.
func (c *besideClient) round(n int) bool {
	if !c.unless(c.b.back) {
		return false
	}
	run := c.answer
	if n%2 == 1 {
		run = c.sentPlain
	}
	if c.b.copied > 0 {
		run = c.copying
	}
	if got := run(c.b.text); got != c.b.want && c.b.want != "" || strings.Contains(got, "SQLSTATE") {
		c.t.Errorf("%s, round %d: %s", c.b.name, n, got)
		return false
	}
	return true
}

// moving moves a quarter of the buckets back and forth.
type moving struct {
	t      *testing.T
	w      *world
	mover  sync.WaitGroup
	over   atomic.Bool
	moves  atomic.Int64
	tables atomic.Int64
}

func keepMoving(t *testing.T, w *world) *moving {
	m := &moving{t: t, w: w}
	c := w.connect(t)
	m.mover.Go(func() {
		for i := 0; !m.over.Load() && !t.Failed(); i++ {
			text := fmt.Sprintf("SELECT sherd.move_buckets('postgres', 0, %s, 'postgres$%d', wait => true) > 0",
				quarter, []int{2, 1, 0}[i%3])
			if got := c.answer(text); !strings.HasSuffix(got, "t\nSELECT 1") {
				t.Errorf("move: %s", got)
			}
			m.moves.Add(1)
		}
	})
	return m
}

func (m *moving) end() {
	m.over.Store(true)
	m.mover.Wait()
}

// epoch returns the epoch of the bucket map.
func (m *moving) epoch() uint64 {
	return m.w.cfg.Catalog.View().Database(catalog.PostgresDB).Map.Epoch()
}

// copying runs a COPY. The client sends some rows after the buckets of the earlier ones have moved.
func (c *besideClient) copying(text string) string {
	r := &copier{recorder: recorder{env: c.s.Env}, m: c.m}
	for i := range c.b.copied {
		r.lines = append(r.lines, fmt.Sprintf("more/%d\t%d\t7", i, 1001+i))
	}
	if err := c.s.Simple(c.t.Context(), text, r); err != nil {
		r.line(pgerr.From(err).Error())
	}
	return strings.TrimSuffix(r.out.String(), "\n")
}

// copier is a client that sends rows.
type copier struct {
	recorder
	m    *moving
	seen uint64
}

func (r *copier) CopyIn(stmt.CopyFormat) (stmt.CopyReader, error) {
	r.seen = r.m.epoch()
	return r, nil
}

// Next implements stmt.CopyReader.
func (r *copier) Next(ctx context.Context) ([]byte, error) {
	if len(r.lines) == 0 {
		return nil, io.EOF
	}
	if len(r.lines) == 100 {
		for view := r.m.w.cfg.Catalog.View(); r.m.epoch() < r.seen+2 &&
			!r.m.t.Failed(); view = r.m.w.cfg.Catalog.View() {
			select {
			case <-view.Superseded():
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
	}
	line := r.lines[0]
	r.lines = r.lines[1:]
	return fmt.Appendf(nil, "%s\n", line), nil
}

// sentPlain runs a statement by the extended protocol, followed by Sync, and returns its answer.
func (c *client) sentPlain(text string) string {
	r := &recorder{env: c.s.Env}
	ctx := c.t.Context()
	err := c.s.Parse(ctx, "", text, nil)
	if err == nil {
		err = c.s.Bind(ctx, "", "", nil)
	}
	if err == nil {
		d, derr := c.s.DescribePortal(ctx, "")
		r.columns, err = d.Columns, derr
	}
	if err == nil {
		c.s.SyncFollows()
		_, err = c.s.Execute(ctx, "", 0, r)
	}
	if serr := c.s.Sync(ctx); err == nil {
		err = serr
	}
	if err != nil {
		r.line(pgerr.From(err).Error())
	}
	return strings.TrimSuffix(r.out.String(), "\n")
}
