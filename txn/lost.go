package txn

import "github.com/sherddb/sherd/internal/pgerr"

// LostError reports that the leader of a fragment changed before a statement was finished with it,
// or that the leader does not answer. It wraps the client's error for a statement that cannot be
// run again without the client's notice.
type LostError struct {
	Fragment FragmentID
	// Buffered: what the transaction had written or locked there is lost, or may be, so that it
	// cannot commit. Otherwise only the statement is lost, and can read again at the same timestamp
	// what it has read.
	Buffered bool
	Err      *pgerr.Error
}

// NewLost returns the error of an interrupted statement.
func NewLost(f FragmentID, buffered bool) *LostError {
	e := pgerr.New(
		pgerr.SerializationFailure, "could not serialize access: the fragment's leader changed during the statement",
	)
	if buffered {
		e = pgerr.New(
			pgerr.SerializationFailure,
			"could not serialize access: the fragment's leader changed during the transaction",
		)
	}
	return &LostError{Fragment: f, Buffered: buffered, Err: e.WithHint("Try the transaction again.")}
}

// NewAway returns the error of a transaction if rows that it has written, locked or read have moved
// to another fragment.
func NewAway(f FragmentID) *LostError {
	e := pgerr.New(
		pgerr.SerializationFailure,
		"could not serialize access: rows of this transaction have moved to another fragment",
	)
	return &LostError{Fragment: f, Buffered: true, Err: e.WithHint("Try the transaction again.")}
}

// NewUnder returns the error of a statement if rows have moved to another fragment while it was
// changing them. The transaction's earlier writes are still there.
func NewUnder(f FragmentID) *LostError {
	return &LostError{Fragment: f, Err: pgerr.From((*MovedError)(nil).Unwrap())}
}

func (e *LostError) Error() string { return e.Err.Error() }

// Unwrap returns the client's error.
func (e *LostError) Unwrap() error { return e.Err }

// LateNoError is the error of an unanswered prepare whose writer says afterwards that it is not
// prepared and never will be at that C. Either the writer never prepared, or a recovery has decided
// the transaction and the writer has resolved it since: only the coordinator fragment knows.
type LateNoError struct{ Err error }

func (e *LateNoError) Error() string { return e.Err.Error() }

// Unwrap returns the error of the unanswered prepare.
func (e *LateNoError) Unwrap() error { return e.Err }
