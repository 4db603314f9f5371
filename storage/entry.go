package storage

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/sherddb/sherd/txn"
)

// A log entry (V1): format(1) · kind(1) · stamp(8) · body. The stamp sits at a fixed place because it is filled in last,
// under the lock that gives stamps (T1).
const (
	entryFormat  = 1
	entryFormat2 = 2 // of entries whose statistics name buckets (deltas.go); the rest is as in format 1
	entryHeader  = 10
	stampOffset  = 2
	maxEntryBody = 1 << 20 // of write sets; larger ones are cut into parts
)

type entryKind byte

// The kinds of entries. Numbers are on disk for ever.
const (
	kindCeiling  entryKind = 1 // T4: reads up to ts are served
	kindCommit   entryKind = 2 // a one-fragment transaction; its version is the stamp
	kindPart     entryKind = 3 // a piece of a large write set, seen by nobody before its commit or decision
	kindPrepare  entryKind = 4 // stamp = C
	kindDecide   entryKind = 5 // at the anchor: the commit point
	kindResolve  entryKind = 6 // at the other writers
	kindForget   entryKind = 7 // the anchor forgets decisions that all writers have applied
	kindGC       entryKind = 8 // reads below ts are refused from here on
	kindDropSpan entryKind = 9 // everything in the span is deleted at the stamp

	kindSweep entryKind = 13 // entries of local indexes are deleted at ts, as long as nothing has come by a later move

	kindPrepareAll entryKind = 10 // a prepare of a transaction that is committed once all its writers have one at its C
	kindBar        entryKind = 11 // such a prepare at ts cannot come any more; the answer is whether it is here
	kindSettle     entryKind = 12 // decisions and resolutions, of many transactions

	kindHold         entryKind = 16 // writes and locks of a held transaction, with its record
	kindHoldComplete entryKind = 17 // at its home: it stands
	kindCommitHeld   entryKind = 18 // of a transaction held here alone; its version is the stamp
	kindUnhold       entryKind = 19 // it is dropped

	// Of a move, each with its number; owner_apply.go has their conditions.
	kindFence   entryKind = 32 // source: reads up to the stamp alone
	kindUnfence entryKind = 33 // source: undone
	kindReceive entryKind = 34 // target: a new arrival begins
	kindCarry   entryKind = 35 // target: operations with versions of their own
	kindOwn     entryKind = 36 // target: it is the owner
	kindGone    entryKind = 37 // source: it is not any more
	kindClean   entryKind = 38 // source: what is left there is deleted
	kindAbandon entryKind = 39 // target: undone
)

// entry is a decoded log entry. Which fields count depends on the kind. Slices share the entry's bytes.
type entry struct {
	kind    entryKind
	stamp   txn.Timestamp
	id      txn.ID
	ts      txn.Timestamp // ceiling, C, watermark
	outcome txn.Outcome
	anchor  txn.FragmentID
	attempt int
	again   bool // prepare: the writes are those of an earlier attempt
	parts   int  // commit, prepare: how many parts precede; part: its number from 0
	writers []txn.FragmentID
	ids     []txn.ID // forget
	keys    [][]byte // sweep
	settles []settlement
	span    txn.Span // drop span
	writes  []byte   // encoded operations
	hold    *hold
	// unhold: only if it is incomplete
	incomplete bool
	room       []byte // if set: writes with headRoom bytes in front, of which encode makes use
	stats      []byte // encoded deltas
	moving     moving // of a move
	tidy       bool   // watermark: the list of ranges is made shorter; false in entries of earlier releases
}

var errEntry = errors.New("malformed log entry")

// headRoom is left free in front of a piece of operations, so that a large one need not be copied behind its header.
const headRoom = 256

// encode gives the entry's bytes. With room set, they share its memory.
func (e *entry) encode() []byte {
	b := e.head()
	if e.room == nil {
		return append(b, e.writes...)
	}
	if len(b) > headRoom {
		return append(b, e.room[headRoom:]...)
	}
	at := headRoom - len(b)
	copy(e.room[at:], b)
	return e.room[at:]
}

// head encodes everything but the operations, which come last.
func (e *entry) head() []byte {
	n := entryHeader + 64 + len(e.stats)
	if e.room == nil {
		n += len(e.writes)
	}
	b := make([]byte, entryHeader, n)
	b[0], b[1] = entryFormat, byte(e.kind)
	if namesBuckets(e.stats) {
		b[0] = entryFormat2
	}
	binary.BigEndian.PutUint64(b[stampOffset:], uint64(e.stamp))
	switch e.kind {
	case kindCeiling, kindGC:
		b = putTS(b, e.ts)
		if e.tidy {
			b = append(b, 1)
		}
	case kindCommit:
		b = append(b, e.id[:]...)
		b = binary.AppendUvarint(b, uint64(e.parts))
		b = putBytes(b, e.stats)
	case kindPart:
		b = append(b, e.id[:]...)
		b = binary.AppendUvarint(b, uint64(e.parts))
	case kindPrepare, kindPrepareAll:
		b = append(b, e.id[:]...)
		b = putTS(b, e.ts)
		b = binary.AppendUvarint(b, uint64(e.anchor))
		b = binary.AppendUvarint(b, uint64(e.attempt))
		b = append(b, boolByte(e.again))
		b = putFragments(b, e.writers)
		b = binary.AppendUvarint(b, uint64(e.parts))
		b = putBytes(b, e.stats)
	case kindDecide, kindResolve:
		b = append(b, e.id[:]...)
		b = putTS(b, e.ts)
		b = append(b, byte(e.outcome))
		b = putFragments(b, e.writers)
	case kindBar:
		b = append(b, e.id[:]...)
		b = putTS(b, e.ts)
	case kindSettle:
		b = appendSettlements(b, e.settles)
	case kindForget:
		b = binary.AppendUvarint(b, uint64(len(e.ids)))
		for _, id := range e.ids {
			b = append(b, id[:]...)
		}
	case kindHold:
		b = append(b, e.id[:]...)
		b = e.hold.append(b)
		b = binary.AppendUvarint(b, uint64(e.parts))
		b = putBytes(b, e.stats)
	case kindHoldComplete, kindCommitHeld:
		b = append(b, e.id[:]...)
	case kindUnhold:
		b = append(b, e.id[:]...)
		b = append(b, boolByte(e.incomplete))
	case kindDropSpan:
		b = putBytes(b, e.span.Start)
		b = putBytes(b, e.span.End)
	case kindSweep:
		b = e.appendSweep(b)
	default:
		b = e.appendMove(b)
	}
	return b
}

func setStamp(b []byte, t txn.Timestamp) {
	binary.BigEndian.PutUint64(b[stampOffset:], uint64(t))
}

// decodeEntry reads an entry of any format since the first.
func decodeEntry(b []byte) (*entry, error) {
	if len(b) < entryHeader {
		return nil, fmt.Errorf("%w: %d bytes", errEntry, len(b))
	}
	if b[0] != entryFormat && b[0] != entryFormat2 {
		return nil, fmt.Errorf("%w: format %d is not known to this release", errEntry, b[0])
	}
	e := &entry{kind: entryKind(b[1]), stamp: txn.Timestamp(binary.BigEndian.Uint64(b[stampOffset:]))}
	r := reader{b: b[entryHeader:]}
	switch e.kind {
	case kindCeiling, kindGC:
		e.ts = r.ts()
		if e.kind == kindGC && r.err == nil && len(r.b) > 0 {
			if e.tidy = r.byte() == 1; !e.tidy {
				r.err = errEntry
			}
		}
	case kindCommit:
		e.id = r.id()
		e.parts = r.int()
		e.stats = r.bytes()
		e.writes = r.rest()
	case kindPart:
		e.id = r.id()
		e.parts = r.int()
		e.writes = r.rest()
	case kindPrepare, kindPrepareAll:
		e.id = r.id()
		e.ts = r.ts()
		e.anchor = txn.FragmentID(r.int())
		e.attempt = r.int()
		e.again = r.byte() != 0
		e.writers = r.fragments()
		e.parts = r.int()
		e.stats = r.bytes()
		e.writes = r.rest()
	case kindDecide, kindResolve:
		e.id = r.id()
		e.ts = r.ts()
		e.outcome = txn.Outcome(r.byte())
		e.writers = r.fragments()
	case kindBar:
		e.id = r.id()
		e.ts = r.ts()
	case kindSettle:
		e.settles = r.settlements()
	case kindForget:
		n := r.int()
		for i := 0; i < n && r.err == nil; i++ {
			e.ids = append(e.ids, r.id())
		}
	case kindHold:
		e.id = r.id()
		e.hold = r.hold()
		e.parts = r.int()
		e.stats = r.bytes()
		e.writes = r.rest()
	case kindHoldComplete, kindCommitHeld:
		e.id = r.id()
	case kindUnhold:
		e.id = r.id()
		e.incomplete = r.byte() != 0
	case kindDropSpan:
		e.span = txn.Span{Start: r.bytes(), End: r.bytes()}
	case kindSweep:
		r.sweepBody(e)
	default:
		if !isMove(e.kind) {
			return nil, fmt.Errorf("%w: kind %d is not known to this release", errEntry, e.kind)
		}
		r.moveBody(e)
	}
	if r.err != nil || len(r.b) != 0 || (b[0] == entryFormat2) != namesBuckets(e.stats) {
		return nil, fmt.Errorf("%w: kind %d", errEntry, e.kind)
	}
	return e, nil
}

func putTS(b []byte, t txn.Timestamp) []byte { return binary.BigEndian.AppendUint64(b, uint64(t)) }

func putBytes(b, x []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(x))), x...)
}

func putFragments(b []byte, fs []txn.FragmentID) []byte {
	b = binary.AppendUvarint(b, uint64(len(fs)))
	for _, f := range fs {
		b = binary.AppendUvarint(b, uint64(f))
	}
	return b
}

func boolByte(x bool) byte {
	if x {
		return 1
	}
	return 0
}

// reader takes fields off the front of b; after an error it gives zeros.
type reader struct {
	b   []byte
	err error
}

func (r *reader) take(n int) []byte {
	if r.err != nil || n < 0 || n > len(r.b) {
		r.err = errEntry
		return nil
	}
	x := r.b[:n:n]
	r.b = r.b[n:]
	return x
}

func (r *reader) byte() byte {
	if x := r.take(1); x != nil {
		return x[0]
	}
	return 0
}

func (r *reader) ts() txn.Timestamp {
	if x := r.take(8); x != nil {
		return txn.Timestamp(binary.BigEndian.Uint64(x))
	}
	return 0
}

func (r *reader) id() (id txn.ID) {
	copy(id[:], r.take(16))
	return id
}

func (r *reader) uvarint() uint64 {
	x, n := binary.Uvarint(r.b)
	if r.err != nil || n <= 0 {
		r.err = errEntry
		return 0
	}
	r.b = r.b[n:]
	return x
}

// int reads a number that counts or names something of this process's size.
func (r *reader) int() int {
	x := r.uvarint()
	if x > 1<<32 {
		r.err = errEntry
		return 0
	}
	return int(x)
}

func (r *reader) bytes() []byte { return r.take(r.int()) }

func (r *reader) rest() []byte { return r.take(len(r.b)) }

func (r *reader) fragments() (fs []txn.FragmentID) {
	n := r.int()
	for i := 0; i < n && r.err == nil; i++ {
		fs = append(fs, txn.FragmentID(r.int()))
	}
	return fs
}
