package txn

import (
	"fmt"

	"github.com/sherddb/sherd/internal/pgerr"
)

// MovedError says that buckets which were asked for are not the fragment's any more, or not yet: the newest map says where they are. Nothing was
// done. Clients see 40001, should nobody be able to do better.
type MovedError struct {
	Fragment FragmentID // that was asked
	Move     uint64     // the last move of such a bucket in or out, as far as the fragment knows; 0: none
}

func (e *MovedError) Error() string {
	return fmt.Sprintf("fragment %d does not own all buckets asked for, last move %d", e.Fragment, e.Move)
}

// Unwrap gives what a client would see.
func (*MovedError) Unwrap() error {
	return pgerr.New(pgerr.SerializationFailure, "could not serialize access: rows have moved to another fragment").WithHint("Try again.")
}

// SplitError says that buckets which were asked for are nobody's any more: other segments of their table have taken their place, and the newest definitions say
// which. Nothing was done.
type SplitError struct{}

func (*SplitError) Error() string { return "the buckets asked for are nobody's any more" }

// Unwrap gives what a client would see.
func (*SplitError) Unwrap() error {
	return pgerr.New(pgerr.SerializationFailure, "could not serialize access: segments of the table have been split or merged").WithHint("Try again.")
}
