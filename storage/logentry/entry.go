package logentry

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/sherddb/sherd/storage/codec"
	"github.com/sherddb/sherd/txn"
)

// Kind is the number of a kind of entry.
type Kind byte

// The kinds. Numbers are on disk for ever.
const (
	KindReadLease           Kind = 1
	KindCommit              Kind = 2
	KindPart                Kind = 3
	KindPrepare             Kind = 4
	KindDecide              Kind = 5
	KindResolve             Kind = 6
	KindForget              Kind = 7
	KindWatermark           Kind = 8
	KindDropSpan            Kind = 9
	KindPrepareImplicit     Kind = 10
	KindBarPrepare          Kind = 11
	KindOutcomes            Kind = 12
	KindSweep               Kind = 13
	KindPrepareTransaction  Kind = 16
	KindCompletePreparation Kind = 17
	KindCommitPrepared      Kind = 18
	KindDropPrepared        Kind = 19
	KindFence               Kind = 32
	KindUnfence             Kind = 33
	KindBeginIngest         Kind = 34
	KindIngest              Kind = 35
	KindOwn                 Kind = 36
	KindMovedAway           Kind = 37
	KindClean               Kind = 38
	KindAbandon             Kind = 39
)

// Entry is an entry of a fragment's log, a pointer to one of the types of this package.
type Entry interface {
	Kind() Kind
	// Encode returns the entry's bytes, with a stamp of zero.
	Encode() []byte
	// decode reads the fields. The reader is passed by value so that it need not be on the heap.
	decode(r codec.Reader) error
}

// kinds makes an empty entry of each kind.
var kinds = [...]func() Entry{
	KindReadLease:           func() Entry { return new(ReadLease) },
	KindCommit:              func() Entry { return new(Commit) },
	KindPart:                func() Entry { return new(Part) },
	KindPrepare:             func() Entry { return new(Prepare) },
	KindDecide:              func() Entry { return new(Decide) },
	KindResolve:             func() Entry { return new(Resolve) },
	KindForget:              func() Entry { return new(Forget) },
	KindWatermark:           func() Entry { return new(Watermark) },
	KindDropSpan:            func() Entry { return new(DropSpan) },
	KindPrepareImplicit:     func() Entry { return &Prepare{Implicit: true} },
	KindBarPrepare:          func() Entry { return new(BarPrepare) },
	KindOutcomes:            func() Entry { return new(Outcomes) },
	KindSweep:               func() Entry { return new(Sweep) },
	KindPrepareTransaction:  func() Entry { return new(PrepareTransaction) },
	KindCompletePreparation: func() Entry { return new(CompletePreparation) },
	KindCommitPrepared:      func() Entry { return new(CommitPrepared) },
	KindDropPrepared:        func() Entry { return new(DropPrepared) },
	KindFence:               func() Entry { return new(Fence) },
	KindUnfence:             func() Entry { return new(Unfence) },
	KindBeginIngest:         func() Entry { return new(BeginIngest) },
	KindIngest:              func() Entry { return new(Ingest) },
	KindOwn:                 func() Entry { return new(Own) },
	KindMovedAway:           func() Entry { return new(MovedAway) },
	KindClean:               func() Entry { return new(Clean) },
	KindAbandon:             func() Entry { return new(Abandon) },
}

// The formats of entries.
const (
	formatGroups = 1
	// the statistics of the entry name buckets (BucketStats); all else is as in format 1
	formatBuckets = 2
)

const (
	headerLen = 10
	stampAt   = 2
)

// HeadRoom is how many bytes a caller of EncodeInto leaves free in front of operations. All else of
// an entry fits there, unless a transaction writes in very many fragments.
const HeadRoom = 256

// ErrMalformed is the error of bytes that are no entry, or one that this release does not know.
var ErrMalformed = errors.New("malformed log entry")

// BucketStats is what statistics begin with that name buckets. Others begin with the number of a
// table, and 0 is none.
const BucketStats = "\x00\x02"

// NamesBuckets reports whether encoded statistics name buckets. Releases before cluster version
// ExactSizes do not read them.
func NamesBuckets(stats []byte) bool {
	return len(stats) >= len(BucketStats) && string(stats[:len(BucketStats)]) == BucketStats
}

// SetStamp puts the stamp into the bytes of an entry.
func SetStamp(b []byte, t txn.Timestamp) {
	binary.BigEndian.PutUint64(b[stampAt:], uint64(t))
}

// Stamp returns the stamp of an entry that Decode accepts.
func Stamp(b []byte) txn.Timestamp {
	return txn.Timestamp(binary.BigEndian.Uint64(b[stampAt:]))
}

// Decode reads an entry of any format since the first. Its slices share the memory of b.
func Decode(b []byte) (Entry, error) {
	if len(b) < headerLen {
		return nil, fmt.Errorf("%w: %d bytes", ErrMalformed, len(b))
	}
	if b[0] != formatGroups && b[0] != formatBuckets {
		return nil, fmt.Errorf("%w: format %d is not known to this release", ErrMalformed, b[0])
	}
	kind := Kind(b[1])
	if int(kind) >= len(kinds) || kinds[kind] == nil {
		return nil, fmt.Errorf("%w: kind %d is not known to this release", ErrMalformed, kind)
	}
	e := kinds[kind]()
	if err := e.decode(codec.Reader{B: b[headerLen:]}); err != nil {
		return nil, fmt.Errorf("%w: kind %d: %w", ErrMalformed, kind, err)
	}
	if (b[0] == formatBuckets) != NamesBuckets(StatsOf(e)) {
		return nil, fmt.Errorf("%w: kind %d: format %d does not fit its statistics", ErrMalformed, kind, b[0])
	}
	return e, nil
}

// StatsOf returns the encoded statistics of an entry, nil if its kind has none.
func StatsOf(e Entry) []byte {
	switch e := e.(type) {
	case *Commit:
		return e.Stats
	case *Prepare:
		return e.Stats
	case *PrepareTransaction:
		return e.Stats
	case *Ingest:
		return e.Stats
	case *MovedAway:
		return e.Stats
	}
	return nil
}

// WritesOf returns the operations that an entry has of a transaction's write set. ok reports
// whether its kind has any.
func WritesOf(e Entry) (id txn.ID, writes []byte, ok bool) {
	switch e := e.(type) {
	case *Commit:
		return e.ID, e.Writes, true
	case *Part:
		return e.ID, e.Writes, true
	case *Prepare:
		return e.ID, e.Writes, true
	case *PrepareTransaction:
		return e.ID, e.Writes, true
	}
	return txn.ID{}, nil, false
}

// begin returns the header of an entry, with room for its fields and for more bytes of operations
// or of a list.
func begin(kind Kind, stats []byte, more int) []byte {
	b := make([]byte, headerLen, headerLen+64+len(stats)+more)
	b[0], b[1] = formatGroups, byte(kind)
	if NamesBuckets(stats) {
		b[0] = formatBuckets
	}
	return b
}

// into joins an encoded entry and its operations, which room has behind HeadRoom free bytes. The
// result shares room's memory, unless the entry does not fit into the free bytes.
func into(b, room []byte) []byte {
	if len(b) > HeadRoom {
		return append(b, room[HeadRoom:]...)
	}
	at := HeadRoom - len(b)
	copy(room[at:], b)
	return room[at:]
}
