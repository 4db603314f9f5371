package storage

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn"
)

// The steps of a move, as its driver takes them. Each may be repeated, doubled, late, or come from two drivers at once: what is of an older move,
// or out of its turn, answers ErrMoveVoid and changes nothing; what was done already is done.

// ErrMoveVoid says that a step of a move has no effect: a later move of the ranges has begun, or this one was undone, or an earlier step is missing.
var ErrMoveVoid = errors.New("the step of the move is void")

// ErrUnsettled says that transactions which write to the ranges of a fence are prepared and still undecided. The fence stands: the driver has the
// move declared aborted, or given another number, and lifts it.
var ErrUnsettled = errors.New("transactions in the ranges are prepared and undecided")

// HeldError says that a transaction held by PREPARE TRANSACTION has changed or locked rows of the ranges that shall move.
type HeldError struct{ GID string }

func (e *HeldError) Error() string {
	return fmt.Sprintf("prepared transaction %q has changed or locked rows of the buckets", e.GID)
}

// Unwrap gives what a client would see.
func (e *HeldError) Unwrap() error {
	return pgerr.New(pgerr.ObjectInUse, "prepared transaction \"%s\" has changed or locked rows of the buckets", e.GID).
		WithHint("Use COMMIT PREPARED or ROLLBACK PREPARED.")
}

// ReadRequest asks the source for versions of what lies in ranges: rows and entries of global indexes.
type ReadRequest struct {
	Ranges []BucketRange
	// Since: versions above it alone. 0: all that a reader may need, which is those above the watermark and the newest below it.
	Since txn.Timestamp
	T     txn.Timestamp // up to it; 0: the newest, as T6 has it
	// Final reads up to the F of the fence that Move has made; T is not looked at.
	Final bool
	Move  uint64
	// After goes on behind a version that was read, with the T that the first request gave; nil: from the start.
	After *Version
}

// ReadResult says what a read has covered.
type ReadResult struct {
	T txn.Timestamp
	// Watermark of the source: snapshots below it may not find all versions at the target (Own).
	Watermark txn.Timestamp
}

// Version is one version of a row, or of an index entry, on its way. Keys have arrival 0.
type Version struct {
	Key     []byte
	At      txn.Timestamp
	Value   []byte
	Deleted bool
	Kept    bool // an update that left the row's keys as they were
	// Before is the value of a row's version before this one, nil: it was not there; for who derives index entries. Carry does not look at it.
	Before []byte
}

// ReadVersions reads at T, as a snapshot does (T2–T4): what is prepared at or below it is settled first. It calls fn with batches of some
// 256 KiB, in the order of keys, with the versions of a key together and ascending.
func (r *Replica) ReadVersions(ctx context.Context, req ReadRequest, fn func(batch []Version) error) (ReadResult, error) {
	return ReadResult{}, pgerr.Unsupported("moving buckets")
}

// BeginReceive starts a new arrival of the ranges at the target, and gives its number; since is the watermark of the source, or below. What an
// undone move of them has left goes.
func (r *Replica) BeginReceive(ctx context.Context, move uint64, ranges []BucketRange, since txn.Timestamp) (arrival uint32, err error) {
	return 0, pgerr.Unsupported("moving buckets")
}

// Carry writes versions into ranges that are being received: rows, entries of global indexes, and the entries of local indexes that the caller has
// derived. Any order will do, and any number of times.
func (r *Replica) Carry(ctx context.Context, move uint64, batch []Version) error {
	return pgerr.Unsupported("moving buckets")
}

// Fence stops the ranges at the source: from its proposal on there is no lock, commit, prepare, check and no current timestamp for them, and no
// read above F, which it gives. What is prepared in the ranges is waited for, no longer than settle: ErrUnsettled, *HeldError; the fence stands
// then. A move that was fenced and unfenced may not be fenced again by the same number, but by a newer one, which need not be that of the target's.
func (r *Replica) Fence(ctx context.Context, move uint64, ranges []BucketRange, settle time.Duration) (F txn.Timestamp, err error) {
	return 0, pgerr.Unsupported("moving buckets")
}

// Unfence lifts the fence of a move, and bars one that is on its way. The catalog must have declared the move aborted before.
func (r *Replica) Unfence(ctx context.Context, move uint64, ranges []BucketRange) error {
	return pgerr.Unsupported("moving buckets")
}

// Own makes the target the owner, after the flip: its stamp is above F, and so above all that the source has promised. since is the largest
// watermark that the source's reads have given: reads below it are refused here too.
func (r *Replica) Own(ctx context.Context, move uint64, ranges []BucketRange, F, since txn.Timestamp) error {
	return pgerr.Unsupported("moving buckets")
}

// Gone tells the source, after the target owns the ranges: stages and locks there die.
func (r *Replica) Gone(ctx context.Context, move uint64, ranges []BucketRange) error {
	return pgerr.Unsupported("moving buckets")
}

// Clean has the source delete, in the background, what it has of ranges that are gone. Snapshots that were taken before still find it.
func (r *Replica) Clean(ctx context.Context, move uint64, ranges []BucketRange) error {
	return pgerr.Unsupported("moving buckets")
}

// Abandon has the target give up what it has received of a move that the catalog has declared aborted, and bars what of it is still on its way.
func (r *Replica) Abandon(ctx context.Context, move uint64, ranges []BucketRange) error {
	return pgerr.Unsupported("moving buckets")
}

// FencedMove is a fence that stands.
type FencedMove struct {
	Move   uint64
	Ranges []BucketRange
	Since  time.Time // as far as this leader knows
}

// Fenced lists the fences that stand here, for who has those that are too old declared aborted.
func (r *Replica) Fenced() []FencedMove { return nil }

// MoveSize estimates the documents and bytes in ranges, from the statistics.
func (r *Replica) MoveSize(ranges []BucketRange) (documents, bytes int64) { return 0, 0 }

// Watermark gives the timestamp below which reads are refused.
func (r *Replica) Watermark() txn.Timestamp { return txn.Timestamp(r.watermark.Load()) }
