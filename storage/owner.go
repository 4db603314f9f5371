package storage

import (
	"errors"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/storage/ownership"
)

// BucketRange is the half-open range of buckets [Lo, Hi).
type BucketRange = shardmap.Interval

// OwnState says what a bucket is to a fragment.
type OwnState = ownership.State

// The states; see package ownership.
const (
	NotOwned  = ownership.NotOwned
	Owned     = ownership.Owned
	Fenced    = ownership.Fenced
	Receiving = ownership.Receiving
	Gone      = ownership.Gone
)

// OwnedRange is what the log of a fragment says of neighbouring buckets (C1).
type OwnedRange = ownership.Range

var errRowsMoved = pgerr.New(pgerr.SerializationFailure,
	"could not serialize access: rows that this transaction has changed have moved to another fragment").
	WithHint("Try the transaction again.")

// RowsMoved reports whether an error means that what a transaction has staged, locked or read has
// moved away since. Nothing of it was committed.
func RowsMoved(err error) bool { return errors.Is(err, errRowsMoved) }
