package wire

import (
	"context"
	"errors"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/txn"
)

// Kinds of the layers of an error, outermost first.
const (
	errorPlain    = iota // a pgerr.Error
	errorRow             // exec.RowError around the next
	errorConflict        // txn.ConflictError around a pgerr.Error
	errorDeadlock        // txn.DeadlockError around a pgerr.Error
	errorLow             // txn.LowError
	errorLocked          // txn.ErrLocked
	errorCanceled        // context.Canceled
	errorDeadline        // context.DeadlineExceeded
)

// AppendError appends a complete error: errors.As and errors.Is find the same in it on the other
// node. An error that is neither a pgerr.Error nor has an encoding here becomes XX000 with its
// text.
func AppendError(dst []byte, err error) []byte {
	var row *exec.RowError
	if errors.As(err, &row) {
		dst = appendInt(append(dst, errorRow), row.Place)
		for errors.As(err, &row) { // the outermost one counts
			err = row.Err
		}
	}
	var conflict *txn.ConflictError
	var circle *txn.DeadlockError
	var low *txn.LowError
	switch {
	case errors.As(err, &conflict):
		return appendConflict(append(dst, errorConflict), conflict)
	case errors.As(err, &circle):
		return appendDeadlock(append(dst, errorDeadlock), circle)
	case errors.As(err, &low):
		return appendUint(append(dst, errorLow), uint64(low.Promised))
	case errors.Is(err, txn.ErrLocked):
		return append(dst, errorLocked)
	}
	var marked *pgerr.Error
	switch {
	case errors.As(err, &marked):
	case errors.Is(err, context.Canceled):
		return append(dst, errorCanceled)
	case errors.Is(err, context.DeadlineExceeded):
		return append(dst, errorDeadline)
	}
	return appendMarked(append(dst, errorPlain), pgerr.From(err))
}

func appendMarked(dst []byte, e *pgerr.Error) []byte {
	if e == nil {
		e = pgerr.New(pgerr.InternalError, "an error has no text")
	}
	for _, s := range fields(e) {
		dst = appendText(dst, *s)
	}
	return appendInt(dst, int64(e.Position))
}

func fields(e *pgerr.Error) []*string {
	return []*string{
		&e.Severity, &e.Code, &e.Message, &e.Detail, &e.Hint, &e.Where, &e.Schema, &e.Table, &e.Column, &e.DataType, &e.Constraint,
	}
}

func appendConflict(dst []byte, e *txn.ConflictError) []byte {
	dst = appendBlob(dst, e.Key)
	dst = appendUint(dst, uint64(e.Version))
	dst = appendUint(dst, uint64(e.T))
	dst = append(dst, e.Other[:]...)
	dst = appendBool(appendBool(dst, e.Deleted), e.Read)
	return appendMarked(dst, e.Err)
}

func appendDeadlock(dst []byte, e *txn.DeadlockError) []byte {
	dst = appendUint(dst, uint64(len(e.Waits)))
	for _, w := range e.Waits {
		dst = appendUint(append(dst, w.Waiter.ID[:]...), uint64(w.Waiter.Session))
		dst = appendText(appendText(dst, w.Lock), w.Object)
		dst = appendUint(appendBlob(dst, w.Key), uint64(w.Fragment))
	}
	return appendMarked(dst, e.Err)
}

// DecodeError decodes the output of AppendError. The error is a copy. damaged is set if b is not an
// error.
func DecodeError(b []byte) (err, damaged error) {
	r := newReader(append([]byte(nil), b...), "an error")
	err = r.error()
	if damaged = r.end(); damaged != nil {
		return nil, damaged
	}
	return err, nil
}

func (r *reader) error() error {
	switch r.byte() {
	case errorPlain:
		return r.marked()
	case errorRow:
		e := &exec.RowError{Place: r.int()}
		if r.s == "" || r.s[0] == errorRow {
			r.fail()
			return e
		}
		e.Err = r.error()
		return e
	case errorConflict:
		e := &txn.ConflictError{Key: r.blob(), Version: txn.Timestamp(r.uint()), T: txn.Timestamp(r.uint())}
		copy(e.Other[:], r.take(len(e.Other)))
		e.Deleted, e.Read, e.Err = r.bool(), r.bool(), r.marked()
		return e
	case errorDeadlock:
		e := &txn.DeadlockError{}
		for range r.count() {
			e.Waits = append(e.Waits, r.wait())
		}
		e.Err = r.marked()
		return e
	case errorLow:
		return &txn.LowError{Promised: txn.Timestamp(r.uint())}
	case errorLocked:
		return txn.ErrLocked
	case errorCanceled:
		return context.Canceled
	case errorDeadline:
		return context.DeadlineExceeded
	}
	r.fail()
	return nil
}

func (r *reader) wait() *txn.Wait {
	w := &txn.Wait{}
	copy(w.Waiter.ID[:], r.take(len(w.Waiter.ID)))
	w.Waiter.Session = uint32(r.upTo(1<<32 - 1))
	w.Lock, w.Object, w.Key = r.text(), r.text(), r.blob()
	w.Fragment = txn.FragmentID(r.upTo(1<<32 - 1))
	return w
}

func (r *reader) marked() *pgerr.Error {
	e := &pgerr.Error{}
	for _, s := range fields(e) {
		*s = r.text()
	}
	if e.Position = int(r.int()); len(e.Code) != 5 {
		r.fail()
	}
	return e
}
