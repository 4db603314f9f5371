package workload

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// verdict is the outcome of a change.
type verdict int

const (
	done    verdict = iota // it took effect
	undone                 // it did not, and never will
	unknown                // the outcome is not known
)

// transaction runs statements in a transaction at a level. If the answer to COMMIT is lost, it asks
// sherd.txn_outcome.
func (c *client) transaction(level string, do func(ctx context.Context) error) verdict {
	ctx, cancel := c.limited()
	defer cancel()
	id := ""
	_, err := c.conn.Exec(ctx, "BEGIN ISOLATION LEVEL "+level)
	if err == nil {
		err = c.conn.QueryRow(ctx, "SELECT sherd.txn_id()").Scan(&id)
	}
	if err == nil {
		err = do(ctx)
	}
	if err != nil {
		c.failed(err, false)
		c.rollback(ctx)
		return undone
	}
	_, err = c.conn.Exec(ctx, "COMMIT")
	return c.verdict(err, id)
}

// lone runs a statement outside of a transaction and returns the number of rows that it changed.
func (c *client) lone(text string, args ...any) (verdict, int) {
	ctx, cancel := c.limited()
	defer cancel()
	tag, err := c.conn.Exec(ctx, text, args...)
	if err != nil {
		c.failed(err, true)
	}
	return c.verdict(err, ""), int(tag.RowsAffected())
}

// transactionID matches the id of a transaction in the error 40003.
var transactionID = regexp.MustCompile(`\b[0-9a-f]{32}\b`)

func (c *client) verdict(err error, id string) verdict {
	switch {
	case err == nil:
		c.r.acknowledged()
		return done
	case refused(err):
		return undone
	}
	var pg *pgconn.PgError
	if id == "" && errors.As(err, &pg) {
		id = transactionID.FindString(pg.Detail + " " + pg.Hint)
	}
	if id == "" {
		return unknown
	}
	return c.outcome(id)
}

// outcome asks for the outcome of a transaction until a node knows it.
func (c *client) outcome(id string) verdict {
	for end := time.Now().Add(c.r.Timeout); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		switch said := c.asked(id); said {
		case "committed":
			return done
		case "aborted":
			return undone
		}
	}
	c.r.Errorf("sherd.txn_outcome('%s') does not know what became of it", id)
	return unknown
}

func (c *client) asked(id string) (said string) {
	ctx, cancel := context.WithTimeout(context.Background(), dialTime)
	defer cancel()
	conn, err := pgx.Connect(ctx, c.r.URL())
	if err != nil {
		return ""
	}
	defer conn.Close(ctx)
	// Repeated if no node answers.
	_ = conn.QueryRow(ctx, "SELECT sherd.txn_outcome($1)", id).Scan(&said)
	return said
}

// failed counts an error. An error of class XX is a fault even while faults are injected.
func (c *client) failed(err error, lone bool) {
	c.saw(err, lone)
	if strings.HasPrefix(SQLState(err), "XX") {
		c.r.Errorf("%v", err)
	}
}

// tally bounds a number to which clients add.
type tally struct {
	mu    sync.Mutex
	sure  int // of additions that took effect; guarded by mu
	maybe int // and of those that may have taken effect; guarded by mu
	lost  int // additions with an unknown outcome; guarded by mu
}

// begins must be called before an addition is sent; ends must be called with its outcome.
func (t *tally) begins(n int) (ends func(verdict)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.maybe += n
	return func(v verdict) {
		t.mu.Lock()
		defer t.mu.Unlock()
		switch v {
		case done:
			t.sure += n
		case undone:
			t.maybe -= n
		case unknown:
			t.lost++
		}
	}
}

// bounds returns what a read that starts now must see at least, and what a read that has ended may
// have seen at most.
func (t *tally) bounds() (least, most int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sure, t.maybe
}
