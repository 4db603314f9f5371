package storage

import (
	"errors"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/txn"
)

// BucketRange is the half-open range of buckets [Lo, Hi).
type BucketRange = shardmap.Interval

// OwnState says what a bucket is to a fragment.
type OwnState byte

// The states. Numbers are on disk for ever.
const (
	NotOwned  OwnState = 0 // and never was
	Owned     OwnState = 1
	Fenced    OwnState = 2 // read up to F, until the move that has fenced it is undone or has flipped
	Receiving OwnState = 3 // versions are coming; nobody reads
	Gone      OwnState = 4 // to another fragment; read up to F
)

func (s OwnState) String() string {
	return [...]string{"not owned", "owned", "fenced", "receiving", "gone"}[s]
}

// OwnedRange is what the log of a fragment says of neighbouring buckets (C1).
type OwnedRange struct {
	BucketRange
	State   OwnState
	Move    uint64        // the last one in or out; entries of older ones are void
	F       txn.Timestamp // fenced, gone: the largest timestamp that may be read at
	Arrival uint32        // in the keys of what is there
	Since   txn.Timestamp // the smallest timestamp that may be read at, for the source had let older versions go
}

var errRowsMoved = pgerr.New(pgerr.SerializationFailure, "could not serialize access: rows that this transaction has changed have moved to another fragment").
	WithHint("Try the transaction again.")

// RowsMoved tells whether an error says that what a transaction has staged, locked or read has moved away since. Nothing of it was committed.
func RowsMoved(err error) bool { return errors.Is(err, errRowsMoved) }
