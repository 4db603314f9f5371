package logentry

import (
	"encoding/binary"

	"github.com/sherddb/sherd/storage/codec"
	"github.com/sherddb/sherd/txn"
)

// Commit commits a transaction that writes in this fragment alone. Its commit timestamp is the
// entry's stamp.
type Commit struct {
	ID     txn.ID
	Parts  int    // number of Part entries before this one: without exactly these it has no effect
	Stats  []byte // by how much rows and bytes change; encoded
	Writes []byte // operations, those of the parts not included
}

func (e *Commit) Kind() Kind { return KindCommit }

func (e *Commit) Encode() []byte { return append(e.head(len(e.Writes)), e.Writes...) }

// EncodeInto is Encode with the operations that room has behind HeadRoom free bytes, in place of
// Writes.
func (e *Commit) EncodeInto(room []byte) []byte { return into(e.head(0), room) }

func (e *Commit) head(writes int) []byte {
	b := append(begin(KindCommit, e.Stats, writes), e.ID[:]...)
	b = binary.AppendUvarint(b, uint64(e.Parts))
	return codec.AppendBytes(b, e.Stats)
}

func (e *Commit) decode(r codec.Reader) error {
	e.ID = r.ID()
	e.Parts = r.Int()
	e.Stats = r.Bytes()
	e.Writes = r.Rest()
	return r.End()
}

// Part is a part of a large write set. It has no effect before a Commit, Prepare or
// PrepareTransaction counts it.
type Part struct {
	ID     txn.ID
	Number int // from 0
	Writes []byte
}

func (e *Part) Kind() Kind { return KindPart }

func (e *Part) Encode() []byte { return append(e.head(len(e.Writes)), e.Writes...) }

// EncodeInto is Encode with the operations that room has behind HeadRoom free bytes, in place of
// Writes.
func (e *Part) EncodeInto(room []byte) []byte { return into(e.head(0), room) }

func (e *Part) head(writes int) []byte {
	b := append(begin(KindPart, nil, writes), e.ID[:]...)
	return binary.AppendUvarint(b, uint64(e.Number))
}

func (e *Part) decode(r codec.Reader) error {
	e.ID = r.ID()
	e.Number = r.Int()
	e.Writes = r.Rest()
	return r.End()
}

// Prepare has a transaction's writes in one of its fragments, and its locks, before it is decided.
// It has two kinds: with Implicit the transaction is committed once all writers have such an entry
// at one C.
type Prepare struct {
	ID          txn.ID
	C           txn.Timestamp // at which it commits, if it does; also the entry's stamp
	Coordinator txn.FragmentID
	Attempt     int // from 1; a later one has a later C
	// the writes are those of the attempt before, or of PrepareTransaction: the entry has none
	Again    bool
	Implicit bool // not encoded: the kind says it
	Writers  []txn.FragmentID
	Parts    int // as in Commit
	Stats    []byte
	Writes   []byte
}

func (e *Prepare) Kind() Kind {
	if e.Implicit {
		return KindPrepareImplicit
	}
	return KindPrepare
}

func (e *Prepare) Encode() []byte { return append(e.head(len(e.Writes)), e.Writes...) }

// EncodeInto is Encode with the operations that room has behind HeadRoom free bytes, in place of
// Writes.
func (e *Prepare) EncodeInto(room []byte) []byte { return into(e.head(0), room) }

func (e *Prepare) head(writes int) []byte {
	b := append(begin(e.Kind(), e.Stats, writes), e.ID[:]...)
	b = codec.AppendTimestamp(b, e.C)
	b = binary.AppendUvarint(b, uint64(e.Coordinator))
	b = binary.AppendUvarint(b, uint64(e.Attempt))
	b = append(b, codec.Bool(e.Again))
	b = codec.AppendFragments(b, e.Writers)
	b = binary.AppendUvarint(b, uint64(e.Parts))
	return codec.AppendBytes(b, e.Stats)
}

func (e *Prepare) decode(r codec.Reader) error {
	e.ID = r.ID()
	e.C = r.Timestamp()
	e.Coordinator = txn.FragmentID(r.Int())
	e.Attempt = r.Int()
	e.Again = r.Byte() != 0
	e.Writers = r.Fragments()
	e.Parts = r.Int()
	e.Stats = r.Bytes()
	e.Writes = r.Rest()
	return r.End()
}

// Decide is a decision in the log of the coordinator fragment: the commit point. The first one
// counts (T7).
type Decide struct {
	ID      txn.ID
	C       txn.Timestamp // of the attempt that is decided
	Outcome txn.Outcome
	Writers []txn.FragmentID
}

func (e *Decide) Kind() Kind { return KindDecide }

func (e *Decide) Encode() []byte { return appendOutcome(KindDecide, e.ID, e.C, e.Outcome, e.Writers) }

func (e *Decide) decode(r codec.Reader) error {
	e.ID, e.C, e.Outcome, e.Writers = r.ID(), r.Timestamp(), txn.Outcome(r.Byte()), r.Fragments()
	return r.End()
}

// Resolve applies an outcome to the rows of a fragment that is not the coordinator.
type Resolve struct {
	ID      txn.ID
	C       txn.Timestamp // of the attempt that was decided
	Outcome txn.Outcome
}

func (e *Resolve) Kind() Kind { return KindResolve }

func (e *Resolve) Encode() []byte { return appendOutcome(KindResolve, e.ID, e.C, e.Outcome, nil) }

func (e *Resolve) decode(r codec.Reader) error {
	e.ID, e.C, e.Outcome = r.ID(), r.Timestamp(), txn.Outcome(r.Byte())
	r.Fragments() // none, as Encode has it
	return r.End()
}

func appendOutcome(kind Kind, id txn.ID, c txn.Timestamp, o txn.Outcome, writers []txn.FragmentID) []byte {
	b := append(begin(kind, nil, 0), id[:]...)
	b = append(codec.AppendTimestamp(b, c), byte(o))
	return codec.AppendFragments(b, writers)
}

// BarPrepare makes sure that a transaction which is not prepared here at C never will be: its stamp
// is above C. The result of applying it reports whether the transaction is prepared.
type BarPrepare struct {
	ID txn.ID
	C  txn.Timestamp
}

func (e *BarPrepare) Kind() Kind { return KindBarPrepare }

func (e *BarPrepare) Encode() []byte {
	return codec.AppendTimestamp(append(begin(KindBarPrepare, nil, 0), e.ID[:]...), e.C)
}

func (e *BarPrepare) decode(r codec.Reader) error {
	e.ID, e.C = r.ID(), r.Timestamp()
	return r.End()
}

// Outcomes has decisions and resolutions of many transactions, each with a result of its own.
type Outcomes struct{ List []TransactionOutcome }

// TransactionOutcome is a decision about one transaction, or its resolution.
type TransactionOutcome struct {
	ID      txn.ID
	C       txn.Timestamp // of the attempt
	Outcome txn.Outcome   // Committed or Aborted
	Decide  bool          // at the coordinator fragment
}

// The bits of a TransactionOutcome.
const (
	outcomeCommitted = 1
	outcomeDecide    = 2
)

const outcomeLen = 1 + len(txn.ID{}) + 8 // bytes of a TransactionOutcome

func (e *Outcomes) Kind() Kind { return KindOutcomes }

func (e *Outcomes) Encode() []byte {
	b := binary.AppendUvarint(begin(KindOutcomes, nil, len(e.List)*outcomeLen), uint64(len(e.List)))
	for i := range e.List {
		x := &e.List[i]
		bits := byte(0)
		if x.Outcome == txn.Committed {
			bits |= outcomeCommitted
		}
		if x.Decide {
			bits |= outcomeDecide
		}
		b = append(append(b, bits), x.ID[:]...)
		b = codec.AppendTimestamp(b, x.C)
	}
	return b
}

func (e *Outcomes) decode(r codec.Reader) error {
	n := r.Int()
	e.List = make([]TransactionOutcome, 0, min(n, len(r.B)/outcomeLen))
	for i := 0; i < n && r.Err == nil; i++ {
		bits := r.Byte()
		x := TransactionOutcome{ID: r.ID(), C: r.Timestamp(), Outcome: txn.Aborted, Decide: bits&outcomeDecide != 0}
		if bits&outcomeCommitted != 0 {
			x.Outcome = txn.Committed
		}
		if bits > outcomeCommitted|outcomeDecide {
			r.Err = codec.ErrMalformed
		}
		e.List = append(e.List, x)
	}
	return r.End()
}

// Forget informs the coordinator fragment that all writers have resolved these transactions.
type Forget struct{ IDs []txn.ID }

func (e *Forget) Kind() Kind { return KindForget }

func (e *Forget) Encode() []byte {
	b := binary.AppendUvarint(begin(KindForget, nil, len(e.IDs)*len(txn.ID{})), uint64(len(e.IDs)))
	for _, id := range e.IDs {
		b = append(b, id[:]...)
	}
	return b
}

func (e *Forget) decode(r codec.Reader) error {
	n := r.Int()
	e.IDs = make([]txn.ID, 0, min(n, len(r.B)/len(txn.ID{})))
	for i := 0; i < n && r.Err == nil; i++ {
		e.IDs = append(e.IDs, r.ID())
	}
	return r.End()
}
