package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// work is one run of a case on one server.
type work struct {
	options
	conn   *pgx.Conn
	s      *subject // nil on PostgreSQL
	rows   int
	bytes  int64
	commit time.Duration // of the COMMIT, if that is a separate statement
}

func (w *work) exec(ctx context.Context, text string, args ...any) error {
	if _, err := w.conn.Exec(ctx, text, args...); err != nil {
		return fmt.Errorf("%.60s: %w", text, err)
	}
	return nil
}

// all runs statements one after the other.
func (w *work) all(ctx context.Context, texts ...string) error {
	for _, t := range texts {
		began := time.Now()
		if err := w.exec(ctx, t); err != nil {
			return err
		}
		if t == "COMMIT" {
			w.commit = time.Since(began)
		}
	}
	return nil
}

// expect runs a query that returns one number.
func (w *work) expect(ctx context.Context, want int64, text string) error {
	var got int64
	if err := w.conn.QueryRow(ctx, text).Scan(&got); err != nil {
		return fmt.Errorf("%s: %w", text, err)
	}
	if got != want {
		return fmt.Errorf("%s gives %d, not %d", text, got, want)
	}
	return nil
}

// timed prepares, runs and checks a case, and returns how long the run took.
func (w *work) timed(ctx context.Context, c largeCase) (time.Duration, error) {
	began := time.Now()
	if err := c.run(ctx, w); err != nil {
		return 0, err
	}
	return time.Since(began), nil
}

func measure(ctx context.Context, o options, s *subject, pg *postgres, c largeCase) error {
	conn, err := s.connect(ctx)
	if err != nil {
		return err
	}
	w := &work{options: o, conn: conn, s: s}
	defer func() { w.conn.Close(context.WithoutCancel(ctx)) }()
	if c.prepare != nil {
		if err := c.prepare(ctx, w); err != nil {
			return err
		}
	}
	var beside *small
	if !c.kills {
		if beside, err = s.small(ctx); err != nil {
			return err
		}
	}
	if err := s.forgetPeak(); err != nil {
		return err
	}
	anon, before := s.watch(), s.processor()
	took, err := w.timed(ctx, c)
	busy := s.processor() - before
	if c.kills {
		busy = 0 // of several processes
	}
	u, uerr := s.usage()
	own, wait := anon(), time.Duration(0)
	if beside != nil {
		var werr error
		wait, werr = beside.end()
		err = errors.Join(err, werr)
	}
	if err = errors.Join(err, uerr); err != nil {
		return err
	}
	ratio := "-"
	if pg != nil && !c.kills {
		if ratio, err = compare(ctx, o, pg, c, took); err != nil {
			return fmt.Errorf("PostgreSQL: %w", err)
		}
	}
	commit := "-"
	if w.commit > 0 {
		commit = fmt.Sprintf("%.1fs", w.commit.Seconds())
	}
	fmt.Fprintf(o.out, "%-14s %9d %7d %7.1f %9.0f %7.1f %7s %7d %7d %8d %6dms %7s\n", c.name, w.rows, w.bytes>>20,
		took.Seconds(), float64(w.rows)/took.Seconds(), busy.Seconds(), ratio,
		u.peak>>10, own>>10, s.disk()>>20, wait.Milliseconds(), commit)
	if c.check != nil {
		if err := c.check(ctx, w); err != nil {
			return err
		}
	}
	if own>>10 > o.memory {
		return fmt.Errorf("took %d MiB of memory, more than its --memory of %d", own>>10, o.memory)
	}
	return nil
}

// compare runs a case on PostgreSQL and returns the ratio of the rates.
func compare(ctx context.Context, o options, pg *postgres, c largeCase, took time.Duration) (string, error) {
	w := &work{options: o, conn: pg.conn}
	if c.prepare != nil {
		if err := c.prepare(ctx, w); err != nil {
			return "", err
		}
	}
	theirs, err := w.timed(ctx, c)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%.2f", theirs.Seconds()/took.Seconds()), nil
}
