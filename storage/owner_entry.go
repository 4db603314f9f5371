package storage

import (
	"encoding/binary"

	"github.com/sherddb/sherd/txn"
)

// moving is what the entries of a move carry.
type moving struct {
	move    uint64
	ranges  []BucketRange
	since   txn.Timestamp // receive, own
	carries uint64        // carry: that many came before
	deletes bool          // carry: there is a deletion among the operations
	globals []globalIndex // where entries of global indexes may be: receive, clean, abandon
	arrival uint32        // receive: that of the ranges; 0, as entries of earlier releases have it: the next of all
}

// globalIndex names an index whose entries' keys begin with a bucket.
type globalIndex struct{ table, index uint32 }

func isMove(k entryKind) bool { return k >= kindFence && k <= kindAbandon }

// appendMove encodes the body of an entry of a move, but for the operations. All begin with the number of the move.
func (e *entry) appendMove(b []byte) []byte {
	m := &e.moving
	b = binary.AppendUvarint(b, m.move)
	if e.kind == kindCarry {
		b = binary.AppendUvarint(b, m.carries)
		b = append(b, boolByte(m.deletes))
		return putBytes(b, e.stats)
	}
	b = appendRanges(b, m.ranges)
	switch e.kind {
	case kindReceive, kindOwn:
		b = putTS(b, m.since)
	case kindGone:
		b = putBytes(b, e.stats)
	}
	switch e.kind {
	case kindReceive, kindClean, kindAbandon:
		b = binary.AppendUvarint(b, uint64(len(m.globals)))
		for _, g := range m.globals {
			b = binary.AppendUvarint(b, uint64(g.table))
			b = binary.AppendUvarint(b, uint64(g.index))
		}
	}
	if e.kind == kindReceive && m.arrival != 0 {
		b = binary.AppendUvarint(b, uint64(m.arrival))
	}
	return b
}

// moveBody is the reverse.
func (r *reader) moveBody(e *entry) {
	m := &e.moving
	m.move = r.uvarint()
	if e.kind == kindCarry {
		m.carries = r.uvarint()
		m.deletes = r.byte() != 0
		e.stats = r.bytes()
		e.writes = r.rest()
		return
	}
	m.ranges = r.ranges()
	switch e.kind {
	case kindReceive, kindOwn:
		m.since = r.ts()
	case kindGone:
		e.stats = r.bytes()
	}
	switch e.kind {
	case kindReceive, kindClean, kindAbandon:
		n := r.int()
		for i := 0; i < n && r.err == nil; i++ {
			m.globals = append(m.globals, globalIndex{r.uint32(), r.uint32()})
		}
	}
	if e.kind == kindReceive && r.err == nil && len(r.b) > 0 {
		if m.arrival = r.uint32(); m.arrival == 0 {
			r.err = errEntry
		}
	}
}

// A carried operation: version(8), then as in a write set.
func appendCarried(b []byte, at txn.Timestamp, op opKind, key, value []byte) []byte {
	return appendOp(putTS(b, at), op, key, value)
}

// eachCarried calls fn with every carried operation of b. Slices share b's memory.
func eachCarried(b []byte, fn func(at txn.Timestamp, op opKind, key, value []byte) error) error {
	r := reader{b: b}
	for len(r.b) > 0 {
		at := r.ts()
		op := opKind(r.byte())
		key := r.bytes()
		var value []byte
		if op.hasValue() {
			value = r.bytes()
		}
		if r.err != nil || len(key) < 5 || !op.writes() {
			return errEntry
		}
		if err := fn(at, op, key, value); err != nil {
			return err
		}
	}
	return nil
}
