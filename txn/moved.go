package txn

import (
	"fmt"

	"github.com/sherddb/sherd/internal/pgerr"
)

// MovedError reports that the fragment does not own some of the requested buckets any more, or not
// yet: the newest bucket map has their owner. Nothing was done. Clients see 40001 if no layer can
// retry.
type MovedError struct {
	Fragment FragmentID // the fragment that was asked
	Move     uint64     // the last move of such a bucket in or out that the fragment knows; 0: none
}

func (e *MovedError) Error() string {
	return fmt.Sprintf("fragment %d does not own all requested buckets, last move %d", e.Fragment, e.Move)
}

// Unwrap returns the error that a client would see.
func (*MovedError) Unwrap() error {
	return pgerr.New(
		pgerr.SerializationFailure, "could not serialize access: rows have moved to another fragment",
	).WithHint("Try again.")
}

// SplitError reports that requested buckets have no owner any more: other segments of their table
// have replaced them, and the newest definitions say which. Nothing was done.
type SplitError struct{}

func (*SplitError) Error() string { return "the requested buckets have no owner any more" }

// Unwrap returns the error that a client would see.
func (*SplitError) Unwrap() error {
	return pgerr.New(
		pgerr.SerializationFailure, "could not serialize access: segments of the table have been split or merged",
	).WithHint("Try again.")
}
