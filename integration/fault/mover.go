package fault

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sherddb/sherd/integration/workload"
)

const (
	allBuckets = 1 << 20
	movesEnd   = 90 * time.Second // Mover.ends, if there are few documents
	movesAhead = 3                // moves that the mover requests at the same time
)

// Mover requests moves of buckets, one after another, and pauses, resumes and cancels some.
type Mover struct {
	c    *Cluster
	rnd  *rand.Rand
	conn *pgx.Conn

	wg     sync.WaitGroup
	cancel context.CancelFunc
	ends   time.Duration // time within which moves end after the last fault
	asked  int
	// refused counts the error messages of refused requests.
	refused map[string]int
}

// StartMover starts a mover; Stop stops it.
func StartMover(ctx context.Context, c *Cluster, seed uint64) *Mover {
	m := &Mover{c: c, rnd: rand.New(rand.NewPCG(seed, 77)), refused: map[string]int{}, ends: movesEnd}
	ctx, m.cancel = context.WithCancel(ctx)
	m.wg.Go(func() {
		for ctx.Err() == nil {
			if err := m.one(ctx); err != nil && ctx.Err() == nil {
				m.refusal(err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(time.Duration(m.rnd.IntN(150)) * time.Millisecond):
			}
		}
		m.close()
	})
	return m
}

func (m *Mover) refusal(err error) {
	what := workload.SQLState(err)
	if what == "" {
		what = "no answer"
		m.close()
	}
	m.refused[what]++
}

func (m *Mover) close() {
	if m.conn != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		m.conn.Close(ctx)
		m.conn = nil
	}
}

// one makes one request, from time to time on another node.
func (m *Mover) one(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	if m.conn == nil || m.conn.IsClosed() || m.rnd.IntN(10) == 0 {
		m.close()
		conn, err := pgx.Connect(ctx, m.c.AnyURL())
		if err != nil {
			return err
		}
		m.conn = conn
	}
	rows, err := m.conn.Query(ctx, "SELECT id, state FROM sherd.moves ORDER BY id")
	if err != nil {
		return err
	}
	type running struct {
		ID    int64
		State string
	}
	moves, err := pgx.CollectRows(rows, pgx.RowToStructByPos[running])
	if err != nil {
		return err
	}
	if len(moves) < movesAhead {
		return m.ask(ctx)
	}
	switch r := moves[m.rnd.IntN(len(moves))]; {
	case r.State == "paused":
		return m.call(ctx, "resume_move", r.ID)
	case m.rnd.IntN(40) == 0:
		return m.call(ctx, "cancel_move", r.ID)
	case m.rnd.IntN(20) == 0:
		return m.call(ctx, "pause_move", r.ID)
	}
	return nil
}

func (m *Mover) call(ctx context.Context, function string, move int64) error {
	_, err := m.conn.Exec(ctx, "SELECT sherd."+function+"($1)", move)
	return err
}

// ask requests a move of a quarter of all buckets, of one bucket, or of an edge of a range of the
// map.
func (m *Mover) ask(ctx context.Context) error {
	target, err := m.oneOf(ctx, "SELECT fragment FROM sherd.fragments ORDER BY 1")
	if err != nil {
		return err
	}
	lo, hi := 0, 0
	switch m.rnd.IntN(4) {
	case 0:
		lo = m.rnd.IntN(4) * (allBuckets / 4)
		hi = lo + allBuckets/4
	case 1: // one that has documents
		lo = workload.Buckets()[m.rnd.IntN(len(workload.Buckets()))]
		hi = lo + 1
	case 2:
		lo = m.rnd.IntN(allBuckets)
		hi = lo + 1 + m.rnd.IntN(min(allBuckets-lo, 5000))
	default:
		edge, err := m.oneOf(ctx, "SELECT first_bucket::text FROM sherd.bucket_map ORDER BY first_bucket")
		if err != nil {
			return err
		}
		if _, err := fmt.Sscan(edge, &lo); err != nil {
			return err
		}
		n := 1 + m.rnd.IntN(60000)
		lo, hi = max(0, lo-m.rnd.IntN(n)), min(allBuckets, lo+n)
	}
	m.asked++
	_, err = m.conn.Exec(ctx, "SELECT sherd.move_buckets('postgres', $1, $2, $3, why => 'to and fro')", lo, hi, target)
	return err
}

func (m *Mover) oneOf(ctx context.Context, query string) (string, error) {
	rows, err := m.conn.Query(ctx, query)
	if err != nil {
		return "", err
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(all) == 0 {
		return "", err
	}
	return all[m.rnd.IntN(len(all))], nil
}

// Stop stops the mover, resumes paused moves and waits until all moves have ended. It returns a
// report, the number of completed moves, and an error if something is wrong.
func (m *Mover) Stop(ctx context.Context) (report string, done int, err error) {
	m.cancel()
	m.wg.Wait()
	ctx, cancel := context.WithTimeout(ctx, m.ends)
	defer cancel()
	conn, err := pgx.Connect(ctx, m.c.AnyURL())
	if err != nil {
		return "", 0, err
	}
	defer conn.Close(context.Background())
	if err := m.ended(ctx, conn); err != nil {
		return "", 0, err
	}
	rows, err := conn.Query(context.WithoutCancel(ctx), "SELECT outcome, count(*)::int, sum(steps)::int, "+
		"sum(retries)::int, max(worst_blocked_ms), count(error)::int FROM sherd.move_history GROUP BY outcome")
	if err != nil {
		return "", 0, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d moves asked for, %v refused", m.asked, m.refused)
	var outcome string
	var n, steps, retries, failed int
	var worst float64
	_, err = pgx.ForEachRow(rows, []any{&outcome, &n, &steps, &retries, &worst, &failed}, func() error {
		fmt.Fprintf(&b, "; %d %s in %d steps, %d of them again, writes blocked for %.0f ms at worst",
			n, outcome, steps, retries, worst)
		if outcome == "done" {
			done = n
		}
		if failed > 0 || outcome != "done" && outcome != "cancelled" {
			return fmt.Errorf("%d moves %s, %d of them with errors", n, outcome, failed)
		}
		return nil
	})
	return b.String(), done, err
}

// ended waits until no move is left. It resumes paused moves again and again, because this node may
// learn of a pause late.
func (m *Mover) ended(ctx context.Context, conn *pgx.Conn) error {
	left := ""
	for {
		// This fails if the move has ended meanwhile. A move that is left is named below.
		_, _ = conn.Exec(ctx, "SELECT sherd.resume_move(id) FROM sherd.moves WHERE state = 'paused'")
		err := conn.QueryRow(ctx, "SELECT coalesce(string_agg(format('%s: [%s,%s) %s → %s %s %s %s', id, "+
			"first_bucket, end_bucket, source, target, state, phase, waits_for), E'\n'), '') "+
			"FROM sherd.moves").Scan(&left)
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("moves do not end within %v: %s", m.ends, left)
		case err != nil:
			return err
		case left == "":
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
}
