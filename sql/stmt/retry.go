package stmt

import (
	"context"
	"errors"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// A statement that meets a conflict is run again in two ways. Attempts runs it again in its transaction: the statement
// keeps its row locks, so it gets further each time, and what the transaction did before it stays. That is impossible
// once the commit has failed, because the transaction has ended. Autocommit therefore runs a statement that is all of
// its transaction again in a new one.

const (
	maxAttempts = 10_000
	maxSame     = 32 // times that one conflict comes with the same text: the locks that are kept do not help then
	pauseAfter  = 100

	// Pause is the time between two attempts.
	Pause = 5 * time.Millisecond
	// MaxCommits is how often a statement is run whose commit meets a conflict. Its locks are not kept, so it may
	// lose each time.
	MaxCommits = 100
)

// Attempts decides whether a statement that met a conflict is run again in its transaction. It is if the client has
// seen nothing of it, and no snapshot older than the statement is promised: at READ COMMITTED, and for a statement that
// is a transaction of its own.
type Attempts struct {
	Tx     *tx.Tx
	Mark   txn.Marks // before the statement
	Writes bool
	Alone  bool          // the statement is the first of an implicit transaction
	At     txn.Timestamp // of its reads, if that is fixed
	Emit   exec.Emit     // gets the rows
	Rows   int64         // how many Emit has got, or Held
	Held   *HeldRows     // keeps the rows for Emit; nil: it gets them at once
	n      int
	last   string // the last conflict
	same   int    // how often it came in a row
}

// Row passes a row on, or keeps it.
func (r *Attempts) Row(row []types.Datum) error {
	r.Rows++
	if r.Held != nil {
		return r.Held.Add(row)
	}
	return r.Emit(row)
}

// Pass passes on the rows that are kept: the statement has run.
func (r *Attempts) Pass() error {
	if r.Held == nil {
		return nil
	}
	return r.Held.Pass()
}

// answered reports whether the client has seen rows.
func (r *Attempts) answered() bool { return r.Rows > 0 && (r.Held == nil || r.Held.Passed) }

// Again reports whether the statement is run again. It undoes what the statement has written, and keeps its row locks.
func (r *Attempts) Again(ctx context.Context, err error) bool {
	t := r.Tx
	var lost *txn.LostError
	var elsewhere *txn.MovedError
	var split *txn.SplitError
	buffered := errors.As(err, &lost) && lost.Buffered // what was written is lost
	// The owner of the rows could not be found in time, or they are in other segments now.
	moved := errors.As(err, &elsewhere) || errors.As(err, &split)
	if !pgerr.Is(err, pgerr.SerializationFailure) || r.answered() || r.At != 0 && !moved || ctx.Err() != nil {
		return false
	}
	cut := lost != nil || moved // what was read can be read again at the same timestamp
	switch {
	case r.Alone:
	case buffered, t.HasDefined(): // a function may have written, which the mark of a SELECT does not show
		return false
	case !cut && (t.Modes.Isolation() != txn.ReadCommitted || t.At != 0):
		return false
	}
	if text := err.Error() + pgerr.From(err).Detail; cut { // its text is the same until it is over
		r.same = 0
	} else if text == r.last {
		r.same++
	} else {
		r.last, r.same = text, 0
	}
	if r.n++; r.n >= maxAttempts || r.same >= maxSame {
		return false
	}
	switch {
	case buffered:
		if t.Renew(r.Writes) != nil {
			return false
		}
		r.Mark = t.Parts.Mark()
	case r.Writes || r.Alone:
		t.Parts.Restart(r.Mark, r.Alone)
	}
	if r.Alone {
		t.At = 0
	}
	if r.Held != nil {
		r.Held.Drop()
		r.Rows = 0
	}
	return r.n < pauseAfter && !(cut && r.n > 1) || Sleep(ctx, Pause)
}

// Autocommit runs a statement and commits its implicit transaction. It does both again while w allows it: after a
// conflict at the commit, and if the statement failed because rows moved to another fragment, or another node leads
// theirs. restart opens the next transaction.
func Autocommit(ctx context.Context, w *HoldingWriter, run, commit, restart func() error) (err error) {
	defer func() { w.close(err) }()
	for n := 1; ; n++ {
		if err = run(); err == nil {
			err = commit()
		} else if !cutOff(err) {
			return err
		}
		if err == nil || !w.repeatable() || n >= MaxCommits || !pgerr.Is(err, pgerr.SerializationFailure) {
			return err
		}
		if !Sleep(ctx, Pause) {
			return pgerr.Cancelled(ctx)
		}
		w.drop()
		if err = restart(); err != nil {
			return err
		}
	}
}

// cutOff reports whether a statement has failed because of a move or a new leader, and not because of another
// transaction.
func cutOff(err error) bool {
	var lost *txn.LostError
	var moved *txn.MovedError
	var split *txn.SplitError
	return errors.As(err, &lost) || errors.As(err, &moved) || errors.As(err, &split)
}

// Sleep waits, and reports whether ctx has not ended meanwhile.
func Sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
