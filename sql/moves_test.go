package sql_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/rebalance/rows"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/txn"
)

// mover moves buckets by hand, step by step.
type mover struct {
	w      *world
	number uint64
	floor  txn.Timestamp
}

// copy copies the results of a read, with the entries of local indexes.
func (m *mover) copy(
	ctx context.Context, from, to *storage.Replica, generation uint32, req storage.ReadRequest,
) (storage.ReadResult, error) {
	view := m.w.cfg.Catalog.View()
	d := table.NewDeriver(view)
	given := map[string]bool{}
	return from.Moves.ReadVersions(ctx, req, func(batch []storage.Version) error {
		out := slices.Clone(batch)
		for len(batch) > 0 {
			n := 1
			for n < len(batch) && bytes.Equal(batch[n].Key, batch[0].Key) {
				n++
			}
			if keyspace.IsRow(batch[0].Key) {
				var list []rows.Version
				before := batch[0].Before
				for _, v := range batch[:n] {
					if v.At <= m.floor { // M8 of rebalance/move
						list, before, v.At = nil, nil, m.floor
					}
					list = append(list, rows.Version{At: v.At, Value: v.Value})
				}
				err := d.Row(batch[0].Key, generation, before, list, func(e rows.Change) error {
					at := fmt.Sprintf("%s@%d", e.Key, e.At)
					if e.Yields && given[at] {
						return nil
					}
					given[at] = e.Value != nil
					out = append(out, storage.Version{
						Key: bytes.Clone(e.Key), At: e.At, Value: bytes.Clone(e.Value), Deleted: e.Value == nil,
					})
					return nil
				})
				if err != nil {
					return err
				}
			}
			batch = batch[n:]
		}
		return to.Moves.Ingest(ctx, m.number, out)
	})
}

// move moves a range once. If something is in its way, it is undone.
func (m *mover) move(ctx context.Context, iv shardmap.Interval, source, target txn.FragmentID) (moved bool, err error) {
	// Above the numbers of moves that the cluster drives itself.
	number, err := m.w.cfg.Catalog.NewJobID(ctx)
	if err != nil {
		return false, err
	}
	m.number = number
	from, err := m.w.host.Replicas.Replica(source)
	if err != nil {
		return false, err
	}
	to, err := m.w.host.Replicas.Replica(target)
	if err != nil {
		return false, err
	}
	ranges := []shardmap.Interval{iv}
	generation, err := to.Moves.BeginIngest(ctx, m.number, ranges, from.Watermark())
	if err != nil {
		return false, fmt.Errorf("receive: %w", err)
	}
	m.floor = to.Watermark()
	first, err := m.copy(ctx, from, to, generation, storage.ReadRequest{Ranges: ranges, AtLeast: m.floor})
	if err != nil {
		return false, fmt.Errorf("first: %w", err)
	}
	second, err := m.copy(ctx, from, to, generation, storage.ReadRequest{Ranges: ranges, Since: first.T})
	if err != nil {
		return false, fmt.Errorf("second: %w", err)
	}
	F, err := from.Moves.Fence(ctx, m.number, ranges, 50*time.Millisecond)
	if errors.Is(err, storage.ErrUndecided) {
		return false, errors.Join(from.Moves.Unfence(ctx, m.number, ranges), to.Moves.Abandon(ctx, m.number, ranges))
	}
	if err != nil {
		return false, fmt.Errorf("fence: %w", err)
	}
	if _, err = m.copy(
		ctx, from, to, generation, storage.ReadRequest{Ranges: ranges, Since: second.T, Final: true, Move: m.number},
	); err != nil {
		return false, fmt.Errorf("last: %w", err)
	}
	_, err = m.w.cfg.Catalog.Update(ctx, func(v *catalog.View, ch *catalog.Change) error {
		d := v.Database(catalog.PostgresDB).Clone()
		next, err := d.Map.Reassign(iv, target)
		if err != nil {
			return err
		}
		d.Map = next
		return ch.PutDatabase(d)
	})
	if err != nil {
		return false, err
	}
	return true, errors.Join(to.Moves.Own(ctx, m.number, ranges, F, max(first.Watermark, m.floor)),
		from.Moves.MoveAway(ctx, m.number, ranges), from.Moves.Clean(ctx, m.number, ranges))
}

// random moves some range of one fragment to another.
func (m *mover) random(ctx context.Context, rnd *rand.Rand) (bool, error) {
	d := m.w.cfg.Catalog.View().Database(catalog.PostgresDB)
	r := d.Map.Ranges()[rnd.IntN(len(d.Map.Ranges()))]
	target := d.Fragments[rnd.IntN(len(d.Fragments))].ID
	if target == r.Fragment {
		return false, nil
	}
	iv := r.Interval
	if half := iv.Len() / 2; half > shardmap.BucketCount/20 {
		iv.Lo += uint32(rnd.IntN(int(half)))
		iv.Hi = iv.Lo + 1 + uint32(rnd.IntN(int(half)))
	}
	return m.move(ctx, iv, r.Fragment, target)
}

// quietly runs a statement until it meets no conflict that its client has to expect in a block.
// Outside of a block no conflict is expected.
func (c *client) quietly(text string) (string, bool) {
	got := c.answer(text)
	if !strings.Contains(got, "could not serialize") && !strings.Contains(got, "deadlock") {
		return got, true
	}
	return got, false
}

// sent runs a statement as drivers send it, followed by Sync.
func (c *client) sent(text string) string {
	r := &recorder{env: c.s.Env, columns: []stmt.Column{{Type: types.Text}}}
	ctx := c.t.Context()
	err := c.s.Parse(ctx, "", text, nil)
	if err == nil {
		err = c.s.Bind(ctx, "", "", nil)
	}
	if err == nil {
		c.s.SyncFollows()
		_, err = c.s.Execute(ctx, "", 0, r)
	}
	if serr := c.s.Sync(ctx); err == nil {
		err = serr
	}
	if err != nil {
		return err.Error()
	}
	return strings.TrimSuffix(r.out.String(), "\n")
}

// TestMovesUnderLoad: while buckets move, single statements see no error, transaction blocks see
// only serialization failures, and totals never change.
func TestMovesUnderLoad(t *testing.T) {
	w := newWorldOf(t, 3)
	c := w.connect(t)
	const accounts = 120
	c.want(`CREATE TABLE acc (id text PRIMARY KEY, v int NOT NULL, tag int); CREATE INDEX acc_tag ON acc (tag); CREATE SEQUENCE seq;
		CREATE TABLE log (id int PRIMARY KEY, acc text, n int)`, "CREATE TABLE\nCREATE INDEX\nCREATE SEQUENCE\nCREATE TABLE")
	c.want(fmt.Sprintf("INSERT INTO acc SELECT 'a' || g, 100, g %% 7 FROM generate_series(1, %d) g", accounts),
		fmt.Sprintf("INSERT 0 %d", accounts))
	var wg sync.WaitGroup
	var ids, done atomic.Int64
	var over atomic.Bool
	total := fmt.Sprintf("%d|%d\nSELECT 1", accounts, accounts*100)
	run := func(seed uint64, step func(c *client, rnd *rand.Rand)) {
		c := w.connect(t)
		wg.Go(func() {
			for rnd := rand.New(rand.NewPCG(seed, 5)); !over.Load() && !t.Failed(); done.Add(1) {
				step(c, rnd)
			}
		})
	}
	want := func(c *client, text, want string) {
		if got := c.answer(text); got != want {
			t.Errorf("%s\ngot:\n%s\nwant:\n%s", text, got, want)
		}
	}
	for seed := range uint64(2) {
		run(seed, func(c *client, rnd *rand.Rand) { // transfers
			a, b := 1+rnd.IntN(accounts), 1+rnd.IntN(accounts)
			if a == b {
				return
			}
			text := fmt.Sprintf("BEGIN; UPDATE acc SET v = v - 1, tag = tag + 1 WHERE id = 'a%d'; "+
				"UPDATE acc SET v = v + 1 WHERE id = 'a%d'; COMMIT", a, b)
			if got, ok := c.quietly(text); !ok {
				c.answer("ROLLBACK")
			} else if got != "BEGIN\nUPDATE 1\nUPDATE 1\nCOMMIT" {
				t.Errorf("transfer: %s", got)
			}
		})
	}
	run(10, func(c *client, rnd *rand.Rand) { // single statements
		n := ids.Add(1)
		want(c, fmt.Sprintf("INSERT INTO log VALUES (%d, 'a%d', 0)", n, 1+n%accounts), "INSERT 0 1")
		want(c, fmt.Sprintf("UPDATE log SET n = n + 1 WHERE id = %d", n), "UPDATE 1")
		want(c, fmt.Sprintf("SELECT n FROM log WHERE id = %d", n), "1\nSELECT 1")
		want(c, fmt.Sprintf("INSERT INTO log VALUES (%d, 'x', 0) ON CONFLICT (id) DO UPDATE SET n = log.n + 1", n),
			"INSERT 0 1")
		if n%3 == 0 {
			want(c, fmt.Sprintf("DELETE FROM log WHERE id = %d", n), "DELETE 1")
		}
		if got := c.answer("SELECT nextval('seq') > 0"); got != "t\nSELECT 1" {
			t.Errorf("sequence: %s", got)
		}
	})
	run(13, func(c *client, rnd *rand.Rand) { // of the extended protocol, as drivers send them
		n := 1 + rnd.IntN(accounts)
		if got := c.sent(
			fmt.Sprintf("UPDATE acc SET tag = tag WHERE id = 'a%d' RETURNING id", n),
		); got != fmt.Sprintf("a%d\nUPDATE 1", n) {
			t.Errorf("sent: %s", got)
		}
	})
	run(11, func(c *client, rnd *rand.Rand) { // totals
		want(c, "SELECT count(*), sum(v) FROM acc", total)
		want(c, "SELECT count(*), sum(v) FROM (SELECT * FROM acc ORDER BY id) x", total)
		want(c, fmt.Sprintf("SELECT count(*) FROM acc WHERE id = 'a%d' AND tag >= 0", 1+rnd.IntN(accounts)),
			"1\nSELECT 1")
	})
	run(12, func(c *client, rnd *rand.Rand) { // snapshots, and the local index
		want(c, "BEGIN ISOLATION LEVEL REPEATABLE READ", "BEGIN")
		for range 4 {
			want(c, "SELECT count(*), sum(v) FROM acc", total)
			want(c,
				"SELECT sum((SELECT count(*) FROM acc WHERE tag = g)), null FROM generate_series(0, 4000) g "+
					"WHERE g < 0", "null|null\nSELECT 1")
		}
		first := c.answer("SELECT id, v FROM acc WHERE tag = 3 ORDER BY id")
		want(c, "SELECT id, v FROM acc WHERE tag = 3 ORDER BY id", first)
		want(c, "COMMIT", "COMMIT")
	})
	m, rnd, moves := &mover{w: w}, rand.New(rand.NewPCG(3, 9)), 0
	for n := 0; moves < 25 && n < 200 && !t.Failed(); n++ {
		moved, err := m.random(t.Context(), rnd)
		if err != nil {
			t.Errorf("move %d: %v", m.number, err)
		}
		if moved {
			moves++
		}
	}
	over.Store(true)
	wg.Wait()
	c.want("SELECT count(*), sum(v) FROM acc", total)
	c.want("SELECT * FROM sherd.check() WHERE NOT ok", "SELECT 0")
	t.Logf("%d moves, %d rounds of statements", moves, done.Load())
}
