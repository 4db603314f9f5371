package main

import (
	"context"
	"fmt"
	"time"

	"github.com/sherddb/sherd/integration"
)

// restart kills the process, as a crash would, and starts it again.
func (w *work) restart(ctx context.Context) (err error) {
	w.s.kill()
	w.conn.Close(ctx)
	if err := w.s.start(ctx); err != nil {
		return err
	}
	w.conn, err = w.s.connect(ctx)
	return err
}

// prepared keeps a large prepared transaction over a crash.
func prepared(ctx context.Context, w *work) error {
	if err := w.exec(ctx, "BEGIN"); err != nil {
		return err
	}
	if err := copies("held")(ctx, w); err != nil {
		return err
	}
	if err := w.exec(ctx, "PREPARE TRANSACTION 'large'"); err != nil {
		return err
	}
	if u, err := w.s.usage(); err == nil {
		fmt.Fprintf(w.out, "%14s %d MiB\n", "prepared at", u.anon>>10)
	}
	if err := w.restart(ctx); err != nil {
		return err
	}
	if err := w.expect(ctx, 0, "SELECT count(*) FROM held"); err != nil {
		return err
	}
	if err := w.expect(ctx, 1, "SELECT count(*) FROM pg_prepared_xacts"); err != nil {
		return err
	}
	began := time.Now()
	if err := w.exec(ctx, "COMMIT PREPARED 'large'"); err != nil {
		return err
	}
	w.commit = time.Since(began)
	return nil
}

// killed kills the process at several moments of a commit, of the installation after it, and of the
// recovery. Each time all rows must be there, or none.
func killed(ctx context.Context, w *work) error {
	commit, err := commitTime(ctx, w)
	if err != nil {
		return err
	}
	for i := range w.rounds {
		if err := table("killed", plain)(ctx, w); err != nil {
			return err
		}
		after := 2 * commit * time.Duration(i+1) / time.Duration(w.rounds+1)
		if err := killOnce(ctx, w, after); err != nil {
			return fmt.Errorf("killed %v after COMMIT was sent: %w", after, err)
		}
	}
	return nil
}

// commitTime returns how long the COMMIT takes that killed interrupts.
func commitTime(ctx context.Context, w *work) (time.Duration, error) {
	if err := w.exec(ctx, "BEGIN"); err != nil {
		return 0, err
	}
	if err := copies("killed")(ctx, w); err != nil {
		return 0, err
	}
	err := w.all(ctx, "COMMIT")
	return w.commit, err
}

func killOnce(ctx context.Context, w *work, after time.Duration) error {
	if err := w.exec(ctx, "BEGIN"); err != nil {
		return err
	}
	if err := copies("killed")(ctx, w); err != nil {
		return err
	}
	answer, moment := make(chan error, 1), time.After(after)
	go func() { answer <- w.exec(ctx, "COMMIT") }()
	var committed, answered bool
	select {
	case err := <-answer:
		committed, answered = err == nil, true
		<-moment // its rows are being installed, perhaps
	case <-moment:
	}
	w.s.kill()
	if !answered {
		committed = <-answer == nil
	}
	// The recovery is cut short too, at a moment of it that moves with the rounds.
	p, _, err := integration.Launch(w.s.binary, w.s.data, w.s.flags()...)
	if err != nil {
		return err
	}
	time.Sleep(after / 4)
	p.Kill()
	began := time.Now()
	if err := w.restart(ctx); err != nil {
		return err
	}
	anon := w.s.watch()
	var n int
	if err := w.conn.QueryRow(ctx, "SELECT count(*) FROM killed").Scan(&n); err != nil {
		return err
	}
	served, own := time.Since(began), anon()
	fmt.Fprintf(w.out, "%14s %v: %d rows, answered %v, served after %.1fs with %d MiB\n", "killed after",
		after.Round(time.Millisecond), n, committed,
		served.Seconds(), own>>10)
	if n != 0 && n != w.options.rows || committed && n == 0 {
		return fmt.Errorf("%d rows of %d are there, committed: %v", n, w.options.rows, committed)
	}
	if own>>10 > w.memory {
		return fmt.Errorf("after the recovery it takes %d MiB of memory, more than its --memory of %d", own>>10,
			w.memory)
	}
	return nil
}
