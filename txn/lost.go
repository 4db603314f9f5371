package txn

import "github.com/sherddb/sherd/internal/pgerr"

// LostError says that a fragment was led by another node before a statement was through with it, or that the node which led it does not answer.
// It carries what clients see where the statement cannot be run again unseen.
type LostError struct {
	Fragment FragmentID
	// Staged: what the transaction had staged or locked there is lost with it, or may be, so that it cannot commit. Otherwise the statement alone is
	// lost, and what it has read can be read again at the same timestamp.
	Staged bool
	Err    *pgerr.Error
}

// NewLost makes the error of a statement that was cut off.
func NewLost(f FragmentID, staged bool) *LostError {
	e := pgerr.New(pgerr.SerializationFailure, "could not serialize access: the fragment's leader changed during the statement")
	if staged {
		e = pgerr.New(pgerr.SerializationFailure, "could not serialize access: the fragment's leader changed during the transaction")
	}
	return &LostError{Fragment: f, Staged: staged, Err: e.WithHint("Try the transaction again.")}
}

// NewAway makes the error of a transaction of whose rows, those that it has staged, locked or read, some have moved to another fragment.
func NewAway(f FragmentID) *LostError {
	e := pgerr.New(pgerr.SerializationFailure, "could not serialize access: rows of this transaction have moved to another fragment")
	return &LostError{Fragment: f, Staged: true, Err: e.WithHint("Try the transaction again.")}
}

// NewUnder makes the error of a statement under which rows have moved to another fragment, while it was changing them; what was staged before is there.
func NewUnder(f FragmentID) *LostError {
	return &LostError{Fragment: f, Err: pgerr.From((*MovedError)(nil).Unwrap())}
}

func (e *LostError) Error() string { return e.Err.Error() }

// Unwrap gives what clients see.
func (e *LostError) Unwrap() error { return e.Err }

// LateNoError is the error of a prepare that was not answered, where the writer says afterwards that it is not prepared and never will be at that C. It has never been, or
// somebody has recovered the transaction, and the writer has resolved it since: only the anchor knows.
type LateNoError struct{ Err error }

func (e *LateNoError) Error() string { return e.Err.Error() }

// Unwrap gives the error of who was aborted.
func (e *LateNoError) Unwrap() error { return e.Err }
